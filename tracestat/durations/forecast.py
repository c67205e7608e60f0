"""The rows that forecasts are made from and judged by, with what was known when each pause started.

What had ended before is laid out once for a trace and a kind of rows (``queries/forecast_ends.sql``), for pauses and
for the calls of rounds with several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tracestat.durations import Selection, run_on
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["forecast_members", "forecast_rows"]

# of which kind of rows the ends are laid out, in each open trace
_laid: WeakKeyDictionary[Trace, str] = WeakKeyDictionary()


def forecast_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give a row per pause, by start: ``queries/forecast_rows.sql``."""
    _lay_ends(trace, selection)
    return run_on(trace, "forecast_rows", selection, rows=selection.rows)


def forecast_members(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give a row per call that still runs when a pause with several calls starts: ``queries/forecast_members.sql``."""
    _lay_ends(trace, selection)
    return run_on(trace, "forecast_members", selection, rows=selection.rows)


def _lay_ends(trace: Trace, selection: Selection) -> None:
    if _laid.get(trace) != selection.rows:
        trace.run(query_text("forecast_ends"), {"rows": selection.rows})
        _laid[trace] = selection.rows
