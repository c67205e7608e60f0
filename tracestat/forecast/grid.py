"""The bins of a forecast: a log grid with the windows of known deadlines cut in, so that spikes have their own bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import UsageError

__all__ = ["Grid", "forecast_grid"]

_FIRST, _LAST, _N_EDGES = 0.005, 20_000.0, 41


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Bins [e_j, e_j+1) from 0 on; the last one, from the last edge on, is open.

    Attributes
    ----------
    edges : ndarray, shape (J + 1,)
        Seconds, ascending from 0; J closed bins.
    windows : tuple of (float, float)
        Windows [a, b) of known deadlines, seconds; a and b are edges and a bin lies between them.
    """

    edges: NDArray[np.float64]
    windows: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        e = np.asarray(self.edges, dtype=np.float64)
        if e.ndim != 1 or e.size < 2 or e[0] != 0 or not np.all(np.diff(e) > 0) or not np.isfinite(e[-1]):
            raise UsageError("the edges of a forecast's grid must rise from 0 and be finite")
        e.setflags(write=False)
        object.__setattr__(self, "edges", e)

    @property
    def n_bins(self) -> int:
        """Number of closed bins, the J of the formulas."""
        return int(self.edges.size - 1)

    def place(self, seconds: ArrayLike) -> NDArray[np.intp]:
        """Find the bin of each duration; ``n_bins`` stands for the open one.

        Parameters
        ----------
        seconds : array_like, shape (N,)
            Not negative.

        Returns
        -------
        ndarray of int, shape (N,)

        Examples
        --------
        >>> Grid(np.array([0.0, 1.0, 4.0, 16.0])).place([0.0, 1.0, 3.9, 99.0]).tolist()
        [0, 1, 1, 3]
        """
        return np.searchsorted(self.edges, np.asarray(seconds, dtype=np.float64), side="right") - 1


def forecast_grid(windows: Sequence[tuple[float, float]] = ()) -> Grid:
    """Lay the bins of a forecast: 0, then 41 log-spaced edges from 5 ms to 20,000 s, and the edges of every window.

    Parameters
    ----------
    windows : sequence of (float, float)
        Windows [a, b) of deadlines, seconds; those that overlap are joined. Log edges inside one are dropped.

    Returns
    -------
    Grid

    Raises
    ------
    UsageError
        A window that is empty or does not lie between 0 and 20,000 s.

    Examples
    --------
    >>> forecast_grid().n_bins, forecast_grid([(119.4, 126.0)]).n_bins
    (41, 43)
    """
    joined: list[tuple[float, float]] = []
    for a, b in sorted((float(a), float(b)) for a, b in windows):
        if not 0 < a < b < _LAST:
            raise UsageError(f"window {a:g} to {b:g} s: a deadline's window lies between 0 and {_LAST:g} s")
        if joined and a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    free = [e for e in np.geomspace(_FIRST, _LAST, _N_EDGES) if not any(a <= e <= b for a, b in joined)]
    return Grid(np.unique([0.0, *free, *(e for window in joined for e in window)]), tuple(joined))
