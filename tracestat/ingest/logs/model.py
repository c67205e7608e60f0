"""What every raw log becomes: rounds with their calls and events, and the tables made of them.

Times are microseconds since 1970 in UTC. None is "the log does not say": nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject

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
    round_rows: list[tuple[Any, ...]] = []
    call_rows: list[tuple[Any, ...]] = []
    event_rows: list[tuple[Any, ...]] = []
    for row, r in enumerate(rounds, start=first):
        round_rows.append(_round_row(row, r))
        call_rows += [_call_row(row, index, call) for index, call in enumerate(r.calls)]
        event_rows += [_event_row(row, index, event) for index, event in enumerate(r.events, start=1)]
    return Batch(
        rounds=_table(round_rows, ROUNDS),
        calls=_table(call_rows, CALLS),
        events=_table(event_rows, EVENTS),
        rejects=rejects,
    )


def _round_row(row: int, r: Round) -> tuple[Any, ...]:
    inputs = [event for event in r.events if event.type in _INPUT]
    users = [event.content_chars for event in inputs if event.type == "user_message"]
    results = [event.result_chars for event in inputs if event.type == "tool_result"]
    user_chars, result_chars = sum(c or 0 for c in users), sum(c or 0 for c in results)
    values: dict[str, Any] = {
        "row": row,
        "provider": r.provider,
        "project": r.project,
        "session_id": r.session_id,
        "round_index": r.round_index,
        "round_id": r.round_id,
        "model": r.model,
        "input_tokens_total": r.input_tokens_total,
        "prefix_tokens": r.prefix_tokens,
        "newly_append_tokens": r.newly_append_tokens,
        "claude_uncached_input_tokens": r.claude_uncached_input_tokens,
        "claude_cache_creation_input_tokens": r.claude_cache_creation_input_tokens,
        "claude_cache_read_input_tokens": r.claude_cache_read_input_tokens,
        "output_tokens": r.output_tokens,
        "current_input_event_count": len(inputs),
        "current_user_message_count": len(users),
        "current_tool_result_count": len(results),
        "current_user_message_chars": user_chars,
        "current_tool_result_chars": result_chars,
        "current_input_chars": user_chars + result_chars,
        "first_input_event_type": inputs[0].type if inputs else None,
        "user": r.developer,
        "store": None,
        "trace_key": f"{r.provider}:{r.session_id}:{r.round_id}",
        "turn_id": r.turn_id,
        "reasoning_output_tokens": r.reasoning_output_tokens,
    }
    return tuple(values[name] for name in ROUNDS.names)


def _call_row(row: int, index: int, c: Call) -> tuple[Any, ...]:
    shell = c.shell
    wall = None if c.result_us is None else (c.result_us - c.emitted_us) // 1000
    values: dict[str, Any] = {
        "row": row,
        "tool_index": index,
        "tool_name": c.tool,
        "tool_call_id": c.id,
        "emitted_at": c.emitted_us,
        "result_at": c.result_us,
        "tool_wall_latency_ms": wall,
        "tool_internal_latency_ms": c.reported_ms,
        "is_error": c.is_error,
        "input_chars": c.input_chars,
        "result_chars": c.result_chars,
        "continuation_of_tool_call_id": c.continues,
        "command_status": c.status,
        "command_exit_code": c.exit_code,
        "executables": None if shell is None else list(shell.executables),
        "executable_parse_status": None if shell is None else shell.status,
        "executable_parse_reason": None if shell is None else shell.reason,
        "command_skeleton": None if shell is None else shell.skeleton,
        "start_kind": c.start_kind,
        "asked_limit_seconds": c.asked_limit_seconds,
        "approval_seconds": c.approval_seconds,
        "permission_mode": c.permission_mode,
        "parallel_group": c.parallel_group,
        "is_subagent": c.is_subagent,
        "job_ended_at": c.job_ended_us,
        "command_fingerprint": None if shell is None else shell.fingerprint,
    }
    return tuple(values[name] for name in CALLS.names)


def _event_row(row: int, index: int, e: Event) -> tuple[Any, ...]:
    values: dict[str, Any] = {
        "row": row,
        "event_index": index,
        "event_type": e.type,
        "source": e.source,
        "timestamp": e.time_us,
        "tool_call_id": e.call_id,
        "tool_index": e.tool_index,
        "tool_name": e.tool,
        "is_error": e.is_error,
        "result_chars": e.result_chars,
        "content_chars": e.content_chars,
    }
    return tuple(values[name] for name in EVENTS.names)


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
