"""What a forecast learns from: how many rows reach each bin, and how many end in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Counts", "count_exits"]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Ends and rows at risk of n nodes in J closed bins.

    Attributes
    ----------
    ended : ndarray, shape (n, J)
        Rows with an event in the bin, the d of the formulas; may be discounted and so fractional.
    reached : ndarray, shape (n, J)
        Rows that reach the bin, the r; a censored row counts in the bin of its censoring.
    """

    ended: NDArray[np.float64]
    reached: NDArray[np.float64]


def count_exits(
    node: ArrayLike, n_nodes: int, bins: ArrayLike, n_bins: int, n_event: ArrayLike, n_exit: ArrayLike
) -> Counts:
    """Count ends and rows at risk per node and bin.

    Parameters
    ----------
    node, bins : array_like of int, shape (N,)
        Node, and bin of the exit; bin ``n_bins`` is the open one.
    n_nodes, n_bins : int
        Number of nodes and of closed bins.
    n_event, n_exit : array_like, shape (N,)
        Events, and all exits (events and censorings), of each row or cell.

    Returns
    -------
    Counts

    Examples
    --------
    >>> counts = count_exits([0, 0, 0], 1, [0, 1, 2], 2, [1, 0, 1], [1, 1, 1])
    >>> counts.ended.tolist(), counts.reached.tolist()
    ([[1.0, 0.0]], [[3.0, 2.0]])
    """
    place = np.asarray(node, dtype=np.int64) * (n_bins + 1) + np.asarray(bins, dtype=np.int64)
    shape = (n_nodes, n_bins + 1)
    exits = np.bincount(place, weights=np.asarray(n_exit, dtype=np.float64), minlength=n_nodes * shape[1])
    ended = np.bincount(place, weights=np.asarray(n_event, dtype=np.float64), minlength=n_nodes * shape[1])
    reached = exits.reshape(shape)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return Counts(np.asarray(ended.reshape(shape)[:, :n_bins]), np.asarray(reached[:, :n_bins], dtype=np.float64))
