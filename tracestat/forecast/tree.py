"""One fitted hierarchy of keys: a curve for every key seen, at every level, and which of them answers for a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        Levels of ``keys``.
    shrinkage : Shrinkage
        Levels of the root and of ``keys``; the session below them serves only the fit.
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
        return self.places(rows)[-1 if depth is None else depth]

    def places(self, rows: PauseRows) -> tuple[NDArray[np.intp], ...]:
        """Give :meth:`place` for every depth, from 0, where the root answers for all, to all keys."""
        found = self.nesting.find([rows.codes[key] for key in self.keys])
        made = [np.zeros(rows.size, dtype=np.intp)]
        for start, node in zip(self.starts[1:], found, strict=True):
            made.append(np.where(node >= 0, start + node, made[-1]))
        return tuple(made)


def fit_tree(
    rows: PauseRows,
    keys: Sequence[str],
    grid: Grid,
    *,
    effective: bool = True,
    kappas: Sequence[float] | None = None,
) -> ForecastTree:
    """Fit a hierarchy of keys on the rows of one provider.

    Parameters
    ----------
    rows : PauseRows
    keys : sequence of str
        From the top; names of ``rows.codes``.
    grid : Grid
    effective : bool
        Whether counts are discounted on the way up, sessions lowest; raw counts are the baseline.
    kappas : sequence of float, optional
        Precisions of a fit of the same keys, to use in place of fitted ones: much faster.

    Returns
    -------
    ForecastTree
    """
    nesting, nodes = nest([rows.codes[key] for key in keys])
    parents = [level.parents for level in nesting.levels]
    session = rows.session if effective else None
    bins = grid.place(rows.seconds)
    shrinkage = fit_shrinkage(parents, nodes, session, bins, rows.observed, grid.n_bins, kappas=kappas)
    last = grid.edges[-1]
    beyond = rows.seconds[rows.observed & (rows.seconds > last)]
    alpha = tail_exponent(beyond.size, float(np.log(beyond / last).sum()))
    return ForecastTree(tuple(keys), grid, nesting, shrinkage, alpha)
