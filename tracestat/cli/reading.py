"""What every command that reads a trace does first: check where its files go, then open the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracestat.cli.options import Located, Output
from tracestat.cli.output import check_output, remark
from tracestat.cli.progress import progress_bar
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["opened", "own_names"]


@contextmanager
def opened(selected: Located, output: Output) -> Iterator[Trace]:
    """Open the trace that the user named, the user's own logs, or the bundled sample."""
    if selected.mine and selected.trace is not None:
        raise UsageError(f"--mine stands in place of a TRACE: leave out --mine or {selected.trace.name}")
    check_output(output, (selected.trace, selected.classes))
    import tracestat

    if selected.trace is None and not selected.mine:
        remark("no trace given: reading the bundled sample, which is synthetic", quiet=output.quiet)
    with progress_bar("reading the trace", quiet=output.quiet) as progress:
        trace = tracestat.open(selected.trace, mine=selected.mine, classes=selected.classes, progress=progress)
    with trace:
        yield trace


def own_names(trace: Trace) -> Mapping[str, str]:
    """Give the true names of private ones that were kept beside a store."""
    from tracestat.charts.words import plain
    from tracestat.private_names import read_names

    kept = read_names(trace.path)
    return {} if kept is None else {name: plain(true) for name, true in kept.shown.items()}
