"""How much of the fall of the hazard is real, and how much is a mixture of fast and slow keys.

A mixture of constant hazards falls, since the slow ones are left over. Giving every key its own level (a gamma
frailty) and all keys one slope tells the two apart. Keys enter only through two sums each, so 30,000 of them are cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, psi, zeta

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, jackknife_interval, sum_by
from tracestat.survival.bins import bin_centres
from tracestat.survival.exposure import exposure_from_exits
from tracestat.survival.loglinear import fit_loglinear, powers
from tracestat.survival.slope import bins_used, event_centre

__all__ = ["FrailtyFit", "frailty_cells", "frailty_loglik", "frailty_pairs", "gamma_frailty"]

_LOG_THETA = (-9.0, 6.0)
_STARTS = (-2.0, 0.0)
_STEP_LIMIT = 1.5
_TOLERANCE = 1e-9
_REFIT_TOLERANCE = 1e-6  # refits begin close to the top, where a last step of this size leaves an error near 1e-12
_MAX_STEPS = 60
_SMALL_PRODUCT = 2**18  # multiplications up to which OpenBLAS starts no threads
_HEAVY = 0.05  # from here on one step is off by percents, below it by a thousandth


@dataclass(frozen=True, slots=True)
class FrailtyFit:
    """The fit h_k(t) = z_k exp(intercept + slope x), z_k gamma with mean 1 and variance theta.

    Attributes
    ----------
    intercept : float
        ln hazard of an average key at x = 0.
    slope : float
        The slope within keys.
    theta : float
        Variance of the keys' levels.
    slope_pooled : float
        The slope if keys are ignored.
    mixing_share : float or None
        1 - slope / slope_pooled, the part of the fall that is due to differences between keys; None if the pooled
        slope is 0.
    loglik : float
        Log likelihood at the maximum, without constants of the data.
    n_keys : int
        Keys with exposure in range.
    at_bound : bool
        Whether theta ran into the end of its range, e^-9 (keys do not differ) or e^6.
    interval : ClusterInterval or None
        Jackknife interval of the slope, where clusters were given.
    coarser : ClusterInterval or None
        The same by a second, coarser clustering, where one was given.
    """

    intercept: float
    slope: float
    theta: float
    slope_pooled: float
    mixing_share: float | None
    loglik: float
    n_keys: int
    at_bound: bool
    interval: ClusterInterval | None = None
    coarser: ClusterInterval | None = None


def frailty_loglik(intercept: float, slope: float, theta: float, D_k: ArrayLike, X_k: ArrayLike, x: ArrayLike) -> float:
    """Give the log likelihood of the shared gamma frailty model.

    Parameters
    ----------
    intercept, slope, theta : float
        Parameters; theta above 0.
    D_k, X_k : array_like, shape (K, J)
        Events and exposure (seconds) per key and bin.
    x : array_like, shape (J,)
        Places of the bins.

    Returns
    -------
    float
        ``sum_k [lnG(r + n_k) - lnG(r) + r ln r - (r + n_k) ln(r + L_k)] + sum_j D_j (a + b x_j)`` with r = 1/theta,
        n_k the events and L_k the expected events of key k.

    Examples
    --------
    >>> round(frailty_loglik(-0.5, -0.3, 0.5, [[3, 1], [0, 2], [1, 0]], [[2, 1], [4, 3], [1, 0.5]], [0, 1]), 10)
    -10.8930476326
    """
    events, exposure, places = bins_used(D_k, X_k, x)
    if not theta > 0:
        raise TracestatError("frailty: theta must be above 0")
    eta = intercept + slope * places
    shape, n, expected = 1 / theta, events.sum(axis=-1), exposure @ np.exp(eta)
    per_key = gammaln(shape + n) - gammaln(shape) + shape * np.log(shape) - (shape + n) * np.log(shape + expected)
    return float(per_key.sum() + events.sum(axis=0) @ eta)


# einsum, not @: BLAS would start threads for these, which gain nothing here, and on a busy machine it waits for them a
# hundred times longer than they compute
def _dot(u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    return float(np.einsum("k,k->", u, v))


def _product(rates: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give rates.T @ X for X of shape (J, K), in pieces so small that BLAS computes them without threads."""
    out = np.empty((rates.shape[1], X.shape[1]))
    width = max(_SMALL_PRODUCT // rates.size, 1)
    for start in range(0, X.shape[1], width):
        piece = slice(start, start + width)
        np.matmul(rates.T, X[:, piece], out=out[:, piece])
    return out


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Give the distinct values, which are counts or codes, and the number of each value among them."""
    whole = values.astype(np.intp)
    if whole.max(initial=0) > 4 * whole.size or not np.array_equal(whole, values):
        distinct, where = np.unique(values, return_inverse=True)
        return distinct, where.astype(np.intp)
    seen = np.bincount(whole) > 0  # a table is quicker than sorting
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[whole]


class _Keys:
    """The sums that the likelihood needs, and its value and derivatives in (a, b, ln theta).

    The slope is taken around the centre of the events, so that level and slope hardly depend on each other.
    """

    def __init__(
        self, n_k: NDArray[np.float64], X_k: NDArray[np.float64], D: NDArray[np.float64], z: NDArray[np.float64]
    ) -> None:
        self.n, self.X, self.z = n_k, np.ascontiguousarray(X_k.T), z
        self.total, self.slope_total = float(D.sum()), float(D @ z)
        # few distinct counts: the gamma functions are computed once for each
        self.counts, where = _distinct(n_k)
        self.repeats = np.bincount(where).astype(np.float64)

    def derivatives(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Give value, gradient and Hessian of the log likelihood."""
        a, b, log_theta = (float(v) for v in parameters)
        r = float(np.exp(-log_theta))
        rates = np.exp(a + b * self.z)[:, None] * powers(self.z, 0.0, 2)
        first, moment, second = _product(rates, self.X)
        rate = r + first
        log_rate = np.log(rate)
        weight = (r + self.n) / rate  # posterior mean of the key's level
        fall = weight / rate
        cross = (self.n - first) / rate**2
        repeats, counts = self.repeats, r + self.counts
        value = _dot(repeats, gammaln(counts) - gammaln(r)) + self.n.size * r * np.log(r)
        value += self.total * a + self.slope_total * b - _dot(log_rate, r + self.n)
        by_r = _dot(repeats, psi(counts) - psi(r)) + self.n.size * (np.log(r) + 1)
        by_r -= float(log_rate.sum() + weight.sum())
        by_rr = _dot(repeats, zeta(2, counts) - zeta(2, r)) + self.n.size / r  # zeta(2, .) is the trigamma function
        by_rr += float(np.sum(cross - 1 / rate))
        gradient = np.array([self.total - _dot(weight, first), self.slope_total - _dot(weight, moment), -r * by_r])
        hessian = np.empty((3, 3))
        hessian[0, 0] = _dot(fall, first**2) - _dot(weight, first)
        hessian[0, 1] = hessian[1, 0] = _dot(fall, first * moment) - _dot(weight, moment)
        hessian[1, 1] = _dot(fall, moment**2) - _dot(weight, second)
        hessian[0, 2] = hessian[2, 0] = -r * _dot(cross, first)
        hessian[1, 2] = hessian[2, 1] = -r * _dot(cross, moment)
        hessian[2, 2] = r * by_r + r * r * by_rr
        return float(value), gradient, hessian


def _key_scores(
    n: NDArray[np.float64], expected: NDArray[np.float64], moment: NDArray[np.float64], r: float
) -> NDArray[np.float64]:
    """Give what each key adds to the score beside the terms that are linear in events, shape (3, K)."""
    rate = r + expected
    weight = (r + n) / rate
    counts, where = _distinct(n)
    scores = np.empty((3, n.size))
    np.multiply(-weight, expected, out=scores[0])
    np.multiply(-weight, moment, out=scores[1])
    by_r = (psi(r + counts) - psi(r) + np.log(r) + 1)[where]
    by_r -= np.log(rate, out=rate)
    by_r -= weight
    np.multiply(-r, by_r, out=scores[2])
    return scores


@dataclass(frozen=True, slots=True)
class _Top:
    parameters: NDArray[np.float64]
    value: float  # a last step away, so that the top itself need not be looked at
    at_bound: bool


def _climb(keys: _Keys, start: NDArray[np.float64], tolerance: float = _TOLERANCE) -> _Top:
    """Newton steps in a box for ln theta, shortened until they go up."""
    low, high = _LOG_THETA
    parameters = start
    value, gradient, hessian = keys.derivatives(parameters)
    at_bound = False
    for _ in range(_MAX_STEPS):
        at_bound = bool((parameters[2] <= low and gradient[2] <= 0) or (parameters[2] >= high and gradient[2] >= 0))
        free = 2 if at_bound else 3
        # away from the top the likelihood may curve upwards in ln theta: such a direction is followed uphill, too
        curve, axes = np.linalg.eigh(-hessian[:free, :free])
        curve = np.maximum(np.abs(curve), 1e-10 * np.abs(curve).max())
        step = np.zeros(3)
        step[:free] = axes @ ((axes.T @ gradient[:free]) / curve)
        step *= min(1.0, _STEP_LIMIT / max(float(np.abs(step).max()), 1e-300))
        before = value
        # what rounding leaves of a sum with terms of this size, whatever the sum itself is
        noise = 1e-12 * (abs(before) + keys.total + keys.n.size * float(np.exp(-parameters[2])))
        while True:
            proposal = parameters + step
            proposal[2] = min(max(float(proposal[2]), low), high)
            if float(np.abs(step).max()) < tolerance:
                return _Top(proposal, before, at_bound)
            value, gradient, hessian = keys.derivatives(proposal)
            if value >= before - noise:
                break
            step /= 2
        parameters = proposal
    return _Top(parameters, value, at_bound)


@dataclass(frozen=True, slots=True)
class _Solved:
    fit: FrailtyFit
    keys: _Keys
    parameters: NDArray[np.float64]
    hessian: NDArray[np.float64]

    def rates(self) -> NDArray[np.float64]:
        """Give hazard and hazard x z per bin at the top, shape (J, 2)."""
        a, b, _ = self.parameters
        hazards: NDArray[np.float64] = np.exp(a + b * self.keys.z)[:, None] * powers(self.keys.z, 0.0, 1)
        return hazards


def _solve(
    n_k: NDArray[np.float64], X_k: NDArray[np.float64], D: NDArray[np.float64], x: NDArray[np.float64]
) -> _Solved | None:
    use = (X_k.sum(axis=1) > 0) | (n_k > 0)
    centre = event_centre(D, x)
    Z = powers(x, centre, 1)
    pooled = fit_loglinear(D, X_k.sum(axis=0), Z).theta
    if not np.all(np.isfinite(pooled)):
        return None
    keys = _Keys(n_k[use], X_k[use], D, Z[:, 1])
    tops = [_climb(keys, np.array([*pooled, start])) for start in _STARTS]
    top = max(tops, key=lambda found: found.value)
    value, _, hessian = keys.derivatives(top.parameters)
    level, slope, log_theta = (float(v) for v in top.parameters)
    slope_pooled = float(pooled[1])
    fit = FrailtyFit(
        intercept=level - slope * centre,
        slope=slope,
        theta=float(np.exp(log_theta)),
        slope_pooled=slope_pooled,
        mixing_share=1 - slope / slope_pooled if slope_pooled != 0 else None,
        loglik=value,
        n_keys=int(keys.n.size),
        at_bound=top.at_bound,
    )
    return _Solved(fit, keys, top.parameters, hessian)


def gamma_frailty(D_k: ArrayLike, X_k: ArrayLike, x: ArrayLike) -> FrailtyFit | None:
    """Fit one slope within keys that differ in level by a gamma frailty.

    Parameters
    ----------
    D_k, X_k : array_like, shape (K, J)
        Events and exposure (seconds) per key and bin.
    x : array_like, shape (J,)
        Places of the bins.

    Returns
    -------
    FrailtyFit or None
        Without interval; None if there is no pooled slope.

    References
    ----------
    .. [1] Proschan (1963), Theoretical explanation of observed decreasing failure rate.
    .. [2] Vaupel and Yashin (1985), Heterogeneity's ruses.

    Examples
    --------
    Keys with constant hazards of 10 and 0.1 per second: the pooled hazard falls, that within keys does not.

    >>> D = np.tile([[100, 100, 0], [10, 90, 900]], (10, 1))
    >>> X = D / np.tile([[10.0], [0.1]], (10, 1))
    >>> fit = gamma_frailty(D, X, [0.0, 1.0, 2.0])
    >>> round(fit.slope_pooled, 2), abs(round(fit.slope, 2))
    (-1.02, 0.0)
    """
    events, exposure, places = bins_used(D_k, X_k, x)
    solved = _solve(events.sum(axis=1), exposure, events.sum(axis=0), places)
    return None if solved is None else solved.fit


def frailty_pairs(
    key: ArrayLike,
    cluster: ArrayLike,
    D: ArrayLike,
    X: ArrayLike,
    x: ArrayLike,
    level: float = 0.95,
    *,
    coarser: ArrayLike | None = None,
) -> FrailtyFit | None:
    """Fit the slope within keys, with its cluster jackknife interval.

    Parameters
    ----------
    key, cluster : array_like of int, shape (P,)
        Codes from 0 of the key and the cluster (session or developer) of each row; a pair may occur more than once.
    D, X : array_like, shape (P, J)
        Events and exposure (seconds) per row and bin.
    x : array_like, shape (J,)
        Places of the bins.
    level : float, default 0.95
        Nominal coverage.
    coarser : array_like of int, shape (P,), optional
        A second clustering, in which each cluster of the first lies as a whole.

    Returns
    -------
    FrailtyFit or None
        With interval; None if there is no pooled slope.

    Notes
    -----
    A replicate is one Newton step from the full fit: the score without the cluster, at the full fit's parameters,
    through the full fit's Hessian. With theta at an end of its range only level and slope move. A cluster with more
    than 5 % of the events, as some developers have, moves the fit too far for one step: without it the fit is made
    anew, from where the step led.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> key, cluster = np.repeat(np.arange(50), 4), np.tile(np.arange(40), 5)
    >>> X = rng.gamma(2.0, 1.0, (200, 3))
    >>> fit = frailty_pairs(key, cluster, rng.poisson(X * rng.gamma(2.0, 0.5, 50)[key][:, None]), X, [0.0, 1.0, 2.0])
    >>> fit.interval.n_clusters, fit.interval.low < 0 < fit.interval.high
    (40, True)
    """
    events, exposure, places = bins_used(D, X, x)
    keys, clusters = np.asarray(key, dtype=np.intp), np.asarray(cluster, dtype=np.intp)
    if keys.shape != clusters.shape or keys.size != events.shape[0]:
        raise TracestatError("frailty: one key and one cluster code are needed per row")
    n_keys = int(keys.max(initial=-1)) + 1
    n_row = events.sum(axis=1)
    solved = _solve(sum_by(n_row, keys, n_keys), sum_by(exposure, keys, n_keys), events.sum(axis=0), places)
    if solved is None:
        return None
    expected, moment = _product(solved.rates(), exposure.T)
    rows = _Rows(keys, n_row, np.einsum("kj,j->k", events, solved.keys.z), expected, moment)

    def without(gone: NDArray[np.intp]) -> _Left:
        kept = np.ones(keys.size, dtype=np.bool_)
        kept[gone] = False
        return (
            sum_by(n_row[kept], keys[kept], n_keys),
            sum_by(exposure[kept], keys[kept], n_keys),
            events[kept].sum(axis=0),
        )

    return _with_intervals(solved, rows, clusters, coarser, level, without)


def frailty_cells(
    key: ArrayLike,
    cluster: ArrayLike,
    cell: ArrayLike,
    n_event: ArrayLike,
    n_net: ArrayLike,
    time_net: ArrayLike,
    edges: Sequence[float],
    *,
    coarser: ArrayLike | None = None,
    level: float = 0.95,
) -> tuple[FrailtyFit | None, NDArray[np.float64], NDArray[np.float64]]:
    """Run `frailty_pairs` on rows of single cells, without laying every (key, cluster) out over all bins.

    Parameters
    ----------
    key, cluster : array_like of int, shape (R,)
        Codes from 0 of the key and the cluster of each row.
    cell : array_like of int, shape (R,)
        0 below the first edge, 1 to J in the bins, J + 1 above the last edge.
    n_event, n_net, time_net : array_like, shape (R,)
        Events; rows and seconds that end in the cell less those that enter in it.
    edges : sequence of float, length J + 1
        Edges of the bins, seconds.
    coarser : array_like of int, shape (R,), optional
        A second clustering, in which each cluster of the first lies as a whole.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    fit : FrailtyFit or None
        As `frailty_pairs`.
    D, X : ndarray, shape (K, J)
        Events and exposure per key and bin.

    Notes
    -----
    What a key is expected to have, sum_j X_j e^(a + b x_j), is linear in its exits: a row of the bin c with n rows and
    time t adds ``t e_c + n (sum_{j < c} width_j e_j - lo_c e_c)``.

    Examples
    --------
    >>> key, cluster, cell, one = [0, 0, 1], [0, 1, 1], [1, 2, 3], [1, 1, 1]
    >>> fit, D, X = frailty_cells(key, cluster, cell, one, one, [2.0, 5.0, 9.0], (1.0, 4.0, 8.0))
    >>> D.tolist(), X.tolist()
    ([[1.0, 1.0], [0.0, 0.0]], [[4.0, 1.0], [3.0, 4.0]])
    """
    keys, clusters, cells = (np.asarray(v, dtype=np.intp) for v in (key, cluster, cell))
    event, exits, time = (np.asarray(v, dtype=np.float64) for v in (n_event, n_net, time_net))
    bounds = np.asarray(edges, dtype=np.float64)
    J = bounds.size - 1
    n_keys = int(keys.max(initial=-1)) + 1
    lower = np.concatenate([[0.0], bounds])
    flat = keys * (J + 2) + cells
    D, n_exit, spent = (sum_by(v, flat, n_keys * (J + 2)).reshape(n_keys, J + 2) for v in (event, exits, time))
    D, X = D[:, 1 : J + 1], np.asfortranarray(exposure_from_exits(n_exit, spent, lower.tolist())[:, 1 : J + 1])
    places = bin_centres(edges)
    n_k, per_bin = D.sum(axis=1), D.sum(axis=0)
    solved = _solve(n_k, X, per_bin, places)
    if solved is None:
        return None, D, X
    inside = (cells >= 1) & (cells <= J)
    n_row = np.where(inside, event, 0.0)
    z = np.concatenate([[0.0], solved.keys.z, [0.0]])
    sums = []
    for rate in solved.rates().T:
        per_cell = np.concatenate([[0.0], rate, [0.0]])
        before = np.concatenate([[0.0, 0.0], np.cumsum(rate * np.diff(bounds))])
        sums.append(time * per_cell[cells] + exits * (before - lower * per_cell)[cells])
    rows = _Rows(keys, n_row, n_row * z[cells], sums[0], sums[1])

    def without(gone: NDArray[np.intp]) -> _Left:
        # only the keys of these rows change
        changed, number = _distinct(keys[gone])
        place = number * (J + 2) + cells[gone]
        events_gone, exits_gone, spent_gone = (
            sum_by(v[gone], place, changed.size * (J + 2)).reshape(changed.size, J + 2) for v in (event, exits, time)
        )
        left_n, left_X = n_k.copy(), X.copy(order="F")
        left_n[changed] -= events_gone[:, 1 : J + 1].sum(axis=1)
        left_X[changed] = exposure_from_exits(
            n_exit[changed] - exits_gone, spent[changed] - spent_gone, lower.tolist()
        )[:, 1 : J + 1]
        return left_n, left_X, per_bin - events_gone[:, 1 : J + 1].sum(axis=0)

    return _with_intervals(solved, rows, clusters, coarser, level, without), D, X


@dataclass(frozen=True, slots=True)
class _Rows:
    """What each row of sufficient statistics adds to its key: events, events x z, expected events and their moment."""

    key: NDArray[np.intp]
    events: NDArray[np.float64]
    events_z: NDArray[np.float64]
    expected: NDArray[np.float64]
    moment: NDArray[np.float64]


_Left: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Events per key, exposure per key and bin, events per bin."""
_Without: TypeAlias = Callable[[NDArray[np.intp]], _Left]


def _with_intervals(
    solved: _Solved,
    rows: _Rows,
    clusters: NDArray[np.intp],
    coarser: ArrayLike | None,
    level: float,
    without: _Without,
) -> FrailtyFit:
    slope = solved.fit.slope
    rows, of_row = _merged(rows, clusters)
    fit = replace(
        solved.fit, interval=jackknife_interval(slope, _one_step(solved, rows, of_row, clusters, without), level)
    )
    if coarser is None:
        return fit
    larger = np.asarray(coarser, dtype=np.intp)
    larger_of = np.zeros(clusters.max(initial=-1) + 1, dtype=np.intp)
    larger_of[clusters] = larger
    if not np.array_equal(larger_of[clusters], larger):
        raise TracestatError("frailty: a cluster lies in two of the coarser clusters")
    rows, of_row = _merged(rows, larger_of[of_row])
    return replace(fit, coarser=jackknife_interval(slope, _one_step(solved, rows, of_row, larger, without), level))


def _merged(rows: _Rows, clusters: NDArray[np.intp]) -> tuple[_Rows, NDArray[np.intp]]:
    """Add up the rows of each pair of cluster and key, which leave together; give them and the cluster of each."""
    where, cluster, key = _pairs(clusters, rows.key)
    sums = (sum_by(v, where, key.size) for v in (rows.events, rows.events_z, rows.expected, rows.moment))
    return _Rows(key, *sums), cluster


def _pairs(
    clusters: NDArray[np.intp], keys: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Give the number of each row's pair of cluster and key, and the cluster and key of each number."""
    n_clusters, n_keys = (int(codes.max(initial=-1)) + 1 for codes in (clusters, keys))
    cluster_of_key = np.zeros(n_keys, dtype=np.intp)
    cluster_of_key[keys] = clusters
    if np.array_equal(cluster_of_key[keys], clusters):  # a key lies in one cluster, as sessions do in a developer
        return keys, cluster_of_key, np.arange(n_keys)
    code = clusters * n_keys + keys
    if n_clusters * n_keys <= 4 * code.size + 100_000:  # a table of all pairs is cheaper than sorting
        return code, *np.divmod(np.arange(n_clusters * n_keys), n_keys)
    order = np.argsort(code, kind="stable")  # quick on rows that come in the order of the clusters
    ascending = code[order]
    is_first = np.diff(ascending, prepend=-1) > 0
    where = np.empty(code.size, dtype=np.intp)
    where[order] = np.cumsum(is_first) - 1
    return where, *np.divmod(ascending[is_first], n_keys)


def _one_step(
    solved: _Solved, rows: _Rows, of_row: NDArray[np.intp], clusters: NDArray[np.intp], without: _Without
) -> NDArray[np.float64]:
    """Give the slope without each cluster in range.

    ``rows`` are one per pair of key and cluster, ``of_row`` the cluster of each; ``clusters`` is that of each row that
    ``without`` may leave out.
    """
    r = float(np.exp(-solved.parameters[2]))
    n_keys, n_clusters = (int(codes.max(initial=-1)) + 1 for codes in (rows.key, clusters))
    n_k, expected_k, moment_k = (sum_by(v, rows.key, n_keys) for v in (rows.events, rows.expected, rows.moment))
    before = _key_scores(n_k, np.maximum(expected_k, 0.0), moment_k, r)[:, rows.key]
    n_left = np.maximum(n_k[rows.key] - rows.events, 0.0)
    expected_left = np.maximum(expected_k[rows.key] - rows.expected, 0.0)
    after = _key_scores(n_left, expected_left, moment_k[rows.key] - rows.moment, r)
    change = np.stack([sum_by(v, of_row, n_clusters) for v in after - before])
    events = sum_by(rows.events, of_row, n_clusters)
    change[0] -= events
    change[1] -= sum_by(rows.events_z, of_row, n_clusters)
    # exposure is what an expected number comes from; of nothing, rounding leaves next to nothing
    active = events + sum_by(rows.expected, of_row, n_clusters) > 1e-9
    free = 2 if solved.fit.at_bound else 3
    step = np.linalg.solve(solved.hessian[:free, :free], -change[:free, active])
    replicates: NDArray[np.float64] = solved.parameters[1] + step[1]
    numbers = np.flatnonzero(active)
    for place in np.flatnonzero(events[active] > _HEAVY * events.sum()):
        n, X, per_bin = without(np.flatnonzero(clusters == numbers[place]))
        if np.count_nonzero(per_bin > 0) < 2:  # nothing is left from which to learn a slope
            replicates[place] = np.nan
            continue
        keys = _Keys(n, X, per_bin, solved.keys.z)
        moved = solved.parameters.copy()
        moved[:free] += np.clip(step[:, place], -_STEP_LIMIT, _STEP_LIMIT)
        moved[2] = min(max(moved[2], _LOG_THETA[0]), _LOG_THETA[1])
        replicates[place] = _climb(keys, moved, _REFIT_TOLERANCE).parameters[1]
    return replicates
