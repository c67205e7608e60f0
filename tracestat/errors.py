"""Errors a user sees: one line that says what is wrong, where, and what to do.

Everything that can go wrong for a reason outside the program is raised as one of these; the command line prints
the message and exits with ``exit_code``. Anything else that reaches the user is a bug.
"""

from __future__ import annotations

__all__ = ["TracestatError", "UsageError"]


class TracestatError(Exception):
    """What is wrong, where, and what to do, on one line."""

    exit_code = 1


class UsageError(TracestatError):
    """A key, column or option that does not exist or does not apply (exit code 2)."""

    exit_code = 2
