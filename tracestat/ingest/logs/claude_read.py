"""Reading one line of a Claude Code log: what it says, in the kinds of facts that are kept."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.claude_ends import exit_code, mark_of, reported_ms, task_of
from tracestat.ingest.logs.claude_facts import (
    Began,
    Compacted,
    Ended,
    Heard,
    Output,
    Result,
    Said,
    Stream,
    Took,
    Usage,
    Use,
)
from tracestat.ingest.logs.claude_inputs import asked_of
from tracestat.ingest.logs.claude_lines import (
    Block,
    Json,
    Line,
    Message,
    Outcome,
    characters,
    line_of,
    message_characters,
    raw_length,
    text_of,
    whole,
)
from tracestat.ingest.logs.claude_notices import NOTICE, notices_of
from tracestat.ingest.logs.format import Facts, UnreadableError
from tracestat.ingest.logs.names import Names

__all__ = ["facts_of"]

_IGNORED: Final = frozenset(
    {
        "file-history-snapshot",
        "file-history-delta",
        "summary",
        "last-prompt",
        "mode",
        "permission-mode",
        "ai-title",
        "custom-title",
        "agent-name",
        "bridge-session",
    }
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPE: Final = re.compile(r"[A-Za-z0-9_\-:/]{1,40}")
_MODES: Final = frozenset({"default", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk", "delegate"})
_DIGIT: Final = re.compile(r"\d")
_SYNTHETIC: Final = "<synthetic>"
_INJECTED: Final = ("<command-", "<local-command", NOTICE, "[Request interrupted")
_OUTPUTS: Final = {"thinking": "reasoning", "redacted_thinking": "reasoning", "text": "text"}


def facts_of(raw: bytes, names: Names) -> Facts:
    """Tell what one object says.

    Parameters
    ----------
    raw : bytes
        The object, as UTF-8 JSON.
    names : Names
        Makes pseudonyms.

    Returns
    -------
    Facts

    Raises
    ------
    msgspec.DecodeError
        The text is not JSON, or not of the form of a line.
    UnreadableError
        A line of the conversation without a time.
    """
    line = line_of(raw)
    kind = line.type
    if kind == "assistant":
        return Facts(_said(line, _stream(line, names), names))
    if kind == "user":
        stream = _stream(line, names)
        return Facts(_heard(raw, line, stream, names))
    if kind == "progress":
        return _progress(line, names)
    if kind == "queue-operation":
        return Facts(_ends(line, line.content, names))
    if kind == "attachment":
        attachment = line.attachment
        return Facts(_ends(line, attachment.prompt, names) if attachment else [])
    if kind == "system":
        return Facts([Compacted(_time(line.timestamp))] if line.subtype == "compact_boundary" else [])
    if isinstance(kind, str) and kind in _IGNORED:
        return Facts()
    return Facts(unknown=_public_type(kind))


def _public_type(kind: object) -> str:
    return kind if isinstance(kind, str) and _TYPE.fullmatch(kind) else "unnamed"


def _time(stamp: object) -> int | None:
    """Read a time stamp as microseconds since 1970; one without an offset is UTC."""
    if not isinstance(stamp, str):
        return None
    try:
        read = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if not 1 < read.year < 9999:  # an offset could lead out of the years that there are
        return None
    since = (read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _needed_time(line: Line) -> int:
    time_us = _time(line.timestamp)
    if time_us is None:
        raise UnreadableError("no time stamp")
    return time_us


def _stream(line: Line, names: Names) -> Stream:
    session = line.sessionId if isinstance(line.sessionId, str) else None
    own = None if session is None else names.id("session", session)
    if line.isSidechain is not True:
        return Stream(own)
    # the oldest layout names no agent: all side lines of a session are one stream
    return Stream(own, _agent(session, line.agentId, names))


def _agent(session: str | None, agent: object, names: Names) -> str:
    return names.id("session", f"{session or ''}/{agent if isinstance(agent, str) else ''}")


def _call(call: object, names: Names) -> str | None:
    return names.id("call", call) if isinstance(call, str) and call else None


def _said(line: Line, stream: Stream, names: Names) -> list[Any]:
    message = line.message
    if not isinstance(message, Message) or message.model == _SYNTHETIC or line.isApiErrorMessage is True:
        return []  # what the harness wrote in the model's place is no request
    time_us = _needed_time(line)
    given = message.usage
    usage: Usage | None = None
    if given is not None:
        usage = (
            whole(given.input_tokens),
            whole(given.cache_creation_input_tokens),
            whole(given.cache_read_input_tokens),
            whole(given.output_tokens),
        )
    return [
        Said(
            stream,
            time_us,
            _round(message.id, stream, time_us, usage, names),
            names.model(message.model) if isinstance(message.model, str) else None,
            usage,
            tuple([_block(block, names) for block in message.content if isinstance(block, Block)])
            if isinstance(message.content, list)
            else (),
        )
    ]


def _round(message: object, stream: Stream, time_us: int, usage: Usage | None, names: Names) -> str:
    """Name a request by the id of its message; a mere word is none, but stands where ids were redacted."""
    if not isinstance(message, str) or not message:
        return names.id("round", f"{stream.session}/{stream.agent}/{time_us}")
    if _DIGIT.search(message):
        return names.id("round", message)
    return names.id("round", f"{message}/{stream.session}/{stream.agent}/{usage and usage[:3]}")


def _block(block: Block, names: Names) -> Output | Use:
    kind = block.type
    if kind == "tool_use":
        call = _call(block.id, names)
        if call is not None:
            tool = block.name if isinstance(block.name, str) else None
            asked = asked_of(tool or "", block.input, names)
            return Use(
                call,
                None if tool is None else names.tool(tool),
                raw_length(block.input),
                asked.role,
                asked.limit_seconds,
                asked.in_background,
                asked.shell,
            )
    event = _OUTPUTS.get(kind) if isinstance(kind, str) else None
    if event is None:
        return Output("other", None)
    text = block.text if event == "text" else block.thinking
    return Output(event, len(text) if isinstance(text, str) else None)


def _heard(raw: bytes | msgspec.Raw, line: Line, stream: Stream, names: Names) -> list[Any]:
    message = line.message
    if not isinstance(message, Message):
        return []
    time_us = _needed_time(line)
    content = message.content
    blocks = [b for b in content if isinstance(b, Block)] if isinstance(content, list) else []
    answers = [block for block in blocks if block.type == "tool_result"]
    chars, text = None, ""
    if isinstance(content, str):
        chars, text = len(content), content
    elif content is not None and not answers:
        chars = message_characters(raw)
        text = next((block.text for block in blocks if isinstance(block.text, str)), "")
    mode = line.permissionMode
    heard = Heard(
        stream,
        time_us,
        names.project(line.cwd) if isinstance(line.cwd, str) and line.cwd else None,
        None if not isinstance(mode, str) else mode if mode in _MODES else "other",
        chars,
        chars is not None and _is_human(line, text),
        tuple([result for block in answers if (result := _result(line, block, names)) is not None]),
    )
    return [heard, *_ends(line, text, names)] if text.startswith(NOTICE) else [heard]


def _is_human(line: Line, text: str) -> bool:
    origin = line.origin
    kind = origin if origin is None or isinstance(origin, str) else origin.kind
    injected = line.isMeta is True or line.isCompactSummary is True or line.isVisibleInTranscriptOnly is True
    return not injected and kind in (None, "human") and not text.startswith(_INJECTED)


def _result(line: Line, block: Block, names: Names) -> Result | None:
    call = _call(block.tool_use_id, names)
    if call is None:
        return None
    text = text_of(block.content)
    outcome = line.toolUseResult if isinstance(line.toolUseResult, Outcome) else None
    is_error = block.is_error is True  # absent means false
    task = task_of(text, outcome)
    return Result(
        call,
        is_error,
        characters(block.content),
        mark_of(text, outcome, is_error=is_error, denied=line.toolDenialKind is not None),
        exit_code(text, is_error=is_error),
        reported_ms(outcome),
        None if task is None else names.id("task", task),
    )


def _progress(line: Line, names: Names) -> Facts:
    data = line.data
    if data is None:
        return Facts()
    if data.type == "agent_progress":
        return Facts(_nested(line, data.message, data.agentId, names))
    if data.type == "bash_progress":
        elapsed, time_us, call = data.elapsedTimeSeconds, _time(line.timestamp), _call(line.parentToolUseID, names)
        if call is None or time_us is None or not _is_duration(elapsed):
            return Facts()
        return Facts([Began(call, time_us - round(elapsed * 1e6))])
    if data.type == "mcp_progress" and _is_duration(data.elapsedTimeMs):
        call = _call(line.parentToolUseID, names)
        return Facts([Took(call, round(data.elapsedTimeMs))] if call is not None else [])
    return Facts()


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _nested(line: Line, raw: msgspec.Raw, agent: object, names: Names) -> list[Any]:
    """Read the line of a sub-agent that a progress line carries, by its own time."""
    if not bytes(raw).startswith(b"{"):
        return []
    inner = line_of(raw)
    session = line.sessionId if isinstance(line.sessionId, str) else None
    if not isinstance(agent, str):  # then the call that started it tells sub-agents apart
        agent = line.parentToolUseID
    own = None if session is None else names.id("session", session)
    stream = Stream(own, _agent(session, agent, names), nested=True)
    if inner.timestamp is None:
        inner.timestamp = line.timestamp
    if inner.type == "assistant":
        return _said(inner, stream, names)
    return _heard(raw, inner, stream, names) if inner.type == "user" else []


def _ends(line: Line, content: Json, names: Names) -> list[Any]:
    """Find the ends of jobs that a line tells."""
    notices = notices_of(text_of(content))
    time_us = _time(line.timestamp) if notices else None
    if time_us is None:
        return []
    session = names.id("session", line.sessionId) if isinstance(line.sessionId, str) else None
    return [Ended(session, names.id("task", task), _call(call, names), time_us) for task, call in notices]
