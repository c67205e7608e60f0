"""How long after a limit the durations end that ended on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations.selection import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["key_lateness"]


def key_lateness(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give nine tenths' lateness per key, kind and limit: ``queries/key_lateness.sql``."""
    return run_on(trace, "key_lateness", selection, rows=selection.rows, unit=selection.unit)
