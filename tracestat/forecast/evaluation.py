"""What each method loses on the rows it is judged by, added up per session: all that tables and intervals are made of.

Sums of sessions are what the bootstrap and the jackknife work on, what folds add up, and small enough to keep for
every method at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.calibration import CalibrationSums
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import LANDMARKS

__all__ = ["DistributionSums", "Loss", "MethodScores", "merge", "score"]

Array = NDArray[np.float64]
Loss: TypeAlias = Literal["pinball_log", "pinball_seconds", "twcrps", "log_score"]


@dataclass(frozen=True, slots=True, eq=False)
class DistributionSums:
    """Losses of a method that gives a whole law; S sessions, L landmarks.

    Attributes
    ----------
    twcrps : ndarray, shape (S, L)
        Sum of the threshold-weighted CRPS on log time.
    log_score : ndarray, shape (S, L)
        Sum of ln P(bin of T | T > s); larger is better.
    calibration : CalibrationSums
        Where the rows fall in their forecast, and survival at fixed horizons.
    """

    twcrps: Array
    log_score: Array
    calibration: CalibrationSums


@dataclass(frozen=True, slots=True, eq=False)
class MethodScores:
    """Losses of one method on test rows, summed by session; S sessions, L landmarks, Q quantiles.

    Attributes
    ----------
    name : str
        Of the method.
    quantiles : tuple of float
        Quantiles judged: all for a law, (0.5,) for a point forecast.
    n : ndarray of int, shape (S, L)
        Rows with T > s: what ``twcrps`` and ``log_score`` are sums over.
    n_known : ndarray of int, shape (S, L)
        Those whose min(T, 3600) is known: what the pinball losses are sums over. ``n - n_known`` were censored
        before 3,600 s and left out of them.
    pinball_log, pinball_seconds : ndarray, shape (S, L, Q)
        Sums of the pinball loss on ln T and on seconds, both capped at 3,600 s.
    distribution : DistributionSums or None
        None for a point forecast.
    """

    name: str
    quantiles: tuple[float, ...]
    n: NDArray[np.int64]
    n_known: NDArray[np.int64]
    pinball_log: Array
    pinball_seconds: Array
    distribution: DistributionSums | None

    def loss(self, loss: Loss, p: float = 0.5) -> Array:
        """Give the sums of one loss, shape (S, L); lower is better, so the log score comes with its sign turned.

        Parameters
        ----------
        loss : {"pinball_log", "pinball_seconds", "twcrps", "log_score"}
        p : float
            Quantile, for the pinball losses.
        """
        raise NotImplementedError

    def count(self, loss: Loss) -> NDArray[np.int64]:
        """Give how many rows each of those sums is over, shape (S, L)."""
        raise NotImplementedError

    def mean(self, loss: Loss, p: float = 0.5) -> list[float | None]:
        """Give the mean loss per row at each landmark; None where there is no row."""
        raise NotImplementedError


def score(forecasts: Sequence[CurveForecast | PointForecast], rows: PauseRows, n_sessions: int) -> list[MethodScores]:
    """Judge the forecasts of one fold's test rows.

    Parameters
    ----------
    forecasts : sequence of CurveForecast or PointForecast
        For these very rows.
    rows : PauseRows
        Test rows.
    n_sessions : int
        The S of the sums: sessions of all folds, so that folds can be merged.

    Returns
    -------
    list of MethodScores
        One per forecast, in their order.
    """
    raise NotImplementedError


def merge(folds: Sequence[MethodScores]) -> MethodScores:
    """Add up what one method lost in several folds, which hold the same S sessions and no row twice."""
    raise NotImplementedError


_ = LANDMARKS
