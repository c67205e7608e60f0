"""How much of the baseline's loss a method takes away, and by how much two methods differ, with clustered intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracestat.results import Interval

__all__ = ["error_cut", "paired_difference"]

Array = NDArray[np.float64]


def error_cut(
    model: Array, baseline: Array, developer: NDArray[np.intp], *, draws: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Give 100 (1 - mean over columns of [sum model / sum baseline]), percent of the baseline's loss.

    Parameters
    ----------
    model, baseline : ndarray, shape (S,) or (S, K)
        Sums per session; K landmarks for the headline.
    developer : ndarray of int, shape (S,)
        Developer of each session.
    draws : int
        Bootstrap samples; 0 gives the value alone.
    seed : int
    level : float

    Returns
    -------
    Interval
        Without value where the baseline loses nothing in a column or there are no rows.
    """
    raise NotImplementedError


def paired_difference(
    a: Array, b: Array, n: Array, developer: NDArray[np.intp], *, draws: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Give the mean loss of A minus that of B per row, on the same rows; below 0 A is better.

    Parameters
    ----------
    a, b : ndarray, shape (S,)
        Sums of the loss per session.
    n : ndarray, shape (S,)
        Rows per session.
    developer : ndarray of int, shape (S,)
    draws, seed, level
        As in `error_cut`.
    """
    raise NotImplementedError
