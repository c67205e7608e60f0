"""What every command that reads a trace does first: check where its files go, then open the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracestat.cli.options import Output, Selected
from tracestat.cli.output import check_output, remark
from tracestat.cli.progress import progress_bar
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["opened"]


@contextmanager
def opened(selected: Selected, output: Output) -> Iterator[Trace]:
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
