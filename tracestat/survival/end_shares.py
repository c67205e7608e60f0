"""Ends that are known to an interval, and how a hazard shares them out over the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError

__all__ = ["Intervals", "cell_centres", "end_shares", "overlap", "shares"]

Floats = NDArray[np.float64]

_SERIES_BELOW = 1e-3


@dataclass(frozen=True, slots=True)
class Intervals:
    """Rows whose end is known to (lo, hi], seconds; ``n`` rows each; three arrays of one length."""

    lo: Floats
    hi: Floats
    n: Floats

    @classmethod
    def of(cls, lo: ArrayLike, hi: ArrayLike, n: ArrayLike | None = None) -> Intervals:
        """Check intervals and make arrays of them.

        Raises
        ------
        TracestatError
            An interval is empty, or begins below 0.

        Examples
        --------
        >>> Intervals.of([1.0, 2.0], [3.0, 2.5]).n
        array([1., 1.])
        """
        low, high = np.asarray(lo, dtype=np.float64), np.asarray(hi, dtype=np.float64)
        rows = np.ones(low.shape) if n is None else np.asarray(n, dtype=np.float64)
        if not low.shape == high.shape == rows.shape or low.ndim != 1:
            raise TracestatError("intervals of ends: lo, hi and n must be three columns of one length")
        if not (np.all(np.isfinite(high)) and np.all(low >= 0) and np.all(low < high)):
            raise TracestatError("intervals of ends: each must begin at 0 or above and end above its beginning")
        return cls(low, high, rows)


def overlap(data: Intervals, lower: Floats) -> tuple[Floats, Floats]:
    """Give where each interval begins in each cell, and how much of the cell it takes; shape (K, C) each."""
    upper = np.append(lower[1:], np.inf)
    start = np.clip(lower, data.lo[:, None], data.hi[:, None])
    return start, np.clip(upper, data.lo[:, None], data.hi[:, None]) - start


def _late_part(x: Floats) -> Floats:
    """Give (1 - e^-x (1 + x)) / x: of a cell's ends, the mean time in it times their share, over its width.

    The closed form loses its digits near 0, where the series x/2 - x^2/3 + x^3/8 stands for it.
    """
    series = x * (1 / 2 - x * (1 / 3 - x / 8))
    closed = np.divide(-np.expm1(-x) - x * np.exp(-x), x, out=np.zeros_like(x), where=x > 0)
    return np.where(x < _SERIES_BELOW, series, closed)


def shares(hazard: Floats, start: Floats, width: Floats) -> tuple[Floats, Floats, Floats]:
    """Give the share of each cell in an end, the moment of the end in it, and the hazard summed over each cell."""
    summed = hazard * width
    reached = np.exp(-(np.cumsum(summed, axis=1) - summed)) / -np.expm1(-summed.sum(axis=1, keepdims=True))
    share = reached * -np.expm1(-summed)
    return share, start * share + reached * width * _late_part(summed), summed


def end_shares(data: Intervals, hazard: ArrayLike, edges: Sequence[float]) -> tuple[Floats, Floats]:
    """Share out ends that are known to an interval, given the hazard.

    Parameters
    ----------
    data : Intervals
        K intervals.
    hazard : array_like, shape (C,) or (K, C)
        Hazard of each cell, per second, for all or for each interval; above 0 in some cell of every interval.
    edges : sequence of float, length C
        Lower edges of the cells, seconds, from 0; the last cell is open.

    Returns
    -------
    share : ndarray, shape (K, C)
        P(T in cell | lo < T <= hi); rows sum to 1.
    moment : ndarray, shape (K, C)
        E(T; T in cell | lo < T <= hi), seconds: ``moment / share`` is the mean end in that cell.

    Notes
    -----
    With s the hazard summed over a cell and H that over what lies before it, the share is proportional to
    ``exp(-H) (1 - exp(-s))``. Share and moment are what `exposure_from_exits` takes for rows and their summed time.

    Examples
    --------
    A hazard of 1 on [1, 2) and of 3 from there on; an end in (1, 3]:

    >>> share, _ = end_shares(Intervals.of([1.0], [3.0]), [0.0, 1.0, 3.0], (0.0, 1.0, 2.0))
    >>> share.round(6)
    array([[0.      , 0.643914, 0.356086]])
    """
    share, moment, _ = shares(np.asarray(hazard, dtype=np.float64), *overlap(data, np.asarray(edges, dtype=np.float64)))
    return share, moment


def cell_centres(edges: Sequence[float]) -> Floats:
    """Give ln of the geometric middle of each cell; of the first, from 0, and of the open last one, an octave's.

    Examples
    --------
    >>> np.exp(cell_centres((0.0, 2.0, 8.0))).round(6)
    array([ 1.414214,  4.      , 11.313708])
    """
    lower = np.asarray(edges, dtype=np.float64)
    upper = np.append(lower[1:], 2 * max(float(lower[-1]), 0.5))
    found: Floats = np.log(np.sqrt(np.where(lower > 0, lower, upper / 2) * upper))
    return found
