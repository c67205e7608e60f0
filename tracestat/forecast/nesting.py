"""Keys inside keys: which group of which level a row belongs to, and how a key that was not seen falls to its parent.

Level 0 is the root, which holds everything; level l splits the groups of level l - 1 by one more key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Level", "Nesting", "nest"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The groups (nodes) of one level, sorted by (parent, code).

    Attributes
    ----------
    parents : ndarray of int, shape (n,)
        Node of the level above.
    codes : ndarray of int, shape (n,)
        Value of this level's key, as the code that was given.
    base : int
        One more than the largest code.
    """

    parents: NDArray[np.intp]
    codes: Codes
    base: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.parents.size)

    def find(self, parents: ArrayLike, codes: ArrayLike) -> NDArray[np.intp]:
        """Find the node of each (parent, code); -1 where there is none.

        Parameters
        ----------
        parents, codes : array_like of int, shape (N,)
            A parent of -1, a negative code and a code never seen have no node.
        """
        above, code = np.asarray(parents, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        if not self.size:
            return np.full(above.shape, -1, dtype=np.intp)
        known = self.parents * np.int64(self.base) + self.codes
        wanted = above * self.base + code
        place = np.minimum(np.searchsorted(known, wanted), self.size - 1)
        hit = (known[place] == wanted) & (above >= 0) & (code >= 0) & (code < self.base)
        return np.where(hit, place, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Nesting:
    """Levels from the first below the root down."""

    levels: tuple[Level, ...]

    def find(self, codes: Sequence[ArrayLike]) -> tuple[NDArray[np.intp], ...]:
        """Find the node of each row at each level; -1 from the first key on that was not seen.

        Parameters
        ----------
        codes : sequence of array_like of int, each of shape (N,)
            One per level, from the top.

        Returns
        -------
        tuple of ndarray of int, shape (N,)
            One per level.

        Examples
        --------
        >>> made, _ = nest([[0, 0, 1], [5, 6, 5]])
        >>> [node.tolist() for node in made.find([[0, 1, 2], [6, 6, 5]])]
        [[0, 1, -1], [1, -1, -1]]
        """
        found: list[NDArray[np.intp]] = []
        above: NDArray[np.intp] | None = None
        for level, code in zip(self.levels, codes, strict=True):
            own = np.asarray(code, dtype=np.int64)
            above = level.find(np.zeros(own.shape, dtype=np.intp) if above is None else above, own)
            found.append(above)
        return tuple(found)


def nest(codes: Sequence[ArrayLike]) -> tuple[Nesting, tuple[NDArray[np.intp], ...]]:
    """Group rows by their first key, within it by the second, and so on.

    Parameters
    ----------
    codes : sequence of array_like of int, each of shape (N,)
        One per level, from the top; not negative.

    Returns
    -------
    nesting : Nesting
    nodes : tuple of ndarray of int, shape (N,)
        Node of each row at each level.

    Examples
    --------
    >>> nesting, nodes = nest([[0, 0, 1, 1], [3, 4, 3, 3]])
    >>> nodes[1].tolist(), nesting.levels[1].parents.tolist(), nesting.levels[1].codes.tolist()
    ([0, 1, 2, 2], [0, 0, 1], [3, 4, 3])
    """
    levels: list[Level] = []
    nodes: list[NDArray[np.intp]] = []
    for code in codes:
        own = np.asarray(code, dtype=np.int64)
        base = int(own.max(initial=-1)) + 1
        above = nodes[-1] if nodes else np.zeros(own.shape, dtype=np.intp)
        pairs, node = np.unique(above.astype(np.int64) * max(base, 1) + own, return_inverse=True)
        levels.append(Level((pairs // max(base, 1)).astype(np.intp), pairs % max(base, 1), max(base, 1)))
        nodes.append(node.astype(np.intp))
    return Nesting(tuple(levels)), tuple(nodes)
