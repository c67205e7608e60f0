"""Whether a forecast means what it says: where the rows fall in it, and survival at fixed horizons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HORIZONS", "LEVELS", "PIT_EDGES", "CalibrationSums", "DCalibration"]

Array = NDArray[np.float64]
LEVELS = (0.1, 0.5, 0.9, 0.95, 0.99)
PIT_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
HORIZONS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 600.0, 1800.0)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationSums:
    """Where rows fall in their forecast; S sessions, L landmarks, K bins of the PIT, H horizons.

    Attributes
    ----------
    mass : ndarray, shape (S, L, K)
        Rows per bin of `PIT_EDGES`; a censored row is spread over what lies above it, as its forecast has it.
    events, censored : ndarray, shape (L, 1000)
        Ends and censorings per thousandth of the PIT, for Kaplan-Meier.
    survival : ndarray, shape (S, H)
        Sum of the forecast P(T > h), at the start of the pause.
    brier : ndarray, shape (S, H)
        Sum of (P(T > h) - I[T > h])^2 over the rows known at h.
    n_known : ndarray of int, shape (S, H)
        Rows not censored before h.
    """

    mass: Array
    events: Array
    censored: Array
    survival: Array
    brier: Array
    n_known: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DCalibration:
    """Test of whether the PIT is uniform, in ten bins.

    Attributes
    ----------
    n : float
        Rows.
    shares : tuple of float
        Share of the rows in each tenth of the PIT; 0.1 where the forecast is calibrated.
    largest : float
        Largest distance of a share from 0.1.
    statistic, p_value : float
        Chi-square with 9 degrees of freedom as if rows were independent: p is too small for clustered rows.
    clustered_p_value : float or None
        By the Wald statistic with the covariance of the clusters; None with too few of them.
    """

    n: float
    shares: tuple[float, ...]
    largest: float
    statistic: float
    p_value: float
    clustered_p_value: float | None
