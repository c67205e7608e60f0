"""What a method says of the rows it is judged on: a whole curve for each, or one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.forecast.curves import Curves

__all__ = ["CurveForecast", "PointForecast"]


@dataclass(frozen=True, slots=True, eq=False)
class CurveForecast:
    """A survival curve for each of N rows.

    Attributes
    ----------
    name : str
        Of the method.
    curves : Curves
    place : ndarray of int, shape (N,)
        Which curve each row has.
    note : str or None
        What a reader must know of this fit.
    """

    name: str
    curves: Curves
    place: NDArray[np.intp]
    note: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PointForecast:
    """One length for each of N rows; it says nothing of the rest of the law, so it is judged at the median only.

    Attributes
    ----------
    name : str
        Of the method.
    seconds : ndarray, shape (N,)
        Length forecast when the pause starts.
    factor : float
        At elapsed time s the forecast is ``max(seconds, factor s)``: 1 for a forecast that is kept until it is
        overtaken, 2 for "remaining = elapsed".
    """

    name: str
    seconds: NDArray[np.float64]
    factor: float = 1.0

    def at(self, rows: ArrayLike, elapsed: ArrayLike) -> NDArray[np.float64]:
        """Give the length forecast for some rows that have lasted ``elapsed`` seconds, shape of ``rows``."""
        least = self.factor * np.asarray(elapsed, dtype=np.float64)
        return np.asarray(np.maximum(self.seconds[np.asarray(rows)], least))
