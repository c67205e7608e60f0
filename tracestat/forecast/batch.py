"""Many questions at once: codes of keys in, one number per row out, a block of rows and a thread at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.forecast.counts import Counts
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.model import PathModel
from tracestat.forecast.nesting import Level
from tracestat.forecast.shrinkage import root_hazards, shrunk
from tracestat.survival.threads import two_at_a_time

__all__ = [
    "Cut",
    "Finder",
    "LaidOut",
    "LaidPath",
    "hazards_asked",
    "lay_out",
    "remaining_quantiles",
    "remaining_survival",
]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Codes = NDArray[np.int32]
Part: TypeAlias = "slice | Rows"
# rows of a block: its arrays stay in the cache of a core
_BLOCK = 1 << 15
# the largest table of (parent, code) pairs; above it a search answers
_MOST_PAIRS = 1 << 22


class Finder:
    """Finds the curve of each row: that of the lowest level that has seen its keys.

    Parameters
    ----------
    path : PathModel
    """

    def __init__(self, path: PathModel) -> None:
        sizes = [1, *(level.size for level in path.nesting.levels)]
        self._starts = np.cumsum([0, *sizes])
        self._levels = [
            _Pairs(level, above) for level, above in zip(path.nesting.levels, sizes[:-1], strict=True) if level.size
        ]

    def places(self, codes: Sequence[Codes], size: int) -> Rows:
        """Find the places of rows, the root at 0 and then level by level as in :class:`ForecastTree`.

        Parameters
        ----------
        codes : sequence of ndarray of int, each of shape (N,)
            One per key from the top, -1 for a value never seen; may be fewer than the keys.
        size : int
            The N.

        Returns
        -------
        ndarray of int, shape (N,)
        """
        out = np.empty(size, dtype=np.intp)

        def block(start: int) -> None:
            part = slice(start, start + _BLOCK)
            place = np.zeros(out[part].shape, dtype=np.intp)
            above = np.zeros(place.shape, dtype=np.intp)
            for number, (level, code) in enumerate(zip(self._levels, codes, strict=False), start=1):
                above = level.find(above, code[part])
                place = np.where(above >= 0, self._starts[number] + above, place)
            out[part] = place

        two_at_a_time(block, range(0, size, _BLOCK))
        return out


class _Pairs:
    """One level as a table of its (parent, code) pairs, where that is not too large."""

    def __init__(self, level: Level, n_above: int) -> None:
        self._level = level
        self._table: NDArray[np.int32] | None = None
        if n_above * level.base <= _MOST_PAIRS:
            # the row and the column in front hold -1, for a parent and for a value that were never seen
            self._table = np.full((n_above + 1, level.base + 1), -1, dtype=np.int32)
            self._table[level.parents + 1, level.codes + 1] = np.arange(level.size)

    def find(self, above: Rows, code: Codes) -> Rows:
        # a value that the level has in its names, but not here, may lie above its largest code
        known = np.where(code < self._level.base, code, -1)
        if self._table is None:
            return self._level.find(above, known)
        width = self._table.shape[1]
        found: Rows = self._table.ravel()[(above + 1) * width + known + 1].astype(np.intp)
        return found


class LaidOut(Protocol):
    """The curves of N rows, a block at a time."""

    @property
    def size(self) -> int:
        """Number of rows."""

    @property
    def block(self) -> int:
        """Rows of a block."""

    def part(self, begin: int) -> tuple[Part, Curves, Rows]:
        """Give the rows of the block that begins there, their curves, and which of these each one has."""


@dataclass(frozen=True, slots=True, eq=False)
class LaidPath:
    """The curves of one hierarchy that rows ask for.

    Attributes
    ----------
    curves : Curves
    which : ndarray of int, shape (N,)
        The curve of each row.
    """

    curves: Curves
    which: Rows
    block: int = _BLOCK

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.which.size)

    def part(self, begin: int) -> tuple[Part, Curves, Rows]:
        """Give the rows of a block: curves are shared by all of them."""
        part = slice(begin, begin + self.block)
        return part, self.curves, self.which[part]


def lay_out(path: PathModel, places: Rows) -> LaidPath:
    """Make the curves that rows ask for, and no others.

    Parameters
    ----------
    path : PathModel
    places : ndarray of int, shape (N,)
        Of :meth:`Finder.places`.
    """
    hazards, which = hazards_asked(path, places)
    return LaidPath(curves_of(path.grid, hazards, path.alpha), which)


def hazards_asked(path: PathModel, places: Rows) -> tuple[Array, Rows]:
    """Give the hazards of the nodes that rows ask for, and of no others.

    Parameters
    ----------
    path, places
        As for :func:`lay_out`.

    Returns
    -------
    hazards : ndarray, shape (n, J)
    which : ndarray of int, shape (N,)
        Row of ``hazards`` of each.
    """
    levels = path.nesting.levels
    starts = np.cumsum([0, 1, *(level.size for level in levels)])
    wanted = np.zeros(int(starts[-1]), dtype=np.bool_)
    wanted[places] = True
    number = np.cumsum(wanted) - 1
    # from below: who is asked about, and who stands above those
    needed = [wanted[a:b].copy() for a, b in pairwise(starts.tolist())]
    for i in range(len(levels), 0, -1):
        needed[i - 1][levels[i - 1].parents[needed[i]]] = True
    above = root_hazards(path.counts[0])
    hazards = np.empty((int(wanted.sum()), path.grid.n_bins))
    if wanted[0]:
        hazards[0] = above[0]
    row_above = np.zeros(1, dtype=np.intp)
    for i, level in enumerate(levels, start=1):
        nodes = np.flatnonzero(needed[i])
        own = Counts(path.counts[i].ended[nodes], path.counts[i].reached[nodes])
        above = shrunk(own, above[row_above[level.parents[nodes]]], path.kappas[i - 1].kappa)
        row_above = np.cumsum(needed[i]) - 1
        asked = wanted[starts[i] + nodes]
        hazards[number[starts[i] + nodes[asked]]] = above[asked]
    return hazards, number[places]


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Limits that calls asked for.

    Attributes
    ----------
    limit : ndarray, shape (N,)
        Seconds from the start of the pause; infinity for none.
    mass : ndarray, shape (N,)
        Share that ends there, of those that still run then.
    """

    limit: Array
    mass: Array

    def drop(self, elapsed: Array, part: Part) -> tuple[Array, Array]:
        """Give limits that lie ahead (else infinity), and by how much ln S falls at each."""
        ahead = self.limit[part] > elapsed
        limit = np.where(ahead, self.limit[part], np.inf)
        with np.errstate(divide="ignore"):
            return limit, np.where(np.isfinite(limit), np.log1p(-self.mass[part]), 0.0)


def remaining_quantiles(laid: LaidOut, elapsed: ArrayLike, p: Sequence[float], cut: Cut | None = None) -> Array:
    """Give quantiles of the remaining time.

    Parameters
    ----------
    laid : LaidOut
        The curves of N rows.
    elapsed : array_like, shape (N,) or ()
        Seconds.
    p : sequence of float
        k shares in [0, 1).
    cut : Cut, optional

    Returns
    -------
    ndarray, shape (k, N)
        Seconds from now.
    """

    def answer(part: Part, curves: Curves, rows: Rows, start: Array) -> Array:
        out = np.empty((len(p), rows.size))
        if cut is not None:
            limit, drop = cut.drop(start, part)
            # a row without a limit is asked at the start, where no drop follows
            before = curves.log_survival_at(rows, np.where(np.isfinite(limit), limit, 0.0))
            now = curves.log_survival_at(rows, start)
        for k, share in enumerate(p):
            found = curves.quantile(rows, share, start)
            if cut is not None:
                target = now + np.log1p(-share)
                late = np.isfinite(limit) & (before > target)
                # what the jump does not reach is asked of the uncut law, with the jump given back
                after = late & (before + drop > target)
                found = np.where(late, limit, found)
                if after.any():
                    rest = 1 - (1 - share) / np.exp(drop[after])
                    later = curves.quantile(rows[after], rest, start[after])
                    found[after] = np.maximum(later, limit[after])
            out[k] = found - start
        return out

    return _in_blocks(answer, laid, elapsed, len(p))


def remaining_survival(laid: LaidOut, elapsed: ArrayLike, horizon: Sequence[float], cut: Cut | None = None) -> Array:
    """Give the share that still runs some time from now.

    Parameters
    ----------
    laid, elapsed, cut
        As for :func:`remaining_quantiles`.
    horizon : sequence of float
        k times from now, seconds.

    Returns
    -------
    ndarray, shape (k, N)
    """

    def answer(part: Part, curves: Curves, rows: Rows, start: Array) -> Array:
        out = np.empty((len(horizon), rows.size))
        now = curves.log_survival_at(rows, start)
        for k, ahead in enumerate(horizon):
            fall = curves.log_survival_at(rows, start + ahead) - now
            if cut is not None:
                limit, drop = cut.drop(start, part)
                fall = np.where(start + ahead >= limit, fall + drop, fall)
            out[k] = np.exp(fall)
        return out

    return _in_blocks(answer, laid, elapsed, len(horizon))


def _in_blocks(
    answer: Callable[[Part, Curves, Rows, Array], Array], laid: LaidOut, elapsed: ArrayLike, n_answers: int
) -> Array:
    start = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), (laid.size,))
    out = np.empty((n_answers, laid.size))

    def block(begin: int) -> None:
        part, curves, rows = laid.part(begin)
        # far out in the tail the power law inside the last bin, which is not used there, would overflow
        with np.errstate(over="ignore"):
            out[:, part] = answer(part, curves, rows, start[part])

    two_at_a_time(block, range(0, laid.size, laid.block))
    return out
