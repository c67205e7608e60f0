"""``tracestat fit``."""

from __future__ import annotations

from tracestat.cli.options import Above, Clocked, Estimated, Output, Selected, Shown, check_definition, expand, given
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["fit"]


@expand
def fit(
    *,
    above: Above = None,
    estimated: Estimated,
    selected: Selected,
    clocked: Clocked,
    shown: Shown,
    output: Output,
) -> None:
    """Which law of durations (Weibull, lognormal ...) holds where.

    Weibull, lognormal, log-logistic and generalised gamma beside a hazard that is constant within bins: parameters
    with clustered intervals, AIC, and the range in which each agrees with the data.
    """
    check_definition(estimated, selected, clocked)
    with opened(selected, output) as trace:
        import tracestat

        options = {**selected.options(), **clocked.options(), **estimated.options(), **given(above=above)}
        show(tracestat.fit_laws(trace, **options), output, shown, names=own_names(trace))
