"""Many questions at once to a pool: rows are sorted by what they ask for, and each combination is pooled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.batch import hazards_asked
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.model import PathModel, PooledPaths
from tracestat.forecast.pool import hazards_of_odds, log_odds

__all__ = ["LaidPool", "lay_out_pool"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
# at most so many curves are laid out at a time: they stay in the cache of a core
_BLOCK = 1 << 12
_MOST_CODE = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class LaidPool:
    """What N rows ask of a pool; curves are made a block at a time.

    Attributes
    ----------
    grid : Grid
    alpha : float
    odds : tuple of ndarray, each of shape (n, J)
        Log odds of the nodes that are asked for, of the base and of every member.
    asked : tuple of ndarray of int, each of shape (N,)
        Row of ``odds`` of each row.
    weights : ndarray, shape (2, number of ``odds``)
        Of developers not seen, and seen.
    known : ndarray of bool, shape (N,)
        Whether the developer was seen.
    order : ndarray of int, shape (N,)
        The rows, those of one combination side by side.
    combination : ndarray of int, shape (N,)
        Of each row.
    """

    grid: Grid
    alpha: float
    odds: tuple[Array, ...]
    asked: tuple[Rows, ...]
    weights: Array
    known: NDArray[np.bool_]
    order: Rows
    combination: NDArray[np.int64]
    block: int = _BLOCK

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.order.size)

    def part(self, begin: int) -> tuple[Rows, Curves, Rows]:
        """Give the rows of a block, the curves of their combinations, and which of these each row has."""
        rows = self.order[begin : begin + self.block]
        code = self.combination[rows]
        first = np.append(True, code[1:] != code[:-1])
        some = rows[first]
        weights = self.weights[self.known[some].astype(np.intp)]
        total = np.zeros((some.size, self.grid.n_bins))
        for number, (odds, asked) in enumerate(zip(self.odds, self.asked, strict=True)):
            total += weights[:, number, None] * odds[asked[some]]
        return rows, curves_of(self.grid, hazards_of_odds(total), self.alpha), np.cumsum(first) - 1


def lay_out_pool(
    pool: PooledPaths, paths: Sequence[PathModel], places: Sequence[Rows], known: NDArray[np.bool_]
) -> LaidPool:
    """Sort rows by the combination of nodes that they ask for.

    Parameters
    ----------
    pool : PooledPaths
    paths : sequence of PathModel
        Its members.
    places : sequence of ndarray of int, each of shape (N,)
        Of :meth:`tracestat.forecast.batch.Finder.places`, of the base and of every member.
    known : ndarray of bool, shape (N,)
        Whether the developer is one that the model has.
    """
    base = pool.base
    found = [hazards_asked(path, place) for path, place in zip((base, *paths), places, strict=True)]
    code, most = known.astype(np.int64), 2
    for hazards, which in found:
        if most > _MOST_CODE // max(hazards.shape[0], 1):
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            most = known.size
        code = code * hazards.shape[0] + which
        most *= hazards.shape[0]
    weights = np.array([[1 - sum(some), *some] for some in (pool.unseen, pool.seen)])
    return LaidPool(
        grid=base.grid,
        alpha=base.alpha,
        odds=tuple(log_odds(hazards) for hazards, _ in found),
        asked=tuple(which for _, which in found),
        weights=weights,
        known=known,
        order=np.argsort(code),
        combination=code,
    )
