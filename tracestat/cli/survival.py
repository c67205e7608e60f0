"""``tracestat survival``."""

from __future__ import annotations

from tracestat.cli.options import Clocked, Estimated, Output, Selected, Shown, check_definition, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["survival"]


@expand
def survival(*, estimated: Estimated, selected: Selected, clocked: Clocked, shown: Shown, output: Output) -> None:
    """Show the curve itself: how long until the agent is back.

    Kaplan-Meier, with the clustered interval and the number at risk at each time.
    """
    check_definition(estimated, selected, clocked)
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.survival_curve(trace, **selected.options(), **clocked.options(), **estimated.options())
        show(result, output, shown, names=own_names(trace))
