"""What to measure on a machine of one's own, with vLLM and LMCache."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracestat.charts.tables import Table
    from tracestat.results import Json

__all__ = ["RecipeStep", "recipe", "recipe_tables"]

LENGTHS = (1024, 8192, 32768)
_COMMAND_WIDTH = 74  # a page of 80 columns less the indent and the backslash
_SERVE = (
    "vllm serve MODEL --max-num-batched-tokens 2048 --gpu-memory-utilization 0.9 --block-size 16 "
    "--max-model-len 40960 --enable-prefix-caching"
)
_RESET = "curl -X POST localhost:8000/reset_prefix_cache"
_BENCH = (
    "vllm bench serve --model MODEL --dataset-name random --random-input-len LENGTH --random-output-len 1 "
    "--num-prompts 7 --max-concurrency 1 --seed SEED"
)


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One thing to do: why, the commands, the timings it yields."""

    title: str
    commands: tuple[str, ...]
    do: tuple[str, ...]
    kinds: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """Give it as JSON data."""
        return {
            "title": self.title,
            "commands": list(self.commands),
            "do": list(self.do),
            "timings": [{"kind": kind, "tokens": tokens} for kind in self.kinds for tokens in LENGTHS],
        }


def recipe() -> tuple[RecipeStep, ...]:
    """Give the steps in their order."""
    return (
        RecipeStep(
            "The engine alone",
            (f"VLLM_SERVER_DEV_MODE=1 {_SERVE}",),
            (
                'note the line "GPU KV cache size: ... tokens" of its start: it is --pool-tokens, without commas',
                "VLLM_SERVER_DEV_MODE=1 opens the calls that empty a cache; keep such a server off the network",
            ),
        ),
        RecipeStep(
            "Cold prompts",
            (_BENCH,),
            (
                "for each length: prompts that were never sent before (a new SEED each time), one request at a time, "
                "one token each; run it once to warm up, then once with another SEED, and keep the median time to the "
                "first token (Median TTFT)",
                "any client will do: seven prompts of each length, from sending to the first token, the median",
            ),
            ("cold",),
        ),
        RecipeStep(
            "LMCache: cold with its store, then reloaded",
            (
                "VLLM_SERVER_DEV_MODE=1 PYTHONHASHSEED=0 "
                "LMCACHE_CHUNK_SIZE=256 LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=40 "
                f"""{_SERVE} --kv-transfer-config '{{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}}'""",
                _BENCH,
                _RESET,
                _BENCH,
            ),
            (
                "one length after the other, both runs of it, so that the host still holds its prompts",
                "cold_lmcache: the first run, with a new SEED",
                "reload_lmcache: wait two seconds, empty the GPU's cache alone (the call leaves the host's unless it "
                "is told reset_external=true), and run again with the same SEED: the same prompts, now from the host",
                "LMCACHE_MAX_LOCAL_CPU_SIZE is in GB and must hold seven prompts of 32768 tokens: 30 GB at 131,072 "
                "bytes of KV cache a token",
                "its log must say that it retrieved tokens; without that a reload is a cold prompt",
            ),
            ("cold_lmcache", "reload_lmcache"),
        ),
        RecipeStep(
            "The engine's own offloading: cold with its store, then reloaded",
            (
                f"VLLM_SERVER_DEV_MODE=1 {_SERVE} --kv-offloading-backend native --kv-offloading-size 40",
                _BENCH,
                _RESET,
                _BENCH,
            ),
            (
                "cold_native and reload_native: as above; --kv-offloading-size is in GiB, over all cards",
                "the engine's log or /metrics must show hits of the host; without them a reload is a cold prompt",
            ),
            ("cold_native", "reload_native"),
        ),
        RecipeStep(
            "Write it down and fit",
            (
                "tracestat hardware new my-card --timings timings.csv --card NAME --model config.json "
                "--weight-dtype DTYPE --pool-tokens N -o my-card.toml",
                "tracestat hardware show my-card.toml",
            ),
            (
                "timings.csv: the first line kind,tokens,ms, then one line per median, as cold,1024,71",
                "DTYPE is that of the weights, bf16, fp16, fp8, int8 or int4; add --kv-dtype, --tp, --batched-tokens, "
                "--block and --lmcache-chunk where they were not bf16, 1, 2048, 16 and 256",
                "five will do for a coarse set: cold at the three lengths and one reload at 8192 and 32768",
                "the flags are those of the documentation of vLLM and LMCache in 2026; vllm serve --help says whether "
                "yours has them. A set is for the flags it was measured with: --max-num-batched-tokens above all",
            ),
        ),
    )


def recipe_tables(steps: Sequence[RecipeStep]) -> list[Table]:
    """Give the recipe as text."""
    from tracestat.charts.tables import Table

    tables = []
    for number, step in enumerate(steps, 1):
        lines = [line for command in step.commands for line in _pasteable(command)]
        if step.kinds:
            lengths = ", ".join(f"{tokens:,}" for tokens in LENGTHS)
            lines.append(f"timings: {', '.join(step.kinds)} at {lengths} tokens")
        tables.append(Table(f"{number}. {step.title}", (), (), caption=tuple(lines), notes=step.do))
    return tables


def _pasteable(command: str) -> list[str]:
    """Break a command so that a shell takes its lines as one; no argument of it holds a blank."""
    tied = re.sub(r"(--\S+) (?=[^-\s'])", "\\1\0", command)  # an option and its short value stay together
    wrapped = textwrap.wrap(tied, _COMMAND_WIDTH, break_long_words=False, break_on_hyphens=False)
    first, *more = (line.replace("\0", " ") for line in wrapped)
    lines = [f"$ {first}", *(f"    {line}" for line in more)]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
