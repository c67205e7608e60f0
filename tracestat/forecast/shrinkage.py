"""Hazards shrunk level by level: each key leans on its parent as far as its own rows leave open.

Rows of one child are not independent evidence about the parent, so counts are discounted on the way up; without that
the one developer with the most rows would define a whole class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts, SharedBins, count_exits, shared_bins
from tracestat.forecast.kappa import KappaFit, clipped, fit_kappa, nearby_kappa
from tracestat.resample import sum_by

__all__ = ["Shrinkage", "discounted", "fit_shrinkage", "root_hazards", "shrunk"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]
_FIRST_KAPPA = 50.0
_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Shrinkage:
    """A fitted hierarchy.

    Attributes
    ----------
    counts : tuple of Counts
        Of every level of keys, the root first, as discounted. With effective counts one more for the sessions below
        them, of shape (n, 0): how many groups there are. Their bins serve the fit only and are not laid out.
    kappas : tuple of KappaFit
        Of every level below the root; with effective counts the sessions come last.
    hazards : tuple of ndarray, each of shape (n_l, J)
        Shrunk hazards of every level of keys, the root first.
    """

    counts: tuple[Counts, ...]
    kappas: tuple[KappaFit, ...]
    hazards: tuple[Array, ...]


def root_hazards(counts: Counts) -> Array:
    """Give (d + 1/2)/(r + 1), of the shape of the counts."""
    return np.asarray((counts.ended + 0.5) / (counts.reached + 1))


def shrunk(counts: Counts, prior: Array, kappa: float) -> Array:
    """Give (d + kappa q)/(r + kappa) of n children, ``prior`` being the q of each one's parent, of the same shape."""
    return np.asarray((counts.ended + kappa * prior) / (counts.reached + kappa))


def discounted(counts: Counts, parents: NDArray[np.intp], n_parents: int, kappa: float | None) -> Counts:
    """Add the counts of children up to their parents.

    Parameters
    ----------
    counts : Counts
        Of the n children, of shape (n, J) or (n,).
    parents : ndarray of int, shape (n,)
    n_parents : int
    kappa : float or None
        Precision of the children: r rows of one child count as r (kappa + 1)/(kappa + r). None adds raw counts.

    Returns
    -------
    Counts
        Of the parents.

    Examples
    --------
    >>> one = Counts(np.array([[4.0]]), np.array([[10.0]]))
    >>> discounted(one, np.array([0]), 1, 5.0).reached.round(9).tolist()
    [[4.0]]
    """
    d, r = counts.ended, counts.reached
    if kappa is not None:
        weight = (kappa + 1) / (kappa + np.maximum(r, 1))
        d, r = d * weight, r * weight
    return Counts(sum_by(d, parents, n_parents), sum_by(r, parents, n_parents))


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The shared bins of a level: for each the one of the parent, and what rows that are alone in a child add to it."""

    shared: SharedBins
    parents: Places  # of the groups
    up: Places
    alone: Counts


def fit_shrinkage(
    parents: Sequence[Places],
    nodes: Sequence[Places],
    session: Places | None,
    bins: Places,
    observed: NDArray[np.bool_],
    n_bins: int,
    *,
    kappas: Sequence[float] | None = None,
) -> Shrinkage:
    """Fit the precision of every level and shrink the hazards from the root down.

    Parameters
    ----------
    parents : sequence of ndarray of int
        For each level of keys, the node of the level above of each node.
    nodes : sequence of ndarray of int, each of shape (N,)
        For each level of keys, the node of each row; every node has a row.
    session : ndarray of int, shape (N,), or None
        Session of each row: the level below the keys, by which their counts are discounted. None for raw counts, the
        baseline.
    bins : ndarray of int, shape (N,)
        Bin of each row's exit, ``n_bins`` for the open one.
    observed : ndarray of bool, shape (N,)
    n_bins : int
    kappas : sequence of float, optional
        Precisions to use in place of fitted ones, of every level below the root, the sessions' last.

    Returns
    -------
    Shrinkage

    Notes
    -----
    Four rounds from kappa = 50: upward with the kappas there are, then downward level by level, kappa first. Raw
    counts need one. Only bins that two rows of a node reach take part (`SharedBins`). In the others a row goes up
    undiscounted and its likelihood depends on no kappa of its level; it is added at the end.

    References
    ----------
    .. [1] Walker and Muliere (1997); Hjort (1990), Nonparametric Bayes estimators based on beta processes.
    """
    levels = _levels(parents, nodes, session, bins, observed, n_bins)
    discounts = kappas
    if session is None:
        discounts = None
    elif kappas is None:
        discounts, starts = [_FIRST_KAPPA] * (len(levels) - 1), None
        for _ in range(_ROUNDS - 1):
            discounts = starts = _around(levels, _upward(levels, discounts), starts)
    shared = _upward(levels, discounts)
    rows = [np.zeros(bins.size, dtype=np.intp), *nodes]
    counts = [_laid_out(*each, bins, observed, n_bins) for each in zip(levels, shared, rows, strict=False)]
    hazards = [root_hazards(counts[0])]
    prior = root_hazards(shared[0])
    fits: list[KappaFit] = []
    for depth, (level, own) in enumerate(zip(levels[1:], shared[1:], strict=True), start=1):
        prior = prior[level.up]
        if kappas is None:
            constant = _alone(level, hazards[depth - 1], n_bins)
            fits.append(fit_kappa(prior, own.ended, own.reached, constant=constant))
        else:
            fits.append(KappaFit(kappas[depth - 1], np.nan, (), "given"))
        prior = shrunk(own, prior, fits[-1].kappa)
        if depth < len(counts):
            hazards.append(shrunk(counts[depth], hazards[-1][level.parents], fits[-1].kappa))
    if session is not None:
        none = np.empty((levels[-1].parents.size, 0))
        counts.append(Counts(none, none))
    return Shrinkage(tuple(counts), tuple(fits), tuple(hazards))


def _levels(
    parents: Sequence[Places],
    nodes: Sequence[Places],
    session: Places | None,
    bins: Places,
    observed: NDArray[np.bool_],
    n_bins: int,
) -> list[_Level]:
    """Count the shared bins of the root, of every level of keys, and of the sessions."""
    top = np.zeros(1, dtype=np.intp)
    groups: list[NDArray[np.int64] | Places] = [np.zeros(bins.size, dtype=np.intp), *nodes]
    owners = [top, *parents]
    if session is not None:
        n_sessions = int(session.max(initial=-1)) + 1
        groups.append(groups[-1].astype(np.int64) * n_sessions + session)
    made: list[_Level] = []
    for place, group in enumerate(groups):
        shared = shared_bins(group, bins, observed, n_bins)
        of_group = owners[place] if place < len(owners) else (shared.group // max(n_sessions, 1)).astype(np.intp)
        up = np.empty(0, dtype=np.intp)
        if made:
            above = made[-1]
            owner, number = shared.places()
            up = above.shared.start[of_group[owner]] + number
            raw, together = above.shared.counts, discounted(shared.counts, up, above.alone.ended.size, None)
            alone = Counts(raw.ended - together.ended, raw.reached - together.reached)
            made[-1] = _Level(above.shared, above.parents, above.up, alone)
        made.append(_Level(shared, of_group, up, shared.counts))
    return made


def _upward(levels: Sequence[_Level], kappas: Sequence[float] | None) -> list[Counts]:
    """Give the counts of the shared bins of every level, discounted by the kappas; None for raw ones."""
    counts = [levels[-1].alone]
    for depth in range(len(levels) - 1, 0, -1):
        alone = levels[depth - 1].alone
        below = discounted(counts[0], levels[depth].up, alone.ended.size, None if kappas is None else kappas[depth - 1])
        counts.insert(0, Counts(alone.ended + below.ended, alone.reached + below.reached))
    return counts


def _around(levels: Sequence[_Level], counts: Sequence[Counts], starts: Sequence[float] | None) -> list[float]:
    """Give the kappas of one round, from the root down, close to those of the round before."""
    q = root_hazards(counts[0])
    kappas: list[float] = []
    for depth, own in enumerate(counts[1:]):
        prior = q[levels[depth + 1].up]
        kappas.append(nearby_kappa(prior, own.ended, own.reached, None if starts is None else starts[depth]))
        q = shrunk(own, prior, kappas[-1])
    return kappas


def _laid_out(
    level: _Level, shared: Counts, node: Places, bins: Places, observed: NDArray[np.bool_], n_bins: int
) -> Counts:
    """Give the counts of all bins of a level: raw ones, and where rows share a bin the discounted ones."""
    all_bins = count_exits(node, level.parents.size, bins, n_bins, observed, np.ones(bins.size))
    place = level.shared.places()
    all_bins.ended[place] = shared.ended
    all_bins.reached[place] = shared.reached
    return all_bins


def _alone(level: _Level, hazards: Array, n_bins: int) -> float:
    """Add the log likelihoods of the bins that one row of a group reaches alone; ``hazards`` are the level's above."""
    shared = level.shared
    some = shared.longest >= shared.n_shared
    of, first, last = level.parents[some], shared.n_shared[some], shared.longest[some]
    q = clipped(hazards)
    lasting = np.zeros((q.shape[0], n_bins + 1))
    np.cumsum(np.log1p(-q), axis=1, out=lasting[:, 1:])
    total = float(np.sum(lasting[of, last] - lasting[of, first]))
    closed = last < n_bins
    end = q[of[closed], last[closed]]
    return total + float(np.sum(np.log(np.where(shared.longest_observed[some][closed], end, 1 - end))))
