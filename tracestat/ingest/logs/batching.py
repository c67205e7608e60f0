"""The tables of rounds that were made of raw logs.

Apart from the rounds themselves, so that a process that only reads lines loads nothing of Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject
from tracestat.ingest.columns import ROUND_COLUMNS
from tracestat.ingest.logs.model import Call, Event, Round

__all__ = ["batch_of"]

_INPUT: Final = ("user_message", "tool_result")
# columns of a round that are its attributes
_AS_THEY_ARE: Final = tuple(name for name in ROUND_COLUMNS if name in Round.__dataclass_fields__)
Columns: TypeAlias = dict[str, Sequence[Any]]


def batch_of(rounds: Sequence[Round], rejects: tuple[Reject, ...] = (), *, first: int = 0) -> Batch:
    """Make tables of rounds.

    Parameters
    ----------
    rounds : sequence of Round
        In the order of the log.
    rejects : tuple of Reject
        What could not be a row.
    first : int
        Place of the first round in its source.

    Returns
    -------
    Batch
        With the input counts of each round, which are those of its own input events.
    """
    calls = [call for r in rounds for call in r.calls]
    events = [event for r in rounds for event in r.events]
    return Batch(
        rounds=_table(ROUNDS, _round_columns(rounds, first)),
        calls=_table(CALLS, _call_columns(calls) | _places([len(r.calls) for r in rounds], first, "tool_index", 0)),
        events=_table(
            EVENTS, _event_columns(events) | _places([len(r.events) for r in rounds], first, "event_index", 1)
        ),
        rejects=rejects,
    )


def _round_columns(rounds: Sequence[Round], first: int) -> Columns:
    inputs = [[event for event in r.events if event.type in _INPUT] for r in rounds]
    users = [[e.content_chars or 0 for e in events if e.type == "user_message"] for events in inputs]
    results = [[e.result_chars or 0 for e in events if e.type == "tool_result"] for events in inputs]
    given = {name: [getattr(r, name) for r in rounds] for name in _AS_THEY_ARE}
    return given | {
        "row": range(first, first + len(rounds)),
        "user": [r.developer for r in rounds],
        "store": [None] * len(rounds),
        "trace_key": [f"{r.provider}:{r.session_id}:{r.round_id}" for r in rounds],
        "current_input_event_count": [len(events) for events in inputs],
        "current_user_message_count": [len(chars) for chars in users],
        "current_tool_result_count": [len(chars) for chars in results],
        "current_user_message_chars": [sum(chars) for chars in users],
        "current_tool_result_chars": [sum(chars) for chars in results],
        "current_input_chars": [sum(u) + sum(t) for u, t in zip(users, results, strict=True)],
        "first_input_event_type": [events[0].type if events else None for events in inputs],
    }


def _call_columns(calls: Sequence[Call]) -> Columns:
    shells = [call.shell for call in calls]
    return {
        "tool_name": [c.tool for c in calls],
        "tool_call_id": [c.id for c in calls],
        "emitted_at": [c.emitted_us for c in calls],
        "result_at": [c.result_us for c in calls],
        "tool_wall_latency_ms": [None if c.result_us is None else (c.result_us - c.emitted_us) // 1000 for c in calls],
        "tool_internal_latency_ms": [c.reported_ms for c in calls],
        "is_error": [c.is_error for c in calls],
        "input_chars": [c.input_chars for c in calls],
        "result_chars": [c.result_chars for c in calls],
        "continuation_of_tool_call_id": [c.continues for c in calls],
        "command_status": [c.status for c in calls],
        "command_exit_code": [c.exit_code for c in calls],
        "executables": [None if s is None else s.executables for s in shells],
        "executable_parse_status": [None if s is None else s.status for s in shells],
        "executable_parse_reason": [None if s is None else s.reason for s in shells],
        "command_skeleton": [None if s is None else s.skeleton for s in shells],
        "start_kind": [c.start_kind for c in calls],
        "asked_limit_seconds": [c.asked_limit_seconds for c in calls],
        "approval_seconds": [c.approval_seconds for c in calls],
        "permission_mode": [c.permission_mode for c in calls],
        "parallel_group": [c.parallel_group for c in calls],
        "is_subagent": [c.is_subagent for c in calls],
        "job_ended_at": [c.job_ended_us for c in calls],
        "command_fingerprint": [None if s is None else s.fingerprint for s in shells],
    }


def _event_columns(events: Sequence[Event]) -> Columns:
    return {
        "event_type": [e.type for e in events],
        "source": [e.source for e in events],
        "timestamp": [e.time_us for e in events],
        "tool_call_id": [e.call_id for e in events],
        "tool_index": [e.tool_index for e in events],
        "tool_name": [e.tool for e in events],
        "is_error": [e.is_error for e in events],
        "result_chars": [e.result_chars for e in events],
        "content_chars": [e.content_chars for e in events],
    }


def _places(lengths: Sequence[int], first: int, index: str, start: int) -> Columns:
    """Give the round of each child, and its place there."""
    return {
        "row": [row for row, n in enumerate(lengths, start=first) for _ in range(n)],
        index: [place for n in lengths for place in range(start, start + n)],
    }


def _table(schema: pa.Schema, columns: Columns) -> pa.Table:
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)
