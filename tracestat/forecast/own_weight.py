"""How much of a shrunk curve comes from a key's own rows, and how much from the keys above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.tree import ForecastTree

__all__ = ["OwnWeights", "own_weights"]

Array = NDArray[np.float64]
_HALF = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class OwnWeights:
    """Weights of the nodes of a tree, in the order of its curves.

    Attributes
    ----------
    weight : ndarray, shape (n,)
        Of a node's own rows in its curve, 0 to 1; 1 for the root.
    used : ndarray of int, shape (n,)
        Lowest level whose rows (those of the node's ancestor there, the node's own among them) carry at least half of
        its curve; 0 is the root.
    """

    weight: Array
    used: NDArray[np.intp]


def own_weights(tree: ForecastTree) -> OwnWeights:
    """Weigh own rows against those of the keys above, for every node of a tree.

    Parameters
    ----------
    tree : ForecastTree

    Returns
    -------
    OwnWeights

    Notes
    -----
    In bin j the hazard of a node is its own with weight ``r_j / (r_j + kappa)``, r the rows that reach the bin (as they
    count for the fit), and that of its parent with the rest. The weight of the node is the mean of this over the
    durations of its curve: over bins, each counted by the probability to end in it. The open bin has no
    rows of its own in any node but the root.
    """
    levels = len(tree.keys) + 1
    hazards = np.concatenate(tree.shrinkage.hazards[:levels])
    survival = np.cumprod(1 - np.minimum(hazards, 1.0), axis=1)
    ends = np.concatenate([np.ones((len(hazards), 1)), survival[:, :-1]], axis=1) - survival
    starts = [*tree.starts, len(hazards)]
    weight, used = np.ones(len(hazards)), np.zeros(len(hazards), dtype=np.intp)
    # of each level from the first below the root: what the keys above it carry in each bin
    above: list[Array] = []
    for depth in range(1, levels):
        here = slice(starts[depth], starts[depth + 1])
        reached = tree.shrinkage.counts[depth].reached
        own = reached / (reached + tree.shrinkage.kappas[depth - 1].kappa)
        parents = tree.nesting.levels[depth - 1].parents
        above = [*(rest[parents] * (1 - own) for rest in above), 1 - own]
        weight[here] = (ends[here] * own).sum(axis=1)
        for level, rest in enumerate(above, start=1):
            carried = (ends[here] * (1 - rest)).sum(axis=1)
            used[here] = np.where(carried >= _HALF, level, used[here])
    return OwnWeights(np.clip(weight, 0.0, 1.0), used)
