"""The rows that forecasts are made from and judged by, with what was known when each pause started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["forecast_rows"]


def forecast_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give a row per pause, by start: ``queries/forecast_rows.sql``."""
    return run_on(trace, "forecast_rows", selection, rows=selection.rows)
