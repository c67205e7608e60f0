"""The command line: one short module per command that parses, calls the api and prints.

Importing this package loads nothing, so that an interrupt finds :func:`main` in charge from the first moment on, and
a command loads only what it needs: ``tracestat --help`` needs typer alone.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its options; those of this process by default.

    Returns
    -------
    int
        The exit code: 0 done, 1 error, 2 usage, 130 interrupted.

    Examples
    --------
    >>> main(["--version"])
    tracestat 0.1.0
    0
    """
    try:
        from tracestat.cli.entry import run

        return run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
