"""Does progress tell how many rounds are left? The memoryfulness of a number of rounds, with clustered intervals.

A program (a session, or a request of one) has N rounds. Memoryfulness is the negative correlation between the rounds
done and the rounds left, over all rounds of all programs: 1 where all programs are equally long, 0 where N is
geometric, negative where having come far makes more rounds ahead likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, bootstrap_weights, percentile_interval, sum_by
from tracestat.results import Interval
from tracestat.survival.headline import headline
from tracestat.survival.proportion import clustered_share
from tracestat.survival.shares import ratio_jackknife

__all__ = [
    "MemoryfulnessFit",
    "clustered_memoryfulness",
    "memoryfulness",
    "memoryfulness_of_sums",
    "rounds_left",
    "turn_quantile",
    "turn_survival",
]

Floats = NDArray[np.float64]
_CHUNK = 4_000_000  # weights held at once: 32 MB


def memoryfulness(turns: ArrayLike, n: ArrayLike | None = None) -> float | None:
    """Give the memoryfulness of a law of the number of rounds.

    Parameters
    ----------
    turns : array_like, shape (P,)
        Rounds N of each program, at least 1.
    n : array_like, shape (P,), optional
        Programs with so many rounds, or the probability of that; default 1 each.

    Returns
    -------
    float or None
        In (-0.5, 1]; None where every program has one round, or there is none.

    Raises
    ------
    TracestatError
        A number of rounds below 1, or a negative count.

    Notes
    -----
    With p_N proportional to n N, m and V the mean and variance of N under p, and A = E_p N^2 - 1,
    ``eta = (A - 3 V) / (A + 3 V)``. This is ``-Corr(k, N - k)`` over the pooled pairs (program, k = 1..N): within one
    program k is uniform, so that ``Var k = Var (N - k) = A / 12 + V / 4`` and ``Cov(k, N - k) = V / 4 - A / 12``.
    Averaged over programs the correlation would always be 1.

    References
    ----------
    .. [1] Continuum (2025), arXiv 2511.02230, which defines the coefficient.

    Examples
    --------
    >>> round(memoryfulness([2, 3, 7]), 12)
    0.358070500928
    >>> memoryfulness(range(1, 21)), memoryfulness([5, 5]), memoryfulness([1, 1])
    (0.5, 1.0, None)
    """
    N, count = _checked(turns, n)
    eta = float(memoryfulness_of_sums(_sums(N, count).sum(axis=0)))
    return eta if np.isfinite(eta) else None


def memoryfulness_of_sums(sums: ArrayLike) -> Floats:
    """Give the memoryfulness from sums of powers of N.

    Parameters
    ----------
    sums : array_like, shape (..., 3)
        Sums of N, N^2 and N^3 over programs.

    Returns
    -------
    ndarray, shape (...)
        NaN where every N is 1, or there is no program.

    Examples
    --------
    >>> float(memoryfulness_of_sums([6.0, 18.0, 66.0]))  # 1, 1, 4
    0.25
    """
    first, second, third = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = third / first
        spread = 3 * (square - (second / first) ** 2)
        bottom = square - 1 + spread
        eta: Floats = np.where(bottom > 0, (square - 1 - spread) / bottom, np.nan)
    return eta


def _sums(N: Floats, count: Floats) -> Floats:
    return count[:, None] * np.stack([N, N**2, N**3], axis=1)


def _checked(turns: ArrayLike, n: ArrayLike | None) -> tuple[Floats, Floats]:
    N = np.asarray(turns, dtype=np.float64)
    count = np.ones_like(N) if n is None else np.asarray(n, dtype=np.float64)
    if N.ndim != 1 or N.shape != count.shape or not bool(np.isfinite(N).all()) or bool((N < 1).any()):
        raise TracestatError("memoryfulness: each program needs a number of rounds, at least 1")
    if not bool(np.isfinite(count).all()) or bool((count < 0).any()):
        raise TracestatError("memoryfulness: counts of programs must not be negative")
    return N, count


@dataclass(frozen=True, slots=True)
class MemoryfulnessFit:
    """The memoryfulness of one group of programs.

    Attributes
    ----------
    session, developer : ClusterInterval
        The estimate with its bootstrap interval by each clustering.
    shift : float or None
        Mean of the draws by session less the estimate. In heavy tails the estimate lies too near 0, and the draws
        show a part of that; None where no draw has an estimate.
    longest_share : float
        Share of the longest program in the sum of N^3, on which the estimate rests.
    """

    session: ClusterInterval
    developer: ClusterInterval
    shift: float | None
    longest_share: float

    @property
    def interval(self) -> Interval:
        """Estimate and bounds, the headline first."""
        return headline(self.session, self.developer)


def clustered_memoryfulness(
    turns: ArrayLike,
    n: ArrayLike,
    session: ArrayLike,
    developer: ArrayLike,
    *,
    draws: int = 1_000,
    seed: int = 0,
    level: float = 0.95,
) -> MemoryfulnessFit | None:
    """Estimate the memoryfulness, with percentile bootstrap intervals over sessions and over developers.

    Parameters
    ----------
    turns, n : array_like, shape (R,)
        Number of rounds, and programs with so many, of each row.
    session, developer : array_like of int, shape (R,)
        Codes from 0 without gaps of the clusters of each row. All requests of a session are drawn together.
    draws : int
        Bootstrap samples of each clustering.
    seed : int
        Seed of the draws.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    MemoryfulnessFit or None
        None where every program has one round, or there is none.

    Notes
    -----
    The estimate uses third moments. Where the law of N has a heavy tail a sample holds too few of the longest programs:
    the estimate is then biased towards 0, and the interval, made of the same sample, does not reach far enough.

    Examples
    --------
    >>> N = np.tile([1, 2, 3, 6, 20], 12)
    >>> fit = clustered_memoryfulness(N, np.ones(60), np.arange(60), np.arange(60) // 2, draws=200)
    >>> fit.interval.low < memoryfulness(N) == fit.interval.value < fit.interval.high
    True
    >>> fit.interval.method
    'developer bootstrap'
    """
    N, count = _checked(turns, n)
    codes = [np.asarray(code, dtype=np.intp) for code in (session, developer)]
    if any(code.shape != N.shape for code in codes):
        raise TracestatError("memoryfulness: each row needs a session and a developer")
    total = _sums(N, count)
    value = float(memoryfulness_of_sums(total.sum(axis=0)))
    if not np.isfinite(value):
        return None
    intervals, shift = [], None
    for number, code in enumerate(codes):
        n_clusters = int(code.max(initial=-1)) + 1
        found = _replicates(sum_by(total, code, n_clusters), draws, seed) if draws else np.empty(0)
        intervals.append(percentile_interval(value, found, n_clusters, level))
        finite = found[np.isfinite(found)]
        if number == 0 and finite.size:
            shift = float(finite.mean()) - value
    longest = float(N[count > 0].max()) ** 3 / float(total[:, 2].sum())
    return MemoryfulnessFit(intervals[0], intervals[1], shift, longest)


def _replicates(sums: Floats, draws: int, seed: int) -> Floats:
    """Give the estimate of each bootstrap sample; the weights are made in pieces, since there may be many clusters."""
    n_clusters = sums.shape[0]
    most = max(1, _CHUNK // n_clusters)
    sizes = [min(most, draws - start) for start in range(0, draws, most)]
    seeds = np.random.SeedSequence(seed).generate_state(len(sizes))
    parts = [
        memoryfulness_of_sums(bootstrap_weights(n_clusters, size, int(own)) @ sums)
        for size, own in zip(sizes, seeds, strict=True)
    ]
    return np.concatenate(parts)


def turn_quantile(turns: ArrayLike, n: ArrayLike, q: float) -> int | None:
    """Give the smallest number of rounds that a share q of the programs does not exceed; None without programs.

    Examples
    --------
    >>> turn_quantile([3, 1, 2, 10], [1, 1, 1, 1], 0.5), turn_quantile([], [], 0.5)
    (2, None)
    """
    N, count = _checked(turns, n)
    if not count.sum() > 0:
        return None
    order = np.argsort(N)
    reached = np.cumsum(count[order]) / count.sum()
    return int(N[order][int(np.searchsorted(reached, q - 1e-12))])


def turn_survival(
    turns: ArrayLike, n: ArrayLike, session: ArrayLike, developer: ArrayLike, at: Sequence[int]
) -> list[tuple[Interval, int]]:
    """Give the share of programs that have at least so many rounds.

    Parameters
    ----------
    turns, n, session, developer : array_like, shape (R,)
        As for :func:`clustered_memoryfulness`.
    at : sequence of int
        Numbers of rounds.

    Returns
    -------
    list of (Interval, int)
        For each the share with its clustered interval, and how many programs that are.

    Examples
    --------
    >>> points = turn_survival([1, 4, 9], [1, 1, 2], [0, 1, 2], [0, 1, 1], [1, 5])
    >>> [(share.value, many) for share, many in points]
    [(1.0, 4), (0.5, 2)]
    """
    N, count = _checked(turns, n)
    clusters = [np.asarray(code, dtype=np.intp) for code in (session, developer)]
    wholes = [sum_by(count, code, int(code.max(initial=-1)) + 1) for code in clusters]
    out = []
    for least in at:
        reached = np.where(least <= N, count, 0.0)
        both = [
            clustered_share(sum_by(reached, code, whole.size), whole)
            for code, whole in zip(clusters, wholes, strict=True)
        ]
        out.append((_headline(both), round(float(reached.sum()))))
    return out


def rounds_left(
    turns: ArrayLike, n: ArrayLike, session: ArrayLike, developer: ArrayLike, after: int
) -> tuple[Interval, int]:
    """Give the mean number of rounds left of the programs that have had ``after`` rounds and may go on.

    Parameters
    ----------
    turns, n, session, developer : array_like, shape (R,)
        As for :func:`clustered_memoryfulness`.
    after : int
        Rounds done.

    Returns
    -------
    Interval
        Mean of N - after over the programs with at least ``after`` rounds, with its jackknife interval.
    int
        How many programs that are.

    Examples
    --------
    >>> rounds_left([1, 4, 9], [1, 1, 1], [0, 1, 2], [0, 1, 2], 3)[0].value
    3.5
    """
    N, count = _checked(turns, n)
    reached = np.where(after <= N, count, 0.0)
    both = []
    for values in (session, developer):
        code = np.asarray(values, dtype=np.intp)
        n_clusters = int(code.max(initial=-1)) + 1
        left = sum_by(reached * (N - after), code, n_clusters)
        both.append(ratio_jackknife(left, sum_by(reached, code, n_clusters)))
    interval = _headline(both)
    low, high = (None if bound is None else max(bound, 0.0) for bound in (interval.low, interval.high))
    return Interval(
        interval.value, low, high, interval.level, interval.method, interval.session, interval.developer
    ), round(float(reached.sum()))


def _headline(both: Sequence[ClusterInterval | None]) -> Interval:
    session, developer = both
    return Interval(None) if session is None or developer is None else headline(session, developer)
