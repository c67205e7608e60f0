"""What a call asked for: its limit, whether in the background, and the shape of its command."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.shell import shell_of, sleep_seconds

__all__ = ["Asked", "Role", "asked_of"]

# "serial": runs after earlier serial calls of its message; "wait": waits for a job that another call started
Role: TypeAlias = Literal["serial", "wait", ""]

_SERIAL: Final = frozenset({"Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "PowerShell"})
_WAITS: Final = frozenset({"TaskOutput", "BashOutput", "AgentOutputTool"})
_DEFAULT_SECONDS: Final = 120.0


class Asked(NamedTuple):
    """What a call asked for."""

    role: Role = ""
    limit_seconds: float | None = None
    in_background: bool = False
    shell: Shell | None = None


class _Input(msgspec.Struct, gc=False):
    command: Any = None
    timeout: Any = None
    timeout_ms: Any = None
    run_in_background: Any = None
    block: Any = None
    persistent: Any = None


_INPUT: Final = msgspec.json.Decoder(_Input)
_READ: Final = frozenset({"Bash", "PowerShell", "TaskOutput", "AgentOutputTool", "Monitor"})


def asked_of(tool: str, raw: msgspec.Raw, names: Names) -> Asked:
    """Read the input of a call.

    Parameters
    ----------
    tool : str
        Name of the tool.
    raw : msgspec.Raw
        Its input.
    names : Names
        Makes pseudonyms of what a command names.

    Returns
    -------
    Asked
        The limit is the one in force for the call: of Bash and PowerShell the ``timeout``, else two minutes; a command
        that is only a sleep ends by itself, so the smaller of its sleep and the limit counts. A background start
        returns at once and its job ignores the timeout: no limit.
    """
    role: Role = "serial" if tool in _SERIAL else "wait" if tool in _WAITS else ""
    if tool not in _READ:
        return Asked(role)
    try:
        given = _INPUT.decode(raw)
    except msgspec.DecodeError:  # not an object, or none at all
        return Asked(role)
    if tool == "Monitor":
        return Asked(role, None if given.persistent is True else _seconds(given.timeout_ms))
    if tool not in ("Bash", "PowerShell"):
        return Asked(role, None if given.block is False else _seconds(given.timeout))
    in_background = given.run_in_background is True or given.run_in_background == "true"
    limit = None if in_background else _seconds(given.timeout) or _DEFAULT_SECONDS
    if tool != "Bash" or not isinstance(given.command, str):
        return Asked(role, limit, in_background)
    if limit is not None:
        sleep = sleep_seconds(given.command)
        limit = min(sleep, limit) if sleep else limit
    return Asked(role, limit, in_background, shell_of(given.command, names))


def _seconds(milliseconds: object) -> float | None:
    """Give the seconds of a positive number of milliseconds, which models also write as a text."""
    if isinstance(milliseconds, str) and milliseconds.isascii() and milliseconds.isdigit():
        milliseconds = int(milliseconds[:15])
    if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool) and 0 < milliseconds < 1e12:
        return milliseconds / 1000
    return None
