"""A survival curve with intervals that know its clusters, from what a database adds up.

The curve is exact at every duration. Its clustered variance is exact at chosen times and interpolated between them
(on ln t), so that memory follows sessions times chosen times and not rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from tracestat.resample import ClusterInterval, sum_by
from tracestat.results import Bounds, Interval
from tracestat.survival.curve import Curve, log_log_interval, quantile, quantile_interval
from tracestat.survival.headline import complement, headline
from tracestat.survival.influence import clustered_variance, influence_from_cells

__all__ = ["VARIANCE_AT", "ClusteredCurve", "clustered_curve", "widened_variance"]

Floats = NDArray[np.float64]
# 12 a decade from 1 ms to 100,000 s, and the thresholds of the shares
VARIANCE_AT: tuple[float, ...] = tuple(sorted({*np.geomspace(1e-3, 1e5, 97).round(6).tolist(), 1.0, 10.0, 60.0}))


@dataclass(frozen=True, slots=True)
class ClusteredCurve:
    """A curve and the variance of its cumulative hazard by two clusterings.

    Attributes
    ----------
    curve : Curve
        The product-limit curve.
    at : ndarray, shape (M,)
        Chosen times, seconds.
    session, developer : ndarray, shape (M,), or None
        Variance at these times, widened for few clusters; None for fewer than two.
    n_sessions, n_developers : int
    """

    curve: Curve
    at: Floats
    session: Floats | None
    developer: Floats | None
    n_sessions: int
    n_developers: int

    def survival(self, times: Sequence[float]) -> list[Interval]:
        """Give P(T > t) at each time with its interval."""
        points = np.asarray(times, dtype=np.float64)
        values = self.curve.survival_at(points)
        both = []
        for variance, n in ((self.session, self.n_sessions), (self.developer, self.n_developers)):
            if variance is None:
                low = high = np.full(points.size, np.nan)
            else:
                low, high = log_log_interval(values, self._between(variance, points))
            both.append(
                [_interval(float(v), (_finite(a), _finite(b)), n) for v, a, b in zip(values, low, high, strict=True)]
            )
        return [headline(first, second) for first, second in zip(*both, strict=True)]

    def within(self, times: Sequence[float]) -> list[Interval]:
        """Give P(T <= t), the share of rows that end within t."""
        return [complement(interval) for interval in self.survival(times)]

    def quantile(self, q: float) -> Interval | None:
        """Give the q quantile of the duration; None when the curve does not reach it."""
        value = quantile(self.curve, q)
        if value is None:
            return None
        both = []
        for variance, n in ((self.session, self.n_sessions), (self.developer, self.n_developers)):
            bounds: Bounds = (None, None)
            if variance is not None:
                bounds = quantile_interval(self.curve, q, self._between(variance, self.curve.time))
            both.append(_interval(value, bounds, n))
        return headline(*both)

    def _between(self, variance: Floats, times: Floats) -> Floats:
        place = np.log(np.maximum(times, 1e-9))
        found: Floats = np.interp(place, np.log(self.at), variance)
        return np.where(times > 0, found, 0.0)


def clustered_curve(
    curve: Curve, n: Floats, score: Floats, developer: NDArray[np.intp], at: Sequence[float]
) -> ClusteredCurve:
    """Put a curve and the sums of its sessions together.

    Parameters
    ----------
    curve : Curve
        The product-limit curve of the same rows.
    n, score : ndarray, shape (S, M + 1)
        Per session and interval between chosen times, as :func:`influence_from_cells` takes them.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps.
    at : sequence of float, length M
        Chosen times, ascending, above 0.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1.0, 2.0, 3.0], [1, 1, 1])
    >>> n = np.array([[1.0, 0], [1, 0], [0, 1]])
    >>> score = np.array([[1 / 3 - 1 / 9, 0], [1 / 2 - 13 / 36, 0], [0, 0]])
    >>> made = clustered_curve(curve, n, score, np.array([0, 1, 1]), [2.0])
    >>> round(made.survival([2.0])[0].value, 6), made.n_developers
    (0.333333, 2)
    """
    steps = np.concatenate([[0.0], np.cumsum(curve.n_event / curve.at_risk**2)])
    V = steps[np.searchsorted(curve.time, np.asarray(at), side="right")]
    U = influence_from_cells(n, score, V)
    n_developers = int(developer.max(initial=-1)) + 1
    return ClusteredCurve(
        curve,
        np.asarray(at, dtype=np.float64),
        _variance(U, V),
        _variance(sum_by(U, developer, n_developers), V),
        U.shape[0],
        n_developers,
    )


def widened_variance(clustered: Floats, independent: Floats, n_clusters: int) -> Floats:
    """Give a clustered variance, never below that of independent rows, widened to Student's t.

    The intervals made of it use the normal quantile; with few clusters t is larger, so the variance takes the square
    of their ratio.

    Parameters
    ----------
    clustered, independent : ndarray, shape (M,)
        Variance by clusters, and as if rows were independent.
    n_clusters : int
        At least 2.

    Examples
    --------
    >>> widened_variance(np.array([1.0]), np.array([2.0]), 20).round(3)
    array([2.281])
    """
    ratio = float(stdtrit(n_clusters - 1, 0.975) / ndtri(0.975))
    widened: Floats = np.maximum(clustered, independent) * ratio**2
    return widened


def _variance(U: Floats, independent: Floats) -> Floats | None:
    clustered = clustered_variance(U)
    return None if clustered is None else widened_variance(clustered, independent, U.shape[0])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _interval(value: float, bounds: Bounds, n_clusters: int) -> ClusterInterval:
    return ClusterInterval(value, None, *bounds, n_clusters, 0.95, "influence")
