"""The JSON of a line of a Claude Code log, as far as it is read: everything else is skipped by the parser.

Fields whose type varies between versions, or that another tool may have under the same name, are ``Any`` and looked at
where they are used: an odd value there must not cost the line. One struct serves all types of line, so that a line is
parsed once.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

__all__ = [
    "Attachment",
    "Block",
    "Json",
    "Line",
    "Message",
    "Outcome",
    "Usage",
    "characters",
    "line_of",
    "message_characters",
    "raw_length",
    "text_of",
    "whole",
]

# A value of whatever type, of which only texts and the length of lists are of use.
Json: TypeAlias = str | list[msgspec.Raw] | dict[str, msgspec.Raw] | int | float | bool | None

_NO_RAW: Final = msgspec.Raw(b"")


class Usage(msgspec.Struct, gc=False):
    """Token counts of a message."""

    input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    output_tokens: Any = None


class Block(msgspec.Struct, gc=False):
    """A block of content: thinking, text, a call or a result."""

    type: Any = None
    tool_use_id: Any = None
    content: Json = None
    is_error: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = _NO_RAW
    thinking: Any = None
    text: Any = None


class Message(msgspec.Struct, gc=False):
    """What the model or the user said."""

    model: Any = None
    id: Any = None
    content: str | list[Block | str] | None = None
    usage: Usage | None = None


class Outcome(msgspec.Struct, gc=False):
    """The structured result of a call, where it is an object."""

    durationMs: Any = None  # noqa: N815
    durationSeconds: Any = None  # noqa: N815
    totalDurationMs: Any = None  # noqa: N815
    backgroundTaskId: Any = None  # noqa: N815
    agentId: Any = None  # noqa: N815
    status: Any = None
    retrieval_status: Any = None


class Origin(msgspec.Struct, gc=False):
    """Where a user line came from."""

    kind: Any = None


class Attachment(msgspec.Struct, gc=False):
    """What was added to the context; only queued prompts are of use."""

    type: Any = None
    prompt: Json = None


class Data(msgspec.Struct, gc=False):
    """What a progress line reports; ``message`` is a whole line of a sub-agent."""

    type: Any = None
    elapsedTimeSeconds: Any = None  # noqa: N815
    elapsedTimeMs: Any = None  # noqa: N815
    message: msgspec.Raw = _NO_RAW
    agentId: Any = None  # noqa: N815


class Line(msgspec.Struct, gc=False):
    """A line of any type, in the usual order of its keys."""

    isSidechain: Any = None  # noqa: N815
    cwd: Any = None
    sessionId: Any = None  # noqa: N815
    agentId: Any = None  # noqa: N815
    type: Any = None
    subtype: Any = None
    data: Data | None = None
    parentToolUseID: Any = None  # noqa: N815
    message: Message | str | None = None
    attachment: Attachment | None = None
    content: Json = None
    isMeta: Any = None  # noqa: N815
    isCompactSummary: Any = None  # noqa: N815
    isVisibleInTranscriptOnly: Any = None  # noqa: N815
    isApiErrorMessage: Any = None  # noqa: N815
    timestamp: Any = None
    toolUseResult: Outcome | str | list[msgspec.Raw] | int | float | bool | None = None  # noqa: N815
    toolDenialKind: Any = None  # noqa: N815
    permissionMode: Any = None  # noqa: N815
    origin: Origin | str | None = None


class _Text(msgspec.Struct, gc=False):
    type: Any = None
    text: Any = None


class _Contents(msgspec.Struct, gc=False):
    content: Json = None


class _WithContents(msgspec.Struct, gc=False):
    message: _Contents | None = None


_LINE: Final = msgspec.json.Decoder(Line)
_TEXT: Final = msgspec.json.Decoder(_Text)
_CONTENTS: Final = msgspec.json.Decoder(_WithContents)


def line_of(raw: bytes | msgspec.Raw) -> Line:
    """Parse a line."""
    return _LINE.decode(raw)


def characters(value: Json) -> int:
    """Count the characters of a content: of a text itself, of anything else as JSON, as TraceLab does."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return 1 + max(1, sum(_length(part) + 1 for part in value))
    if isinstance(value, dict):
        return 1 + max(1, sum(len(key) + 4 + _length(part) for key, part in value.items()))
    return 0


def message_characters(raw: bytes | msgspec.Raw) -> int:
    """Count the characters of the content of a line's message."""
    message = _CONTENTS.decode(raw).message
    return 0 if message is None else characters(message.content)


def raw_length(raw: msgspec.Raw) -> int:
    """Count the characters of JSON as it stands in the log."""
    return _length(raw)


def text_of(value: Json) -> str:
    """Give the first text of a content, which is where the harness states an outcome."""
    if isinstance(value, str):
        return value
    for part in value if isinstance(value, list) else ():
        try:
            block = _TEXT.decode(part)
        except msgspec.ValidationError:  # a block that is no object
            continue
        if isinstance(block.text, str):
            return block.text
    return ""


def whole(value: object) -> int | None:
    """Give a count of which sums fit 64 bits, None if the value is none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60:
        return value
    return None


def _length(raw: msgspec.Raw) -> int:
    content = bytes(raw)
    return len(content) if content.isascii() else len(content.decode("utf-8", "replace"))
