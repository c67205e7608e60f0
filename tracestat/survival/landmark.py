"""Intervals of residual life by clusters, at many elapsed times (landmarks) at once, from sums per cluster and bin.

The bins are those of integrals under censoring, cut further at each elapsed time t and at each end of a window t + h.
Within them a life table holds the rows at risk as if every end fell on the end of its bin, so that without censoring
each leave-one-out mean is exactly that of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, student_interval, sum_by
from tracestat.results import Bounds
from tracestat.survival.bins import FINE_EDGES
from tracestat.survival.curve import Curve, log_log_interval

__all__ = ["LandmarkCells", "LandmarkClusters", "cells_of_exits", "landmark_edges"]

Floats = NDArray[np.float64]
_CHUNK = 512  # clusters left out at a time
_NOBODY = 1e-9  # rows at risk that are left of rounding
_BEYOND = 1e300
_FAR = 50.0  # ln of a ratio that stands for none: nobody is left without the cluster


def landmark_edges(elapsed: Iterable[float], ends: Iterable[float]) -> tuple[float, ...]:
    """Give the edges of the bins for a set of elapsed times.

    Parameters
    ----------
    elapsed : iterable of float
        Elapsed times, seconds, from 0 on.
    ends : iterable of float
        Ends of windows, seconds: those at which a mean shall be exact.

    Returns
    -------
    tuple of float
        0, 256 logarithmic bins from 1 ms to 1,000,000 s, eight a decade from there to 1e9 s, everything beyond, and
        the times given.

    Examples
    --------
    >>> len(landmark_edges([0.0, 4.0], [3600.0, 3604.0]))
    286
    """
    late = np.geomspace(1e6, 1e9, 25)[1:].tolist()
    return tuple(sorted({*FINE_EDGES, *late, _BEYOND, *elapsed, *ends}))


@dataclass(frozen=True, slots=True)
class LandmarkCells:
    """Sums per cluster and bin (lo, hi]; all arrays have shape (G, J).

    Attributes
    ----------
    edges : ndarray, shape (J + 1,)
        Seconds, from 0.
    events : ndarray
        Ends that were seen.
    at_risk : ndarray
        Rows at risk over the whole bin, had those that ended in it stayed to its end; one that was lost (or came) in
        between counts in part.
    exposure : ndarray
        Seconds really spent at risk.
    """

    edges: Floats
    events: Floats
    at_risk: Floats
    exposure: Floats

    def merged(self, code: NDArray[np.intp], n: int) -> LandmarkCells:
        """Add clusters that share a code, from 0 to n - 1."""
        return LandmarkCells(
            self.edges, *(sum_by(values, code, n) for values in (self.events, self.at_risk, self.exposure))
        )


def cells_of_exits(
    edges: Sequence[float],
    n_event: ArrayLike,
    seconds_event: ArrayLike,
    n_censored: ArrayLike,
    seconds_censored: ArrayLike,
    n_entry: ArrayLike | None = None,
    seconds_entry: ArrayLike | None = None,
) -> LandmarkCells:
    """Turn ends per bin into rows at risk and time at risk.

    Parameters
    ----------
    edges : sequence of float, length J + 1
        Edges of the bins (lo, hi], seconds, from 0.
    n_event, seconds_event : array_like, shape (G, J)
        Rows of each cluster seen to end in the bin, and the sum of their durations.
    n_censored, seconds_censored : array_like, shape (G, J)
        The same of rows lost from sight there.
    n_entry, seconds_entry : array_like, shape (G, J), optional
        Rows that were watched from a moment in the bin on only, and the sum of these moments.

    Returns
    -------
    LandmarkCells

    Raises
    ------
    TracestatError
        If the shapes do not fit.

    Examples
    --------
    One row ends at 1 s, one is lost at 3 s.

    >>> cells = cells_of_exits([0.0, 2.0, 4.0], [[1, 0]], [[1.0, 0]], [[0, 1]], [[0, 3.0]])
    >>> cells.at_risk, cells.exposure
    (array([[2. , 0.5]]), array([[3., 1.]]))
    """
    grid = np.asarray(edges, dtype=np.float64)
    ends, end_times, lost, lost_times = (
        np.asarray(v, dtype=np.float64) for v in (n_event, seconds_event, n_censored, seconds_censored)
    )
    if not ends.shape == end_times.shape == lost.shape == lost_times.shape or ends.shape[-1] != grid.size - 1:
        raise TracestatError(f"residual life: sums of shape {ends.shape} do not fit {grid.size - 1} bins")
    came = np.zeros(ends.shape) if n_entry is None else np.asarray(n_entry, dtype=np.float64)
    came_times = np.zeros(ends.shape) if seconds_entry is None else np.asarray(seconds_entry, dtype=np.float64)
    low, width = grid[:-1], np.diff(grid)
    net = ends + lost - came
    beyond = np.cumsum(net[..., ::-1], axis=-1)[..., ::-1] - net
    part = (lost_times - lost * low) - (came_times - came * low)
    return LandmarkCells(
        grid,
        ends,
        ends + beyond + part / width,
        np.maximum(end_times - ends * low + part + beyond * width, 0.0),
    )


class LandmarkClusters:
    """One clustering of the rows of one curve: intervals at any of its elapsed times.

    Parameters
    ----------
    cells : LandmarkCells
        A row per cluster.
    elapsed : sequence of float
        Elapsed times, seconds; edges of the cells.
    ends : sequence of float, same length
        End of the window of each, seconds; within a cell its time counts in proportion.

    Attributes
    ----------
    n_clusters : list of int
        Per elapsed time, the clusters with a row that lasts longer.
    means : ndarray
        Mean remaining time by the life table, seconds; NaN where nobody lasts longer.

    Notes
    -----
    The mean is a ratio of integrals of the life table, its interval the cluster jackknife (CV3) on the log scale. The
    variance of a conditional survival probability is the jackknife's of ln S(s) - ln S(t), to which only rows beyond
    t contribute, widened to Student's t. Neither is ever below that of independent rows. The influence of clusters
    gives the same to first order, but too little where one developer has much of the rows.

    A hazard constant within bins, the usual alternative to a life table, leaves S above 0 after the last end, where
    the mean of a few rows is decided.

    References
    ----------
    .. [1] MacKinnon, Nielsen and Webb (2023), summclust.

    Examples
    --------
    >>> none = np.zeros((2, 2))
    >>> cells = cells_of_exits([0.0, 2.0, 4.0], [[1, 0], [0, 1]], [[1.0, 0], [0, 3.0]], none, none)
    >>> clusters = LandmarkClusters(cells, [0.0], [4.0])
    >>> clusters.n_clusters[0], float(clusters.means[0])
    (2, 2.0)
    """

    def __init__(self, cells: LandmarkCells, elapsed: Sequence[float], ends: Sequence[float]) -> None:
        if not np.isin(elapsed, cells.edges).all():
            raise TracestatError("residual life: elapsed times must be edges of the bins")
        self._edges = cells.edges
        self._first = np.searchsorted(cells.edges, np.asarray(elapsed, dtype=np.float64))
        width = np.diff(cells.edges)
        stop = np.asarray(ends, dtype=np.float64)
        self._reach = stop - np.asarray(elapsed, dtype=np.float64)
        whole = np.clip(np.searchsorted(cells.edges, stop, side="right") - 1, 0, width.size - 1)
        windows = _Windows(width, self._first, whole, (stop - cells.edges[whole]) / width[whole])
        D, R, X = (values.sum(axis=0) for values in (cells.events, cells.at_risk, cells.exposure))
        whole_table = _life_table(D, R, X, width)
        self.means = windows.means(*whole_table)
        self._floor, self._independent = _independent(D, R, X, *whole_table, windows)
        n = cells.events.shape[0]
        self._replicates = np.empty((n, self._first.size))
        self._product = np.zeros((self._first.size, width.size + 1))
        self._square = np.zeros(width.size + 1)
        for i in range(0, n, _CHUNK):
            part = slice(i, i + _CHUNK)
            S, area = _life_table(D - cells.events[part], R - cells.at_risk[part], X - cells.exposure[part], width)
            self._replicates[part] = windows.means(S, area)
            apart = _log_ratio(S, whole_table[0])
            # no matrix product: many small ones in two threads would each ask for all cores
            self._product += np.einsum("nk,nj->kj", apart[:, self._first], apart)
            self._square += np.einsum("nj,nj->j", apart, apart)
        reach = np.cumsum(cells.exposure[:, ::-1], axis=1)[:, ::-1]
        self._takes_part = np.concatenate([reach, np.zeros((n, 1))], axis=1)[:, self._first] > 0
        self.n_clusters: list[int] = self._takes_part.sum(axis=0).tolist()

    def mean(self, k: int, value: float, level: float = 0.95) -> ClusterInterval:
        """Give the interval of the mean at the k-th elapsed time around its exact estimate."""
        n, full = self.n_clusters[k], float(self.means[k])
        if value >= self._reach[k] * (1 - 1e-12):  # nothing was seen to end: as a share of 0, without bounds
            return ClusterInterval(value, None, None, None, n, level, "CV3")
        # a mean of heavy-tailed times is skewed: on the log scale its interval covers better, and stays above 0
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.log(self._replicates[self._takes_part[:, k], k]) - np.log(full)
        se = max(float(np.sqrt((n - 1) / n * np.sum(apart**2))), float(self._floor[k])) if n > 1 else np.nan
        log = student_interval(0.0, se, n, level, "CV3")
        if log.low is None or log.high is None:
            return ClusterInterval(value, None, None, None, n, level, "CV3")
        # no mean within a window is longer than the window
        most = max(float(np.log(self._reach[k] / value)), 0.0)
        low, high = (float(np.exp(bound)) * value for bound in (log.low, min(log.high, most)))
        return ClusterInterval(value, se * value, low, high, n, level, "CV3")

    def quantile(self, curve: Curve, k: int, q: float, value: float | None, level: float = 0.95) -> ClusterInterval:
        """Give the interval of a quantile of the remaining time by inverting that of the conditional curve.

        Parameters
        ----------
        curve : Curve
            The curve of the same rows.
        k : int
            Which elapsed time.
        q : float
            In (0, 1).
        value : float or None
            The quantile itself, seconds; None where it is not reached.
        level : float, default 0.95
            Nominal coverage.
        """
        n = self.n_clusters[k]
        bounds: Bounds = (None, None)
        if n > 1:
            bounds = _crossings(curve, self._edges[self._first[k] :], q, self._variance(k), _widened(n, level), level)
        return ClusterInterval(np.nan if value is None else value, None, *bounds, n, level, "CV3")

    def _variance(self, k: int) -> Floats:
        """Give the variance of ln S(s) - ln S(t) at the edges s from t on."""
        a, n = int(self._first[k]), self.n_clusters[k]
        clustered = self._square[a] - 2 * self._product[k, a:] + self._square[a:]
        independent = self._independent[a:] - self._independent[a]
        found: Floats = np.maximum((n - 1) / n * np.maximum(clustered, 0.0), independent)
        return found


def _widened(n: int, level: float) -> float:
    """Give by how much Student's t of n clusters is wider than the normal law, squared."""
    return float(stdtrit(n - 1, 0.5 + level / 2) / ndtri(0.5 + level / 2)) ** 2


@dataclass(frozen=True, slots=True)
class _Windows:
    """Where each window begins and ends: its first edge, the last edge before its end, and the part of that bin."""

    width: Floats
    first: NDArray[np.intp]
    whole: NDArray[np.intp]
    part: Floats

    def between(self, area: Floats) -> Floats:
        """Give what each window holds of an area added up to every edge."""
        before = area[..., self.whole]
        found: Floats = before + self.part * (area[..., self.whole + 1] - before) - area[..., self.first]
        return found

    def means(self, S: Floats, area: Floats) -> Floats:
        """Give the mean within each window of each life table; NaN where nobody lasts longer than t."""
        base = S[..., self.first]
        lasting = base > 0
        found: Floats = np.where(lasting, self.between(area) / np.where(lasting, base, 1.0), np.nan)
        return found


def _life_table(D: Floats, R: Floats, X: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Give S at every edge, and its integral up to there; shapes (..., J + 1)."""
    watched = _NOBODY < R
    safe = np.where(watched, R, 1.0)
    S, area = np.ones((*D.shape[:-1], D.shape[-1] + 1)), np.zeros((*D.shape[:-1], D.shape[-1] + 1))
    np.cumprod(1.0 - np.where(watched, np.minimum(D / safe, 1.0), 0.0), axis=-1, out=S[..., 1:])
    # where nobody is watched nobody is known to end
    np.cumsum(S[..., :-1] * np.where(watched, np.minimum(X / safe, width), width), axis=-1, out=area[..., 1:])
    return S, area


def _log_ratio(S: Floats, whole: Floats) -> Floats:
    """Give ln of each curve over the whole one; where either is 0, so far away that it bounds nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(S) - np.log(whole)
    return np.where(whole > 0, np.where(S > 0, found, -_FAR), 0.0)


def _independent(D: Floats, R: Floats, X: Floats, S: Floats, area: Floats, windows: _Windows) -> tuple[Floats, Floats]:
    """Give what independent rows would have (Greenwood): the error of the log of each mean, the variance of ln S."""
    left = R - D
    use = left > _NOBODY
    terms = np.where(use, D / (np.where(use, R, 1.0) * np.where(use, left, 1.0)), 0.0)
    held = windows.between(area)
    # what of each window comes after the ends in each bin, which on average lie so far before its end
    before = np.clip(np.divide(R * windows.width - X, D, out=np.zeros_like(D), where=D > 0), 0.0, windows.width)
    after = area[1:] - S[1:] * before
    later = np.maximum(held[:, None] + area[windows.first][:, None] - after, 0.0)
    later[np.arange(terms.size) < windows.first[:, None]] = 0.0
    error: Floats = np.sqrt((later**2 * terms).sum(axis=1)) / np.where(held > 0, held, np.inf)
    return error, np.concatenate([[0.0], np.cumsum(terms)])


def _between(curve: Curve, at: Floats, variance: Floats) -> Floats:
    """Give the variance of ln S(s) - ln S(t) at the steps s of a curve from those at edges, the first of them t.

    Between edges its root grows as -ln S: one step may hold most ends of a bin, and clusters differ in all of it
    together. It is nowhere below that of independent rows.
    """
    with np.errstate(divide="ignore"):
        fallen, steps = -np.log(curve.survival_at(at)), -np.log(curve.survival)
    lasting = np.isfinite(fallen)
    root, fallen = np.sqrt(variance[lasting]), fallen[lasting]
    steps = np.where(np.isfinite(steps), steps, fallen[-1]) - fallen[0]
    fallen -= fallen[0]
    # behind the last edge that S outlasts nobody is left to say how it goes on
    beyond = np.maximum(steps / fallen[-1], 1.0) if fallen[-1] > 0 else 1.0
    before = np.concatenate([[0.0], curve.greenwood])[int(curve.index(at[0])) + 1]
    found: Floats = np.maximum((np.interp(steps, fallen, root) * beyond) ** 2, curve.greenwood - before)
    return found


def _crossings(curve: Curve, at: Floats, q: float, variance: Floats, widened: float, level: float) -> Bounds:
    """Give the remaining times at which the lower and the upper limit of S(t + r)/S(t) first cross 1 - q."""
    t = float(at[0])
    base, first = float(curve.survival_at(t)), int(curve.index(t)) + 1
    time = curve.time
    if base <= 0 or first >= time.size:
        return (None, None)
    ratio = curve.survival[first:] / base
    low, high = log_log_interval(ratio, widened * _between(curve, at, variance)[first:], level)
    low = np.where(ratio <= 0, 0.0, low)  # a lower limit of S never lies above S itself
    found: list[float | None] = []
    for limit in (low, high):
        with np.errstate(invalid="ignore"):
            reached = limit <= 1 - q + 1e-12
        found.append(float(time[first + int(reached.argmax())]) - t if reached.any() else None)
    return found[0], found[1]
