"""Curves of keys that lean on their own rows as far as these are independent evidence, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts
from tracestat.forecast.shrinkage import root_hazards
from tracestat.forecast.tree import ForecastTree

__all__ = ["OwnWeights", "own_weights"]

Array = NDArray[np.float64]
_HALF = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class OwnWeights:
    """Hazards and weights of the nodes of the lowest level of a tree.

    Attributes
    ----------
    hazards : ndarray, shape (n, J)
        Per bin, between that of the node's own rows and that of its parent.
    weight : ndarray, shape (n,)
        Of a node's own rows in its curve, 0 to 1; 1 for the root.
    used : ndarray of int, shape (n,)
        Lowest level whose rows (those of the node's ancestor there, the node's own among them) carry at least half of
        its curve; 0 is the root.
    """

    hazards: Array
    weight: Array
    used: NDArray[np.intp]


def own_weights(tree: ForecastTree, own: Counts) -> OwnWeights:
    """Mix the hazards of keys with those of the keys above, for every node of a tree's lowest level.

    Parameters
    ----------
    tree : ForecastTree
    own : Counts
        Of the nodes of its lowest level, every row counted once.

    Returns
    -------
    OwnWeights

    Notes
    -----
    In bin j the hazard of a node is ``d_j / r_j`` of its own rows with weight ``n_j / (n_j + kappa)`` and that of its
    parent in the tree with the rest; n counts the rows as the fit does, those of one session for less the more there
    are. So with many sessions the curve is that of the rows themselves, and many rows of one session do not carry it
    alone. (The fit's own posterior mean has discounted d and r, too: the curve of a session to come, not of the rows.)
    The root is that of all rows: it has no parent. The weight of a node is the mean over the durations of its curve:
    over bins, each counted by the probability to end in it; the open bin has no rows of its own in any node but the
    root. The parent is what its children have in common, each for less the more rows it has, so the curve of a child
    not seen before, and not the curve of all rows of the parent.
    """
    depth = len(tree.keys)
    if not depth:
        return OwnWeights(root_hazards(own), np.ones(1), np.zeros(1, dtype=np.intp))
    # shares of own rows in each bin, of each level from the lowest up
    node = np.arange(len(own.reached))
    shares: list[Array] = []
    for level in range(depth, 0, -1):
        reached = tree.shrinkage.counts[level].reached[node]
        shares.append(reached / (reached + tree.shrinkage.kappas[level - 1].kappa))
        node = tree.nesting.levels[level - 1].parents[node]
        if level == depth:
            prior = tree.shrinkage.hazards[level - 1][node]
    raw = own.ended / np.maximum(own.reached, 1)
    hazards = shares[0] * raw + (1 - shares[0]) * prior
    alive = np.cumprod(1 - np.minimum(hazards, 1.0), axis=1)
    ends = np.concatenate([np.ones((len(hazards), 1)), alive[:, :-1]], axis=1) - alive
    used = np.zeros(len(hazards), dtype=np.intp)
    rest = np.ones_like(hazards)
    for level, share in zip(range(depth, 0, -1), shares, strict=True):
        rest = rest * (1 - share)
        carried = (ends * (1 - rest)).sum(axis=1)
        used = np.where((used == 0) & (carried >= _HALF), level, used)
    return OwnWeights(hazards, np.clip((ends * shares[0]).sum(axis=1), 0.0, 1.0), used)
