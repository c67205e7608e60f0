"""The formats: what each of them holds, where its pause stands, what it cannot say, and what to tell its consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tracestat.errors import UsageError
from tracestat.export.replay.agentic_mooncake import agentic_lines
from tracestat.export.replay.aiperf_mooncake import aiperf_lines
from tracestat.export.replay.blis import blis_lines
from tracestat.export.replay.llmservingsim import llmservingsim_lines
from tracestat.export.replay.model import Family
from tracestat.export.replay.settings import Settings
from tracestat.export.replay.tracelab_csv import tracelab_lines

__all__ = ["FORMATS", "ReplayFormat", "format_named"]

Lines = Callable[[Iterable[Family], Settings], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class ReplayFormat:
    """A format.

    Attributes
    ----------
    name : str
    lines : callable or None
        Gives the content of its one file; None: a folder with a file per session (kv-cache-tester).
    endings : tuple of str
        Of the file's name; empty for a folder.
    block_size : int or None
        Tokens per block unless the user says otherwise; None: it has no blocks.
    has_start : bool
        Whether it can say when a session begins.
    accumulates : bool
        Whether its consumer sends all that was said before with each step, so that no context shrinks.
    resets : bool
        Whether such a one can be told to begin anew.
    depth : int
        Levels of sub-agents that it can put under their session; 0: none.
    pause : str
        Name, unit and place of its pause, and how it is rounded.
    parts : str
        Whether tool and human time are apart in it.
    advice : tuple of str
        What to give or not to give its consumer.
    """

    name: str
    lines: Lines | None
    endings: tuple[str, ...]
    block_size: int | None
    has_start: bool
    accumulates: bool
    resets: bool
    depth: int
    pause: str
    parts: str
    advice: tuple[str, ...]


_ONE_PAUSE: Final = "tool and human time are one number in it: their sums stand here"

FORMATS: Final = (
    ReplayFormat(
        name="aiperf-mooncake",
        lines=aiperf_lines,
        endings=(".jsonl",),
        block_size=512,
        has_start=True,
        accumulates=True,
        resets=False,
        depth=0,
        pause="delay: whole ms, before the turn, each rounded for itself",
        parts=_ONE_PAUSE,
        advice=(
            "aiperf: --custom-dataset-type mooncake_trace; leave out --inter-turn-delay-cap-seconds, which would cap "
            "tool pauses too; its warning about delays over 60 s is expected",
            "aiperf: contexts grow to {peak:,} tokens; where they must shrink as recorded, take kv-cache-tester, which "
            "aiperf reads as weka",
            "dynamo reads it too: trace_format mooncake-delta, trace_block_size {block}, and a replay_concurrency",
            "aiperf: outputs count as context, so have the server make as many tokens as asked for: "
            "--extra-inputs ignore_eos:true",
        ),
    ),
    ReplayFormat(
        name="dynamo-agentic-mooncake",
        lines=agentic_lines,
        endings=(".jsonl",),
        block_size=64,
        has_start=True,
        accumulates=False,
        resets=False,
        depth=64,
        pause="dependencies[].delay_ms: ms with fractions, before the request, nothing rounded",
        parts="tool and human time are apart in it, in tool_wait_ms and human_wait_ms, which readers pass over",
        advice=("dynamo: trace_format agentic_mooncake; its version 2 with a header, as ai-dynamo 1.6 reads it",),
    ),
    ReplayFormat(
        name="kv-cache-tester",
        lines=None,
        endings=(),
        block_size=64,
        has_start=False,
        accumulates=False,
        resets=False,
        depth=1,
        pause="think_time: s with fractions, before the request, nothing rounded",
        parts="tool and human time are one number in it, but input_types say what came: tool_result, text, both",
        advice=(
            "kv-cache-tester: give --max-delay {longest}, or it caps every pause, tools' too; --max-context {peak} is "
            "needed for its longest request",
            "aiperf (format weka): leave out --inter-turn-delay-cap-seconds, which would cap tool pauses too",
            "dynamo (trace_format weka) also waits for the recorded generation: take dynamo-agentic-mooncake for it",
        ),
    ),
    ReplayFormat(
        name="llmservingsim",
        lines=llmservingsim_lines,
        endings=(".jsonl",),
        block_size=None,
        has_start=True,
        accumulates=False,
        resets=False,
        depth=0,
        pause="tool_duration_ns: ns, after the request, nothing rounded; 0 on the last",
        parts=_ONE_PAUSE,
        advice=(),
    ),
    ReplayFormat(
        name="blis-v2",
        lines=blis_lines,
        endings=(".csv",),
        block_size=None,
        has_start=True,
        accumulates=True,
        resets=True,
        depth=0,
        pause="think_time_us: us, before the request, nothing rounded; 1 in place of 0, which means not recorded",
        parts=_ONE_PAUSE,
        advice=(
            "blis replay: --session-mode closed-loop (the default reads what is added as whole prompts), neither "
            "--think-time-ms nor --think-time-dist, and a --max-model-len above {peak:,} tokens",
            "blis: versions that do not know input_tokens_reset never let a context shrink: prompts get far longer",
        ),
    ),
    ReplayFormat(
        name="tracelab-csv",
        lines=tracelab_lines,
        endings=(".csv",),
        block_size=None,
        has_start=True,
        accumulates=False,
        resets=False,
        depth=0,
        pause="tool_wait_after_ms: ms with fractions, after the round, nothing rounded; 0 on the last",
        parts=_ONE_PAUSE,
        advice=(),
    ),
)


def format_named(name: str) -> ReplayFormat:
    """Give a format.

    Raises
    ------
    UsageError
        There is none of this name.

    Examples
    --------
    >>> format_named("blis-v2").endings
    ('.csv',)
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise UsageError(f"--format {name}: not known; it is one of {', '.join(known.name for known in FORMATS)}")
