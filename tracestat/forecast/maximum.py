"""The law of a round with several calls: its pause lasts until the last result, so it is the law of a maximum.

With F_i the law of member i and theta the one parameter of a Gumbel copula,

    F_max = exp(-U),   U = (sum u_i^theta)^(1/theta),   u_i = -ln F_i,

so that theta = 1 is independence (the product) and theta = infinity one common fate (the smallest F_i). All is done
on ln u, which keeps its relative precision at both ends: u is close to S where S is small, and to -ln F where F is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import UsageError
from tracestat.forecast.curves import Curves
from tracestat.forecast.grid import Grid

__all__ = [
    "from_log_u",
    "log_u",
    "maxima_curves",
    "maxima_log_survival",
    "maximum_log_survival",
    "summed_log_u",
]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_SMALL = -36.0  # below, ln u = ln S to the last digit


def log_u(log_survival: ArrayLike) -> Array:
    """Give ln(-ln(1 - S)) from ln S: infinite where S = 1, minus infinity where S = 0.

    Parameters
    ----------
    log_survival : array_like
        Not above 0.

    Returns
    -------
    ndarray, of the same shape

    Examples
    --------
    >>> log_u([0.0, np.log(0.5), -800.0]).round(6).tolist()
    [inf, -0.366513, -800.0]
    """
    s = np.asarray(log_survival, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # ln F from the side on which it does not cancel
        log_f = np.where(s > -np.log(2), np.log(-np.expm1(s)), np.log1p(-np.exp(np.minimum(s, -0.5))))
        return np.where(s < _SMALL, s, np.log(-log_f))


def from_log_u(values: ArrayLike) -> Array:
    """Give ln S = ln(1 - exp(-u)) from ln u, the inverse of :func:`log_u`.

    Parameters
    ----------
    values : array_like

    Returns
    -------
    ndarray, of the same shape
        Not above 0.

    Examples
    --------
    >>> s = np.array([-1e-9, -0.3, -20.0, -800.0])
    >>> bool(np.allclose(from_log_u(log_u(s)), s, rtol=1e-13, atol=0))
    True
    """
    x = np.asarray(values, dtype=np.float64)
    u = np.exp(np.clip(x, _SMALL, 700.0))
    with np.errstate(divide="ignore"):
        log_s = np.where(u > np.log(2), np.log1p(-np.exp(-u)), np.log(-np.expm1(-u)))
    return np.where(x < _SMALL, x, log_s)


def summed_log_u(values: Array, starts: Rows, theta: float) -> Array:
    """Give ln U of each round from the ln u of its members.

    Parameters
    ----------
    values : ndarray, shape (K, ...)
        ln u of all members, those of one round side by side.
    starts : ndarray of int, shape (n,)
        First member of each round, ascending from 0; a round has at least one.
    theta : float
        At least 1; infinity gives the largest u.

    Returns
    -------
    ndarray, shape (n, ...)
    """
    top = np.maximum.reduceat(values, starts, axis=0)
    if np.isinf(theta):
        return np.asarray(top)
    n_members = np.diff(np.append(starts, values.shape[0]))
    # a round whose largest u is 0 or infinite has no ratios
    ratio = np.where(np.isfinite(top), top, 0.0)
    parts = np.exp(theta * np.minimum(values - np.repeat(ratio, n_members, axis=0), 0.0))
    total = np.add.reduceat(parts, starts, axis=0)
    return np.asarray(np.where(np.isfinite(top), ratio + np.log(np.maximum(total, 1.0)) / theta, top))


def maxima_log_survival(members: ArrayLike, n_members: ArrayLike, theta: float) -> Array:
    """Give ln S of the maximum for many rounds.

    Parameters
    ----------
    members : array_like, shape (K, J + 1)
        ln S of every member on a common grid, those of one round side by side.
    n_members : array_like of int, shape (n,)
        Members of each round, at least 1; they add up to K.
    theta : float
        Of the Gumbel copula, at least 1; may be infinite.

    Returns
    -------
    ndarray, shape (n, J + 1)
        Between the largest member's and that of independence.

    Raises
    ------
    UsageError
        ``theta`` below 1, or numbers of members that do not fit.

    References
    ----------
    .. [1] Gumbel (1960), Distributions des valeurs extremes en plusieurs dimensions; Nelsen (2006), An Introduction
       to Copulas, family 4.2.4.

    Examples
    --------
    >>> both = np.log([[0.5, 0.1], [0.5, 0.1], [0.25, 0.2]])
    >>> np.exp(maxima_log_survival(both, [2, 1], 1.0)).round(6).tolist()
    [[0.75, 0.19], [0.25, 0.2]]
    """
    values = np.asarray(members, dtype=np.float64)
    sizes = np.asarray(n_members, dtype=np.intp)
    if not theta >= 1:
        raise UsageError(f"theta {theta:g}: the dependence of a maximum is at least 1 (independence)")
    if values.ndim != 2 or sizes.ndim != 1 or (sizes < 1).any() or int(sizes.sum()) != values.shape[0]:
        raise UsageError("members of a maximum: one row each, at least one per round, as many as n_members adds up to")
    if not sizes.size:
        return np.zeros((0, values.shape[1]))
    starts = np.asarray(np.cumsum(sizes) - sizes, dtype=np.intp)
    found = from_log_u(summed_log_u(log_u(values), starts, theta))
    # rounding must not take the maximum of one member, or of a common fate, below its members
    return np.asarray(np.maximum(found, np.maximum.reduceat(values, starts, axis=0)))


def maximum_log_survival(members: ArrayLike, theta: float) -> Array:
    """Give ln S of the maximum of m calls.

    Parameters
    ----------
    members : array_like, shape (m, J + 1)
        ln S of each member on a common grid.
    theta : float
        As for :func:`maxima_log_survival`.

    Returns
    -------
    ndarray, shape (J + 1,)

    Examples
    --------
    Equal members that know nothing of each other give S_max = 1 - (1 - S)^m:

    >>> bool(np.isclose(np.exp(maximum_log_survival(np.log([[0.2]] * 3), 1.0)[0]), 1 - 0.8**3))
    True
    """
    values = np.atleast_2d(np.asarray(members, dtype=np.float64))
    return np.asarray(maxima_log_survival(values, [values.shape[0]], theta)[0])


def maxima_curves(grid: Grid, members: ArrayLike, n_members: ArrayLike, alpha: float, theta: float) -> Curves:
    """Give the curves of the maximum for many rounds.

    Parameters
    ----------
    grid : Grid
        Of the members.
    members, n_members, theta
        As for :func:`maxima_log_survival`.
    alpha : float
        Exponent of the members beyond the last edge, the smallest if they differ: far out u_i is S_i, so U falls as
        its slowest member does.

    Returns
    -------
    Curves
        The maximum is exact at the edges; between them ln S is linear in ln t as in every curve.
    """
    return Curves(grid, maxima_log_survival(members, n_members, theta), alpha)
