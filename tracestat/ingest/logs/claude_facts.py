"""What the lines of Claude Code logs are kept as: who spoke when, in pseudonyms and numbers, without any text."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tracestat.ingest.logs.claude_ends import Mark
from tracestat.ingest.logs.claude_inputs import Role
from tracestat.ingest.logs.model import Shell

__all__ = [
    "Began",
    "Compacted",
    "Ended",
    "Fact",
    "Heard",
    "Output",
    "Result",
    "Said",
    "Stream",
    "Took",
    "Usage",
    "Use",
]

Usage: TypeAlias = tuple[int | None, int | None, int | None, int | None]


class Stream(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Whose conversation a line belongs to.

    Attributes
    ----------
    session : str or None
        Pseudonym of the session; of a sub-agent, its parent's. None if the line does not say.
    agent : str or None
        Pseudonym of the session that a sub-agent is; None for the main conversation.
    nested : bool
        The line stood within a progress line of the parent's log.
    """

    session: str | None
    agent: str | None = None
    nested: bool = False


class Output(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="o"):
    """A block that the model wrote, other than a call; ``other`` for kinds without an event."""

    kind: str
    chars: int | None


class Use(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="u"):
    """A call."""

    call: str
    tool: str | None
    input_chars: int
    role: Role
    limit_seconds: float | None
    in_background: bool
    shell: Shell | None


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="said"):
    """Blocks of a message of the model; ``usage`` is uncached, cache creation, cache read and output tokens."""

    stream: Stream
    time_us: int
    message: str
    model: str | None
    usage: Usage | None
    blocks: tuple[Output | Use, ...]


class Result(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The result of a call."""

    call: str
    is_error: bool
    chars: int
    mark: Mark | None = None
    exit_code: int | None = None
    reported_ms: int | None = None
    task: str | None = None


class Heard(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="heard"):
    """A user line: results, or a message of ``message_chars``, which a human wrote or the harness did."""

    stream: Stream
    time_us: int
    project: str | None
    mode: str | None
    message_chars: int | None
    human: bool
    results: tuple[Result, ...]


class Began(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="began"):
    """A running command reported how long it had run: an estimate of its start."""

    call: str
    time_us: int


class Took(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="took"):
    """A tool server reported how long a call took."""

    call: str
    reported_ms: int


class Ended(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="ended"):
    """A background job or agent ended, by one of the copies of its notice."""

    session: str | None
    task: str
    call: str | None
    time_us: int


class Compacted(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="compacted"):
    """The context was replaced by a summary."""

    time_us: int | None


Fact: TypeAlias = Said | Heard | Began | Took | Ended | Compacted
