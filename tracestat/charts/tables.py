"""What the command line prints and a notebook shows of a result."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tracestat.charts.captions import arrange, name_of
from tracestat.charts.render import to_html, to_text
from tracestat.charts.table import Column, Table
from tracestat.results import Result

__all__ = ["Column", "Table", "tables_of", "to_html", "to_text"]

_TOP = 20
# which function of which module makes the tables: of (result, groups in order, line of what was cut) ...
_GROUPED = {
    "DeadlinesResult": ("table_deadlines", "deadline_tables"),
    "CacheSummary": ("table_sections", "cache_tables"),
    "CommandsSummary": ("table_sections", "commands_tables"),
    "FitResult": ("table_fit", "fit_tables"),
    "HazardResult": ("table_hazard", "hazard_tables"),
    "MemoryfulnessResult": ("table_memoryfulness", "memoryfulness_tables"),
    "OccupancyResult": ("table_occupancy", "occupancy_tables"),
    "ResidualResult": ("table_residual", "residual_tables"),
    "SessionsSummary": ("table_sections", "sessions_tables"),
    "SummaryResult": ("table_summary", "summary_tables"),
    "SurvivalResult": ("table_survival", "survival_tables"),
}
# ... or of (result, how many rows at most)
_LISTED = {
    "CalibrationResult": ("table_calibration", "calibration_tables"),
    "CallsResult": ("table_listing", "calls_tables"),
    "ForecastEvaluation": ("table_forecast_evaluation", "evaluation_tables"),
    "ForecastPrediction": ("table_forecast_prediction", "prediction_tables"),
    "ForecastFit": ("table_forecast_fit", "forecast_fit_tables"),
    "KeysResult": ("table_listing", "keys_tables"),
    "ReproduceResult": ("table_reproduce", "reproduce_tables"),
    "SimulationResult": ("table_simulation", "simulation_tables"),
    "TimelineResult": ("table_timeline", "timeline_tables"),
    # what a table of runs says
    "EtaVerdict": ("table_verdict_rows", "eta_tables"),
    "LeversVerdict": ("table_verdict_levers", "levers_tables"),
    "NoVerdict": ("table_verdict_rows", "no_tables"),
    "QuestionsVerdict": ("table_verdict_rows", "questions_tables"),
    "SensitivityVerdict": ("table_verdict_rows", "sensitivity_tables"),
    "SuccessVerdict": ("table_verdict_success", "success_tables"),
    "WhereVerdict": ("table_verdict_where", "where_tables"),
}


def tables_of(result: Result, *, sort: str = "n", top: int | None = None) -> list[Table]:
    """Give the tables of a result, in the order in which one reads them.

    Parameters
    ----------
    result : Result
    sort : {"n", "time", "name"}
        Order of the groups: most rows first, most time first, or by name.
    top : int, optional
        How many groups (for ``calls`` waits, for ``timeline`` steps) at most; default 20 groups, 30 steps. A
        line says how to see all.

    Returns
    -------
    list of Table

    Raises
    ------
    UsageError
        An unknown order, or ``top`` below 1.
    TypeError
        A result that has no tables.
    """
    name = type(result).__name__
    groups: Any = getattr(result, "groups", ()) if name in _GROUPED else ()
    if name == "OccupancyResult":
        # a key is shown whole: its last group, of all waits, stands for it
        groups = list({name_of(group, without="rows"): group for group in groups}.values())
    arranged = arrange(groups, sort, _TOP if top is None else top)
    if name in _GROUPED:
        return _made(*_GROUPED[name], result, *arranged)
    if name in _LISTED:
        return _made(*_LISTED[name], result, top)
    raise TypeError(f"{name} has no tables")


def _made(module: str, function: str, *arguments: object) -> list[Table]:
    tables: list[Table] = getattr(import_module(f"tracestat.charts.{module}"), function)(*arguments)
    return tables
