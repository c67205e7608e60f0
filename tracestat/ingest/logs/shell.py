"""What is kept of a shell command: executables, skeleton, fingerprint; and the sleep that it asks for.

The text itself goes no further than this file and what it calls: out come names (public ones as they are, others as
tokens), operators, and a keyed hash.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.shell_skeleton import RESERVED, Parsed, failed, parsed
from tracestat.ingest.logs.shell_sleep import sleep_of

__all__ = ["parsed_command", "shell_of", "sleep_seconds"]

_SHELLS: Final = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SCRIPT_FLAG: Final = re.compile(r"-[a-zA-Z]*c")
# Agents repeat themselves: a third of the calls of a log are commands seen before. Only short ones, so that what is
# remembered is bounded in bytes, too.
_REMEMBERED: Final = 8_192
_SHORT: Final = 2_048


def shell_of(command: str | Sequence[str], names: Names) -> Shell:
    r"""Parse a command, given as a text or as an argument list.

    Parameters
    ----------
    command : str or sequence of str
        The text; or the arguments, of which ``["bash", "-lc", text]`` is unwrapped.
    names : Names
        Replaces names that are not public, in the labels and in the skeleton alike.

    Returns
    -------
    Shell
        Its fingerprint is of the text without blanks and newlines at its ends, with line ends ``\n``; an argument
        list counts as the text that a shell would be given for it. None where there is no text.
    """
    text, reason = _text_of(command)
    if reason:
        return _named(failed(reason), "", names)
    return _remembered(text, names) if len(text) <= _SHORT else _named(parsed(text), text, names)


def parsed_command(command: str | Sequence[str]) -> Parsed:
    """Give labels and skeleton with all names true: to compare with, never to be kept."""
    text, reason = _text_of(command)
    return failed(reason) if reason else parsed(text)


def sleep_seconds(command: str | Sequence[str]) -> float | None:
    """Give the seconds of a command that is only a sleep, or a chain whose sleep dominates; else None.

    See :mod:`tracestat.ingest.logs.shell_sleep` for what that means.
    """
    text, reason = _text_of(command)
    return None if reason else sleep_of(text)


@lru_cache(_REMEMBERED)
def _remembered(text: str, names: Names) -> Shell:
    return _named(parsed(text), text, names)


def _named(found: Parsed, text: str, names: Names) -> Shell:
    normal = text.replace("\r\n", "\n").strip()
    return Shell(
        executables=tuple([names.executable(label) for label in found.labels]),
        status=found.status,
        reason=found.reason,
        skeleton=" ".join([token if token in RESERVED else names.executable(token) for token in found.tokens]),
        fingerprint=names.fingerprint(normal) if normal else None,
    )


def _text_of(command: str | Sequence[str]) -> tuple[str, str | None]:
    """Give the text of a command, or the reason why there is none."""
    if isinstance(command, str):
        return command, None
    words = list(command)
    if not words:
        return "", "argv-empty"
    if not all(isinstance(word, str) for word in words):
        return "", "argv-not-text"
    if words[0].rsplit("/", 1)[-1] in _SHELLS:
        for place, word in enumerate(words[1:], start=1):
            if _SCRIPT_FLAG.fullmatch(word):
                return (words[place + 1], None) if place + 1 < len(words) else ("", "argv-no-script")
            if not word.startswith("-"):
                break
    return shlex.join(words), None
