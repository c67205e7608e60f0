"""Proper scores of a forecast that looks again at every landmark: pinball, threshold-weighted CRPS, log score.

Everything is a score of min(T, tau) given T > s, so that the tail beyond the window, which nobody observes well, says
nothing. A row censored before tau takes part as far as it was watched, but for the pinball loss, which leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.forecast.curves import Curves
from tracestat.forecast.integrals import RunningIntegral, running_integral

__all__ = [
    "CLOCK",
    "LANDMARKS",
    "QUANTILES",
    "TAU",
    "ThresholdWeights",
    "given",
    "log_score",
    "log_seconds",
    "pinball",
    "threshold_weights",
    "twcrps",
]

Array = NDArray[np.float64]
LANDMARKS = (0.0, 1.0, 4.0, 25.0, 146.0, 600.0)
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
TAU = 3600.0
CLOCK = 1e-3  # seconds, the resolution of the clocks; the logarithm of a shorter time is taken there
_TINY = 1e-300
_BEFORE = 300.0  # ln S before the landmark, over that at it; never used, kept from overflow


def pinball(y: ArrayLike, x: ArrayLike, p: ArrayLike) -> Array:
    """Give the pinball loss of a quantile forecast: p (y - x) if y >= x, else (1 - p)(x - y).

    Parameters
    ----------
    y : array_like
        What happened.
    x : array_like
        Forecast of the p quantile, in the same unit.
    p : array_like
        In (0, 1).

    Returns
    -------
    ndarray
        Shape of the three together, unit of ``y``.

    Examples
    --------
    >>> pinball([3.0, 2.0], [2.0, 3.0], 0.9).round(9).tolist()
    [0.9, 0.1]
    """
    share = np.asarray(p, dtype=np.float64)
    over = np.asarray(y, dtype=np.float64) - np.asarray(x, dtype=np.float64)
    return np.asarray(np.maximum(share * over, (share - 1) * over))


def log_seconds(seconds: ArrayLike) -> Array:
    """Give ln of a time, of one below the clocks' resolution ln 0.001.

    Examples
    --------
    >>> log_seconds([0.0, 1.0]).round(6).tolist()
    [-6.907755, 0.0]
    """
    return np.asarray(np.log(np.maximum(np.asarray(seconds, dtype=np.float64), CLOCK)))


def given(curves: Curves, elapsed: float) -> Curves:
    """Give the laws of T given T > s: the same curves, 1 at s. Above 1 before s, where they are not to be used.

    Parameters
    ----------
    curves : Curves
    elapsed : float
        The s, seconds.

    Examples
    --------
    >>> from tracestat.forecast.curves import curves_of
    >>> from tracestat.forecast.grid import Grid
    >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    >>> given(curves, 4.0).log_survival_at([0, 0], [4.0, 16.0]).round(6).tolist()
    [0.0, -0.510826]
    """
    if elapsed == 0:
        return curves
    start = curves.log_survival_at(np.arange(curves.size), elapsed)
    return Curves(curves.grid, np.minimum(curves.log_survival - start[:, None], _BEFORE), curves.alpha)


def log_score(
    laws: Curves,
    place: ArrayLike,
    seconds: ArrayLike,
    observed: ArrayLike,
    tau: float = TAU,
    bins: NDArray[np.intp] | None = None,
) -> Array:
    """Give ln P(bin of min(T, tau) | T > s), for a censored row ln P(T is not before its bin | T > s).

    The bins are those of the grid cut at s and at tau: the bin of s starts at s, that of tau ends there, and a row
    that lasts to tau or beyond has the mass of the law from tau on, whatever bins lie behind.

    Parameters
    ----------
    laws : Curves
        Given T > s, see `given`.
    place : array_like of int, shape (N,)
        Which law.
    seconds : array_like, shape (N,)
        The T, above s.
    observed : array_like of bool, shape (N,)
        Whether the end was seen; from tau on it does not matter.
    tau : float
    bins : ndarray of int, shape (N,), optional
        Bins of ``seconds``, where they are known already.

    Returns
    -------
    ndarray, shape (N,)
        Without unit, larger is better; a bin without mass counts as 1e-300.

    Examples
    --------
    >>> from tracestat.forecast.curves import curves_of
    >>> from tracestat.forecast.grid import Grid
    >>> laws = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    >>> np.exp(log_score(laws, [0, 0, 0], [2.0, 2.0, 99.0], [True, False, True], tau=16.0)).round(6).tolist()
    [0.4, 0.8, 0.24]
    """
    rows, t = np.asarray(place, dtype=np.intp), np.asarray(seconds, dtype=np.float64)
    known, last = np.asarray(observed, dtype=bool), laws.grid.n_bins
    at_tau = laws.log_survival_at(np.arange(laws.size), tau)[rows]
    b = laws.grid.place(t) if bins is None else bins
    flat, here = laws.log_survival.ravel(), rows * (last + 1) + b
    start = np.minimum(flat[here], 0.0)
    end = np.where(b < last, flat[np.minimum(here + 1, flat.size - 1)], -np.inf)
    mass = -np.expm1(np.minimum(np.maximum(end, at_tau) - start, 0.0))
    inside = start + np.where(known, np.log(np.maximum(mass, _TINY)), 0.0)
    return np.asarray(np.where(t >= tau, at_tau, inside))


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdWeights:
    """What the threshold-weighted CRPS needs of n laws.

    Attributes
    ----------
    low, tau : float
        Ends of the window, seconds.
    first, second : RunningIntegral
        Of S and of S^2.
    first_at_low, second_at_low, second_whole : ndarray, shape (n,)
        Their integrals from ``low`` on; that of S^2 over the window.
    """

    low: float
    tau: float
    first: RunningIntegral
    second: RunningIntegral
    first_at_low: Array
    second_at_low: Array
    second_whole: Array


def threshold_weights(
    laws: Curves, elapsed: float = 0.0, window: tuple[float, float] = (0.0, TAU), *, log_time: bool = True
) -> ThresholdWeights:
    """Prepare the threshold-weighted CRPS.

    Parameters
    ----------
    laws : Curves
        Given T > s, see `given`.
    elapsed : float
        The s: thresholds below it are passed already.
    window : (float, float)
        Thresholds that count; with ``log_time`` none below the first edge above 0.
    log_time : bool
        Thresholds weigh dt/t, else dt.

    Returns
    -------
    ThresholdWeights
    """
    low = max(elapsed, window[0], laws.grid.edges[1] if log_time else 0.0)
    first = running_integral(laws, 1, log_time=log_time)
    second = running_integral(laws, 2, log_time=log_time)
    everyone = np.arange(laws.size)
    second_at_low = second.after(everyone, low)
    whole = second_at_low - second.after(everyone, window[1])
    return ThresholdWeights(low, window[1], first, second, first.after(everyone, low), second_at_low, whole)


def twcrps(
    weights: ThresholdWeights,
    place: ArrayLike,
    seconds: ArrayLike,
    observed: ArrayLike,
    bins: NDArray[np.intp] | None = None,
) -> Array:
    """Give the threshold-weighted CRPS, int (F_s(t) - I[T <= t])^2 dt/t over the window, in closed form.

    A censored row is integrated up to its censoring: beyond it nobody knows the indicator. That leans towards short
    forecasts, since a threshold counts only rows that had ended or were still watched: where 1 in 1,000 rows is
    censored it cannot be seen, where 4 in 10 are it ranks a law with 1.4 times the hazard above the true one.

    Parameters
    ----------
    weights : ThresholdWeights
    place : array_like of int, shape (N,)
        Which law.
    seconds : array_like, shape (N,)
        The T, above s.
    observed : array_like of bool, shape (N,)
    bins : ndarray of int, shape (N,), optional
        Bins of ``seconds`` put into the window, where they are known already.

    Returns
    -------
    ndarray, shape (N,)
        Without unit by log time, else seconds; smaller is better.

    References
    ----------
    .. [1] Gneiting and Ranjan (2011), Comparing density forecasts using threshold- and quantile-weighted rules.

    Examples
    --------
    >>> from tracestat.forecast.curves import curves_of
    >>> from tracestat.forecast.grid import Grid
    >>> laws = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    >>> twcrps(threshold_weights(laws), [0, 0], [2.0, 2.0], [True, False]).round(6).tolist()
    [0.394037, 0.075889]
    """
    rows, t = np.asarray(place, dtype=np.intp), np.asarray(seconds, dtype=np.float64)
    y = np.clip(t, weights.low, weights.tau)
    length = np.log(y / weights.low) if weights.first.log_time else y - weights.low
    out = length - 2 * (weights.first_at_low[rows] - weights.first.after(rows, y, bins)) + weights.second_whole[rows]
    cut = np.flatnonzero(~np.asarray(observed, dtype=bool) & (t < weights.tau))
    # what the last term adds beyond the censoring
    out[cut] -= weights.second_whole[rows[cut]]
    out[cut] += weights.second_at_low[rows[cut]] - weights.second.after(rows[cut], y[cut])
    return np.asarray(np.maximum(out, 0.0))
