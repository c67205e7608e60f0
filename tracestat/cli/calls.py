"""``tracestat calls``."""

from __future__ import annotations

from tracestat.cli.options import Clocked, Longest, Output, Selected, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["calls"]


@expand
def calls(*, longest: Longest = 20, selected: Selected, clocked: Clocked, output: Output) -> None:
    """List the single longest waits.

    One line each: how long, which tool, in which session, how it ended.
    """
    with opened(selected, output) as trace:
        import tracestat

        show(
            tracestat.calls(trace, longest=longest, **selected.options(), **clocked.options()),
            output,
            names=own_names(trace),
        )
