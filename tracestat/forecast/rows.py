"""Pauses of one provider as arrays: what is known when each one starts, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = ["PauseRows"]


@dataclass(frozen=True, slots=True, eq=False)
class PauseRows:
    """N pauses, by start.

    Attributes
    ----------
    codes : mapping of str to ndarray of int, shape (N,)
        For each key, the value of each row as a code from 0 on.
    names : mapping of str to tuple of (str or None)
        For each key, the value that each code stands for; None is a value too (a tool without a class).
    session : ndarray of int, shape (N,)
        Session of each row, 0 to ``n_sessions - 1``.
    developer : ndarray of int, shape (N,)
        Developer of each row, 0 to ``n_developers - 1``; a session has one.
    started : ndarray, shape (N,)
        Start of the pause, seconds since 1970 (UTC).
    seconds : ndarray, shape (N,)
        Length, not negative.
    observed : ndarray of bool, shape (N,)
        False where the end was not seen.
    """

    codes: Mapping[str, NDArray[np.int64]]
    names: Mapping[str, tuple[str | None, ...]]
    session: NDArray[np.intp]
    developer: NDArray[np.intp]
    started: NDArray[np.float64]
    seconds: NDArray[np.float64]
    observed: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.seconds.size)

    @property
    def n_sessions(self) -> int:
        """One more than the largest session number."""
        return int(self.session.max(initial=-1)) + 1

    @property
    def n_developers(self) -> int:
        """One more than the largest developer number."""
        return int(self.developer.max(initial=-1)) + 1

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> PauseRows:
        """Give some of the rows; codes, sessions and developers keep their numbers.

        Parameters
        ----------
        rows : ndarray of bool, shape (N,), or of int
        """
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {name: value[rows] for name, value in parts.items() if name not in ("codes", "names")}
        return PauseRows({key: code[rows] for key, code in self.codes.items()}, self.names, **arrays)
