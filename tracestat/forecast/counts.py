"""What a forecast learns from: how many rows reach each bin, and how many end in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Counts", "SharedBins", "count_exits", "shared_bins"]

Places = NDArray[np.intp]


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


@dataclass(frozen=True, slots=True, eq=False)
class SharedBins:
    """The bins of n groups that at least two rows of the group reach: those that tell how alike the rows are.

    They are the first bins of each group, up to the second longest row's. Beyond them one row is alone, and what it
    adds to a likelihood or to a parent does not depend on any precision. Most groups of a deep level have none.

    Attributes
    ----------
    group : ndarray of int, shape (n,)
        Number of each group that has rows, ascending.
    n_shared : ndarray of int, shape (n,)
        Shared bins of each group, 0 to J.
    start : ndarray of int, shape (n,)
        Place of the first of them in ``counts``.
    counts : Counts
        Of the shared bins of all groups in a row, arrays of shape (sum of ``n_shared``,).
    longest : ndarray of int, shape (n,)
        Bin of the longest row, J for the open one.
    longest_observed : ndarray of bool, shape (n,)
        Whether that row's end was seen; of several in one bin, of any one that was.
    """

    group: NDArray[np.int64]
    n_shared: Places
    start: Places
    counts: Counts
    longest: Places
    longest_observed: NDArray[np.bool_]

    def places(self) -> tuple[Places, Places]:
        """Give of every shared bin which group of ``group`` it belongs to, and its number."""
        owner = np.repeat(np.arange(self.group.size), self.n_shared)
        return owner, np.arange(owner.size) - self.start[owner]


def shared_bins(group: ArrayLike, bins: ArrayLike, observed: ArrayLike, n_bins: int) -> SharedBins:
    """Count the bins that at least two rows of a group reach.

    Parameters
    ----------
    group, bins : array_like of int, shape (N,)
        Group, and bin of the exit; bin ``n_bins`` is the open one.
    observed : array_like of bool, shape (N,)
    n_bins : int

    Returns
    -------
    SharedBins

    Examples
    --------
    >>> shared = shared_bins([7, 7, 7, 9], [0, 1, 2, 1], [True, False, True, True], 2)
    >>> shared.group.tolist(), shared.n_shared.tolist(), shared.counts.ended.tolist(), shared.counts.reached.tolist()
    ([7, 9], [2, 0], [1.0, 0.0], [3.0, 2.0])
    """
    # one sort tells the groups, their longest rows and whether those were observed; shifts are cheaper than division
    shift = int(n_bins).bit_length()
    code = (np.asarray(group, dtype=np.int64) << shift) + np.asarray(bins, dtype=np.int64)
    code = np.sort((code << 1) + np.asarray(observed, dtype=np.int64))
    seen = (code & 1).astype(np.bool_)
    code >>= 1
    of_row = code >> shift
    first = np.flatnonzero(np.diff(of_row, prepend=-1))
    size = np.diff(first, append=code.size)
    last = first + size - 1
    bin_of_row = (code & ((1 << shift) - 1)).astype(np.intp)
    second = bin_of_row[np.maximum(last - 1, 0)]
    n_shared = np.where(size > 1, np.minimum(second + 1, n_bins), 0)
    start = np.cumsum(n_shared) - n_shared
    total = int(n_shared.sum())
    row_group = np.repeat(np.arange(first.size), size)
    inside = np.flatnonzero(bin_of_row < n_shared[row_group])
    place = start[row_group[inside]] + bin_of_row[inside]
    exits = np.bincount(place, minlength=total)
    ended = np.bincount(place, weights=seen[inside], minlength=total).astype(np.float64)
    before = np.cumsum(exits) - exits
    owner = np.repeat(np.arange(first.size), n_shared)
    reached = size[owner] - (before - before[start[owner]])
    return SharedBins(
        of_row[first], n_shared, start, Counts(ended, reached.astype(np.float64)), bin_of_row[last], seen[last]
    )
