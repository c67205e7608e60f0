"""Hazards shrunk level by level: each key leans on its parent as far as its own rows leave open.

Rows of one child are not independent evidence about the parent, so counts are discounted on the way up; without that
the one developer with the most rows would define a whole class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts
from tracestat.forecast.kappa import KappaFit, fit_kappa
from tracestat.resample import sum_by

__all__ = ["Shrinkage", "discounted", "fit_shrinkage", "root_hazards", "shrunk"]

Array = NDArray[np.float64]
_FIRST_KAPPA = 50.0
_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Shrinkage:
    """A fitted hierarchy.

    Attributes
    ----------
    counts : tuple of Counts
        Of every level, the root first, as discounted; the lowest level holds what was given.
    kappas : tuple of KappaFit
        Of every level below the root.
    hazards : tuple of ndarray, each of shape (n_l, J)
        Shrunk hazards of every level, the root first.
    """

    counts: tuple[Counts, ...]
    kappas: tuple[KappaFit, ...]
    hazards: tuple[Array, ...]


def root_hazards(counts: Counts) -> Array:
    """Give (d + 1/2)/(r + 1), shape (1, J)."""
    return np.asarray((counts.ended + 0.5) / (counts.reached + 1))


def shrunk(counts: Counts, prior: Array, kappa: float) -> Array:
    """Give (d + kappa q)/(r + kappa) of n children, ``prior`` being the q of each one's parent, shape (n, J)."""
    return np.asarray((counts.ended + kappa * prior) / (counts.reached + kappa))


def discounted(counts: Counts, parents: NDArray[np.intp], n_parents: int, kappa: float | None) -> Counts:
    """Add the counts of children up to their parents.

    Parameters
    ----------
    counts : Counts
        Of the n children.
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


def fit_shrinkage(parents: Sequence[NDArray[np.intp]], lowest: Counts, *, effective: bool = True) -> Shrinkage:
    """Fit the precision of every level and shrink the hazards from the root down.

    Parameters
    ----------
    parents : sequence of ndarray of int
        For each level below the root, the node of the level above of each node.
    lowest : Counts
        Of the last level.
    effective : bool
        Whether counts are discounted on the way up; raw counts are the baseline.

    Returns
    -------
    Shrinkage

    Notes
    -----
    Four rounds from kappa = 50: upward with the kappas there are, then downward level by level, kappa first.

    References
    ----------
    .. [1] Walker and Muliere (1997); Hjort (1990), Nonparametric Bayes estimators based on beta processes.
    """
    depth = len(parents)
    sizes = [1, *(p.size for p in parents)]
    kappas = [_FIRST_KAPPA] * depth
    fits: list[KappaFit] = []
    for _ in range(_ROUNDS if effective else 1):
        counts: list[Counts] = [lowest]
        for level in range(depth, 0, -1):
            kappa = kappas[level - 1] if effective else None
            counts.insert(0, discounted(counts[0], parents[level - 1], sizes[level - 1], kappa))
        hazards = [root_hazards(counts[0])]
        fits = []
        for level in range(1, depth + 1):
            own, prior = counts[level], hazards[-1][parents[level - 1]]
            fits.append(fit_kappa(prior.ravel(), own.ended.ravel(), own.reached.ravel()))
            hazards.append(shrunk(own, prior, fits[-1].kappa))
        kappas = [fit.kappa for fit in fits]
    return Shrinkage(tuple(counts), tuple(fits), tuple(hazards))
