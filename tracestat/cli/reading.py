"""What every command that reads a trace does first: check where its files go, then open the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracestat.cli.options import Output, Selected
from tracestat.cli.output import check_output, remark
from tracestat.cli.progress import progress_bar

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["opened"]


@contextmanager
def opened(selected: Selected, output: Output) -> Iterator[Trace]:
    """Open the trace that the user named, or the bundled sample."""
    check_output(output, (selected.trace, selected.classes))
    import tracestat

    if selected.trace is None:
        remark("no trace given: reading the bundled sample, which is synthetic", quiet=output.quiet)
    with progress_bar("reading the trace", quiet=output.quiet) as progress:
        trace = tracestat.open(selected.trace, classes=selected.classes, progress=progress)
    with trace:
        yield trace
