"""What a Codex tool call asks for: its limit as the harness clamps it, the process it goes on with, its command.

The caps are those of the harness (60 s asked of ``exec_command`` yield at 30); a limit is in force whether it is
reached or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.shell import shell_of, sleep_seconds

__all__ = ["CELLS", "COMMANDS", "Asking", "asking", "process_id", "tool_name"]

# Tools whose output says how a command ended; the others' exit codes are about themselves.
CELLS: Final = frozenset({"exec", "wait"})
_SHELLS: Final = frozenset({"shell", "container.exec", "shell_command", "local_shell"})
COMMANDS: Final = _SHELLS | {"exec_command", "write_stdin"}

_YIELD_DEFAULT_MS: Final = 10_000.0
_YIELD_MS: Final = (250.0, 30_000.0)
_INPUT_DEFAULT_MS: Final = 250.0
_NO_TIME_MS: Final = 1e15
_POLL_MS: Final = (5_000.0, 300_000.0)


@dataclass(frozen=True, slots=True)
class Asking:
    """What a call asks for.

    Attributes
    ----------
    limit_seconds : float or None
        Limit in force.
    process : str or None
        Pseudonym of the process or cell that it goes on with.
    shell : Shell or None
        What is kept of its command.
    """

    limit_seconds: float | None = None
    process: str | None = None
    shell: Shell | None = None


class _Exec(msgspec.Struct):
    cmd: str | list[str] | None = None
    yield_time_ms: float | None = None


class _Stdin(msgspec.Struct):
    session_id: int | str | None = None
    chars: str | None = None
    yield_time_ms: float | None = None


class _Shell(msgspec.Struct):
    command: str | list[str] | None = None
    timeout_ms: float | None = None
    timeout: float | None = None


class _Wait(msgspec.Struct):
    cell_id: int | str | None = None
    yield_time_ms: float | None = None


class _Pragma(msgspec.Struct):
    yield_time_ms: float | None = None


_EXEC: Final = msgspec.json.Decoder(_Exec, strict=False)
_STDIN: Final = msgspec.json.Decoder(_Stdin, strict=False)
_SHELL: Final = msgspec.json.Decoder(_Shell, strict=False)
_WAIT: Final = msgspec.json.Decoder(_Wait, strict=False)
_PRAGMA: Final = msgspec.json.Decoder(_Pragma, strict=False)

_UNREADABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
_PRAGMA_LINE: Final = re.compile(r"\s{0,80}// @exec:[ \t]*(\{[^\r\n]{0,1000})")
_LAUNCH: Final = re.compile(r"\bexec_command\b")
# one literal, the whole value of the key: nothing is added to it and nothing is filled in
_LITERAL: Final = re.compile(
    r"""\bcmd["']?\s*:\s*(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\$]|\\.|\$(?!\{))*)`)\s*[,}]""",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r\n|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


def asking(tool: str | None, text: str, names: Names) -> Asking:
    """Read what a call asks for.

    Parameters
    ----------
    tool : str or None
        Name of the tool.
    text : str
        Its arguments as JSON, or the script of code mode.
    names : Names
        Makes pseudonyms.

    Returns
    -------
    Asking
        Empty where the arguments cannot be read: such a call did not run.
    """
    try:
        if tool == "exec_command":
            run = _EXEC.decode(text)
            limit = _clamped(run.yield_time_ms, _YIELD_DEFAULT_MS, _YIELD_MS)
            return of_command(run.cmd, limit, names)
        if tool == "write_stdin":
            write = _STDIN.decode(text)
            limit = _clamped(write.yield_time_ms, _INPUT_DEFAULT_MS, _YIELD_MS if write.chars else _POLL_MS)
            return Asking(limit, process_id("session", write.session_id, names))
        if tool == "wait":
            wait = _WAIT.decode(text)
            return Asking(_seconds(wait.yield_time_ms, _YIELD_DEFAULT_MS), process_id("cell", wait.cell_id, names))
        if tool == "exec":
            return _of_script(text, names)
        if tool in _SHELLS:
            shell = _SHELL.decode(text)
            return of_command(shell.command, _seconds(shell.timeout_ms or shell.timeout, None), names)
    except _UNREADABLE:
        pass
    return Asking()


def of_command(command: str | Sequence[str] | None, limit: float | None, names: Names) -> Asking:
    """Read a command that runs under a limit; one that only sleeps says itself how long it takes."""
    if not command:
        return Asking(limit)
    limits = [seconds for seconds in (limit, sleep_seconds(command)) if seconds is not None]
    return Asking(min(limits, default=None), None, shell_of(command, names))


def process_id(kind: str, number: int | str | None, names: Names) -> str | None:
    """Give the pseudonym of a process or a cell; numbers are used again in time."""
    return None if number is None else names.id("process", f"{kind} {number}")


def tool_name(name: str | None, namespace: str | None) -> str | None:
    """Give the whole name of a tool; that of a server's tool begins with the server's."""
    if name is None or not namespace or not namespace.startswith("mcp__"):
        return name
    return f"{namespace.rstrip('_')}__{name.lstrip('_')}"


def _of_script(script: str, names: Names) -> Asking:
    limit: float | None = _YIELD_DEFAULT_MS / 1000
    if match := _PRAGMA_LINE.match(script):
        try:
            limit = _seconds(_PRAGMA.decode(match[1]).yield_time_ms, _YIELD_DEFAULT_MS)
        except _UNREADABLE:
            limit = None  # the harness refuses a script with such a line
    launches = list(_LAUNCH.finditer(script))
    literal = _LITERAL.search(script, launches[0].end()) if len(launches) == 1 else None
    if literal is None:
        return Asking(limit)
    command = _ESCAPE.sub(_unescaped, next(text for text in literal.groups() if text is not None))
    if not command.isascii():  # a sign beyond the first 65,536 is escaped as two halves
        command = command.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return Asking(limit, None, shell_of(command, names) if command else None)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1 and code[0] in "ux":
        point = int(code[1:].strip("{}"), 16)
        return chr(point) if point < 0x110000 else "\ufffd"
    return _ESCAPES.get(code, code)


def _clamped(asked: float | None, default: float, ends: tuple[float, float]) -> float | None:
    value = _seconds(asked, default)
    return None if value is None else min(max(value, ends[0] / 1000), ends[1] / 1000)


def _seconds(asked: float | None, default: float | None) -> float | None:
    value = default if asked is None else asked
    # the harness refuses what is no time; NaN is not below anything
    return value / 1000 if value is not None and 0 <= value < _NO_TIME_MS else None
