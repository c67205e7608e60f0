"""The two streams: results go to stdout, everything else to stderr, and neither ever breaks the program."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from pathlib import Path

from tracestat.errors import TracestatError, one_line

__all__ = ["close_stdout", "complain", "flush_stdout", "open_streams", "paint", "say", "width"]

_NARROWEST = 60
_WIDTH = 80


def open_streams() -> None:
    """Give a process that was started with stdout or stderr closed streams that lead nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  lives as long as the process


def complain(text: str) -> None:
    """Write one line to stderr, even where stderr is closed or knows few characters."""
    with contextlib.suppress(OSError, ValueError):
        if isinstance(sys.stderr, io.TextIOWrapper):
            sys.stderr.reconfigure(errors="backslashreplace")
        sys.stderr.write(f"tracestat: {one_line(text)}\n")
        sys.stderr.flush()


def say(text: str) -> None:
    """Write a result to stdout, in UTF-8 whatever the locale.

    Raises
    ------
    TracestatError
        The stream takes no more, for example because a disk is full. A reader that went away is no error.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # bytes of an argument that are no UTF-8 come out escaped, as JSON writes them
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    except BrokenPipeError:
        close_stdout()
    except OSError as error:
        close_stdout()
        raise TracestatError(f"standard output: {error.strerror}; write to another place") from None
    else:
        flush_stdout()


def flush_stdout() -> None:
    """Pass on what is still waiting in stdout; see :func:`say` for what can go wrong."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()
    except OSError as error:
        close_stdout()
        raise TracestatError(f"standard output: {error.strerror}; write to another place") from None


def close_stdout() -> None:
    """Let whatever is still to come go nowhere, so that the interpreter's last flush cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def width() -> int:
    """Give the columns a table may take: those of the terminal, 80 where there is none."""
    if not sys.stdout.isatty():
        return _WIDTH
    return max(shutil.get_terminal_size((_WIDTH, 24)).columns, _NARROWEST)


def paint() -> bool:
    """Tell whether colour is wanted: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
