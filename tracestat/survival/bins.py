"""Where the hazard is measured: bins that keep clear of the known deadlines, and the grid that serves all bin sets.

A deadline is an atom: thousands of durations within a few milliseconds. On a bin edge it would fall to one side or the
other by rounding, so the edges are searched for the place farthest from every deadline. One pass over the data
then serves several bin sets (the default one, the moved one, with and without holes) through a common refinement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import TracestatError, UsageError

__all__ = [
    "DEADLINES",
    "DEFAULT_EDGES",
    "FINE_EDGES",
    "RATIO",
    "Grid",
    "Window",
    "bin_centres",
    "bin_edges",
    "deadline_window",
    "shifted_edges",
]

Window: TypeAlias = tuple[float, float]

RATIO = 10 ** (5 / 18)
DEADLINES: tuple[float, ...] = (1.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_OFFSETS = 1_000

# fmt: off
# What bin_edges(0.1, 19) gives, written out because published numbers hang on it. The search returns these edges
# whenever its grid of offsets holds a start in [0.128578000000, 0.128578003929): from 0.1, that is the offset 0.393.
DEFAULT_EDGES: tuple[float, ...] = (
    0.1285, 0.2435, 0.4625, 0.8755, 1.6605, 3.1485, 5.9685, 11.3135, 21.4485, 40.6595, 77.0805, 146.1245,
    277.0125, 525.1435, 995.5325, 1887.2665, 3577.7595, 6782.4855, 12857.8005,
)
# fmt: on

FINE_EDGES: tuple[float, ...] = (0.0, *np.geomspace(1e-3, 1e6, 257).tolist())
"""0, then 256 logarithmic bins from 1 ms to 1,000,000 s: the grid of integrals under censoring."""


def _half_millisecond(seconds: NDArray[np.float64]) -> tuple[float, ...]:
    # no millisecond value can sit on such an edge
    moved: list[float] = ((np.floor(seconds * 1000) + 0.5) / 1000).tolist()
    return tuple(moved)


def bin_edges(
    first: float, n_edges: int, ratio: float = RATIO, deadlines: Sequence[float] = DEADLINES
) -> tuple[float, ...]:
    """Find logarithmic bin edges that lie as far as possible from the deadlines.

    Parameters
    ----------
    first : float
        Lower end of the search for the first edge, seconds; the first edge lies in [first, first * ratio).
    n_edges : int
        Number of edges, at least 2.
    ratio : float, default 10 ** (5 / 18)
        Ratio of neighbouring edges, above 1.
    deadlines : sequence of float
        Deadlines tau, seconds; the window to stay clear of is [0.995 tau, 1.05 tau].

    Returns
    -------
    tuple of float
        Edges in seconds. Of 1,000 offsets over one ratio, the one whose smallest log-distance to any window is
        largest (the smaller one of a tie), then moved to the half-millisecond.

    Raises
    ------
    UsageError
        If the edges asked for cannot be made.

    Examples
    --------
    >>> bin_edges(0.1, 19) == DEFAULT_EDGES
    True
    """
    if not (first > 0 and ratio > 1 and n_edges >= 2):
        raise UsageError("bin edges: give a first edge above 0, a ratio above 1 and at least 2 edges")
    offsets = np.arange(_OFFSETS) / _OFFSETS
    logs = np.log(first) + (offsets[:, None] + np.arange(n_edges)) * np.log(ratio)
    if deadlines:
        tau = np.asarray(deadlines, dtype=np.float64)
        low, high = np.log(0.995 * tau), np.log(1.05 * tau)
        distance = np.maximum(low - logs[..., None], logs[..., None] - high).min(axis=(1, 2))
        logs = logs[int(distance.argmax())]
    else:
        logs = logs[0]
    edges = _half_millisecond(np.exp(logs))
    if np.any(np.diff(edges) <= 0):
        raise UsageError("bin edges: bins narrower than a millisecond; give a larger first edge or ratio")
    return edges


def shifted_edges(edges: Sequence[float]) -> tuple[float, ...]:
    """Move the origin of logarithmic bins by half a ratio.

    A finding that holds for both sets does not hang on where the bins happen to begin.

    Parameters
    ----------
    edges : sequence of float
        Edges with one common ratio, seconds.

    Returns
    -------
    tuple of float
        As many edges, each times the root of the ratio, moved to the half-millisecond.

    Examples
    --------
    >>> shifted_edges(DEFAULT_EDGES)[:3]
    (0.1765, 0.3355, 0.6365)
    """
    values = np.asarray(edges, dtype=np.float64)
    ratio = (values[-1] / values[0]) ** (1 / (values.size - 1))
    return _half_millisecond(values * np.sqrt(ratio))


def bin_centres(edges: Sequence[float]) -> NDArray[np.float64]:
    """Give x_j = ln sqrt(lo_j hi_j), the place of each bin on the log axis.

    Parameters
    ----------
    edges : sequence of float
        J + 1 edges, seconds, all above 0.

    Returns
    -------
    ndarray, shape (J,)
        Logarithms of the geometric bin centres.

    Examples
    --------
    >>> bin_centres([1.0, 100.0]).round(6)
    array([2.302585])
    """
    logs = np.log(np.asarray(edges, dtype=np.float64))
    centres: NDArray[np.float64] = (logs[1:] + logs[:-1]) / 2
    return centres


def deadline_window(tau: float, overhead: float = 0.0) -> Window:
    """Give the window that is cut out around a deadline.

    Parameters
    ----------
    tau : float
        The deadline, seconds.
    overhead : float, default 0
        Longest time that the harness adds after the deadline, seconds.

    Returns
    -------
    (float, float)
        ``[0.995 tau, tau + max(0.05 tau, overhead))``, to the microsecond.

    Examples
    --------
    >>> deadline_window(1.0, 0.5), deadline_window(120.0)
    ((0.995, 1.5), (119.4, 126.0))
    """
    if not (tau > 0 and overhead >= 0):
        raise UsageError("deadline window: the deadline must be above 0 and the overhead not below 0")
    return (round(0.995 * tau, 6), round(tau + max(0.05 * tau, overhead), 6))


@dataclass(frozen=True, slots=True)
class Grid:
    """A refinement of several bin sets and holes: every bin and every hole is a union of its cells.

    Cell c is [edges[c], edges[c + 1]); the first begins at 0, the last is open at the top. Count once on the grid
    and add up cells for each bin set.

    Attributes
    ----------
    edges : tuple of float
        Lower edge of each cell, seconds, increasing from 0.

    Examples
    --------
    >>> grid = Grid.refine([(1.0, 4.0)], holes=[(2.0, 3.0)])
    >>> grid.edges
    (0.0, 1.0, 2.0, 3.0, 4.0)
    >>> grid.base_bins((1.0, 4.0))
    array([-1,  0,  0,  0,  1])
    >>> grid.in_holes([(2.0, 3.0)])
    array([False, False,  True, False, False])
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.edges or self.edges[0] != 0 or np.any(np.diff(self.edges) <= 0):
            raise UsageError("grid: edges must begin at 0 and increase")

    @classmethod
    def refine(cls, edge_sets: Iterable[Sequence[float]], holes: Iterable[Window] = ()) -> Grid:
        """Make the coarsest grid of which every given bin and hole is a union of cells.

        Parameters
        ----------
        edge_sets : iterable of sequences of float
            Bin edges, seconds.
        holes : iterable of (float, float)
            Windows [a, b), seconds.

        Returns
        -------
        Grid
            The sorted union of 0, all edges and all ends of windows.
        """
        points = {0.0}
        for edges in edge_sets:
            points.update(float(e) for e in edges)
        for low, high in holes:
            points.update((float(low), float(high)))
        return cls(tuple(sorted(points)))

    @property
    def n_cells(self) -> int:
        """Number of cells, the open one included."""
        return len(self.edges)

    def base_bins(self, edges: Sequence[float]) -> NDArray[np.intp]:
        """Give the bin that each cell belongs to.

        Parameters
        ----------
        edges : sequence of float
            J + 1 edges, each of them an edge of the grid.

        Returns
        -------
        ndarray of int, shape (n_cells,)
            -1 below the first edge, 0 to J - 1 within, J at and above the last edge.

        Raises
        ------
        TracestatError
            If an edge is not on the grid.
        """
        self._check(edges)
        return np.searchsorted(np.asarray(edges), np.asarray(self.edges), side="right") - 1

    def in_holes(self, holes: Iterable[Window]) -> NDArray[np.bool_]:
        """Tell which cells lie in a hole.

        Parameters
        ----------
        holes : iterable of (float, float)
            Windows [a, b), whose ends are edges of the grid; they may overlap.

        Returns
        -------
        ndarray of bool, shape (n_cells,)
            True inside.

        Raises
        ------
        TracestatError
            If an end of a window is not on the grid.
        """
        lower = np.asarray(self.edges)
        inside = np.zeros(lower.size, dtype=np.bool_)
        for low, high in holes:
            self._check((low, high))
            inside |= (lower >= low) & (lower < high)
        return inside

    def _check(self, points: Sequence[float]) -> None:
        missing = set(points) - set(self.edges)
        if missing:
            raise TracestatError(f"grid: {min(missing):g} s is not one of its edges; refine the grid with it")
