"""Variance of the survival curve when rows of one session or developer resemble each other.

Each cluster's influence on the cumulative hazard is a sum over its rows; the spread of these sums is the variance. With
every row its own cluster it comes close to the usual one; with real sessions it is several times larger.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.curve import kaplan_meier

__all__ = ["clustered_variance", "influence", "influence_from_cells"]


def influence(
    times: ArrayLike,
    events: ArrayLike,
    clusters: ArrayLike,
    at: ArrayLike,
    entry: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Give each cluster's influence on the cumulative hazard, from rows.

    Parameters
    ----------
    times : array_like, shape (N,)
        Durations, seconds.
    events : array_like of bool, shape (N,)
        Whether the end was seen.
    clusters : array_like of int, shape (N,)
        Cluster codes from 0, without gaps.
    at : array_like, shape (M,)
        Times at which the influence is wanted, seconds.
    entry : array_like, shape (N,), optional
        Time from which a row was watched.

    Returns
    -------
    ndarray, shape (G, M)
        U_g(t), the sum over its rows of ``e I[T <= t]/n(T) - sum of d/n^2 over entry < t_k <= min(T, t)``. The
        columns add up to 0.

    Examples
    --------
    >>> U = influence([1.0, 2.0, 3.0], [1, 1, 1], [0, 1, 2], [2.0])
    >>> U.ravel().round(6).tolist()
    [0.222222, 0.138889, -0.361111]
    """
    curve = kaplan_meier(times, events, entry)
    durations, observed = np.asarray(times, dtype=np.float64), np.asarray(events, dtype=np.float64)
    codes = np.asarray(clusters, dtype=np.intp)
    n_clusters = int(codes.max(initial=-1)) + 1
    steps = np.concatenate([[0.0], curve.influence_sum])
    place = curve.index(durations)
    jump = observed / curve.at_risk[place]
    # a row without late entry is at risk at 0, too
    given = np.zeros(durations.size) if entry is None else np.asarray(entry, dtype=np.float64)
    entered = np.where(given > 0, given, -1.0)
    before = steps[curve.index(entered) + 1]
    columns = []
    for t in np.asarray(at, dtype=np.float64):
        ended = durations <= t
        watched = steps[np.where(ended, place, curve.index(t)) + 1] - before
        row = np.where(ended, jump, 0.0) - np.where(entered < t, watched, 0.0)
        columns.append(sum_by(row, codes, n_clusters))
    return np.stack(columns, axis=1) if columns else np.empty((n_clusters, 0))


def influence_from_cells(n: ArrayLike, score: ArrayLike, V: ArrayLike) -> NDArray[np.float64]:
    """Give each cluster's influence from sums that a database can make; rows without late entry only.

    Parameters
    ----------
    n : array_like, shape (G, M + 1)
        Rows of each cluster that end in (t_{m-1}, t_m], m = 1 to M; the last column those that end beyond t_M.
    score : array_like, shape (G, M + 1)
        Sum over these rows of ``e/n(T) - V(T)``.
    V : array_like, shape (M,)
        V(t_m), the sum of d/n^2 over durations up to t_m.

    Returns
    -------
    ndarray, shape (G, M)
        U_g(t_m), as `influence` gives it.

    Raises
    ------
    TracestatError
        If the shapes do not fit.

    Examples
    --------
    Durations 1, 2, 3, each its own cluster, up to t = 2; V(1) = 1/9, V(2) = 1/9 + 1/4.

    >>> U = influence_from_cells([[1, 0], [1, 0], [0, 1]], [[1/3 - 1/9, 0], [1/2 - 13/36, 0], [0, 0]], [13/36])
    >>> U.ravel().round(6).tolist()
    [0.222222, 0.138889, -0.361111]
    """
    rows, scores = np.asarray(n, dtype=np.float64), np.asarray(score, dtype=np.float64)
    at = np.asarray(V, dtype=np.float64)
    if rows.shape != scores.shape or rows.ndim != 2 or rows.shape[1] != at.size + 1:
        raise TracestatError(
            f"influence: counts of shape {rows.shape}, scores {scores.shape} and {at.size} times do not fit; "
            "one column per time and one for what lies beyond is needed"
        )
    beyond = rows.sum(axis=1, keepdims=True) - np.cumsum(rows, axis=1)
    result: NDArray[np.float64] = (np.cumsum(scores, axis=1) - beyond * np.append(at, 0.0))[:, :-1]
    return result


def clustered_variance(U: ArrayLike) -> NDArray[np.float64] | None:
    """Give the variance of the cumulative hazard from the influence of clusters.

    Parameters
    ----------
    U : array_like, shape (G, M)
        Influence of each cluster at M times.

    Returns
    -------
    ndarray, shape (M,), or None
        ``G/(G - 1) sum_g U_g^2``; None for fewer than two clusters.

    Notes
    -----
    R's ``survfit(..., cluster=)`` gives the same without the factor.

    Examples
    --------
    >>> clustered_variance([[0.1], [-0.1]])
    array([0.04])
    """
    values = np.asarray(U, dtype=np.float64)
    n_clusters = values.shape[0]
    if n_clusters < 2:
        return None
    variance: NDArray[np.float64] = n_clusters / (n_clusters - 1) * np.sum(values**2, axis=0)
    return variance
