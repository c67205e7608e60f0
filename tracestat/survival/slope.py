"""How steeply the hazard falls: the slope of ln hazard on ln t, three ways.

The Poisson fit on bins is the estimate. Least squares is there to compare with published slopes, and the exact
power law on unbinned times to show what the bins cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.survival.loglinear import fit_loglinear, powers

__all__ = [
    "Curvature",
    "PoissonSlope",
    "PowerLawSlope",
    "bins_used",
    "curvature",
    "event_centre",
    "ols_slope",
    "poisson_slope",
    "power_law_slope",
    "slope_note",
]

MIN_EVENTS = 100
MIN_BINS = 5
MIN_CLUSTERS = 20
_NEAR_ZERO, _TERMS = 0.05, 24


@dataclass(frozen=True, slots=True)
class PoissonSlope:
    """The fit ln hazard = intercept + slope x.

    Attributes
    ----------
    intercept : float
        At x = 0, that is, at 1 s when x is ln t in seconds.
    slope : float
        Change of ln hazard per unit of x.
    se_intercept, se_naive : float
        Standard errors of intercept and slope if all rows were independent, which they are not.
    centre : float
        Mean of x over events.
    """

    intercept: float
    slope: float
    se_intercept: float
    se_naive: float
    centre: float


@dataclass(frozen=True, slots=True)
class Curvature:
    """The fit ln hazard = intercept + slope z + curvature z^2, z = x - centre.

    Attributes
    ----------
    intercept, slope : float
        Level and slope at the centre.
    curvature : float
        0 for a power law, negative when the fall steepens.
    se_naive : float
        Standard error of the curvature if all rows were independent.
    centre : float
        Mean of x over events.
    """

    intercept: float
    slope: float
    curvature: float
    se_naive: float
    centre: float

    def local_slope(self, x: float) -> float:
        """Give the slope at x (ln t): ``slope + 2 curvature (x - centre)``."""
        return self.slope + 2 * self.curvature * (x - self.centre)


@dataclass(frozen=True, slots=True)
class PowerLawSlope:
    """The exact fit of h(t) = exp(intercept) t^slope on a range.

    Attributes
    ----------
    slope, intercept : float
        Exponent of the hazard, and its logarithm at 1 s.
    se_naive : float
        Standard error of the slope if all rows were independent.
    n_events : float
        Events in the range.
    """

    slope: float
    intercept: float
    se_naive: float
    n_events: float


def slope_note(n_events: float, n_bins: int, n_clusters: int) -> str | None:
    """Say why there is too little data for a slope.

    Parameters
    ----------
    n_events : float
        Events in bins 1 to J.
    n_bins : int
        The support J.
    n_clusters : int
        Clusters with exposure in these bins.

    Returns
    -------
    str or None
        The reason, or None if there is enough.

    Examples
    --------
    >>> slope_note(500, 9, 12)
    '12 clusters, 20 needed'
    >>> slope_note(500, 9, 20)
    """
    checks = ((n_events, MIN_EVENTS, "events"), (n_bins, MIN_BINS, "bins"), (n_clusters, MIN_CLUSTERS, "clusters"))
    short = [f"{have:.0f} {what}, {need} needed" for have, need, what in checks if have < need]
    return "; ".join(short) or None


def bins_used(D: ArrayLike, X: ArrayLike, x: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    """Check that events, exposure and places belong together, and give them as arrays.

    Parameters
    ----------
    D, X : array_like, shape (..., J)
        Events and exposure per bin.
    x : array_like, shape (J,)
        Places of the bins.

    Returns
    -------
    D, X, x : ndarray
        The same as float64.

    Raises
    ------
    TracestatError
        If the shapes differ.

    Examples
    --------
    >>> [a.shape for a in bins_used([1, 2], [1.0, 1.0], [0.0, 1.0])]
    [(2,), (2,), (2,)]
    """
    events, exposure, places = (np.asarray(values, dtype=np.float64) for values in (D, X, x))
    if events.shape != exposure.shape or events.shape[-1] != places.size or places.ndim != 1:
        raise TracestatError(
            f"bins: events of shape {events.shape}, exposure {exposure.shape}, places {places.shape}; "
            "the last axis of each must be the bins"
        )
    return events, exposure, places


def event_centre(D: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """Give the mean of x over events, where level and slope of a fit are uncorrelated.

    Parameters
    ----------
    D : ndarray, shape (J,)
        Events per bin.
    x : ndarray, shape (J,)
        Places of the bins.

    Returns
    -------
    float
        The centre; the plain mean of x if there are no events.

    Examples
    --------
    >>> event_centre(np.array([1.0, 3.0]), np.array([0.0, 4.0]))
    3.0
    """
    total = float(D.sum())
    return float(D @ x) / total if total > 0 else float(x.mean())


def poisson_slope(D: ArrayLike, X: ArrayLike, x: ArrayLike) -> PoissonSlope | None:
    """Fit ln hazard = a + b x by maximum likelihood of a piecewise constant hazard.

    Parameters
    ----------
    D, X : array_like, shape (J,)
        Events and exposure (seconds) per bin. Bins need no minimum of events.
    x : array_like, shape (J,)
        Places of the bins, ``tracestat.survival.bins.bin_centres`` of their edges.

    Returns
    -------
    PoissonSlope or None
        None if events lie in fewer than two bins, or if no maximum exists.

    References
    ----------
    .. [1] Holford (1980), The analysis of rates and of survivorship using log-linear models.
    .. [2] Laird and Olivier (1981), Covariance analysis of censored survival data using log-linear analysis.

    Examples
    --------
    >>> fit = poisson_slope([100, 50, 60, 40], [100, 80, 70, 90], [0, 1, 2, 3])
    >>> round(fit.slope, 6), round(fit.se_naive, 6)
    (-0.211379, 0.055944)
    """
    events, exposure, places = bins_used(D, X, x)
    centre = event_centre(events, places)
    fit = fit_loglinear(events, exposure, powers(places, centre, 1))
    if not np.all(np.isfinite(fit.theta)):
        return None
    level, slope = (float(v) for v in fit.theta)
    cov = fit.covariance
    variance = cov[0, 0] - 2 * centre * cov[0, 1] + centre**2 * cov[1, 1]
    return PoissonSlope(level - slope * centre, slope, float(np.sqrt(variance)), float(np.sqrt(cov[1, 1])), centre)


def curvature(D: ArrayLike, X: ArrayLike, x: ArrayLike) -> Curvature | None:
    """Fit ln hazard = a + b z + c z^2, to see whether one slope describes the range.

    Parameters
    ----------
    D, X : array_like, shape (J,)
        Events and exposure (seconds) per bin.
    x : array_like, shape (J,)
        Places of the bins.

    Returns
    -------
    Curvature or None
        None if events lie in fewer than three bins, or if no maximum exists.

    Examples
    --------
    >>> round(curvature([100, 50, 60, 40], [100, 80, 70, 90], [0, 1, 2, 3]).curvature, 6)
    -0.025041
    """
    events, exposure, places = bins_used(D, X, x)
    centre = event_centre(events, places)
    fit = fit_loglinear(events, exposure, powers(places, centre, 2))
    if not np.all(np.isfinite(fit.theta)):
        return None
    level, slope, bend = (float(v) for v in fit.theta)
    return Curvature(level, slope, bend, float(np.sqrt(fit.covariance[2, 2])), centre)


def ols_slope(D: ArrayLike, X: ArrayLike, x: ArrayLike) -> float | None:
    """Fit ln hazard on x by least squares, as published slopes often are.

    There is no standard error, since that of the residuals means nothing here.

    Parameters
    ----------
    D, X : array_like, shape (B,)
        Events and exposure (seconds) per merged block.
    x : array_like, shape (B,)
        Places of the blocks, ``tracestat.survival.blocks.block_centres``.

    Returns
    -------
    float or None
        The slope, over blocks with events; None if there are fewer than two.

    Examples
    --------
    >>> round(ols_slope([8, 4, 2], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]), 6)
    -0.693147
    """
    events, exposure, places = bins_used(D, X, x)
    use = (events > 0) & (exposure > 0)
    if np.count_nonzero(use) < 2:
        return None
    y = np.log(events[use] / exposure[use])
    z = places[use] - places[use].mean()
    return float(z @ y / (z @ z))


def power_law_slope(
    time: ArrayLike,
    n_event: ArrayLike,
    n_censored: ArrayLike,
    t0: float,
    t1: float,
    entry: ArrayLike | None = None,
) -> PowerLawSlope | None:
    """Fit h(t) = e^a t^(k - 1) on [t0, t1] by maximum likelihood, without bins.

    It is the left-truncated Weibull law, but allows slopes below -1, which a Weibull law does not.

    Parameters
    ----------
    time : array_like, shape (N,)
        Distinct durations, seconds (with ``entry``: distinct pairs).
    n_event, n_censored : array_like, shape (N,)
        Rows that end there, by whether the end was seen.
    t0, t1 : float
        Range, seconds, 0 < t0 < t1: rows above t0 enter there and are censored at t1.
    entry : array_like, shape (N,), optional
        Time from which the rows were watched.

    Returns
    -------
    PowerLawSlope or None
        None without events in the range, or if the exponent lies outside -6 to 4.

    Raises
    ------
    TracestatError
        If the range is empty or begins at 0.

    Examples
    --------
    >>> t = (-np.log(1 - (np.arange(1, 1001) - 0.5) / 1000) / 0.3) ** 2.5
    >>> fit = power_law_slope(t, np.ones(1000), np.zeros(1000), 0.1, 1000.0)
    >>> round(fit.slope, 6)
    -0.599958
    """
    if not 0 < t0 < t1:
        raise TracestatError("power law: the range must begin above 0 and end above its beginning")
    times = np.asarray(time, dtype=np.float64)
    events = np.asarray(n_event, dtype=np.float64)
    weights = events + np.asarray(n_censored, dtype=np.float64)
    starts = np.full(times.shape, t0) if entry is None else np.maximum(np.asarray(entry, dtype=np.float64), t0)
    use = (times > starts) & (starts < t1) & (weights > 0)
    times, events, weights, starts = times[use], events[use] * (times[use] <= t1), weights[use], starts[use]
    n_events = float(events.sum())
    if n_events == 0:
        return None
    log_time = np.log(times)
    centre = float(events @ log_time) / n_events
    moments = _Moments(np.minimum(log_time, np.log(t1)) - centre, np.log(starts) - centre, weights)

    # the profile likelihood is concave in k; with the centre at the events its slope is -D A'/A, so the root is that of
    # A': Newton's method, falling back to halving the bracket
    low, high = -5.0, 5.0
    if not moments.at(low)[1] < 0 < moments.at(high)[1]:
        return None
    k = 0.0
    for _ in range(200):
        a0, a1, a2 = moments.at(k)
        low, high = (k, high) if a1 < 0 else (low, k)
        newton = k - (a1 / a0) / (a2 / a0 - (a1 / a0) ** 2)
        before, k = k, newton if low < newton < high else (low + high) / 2
        if abs(k - before) < 1e-13:
            break
    information = n_events * (a2 / a0 - (a1 / a0) ** 2)
    if not information > 0:
        return None
    # int t^(k - 1) dt = e^(k centre) a0, so the level at 1 s takes the centre back out
    return PowerLawSlope(k - 1, float(np.log(n_events / a0)) - k * centre, float(information**-0.5), n_events)


class _Moments:
    """Integrals of v^m e^(kv), m = 0, 1, 2, from ``down`` to ``up``, added over rows."""

    def __init__(self, up: NDArray[np.float64], down: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        # most rows enter at the same few places
        places, place = np.unique(down, return_inverse=True)
        self._ends = ((up, weights), (places, -np.bincount(place, weights)))
        self._powers: list[float] = []

    def at(self, k: float) -> tuple[float, float, float]:
        if abs(k) < _NEAR_ZERO:
            # the closed forms lose all digits near k = 0; the series in kv needs few terms, as |v| stays below 20 or so
            power = self._power_sums()
            zero, one, two = (
                sum(k**n / factorial(n) * power[m + n] / (m + n + 1) for n in range(_TERMS)) for m in range(3)
            )
            return zero, one, two
        raw = np.zeros(3)
        for v, weights in self._ends:
            weighted = weights * np.exp(k * v)
            raw += weighted.sum(), weighted @ v, weighted @ v**2
        zero = raw[0] / k
        one = (raw[1] - zero) / k
        return float(zero), float(one), float((raw[2] - 2 * one) / k)

    def _power_sums(self) -> list[float]:
        """Give the sums of v^1, v^2, ..., which do not depend on k."""
        if not self._powers:
            sums = np.zeros(_TERMS + 2)
            for v, weights in self._ends:
                term = weights.copy()
                for n in range(sums.size):
                    term *= v
                    sums[n] += term.sum()
            self._powers = sums.tolist()
        return self._powers
