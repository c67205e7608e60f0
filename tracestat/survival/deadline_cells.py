"""Events and exposure per session on a fine grid, kept sparse: most sessions reach few of its thousands of cells.

Any union of cells (a window, a flank with holes, a bin of a chart) is summed from the same numbers, in all at once and
per session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.bins import Grid, Window

__all__ = ["ScanCells", "cells_of_rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)  # no slots: its sums are kept once made
class ScanCells:
    """What ends in each cell of a grid, per session; rows of the arrays are (session, cell) that occur.

    Attributes
    ----------
    grid : Grid
        The cells.
    session, cell : ndarray of int, shape (N,)
        Codes of sessions from 0, and cells; each pair at most once.
    n_exit, n_event, sum_time : ndarray, shape (N,)
        Rows that end there, those of them that were seen to end, and the sum of their durations, seconds.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps; its length is the number of sessions.
    """

    grid: Grid
    session: NDArray[np.intp]
    cell: NDArray[np.intp]
    n_exit: Floats
    n_event: Floats
    sum_time: Floats
    developer: NDArray[np.intp]

    def __post_init__(self) -> None:
        if len({a.shape for a in (self.session, self.cell, self.n_exit, self.n_event, self.sum_time)}) != 1:
            raise TracestatError("deadline scan: sessions, cells, counts and times must be columns of one length")

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return int(self.developer.size)

    @property
    def n_developers(self) -> int:
        """Number of developers."""
        return int(self.developer.max(initial=-1)) + 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.n_exit.sum())

    @cached_property
    def lower(self) -> Floats:
        """Lower edge of each cell, shape (C,)."""
        return np.asarray(self.grid.edges)

    @cached_property
    def width(self) -> Floats:
        """Width of each cell, shape (C,); 0 for the open one, which is never summed."""
        return np.append(np.diff(self.lower), 0.0)

    @cached_property
    def events(self) -> Floats:
        """Events of all sessions per cell, shape (C,)."""
        return sum_by(self.n_event, self.cell, self.grid.n_cells)

    @cached_property
    def at_risk(self) -> Floats:
        """Rows that reach the lower edge of each cell, shape (C,)."""
        exits = sum_by(self.n_exit, self.cell, self.grid.n_cells)
        return np.cumsum(exits[::-1])[::-1].copy()

    @cached_property
    def exposure(self) -> Floats:
        """Exposure of all sessions per cell, seconds, shape (C,); the open cell counts none."""
        exits = sum_by(self.n_exit, self.cell, self.grid.n_cells)
        times = sum_by(self.sum_time, self.cell, self.grid.n_cells)
        found = times - exits * self.lower + (self.at_risk - exits) * self.width
        found[-1] = 0.0
        return found

    def inside(self, windows: Sequence[Window]) -> NDArray[np.bool_]:
        """Tell which cells lie in any of the windows, shape (C,)."""
        found = np.zeros(self.grid.n_cells, dtype=np.bool_)
        for low, high in windows:
            found[self.at(low) : self.at(high)] = True
        return found

    def at(self, edge: float) -> int:
        """Give the cell that begins at an edge of the grid."""
        return int(self.places(np.array(edge)))

    def places(self, edges: Floats) -> NDArray[np.intp]:
        """Give the cells that begin at edges of the grid, in the shape of the edges."""
        found = np.minimum(np.searchsorted(self.lower, edges), self.lower.size - 1)
        if np.any(self.lower[found] != edges):
            raise TracestatError("deadline scan: a window or flank does not end on an edge of the grid")
        return found

    def by_session(self, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Sum events and exposure over cells, per session.

        Parameters
        ----------
        inside : ndarray of bool, shape (C,)
            Which cells.

        Returns
        -------
        D, X : ndarray, shape (S,)
            Events, and exposure in seconds.
        """
        chosen = np.flatnonzero(inside)
        if chosen.size == 0:
            return np.zeros(self.n_sessions), np.zeros(self.n_sessions)
        first, last = int(chosen[0]), int(chosen[-1]) + 1
        width = np.where(inside[first:last], self.width[first:last], 0.0)
        within, beyond = (slice(*self._rows(a, b)) for a, b in ((first, last), (last, None)))
        place = self.by_cell[within]
        session, cell, n, events = self.session[place], self.cell[place], self.n_exit[place], self.n_event[place]
        here = np.where(inside[cell], 1.0, 0.0)
        passed = (np.cumsum(width) - width)[cell - first]  # time inside before the cell
        exposure = sum_by(here * (self.sum_time[place] - n * self.lower[cell]) + n * passed, session, self.n_sessions)
        place = self.by_cell[beyond]
        exposure += width.sum() * sum_by(self.n_exit[place], self.session[place], self.n_sessions)
        # a sum of times less the same sum of edges may miss zero by rounding
        return sum_by(here * events, session, self.n_sessions), np.maximum(exposure, 0.0)

    @cached_property
    def by_cell(self) -> NDArray[np.intp]:
        """Order of the rows of the arrays by cell, shape (N,)."""
        return np.argsort(self.cell, kind="stable")

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        return np.searchsorted(self.cell[self.by_cell], np.arange(self.grid.n_cells + 1))

    def _rows(self, first: int, last: int | None) -> tuple[int, int]:
        """Give which of the rows in order of cells lie in cells [first, last)."""
        return int(self._starts[first]), int(self._starts[self.grid.n_cells if last is None else last])

    def reaching(self, edge: float) -> Floats:
        """Count the rows of each session that reach an edge of the grid, shape (S,)."""
        reach = self.cell >= self.at(edge)
        return sum_by(self.n_exit[reach], self.session[reach], self.n_sessions)

    def mean_time(self, inside: NDArray[np.bool_]) -> float | None:
        """Give the mean duration of the rows that end in some cells, seconds; None where there are none."""
        use = inside[self.cell]
        n = float(self.n_exit[use].sum())
        return float(self.sum_time[use].sum()) / n if n else None


def cells_of_rows(
    times: ArrayLike, observed: ArrayLike, session: ArrayLike, grid: Grid, developer: ArrayLike | None = None
) -> ScanCells:
    """Count rows on a grid.

    Parameters
    ----------
    times : array_like, shape (R,)
        Durations, seconds, not negative.
    observed : array_like of bool, shape (R,)
        Whether the end was seen.
    session : array_like of int, shape (R,)
        Session of each row, from 0 without gaps.
    grid : Grid
        The cells.
    developer : array_like of int, shape (S,), optional
        Developer of each session; default each its own.

    Returns
    -------
    ScanCells

    Raises
    ------
    TracestatError
        If a duration is negative or no number.

    Examples
    --------
    >>> data = cells_of_rows([1.5, 5.0], [1, 1], [0, 1], Grid((0.0, 1.0, 4.0)))
    >>> data.exposure, data.by_session(np.array([False, True, False]))[1]
    (array([2. , 3.5, 0. ]), array([0.5, 3. ]))
    """
    duration, seen = np.asarray(times, dtype=np.float64), np.asarray(observed, dtype=np.float64)
    code = np.asarray(session, dtype=np.intp)
    if not (duration.shape == seen.shape == code.shape) or not bool(np.all((duration >= 0) & np.isfinite(duration))):
        raise TracestatError("deadline scan: each row needs a duration of 0 s or more, its end kind and its session")
    n_sessions = int(code.max(initial=-1)) + 1
    place = np.searchsorted(np.asarray(grid.edges), duration, side="right") - 1
    pairs, where = np.unique(code * grid.n_cells + place, return_inverse=True)
    return ScanCells(
        grid,
        (pairs // grid.n_cells).astype(np.intp),
        (pairs % grid.n_cells).astype(np.intp),
        sum_by(np.ones(duration.size), where, pairs.size),
        sum_by(seen, where, pairs.size),
        sum_by(duration, where, pairs.size),
        np.arange(n_sessions) if developer is None else np.asarray(developer, dtype=np.intp),
    )
