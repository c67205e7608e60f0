"""Shares: how many durations end within x, and how much of all time lies in those that do not.

The second is the one that matters for memory: a few percent of pauses hold most of the time. It is a ratio of
two sums, so its uncertainty is that of sums per session; under censoring it is a ratio of two integrals of S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, jackknife_interval
from tracestat.survival.bins import FINE_EDGES
from tracestat.survival.curve import Curve, log_log_interval, restricted_mean
from tracestat.survival.piecewise import piecewise_hazard, piecewise_integral, piecewise_survival

__all__ = [
    "ratio_jackknife",
    "share_of_time",
    "share_of_time_curve",
    "share_of_time_grid",
    "share_of_time_without_top",
    "share_within",
    "top_rows",
]

_CHUNK = 512  # clusters refitted at a time: 512 x 257 bins stay small


def ratio_jackknife(numerator: ArrayLike, denominator: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give a ratio of sums with its cluster jackknife interval.

    Parameters
    ----------
    numerator, denominator : array_like, shape (G,)
        Sums per cluster; the denominators are not negative. Clusters in which both are 0 do not count.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        None if the denominators add up to 0.

    Examples
    --------
    >>> interval = ratio_jackknife([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> interval.value, interval.se
    (0.5, 0.0)
    """
    above, below = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    if above.shape != below.shape or above.ndim != 1:
        raise TracestatError("ratio: numerators and denominators must be columns of one length")
    use = (above != 0) | (below != 0)
    above, below = above[use], below[use]
    total = float(below.sum())
    if not total > 0:
        return None
    rest = total - below
    # what rounding leaves of a cluster that holds everything is nothing
    usable = rest > 1e-12 * total
    replicates = np.divide(above.sum() - above, rest, out=np.full(rest.shape, np.nan), where=usable)
    return jackknife_interval(float(above.sum()) / total, replicates, level)


def _within_unit(interval: ClusterInterval) -> ClusterInterval:
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))


def share_within(
    curve: Curve, x: float, variance: float | None, n_clusters: int, level: float = 0.95
) -> ClusterInterval:
    """Give the share of durations that end within x.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    x : float
        Seconds.
    variance : float or None
        Clustered variance of the cumulative hazard at x; None gives no bounds.
    n_clusters : int
        Clusters it was made from.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval
        1 - S(x) with the log-log interval of S turned over; no bounds where S is 0 or 1.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> round(share_within(curve, 5.0, 0.126922524724, 5).value, 6)
    0.588571
    """
    survival = float(curve.survival_at(x))
    value, method = 1 - survival, "log-log"
    low, high = (float(v) for v in log_log_interval(survival, np.nan if variance is None else variance, level))
    if variance is None or not np.isfinite(low):
        return ClusterInterval(value, None, None, None, n_clusters, level, method)
    return ClusterInterval(value, survival * float(np.sqrt(variance)), 1 - high, 1 - low, n_clusters, level, method)


def share_of_time(seconds: ArrayLike, seconds_above: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give the share of all time that lies in durations above x, when nothing is censored.

    Parameters
    ----------
    seconds : array_like, shape (G,)
        Sum of the durations of each cluster.
    seconds_above : array_like, shape (G,)
        Sum of those above x.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        Bounds cut to [0, 1]; None if there is no time at all.

    Examples
    --------
    >>> share_of_time([10.0, 20.0, 30.0], [5.0, 15.0, 25.0]).value
    0.75
    """
    interval = ratio_jackknife(seconds_above, seconds, level)
    return None if interval is None else _within_unit(interval)


def top_rows(n: int) -> int:
    """Give how many rows the share without the longest ones leaves out: 0.01 %, at least one.

    Parameters
    ----------
    n : int
        All rows.

    Returns
    -------
    int
        Rows to leave out.

    Examples
    --------
    >>> top_rows(500), top_rows(743_819)
    (1, 74)
    """
    return max(1, n // 10_000)


def share_of_time_without_top(
    seconds: float, seconds_above: float, n: int, longest: ArrayLike, x: float
) -> float | None:
    """Give the share of time above x without the longest 0.01 % of rows, which may rule it.

    Parameters
    ----------
    seconds, seconds_above : float
        Sum of all durations, and of those above x.
    n : int
        Number of durations.
    longest : array_like
        The longest durations, at least ``top_rows(n)`` of them.
    x : float
        Threshold, seconds.

    Returns
    -------
    float or None
        The share; None if no time is left.

    Raises
    ------
    TracestatError
        If too few of the longest durations are given.

    Examples
    --------
    >>> share_of_time_without_top(110.0, 104.0, 4, [100.0], 3.0)
    0.4
    """
    top = np.sort(np.asarray(longest, dtype=np.float64))[::-1][: top_rows(n)]
    if top.size < min(top_rows(n), n):
        raise TracestatError(f"share of time: {top_rows(n)} longest durations are needed, {top.size} were given")
    rest = seconds - float(top.sum())
    if not rest > 1e-12 * seconds:
        return None
    return (seconds_above - float(top[top > x].sum())) / rest


def share_of_time_curve(curve: Curve, x: float, tau: float) -> float | None:
    """Give the share of time above x from a survival curve, restricted at tau; censored rows allowed.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    x : float
        Threshold, seconds.
    tau : float
        Restriction, seconds, above x.

    Returns
    -------
    float or None
        ``[x S(x) + int_x^tau S] / int_0^tau S``; None if the curve ends above 0 before tau.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> round(share_of_time_curve(curve, 3.0, 8.0), 12)
    0.878836833603
    """
    _check_range(x, tau)
    whole, below = restricted_mean(curve, tau).value, restricted_mean(curve, x).value
    if whole is None or below is None:
        return None
    return (x * float(curve.survival_at(x)) + whole - below) / whole


def share_of_time_grid(
    D_g: ArrayLike,
    X_g: ArrayLike,
    x: float,
    tau: float,
    edges: Sequence[float] = FINE_EDGES,
    level: float = 0.95,
) -> ClusterInterval | None:
    """Give the share of time above x with its cluster jackknife interval, when some rows are censored.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure (seconds) per cluster and closed bin.
    x, tau : float
        Threshold and restriction, seconds.
    edges : sequence of float, length J + 1
        Edges of the bins from 0; default 0, then 256 logarithmic bins from 1 ms to 1,000,000 s.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        Bounds cut to [0, 1]; None if nobody was watched.

    Notes
    -----
    The hazard is constant within a bin, but for the first one, where it is 0: rows that end in it are zeros, which
    carry no time and would bend the curve.

    Examples
    --------
    >>> D, X = np.zeros((3, 257)), np.zeros((3, 257))
    >>> D[:, 171], X[:, 171] = 4.0, 8.0  # hazard 0.5 per second between 1 and 1.1 s, nothing else
    >>> round(share_of_time_grid(D, X, 0.5, 1.5).value, 6)
    1.0
    """
    _check_range(x, tau)
    events, exposure = np.asarray(D_g, dtype=np.float64), np.asarray(X_g, dtype=np.float64)
    if events.shape != exposure.shape or events.ndim != 2 or events.shape[1] != len(edges) - 1:
        raise TracestatError(
            f"share of time: events of shape {events.shape}, exposure {exposure.shape}, {len(edges) - 1} bins"
        )
    use = exposure.sum(axis=1) > 0
    events, exposure = events[use], exposure[use]
    if events.shape[0] == 0:
        return None
    D, X = events.sum(axis=0), exposure.sum(axis=0)
    full = float(_grid_share(D, X, edges, x, tau))
    replicates = [
        _grid_share(D - events[i : i + _CHUNK], np.maximum(X - exposure[i : i + _CHUNK], 0.0), edges, x, tau)
        for i in range(0, events.shape[0], _CHUNK)
    ]
    return _within_unit(jackknife_interval(full, np.concatenate(replicates), level))


def _grid_share(
    D: NDArray[np.float64], X: NDArray[np.float64], edges: Sequence[float], x: float, tau: float
) -> NDArray[np.float64]:
    hazard = piecewise_hazard(D, X)
    hazard[..., 0] = 0.0
    below = piecewise_integral(hazard, edges, 0.0, x)
    above = piecewise_integral(hazard, edges, x, tau)
    share: NDArray[np.float64] = (x * piecewise_survival(hazard, edges, x) + above) / (below + above)
    return share


def _check_range(x: float, tau: float) -> None:
    if not 0 < x < tau:
        raise TracestatError(f"share of time above {x:g} s: the threshold must lie between 0 and tau, {tau:g} s")
