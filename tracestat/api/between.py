"""Commands that ended between two polls: from their intervals to rows that end in several cells, by parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import group_keys
from tracestat.durations import Selection, hazard_cells
from tracestat.durations.between import count_between, hazard_between
from tracestat.resample import sum_by
from tracestat.survival.between_keys import Parts
from tracestat.survival.between_polls import BetweenFit, fit_falling
from tracestat.survival.bins import Grid
from tracestat.survival.end_shares import Intervals, end_shares
from tracestat.survival.hazard import TimeCounts

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["Between", "between_notes", "between_words", "cells_and_ends"]

_Key: TypeAlias = tuple[Any, ...]
_LEAST = 1e-9  # parts of an end below this are left out


@dataclass(frozen=True, slots=True)
class Between:
    """Ends of one group that are known to an interval, and the fit that shares them out.

    Attributes
    ----------
    data : Intervals
    fit : BetweenFit
    told : ndarray
        When these rows were found ended, seconds, one entry a row.
    at, part : ndarray
        Where they ended instead, by parts: mean end in a cell, seconds, and how much of a row ended there.
    """

    data: Intervals
    fit: BetweenFit
    told: NDArray[np.float64]
    at: NDArray[np.float64]
    part: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.data.n.sum())

    def parts_in(self, rows: pl.DataFrame) -> Parts:
        """Tell which rows of the group's statistics are parts of these ends."""
        interval = rows["interval"].to_numpy()
        found = np.flatnonzero(interval >= 0)
        return Parts(self.data, self.fit.edges, found, interval[found].astype(np.intp))

    def moved(self, counts: TimeCounts) -> TimeCounts:
        """Give the counts per duration with these ends where they are likely instead of where they were found."""
        if not counts.time.size:  # causes have no counts of their own
            return counts
        times, place = np.unique(np.concatenate([counts.time, self.told, self.at]), return_inverse=True)
        event = np.concatenate([counts.n_event, -np.ones(self.told.size), self.part])
        censored = np.concatenate([counts.n_censored, np.zeros(self.told.size + self.at.size)])
        n_event, n_censored = (sum_by(values, place, times.size) for values in (event, censored))
        # what is taken away leaves rounding, which is no row
        return TimeCounts(times, np.where(n_event < _LEAST, 0.0, n_event), n_censored)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Sufficient statistics with ends between polls shared out, and how, by the keys of the rows at risk."""

    cells: pl.DataFrame
    groups: Mapping[_Key, Between] = field(default_factory=dict)


def cells_and_ends(trace: Trace, selection: Selection, grid: Grid, edges: Sequence[float]) -> _Ends:
    """Count ends per session and cell; those known to an interval only are shared out over its cells.

    Parameters
    ----------
    trace : Trace
    selection : Selection
    grid : Grid
        The cells.
    edges : sequence of float
        Edges of the hazard bins.

    Notes
    -----
    The hazard that shares them out is that of all rows at risk together, a power of time within each bin: that of the
    group, with ``end_kind`` among the keys that of all causes, and the same for every session and key of it. Other
    units than commands have no such ends.
    """
    if selection.unit != "command":
        return _Ends(hazard_cells(trace, selection, grid.edges, edges))
    between = hazard_between(trace, selection, edges)
    if between.is_empty():
        return _Ends(hazard_cells(trace, selection, grid.edges, edges))
    cells = hazard_cells(trace, selection, grid.edges, edges, between=True)
    numbers = cells.select("skeleton_hash", "skeleton_id").unique()
    between = between.rename({"skeleton_id": "skeleton_hash"}).join(numbers, on="skeleton_hash", how="left")
    cells = cells.drop("skeleton_hash")
    keys = [name for name in group_keys(selection) if name != "end_kind"]
    parts, groups = [], {}
    at_risk = _by(cells, keys)
    for key, own in _by(between, keys).items():
        groups[key], rows = _shared_out(at_risk[key], own, grid, edges)
        parts.append(rows)
    return _Ends(_merged(cells, parts), groups)


def _by(frame: pl.DataFrame, keys: Sequence[str]) -> dict[_Key, pl.DataFrame]:
    if not keys:
        return {(): frame}
    return {part.select(keys).row(0): part for part in frame.partition_by(keys, maintain_order=True)}


def _shared_out(
    at_risk: pl.DataFrame, own: pl.DataFrame, grid: Grid, edges: Sequence[float]
) -> tuple[Between, pl.DataFrame]:
    """Fit the hazard of one group, and give the rows of its ends between polls, a row per cell of each."""
    import polars as pl

    event, exits, micros = (
        sum_by(at_risk[name].to_numpy().astype(np.float64), at_risk["cell"].to_numpy(), grid.n_cells)
        for name in ("n_event", "n_net", "micros_net")
    )
    data = Intervals.of(own["lo"].to_numpy(), own["hi"].to_numpy(), own["n"].to_numpy())
    fit = fit_falling(data, event, exits, micros / 1e6, grid.edges, grid.base_bins(edges) + 1)
    share, moment = end_shares(data, fit.hazard, grid.edges)
    row, cell = np.nonzero(share > _LEAST)  # no row loses a part that counts
    parts = data.n[row] * share[row, cell]
    spent = data.n[row] * moment[row, cell]
    rows = own.drop("lo", "hi", "n", "skeleton_hash")[row].with_columns(
        pl.Series("cell", cell),
        pl.Series("n_event", parts),
        pl.Series("n_net", parts),
        pl.Series("micros_net", spent * 1e6),
        pl.Series("interval", row, dtype=pl.Int64),
    )
    told = np.repeat(data.hi, data.n.astype(np.intp))
    return Between(data, fit, told, spent / parts, parts), rows


def _merged(cells: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the parts among the rows, in the order that rows have."""
    import polars as pl

    more = pl.concat(parts)
    counts = [name for name in cells.columns if name not in more.columns]
    cells = cells.with_columns(pl.col("n_event", "n_net", "micros_net").cast(pl.Float64), interval=pl.lit(-1, pl.Int64))
    more = more.with_columns(pl.lit(0).alias(name) for name in counts)
    both = pl.concat([cells, more.select(cells.columns).cast(cells.schema)])
    return both.sort("session_pk", "skeleton_id", "cell", maintain_order=True)


def between_words(n: int, of: int) -> str:
    """Say how many commands of a group ended between two polls.

    Examples
    --------
    >>> between_words(1, 30)
    '1 of 30 commands ended between two polls'
    """
    return f"{n:,} of {of:,} commands ended between two polls"


def between_notes(trace: Trace, selection: Selection, error: str) -> list[str]:
    """Say, for an estimate that times ends at the poll that found them, how many these are and what that does.

    Parameters
    ----------
    trace : Trace
    selection : Selection
    error : str
        What is off by it, and in which direction.
    """
    if selection.unit != "command":
        return []
    counted = count_between(trace, selection)
    n = int(counted["n_between"].sum())
    if n == 0:
        return []
    which = "1 command" if n == 1 else f"{n:,} commands"
    return [f"{which} ended between two polls, and {'is' if n == 1 else 'are'} timed at the later one: {error}"]
