"""The law of a round with several calls: its pause lasts until the last result, so it is the law of a maximum.

With F_i the law of member i and theta the one parameter of a Gumbel copula,

    F_max = exp(-U),   U = (sum u_i^theta)^(1/theta),   u_i = -ln F_i,

so that theta = 1 is independence (the product) and theta = infinity one common fate (the smallest F_i). All is done
on ln u, which keeps its relative precision at both ends: u is close to S where S is small, and to -ln F where F is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from tracestat.errors import UsageError
from tracestat.forecast.curves import Curves
from tracestat.forecast.grid import Grid
from tracestat.forecast.model import Dependence
from tracestat.resample import ClusterInterval, jackknife_interval, sum_by
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS, headline

__all__ = [
    "LEAST_ROUNDS",
    "MOST_THETA",
    "MemberLaws",
    "fit_dependence",
    "from_log_u",
    "log_u",
    "maxima_curves",
    "maxima_log_survival",
    "maximum_log_survival",
    "member_laws",
    "summed_log_u",
]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_SMALL = -36.0  # below, ln u = ln S to the last digit
_LARGEST = np.log(700.0)  # exp(-u) is above 0
LEAST_ROUNDS = 30
MOST_THETA = 50.0
_GRID: Array = np.linspace(0.0, np.log(MOST_THETA), 21)
_XATOL = 1e-6
_STEP = 1e-3
# no copula of calls that start together lies below 1; a likelihood that is higher there says so
_BELOW = 0.8


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


@dataclass(frozen=True, slots=True, eq=False)
class MemberLaws:
    """What the members of n rounds say of the bin in which each round ended.

    Attributes
    ----------
    bounds : ndarray, shape (K, 2)
        ln u of every member at the two edges of the bin of its round, those of one round side by side.
    starts : ndarray of int, shape (n,)
        First member of each round.
    observed : ndarray of bool, shape (n,)
        False where the end was not seen.
    """

    bounds: Array
    starts: Rows
    observed: NDArray[np.bool_]

    def log_likelihood(self, theta: float) -> Array:
        """Give ln P(the maximum ends in its bin), or ln P(it reaches the bin) where its end was not seen, shape (n,).

        Parameters
        ----------
        theta : float
            Above 0; what lies below 1 is no copula, but rounds that last longer than independent calls would.
        """
        low, high = np.minimum(summed_log_u(self.bounds, self.starts, theta), _LARGEST).T
        above, below = np.exp(low), np.exp(high)
        with np.errstate(divide="ignore"):
            # F(b) - F(a) without cancellation, also where both are next to 0 or to 1
            ended = -below + np.log(-np.expm1(np.minimum(below - above, 0.0)))
        return np.asarray(np.maximum(np.where(self.observed, ended, from_log_u(low)), -700.0))


def member_laws(
    curves: Curves, place: ArrayLike, lag: ArrayLike, n_members: ArrayLike, seconds: ArrayLike, observed: ArrayLike
) -> MemberLaws:
    """Read the members' curves at the bins of their rounds.

    Parameters
    ----------
    curves : Curves
    place : array_like of int, shape (K,)
        Curve of each member, those of one round side by side.
    lag : array_like, shape (K,) or ()
        Seconds that each member counts as having run when the pause starts: its law is that of T - lag given T > lag.
    n_members : array_like of int, shape (n,)
        Members of each round, at least 1.
    seconds, observed : array_like, shape (n,)
        Length of each pause, and whether its end was seen.

    Returns
    -------
    MemberLaws
    """
    sizes = np.asarray(n_members, dtype=np.intp)
    rows = np.asarray(place, dtype=np.intp)
    age = np.broadcast_to(np.asarray(lag, dtype=np.float64), rows.shape)
    bins = np.repeat(curves.grid.place(seconds), sizes)
    edges = curves.grid.edges
    inner = np.minimum(bins + 1, curves.grid.n_bins)
    known = curves.log_survival_at(rows, age)
    low = np.minimum(curves.log_survival_at(rows, edges[bins] + age) - known, 0.0)
    high = np.minimum(curves.log_survival_at(rows, edges[inner] + age) - known, 0.0)
    high = np.where(bins < curves.grid.n_bins, high, -np.inf)
    starts = np.asarray(np.cumsum(sizes) - sizes, dtype=np.intp)
    return MemberLaws(log_u(np.column_stack([low, high])), starts, np.asarray(observed, dtype=np.bool_))


def fit_dependence(laws: MemberLaws, session: ArrayLike, developer: ArrayLike) -> Dependence:
    """Fit theta by maximum likelihood, between 1 and 50.

    Parameters
    ----------
    laws : MemberLaws
        Of rounds with two members or more; one member says nothing of dependence.
    session, developer : array_like of int, shape (n,)
        Clusters of each round.

    Returns
    -------
    Dependence
        With fewer than 30 rounds theta is 1. The interval is the jackknife's on ln theta (CV3, the headline of
        session and developer), each replicate one Newton step away; none where theta lies on a bound.

    Examples
    --------
    >>> grid = Grid(np.array([0.0, 1, 2, 4]))
    >>> curves = Curves(grid, np.log([[1.0, 0.5, 0.25, 0.1]]), 1.0)
    >>> once = np.arange(40)
    >>> laws = member_laws(curves, [0] * 80, 0.0, [2] * 40, np.repeat([0.5, 1.5, 3, 5], [20, 10, 6, 4]), [True] * 40)
    >>> fit_dependence(laws, once, once).note
    'rounds end as their slowest call alone would, or sooner: theta is at its upper bound'
    """
    n = int(laws.starts.size)
    independent = float(laws.log_likelihood(1.0).sum())
    if n < LEAST_ROUNDS:
        note = f"{n} rounds with several calls, {LEAST_ROUNDS} needed: taken as independent"
        return Dependence(1.0, independent, independent, n, None, note)
    total = np.array([laws.log_likelihood(float(np.exp(x))).sum() for x in _GRID])
    eta, value = _climb(laws, total)
    theta = float(np.exp(eta))
    if eta in (_GRID[0], _GRID[-1]):  # the peak lies outside
        return Dependence(theta, value, independent, n, None, _note_at_bound(laws, theta, independent))
    by_session, by_developer = _jackknives(laws, eta, session, developer)
    first = headline(by_session, by_developer)
    bounds = None
    if first.low is not None and first.high is not None:
        low, high = np.exp(np.clip([first.low, first.high], _GRID[0], _GRID[-1]))
        bounds = (float(low), float(high))
    n_developers = by_developer.n_clusters
    few = FEW_DEVELOPERS.format(n=n_developers) if n_developers < ENOUGH_CLUSTERS else None
    if bounds is None:
        few = _note_without_bounds(by_developer if n_developers >= ENOUGH_CLUSTERS else by_session)
    return Dependence(theta, value, independent, n, bounds, few)


def _climb(laws: MemberLaws, total: Array) -> tuple[float, float]:
    """Find ln theta between the neighbours of the best of the grid; a bound that beats them is given as it is."""
    best = int(np.argmax(total))
    a, b = _GRID[max(best - 1, 0)], _GRID[min(best + 1, _GRID.size - 1)]
    found = minimize_scalar(
        lambda x: -float(laws.log_likelihood(float(np.exp(x))).sum()),
        bounds=(a, b),
        method="bounded",
        options={"xatol": _XATOL},
    )
    if -found.fun > total[best]:
        return float(found.x), float(-found.fun)
    return float(_GRID[best]), float(total[best])


def _jackknives(laws: MemberLaws, eta: float, *clusterings: ArrayLike) -> tuple[ClusterInterval, ...]:
    """Give the interval of ln theta by each clustering, each replicate one Newton step from ``eta``."""
    before, here, after = (laws.log_likelihood(float(np.exp(eta + k * _STEP))) for k in (-1, 0, 1))
    slope, bend = (after - before) / (2 * _STEP), (after - 2 * here + before) / _STEP**2
    found = []
    for codes in clusterings:
        _, cluster = np.unique(np.asarray(codes), return_inverse=True)
        n = int(cluster.max()) + 1
        slopes, bends = slope.sum() - sum_by(slope, cluster, n), bend.sum() - sum_by(bend, cluster, n)
        curved = bends < 0
        found.append(jackknife_interval(eta, np.where(curved, eta - slopes / np.where(curved, bends, 1.0), np.nan)))
    return tuple(found)


def _note_without_bounds(by: ClusterInterval) -> str:
    if by.n_clusters < 2:
        return "all rounds are of one session: no interval of theta"
    who = "developers" if by.n_clusters >= ENOUGH_CLUSTERS else "sessions"
    return f"the rounds lean on one of the {who}, without which nothing can be said of theta: no interval"


def _note_at_bound(laws: MemberLaws, theta: float, independent: float) -> str:
    if theta > 1:
        return "rounds end as their slowest call alone would, or sooner: theta is at its upper bound"
    if float(laws.log_likelihood(_BELOW).sum()) > independent:
        return "rounds last longer than independent calls would, as if calls waited for each other: theta is at 1"
    return "no dependence: theta is at 1"
