"""Survival under a hazard that is constant within bins, for integrals over censored durations.

With censored rows a mean time is an integral of S. Events and exposure per (cluster, bin) give that integral without
each cluster in closed form, so its jackknife needs no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError

__all__ = ["piecewise_hazard", "piecewise_integral", "piecewise_survival"]

_INSTANT = 1e9  # hazard of a bin whose rows all end on its lower edge, at once


def piecewise_hazard(D: ArrayLike, X: ArrayLike) -> NDArray[np.float64]:
    """Give the hazard of each bin.

    Parameters
    ----------
    D, X : array_like, shape (..., J)
        Events and exposure (seconds).

    Returns
    -------
    ndarray, shape (..., J)
        D/X; 0 for bins that hold neither.

    Examples
    --------
    >>> piecewise_hazard([2, 0], [4.0, 0.0])
    array([0.5, 0. ])
    """
    events, exposure = np.asarray(D, dtype=np.float64), np.asarray(X, dtype=np.float64)
    at_once = np.where(events > 0, _INSTANT, 0.0)
    hazard: NDArray[np.float64] = np.divide(events, exposure, out=at_once, where=exposure > events / _INSTANT)
    return hazard


def _overlap(edges: Sequence[float], a: float, b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = np.asarray(edges, dtype=np.float64)
    if grid[0] != 0 or not 0 <= a <= b <= grid[-1]:
        raise TracestatError(f"piecewise hazard: {a:g} to {b:g} s does not lie within bins from 0 to {grid[-1]:g} s")
    start = np.clip(grid[:-1], a, b)
    return start, np.clip(grid[1:], a, b) - start


def piecewise_survival(hazard: NDArray[np.float64], edges: Sequence[float], t: float) -> NDArray[np.float64]:
    """Give S(t) = exp(-cumulative hazard).

    Parameters
    ----------
    hazard : ndarray, shape (..., J)
        Hazard per bin, per second.
    edges : sequence of float, length J + 1
        Edges of the bins, seconds, from 0.
    t : float
        Seconds, within the bins.

    Returns
    -------
    ndarray, shape (...)
        Survival at t.

    Examples
    --------
    >>> float(piecewise_survival(np.array([0.0, 1.0]), (0.0, 1.0, 10.0), 3.0).round(6))
    0.135335
    """
    _, width = _overlap(edges, 0.0, t)
    survival: NDArray[np.float64] = np.exp(-(hazard @ width))
    return survival


def piecewise_integral(hazard: NDArray[np.float64], edges: Sequence[float], a: float, b: float) -> NDArray[np.float64]:
    """Give the integral of S from a to b.

    Parameters
    ----------
    hazard : ndarray, shape (..., J)
        Hazard per bin, per second.
    edges : sequence of float, length J + 1
        Edges of the bins, seconds, from 0.
    a, b : float
        Seconds, within the bins, a not above b.

    Returns
    -------
    ndarray, shape (...)
        Seconds: per bin ``(S_lo - S_hi)/lambda``, width times S where the hazard is 0.

    Examples
    --------
    >>> float(piecewise_integral(np.array([0.0, 1.0]), (0.0, 1.0, 10.0), 0.0, 10.0).round(6))
    1.999877
    """
    _, before = _overlap(edges, 0.0, a)
    _, width = _overlap(edges, a, b)
    drop = hazard * width
    # S where each bin's part of [a, b] begins
    at_start = np.exp(-(hazard @ before)[..., None] - np.cumsum(drop, axis=-1) + drop)
    small = drop < 1e-300
    area = width * np.where(small, 1.0, -np.expm1(-drop) / np.where(small, 1.0, drop))
    integral: NDArray[np.float64] = np.sum(at_start * area, axis=-1)
    return integral
