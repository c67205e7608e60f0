"""What every raw log becomes: rounds with their calls and events.

Times are microseconds since 1970 in UTC. None is "the log does not say": nothing is filled in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Call", "CommandStatus", "Event", "EventType", "Round", "Shell", "StartKind"]

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
