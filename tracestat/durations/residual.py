"""The sufficient statistics of residual life: each function runs one query on the selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["residual_cells", "residual_counts"]


def residual_counts(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count ends and censorings per distinct duration, tool rows and others apart: ``queries/residual_counts.sql``."""
    return run_on(trace, "residual_counts", selection, rows=selection.rows)


def residual_cells(trace: Trace, selection: Selection, edges: Sequence[float]) -> pl.DataFrame:
    """Count ends and sum durations per session and cell, tool rows and others apart: ``queries/residual_cells.sql``.

    Parameters
    ----------
    edges : sequence of float
        Seconds, ascending from 0; cell 0 holds durations of 0, cell k those in (edges[k-1], edges[k]].
    """
    bounds = [float(value) for value in edges]
    return run_on(
        trace,
        "residual_cells",
        selection,
        rows=selection.rows,
        cell=list(range(len(bounds))),
        above=[-1.0, *bounds[:-1]],
        at_most=bounds,
    )
