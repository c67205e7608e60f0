"""What is kept of a shell command: executables, skeleton, fingerprint; and the sleep that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names

__all__ = ["shell_of", "sleep_seconds"]


def shell_of(command: str | Sequence[str], names: Names) -> Shell:
    """Parse a command, given as a text or as an argument list."""
    raise NotImplementedError


def sleep_seconds(command: str | Sequence[str]) -> float | None:
    """Give the seconds of a command that is only a sleep, or a chain whose sleep dominates; else None."""
    raise NotImplementedError
