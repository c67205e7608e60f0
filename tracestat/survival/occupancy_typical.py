"""How sure it is what agents would hold had every pause lasted the median, or the mean, of its kind.

A draw changes not only whose pauses count but also how long a typical one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tracestat.resample import ClusterInterval, bootstrap_weights, percentile_interval, sum_by
from tracestat.survival.occupancy import paused_quantile
from tracestat.survival.occupancy_intervals import HeldIntervals, bare, grid_step, on_grid, quantiles_of_cells

__all__ = ["TypicalDraws", "typical_draws", "typical_intervals"]

Floats = NDArray[np.float64]
_RUN = 512  # neighbouring durations whose weights are summed at once


@dataclass(frozen=True, slots=True)
class TypicalDraws:
    """Pauses of one kind (of tools, or of people) by cluster, and how long a typical one is in each draw.

    Attributes
    ----------
    cluster, tokens : ndarray, shape (P,)
    n : ndarray, shape (G,)
        Pauses of each cluster.
    median, mean : ndarray, shape (B,)
        Seconds; 0 in a draw without such pauses.
    """

    cluster: NDArray[np.intp]
    tokens: Floats
    n: Floats
    median: Floats
    mean: Floats


def typical_draws(
    cluster: ArrayLike, seconds: ArrayLike, tokens: ArrayLike, clusters: int, *, draws: int, seed: int
) -> TypicalDraws:
    """Give median and mean of the pauses of each draw.

    Parameters
    ----------
    cluster : array_like of int, shape (P,)
    seconds, tokens : array_like, shape (P,)
    clusters : int
        G.
    draws, seed : int
        As given to :func:`typical_intervals`, which draws the same clusters.

    Examples
    --------
    >>> typical_draws([0, 0, 1], [1.0, 3.0, 3.0], [16, 16, 16], 2, draws=2, seed=3).mean.round(2)
    array([2.33, 2.  ])
    """
    code, held = np.asarray(cluster, dtype=np.intp), np.asarray(tokens, dtype=np.float64)
    time = np.asarray(seconds, dtype=np.float64)
    n = np.bincount(code, minlength=clusters).astype(np.float64)
    weights = bootstrap_weights(clusters, draws, seed) if draws else np.ones((0, clusters))
    many = np.einsum("bg,g->b", weights, n)
    total = np.einsum("bg,g->b", weights, sum_by(time, code, clusters))
    mean: Floats = np.divide(total, many, out=np.zeros_like(total), where=many > 0)
    order = np.argsort(time, kind="stable")
    median = _medians(code[order], time[order], weights) if time.size else np.zeros(draws)
    return TypicalDraws(code, held, n, median, mean)


def _medians(code: NDArray[np.intp], time: Floats, weights: Floats) -> Floats:
    """Give the lower median of ascending times in each draw; 0 in a draw without any.

    Weights are summed by runs of neighbours first, so that only the run in which a median lies is gone through.
    """
    P, G = time.size, weights.shape[1]
    run = np.arange(P) // _RUN
    runs = csr_array((np.ones(P), (code, run)), shape=(G, int(run[-1]) + 1))
    reached = np.cumsum(np.asarray(weights @ runs), axis=1)
    half = 0.5 * reached[:, -1]
    at = (reached < half[:, None]).sum(axis=1)
    out = np.zeros(half.size)
    for place in np.unique(at[half > 0]):
        rows = np.flatnonzero((at == place) & (half > 0))
        some = slice(place * _RUN, (place + 1) * _RUN)
        before = reached[rows, place - 1] if place else np.zeros(rows.size)
        within = before[:, None] + np.cumsum(weights[np.ix_(rows, code[some])], axis=1)
        out[rows] = time[some][(within < half[rows, None]).sum(axis=1)]
    return out


def typical_intervals(
    kinds: Sequence[tuple[TypicalDraws, Floats, bool]],
    busy: ArrayLike,
    agents: int,
    paused: tuple[float, float, float],
    tokens: tuple[float, float, float],
    *,
    draws: int,
    seed: int,
    level: float = 0.95,
) -> HeldIntervals:
    """Give percentile intervals of what agents hold when pauses of a kind all last equally long.

    Parameters
    ----------
    kinds : sequence of (TypicalDraws, ndarray of shape (B,), bool)
        Pauses of a kind, how long each lasts in each draw, and whether its tokens and agents count or it only takes
        time.
    busy : array_like, shape (G,)
        Seconds of each cluster without pauses.
    agents : int
    paused, tokens : tuple of float
        The estimates: mean, median and 99 % point over time.
    draws, seed : int
        Bootstrap samples; below 2 there are no bounds.
    level : float
    """
    rest = np.asarray(busy, dtype=np.float64)
    G = rest.size
    if G < 2 or draws < 2:
        return bare(paused, tokens, G, level)
    weights = bootstrap_weights(G, draws, seed)
    length = np.einsum("bg,g->b", weights, rest)
    share, first, second = np.zeros(draws), np.zeros(draws), np.zeros(draws)
    for kind, each, counts in kinds:
        time = each * np.einsum("bg,g->b", weights, kind.n)
        length = length + time
        if counts:
            share = share + time
            for power, sums in ((1, first), (2, second)):
                sums += each * np.einsum("bg,g->b", weights, sum_by(kind.tokens**power, kind.cluster, G))
    length = np.where(length > 0, length, np.nan)
    share = np.minimum(share / length, 1.0)
    mean = agents * first / length
    largest = max((float(k.tokens.max(initial=0.0)) for k, _, counts in kinds if counts), default=0.0)
    finite = np.isfinite(length)
    if not finite.all() or largest <= 0:
        return bare(paused, tokens, G, level)
    step = grid_step(first / length, second / length, largest, agents)
    grids = [(on_grid(k.cluster, k.tokens, np.ones(k.tokens.size), step, G), each) for k, each, c in kinds if c]

    def cells(some: slice) -> Floats:
        time: Floats = sum(each[some, None] * np.asarray(weights[some] @ grid) for grid, each in grids)
        return time / length[some, None]

    held = quantiles_of_cells(cells, draws, agents, step)
    counts_at = [paused_quantile(share, agents, q).astype(np.float64) for q in (0.5, 0.99)]

    def three(values: tuple[float, float, float], drawn: Sequence[Floats]) -> tuple[ClusterInterval, ...]:
        return tuple(percentile_interval(v, d, G, level) for v, d in zip(values, drawn, strict=True))

    a, b = three(paused, [agents * share, *counts_at]), three(tokens, [mean, held[:, 0], held[:, 1]])
    return HeldIntervals((a[0], a[1], a[2]), (b[0], b[1], b[2]))
