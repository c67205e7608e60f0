"""The six formats: how the writer is asked for one, which reader takes it, and how finely it holds a wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.export.replay_readers import (
    aiperf_mooncake,
    blis_v2,
    dynamo_agentic_mooncake,
    kv_cache_tester,
    llmservingsim,
    tracelab_csv,
)
from tests.export.replay_readers.model import Session


@dataclass(frozen=True)
class Format:
    """A format of replay.

    ``within``: seconds by which its rounding may move a wait. ``block``: tokens per hash id, where requests name the
    blocks of the whole prompt. ``context``: what becomes of one that shrinks, as in `sessions_of`. ``apart``: whether
    tool and human time are two numbers.
    """

    name: str
    ending: str
    read: Callable[[Path], list[Session]]
    within: float
    block: int | None = None
    context: str = "cut"
    apart: bool = False


def _blis(path: Path) -> list[Session]:
    return blis_v2.read(path.with_suffix(".yaml"), path)


_MS = 0.0005 + 1e-9
FORMATS = (
    Format("aiperf-mooncake", ".jsonl", aiperf_mooncake.read, _MS, context="grows"),
    Format("dynamo-agentic-mooncake", ".jsonl", dynamo_agentic_mooncake.read, 1e-6, block=64, apart=True),
    Format("kv-cache-tester", "", kv_cache_tester.read, 1e-6, block=64),
    Format("llmservingsim", ".jsonl", llmservingsim.read, 1e-6),
    Format("blis-v2", ".csv", _blis, 1.5e-6, context="reset"),
    Format("tracelab-csv", ".csv", tracelab_csv.read, 1e-6),
)
