"""Small invented traces in TraceLab's form: rounds, calls and events with times in seconds from one moment."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BASE = dt.datetime(2026, 3, 2, 12, 0, 0)
Row = dict[str, Any]


def stamp(seconds: float) -> str:
    """Write a time as TraceLab does."""
    return (BASE + dt.timedelta(seconds=seconds)).isoformat(timespec="milliseconds") + "Z"


def call(call_id: str, emitted: float, result: float | None, tool: str = "Bash", *, index: int = 0, **more: Any) -> Row:
    """Make one entry of ``tools``."""
    row: Row = {
        "tool_index": index,
        "tool_name": tool,
        "tool_call_id": call_id,
        "emitted_at": stamp(emitted),
        "result_at": None if result is None else stamp(result),
        "tool_wall_latency_ms": None if result is None else round((result - emitted) * 1000),
        "tool_internal_latency_ms": None,
        "is_error": None if result is None else False,
        "input_chars": 10,
        "result_chars": None if result is None else 10,
    }
    return row | more


def event(kind: str, at: float, **more: Any) -> Row:
    """Make one timing event."""
    return {"event_type": kind, "timestamp": stamp(at), "source": "test", **more}


def round_(
    session: str,
    index: int,
    calls: Sequence[Row] = (),
    *,
    text: float | None = None,
    events: Iterable[Row] = (),
    provider: str = "claude",
    user: str | None = "user_00000001",
    round_id: str | None = None,
    **more: Any,
) -> Row:
    """Make one round; its tool_call events follow from the calls, a text event at ``text`` if given."""
    outputs = [event("text", text)] if text is not None else []
    outputs += [
        {
            "event_type": "tool_call",
            "timestamp": c["emitted_at"],
            "source": "test",
            "tool_call_id": c["tool_call_id"],
            "tool_name": c["tool_name"],
            "tool_index": c["tool_index"],
        }
        for c in calls
    ]
    row: Row = {
        "provider": provider,
        "session_id": f"{provider}:{session}",
        "round_index": index,
        "round_id": round_id or f"round_{session}_{index}",
        "model": "model-1",
        "input_tokens_total": 1000,
        "prefix_tokens": 900,
        "newly_append_tokens": 100,
        "output_tokens": 24,
        "timing_events": [*events, *outputs],
        "tools": list(calls),
        "trace_key": f"{provider}:{session}:{index}",
        "store": f".{provider}",
    }
    if user is not None:
        row["user"] = user
    return row | more


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
