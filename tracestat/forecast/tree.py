"""One fitted hierarchy of keys: a curve for every key seen, at every level, and which of them answers for a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts, count_exits
from tracestat.forecast.curves import Curves, curves_of, tail_exponent
from tracestat.forecast.grid import Grid
from tracestat.forecast.nesting import Nesting, nest
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.shrinkage import Shrinkage, fit_shrinkage

__all__ = ["ForecastTree", "fit_tree"]


@dataclass(frozen=True, slots=True, eq=False)
class ForecastTree:
    """Shrunk hazards of nested keys.

    Attributes
    ----------
    keys : tuple of str
        Keys of the levels below the root, from the top.
    grid : Grid
    nesting : Nesting
        Levels of ``keys``; the session below them serves only the fit.
    shrinkage : Shrinkage
        Levels of the root, of ``keys``, and of the session.
    alpha : float
        Exponent of the power law beyond the last edge.
    """

    keys: tuple[str, ...]
    grid: Grid
    nesting: Nesting
    shrinkage: Shrinkage
    alpha: float

    @property
    def starts(self) -> tuple[int, ...]:
        """Place of the first curve of each level in :meth:`curves`, the root at 0."""
        sizes = [1, *(level.size for level in self.nesting.levels)]
        return tuple(int(s) for s in np.cumsum([0, *sizes[:-1]]))

    def curves(self) -> Curves:
        """Give the curves of all nodes: the root, then level by level."""
        return curves_of(self.grid, np.concatenate(self.shrinkage.hazards[: len(self.keys) + 1]), self.alpha)

    def place(self, rows: PauseRows, depth: int | None = None) -> NDArray[np.intp]:
        """Find which of :meth:`curves` answers for each row: that of the lowest level that has seen its keys.

        Parameters
        ----------
        rows : PauseRows
            Their codes have the meaning of the rows that were fitted.
        depth : int, optional
            Use no more than so many levels below the root.
        """
        found = self.nesting.find([rows.codes[key] for key in self.keys])
        place = np.zeros(rows.size, dtype=np.intp)
        for start, node in list(zip(self.starts[1:], found, strict=True))[:depth]:
            place = np.where(node >= 0, start + node, place)
        return place


def fit_tree(rows: PauseRows, keys: Sequence[str], grid: Grid, *, effective: bool = True) -> ForecastTree:
    """Fit a hierarchy of keys on the rows of one provider.

    Parameters
    ----------
    rows : PauseRows
    keys : sequence of str
        From the top; names of ``rows.codes``.
    grid : Grid
    effective : bool
        Whether counts are discounted on the way up, see :func:`tracestat.forecast.shrinkage.fit_shrinkage`.

    Returns
    -------
    ForecastTree
    """
    nesting, nodes = nest([*(rows.codes[key] for key in keys), rows.session])
    lowest = _counts(rows, nodes[-1], nesting.levels[-1].size, grid)
    shrinkage = fit_shrinkage([level.parents for level in nesting.levels], lowest, effective=effective)
    last = grid.edges[-1]
    beyond = rows.seconds[rows.observed & (rows.seconds > last)]
    alpha = tail_exponent(beyond.size, float(np.log(beyond / last).sum()))
    return ForecastTree(tuple(keys), grid, Nesting(nesting.levels[:-1]), shrinkage, alpha)


def _counts(rows: PauseRows, node: NDArray[np.intp], n_nodes: int, grid: Grid) -> Counts:
    return count_exits(node, n_nodes, grid.place(rows.seconds), grid.n_bins, rows.observed, np.ones(rows.size))
