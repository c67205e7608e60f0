"""Ends that are known to an interval only, as polls leave them: each function runs one query on the selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["count_between", "hazard_between"]


def hazard_between(trace: Trace, selection: Selection, edges: Sequence[float]) -> pl.DataFrame:
    """Count ends per interval, session and skeleton: ``queries/hazard_between.sql``.

    Parameters
    ----------
    edges : sequence of float
        Edges of the hazard bins, as `tracestat.durations.hazard_cells` has them: what it leaves to intervals is here.
    """
    edge = [float(value) for value in edges]
    return run_on(trace, "hazard_between", selection, rows=selection.rows, edge=edge)


def count_between(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count ends known to an interval, by key: ``queries/count_between.sql``."""
    return run_on(trace, "count_between", selection, rows=selection.rows)
