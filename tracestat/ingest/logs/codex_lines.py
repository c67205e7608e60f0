"""The lines of a Codex rollout as typed JSON: only the keys that are used, the rest is skipped unread.

A line is decoded twice: once for its kind, then as that kind. Where formats of different builds differ in the type of
a key, the key takes each of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Generic, TypeVar

import msgspec

__all__ = [
    "COMPLETED",
    "CUSTOM_CALL",
    "ENDED",
    "FUNCTION_CALL",
    "HEAD",
    "LOCAL_SHELL",
    "LOOSE",
    "MESSAGE",
    "META",
    "OUTPUT",
    "TOKENS",
    "TURN",
    "USER_MESSAGE",
    "Duration",
    "Item",
    "Line",
    "LocalShellCall",
    "Meta",
    "OutputText",
    "Part",
    "TokenUsage",
    "texts_of",
]

P = TypeVar("P")


class Line(msgspec.Struct, Generic[P]):
    """A line whose kind is known."""

    payload: P


class Kind(msgspec.Struct):
    """The kind that a payload names itself."""

    type: str | None = None


class Head(msgspec.Struct):
    """What every line has; files of mid 2025 have neither time nor payload."""

    type: str | None = None
    timestamp: datetime | None = None
    ordinal: int | None = None
    payload: Kind | None = None


class Part(msgspec.Struct):
    """A piece of a message or an output; pictures have no text."""

    text: str | None = None


class Spawn(msgspec.Struct):
    """Who started a sub-agent."""

    parent_thread_id: str | None = None


class Subagent(msgspec.Struct):
    """How a sub-agent was started."""

    thread_spawn: Spawn | None = None


class Source(msgspec.Struct):
    """What started a session, where that is more than a word."""

    subagent: Subagent | str | None = None


class HistoryBase(msgspec.Struct):
    """The history that a thread refers to instead of copying it."""

    thread_id: str | None = None


class Git(msgspec.Struct):
    """The repository."""

    repository_url: str | None = None


class Meta(msgspec.Struct):
    """Session header."""

    id: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    git: Git | None = None
    source: Source | str | None = None
    thread_source: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    history_base: HistoryBase | None = None
    subagent_history_start_ordinal: int | None = None


class TurnContext(msgspec.Struct):
    """Begin of a turn, and what holds in it."""

    turn_id: str | None = None
    model: str | None = None
    approval_policy: str | dict[str, msgspec.Raw] | None = None


class FunctionCall(msgspec.Struct):
    """A call with arguments as JSON in a text."""

    call_id: str
    name: str | None = None
    namespace: str | None = None
    arguments: str | None = None


class CustomCall(msgspec.Struct):
    """A call with plain text."""

    call_id: str
    name: str | None = None
    namespace: str | None = None
    input: str | None = None


class LocalShellAction(msgspec.Struct):
    """What a call of the model's built-in shell runs."""

    command: str | list[str] | None = None
    timeout_ms: float | None = None


class LocalShellCall(msgspec.Struct):
    """A call of the model's built-in shell."""

    call_id: str
    action: LocalShellAction | None = None


class Loose(msgspec.Struct):
    """A call or an output of which only the id can be read."""

    call_id: str
    name: str | None = None


class OutputText(msgspec.Struct):
    """An output as early builds wrote it."""

    content: str | None = None
    success: bool | None = None


class Output(msgspec.Struct):
    """What the model is shown."""

    call_id: str
    output: str | list[Part] | OutputText | None = None


class Message(msgspec.Struct):
    """A message of the conversation."""

    role: str | None = None
    content: str | list[Part] | None = None


class UserMessage(msgspec.Struct):
    """A prompt."""

    message: str | None = None


class TokenUsage(msgspec.Struct):
    """Token counts."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    total_tokens: int | None = None


class TokenInfo(msgspec.Struct):
    """Counts of the whole thread and of the last request."""

    total_token_usage: TokenUsage | None = None
    last_token_usage: TokenUsage | None = None


class TokenCount(msgspec.Struct):
    """A report of token counts, perhaps an empty one."""

    info: TokenInfo | None = None


class Duration(msgspec.Struct):
    """A duration as the harness writes it."""

    secs: int = 0
    nanos: int = 0


class McpContent(msgspec.Struct):
    """What a tool of a server gave."""

    isError: bool | None = None  # noqa: N815 - the name in the log


class McpResult(msgspec.Struct):
    """What became of a call of a server's tool; one that failed has ``Err`` instead."""

    Ok: McpContent | None = None


class End(msgspec.Struct):
    """The end of a process, a patch, or a server's tool."""

    call_id: str
    exit_code: int | None = None
    success: bool | None = None
    duration: Duration | str | None = None
    result: McpResult | None = None


class Item(msgspec.Struct):
    """What a completed item ran or said."""

    type: str | None = None
    id: str | None = None
    status: str | None = None
    exit_code: int | None = None
    duration: Duration | str | None = None
    content: str | list[Part] | None = None


class Completed(msgspec.Struct):
    """A completed item with its times."""

    item: Item | None = None
    started_at_ms: int | None = None
    completed_at_ms: int | None = None


HEAD: Final = msgspec.json.Decoder(Head)
META: Final = msgspec.json.Decoder(Line[Meta])
TURN: Final = msgspec.json.Decoder(Line[TurnContext])
FUNCTION_CALL: Final = msgspec.json.Decoder(Line[FunctionCall])
CUSTOM_CALL: Final = msgspec.json.Decoder(Line[CustomCall])
LOCAL_SHELL: Final = msgspec.json.Decoder(Line[LocalShellCall])
LOOSE: Final = msgspec.json.Decoder(Line[Loose])
OUTPUT: Final = msgspec.json.Decoder(Line[Output])
MESSAGE: Final = msgspec.json.Decoder(Line[Message])
USER_MESSAGE: Final = msgspec.json.Decoder(Line[UserMessage])
TOKENS: Final = msgspec.json.Decoder(Line[TokenCount])
ENDED: Final = msgspec.json.Decoder(Line[End])
COMPLETED: Final = msgspec.json.Decoder(Line[Completed])


def texts_of(content: str | list[Part] | OutputText | None) -> list[str]:
    """Give the texts of a message or an output."""
    if isinstance(content, OutputText):
        content = content.content
    if content is None:
        return []
    return [content] if isinstance(content, str) else [part.text for part in content if part.text]
