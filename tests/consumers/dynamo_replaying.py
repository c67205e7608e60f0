"""Dynamo's own offline replay of a file: what its simulated engine was asked, and when.

A wait is the time between the end of a session's request and the arrival of its next, by the simulated clock; it does
not depend on how fast the simulated engine is, which is made instant here so that no request waits in a queue for
hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.export.replay_readers.model import Session, Step, waits

ENGINE_BLOCK = 64  # tokens: the replay's engine counts what it reuses in these


@dataclass(frozen=True)
class Replayed:
    """What a replay reports: its sessions, the tokens each request found in the cache, and its totals."""

    sessions: list[Session]
    reused: dict[str, list[int]]
    totals: Mapping[str, Any]


def replay(path: Path, kind: str, **options: Any) -> Replayed:
    """Replay a file offline."""
    from dynamo._core import run_mocker_trace_replay

    timing = {"type": "fixed", "prefill_ms": 0.0, "decode_ms": 0.0}
    result = run_mocker_trace_replay(
        [str(path)],
        extra_engine_args={"engine": {"timing_model": timing, "num_gpu_blocks": 4_000_000, "max_num_seqs": 100_000}},
        trace_format=kind,
        capture_per_request=True,
        **options,
    )
    rows: dict[str, list[dict[str, Any]]] = {}
    # an instant engine and waits of 0 make arrivals equal; then the number of the turn, or of the request, decides
    for row in sorted(
        result.per_request, key=lambda row: (row["turn_index"] or 0, row["arrival_time_ms"], row["uuid"])
    ):
        rows.setdefault(row["session_id"], []).append(row)
    return Replayed(
        [_session(name, mine) for name, mine in rows.items()],
        {name: [row["reused_input_tokens"] for row in mine] for name, mine in rows.items()},
        result.summary,
    )


def _order(row: dict[str, Any]) -> tuple[int, float, str]:
    return row["turn_index"] or 0, row["arrival_time_ms"], row["uuid"]


def _session(name: str, rows: list[dict[str, Any]]) -> Session:
    ends = [rows[0]["arrival_time_ms"], *(row["terminal_time_ms"] for row in rows[:-1])]
    befores = [(row["arrival_time_ms"] - end) / 1e3 for row, end in zip(rows, ends, strict=True)]
    return Session(
        name,
        tuple(
            Step(row["input_length"], row["output_length"], before, after)
            for row, (before, after) in zip(rows, waits(befores), strict=True)
        ),
        rows[0]["arrival_time_ms"] / 1e3,
    )
