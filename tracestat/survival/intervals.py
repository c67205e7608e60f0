"""Intervals of slopes and hazards for one clustering: sandwich, jackknife, bootstrap.

All start from events and exposure per (cluster, bin). A caller runs them once by session and once by developer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from tracestat.resample import (
    ClusterInterval,
    bootstrap_weights,
    jackknife_interval,
    percentile_interval,
    student_interval,
)
from tracestat.survival.exposure import poisson_interval
from tracestat.survival.loglinear import fit_loglinear, powers
from tracestat.survival.slope import bins_used, event_centre

__all__ = [
    "BinHazards",
    "active_clusters",
    "bin_hazards",
    "bin_log_hazard_se",
    "curvature_jackknife",
    "slope_bootstrap",
    "slope_cr1",
    "slope_jackknife",
]

_BATCH_TOLERANCE = 1e-6  # replicates begin at the full fit; such a last step leaves an error near 1e-12


def active_clusters(D_g: NDArray[np.float64], X_g: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which clusters have events or exposure; the others do not count in G.

    Parameters
    ----------
    D_g, X_g : ndarray, shape (G, J)
        Events and exposure per cluster and bin.

    Returns
    -------
    ndarray of bool, shape (G,)
        True for clusters in range.

    Examples
    --------
    >>> active_clusters(np.zeros((2, 1)), np.array([[0.0], [3.0]]))
    array([False,  True])
    """
    active: NDArray[np.bool_] = (X_g.sum(axis=1) > 0) | (D_g.sum(axis=1) > 0)
    return active


class _Clusters:
    """The full fit and what every interval needs beside it."""

    def __init__(self, D_g: ArrayLike, X_g: ArrayLike, x: ArrayLike, degree: int) -> None:
        events, exposure, places = bins_used(D_g, X_g, x)
        active = active_clusters(events, exposure)
        if not active.all():
            events, exposure = events[active], exposure[active]
        self.D, self.X = events, exposure
        self.D_sum, self.X_sum = self.D.sum(axis=0), self.X.sum(axis=0)
        self.n = int(self.D.shape[0])
        self.centre = event_centre(self.D_sum, places)
        self.Z = powers(places, self.centre, degree)
        self.fit = fit_loglinear(self.D_sum, self.X_sum, self.Z)
        self.exists = bool(np.all(np.isfinite(self.fit.theta)))

    def refit(self, D: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
        return fit_loglinear(D, X, self.Z, self.fit.theta, tolerance=_BATCH_TOLERANCE, max_steps=20).theta

    def leave_one_out(self) -> NDArray[np.float64]:
        # a bin that only one cluster reaches can come out below 0 by rounding
        exposure = self.X_sum - self.X
        return self.refit(self.D_sum - self.D, np.maximum(exposure, 0.0, out=exposure))


def slope_cr1(D_g: ArrayLike, X_g: ArrayLike, x: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give the slope with its cluster sandwich interval (CR1).

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    x : array_like, shape (J,)
        Places of the bins.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        ``I^-1 (sum_g s_g s_g') I^-1 G/(G - 1)``, Student's t with G - 1 degrees of freedom; None if there is no
        slope.

    Examples
    --------
    >>> D_g, X_g = np.ones((30, 3)), np.tile([1.0, 2.0, 4.0], (30, 1))
    >>> round(slope_cr1(D_g, X_g, [0.0, 1.0, 2.0]).value, 6)
    -0.693147
    """
    data = _Clusters(D_g, X_g, x, 1)
    if not data.exists:
        return None
    value = float(data.fit.theta[1])
    if data.n < 2:
        return student_interval(value, np.nan, data.n, level, "CR1")
    scores = (data.D - data.X * np.exp(data.Z @ data.fit.theta)) @ data.Z
    influence = scores @ data.fit.covariance[:, 1]
    se = float(np.sqrt(data.n / (data.n - 1) * (influence @ influence)))
    return student_interval(value, se, data.n, level, "CR1")


def slope_jackknife(D_g: ArrayLike, X_g: ArrayLike, x: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give the slope with its jackknife interval (CV3), the default.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    x : array_like, shape (J,)
        Places of the bins.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        From the slopes without one cluster each; no bounds if one of these does not exist. None if there is no
        slope at all.

    References
    ----------
    .. [1] MacKinnon, Nielsen and Webb (2023), summclust.
    .. [2] Hansen, Review of Economic Studies, rdag050.

    Examples
    --------
    >>> D_g, X_g = np.ones((30, 3)), np.tile([1.0, 2.0, 4.0], (30, 1))
    >>> interval = slope_jackknife(D_g, X_g, [0.0, 1.0, 2.0])
    >>> interval.n_clusters, round(interval.value, 6)
    (30, -0.693147)
    """
    data = _Clusters(D_g, X_g, x, 1)
    if not data.exists:
        return None
    return jackknife_interval(float(data.fit.theta[1]), data.leave_one_out()[:, 1], level)


def slope_bootstrap(
    D_g: ArrayLike, X_g: ArrayLike, x: ArrayLike, *, draws: int = 1_000, seed: int = 0, level: float = 0.95
) -> ClusterInterval | None:
    """Give the slope with its percentile interval from clusters drawn again.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    x : array_like, shape (J,)
        Places of the bins.
    draws : int, default 1,000
        Bootstrap samples.
    seed : int, default 0
        Seed of the generator.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        None if there is no slope.

    Examples
    --------
    >>> D_g, X_g = np.ones((30, 3)), np.tile([1.0, 2.0, 4.0], (30, 1))
    >>> slope_bootstrap(D_g, X_g, [0.0, 1.0, 2.0], draws=10).method
    'bootstrap'
    """
    data = _Clusters(D_g, X_g, x, 1)
    if not data.exists:
        return None
    weights = bootstrap_weights(data.n, draws, seed)
    slopes = data.refit(weights @ data.D, weights @ data.X)[:, 1]
    return percentile_interval(float(data.fit.theta[1]), slopes, data.n, level)


def curvature_jackknife(D_g: ArrayLike, X_g: ArrayLike, x: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give the curvature of ln hazard on ln t with its jackknife interval.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    x : array_like, shape (J,)
        Places of the bins.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        None if there is no fit.

    Examples
    --------
    >>> D_g, X_g = np.ones((30, 4)), np.tile([1.0, 2.0, 4.0, 8.0], (30, 1))
    >>> abs(curvature_jackknife(D_g, X_g, [0.0, 1.0, 2.0, 3.0]).value) < 1e-12
    True
    """
    data = _Clusters(D_g, X_g, x, 2)
    if not data.exists:
        return None
    return jackknife_interval(float(data.fit.theta[2]), data.leave_one_out()[:, 2], level)


def bin_log_hazard_se(D_g: ArrayLike, X_g: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the clustered standard error of each bin's ln hazard, and how much clustering costs.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.

    Returns
    -------
    se : ndarray, shape (J,)
        Root of ``G/(G - 1) sum_g (D_gj - lambda_j X_gj)^2 / D_j^2``; NaN for bins without events and for fewer
        than two clusters.
    design_effect : ndarray, shape (J,)
        That variance times D_j: 1 if rows were independent.

    Examples
    --------
    >>> se, effect = bin_log_hazard_se([[1.0], [3.0]], [[1.0], [1.0]])
    >>> se.round(6), effect.round(6)
    (array([0.5]), array([1.]))
    """
    events, exposure = np.asarray(D_g, dtype=np.float64), np.asarray(X_g, dtype=np.float64)
    n_clusters = int(np.count_nonzero(active_clusters(events, exposure)))
    D, X = events.sum(axis=0), exposure.sum(axis=0)
    if n_clusters < 2:
        return np.full(D.size, np.nan), np.full(D.size, np.nan)
    usable = (D > 0) & (X > 0)
    D_safe, X_safe = np.where(usable, D, np.nan), np.where(usable, X, np.nan)
    residual = events - exposure * (D_safe / X_safe)
    variance = n_clusters / (n_clusters - 1) * np.sum(residual**2, axis=0) / D_safe**2
    return np.sqrt(variance), variance * D_safe


@dataclass(frozen=True, slots=True)
class BinHazards:
    """Hazard of each bin with its interval; arrays of length J, NaN where there is no exposure.

    Attributes
    ----------
    hazard, low, high : ndarray
        Events per second.
    design_effect : ndarray
        See `bin_log_hazard_se`; NaN for bins without events.
    clustered : ndarray of bool
        Whether the interval knows the clusters; False where it is the exact Poisson interval.
    n_clusters : int
        Clusters in range.
    """

    hazard: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    design_effect: NDArray[np.float64]
    clustered: NDArray[np.bool_]
    n_clusters: int


def bin_hazards(D_g: ArrayLike, X_g: ArrayLike, level: float = 0.95) -> BinHazards:
    """Give the hazard of every bin with its clustered interval.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    BinHazards
        ``lambda exp(-+ t se)`` with the clustered ``se``, or that of independent rows if it is larger; for bins whose
        events all lie in one cluster, or that have none, the exact Poisson interval.

    Examples
    --------
    >>> bin_hazards([[1.0, 0.0], [3.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]).hazard
    array([2., 0.])
    """
    events, exposure = np.asarray(D_g, dtype=np.float64), np.asarray(X_g, dtype=np.float64)
    D, X = events.sum(axis=0), exposure.sum(axis=0)
    se, effect = bin_log_hazard_se(events, exposure)
    hazard = D / np.where(X > 0, X, np.nan)
    low, high = poisson_interval(D, X, level)
    # never narrower than if rows were independent; Student's t with the clusters that reach the bin
    reach = np.count_nonzero(exposure > 0, axis=0)
    student = stdtrit(np.maximum(reach - 1, 1), 0.5 + level / 2)
    spread = np.exp(student * np.maximum(se, 1 / np.sqrt(np.maximum(D, 1))))
    # events of one cluster alone say nothing about how clusters vary
    clustered = np.isfinite(se) & (np.count_nonzero(events > 0, axis=0) > 1)
    low, high = np.where(clustered, hazard / spread, low), np.where(clustered, hazard * spread, high)
    return BinHazards(hazard, low, high, effect, clustered, int(np.count_nonzero(active_clusters(events, exposure))))
