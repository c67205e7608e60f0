"""What is kept of a Codex rollout: small facts in the order of the file, without a word of what was said or run."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tracestat.ingest.logs.model import CommandStatus, Shell

__all__ = ["Answered", "Asked", "Cut", "Ended", "Fact", "Kept", "Opened", "Ran", "Spoke", "Turn", "Used"]


class Kept(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A fact of one line.

    Attributes
    ----------
    time_us : int
        When the line was written.
    ordinal : int or None
        Place of the line in its thread, where the log numbers its lines.
    """

    time_us: int
    ordinal: int | None


class Opened(Kept, tag="opened", frozen=True):
    """A session header; it is repeated at every resume, and a fork repeats its parent's.

    Attributes
    ----------
    session : str
        Pseudonym of the thread.
    began_ms : int or None
        The time in its id, if the id is one that sorts by time.
    parents : tuple of str
        Pseudonyms of the threads that it says it comes from.
    is_subagent : bool
        It was started by another agent.
    history_start : int or None
        Lines with a smaller ordinal are the parent's.
    project : str or None
        Pseudonym of the place of work.
    """

    session: str
    began_ms: int | None
    parents: tuple[str, ...]
    is_subagent: bool
    history_start: int | None
    project: str | None


class Turn(Kept, tag="turn", frozen=True):
    """A turn begins, or says under which model and permissions it goes on."""

    turn: str | None
    began_ms: int | None
    model: str | None
    permission_mode: str | None


class Asked(Kept, tag="asked", frozen=True):
    """A tool call.

    Attributes
    ----------
    line : {"function", "custom", "local_shell"}
        Kind of line.
    runs : {"command", "cell", "other"}
        What it runs: its outputs are about a command, about a script of code mode, or about itself.
    limit_seconds : float or None
        The limit in force: what was asked for, as the harness clamps it, or the sleep that the command asks for.
    process : str or None
        Pseudonym of the process or cell that the call goes on with.
    """

    line: Literal["function", "custom", "local_shell"]
    id: str
    runs: Literal["command", "cell", "other"]
    tool: str | None
    input_chars: int | None
    limit_seconds: float | None
    process: str | None
    shell: Shell | None


class Answered(Kept, tag="answered", frozen=True):
    """An output that the model is shown.

    Attributes
    ----------
    process : str or None
        Pseudonym of the process or cell that goes on.
    limit_seconds : float or None
        The limit at which the command was killed.
    """

    line: Literal["function", "custom"]
    id: str
    chars: int | None
    status: CommandStatus | None
    exit_code: int | None
    is_error: bool | None
    reported_ms: int | None
    process: str | None
    limit_seconds: float | None


class Spoke(Kept, tag="spoke", frozen=True):
    """The user or the model said something; ``item`` tells the newer kind of line."""

    who: Literal["user_message", "reasoning", "text"]
    chars: int | None
    item: bool


class Used(Kept, tag="used", frozen=True):
    """Token counts: the totals tell whether they are news, the others are of the last request."""

    totals: tuple[int | None, ...]
    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


class Ended(Kept, tag="ended", frozen=True):
    """The harness's own notice that a process, a patch or a tool of a server ended."""

    what: Literal["exec", "patch", "mcp"]
    id: str
    is_error: bool | None
    duration_ms: int | None


class Ran(Kept, tag="ran", frozen=True):
    """A completed item, with the real times of what it ran."""

    id: str
    is_command: bool
    started_us: int | None
    ended_us: int | None
    duration_ms: int | None
    is_error: bool | None


class Cut(Kept, tag="cut", frozen=True):
    """A turn was aborted."""

    turn: str | None


Fact: TypeAlias = Opened | Turn | Asked | Answered | Spoke | Used | Ended | Ran | Cut
