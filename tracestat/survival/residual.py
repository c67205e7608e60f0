"""Residual life: having waited t, how much longer? Mean within a window, and quantiles, of the remaining time.

The mean within a window h is the integral of S(u)/S(t) over (t, t + h]; without censoring that is the mean of
min(T - t, h) over the rows with T > t. Quantiles are those of the curve S(t + r)/S(t). Their intervals are in
`tracestat.survival.landmark`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import TracestatError
from tracestat.survival.curve import Curve

__all__ = [
    "Window",
    "mean_residual",
    "plug_in_mean",
    "quantile_residual",
    "rows_beyond",
    "survival_beyond",
    "window_beyond",
]

_TIE = 1e-12  # a ratio of products may miss 1 - q by rounding


@dataclass(frozen=True, slots=True)
class Window:
    """How far a mean of the remaining time reaches.

    Attributes
    ----------
    seconds : float
        Length, seconds; the one asked for, or less.
    lowered : bool
        Whether it ends early, at the last observed time, because that is a censoring.
    """

    seconds: float
    lowered: bool


def _check(t: float, h: float = 1.0) -> None:
    if not (0 <= t < np.inf and 0 < h < np.inf):
        raise TracestatError(f"residual life after {t:g} s within {h:g} s: give t from 0 on, and a window above 0")


def rows_beyond(curve: Curve, t: float) -> int:
    """Count the rows still at risk just after t.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t : float
        Elapsed time, seconds.

    Returns
    -------
    int
        Rows that were watched before their next step and last longer than t.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> rows_beyond(kaplan_meier([1.0, 2.0, 2.0, 5.0], [1, 1, 0, 1]), 1.0)
    3
    """
    _check(t)
    at = int(curve.index(t)) + 1
    return round(float(curve.at_risk[at])) if at < curve.time.size else 0


def window_beyond(curve: Curve, t: float, h: float) -> Window:
    """Give the window of the mean: h, or less where the last observed time is a censoring before t + h.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t, h : float
        Elapsed time and window, seconds.

    Returns
    -------
    Window
        Of length 0 where the curve ends by t.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> window_beyond(kaplan_meier([1.0, 9.0], [1, 0]), 2.0, 3600.0)
    Window(seconds=7.0, lowered=True)
    """
    _check(t, h)
    last = float(curve.time[-1])
    if curve.survival[-1] > 0 and last < t + h:
        return Window(max(last - t, 0.0), True)
    return Window(h, False)


def mean_residual(curve: Curve, t: float, h: float) -> float | None:
    """Give the mean remaining time within a window of h from t.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t, h : float
        Elapsed time and window, seconds.

    Returns
    -------
    float or None
        ``int_t^{t+h} S(u) du / S(t)``, seconds; None where S(t) is 0, or where the curve ends above 0 before t + h.

    Notes
    -----
    The window starts at t for every t. A common end would bend the mean down as t comes near it, and rank the longest
    waits as the soonest to end.

    References
    ----------
    .. [1] Hall and Wellner (1981), Mean residual life.
    .. [2] Karrison (1987), Restricted mean life with adjustment for covariates.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> round(mean_residual(curve, 2.0, 6.0), 9)
    4.257142857
    """
    _check(t, h)
    base = float(curve.survival_at(t))
    if base <= 0 or (curve.survival[-1] > 0 and curve.time[-1] < t + h):
        return None
    first, stop = int(curve.index(t)) + 1, int(np.searchsorted(curve.time, t + h, side="left"))
    starts = np.concatenate([[t], curve.time[first:stop]])
    levels = np.concatenate([[base], curve.survival[first:stop]])
    return float(np.sum(levels * np.diff(np.append(starts, t + h)))) / base


def survival_beyond(curve: Curve, t: float, h: float) -> float | None:
    """Give P(T > t + h | T > t), the share that outlasts the window.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t, h : float
        Elapsed time and window, seconds.

    Returns
    -------
    float or None
        None where S(t) is 0.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> survival_beyond(kaplan_meier([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1]), 1.0, 2.0)
    0.3333333333333333
    """
    _check(t, h)
    base = float(curve.survival_at(t))
    return float(curve.survival_at(t + h)) / base if base > 0 else None


def quantile_residual(curve: Curve, t: float, q: float) -> float | None:
    """Give the q quantile of the remaining time after t.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t : float
        Elapsed time, seconds.
    q : float
        In (0, 1).

    Returns
    -------
    float or None
        The smallest r at which ``S(t + r) <= (1 - q) S(t)``, seconds; None where it is not reached.

    References
    ----------
    .. [1] Jeong, Jung and Costantino (2008), Nonparametric inference on median residual life function.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], [1, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    >>> quantile_residual(curve, 2.0, 0.5)
    6.0
    """
    _check(t)
    if not 0 < q < 1:
        raise TracestatError(f"quantile {q:g} of the remaining time: it must lie between 0 and 1")
    base, first = float(curve.survival_at(t)), int(curve.index(t)) + 1
    if base <= 0 or first >= curve.time.size:
        return None
    # the curve only falls: its mirror image is sorted
    reached = int(np.searchsorted(-curve.survival[first:], -base * (1 - q + _TIE), side="left"))
    return float(curve.time[first + reached]) - t if first + reached < curve.time.size else None


def plug_in_mean(curve: Curve, t: float) -> float | None:
    """Give the plain mean of what is left after t over the rows that were seen to end; the longest rows rule it.

    Parameters
    ----------
    curve : Curve
        The survival curve.
    t : float
        Elapsed time, seconds.

    Returns
    -------
    float or None
        Mean of T - t over the rows with T > t, seconds, without a window; None where there is none.

    Notes
    -----
    Published means are of this kind. Censored rows take no part, which makes it too short where there are many.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> plug_in_mean(kaplan_meier([1.0, 2.0, 3.0, 7.0], [1, 1, 0, 1]), 1.0)
    3.5
    """
    _check(t)
    first = int(curve.index(t)) + 1
    n: NDArray[np.float64] = curve.n_event[first:]
    total = float(n.sum())
    return float(np.sum(n * (curve.time[first:] - t))) / total if total > 0 else None
