"""What the command line prints and a notebook shows of a result."""

from __future__ import annotations

from tracestat.charts.captions import arrange
from tracestat.charts.render import to_html, to_text
from tracestat.charts.table import Column, Table
from tracestat.charts.table_hazard import hazard_tables
from tracestat.charts.table_listing import calls_tables, keys_tables
from tracestat.charts.table_summary import summary_tables
from tracestat.charts.table_survival import survival_tables
from tracestat.charts.table_timeline import timeline_tables
from tracestat.results import (
    CallsResult,
    HazardResult,
    KeysResult,
    Result,
    SummaryResult,
    SurvivalResult,
    TimelineResult,
)

__all__ = ["Column", "Table", "tables_of", "to_html", "to_text"]

_TOP = 20


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
    most = _TOP if top is None else top
    if isinstance(result, HazardResult):
        return hazard_tables(result, *arrange(result.groups, sort, most))
    if isinstance(result, SummaryResult):
        return summary_tables(result, *arrange(result.groups, sort, most))
    if isinstance(result, SurvivalResult):
        return survival_tables(result, *arrange(result.groups, sort, most))
    arrange((), sort, most)
    if isinstance(result, KeysResult):
        return keys_tables(result)
    if isinstance(result, CallsResult):
        return calls_tables(result, top)
    if isinstance(result, TimelineResult):
        return timeline_tables(result, top)
    raise TypeError(f"{type(result).__name__} has no tables")
