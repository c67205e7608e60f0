"""The calls of rounds with several: what a round waits for when its pause starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["forecast_members"]


def forecast_members(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give a row per call that still runs when a pause with several calls starts: ``queries/forecast_members.sql``."""
    return run_on(trace, "forecast_members", selection, rows=selection.rows)
