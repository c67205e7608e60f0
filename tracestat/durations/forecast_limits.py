"""What became of pauses that asked for a limit and still lasted when it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["forecast_limits"]


def forecast_limits(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count pauses that reached their asked limit, and those that ended on it: ``queries/forecast_limits.sql``."""
    return run_on(trace, "forecast_limits", selection, rows=selection.rows)
