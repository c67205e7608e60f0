"""What every raw log becomes: rounds with their calls and events, and the tables made of them.

Times are microseconds since 1970 in UTC. None is "the log does not say": nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject
from tracestat.ingest.columns import ROUND_COLUMNS

__all__ = ["Call", "CommandStatus", "Event", "EventType", "Round", "Shell", "StartKind", "batch_of"]

EventType: TypeAlias = Literal["user_message", "tool_result", "reasoning", "text", "tool_call", "usage_report"]
# TraceLab's five, and what only raw logs can tell: killed at its limit, did not run, started in the background
CommandStatus: TypeAlias = Literal[
    "running", "finished", "aborted", "failed", "session_error", "timeout", "refused", "background"
]
StartKind: TypeAlias = Literal["emission", "real", "rebuilt", "end-minus-reported", "false"]


@dataclass(frozen=True, slots=True)
class Shell:
    """What is kept of the command of a shell call.

    Attributes
    ----------
    executables : tuple of str
        A label per command, in the order of the text.
    status : {"success", "partial", "failed"}
        Whether the text could be parsed.
    reason : str or None
        Why not, in TraceLab's words.
    skeleton : str
        Names and operators only.
    fingerprint : str or None
        Keyed hash of the normalised text.
    """

    executables: tuple[str, ...]
    status: str
    reason: str | None
    skeleton: str
    fingerprint: str | None = None


@dataclass(slots=True)
class Call:
    """A tool call.

    Attributes
    ----------
    id : str
        Pseudonym.
    tool : str or None
        Public name or token of a private one (see :mod:`tracestat.ingest.logs.names`).
    emitted_us : int
        When the model had written it; where the log stamps it only at its end, end minus reported duration.
    result_us : int or None
        When its result was there.
    start_kind : str
        What ``emitted_us`` is, or how the start was found that ``approval_seconds`` tells.
    reported_ms : int or None
        The duration that the harness wrote.
    status : str or None
        How it ended, where that is known: ``running`` is a yield at a limit, the process goes on.
    asked_limit_seconds : float or None
        The limit in force for this call, whether it was reached or not.
    approval_seconds : float or None
        Wait between emission (or the end of an earlier serial sibling) and start, where a start is known.
    parallel_group : int or None
        Equal for the calls of a round that were handed out together.
    job_ended_us : int or None
        When a process that outlived its call ended.
    continues : str or None
        Id of the call that started the process.
    """

    id: str
    tool: str | None
    emitted_us: int
    result_us: int | None = None
    start_kind: StartKind = "emission"
    reported_ms: int | None = None
    is_error: bool | None = None
    input_chars: int | None = None
    result_chars: int | None = None
    status: CommandStatus | None = None
    exit_code: int | None = None
    continues: str | None = None
    shell: Shell | None = None
    asked_limit_seconds: float | None = None
    approval_seconds: float | None = None
    permission_mode: str | None = None
    parallel_group: int | None = None
    is_subagent: bool | None = None
    job_ended_us: int | None = None


@dataclass(slots=True)
class Event:
    """Something that happened at a time; ``source`` names the kind of line, as TraceLab does."""

    type: EventType
    source: str
    time_us: int
    call_id: str | None = None
    tool_index: int | None = None
    tool: str | None = None
    is_error: bool | None = None
    result_chars: int | None = None
    content_chars: int | None = None


@dataclass(slots=True)
class Round:
    """One model request. Token counts are None where the log has none; ids and project are pseudonyms."""

    provider: str
    session_id: str
    round_index: int
    round_id: str
    project: str | None = None
    model: str | None = None
    turn_id: str | None = None
    developer: str | None = None
    input_tokens_total: int | None = None
    prefix_tokens: int | None = None
    newly_append_tokens: int | None = None
    claude_uncached_input_tokens: int | None = None
    claude_cache_creation_input_tokens: int | None = None
    claude_cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    events: list[Event] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


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
