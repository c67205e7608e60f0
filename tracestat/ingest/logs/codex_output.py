"""What the first lines of a Codex output say about the call: how it ended, and how long the harness says it took.

The harness prints a header over what the tool printed. Only the header counts: a command may print the same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from tracestat.ingest.logs.model import CommandStatus

__all__ = ["Printed", "milliseconds_of", "printed"]

_HEADER_LINES: Final = 4
_HEADER_CHARS: Final = 1000
_TAIL_CHARS: Final = 300
_BODIES: Final = ("Output:", "Final output:")

_WALL: Final = re.compile(r"Wall time:?\s*([0-9]{1,9}(?:\.[0-9]{1,9})?) seconds")
_EXIT: Final = re.compile(r"(?:Process exited with code|Exit code:)\s*(-?[0-9]{1,12})\s*$")
_SESSION: Final = re.compile(r"Process running with session ID\s+([0-9]{1,18})\s*$")
_CELL: Final = re.compile(r"Script running with cell ID\s+(\S{1,64})\s*$")
_SCRIPT: Final = re.compile(r"Script (completed|failed|terminated)\s*$")
_ABORTED: Final = re.compile(r"aborted by user(?: after ([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?s)?\.?\s*$")
_REFUSED: Final = re.compile(r"(?:(?:exec )?command |patch |tool call )?rejected by user")
_DID_NOT_RUN: Final = re.compile(
    r"exec_command failed|failed to parse function arguments|execution error:|unsupported (?:custom tool )?call"
)
_NO_PROCESS: Final = "write_stdin failed"
_TIMED_OUT: Final = re.compile(r"command timed out after ([0-9]{1,12}) milliseconds")
_PATCH_FAILED: Final = "apply_patch verification failed"
_KILLED_CODE: Final = 124
_LONGEST_MS: Final = 10**12  # thirty years: more is no duration, and no start can be that long before an end
_INT64: Final = 2**63


class _Metadata(msgspec.Struct):
    exit_code: int | None = None
    duration_seconds: float | None = None
    success: bool | None = None


class _Wrapped(msgspec.Struct):
    metadata: _Metadata
    output: str | None = None


_WRAPPED: Final = msgspec.json.Decoder(_Wrapped)


@dataclass(frozen=True, slots=True)
class Printed:
    """What a header says; None is "nothing".

    Attributes
    ----------
    status : str or None
        How the call ended.
    exit_code : int or None
        Of the process.
    is_error : bool or None
        It failed, was refused or aborted.
    reported_ms : int or None
        Printed duration; 0 stays 0.
    process : str or None
        ``session N`` or ``cell N`` of a process that goes on.
    limit_seconds : float or None
        Limit at which the command was killed.
    """

    status: CommandStatus | None = None
    exit_code: int | None = None
    is_error: bool | None = None
    reported_ms: int | None = None
    process: str | None = None
    limit_seconds: float | None = None


def printed(texts: Sequence[str]) -> Printed:
    r"""Read the header of an output.

    Parameters
    ----------
    texts : sequence of str
        The output, in one text or in pieces.

    Returns
    -------
    Printed

    Examples
    --------
    >>> printed(["Chunk ID: 0a1b2c\nWall time: 10.0012 seconds\nProcess running with session ID 7\nOutput:\n"])
    Printed(status='running', exit_code=None, is_error=None, reported_ms=10001, process='session 7', limit_seconds=None)
    """
    first = texts[0] if texts else ""
    if len(texts) == 1 and first.startswith(('{"output"', '{"metadata"')):
        return _of_json(first)
    return _of_text(first if len(texts) == 1 else _joined(texts))


def milliseconds_of(seconds: float | None) -> int | None:
    """Give a duration in whole milliseconds; None if it cannot be one."""
    return None if seconds is None or not 0 <= 1000 * seconds <= _LONGEST_MS else round(1000 * seconds)


def _joined(texts: Sequence[str]) -> str:
    """Put pieces together as far as a header may go."""
    head: list[str] = []
    chars = 0
    for text in texts:
        head.append(text)
        chars += len(text)
        if chars > 2 * _HEADER_CHARS:
            break
    return "".join(head)


def _of_json(text: str) -> Printed:
    """Read an output that early builds wrapped in JSON."""
    try:
        wrapped = _WRAPPED.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return Printed()
    metadata, output = wrapped.metadata, wrapped.output or ""
    seconds, code = metadata.duration_seconds, metadata.exit_code
    if code is not None and abs(code) >= _INT64:
        code = None
    reported = milliseconds_of(seconds)
    if code is None or code != 0:
        # a command with an exit code ran, and may have printed anything but these two
        inner = _without_header(output)
        if inner.status in ("aborted", "refused") or (inner.status is not None and code is None):
            return replace(inner, reported_ms=inner.reported_ms if reported is None else reported)
    if code is not None:
        return _finished(code, reported, output)
    return Printed(is_error=None if metadata.success is None else not metadata.success, reported_ms=reported)


def _of_text(text: str) -> Printed:
    reported: int | None = None
    code: int | None = None
    found = Printed()
    body = 0  # where what the tool printed begins
    for line in text[:_HEADER_CHARS].split("\n")[:_HEADER_LINES]:
        first = body == 0
        body += len(line) + 1
        if line in _BODIES:
            break
        if line.startswith("Wall time"):
            if match := _WALL.match(line):
                reported = milliseconds_of(float(match[1]))
        elif match := _EXIT.match(line):
            code = int(match[1])
        elif line.startswith(("Process ", "Script ")):
            found = _going_on(line) or found
        elif (first or reported is not None) and (match := _ABORTED.match(line)):
            return _aborted(match, reported)
    if code is not None:
        return _finished(code, reported, text[body : body + _TAIL_CHARS])
    if found.status is not None:
        return replace(found, reported_ms=reported)
    return replace(_without_header(text), reported_ms=reported)


def _aborted(match: re.Match[str], reported: int | None) -> Printed:
    after = reported if match[1] is None else milliseconds_of(float(match[1]))
    return Printed(status="aborted", is_error=True, reported_ms=after)


def _going_on(line: str) -> Printed | None:
    """Read a line that says whether a process or a script goes on."""
    if match := _SESSION.match(line):
        return Printed(status="running", process=f"session {match[1]}")
    if match := _CELL.match(line):
        return Printed(status="running", process=f"cell {match[1]}")
    if match := _SCRIPT.match(line):
        # a script that the model itself terminates neither failed nor succeeded
        return Printed(status="finished", is_error={"completed": False, "failed": True}.get(match[1]))
    return None


def _finished(code: int, reported: int | None, body: str) -> Printed:
    """Say that a command ended with a code, by itself or by being killed at its limit."""
    match = _TIMED_OUT.match(body) if code == _KILLED_CODE else None
    if match:
        return Printed("timeout", code, True, reported, limit_seconds=int(match[1]) / 1000)
    return Printed("finished", code, code != 0, reported)


def _without_header(text: str) -> Printed:
    """Read an output of a call that did not run, or whose tool prints no header."""
    if match := _ABORTED.match(text[:100].split("\n", 1)[0]):
        return _aborted(match, None)
    if _REFUSED.match(text):
        return Printed(status="refused", is_error=True)
    if _DID_NOT_RUN.match(text):
        # the reason stands at the end, behind the command
        end = text[-_TAIL_CHARS:]
        refused = "rejected by user" in end or "Rejected(" in end
        return Printed(status="refused" if refused else "failed", is_error=True)
    if text.startswith(_NO_PROCESS):
        return Printed(status="session_error", is_error=True)
    if match := _TIMED_OUT.match(text):
        return Printed(status="timeout", is_error=True, limit_seconds=int(match[1]) / 1000)
    if text.startswith(_PATCH_FAILED):
        return Printed(is_error=True)
    return Printed()
