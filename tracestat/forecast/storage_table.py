"""The counts of a forecast as one long table, and back: a row per key and bin that its rows reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts
from tracestat.forecast.keys import BANDED, band_labels
from tracestat.forecast.model import PathModel
from tracestat.forecast.nesting import Level, Nesting
from tracestat.forecast.storage_head import PathHead, kappas_of

__all__ = ["LevelRows", "compacted", "level_rows", "path_from"]

Ints = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class LevelRows:
    """The rows of one level of one hierarchy, by node, then by bin.

    Attributes
    ----------
    node, parent, code, bin : ndarray of int, shape (N,)
        Parent and code are -1 at the root.
    ended, reached : ndarray, shape (N,)
    names : tuple of (str or None)
        The value that each code stands for; empty at the root.
    """

    node: Ints
    parent: Ints
    code: Ints
    bin: Ints
    ended: NDArray[np.float64]
    reached: NDArray[np.float64]
    names: tuple[str | None, ...]


def compacted(path: PathModel) -> PathModel:
    """Leave out values of keys that no node has, so that what is stored is all there is.

    Parameters
    ----------
    path : PathModel

    Returns
    -------
    PathModel
        Codes run from 0 without a gap, in the order they had; those of banded keys stay.
    """
    names: dict[str, tuple[str | None, ...]] = {}
    levels = []
    for key, level in zip(path.keys, path.nesting.levels, strict=True):
        if key in BANDED:
            names[key] = band_labels()
            levels.append(level)
            continue
        used, codes = np.unique(level.codes, return_inverse=True)
        names[key] = tuple(path.names[key][int(code)] for code in used)
        levels.append(Level(level.parents, codes.astype(np.int64), max(used.size, 1)))
    return replace(path, names=names, nesting=Nesting(tuple(levels)))


def level_rows(path: PathModel) -> Iterator[LevelRows]:
    """Lay out a hierarchy, a piece per level, the root first.

    Parameters
    ----------
    path : PathModel
        As :func:`compacted` gives it.
    """
    for depth, counts in enumerate(path.counts):
        node, bins = np.nonzero(counts.reached > 0)
        if depth:
            level = path.nesting.levels[depth - 1]
            parent, code = level.parents[node].astype(np.int64), level.codes[node]
            names = path.names[path.keys[depth - 1]]
        else:
            parent = code = np.full(node.size, -1, dtype=np.int64)
            names = ()
        yield LevelRows(node, parent, code, bins, counts.ended[node, bins], counts.reached[node, bins], names)


def path_from(head: PathHead, levels: Sequence[LevelRows]) -> PathModel:
    """Put a hierarchy together from its rows.

    Parameters
    ----------
    head : PathHead
        As :func:`tracestat.forecast.storage_head.decode_head` has checked it.
    levels : sequence of LevelRows
        From the root down.

    Raises
    ------
    ValueError
        Rows that no fit gives.
    """
    grid = head.grid()
    names: dict[str, tuple[str | None, ...]] = {}
    counts = [_counts(levels[0], 1, grid.n_bins)]
    made: list[Level] = []
    sizes = (1, *head.sizes)
    if not ((levels[0].parent == -1).all() and (levels[0].code == -1).all()):
        raise ValueError("the root has a parent")
    for depth, (key, rows) in enumerate(zip(head.keys, levels[1:], strict=True), start=1):
        counts.append(_counts(rows, sizes[depth], grid.n_bins))
        made.append(_level(rows, sizes[depth - 1]))
        names[key] = rows.names
    return PathModel(
        keys=head.keys,
        names=names,
        grid=grid,
        nesting=Nesting(tuple(made)),
        counts=tuple(counts),
        kappas=kappas_of(head),
        alpha=head.alpha,
        last_seen=head.last_seen,
        n_rows=head.n_rows,
        n_groups=head.n_groups,
    )


def _counts(rows: LevelRows, n_nodes: int, n_bins: int) -> Counts:
    node, bins = rows.node, rows.bin
    if node.size == 0 or node[0] != 0 or node[-1] != n_nodes - 1 or not np.isin(np.diff(node), (0, 1)).all():
        raise ValueError("nodes are missing or out of order")
    first = np.append(True, np.diff(node) > 0)
    if bins.max() >= n_bins or (bins[first] != 0).any() or (np.diff(bins)[~first[1:]] != 1).any():
        raise ValueError("bins are missing or out of range")
    d, r = rows.ended, rows.reached
    if not (np.isfinite(d).all() and np.isfinite(r).all() and (d >= 0).all() and (r > 0).all() and (d <= r).all()):
        raise ValueError("counts that cannot be")
    ended, reached = np.zeros((2, n_nodes, n_bins))
    ended[node, bins], reached[node, bins] = d, r
    return Counts(ended, reached)


def _level(rows: LevelRows, n_parents: int) -> Level:
    first = np.append(True, np.diff(rows.node) > 0)
    parents, codes = rows.parent[first].astype(np.int64), rows.code[first].astype(np.int64)
    if (parents[rows.node] != rows.parent).any() or (codes[rows.node] != rows.code).any():
        raise ValueError("a node has two parents")
    if parents.min() < 0 or parents.max() >= n_parents or codes.min() < 0 or codes.max() >= len(rows.names):
        raise ValueError("parents or codes are out of range")
    base = int(codes.max()) + 1
    if (np.diff(parents * base + codes) <= 0).any():
        raise ValueError("nodes are out of order")
    return Level(parents.astype(np.intp), codes, base)
