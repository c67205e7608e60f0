"""Events and exposure per bin, the two numbers that carry every hazard estimate.

A database can add up three things per cell: rows leaving, events, their durations. The time spent in every cell
follows from these, so that nothing here, and nothing built on it, needs the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.bins import Grid, Window

__all__ = ["CellSums", "cell_sums", "events_and_exposure", "exposure_from_exits", "group_cells", "poisson_interval"]

CellSums = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""``n_exit, n_event, sum_time``, each of shape (G, C) or (C,)."""


def exposure_from_exits(n_exit: ArrayLike, sum_time: ArrayLike, edges: Sequence[float]) -> NDArray[np.float64]:
    """Turn the exits of each cell into the time spent in it.

    Parameters
    ----------
    n_exit : array_like, shape (..., C)
        Rows that end in each cell, **net of late entries**: a row seen only from ``entry`` on counts 1 in the cell
        where it ends and -1 in the cell of its entry.
    sum_time : array_like, shape (..., C)
        Sum of the durations of these rows, seconds; an entry adds ``-entry``.
    edges : sequence of float, length C
        Lower edges of the cells, from 0; the last cell is open.

    Returns
    -------
    ndarray, shape (..., C)
        ``sum_time - n_exit lo + beyond (hi - lo)`` with ``beyond`` the rows that end in higher cells.

    Notes
    -----
    All terms are linear in rows, which is why entries can be subtracted. What rounding leaves below 0 is set to 0.

    Examples
    --------
    Rows of 1.5 s and 5 s: both spend 1 s in [0, 1), then 0.5 + 3 s in [1, 4) and 1 s above.

    >>> exposure_from_exits([0, 1, 1], [0.0, 1.5, 5.0], (0.0, 1.0, 4.0))
    array([2. , 3.5, 1. ])
    """
    exits = np.asarray(n_exit, dtype=np.float64)
    time = np.asarray(sum_time, dtype=np.float64)
    lower = np.asarray(edges, dtype=np.float64)
    if exits.shape != time.shape or exits.shape[-1] != lower.size:
        raise TracestatError(
            f"exposure: {exits.shape[-1]} cells of exits, {time.shape[-1]} of time, {lower.size} of edges; "
            "these must agree"
        )
    exposure = time - exits * lower
    if lower.size > 1:
        beyond = np.cumsum(exits[..., :0:-1], axis=-1)[..., ::-1]
        exposure[..., :-1] += beyond * np.diff(lower)
    return np.maximum(exposure, 0.0, out=exposure)


def cell_sums(
    times: ArrayLike,
    events: ArrayLike,
    edges: Sequence[float],
    *,
    entry: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
) -> CellSums:
    """Add up rows per (cluster, cell), as the database does.

    Parameters
    ----------
    times : array_like, shape (N,)
        Durations, seconds, not negative.
    events : array_like of bool, shape (N,)
        Whether the end was seen.
    edges : sequence of float, length C
        Lower edges of the cells, from 0; the last cell is open.
    entry : array_like, shape (N,), optional
        Time from which a row was watched; 0 or absent: from the beginning. A row that ends where it enters was
        never at risk and adds nothing.
    clusters : array_like of int, shape (N,), optional
        Cluster codes from 0.
    n_clusters : int, optional
        Number of clusters; default the largest code + 1.

    Returns
    -------
    n_exit, n_event, sum_time : ndarray, shape (G, C), or (C,) without clusters
        Exits and times net of late entries.

    Examples
    --------
    >>> n_exit, n_event, sum_time = cell_sums([1.5, 5.0], [1, 0], (0.0, 1.0, 4.0))
    >>> n_event
    array([0., 1., 0.])
    """
    times, observed, entry_times = _rows(times, events, entry)
    lower = np.asarray(edges, dtype=np.float64)
    n_cells = lower.size
    group = np.zeros(times.size, dtype=np.intp) if clusters is None else np.asarray(clusters, dtype=np.intp)
    if n_clusters is None:
        n_clusters = int(group.max(initial=-1)) + 1 if clusters is not None else 1
    size = n_clusters * n_cells
    code = group * n_cells + np.searchsorted(lower, times, side="right") - 1
    n_exit = np.bincount(code, minlength=size).astype(np.float64)
    sum_time = sum_by(times, code, size)
    exits = code
    if entry_times is not None:
        late = entry_times > 0
        observed = np.where(late & (entry_times == times), 0.0, observed)
        code = group[late] * n_cells + np.searchsorted(lower, entry_times[late], side="right") - 1
        n_exit -= np.bincount(code, minlength=size)
        sum_time -= sum_by(entry_times[late], code, size)
    n_event = sum_by(observed, exits, size)
    shape = (n_cells,) if clusters is None else (n_clusters, n_cells)
    return n_exit.reshape(shape), n_event.reshape(shape), sum_time.reshape(shape)


def _rows(
    times: ArrayLike, events: ArrayLike, entry: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    rows = np.asarray(times, dtype=np.float64)
    observed = np.asarray(events, dtype=np.float64)
    if rows.shape != observed.shape or rows.ndim != 1:
        raise TracestatError("durations and events must be two columns of one length")
    if not np.all(np.isfinite(rows)) or np.any(rows < 0):
        raise TracestatError("durations must be numbers of seconds, not below 0; filter the others first")
    if entry is None:
        return rows, observed, None
    entries = np.asarray(entry, dtype=np.float64)
    if entries.shape != rows.shape or not np.all(entries <= rows):
        raise TracestatError("each entry time must be a number not above the duration of its row")
    return rows, observed, entries


def group_cells(
    n_event: ArrayLike,
    exposure: ArrayLike,
    base_bin: ArrayLike,
    n_bins: int,
    keep: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up the cells of a refined grid to bins.

    Parameters
    ----------
    n_event, exposure : array_like, shape (..., C)
        Events and seconds per cell.
    base_bin : array_like of int, shape (C,)
        Bin of each cell, as `tracestat.survival.bins.Grid.base_bins` gives it.
    n_bins : int
        Number of bins J; cells of bins below 0 or from J on are left out. ``len(edges) - 1`` gives the closed
        bins, ``len(edges)`` those and the open one at the end.
    keep : array_like of bool, shape (C,), optional
        Cells to use; ``~grid.in_holes(windows)`` takes the deadlines out, events and exposure alike.

    Returns
    -------
    D, X : ndarray, shape (..., J)
        Events and exposure per bin.

    Examples
    --------
    >>> D, X = group_cells([1, 2, 3], [1.0, 1.0, 1.0], [-1, 0, 0], 1, keep=[True, True, False])
    >>> D, X
    (array([2.]), array([1.]))
    """
    bins = np.asarray(base_bin, dtype=np.intp)
    use = (bins >= 0) & (bins < n_bins)
    if keep is not None:
        use &= np.asarray(keep, dtype=np.bool_)
    membership = np.zeros((bins.size, n_bins))
    membership[np.flatnonzero(use), bins[use]] = 1.0
    return np.asarray(n_event, dtype=np.float64) @ membership, np.asarray(exposure, dtype=np.float64) @ membership


def events_and_exposure(
    times: ArrayLike,
    events: ArrayLike,
    edges: Sequence[float],
    entry: ArrayLike | None = None,
    holes: Sequence[Window] = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count events and time at risk per bin, from rows.

    Parameters
    ----------
    times : array_like, shape (N,)
        Durations, seconds, not negative.
    events : array_like of bool, shape (N,)
        Whether the end was seen.
    edges : sequence of float, length J + 1
        Bins are [edges[j], edges[j + 1]): a value on an edge belongs to the bin above.
    entry : array_like, shape (N,), optional
        Time from which a row was watched.
    holes : sequence of (float, float)
        Windows [a, b) whose events and exposure are left out.

    Returns
    -------
    D, X : ndarray, shape (J,)
        Events, and seconds at risk.

    Raises
    ------
    TracestatError
        If a duration is negative or no number, or an entry lies above its duration.

    References
    ----------
    .. [1] Holford (1980), The analysis of rates and of survivorship using log-linear models.

    Examples
    --------
    >>> D, X = events_and_exposure([0.5, 1, 2, 2, 3, 4, 5, 10], [1, 1, 1, 0, 1, 1, 0, 1], (1.0, 2.0, 4.0, 8.0))
    >>> D, X
    (array([1., 2., 1.]), array([6., 7., 5.]))
    """
    grid = Grid.refine([edges], holes)
    n_exit, n_event, sum_time = cell_sums(times, events, grid.edges, entry=entry)
    exposure = exposure_from_exits(n_exit, sum_time, grid.edges)
    return group_cells(n_event, exposure, grid.base_bins(edges), len(edges) - 1, ~grid.in_holes(holes))


def poisson_interval(
    D: ArrayLike, X: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the exact interval of a hazard when events are independent.

    Only for data of one cluster, and for bins without events; else rows of one session count too much.

    Parameters
    ----------
    D, X : array_like, shape (J,)
        Events and exposure.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray, shape (J,)
        ``chi2_p(2D)/2X`` and ``chi2_(1-p)(2D+2)/2X``, events per second; NaN where there is no exposure.

    References
    ----------
    .. [1] Garwood (1936), Fiducial limits for the Poisson distribution.

    Examples
    --------
    >>> low, high = poisson_interval([7, 0], [3.5, 3.5])
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.804104, 0.0], [4.120764, 1.053966])
    """
    counts = np.asarray(D, dtype=np.float64)
    exposure = np.asarray(X, dtype=np.float64)
    exposure = np.where(exposure > 0, exposure, np.nan)
    tail = (1 - level) / 2
    # gammaincinv(a, p) is chi2_p(2a)/2; the shape 0 has all its mass at 0
    low = np.where(counts > 0, gammaincinv(np.maximum(counts, 1e-300), tail), 0.0) / exposure
    high = gammaincinv(counts + 1, 1 - tail) / exposure
    return low, high
