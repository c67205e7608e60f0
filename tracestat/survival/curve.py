"""The survival curve: Kaplan-Meier, Nelson-Aalen, their quantiles and restricted means.

Everything is a function of the counts at distinct durations, so a trace of millions of rows comes in as a short table.
Variances that hold for clustered rows are in `tracestat.survival.influence`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.results import Bounds

__all__ = [
    "Curve",
    "RestrictedMean",
    "kaplan_meier",
    "kaplan_meier_counts",
    "log_log_interval",
    "quantile",
    "quantile_interval",
    "restricted_mean",
]

_TIE = 1e-12  # a product of fractions may miss 1 - q by rounding


@dataclass(frozen=True, slots=True)
class Curve:
    """A survival curve at its distinct durations t_1 < ... < t_m; all arrays have length m.

    Attributes
    ----------
    time : ndarray
        Distinct durations, seconds; censored ones too.
    n_event, n_censored, at_risk : ndarray
        Events and censorings at t_i, and rows with entry < t_i <= duration. At a tie events come first.
    survival : ndarray
        S(t_i) = P(T > t_i), right-continuous.
    cumulative_hazard : ndarray
        Nelson-Aalen H(t_i), ties as one jump.
    greenwood : ndarray
        Sum of d/(n (n - d)), the variance of ln S for independent rows; where S is 0 it keeps its last value, as there
        is no interval there.
    """

    time: NDArray[np.float64]
    n_event: NDArray[np.float64]
    n_censored: NDArray[np.float64]
    at_risk: NDArray[np.float64]
    survival: NDArray[np.float64]
    cumulative_hazard: NDArray[np.float64]
    greenwood: NDArray[np.float64]

    @property
    def influence_sum(self) -> NDArray[np.float64]:
        """V(t_i), the sum of d/n^2, which `tracestat.survival.influence` needs."""
        return np.cumsum(self.n_event / self.at_risk**2)

    def index(self, t: ArrayLike) -> NDArray[np.intp]:
        """Give the last distinct duration not above t; -1 before the first."""
        return np.searchsorted(self.time, np.asarray(t, dtype=np.float64), side="right") - 1

    def survival_at(self, t: ArrayLike) -> NDArray[np.float64]:
        """Give S(t); beyond the last duration, its last value."""
        return np.concatenate([[1.0], self.survival])[self.index(t) + 1]

    def cumulative_hazard_at(self, t: ArrayLike) -> NDArray[np.float64]:
        """Give H(t); beyond the last duration, its last value."""
        return np.concatenate([[0.0], self.cumulative_hazard])[self.index(t) + 1]


@dataclass(frozen=True, slots=True)
class RestrictedMean:
    """The mean of min(T, tau).

    Attributes
    ----------
    value : float or None
        Seconds; None if the curve ends above 0 before tau.
    se : float or None
        Standard error for independent rows.
    tau : float
        Restriction, seconds.
    note : str
        Why there is no value; empty if there is one.
    """

    value: float | None
    se: float | None
    tau: float
    note: str = ""


def kaplan_meier_counts(
    time: ArrayLike,
    n_event: ArrayLike,
    n_censored: ArrayLike | None = None,
    entry_time: ArrayLike | None = None,
    n_entry: ArrayLike | None = None,
) -> Curve:
    """Estimate the survival curve from counts per duration.

    Parameters
    ----------
    time : array_like, shape (N,)
        Durations, seconds, not negative, in any order; equal ones are added up.
    n_event, n_censored : array_like, shape (N,)
        Rows that end there, by whether the end was seen; no ``n_censored``: none.
    entry_time, n_entry : array_like, shape (E,), optional
        Late entries: times above 0 and the rows first watched then. Rows without one were watched from the start.

    Returns
    -------
    Curve
        The curve at the distinct durations.

    Raises
    ------
    TracestatError
        If there are no rows, a duration is negative, or more rows end than are at risk.

    References
    ----------
    .. [1] Kaplan and Meier (1958), Nonparametric estimation from incomplete observations.

    Examples
    --------
    >>> kaplan_meier_counts([2.0, 1.0], [1, 1], [0, 2]).survival
    array([0.75, 0.  ])
    """
    times = np.asarray(time, dtype=np.float64)
    events = np.asarray(n_event, dtype=np.float64)
    censored = np.zeros(times.shape) if n_censored is None else np.asarray(n_censored, dtype=np.float64)
    if not times.shape == events.shape == censored.shape or times.ndim != 1:
        raise TracestatError("survival curve: times, events and censorings must be columns of one length")
    if times.size == 0 or not np.all(times >= 0) or not np.all(np.isfinite(times)):
        raise TracestatError("survival curve: at least one duration is needed, and none below 0; filter the others")
    if times.size > 1 and not np.all(times[1:] > times[:-1]):
        distinct, where = np.unique(times, return_inverse=True)
        events, censored = sum_by(events, where, distinct.size), sum_by(censored, where, distinct.size)
        times = distinct
    exits = events + censored
    at_risk = np.cumsum(exits[::-1])[::-1].copy()
    if entry_time is not None and n_entry is not None:
        entries = np.asarray(entry_time, dtype=np.float64)
        order = np.argsort(entries, kind="stable")
        later = np.concatenate([[0.0], np.cumsum(np.asarray(n_entry, dtype=np.float64)[order][::-1])])[::-1]
        # not yet watched at t: entries at t or above it
        at_risk -= later[np.searchsorted(entries[order], times, side="left")]
    keep = exits > 0
    times, events, censored, at_risk, exits = (v[keep] for v in (times, events, censored, at_risk, exits))
    if np.any(at_risk < exits - 1e-9):
        raise TracestatError("survival curve: a row ends at or before its entry; filter such rows first")
    left = at_risk - events
    survival = np.cumprod(left / at_risk, dtype=np.float64)
    terms = np.divide(events, at_risk * left, out=np.zeros_like(left), where=left > 0)
    greenwood = np.cumsum(terms)
    gone = np.flatnonzero(survival == 0)
    if gone.size:
        greenwood[gone[0] :] = greenwood[gone[0]]
    return Curve(times, events, censored, at_risk, survival, np.cumsum(events / at_risk), greenwood)


def kaplan_meier(times: ArrayLike, events: ArrayLike, entry: ArrayLike | None = None) -> Curve:
    """Estimate the survival curve from rows.

    Parameters
    ----------
    times : array_like, shape (N,)
        Durations, seconds, not negative.
    events : array_like of bool, shape (N,)
        Whether the end was seen.
    entry : array_like, shape (N,), optional
        Time from which a row was watched, below its duration; 0: from the start.

    Returns
    -------
    Curve
        The curve at the distinct durations.

    Raises
    ------
    TracestatError
        As `kaplan_meier_counts`.

    Examples
    --------
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> curve.survival_at([0.5, 1, 5]).round(6)
    array([1.      , 0.9     , 0.411429])
    """
    observed = np.asarray(events, dtype=np.float64)
    if entry is None:
        return kaplan_meier_counts(times, observed, 1 - observed)
    entries = np.asarray(entry, dtype=np.float64)
    if not np.all((entries <= 0) | (entries < np.asarray(times, dtype=np.float64))):
        raise TracestatError("survival curve: a row ends at or before its entry; filter such rows first")
    late = entries[entries > 0]
    return kaplan_meier_counts(times, observed, 1 - observed, late, np.ones(late.size))


def log_log_interval(
    S: ArrayLike, variance: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the pointwise interval of a survival probability on the log-log scale.

    Parameters
    ----------
    S : array_like
        Survival probabilities.
    variance : array_like, same shape
        Variance of ln S or of H there: Greenwood for independent rows, clustered otherwise.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray
        ``S^exp(+-z sqrt(variance)/|ln S|)``; NaN where S is 0 or 1, where there is no interval.

    Examples
    --------
    >>> low, high = log_log_interval([0.5, 1.0], [0.04, 0.0])
    >>> low.round(4), high.round(4)
    (array([0.2952,    nan]), array([0.6745,    nan]))
    """
    prob, var = np.asarray(S, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    inside = (prob > 0) & (prob < 1) & (var >= 0)
    safe = np.where(inside, prob, 0.5)
    log_prob = np.log(safe)
    with np.errstate(over="ignore"):  # a variance beyond all bounds leaves 0 and 1
        spread = np.exp(float(ndtri(0.5 + level / 2)) * np.sqrt(np.where(inside, var, 0.0)) / -log_prob)
    low, high = np.exp(log_prob * spread), np.exp(log_prob / spread)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def quantile(curve: Curve, q: float) -> float | None:
    """Give the q quantile of the duration.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    q : float
        In (0, 1).

    Returns
    -------
    float or None
        The smallest t with ``1 - S(t) >= q``, seconds; None if it is not reached, and then it lies beyond the last
        duration of the curve.

    Notes
    -----
    R's survival package takes the midpoint of a flat piece where S hits 1 - q exactly; this takes its left end.

    Examples
    --------
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> [quantile(curve, q) for q in (0.25, 0.5, 0.75, 0.9)]
    [3.0, 5.0, 8.0, None]
    """
    return _first_crossing(curve, curve.survival, q)


def quantile_interval(curve: Curve, q: float, variance: ArrayLike, level: float = 0.95) -> Bounds:
    """Invert the pointwise log-log interval of S to an interval of a quantile.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    q : float
        In (0, 1).
    variance : array_like, shape (m,)
        Variance of ln S or of H at each duration of the curve.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    (float or None, float or None)
        The smallest durations at which the lower and the upper limit of S cross 1 - q; None for one that never does.

    References
    ----------
    .. [1] Brookmeyer and Crowley (1982), A confidence interval for the median survival time.

    Examples
    --------
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> quantile_interval(curve, 0.5, curve.greenwood)
    (1.0, None)
    """
    low, high = log_log_interval(curve.survival, variance, level)
    return _first_crossing(curve, low, q), _first_crossing(curve, high, q)


def _first_crossing(curve: Curve, limit: NDArray[np.float64], q: float) -> float | None:
    if not 0 < q < 1:
        raise TracestatError(f"quantile {q:g}: it must lie between 0 and 1")
    with np.errstate(invalid="ignore"):
        reached = 1 - limit >= q - _TIE  # no limit (NaN) crosses nothing
    first = int(reached.argmax())
    return float(curve.time[first]) if reached[first] else None


def restricted_mean(curve: Curve, tau: float) -> RestrictedMean:
    """Give the mean of min(T, tau), the integral of S up to tau.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    tau : float
        Restriction, seconds, above 0.

    Returns
    -------
    RestrictedMean
        With Greenwood's standard error.

    Examples
    --------
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> round(restricted_mean(curve, 6.0).value, 6)
    4.482857
    """
    if not tau > 0:
        raise TracestatError("restricted mean: tau must be above 0")
    last = float(curve.time[-1])
    if tau > last and curve.survival[-1] > 0:
        note = f"the curve ends at {last:g} s, before tau, at S = {curve.survival[-1]:.3g}"
        return RestrictedMean(None, None, tau, note)
    inside = curve.time < tau
    starts = np.concatenate([[0.0], curve.time[inside]])
    levels = np.concatenate([[1.0], curve.survival[inside]])
    areas = levels * np.diff(np.append(starts, tau))
    beyond = np.cumsum(areas[::-1])[::-1][1:]  # area from each duration on
    d, n = curve.n_event[inside], curve.at_risk[inside]
    terms = np.divide(d, n * (n - d), out=np.zeros_like(d), where=n > d)
    return RestrictedMean(float(areas.sum()), float(np.sqrt(np.sum(beyond**2 * terms))), tau)
