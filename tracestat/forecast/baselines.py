"""Forecasts that stand without shrinkage: one key by itself, Continuum's rule of a hundred, and mixed curves.

All take hazards on the grid of the fold they are judged in. Hazards are cut to [1e-9, 1 - 1e-9], raw ones too: a bin in
which a key never ended would otherwise cost an infinite log score the first time that it does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.forecast.counts import Counts, count_exits
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.rows import PauseRows

__all__ = ["cut_curves", "key_counts", "mixed_curves", "raw_hazards", "rule_of_a_hundred", "value_places"]

Array = NDArray[np.float64]
LEAST = 1e-9
_ENOUGH = 100
_COLD_MEAN = 1.0


def cut_curves(grid: Grid, hazards: ArrayLike, alpha: float) -> Curves:
    """Make curves of hazards that are cut to [1e-9, 1 - 1e-9].

    Parameters
    ----------
    grid : Grid
    hazards : array_like, shape (n, J)
    alpha : float
        Exponent beyond the last edge.

    Examples
    --------
    >>> curves = cut_curves(Grid(np.array([0.0, 1.0, 2.0])), [[0.0, 1.0]], 1.0)
    >>> curves.log_survival.round(6).tolist()
    [[0.0, -0.0, -20.723266]]
    """
    return curves_of(grid, np.clip(np.asarray(hazards, dtype=np.float64), LEAST, 1 - LEAST), alpha)


def key_counts(rows: PauseRows, key: str, grid: Grid) -> Counts:
    """Count the ends and rows at risk of each value of a key, shape (values, J); unseen values have none."""
    bins = grid.place(rows.seconds)
    return count_exits(rows.codes[key], len(rows.names[key]), bins, grid.n_bins, rows.observed, np.ones(rows.size))


def raw_hazards(counts: Counts, instead: Array) -> Array:
    """Give d/r where r > 0, else the hazard ``instead``.

    Parameters
    ----------
    counts : Counts
        Of n keys.
    instead : ndarray, shape (J,) or (n, J)

    Returns
    -------
    ndarray, shape (n, J)

    Examples
    --------
    >>> raw_hazards(Counts(np.array([[1.0, 0.0]]), np.array([[4.0, 0.0]])), np.array([0.5, 0.5])).tolist()
    [[0.25, 0.5]]
    """
    known = counts.reached > 0
    return np.where(known, counts.ended / np.where(known, counts.reached, 1.0), instead)


def value_places(counts: Counts, codes: NDArray[np.int64], enough: int = 0) -> NDArray[np.intp]:
    """Find the curve of each row among the global one, at 0, and those of a key's values, from 1 on.

    Parameters
    ----------
    counts : Counts
        Of the values of the key.
    codes : ndarray of int, shape (N,)
    enough : int, default 0
        Rows that a value must have more of, or the global curve answers.

    Examples
    --------
    >>> two = Counts(np.array([[1.0], [0.0]]), np.array([[4.0], [0.0]]))
    >>> value_places(two, np.array([0, 1])).tolist()
    [1, 0]
    """
    n_rows = counts.reached[:, 0]
    return np.where(n_rows[codes] > enough, codes + 1, 0).astype(np.intp)


def rule_of_a_hundred(
    counts: Counts, everything: Array, codes: NDArray[np.int64], grid: Grid
) -> tuple[Array, NDArray[np.intp]]:
    """Answer as Continuum's cold start does, as it is published.

    With no more than a hundred durations in all, the law is exponential with mean 1 s; a tool with no more than a
    hundred of its own has the law of all tools; otherwise it has its own. The 101st observation switches, and a tool
    never seen has none.

    Parameters
    ----------
    counts : Counts
        Of the tools, over the rows to learn from.
    everything : ndarray, shape (1, J)
        Hazards of all tools together.
    codes : ndarray of int, shape (N,)
        Tool of each row to forecast.
    grid : Grid

    Returns
    -------
    hazards : ndarray, shape (n + 1, J)
        Where a tool answers nothing of its own, and at 0; then of each tool.
    place : ndarray of int, shape (N,)

    References
    ----------
    .. [1] Continuum (arXiv 2511.02230 v6), cold start, K = 100. The released code has another rule.

    Examples
    --------
    >>> tools = Counts(np.array([[50.0], [9.0]]), np.array([[101.0], [100.0]]))
    >>> hazards, place = rule_of_a_hundred(tools, np.array([[0.3]]), np.array([0, 1]), Grid(np.array([0.0, 1.0])))
    >>> hazards[place].round(3).tolist()
    [[0.495], [0.3]]
    """
    own = raw_hazards(counts, everything)
    if counts.reached[:, 0].sum() <= _ENOUGH:
        cold = -np.expm1(-np.diff(grid.edges) / _COLD_MEAN)
        return np.concatenate([cold[None], own]), np.zeros(codes.size, dtype=np.intp)
    return np.concatenate([everything, own]), value_places(counts, codes, _ENOUGH)


def mixed_curves(
    parents: Sequence[NDArray[np.intp]], counts: Sequence[Counts], everything: Array, grid: Grid, k: float, alpha: float
) -> Curves:
    """Mix the survival curve of a key with that of its parent, w S_k + (1 - w) S_p with w = n/(n + k), from the top.

    Parameters
    ----------
    parents : sequence of ndarray of int
        For each level below the root, the node of the level above of each node.
    counts : sequence of Counts
        Raw, of the root and of each level.
    everything : ndarray, shape (1, J)
        Hazards of the root.
    grid : Grid
    k : float
        Rows at which a key weighs as much as its parent.
    alpha : float
        Exponent beyond the last edge.

    Returns
    -------
    Curves
        Of all nodes, the root first, then level by level. Curves are mixed at the edges; between them they run as all
        others do. A key's own curve is that of its raw hazards, with its parent's where no row of its own reaches.

    Examples
    --------
    >>> grid, one = Grid(np.array([0.0, 1.0, 2.0])), Counts(np.array([[2.0, 0.0]]), np.array([[4.0, 2.0]]))
    >>> mixed = mixed_curves([np.array([0])], [one, one], np.array([[0.25, 0.25]]), grid, 4.0, 1.0)
    >>> np.exp(mixed.log_survival[1]).round(6).tolist()
    [1.0, 0.625, 0.53125]
    """
    above = cut_curves(grid, everything, alpha).log_survival
    made = [above]
    for parent, own in zip(parents, counts[1:], strict=True):
        prior = above[parent]
        hazards = -np.expm1(np.diff(prior, axis=1))
        curve = cut_curves(grid, raw_hazards(own, hazards), alpha).log_survival
        n = own.reached[:, :1]
        above = np.logaddexp(np.log(n / (n + k)) + curve, np.log(k / (n + k)) + prior)
        above[:, 0] = 0.0
        made.append(above)
    return Curves(grid, np.concatenate(made), alpha)
