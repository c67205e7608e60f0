"""How much of the baseline's loss a method takes away, and by how much two methods differ, with clustered intervals.

A few developers hold most of the rows of a trace, and then the percentile bootstrap and Student's t with G - 1 degrees
of freedom cover too little: with the 26 developers of a real trace, 88 and 89 % in place of 95, with its 15 Codex
developers 85 and 84 % (2,000 simulated traces each, loss ratios that vary by 20 % between developers). So an interval
here is the jackknife's with as many degrees of freedom as there are developers who matter, which covers 95 and 98 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, bootstrap_weights, jackknife_interval, percentile_interval, sum_by
from tracestat.results import Interval
from tracestat.survival.headline import headline

__all__ = ["PairedTest", "effective_clusters", "error_cut", "paired_difference", "paired_test"]

Array = NDArray[np.float64]
_EQUAL = 1e-10  # sums this close (relative) are the same: no rounding decides which method is better


@dataclass(frozen=True, slots=True, eq=False)
class _Ratio:
    """An estimate made of sums over n clusters, shape (n, ...), and what its interval needs of each cluster."""

    sums: Array
    weight: Array  # how much it matters
    takes_part: Array  # above 0 where it has rows
    statistic: Callable[[Array], Array]
    positive: bool

    def by(self, clusters: NDArray[np.intp]) -> _Ratio:
        """Add the clusters up to larger ones, without those that take no part."""
        size = int(clusters.max()) + 1
        rows = sum_by(self.takes_part, clusters, size)
        here = rows > 0
        sums, weight = (sum_by(values, clusters, size)[here] for values in (self.sums, self.weight))
        return replace(self, sums=sums, weight=weight, takes_part=rows[here])


@dataclass(frozen=True, slots=True)
class PairedTest:
    """By how much two methods differ, and how likely so large a difference is between two that are equally good.

    Attributes
    ----------
    difference : Interval
        As from `paired_difference`.
    p_value : float or None
        Two-sided, by developer, by session where there is one developer only: the difference over its standard error,
        with as many degrees of freedom as the jackknife's interval has. None where there is no standard error.
    """

    difference: Interval
    p_value: float | None


def error_cut(
    model: ArrayLike,
    baseline: ArrayLike,
    developer: NDArray[np.intp],
    *,
    draws: int = 0,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Give 100 (1 - mean over columns of [sum model / sum baseline]), percent of the baseline's loss.

    Parameters
    ----------
    model, baseline : array_like, shape (S,) or (S, K)
        Sums of the loss per session, not negative; K landmarks for the headline.
    developer : ndarray of int, shape (S,)
        Developer of each session.
    draws : int
        0 for the jackknife of the logarithm of the mean ratio; else so many samples of the percentile bootstrap,
        which is the usual way and too short where developers are uneven.
    seed : int
        Of the bootstrap.
    level : float

    Returns
    -------
    Interval
        By session and by developer. Without value where the baseline loses nothing in a column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> baseline = rng.uniform(1, 2, 40)
    >>> cut = error_cut(0.75 * baseline + rng.uniform(-0.1, 0.1, 40), baseline, np.arange(40) // 2)
    >>> round(cut.value), cut.method
    (25, 'developer CV3')
    """
    own, base = _but_rounding(_columns(model), _columns(baseline)), _columns(baseline)
    width = base.shape[1]

    def cut(sums: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.mean(sums[..., :width] / sums[..., width:], axis=-1))

    if base.size == 0 or not np.all(base.sum(axis=0) > 0):
        return Interval(None, level=level)
    weight = np.mean(base / base.sum(axis=0), axis=1)
    problem = _Ratio(np.hstack([own, base]), weight, weight, cut, positive=True)
    return _turned(headline(*_by_both(problem, developer, draws, seed, level)))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    n: ArrayLike,
    developer: NDArray[np.intp],
    *,
    weight: ArrayLike | None = None,
    draws: int = 0,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Give the mean loss of A minus that of B per row, on the same rows; below 0 A is better.

    Parameters
    ----------
    a, b : array_like, shape (S,)
        Sums of the loss per session.
    n : array_like, shape (S,)
        Rows per session.
    developer : ndarray of int, shape (S,)
    weight : array_like, shape (S,), optional
        How much each session matters, for the degrees of freedom; the loss of both without it.
    draws, seed, level
        As in `error_cut`; the jackknife is that of the difference itself.

    Returns
    -------
    Interval
        In the unit of the loss. Without value where there are no rows.

    Examples
    --------
    >>> paired_difference([1.0, 2.0], [2.0, 4.0], [1, 2], np.array([0, 1])).value
    -1.0
    """
    return paired_test(a, b, n, developer, weight=weight, draws=draws, seed=seed, level=level).difference


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    n: ArrayLike,
    developer: NDArray[np.intp],
    *,
    weight: ArrayLike | None = None,
    draws: int = 0,
    seed: int = 0,
    level: float = 0.95,
) -> PairedTest:
    """Give the `paired_difference`, whose parameters these are, with its p value.

    Examples
    --------
    >>> test = paired_test([1.0, 2.0, 3.0], [2.0, 2.5, 4.0], [1, 1, 1], np.array([0, 1, 2]))
    >>> round(test.difference.value, 6), test.p_value < 0.1
    (-0.833333, True)
    """
    first, second, rows = (np.asarray(x, dtype=np.float64) for x in (a, b, n))
    first = _but_rounding(first, second)
    if not rows.sum() > 0:
        return PairedTest(Interval(None, level=level), None)

    def difference(sums: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1])

    matters = first + second if weight is None else np.asarray(weight, dtype=np.float64)
    if not matters.sum() > 0:
        matters = rows
    problem = _Ratio(np.stack([first - second, rows], axis=1), matters, rows, difference, positive=False)
    session, owner = _by_both(problem, developer, draws, seed, level)
    found = headline(session, owner)
    if owner.se is None:
        return PairedTest(found, _p_value(session, problem.by(np.arange(rows.size))))
    # also below 20 developers: with 15 uneven ones this rejects a true null in 2 %, by session in 42 %
    found = replace(found, low=owner.low, high=owner.high, method=f"developer {owner.method}")
    return PairedTest(found, _p_value(owner, problem.by(developer)))


def effective_clusters(weight: ArrayLike) -> float:
    """Give how many clusters of equal weight would count as much, 1/sum w^2 with the weights adding up to 1.

    Parameters
    ----------
    weight : array_like, shape (G,)
        Not negative.

    References
    ----------
    .. [1] Kish (1965), Survey sampling. Carter, Schnepel and Steigerwald (2017) use it for clustered errors.

    Examples
    --------
    >>> effective_clusters([1, 1, 1, 1]), round(effective_clusters([97, 1, 1, 1]), 3)
    (4.0, 1.062)
    """
    w = np.asarray(weight, dtype=np.float64)
    return float(w.sum() ** 2 / np.sum(w**2))


def _but_rounding(a: Array, b: Array) -> Array:
    """Give ``a`` with the very value of ``b`` where the two differ by rounding only."""
    return np.where(np.abs(a - b) <= _EQUAL * (np.abs(a) + np.abs(b)), b, a)


def _columns(sums: ArrayLike) -> Array:
    values = np.asarray(sums, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def _by_both(
    problem: _Ratio, developer: NDArray[np.intp], draws: int, seed: int, level: float
) -> tuple[ClusterInterval, ClusterInterval]:
    """Give the estimate with its interval by session, and by developer."""
    if developer.shape != problem.weight.shape:
        raise TracestatError("skill: the developer of every session is needed")
    sessions = np.arange(problem.weight.size)
    by_session, by_developer = problem.by(sessions), problem.by(developer)
    return _interval(by_session, draws, seed, level), _interval(by_developer, draws, seed, level)


def _p_value(found: ClusterInterval, problem: _Ratio) -> float | None:
    """Give the two-sided p of a difference of 0."""
    if found.se is None:
        return None
    if found.value == 0:
        return 1.0
    return float(2 * stdtr(_freedom(problem), -abs(found.value) / found.se)) if found.se > 0 else 0.0


def _freedom(problem: _Ratio) -> float:
    return max(effective_clusters(problem.weight) - 1, 1.0)


def _interval(problem: _Ratio, draws: int, seed: int, level: float) -> ClusterInterval:
    sums, statistic, positive = problem.sums, problem.statistic, problem.positive
    total = sums.sum(axis=0)
    value, n_clusters = float(statistic(total)), problem.weight.size
    if draws:
        return percentile_interval(value, statistic(_weights(n_clusters, draws, seed) @ sums), n_clusters, level)
    without = statistic(total - sums)
    if positive:  # on the scale of the logarithm, where there is one
        without = np.log(np.where(without > 0, without, np.nan))
    middle = np.log(value) if positive and value > 0 else np.nan if positive else value
    usual = jackknife_interval(float(middle), without, level)
    if usual.se is None:
        return ClusterInterval(value, None, None, None, n_clusters, level, "CV3")
    half = float(stdtrit(_freedom(problem), 0.5 + level / 2)) * usual.se
    if not positive:
        return ClusterInterval(value, usual.se, value - half, value + half, n_clusters, level, "CV3")
    half = min(half, 50.0)  # the exponential must stay finite
    low, high = value * float(np.exp(-half)), value * float(np.exp(half))
    return ClusterInterval(value, value * usual.se, low, high, n_clusters, level, "CV3")


@lru_cache(maxsize=2)
def _weights(n_clusters: int, draws: int, seed: int) -> Array:
    return bootstrap_weights(n_clusters, draws, seed)


def _turned(ratio: Interval) -> Interval:
    """Turn the interval of a ratio r into that of 100 (1 - r)."""

    def flip(pair: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
        low, high = (None if bound is None else 100 * (1 - bound) for bound in pair)
        return high, low

    value = None if ratio.value is None else 100 * (1 - ratio.value)
    return Interval(
        value,
        *flip((ratio.low, ratio.high)),
        ratio.level,
        ratio.method,
        ratio.session and flip(ratio.session),
        ratio.developer and flip(ratio.developer),
    )
