"""``tracestat survival``."""

from __future__ import annotations

from tracestat.cli.options import Clocked, Estimated, Output, Selected, Shown, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened

__all__ = ["survival"]


@expand
def survival(*, estimated: Estimated, selected: Selected, clocked: Clocked, shown: Shown, output: Output) -> None:
    """Show the curve itself: how long until the agent is back.

    Kaplan-Meier, with the clustered interval and the number at risk at each time.
    """
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.survival_curve(trace, **selected.options(), **clocked.options(), **estimated.options())
        show(result, output, shown)
