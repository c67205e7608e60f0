"""Results as tables and as charts: Altair is loaded when a chart is asked for, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.charts.saving import save
from tracestat.results import (
    CallsResult,
    HazardResult,
    KeysResult,
    Result,
    SummaryResult,
    SurvivalResult,
    TimelineResult,
)

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw", "save"]


def draw(result: Result) -> alt.TopLevelMixin:
    """Draw a result.

    Parameters
    ----------
    result : Result

    Returns
    -------
    altair chart
        With titles that say unit, clock, rows and what was left out. An empty result gives a chart that says so.

    Raises
    ------
    TypeError
        A result that has no chart.
    """
    if isinstance(result, HazardResult):
        from tracestat.charts.hazard import draw_hazard

        return draw_hazard(result)
    if isinstance(result, SurvivalResult):
        from tracestat.charts.survival import draw_survival

        return draw_survival(result)
    if isinstance(result, SummaryResult):
        from tracestat.charts.summary import draw_summary

        return draw_summary(result)
    if isinstance(result, KeysResult):
        from tracestat.charts.listing import draw_keys

        return draw_keys(result)
    if isinstance(result, CallsResult):
        from tracestat.charts.listing import draw_calls

        return draw_calls(result)
    if isinstance(result, TimelineResult):
        from tracestat.charts.timeline import draw_timeline

        return draw_timeline(result)
    raise TypeError(f"{type(result).__name__} has no chart")
