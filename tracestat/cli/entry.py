"""Every way a command can end is turned into an exit code and at most one line on stderr."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from tracestat.cli.screen import complain, flush_stdout, open_streams
from tracestat.errors import TracestatError

__all__ = ["run"]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and explain on one line what went wrong.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its options; those of this process by default.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    KeyboardInterrupt
        The user has had enough.
    """
    open_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _command().main(args=arguments, prog_name="tracestat", standalone_mode=False)
            flush_stdout()
        return int(code or 0)
    except SystemExit as stop:  # typer ends so when it completes words for a shell
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        return _explain(error)


@cache
def _command() -> Any:
    """Give the whole command line; reading the signatures of all commands takes longer than many an answer."""
    from tracestat.cli.app import app

    return get_command(app)


def _explain(error: Exception) -> int:
    """Print one line about an error and give the exit code."""
    # DuckDB says so when the interrupt comes while it works
    if isinstance(error, typer.Abort) or (isinstance(error, RuntimeError) and str(error) == "Query interrupted"):
        raise KeyboardInterrupt
    if os.environ.get("TRACESTAT_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, TracestatError):
        complain(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "tracestat"
        said = error.format_message().rstrip(".").replace("Value error, ", "")
        if said == "Missing command" and context is not None:
            said += f". Choose from: {', '.join(context.command.list_commands(context))}"
        complain(f"{said} (see {command} --help)")
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:
        # the base name only: a folder in a path can tell whose machine this is
        name = Path(os.fsdecode(error.filename)).name if error.filename is not None else ""
        complain(f"{name}: {error.strerror}" if name else error.strerror)
        return 1
    # the text of an unforeseen error may quote a log, so only its kind and its place are shown
    place = traceback.extract_tb(error.__traceback__)[-1]
    complain(
        f"internal error ({type(error).__name__} at {Path(place.filename).name}:{place.lineno}): please report it; "
        "TRACESTAT_DEBUG=1 shows the traceback"
    )
    return 1


def _show_warning(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001  the signature is that of warnings.showwarning
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: object = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    complain(f"warning: {message}")
