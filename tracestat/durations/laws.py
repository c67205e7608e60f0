"""Counts on a fine logarithmic grid: what laws of durations are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.durations.selection import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["law_cells", "law_covariates", "law_times"]


def law_cells(trace: Trace, selection: Selection, grid: Sequence[float], edges: Sequence[float]) -> pl.DataFrame:
    """Count ends per session, entry and cell of a grid: ``queries/law_cells.sql``.

    Parameters
    ----------
    grid : sequence of float
        Lower bounds of the cells in seconds, ascending from the first edge; the last cell is open.
    edges : sequence of float
        Edges of the bins; rows of a clock too coarse for the first ones enter at a later one.
    """
    counted = _counted(trace, "law_cells", selection, grid, edges)
    # sums of floats made of these depend on their order
    return counted.sort("session_pk", "enters_at", "cell")


def law_covariates(trace: Trace, selection: Selection, grid: Sequence[float], edges: Sequence[float]) -> pl.DataFrame:
    """Count ends per provider, tool class, developer, entry and cell of a grid: ``queries/law_covariates.sql``.

    Parameters
    ----------
    grid, edges : sequence of float
        As for :func:`law_cells`.
    """
    counted = _counted(trace, "law_covariates", selection, grid, edges)
    return counted.sort("provider_of", "class_of", "developer_of", "enters_at", "cell", nulls_last=True)


def law_times(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count ends and censorings per distinct duration, entry and resolution: ``queries/law_times.sql``."""
    return run_on(trace, "law_times", selection, rows=selection.rows)


def _counted(
    trace: Trace, name: str, selection: Selection, grid: Sequence[float], edges: Sequence[float]
) -> pl.DataFrame:
    lower = [float(value) for value in grid]
    return run_on(
        trace,
        name,
        selection,
        rows=selection.rows,
        cell=list(range(len(lower))),
        lo=lower,
        hi=[*lower[1:], 1e300],
        edge=[float(value) for value in edges],
    )
