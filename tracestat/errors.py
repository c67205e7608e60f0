"""Errors a user sees: one line that says what is wrong, where, and what to do.

Everything that can go wrong for a reason outside the program is raised as one of these; the command line prints
the message and exits with ``exit_code``. Anything else that reaches the user is a bug.
"""

from __future__ import annotations

import unicodedata

__all__ = ["TracestatError", "UsageError", "one_line"]


def one_line(text: str) -> str:
    r"""Fold a text into one line; characters that could steer a terminal are spelled out.

    Examples
    --------
    >>> one_line("a\n b\x1b[1m")
    'a b\\x1b[1m'
    """
    folded = " ".join(text.split())
    return "".join(f"\\x{ord(c):02x}" if unicodedata.category(c) == "Cc" else c for c in folded)


class TracestatError(Exception):
    """What is wrong, where, and what to do, on one line."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))  # names of a user's file may hold anything


class UsageError(TracestatError):
    """A key, column or option that does not exist or does not apply (exit code 2)."""

    exit_code = 2
