"""Several hierarchies asked about one pause: their hazards are pooled on the log-odds scale.

What runs and whose it is, what the last pauses of the same command took, what the last one of the session took: each
says how far the hazard lies above or below that of the tool class. These statements are added up, each with a weight
that held-out rows decide, since they partly say the same. A mixture of curves would be wider than any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.forecasts import CurveForecast
from tracestat.forecast.grid import Grid
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.splits import developer_folds
from tracestat.forecast.tree import ForecastTree, fit_tree

__all__ = ["Pool", "fit_pool", "fit_weights", "hazards_of_odds", "log_odds", "pooled_forecast", "pooled_hazards"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_EDGE = 1e-9
_MOST_WEIGHT = 1.5
_FOLDS = 5
_FEW_SESSIONS = 10
# above, one fold of developers is held out instead of five in turn, and some of the rows decide the weights
_MANY_ROWS, _ROWS_FOR_WEIGHTS = 50_000, 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Hierarchies of one provider and how far each is believed.

    Attributes
    ----------
    base : ForecastTree
        Hierarchy that the others are compared with.
    members : tuple of ForecastTree
    seen, unseen : tuple of float
        Weight of each member for a developer that was seen and for one that was not; the base has what is left of 1,
        which may be below 0.
    developers : ndarray of int
        Numbers of those seen.
    held_out : tuple of (int, int)
        Rows that decided ``seen`` and ``unseen``; 0 where the weights are equal ones for want of rows.
    """

    base: ForecastTree
    members: tuple[ForecastTree, ...]
    seen: tuple[float, ...]
    unseen: tuple[float, ...]
    developers: NDArray[np.intp]
    held_out: tuple[int, int]


def log_odds(hazards: Array) -> Array:
    """Give ln q/(1 - q), q cut to [1e-9, 1 - 1e-9].

    Examples
    --------
    >>> log_odds(np.array([0.5])).tolist()
    [0.0]
    """
    q = np.clip(hazards, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(q) - np.log1p(-q))


def pooled_hazards(base: Array, members: Sequence[Array], weights: Sequence[float]) -> Array:
    """Pool hazards: the log odds are those of the base plus the weighted differences of the members from it.

    Parameters
    ----------
    base : ndarray, shape (n, J)
    members : sequence of ndarray, each of shape (n, J)
    weights : sequence of float
        One per member.

    Returns
    -------
    ndarray, shape (n, J)
        In [1e-9, 1 - 1e-9].

    References
    ----------
    .. [1] Genest and Zidek (1986), Combining probability distributions: the logarithmic pool.

    Examples
    --------
    One member with all the weight answers alone; two that agree and count in full are believed twice.

    >>> base, member = np.array([[0.5]]), np.array([[0.8]])
    >>> pooled_hazards(base, [member], [1.0]).round(9).tolist()
    [[0.8]]
    >>> pooled_hazards(base, [member, member], [1.0, 1.0]).round(6).tolist()
    [[0.941176]]
    """
    start = log_odds(base)
    total = start.copy()
    for member, weight in zip(members, weights, strict=True):
        total += weight * (log_odds(member) - start)
    return hazards_of_odds(total)


def hazards_of_odds(odds: Array) -> Array:
    """Give q of ln q/(1 - q), cut to [1e-9, 1 - 1e-9].

    Examples
    --------
    >>> hazards_of_odds(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(np.clip(1 / (1 + np.exp(-odds)), _EDGE, 1 - _EDGE))


def fit_weights(
    base: Array, members: Sequence[Array], bins: NDArray[np.intp], observed: NDArray[np.bool_]
) -> tuple[float, ...]:
    """Choose the weights by the likelihood of rows that took no part in the hazards.

    Parameters
    ----------
    base : ndarray, shape (N, J)
        Hazards of each row.
    members : sequence of ndarray, each of shape (N, J)
    bins : ndarray of int, shape (N,)
        Bin of the exit, J for the open one.
    observed : ndarray of bool, shape (N,)

    Returns
    -------
    tuple of float
        One per member, in [0, 1.5]. Concave in the weights, so there is one best.

    Examples
    --------
    A member that knows no more than the base gets what it had; one that is right about every row gets all there is:

    >>> base = np.full((4, 1), 0.5)
    >>> sure = np.array([[0.9], [0.9], [0.1], [0.1]])
    >>> fit_weights(base, [sure], np.array([0, 0, 1, 1]), np.ones(4, dtype=bool))
    (1.5,)
    """
    n_bins = base.shape[1]
    number = np.arange(n_bins)
    ends_here = (number == bins[:, None]) & observed[:, None]
    reached = (number < bins[:, None]) | ends_here
    start = log_odds(base[reached])
    differences = np.stack([log_odds(member[reached]) - start for member in members], axis=1)
    ended = ends_here[reached].astype(np.float64)

    def loss(weights: Array) -> tuple[float, Array]:
        odds = start + differences @ weights
        value = float(np.sum(np.logaddexp(0.0, odds) - ended * odds))
        return value, np.asarray(differences.T @ (1 / (1 + np.exp(-odds)) - ended))

    n = len(members)
    first = np.full(n, 1 / n)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(0.0, _MOST_WEIGHT)] * n)
    return tuple(round(float(w), 6) for w in found.x)


def fit_pool(
    rows: PauseRows,
    base: Sequence[str],
    paths: Sequence[Sequence[str]],
    grid: Grid,
    *,
    trees: Sequence[ForecastTree] | None = None,
) -> Pool:
    """Fit the hierarchies on all rows, and their weights on held-out sessions and held-out developers.

    Parameters
    ----------
    rows : PauseRows
        Of one provider.
    base : sequence of str
        Keys of the base.
    paths : sequence of sequence of str
        Keys of each member.
    grid : Grid
    trees : sequence of ForecastTree, optional
        Members that are fitted already, in the order of ``paths`` from the first.

    Returns
    -------
    Pool

    Notes
    -----
    For the weights the hierarchies are made again without a fifth of the sessions, and without a fifth of the
    developers, five times in turn, with the precisions of the full fit. With more than 50,000 rows both are left out
    at once, and once. Ten sessions and two developers are needed; else the members share the weight equally.
    """
    made = list(trees or ())
    made += [fit_tree(rows, path, grid) for path in paths[len(made) :]]
    first = fit_tree(rows, base, grid)
    every = [first, *made]
    equal = tuple(round(1 / len(made), 6) for _ in made)
    judged: tuple[list[_Judged], list[_Judged]] = ([], [])
    for out, *judges in _held_out(rows):
        rest = rows.take(~out)
        again = [fit_tree(rest, t.keys, grid, kappas=[fit.kappa for fit in t.shrinkage.kappas]) for t in every]
        for found, judge in zip(judged, judges, strict=True):
            place = np.flatnonzero(judge)
            if place.size:
                some = rows.take(place[:: -(-place.size // _ROWS_FOR_WEIGHTS)])
                found.append(_Judged(some, [_laid_out(tree)[tree.place(some)] for tree in again]))
    seen, unseen = (_weights(some, grid) for some in judged)
    return Pool(
        base=first,
        members=tuple(made),
        seen=seen or equal,
        unseen=unseen or seen or equal,
        developers=np.unique(rows.developer),
        held_out=(sum(j.rows.size for j in judged[0]), sum(j.rows.size for j in judged[1])),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Held-out rows, and their hazards by each hierarchy, the base first."""

    rows: PauseRows
    hazards: list[Array]


def _held_out(rows: PauseRows) -> Iterator[tuple[Mask, Mask, Mask]]:
    """Give the rows to leave out in turn, those of them by known developers, and those by unknown ones."""
    numbers, place = np.unique(rows.session, return_inverse=True)
    nobody = np.zeros(rows.size, dtype=np.bool_)
    sessions = place % _FOLDS == 0 if numbers.size >= _FEW_SESSIONS else nobody
    developers = [fold.test for fold in developer_folds(rows, _FOLDS)]
    if rows.size > _MANY_ROWS and developers:
        some = developers[0]
        yield sessions | some, sessions & ~some, some
        return
    if 0 < np.count_nonzero(sessions) < rows.size:
        yield sessions, sessions, nobody
    for some in developers:
        yield some, nobody, some


def _weights(judged: Sequence[_Judged], grid: Grid) -> tuple[float, ...] | None:
    """Fit weights on held-out rows; None without any."""
    if not judged:
        return None
    base, *members = (np.concatenate(each) for each in zip(*(some.hazards for some in judged), strict=True))
    bins = np.concatenate([grid.place(some.rows.seconds) for some in judged])
    observed = np.concatenate([some.rows.observed for some in judged])
    return fit_weights(base, members, bins, observed)


def _laid_out(tree: ForecastTree) -> Array:
    """Give the hazards of all nodes, in the order of `ForecastTree.place`."""
    return np.concatenate(tree.shrinkage.hazards)


def pooled_forecast(name: str, pool: Pool, rows: PauseRows) -> CurveForecast:
    """Forecast rows by a pool, one curve for each combination of nodes that occurs.

    Parameters
    ----------
    name : str
        Of the method.
    pool : Pool
    rows : PauseRows
        Their codes and developers have the meaning of the rows that were fitted.
    """
    trees = (pool.base, *pool.members)
    known = np.isin(rows.developer, pool.developers)
    places = [tree.place(rows) for tree in trees]
    code = known.astype(np.int64)
    for place in places:
        code = code * (int(place.max(initial=0)) + 1) + place
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    hazards = [_laid_out(tree)[where[first]] for tree, where in zip(trees, places, strict=True)]
    pooled = np.empty_like(hazards[0])
    for each, weights in ((known[first], pool.seen), (~known[first], pool.unseen)):
        pooled[each] = pooled_hazards(hazards[0][each], [h[each] for h in hazards[1:]], weights)
    curves: Curves = curves_of(pool.base.grid, pooled, pool.base.alpha)
    return CurveForecast(name, curves, place.astype(np.intp))
