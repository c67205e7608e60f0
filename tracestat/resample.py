"""Uncertainty from clusters: what every interval shares, whatever it is an interval of.

Rows of one session (or one developer) resemble each other, so the cluster is the unit that is left out, drawn again
or given a random sign. This file knows nothing of durations: estimators bring their own leave-one-out values,
and get an interval back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from tracestat.errors import TracestatError
from tracestat.results import Bounds

__all__ = [
    "ClusterInterval",
    "bootstrap_weights",
    "jackknife_interval",
    "percentile_interval",
    "sign_multipliers",
    "student_interval",
    "sum_by",
]

_FEW_CLUSTERS = 12  # below this, 2**G sign patterns are too few for a 95 % quantile
_WEBB = np.sqrt(np.array([0.5, 1.0, 1.5]))


@dataclass(frozen=True, slots=True)
class ClusterInterval:
    """An estimate and its interval by one clustering.

    Attributes
    ----------
    value : float
        The estimate from all clusters.
    se : float or None
        Standard error; None when there are fewer than two clusters or a replicate has no estimate.
    low, high : float or None
        Bounds; None together with ``se``.
    n_clusters : int
        Clusters that carry information, the G of the formulas.
    level : float
        Nominal coverage.
    method : str
        ``"CV3"``, ``"CR1"`` or ``"bootstrap"``.
    """

    value: float
    se: float | None
    low: float | None
    high: float | None
    n_clusters: int
    level: float
    method: str

    @property
    def bounds(self) -> Bounds:
        """Give the two bounds in the form that `tracestat.results.Interval` holds."""
        return (self.low, self.high)


def sum_by(values: ArrayLike, codes: ArrayLike, n: int) -> NDArray[np.float64]:
    """Add rows that share a code.

    Parameters
    ----------
    values : array_like, shape (N,) or (N, J)
        What to add.
    codes : array_like of int, shape (N,)
        Group of each row, 0 to ``n - 1``.
    n : int
        Number of groups; groups without rows get 0.

    Returns
    -------
    ndarray, shape (n,) or (n, J)
        The sums.

    Examples
    --------
    >>> sum_by([1.0, 2.0, 4.0], [0, 2, 0], 3)
    array([5., 0., 2.])
    """
    values = np.asarray(values, dtype=np.float64)
    codes = np.asarray(codes, dtype=np.intp)
    if values.ndim == 1:
        return np.bincount(codes, weights=values, minlength=n).astype(np.float64)
    out = np.empty((n, values.shape[1]))
    for j in range(values.shape[1]):
        out[:, j] = np.bincount(codes, weights=values[:, j], minlength=n)
    return out


def student_interval(value: float, se: float, n_clusters: int, level: float, method: str) -> ClusterInterval:
    """Make the interval value -+ t se with ``n_clusters - 1`` degrees of freedom.

    Parameters
    ----------
    value, se : float
        Estimate and its standard error; an ``se`` that is not finite gives no bounds.
    n_clusters : int
        Number of clusters; below 2 there are no bounds.
    level : float
        Nominal coverage, in (0, 1).
    method : str
        Name of the variance estimate.

    Returns
    -------
    ClusterInterval
        The interval.

    Examples
    --------
    >>> round(student_interval(0.0, 1.0, 11, 0.95, "CR1").high, 4)
    2.2281
    """
    if n_clusters < 2 or not np.isfinite(se):
        return ClusterInterval(value, None, None, None, n_clusters, level, method)
    half = float(stdtrit(n_clusters - 1, 0.5 + level / 2)) * se
    return ClusterInterval(value, se, value - half, value + half, n_clusters, level, method)


def jackknife_interval(full: float, leave_one_out: ArrayLike, level: float = 0.95) -> ClusterInterval:
    """Make the CV3 interval from the estimates without one cluster each.

    Parameters
    ----------
    full : float
        Estimate from all G clusters.
    leave_one_out : array_like, shape (G,)
        Estimate without cluster g. One that is not finite (no estimate without that cluster) gives no bounds.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval
        ``V = (G - 1)/G sum_g (b_(-g) - b)^2`` and Student's t with G - 1 degrees of freedom.

    References
    ----------
    .. [1] MacKinnon, Nielsen and Webb (2023), summclust.
    .. [2] Hansen, Review of Economic Studies, rdag050.

    Examples
    --------
    The mean of clusters of one row each has its usual standard error.

    >>> x = np.array([1.0, 2.0, 4.0, 5.0])
    >>> interval = jackknife_interval(x.mean(), (x.sum() - x) / 3)
    >>> bool(np.isclose(interval.se, x.std(ddof=1) / 2))
    True
    """
    replicates = np.asarray(leave_one_out, dtype=np.float64)
    n_clusters = replicates.size
    if n_clusters < 2:
        return student_interval(full, np.nan, n_clusters, level, "CV3")
    variance = (n_clusters - 1) / n_clusters * float(np.sum((replicates - full) ** 2))
    return student_interval(full, float(np.sqrt(variance)), n_clusters, level, "CV3")


def percentile_interval(full: float, replicates: ArrayLike, n_clusters: int, level: float = 0.95) -> ClusterInterval:
    """Make the percentile interval from bootstrap replicates.

    Parameters
    ----------
    full : float
        Estimate from the data as they are.
    replicates : array_like, shape (B,)
        Estimates from the resampled clusters; those that are not finite are left out, and if more than 1 % are,
        there are no bounds.
    n_clusters : int
        Number of clusters; below 2 there are no bounds.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval
        The interval, with the standard deviation of the replicates as ``se``.

    Examples
    --------
    >>> percentile_interval(50.0, np.arange(101), 30, 0.5).bounds
    (25.0, 75.0)
    """
    values = np.asarray(replicates, dtype=np.float64)
    finite = values[np.isfinite(values)]
    if n_clusters < 2 or finite.size < max(2.0, 0.99 * values.size):
        return ClusterInterval(full, None, None, None, n_clusters, level, "bootstrap")
    low, high = np.quantile(finite, [0.5 - level / 2, 0.5 + level / 2])
    se = float(finite.std(ddof=1))
    return ClusterInterval(full, se, float(low), float(high), n_clusters, level, "bootstrap")


def sign_multipliers(n_clusters: int, draws: int, seed: int = 0) -> NDArray[np.int8] | NDArray[np.float64]:
    """Draw the random multipliers of a cluster (wild) bootstrap.

    Parameters
    ----------
    n_clusters : int
        Number of clusters G, at least 1.
    draws : int
        Number of draws.
    seed : int, default 0
        Seed of the generator.

    Returns
    -------
    ndarray, shape (draws, n_clusters)
        -1 and +1 as int8 (a byte each, since there may be 2,000 x 8,000 of them); with fewer than 12 clusters
        Webb's six points, as float64, since signs alone would repeat. Mean 0 and variance 1 in both cases.

    References
    ----------
    .. [1] Webb (2014), Reworking wild bootstrap based inference for clustered errors.

    Examples
    --------
    >>> sorted(set(sign_multipliers(20, 50).ravel().tolist()))
    [-1, 1]
    """
    if n_clusters < 1 or draws < 1:
        raise TracestatError("multipliers: at least one cluster and one draw are needed")
    rng = np.random.default_rng(seed)
    if n_clusters < _FEW_CLUSTERS:
        return rng.choice(np.concatenate([-_WEBB, _WEBB]), size=(draws, n_clusters))
    bits = np.unpackbits(
        np.frombuffer(rng.bytes(draws * ((n_clusters + 7) // 8)), dtype=np.uint8).reshape(draws, -1),
        axis=1,
        count=n_clusters,
    )
    signs = bits.view(np.int8)
    signs *= 2
    signs -= 1
    return signs


def bootstrap_weights(n_clusters: int, draws: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw how often each cluster occurs in each bootstrap sample.

    Parameters
    ----------
    n_clusters : int
        Number of clusters G, at least 1.
    draws : int
        Number of samples B.
    seed : int, default 0
        Seed of the generator.

    Returns
    -------
    ndarray, shape (draws, n_clusters)
        Multinomial counts; each row adds up to G. Multiply by per-cluster sums to get the sums of every sample.

    Examples
    --------
    >>> bootstrap_weights(30, 4).sum(axis=1)
    array([30., 30., 30., 30.])
    """
    if n_clusters < 1 or draws < 1:
        raise TracestatError("bootstrap: at least one cluster and one draw are needed")
    rng = np.random.default_rng(seed)
    out = np.empty((draws, n_clusters))
    for row in out:
        row[:] = np.bincount(rng.integers(n_clusters, size=n_clusters), minlength=n_clusters)
    return out
