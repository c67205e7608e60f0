"""Adding rows up by session when they lie in the order of the sessions: no row is looked at twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["SessionSums"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SessionSums:
    """Where each session starts in N rows sorted by session.

    Attributes
    ----------
    session : ndarray of int, shape (N,)
        Session of each row, ascending.
    starts : ndarray of int, shape (n,)
        First row of each session that occurs.
    n_sessions : int
        Sessions in all, those that do not occur too.
    """

    session: NDArray[np.intp]
    starts: NDArray[np.intp]
    n_sessions: int

    @classmethod
    def of(cls, session: NDArray[np.intp], n_sessions: int) -> SessionSums:
        """Find the starts; ``session`` must ascend."""
        changes = np.flatnonzero(np.diff(session, prepend=-1))
        return cls(session, changes, n_sessions)

    def add(self, values: ArrayLike) -> Array:
        """Add up a value per row, shape (n_sessions,).

        Examples
        --------
        >>> SessionSums.of(np.array([0, 0, 2]), 4).add([1.0, 2.0, 4.0]).tolist()
        [3.0, 0.0, 4.0, 0.0]
        """
        out = np.zeros(self.n_sessions)
        if self.starts.size:
            out[self.session[self.starts]] = np.add.reduceat(np.asarray(values, dtype=np.float64), self.starts)
        return out

    def counts(self) -> NDArray[np.int64]:
        """Count the rows, shape (n_sessions,)."""
        return np.bincount(self.session, minlength=self.n_sessions)

    def pinball(self, y: Array, x: Array, p: float) -> Array:
        """Add up the pinball loss p (y - x) + max(x - y, 0), shape (n_sessions,)."""
        over = y - x
        return p * self.add(over) - self.add(np.minimum(over, 0.0, out=over))
