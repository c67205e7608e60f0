"""Dynamo request traces (``dynamo.request.trace.v1``): what a serving engine and an agent harness wrote of a session.

A ``request_end`` row is a round. Its calls are those that its finish metadata lists, timed by the harness's own
``tool_end`` and ``tool_error`` rows. Delivery is best effort, so each may come without the other: a listed call
without a row lasts until the next request of its session arrives (agent overhead included, and parallel calls cannot
be told apart), and a row without its request makes a round of its own, about which nothing else is known.

Rows of a session go over the segments of a rotated trace; its rounds stand in the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.chain import label_of
from tracestat.ingest.logs.dynamo_rounds import Asked, Request, Tool, rounds_of
from tracestat.ingest.logs.format import Facts, Format, Log, LogRounds, UnreadableError
from tracestat.ingest.logs.gather import gather
from tracestat.ingest.logs.model import CommandStatus
from tracestat.ingest.logs.names import Names

__all__ = ["DYNAMO"]

# The agent trace is the older name of the same rows.
_SCHEMAS: Final = ("dynamo.request.trace.v1", "dynamo.agent.trace.v1")
_TOOL_EVENTS: Final = ("tool_start", "tool_end", "tool_error")
_STATUS: Final[dict[str, CommandStatus]] = {
    "succeeded": "finished",
    "ok": "finished",
    "success": "finished",
    "error": "failed",
    "failed": "failed",
    "cancelled": "aborted",
    "canceled": "aborted",
    "timeout": "timeout",
}


class _Context(msgspec.Struct):
    session_id: str | None = None
    parent_session_id: str | None = None
    trajectory_id: str | None = None
    parent_trajectory_id: str | None = None


class _Asked(msgspec.Struct):
    id: str | None = None
    name: str | None = None


class _Finish(msgspec.Struct):
    tool_calls: list[_Asked] | None = None


class _Request(msgspec.Struct):
    request_id: str
    model: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    cached_tokens: float | None = None
    request_received_ms: float | None = None
    total_time_ms: float | None = None
    finish_reason_metadata: _Finish | None = None


class _Tool(msgspec.Struct):
    tool_call_id: str
    tool_class: str | None = None
    status: str | None = None
    started_at_unix_ms: float | None = None
    ended_at_unix_ms: float | None = None
    duration_ms: float | None = None


class _Record(msgspec.Struct):
    """A row; the session stands in its context, or beside it as the harness sent it."""

    schema: str | None = None
    event_type: str = ""
    event_time_unix_ms: float | None = None
    agent_context: _Context | None = None
    session_id: str | None = None
    parent_session_id: str | None = None
    request: _Request | None = None
    tool: _Tool | None = None


class _Line(_Record):
    """A row as it is, or as file sinks wrap it: ``{"timestamp": ..., "event": row}``."""

    event: _Record | None = None


_Fact = Request | Tool
_LINE: Final = msgspec.json.Decoder(_Line)


def _recognises(value: dict[str, Any]) -> bool:
    record = value.get("event", value)
    return isinstance(record, dict) and record.get("schema") in _SCHEMAS and isinstance(record.get("event_type"), str)


def _facts(content: bytes, names: Names) -> Facts:
    line = _LINE.decode(content)
    record = line.event or line
    if record.schema not in _SCHEMAS:
        raise UnreadableError("not a row of a request trace")
    if record.event_type == "request_end":
        if record.request is None:
            raise UnreadableError("a request_end without its request")
        return Facts([_request(record, record.request, names)])
    if record.event_type in _TOOL_EVENTS:
        if record.tool is None:
            raise UnreadableError("a tool event without its tool")
        return Facts([_tool(record, record.tool, names)])
    if record.event_type == "request_payload":  # prompts and answers, which are not read
        return Facts()
    return Facts(unknown=label_of(record.event_type))


def _session(record: _Record) -> tuple[str | None, bool | None]:
    """Give the session of a row as one text, and whether another one started it; None where it has none."""
    context = record.agent_context or _Context(record.session_id, record.parent_session_id)
    parts = [part for part in (context.session_id, context.trajectory_id) if part]
    if not parts:
        return None, None
    return "\0".join(parts), bool(context.parent_session_id or context.parent_trajectory_id)


def _request(record: _Record, request: _Request, names: Names) -> Request:
    session, is_subagent = _session(record)
    received = micros_of(request.request_received_ms, per_second=1000)
    ended = micros_of(record.event_time_unix_ms, per_second=1000)
    took = micros_of(request.total_time_ms, per_second=1000)
    if ended is None and received is not None and took is not None:
        ended = received + took
    if received is None and ended is None:
        raise UnreadableError("a request without a time")
    asked = None
    if request.finish_reason_metadata is not None:
        asked = tuple(
            Asked(
                id=names.id("call", f"{session}\0{call.id}" if call.id else f"{request.request_id}\0{index}"),
                tool=names.tool(call.name) if call.name else None,
            )
            for index, call in enumerate(request.finish_reason_metadata.tool_calls or ())
        )
    return Request(
        session=names.id("session", session) if session is not None else "",
        id=names.id("round", request.request_id),
        is_subagent=is_subagent,
        received_us=received,
        ended_us=ended,
        model=names.model(request.model) if request.model else None,
        input_tokens=count_of(request.input_tokens),
        cached_tokens=count_of(request.cached_tokens),
        output_tokens=count_of(request.output_tokens),
        asked=asked,
    )


def _tool(record: _Record, tool: _Tool, names: Names) -> Tool:
    session, is_subagent = _session(record)
    is_end = record.event_type != "tool_start" and tool.status != "running"
    status = _STATUS.get((tool.status or "").lower()) if is_end else None
    if is_end and status is None and record.event_type == "tool_error":
        status = "failed"
    return Tool(
        session=names.id("session", session) if session is not None else "",
        id=names.id("call", f"{session}\0{tool.tool_call_id}"),
        is_subagent=is_subagent,
        tool=names.tool(tool.tool_class) if tool.tool_class else None,
        is_end=is_end,
        at_us=micros_of(record.event_time_unix_ms, per_second=1000),
        started_us=micros_of(tool.started_at_unix_ms, per_second=1000),
        ended_us=micros_of(tool.ended_at_unix_ms, per_second=1000),
        took_us=micros_of(tool.duration_ms, per_second=1000),
        status=status,
    )


def _session_of(fact: _Fact) -> str:
    return fact.session


def _rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    for sessions in gather(logs, _session_of):
        made = LogRounds()
        for session in sessions:
            rounds_of(session, made)
        yield made


DYNAMO: Final = Format(
    kind="Dynamo request trace",
    slug="dynamo",
    document=False,
    fact=_Fact,
    recognises=_recognises,
    facts=_facts,
    rounds=_rounds,
)
