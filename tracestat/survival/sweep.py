"""What an ideal prefix cache would serve that evicts after a time-out, and which time-out the deployed one is worth.

A step hits in full when the time before it was at most the time-out, and misses in full otherwise. Everything is a
ratio of sums per session, so its uncertainty is that of clusters; this file knows no trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, bootstrap_weights, percentile_interval, sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.survival.headline import headline
from tracestat.survival.shares import ratio_jackknife

__all__ = ["SweepPoint", "SweepSums", "clustered_ratio", "effective_timeout", "sweep_at"]

Floats = NDArray[np.float64]
_DRAWS = 500


def clustered_ratio(part: ArrayLike, whole: ArrayLike, developer: NDArray[np.intp], *, share: bool = False) -> Interval:
    """Give a ratio of sums with its intervals by session and by developer, the headline first.

    Parameters
    ----------
    part, whole : array_like, shape (S,)
        Sums of each session; not negative.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps.
    share : bool
        Cut bounds at 1 where the estimate is at most 1; at 0 they are cut in any case.

    Returns
    -------
    Interval
        Not available where the denominators add up to 0.

    Examples
    --------
    >>> found = clustered_ratio([1.0, 3.0, 2.0], [2.0, 4.0, 4.0], np.array([0, 0, 1]), share=True)
    >>> found.value, found.method
    (0.6, 'session CV3')
    """
    above, below = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    n = int(developer.max(initial=-1)) + 1
    both = ratio_jackknife(above, below), ratio_jackknife(sum_by(above, developer, n), sum_by(below, developer, n))
    if both[0] is None or both[1] is None:
        return NOT_AVAILABLE
    return headline(*(_cut(one, share) for one in both if one is not None))


def _cut(interval: ClusterInterval, share: bool) -> ClusterInterval:
    if interval.low is None or interval.high is None:
        return interval
    top = 1.0 if share and interval.value <= 1 else np.inf
    return ClusterInterval(
        interval.value,
        interval.se,
        max(interval.low, min(0.0, interval.value)),
        min(interval.high, top),
        interval.n_clusters,
        interval.level,
        interval.method,
    )


@dataclass(frozen=True, slots=True)
class SweepSums:
    """Sums of each session, by where the idle time before a step lies among K ascending time-outs.

    Attributes
    ----------
    timeouts : ndarray, shape (K,)
        Seconds.
    n, idle_seconds, cacheable, active_idle : ndarray, shape (S, K + 1)
        Steps, their idle time, the tokens that a cache could serve them, and the idle time that counts for the share of
        active time; column k holds the idle times in (timeouts[k-1], timeouts[k]], the last one those beyond.
    prefix, append, fresh, tokens : ndarray, shape (S,)
        Tokens of the steps: served by the deployed cache, appended, new to everybody, and all.
    generation : ndarray, shape (S,)
        Seconds in which the model wrote.
    developer : ndarray of int, shape (S,)
        From 0 without gaps.
    """

    timeouts: Floats
    n: Floats
    idle_seconds: Floats
    cacheable: Floats
    active_idle: Floats
    prefix: Floats
    append: Floats
    fresh: Floats
    tokens: Floats
    generation: Floats
    developer: NDArray[np.intp]

    def __post_init__(self) -> None:
        shape = (self.tokens.size, self.timeouts.size + 1)
        for name in ("n", "idle_seconds", "cacheable", "active_idle"):
            if getattr(self, name).shape != shape:
                raise TracestatError(f"sweep: {name} has shape {getattr(self, name).shape}, not {shape}")


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One time-out: hit rate, suspended over active storage time, prefilled over fresh tokens, share of active time."""

    timeout_seconds: float
    hit_rate: Interval
    storage_ratio: Interval
    amplification: Interval
    active_ratio: Interval


def sweep_at(sums: SweepSums, timeout: float) -> SweepPoint:
    """Give what an ideal cache with this time-out does.

    Parameters
    ----------
    sums : SweepSums
    timeout : float
        One of its time-outs.

    Returns
    -------
    SweepPoint
        ``hit_rate = sum_{g <= tau} cacheable / sum tokens``; ``storage_ratio = sum min(g, tau) / sum generation``;
        ``amplification = (sum fresh + sum_{g > tau} cacheable) / sum fresh``; ``active_ratio = generation / (generation
        + sum_{g <= tau} g)``.

    Raises
    ------
    TracestatError
        The time-out is not on the grid.

    Examples
    --------
    >>> one = np.ones((2, 2))
    >>> sums = SweepSums(np.array([5.0]), one, 3 * one, 10 * one, one, *(np.ones(2),) * 3, np.full(2, 20.0),
    ...                  np.full(2, 4.0), np.arange(2))
    >>> point = sweep_at(sums, 5.0)
    >>> point.hit_rate.value, point.storage_ratio.value, point.amplification.value, point.active_ratio.value
    (0.5, 2.0, 11.0, 0.8)
    """
    place = np.flatnonzero(sums.timeouts == timeout)
    if not place.size:
        raise TracestatError(f"sweep: a time-out of {timeout:g} s is not on the grid")
    upto, after = slice(0, int(place[0]) + 1), slice(int(place[0]) + 1, None)
    held = sums.idle_seconds[:, upto].sum(axis=1) + timeout * sums.n[:, after].sum(axis=1)
    missed = sums.cacheable[:, after].sum(axis=1)
    idle = sums.active_idle[:, upto].sum(axis=1)
    who = sums.developer
    return SweepPoint(
        timeout,
        clustered_ratio(sums.cacheable[:, upto].sum(axis=1), sums.tokens, who, share=True),
        clustered_ratio(held, sums.generation, who),
        clustered_ratio(sums.fresh + missed, sums.fresh, who),
        clustered_ratio(sums.generation, sums.generation + idle, who, share=True),
    )


def effective_timeout(sums: SweepSums, *, draws: int = _DRAWS, seed: int = 0) -> Interval | None:
    """Give the time-out at which the ideal cache hits as often as the deployed one.

    Parameters
    ----------
    sums : SweepSums
    draws : int
        Bootstrap samples of sessions, and of developers.
    seed : int

    Returns
    -------
    Interval or None
        The time-out of the grid whose hit rate is nearest, with the percentile intervals of a cluster bootstrap (a
        bound at an end of the grid may lie beyond it); None where the deployed hit rate lies outside the grid's.

    Examples
    --------
    >>> cells = np.array([[1.0, 0, 1], [0, 1, 0]])
    >>> sums = SweepSums(np.array([1.0, 10.0]), cells, cells, 10 * cells, cells, np.array([12.0, 8]), np.ones(2),
    ...                  np.ones(2), np.array([20.0, 10]), np.ones(2), np.arange(2))
    >>> effective_timeout(sums).value
    10.0
    """
    served = np.cumsum(sums.cacheable[:, :-1], axis=1)
    total = float(sums.tokens.sum())
    if not total > 0:
        return None
    deployed = float(sums.prefix.sum()) / total
    ideal = served.sum(axis=0) / total
    if not ideal[0] <= deployed <= ideal[-1]:
        return None
    value = float(sums.timeouts[np.argmin(np.abs(ideal - deployed))])
    n_developers = int(sums.developer.max(initial=-1)) + 1
    by_developer = tuple(sum_by(part, sums.developer, n_developers) for part in (served, sums.tokens, sums.prefix))
    both = []
    for each, tokens, prefix in ((served, sums.tokens, sums.prefix), by_developer):
        weights = bootstrap_weights(tokens.size, draws, seed)
        gap = np.abs(weights @ each - (weights @ prefix)[:, None])
        both.append(percentile_interval(value, sums.timeouts[gap.argmin(axis=1)], int((tokens > 0).sum())))
    return headline(*both)
