"""``tracestat summary``."""

from __future__ import annotations

from tracestat.cli.options import Clocked, Estimated, Output, Selected, Shown, check_definition, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["summary"]


@expand
def summary(*, estimated: Estimated, selected: Selected, clocked: Clocked, shown: Shown, output: Output) -> None:
    """Sum up how many, how long, and where time and token-seconds go.

    Quantiles, shares within 1, 10 and 60 s, shares of the long ones, what waits for a human, and how the durations
    ended; for pauses and for calls.
    """
    check_definition(estimated, selected, clocked)
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.summary(trace, **selected.options(), **clocked.options(), **estimated.options())
        show(result, output, shown, names=own_names(trace))
