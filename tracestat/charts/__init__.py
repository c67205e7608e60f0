"""Results as tables and as charts: Altair is loaded when a chart is asked for, not before."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tracestat.charts.saving import save
from tracestat.results import Result

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw", "save"]

# which function of which module draws a result
_CHARTS = {
    "CacheSummary": ("sections", "draw_cache"),
    "CalibrationResult": ("calibration", "draw_calibration"),
    "CallsResult": ("listing", "draw_calls"),
    "CommandsSummary": ("sections", "draw_commands"),
    "DeadlinesResult": ("deadlines", "draw_deadlines"),
    "FitResult": ("fit", "draw_fit"),
    "ForecastEvaluation": ("forecast_evaluation", "draw_forecast_evaluation"),
    "ForecastPrediction": ("forecast_prediction", "draw_forecast_prediction"),
    "ForecastFit": ("forecast_fit", "draw_forecast_fit"),
    "HazardResult": ("hazard", "draw_hazard"),
    "KeysResult": ("listing", "draw_keys"),
    "MemoryfulnessResult": ("memoryfulness", "draw_memoryfulness"),
    "OccupancyResult": ("occupancy", "draw_occupancy"),
    "ReproduceResult": ("reproduce", "draw_reproduce"),
    "ResidualResult": ("residual", "draw_residual"),
    "SessionsSummary": ("sections", "draw_sessions"),
    "SimulationResult": ("simulation", "draw_simulation"),
    "SummaryResult": ("summary", "draw_summary"),
    "SurvivalResult": ("survival", "draw_survival"),
    "TimelineResult": ("timeline", "draw_timeline"),
    # what a table of runs says
    "EtaVerdict": ("verdict_rows", "draw_eta"),
    "LeversVerdict": ("verdict_levers", "draw_levers"),
    "NoVerdict": ("verdict_rows", "draw_no_verdict"),
    "QuestionsVerdict": ("verdict_rows", "draw_questions"),
    "SensitivityVerdict": ("verdict_sensitivity", "draw_sensitivity"),
    "SuccessVerdict": ("verdict_success", "draw_success"),
    "WhereVerdict": ("verdict_where", "draw_where"),
}


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
    name = type(result).__name__
    if name not in _CHARTS:
        raise TypeError(f"{name} has no chart")
    module, function = _CHARTS[name]
    drawn: alt.TopLevelMixin = getattr(import_module(f"tracestat.charts.{module}"), function)(result)
    return drawn
