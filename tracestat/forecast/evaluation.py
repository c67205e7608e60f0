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

from tracestat.errors import TracestatError
from tracestat.forecast.calibration import CalibrationSums, horizon_sums, pit, pit_sums
from tracestat.forecast.curves import Curves
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import (
    LANDMARKS,
    QUANTILES,
    TAU,
    given,
    log_score,
    log_seconds,
    threshold_weights,
    twcrps,
)
from tracestat.forecast.session_sums import SessionSums
from tracestat.forecast.skill import error_cut
from tracestat.results import Interval

__all__ = [
    "HEADLINE_LANDMARKS",
    "DistributionSums",
    "Loss",
    "MethodScores",
    "developer_of_session",
    "headline_cut",
    "merge",
    "score",
]

Array = NDArray[np.float64]
Bins = NDArray[np.intp]
Loss: TypeAlias = Literal["pinball_log", "pinball_seconds", "twcrps", "log_score"]
HEADLINE_LANDMARKS = LANDMARKS[:4]
_MEDIAN = 0.5


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

    def loss(self, loss: Loss, p: float = _MEDIAN) -> Array:
        """Give the sums of one loss, shape (S, L); lower is better, so the log score comes with its sign turned.

        Parameters
        ----------
        loss : {"pinball_log", "pinball_seconds", "twcrps", "log_score"}
        p : float
            Quantile, for the pinball losses.

        Raises
        ------
        TracestatError
            A loss that the method is not judged by: of a point forecast there is only the pinball at 0.5.
        """
        if loss in ("pinball_log", "pinball_seconds"):
            if p not in self.quantiles:
                raise TracestatError(f"{self.name}: not judged at quantile {p:g}; there is {self.quantiles}")
            sums: Array = getattr(self, loss)
            return sums[:, :, self.quantiles.index(p)]
        if self.distribution is None:
            raise TracestatError(f"{self.name}: a point forecast has no {loss}; use a pinball loss at 0.5")
        return -self.distribution.log_score if loss == "log_score" else self.distribution.twcrps

    def count(self, loss: Loss) -> NDArray[np.int64]:
        """Give how many rows each of those sums is over, shape (S, L)."""
        return self.n_known if loss in ("pinball_log", "pinball_seconds") else self.n

    def mean(self, loss: Loss, p: float = _MEDIAN) -> list[float | None]:
        """Give the mean loss per row at each landmark; None where there is no row."""
        total, rows = self.loss(loss, p).sum(axis=0), self.count(loss).sum(axis=0)
        return [float(x / n) if n else None for x, n in zip(total, rows, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Landmark:
    """Rows of a fold that outlast a landmark, in the order of the sessions."""

    elapsed: float
    rows: NDArray[np.intp]
    seconds: Array
    observed: NDArray[np.bool_]
    all: SessionSums
    known: NDArray[np.intp]  # among these rows
    of_known: SessionSums
    known_seconds: Array
    known_log: Array


def score(forecasts: Sequence[CurveForecast | PointForecast], rows: PauseRows, n_sessions: int) -> list[MethodScores]:
    """Judge the forecasts of one fold's test rows at the `LANDMARKS` and `QUANTILES`.

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

    Notes
    -----
    A row takes part at landmark s if T > s, and all is judged of min(T, 3600). See `tracestat.forecast.scores`.

    Examples
    --------
    >>> from tracestat.forecast.curves import curves_of
    >>> from tracestat.forecast.grid import Grid
    >>> one = np.zeros(2, dtype=np.intp)
    >>> rows = PauseRows({}, {}, one, one, np.array([0.0, 9.0]), np.array([0.5, 3.0]), np.array([True, True]))
    >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    >>> (scores,) = score([CurveForecast("global", curves, one)], rows, 1)
    >>> scores.n[0].tolist(), scores.loss("log_score")[0, :2].round(4).tolist()
    ([2, 1, 0, 0, 0, 0], [2.5257, 0.6931])
    """
    order = np.argsort(rows.session, kind="stable")
    landmarks = [_landmark(rows, order, s, n_sessions) for s in LANDMARKS]
    n = np.stack([m.all.counts() for m in landmarks], axis=1)
    n_known = np.stack([m.of_known.counts() for m in landmarks], axis=1)
    out, bins = [], dict[bytes, list[Bins]]()
    for forecast in forecasts:
        size = (forecast.seconds if isinstance(forecast, PointForecast) else forecast.place).size
        if size != rows.size:
            raise TracestatError(f"{forecast.name}: {size} forecasts for {rows.size} rows")
        if isinstance(forecast, PointForecast):
            out.append(_judge_point(forecast, landmarks, n, n_known))
            continue
        grid = forecast.curves.grid
        placed = bins.setdefault(grid.edges.tobytes(), [])
        if not placed:
            placed.extend(grid.place(np.minimum(m.seconds, TAU)) for m in landmarks)
        out.append(_judge_curves(forecast, landmarks, placed, n, n_known))
    return out


def merge(folds: Sequence[MethodScores]) -> MethodScores:
    """Add up what one method lost in several folds, which hold the same S sessions and no row twice.

    Parameters
    ----------
    folds : sequence of MethodScores
        At least one; of one method.
    """
    first = folds[0]
    if any(f.name != first.name or f.quantiles != first.quantiles for f in folds):
        raise TracestatError("merge: scores of different methods cannot be added")
    laws = [f.distribution for f in folds if f.distribution is not None]
    return MethodScores(
        first.name,
        first.quantiles,
        n=np.sum([f.n for f in folds], axis=0),
        n_known=np.sum([f.n_known for f in folds], axis=0),
        pinball_log=np.sum([f.pinball_log for f in folds], axis=0),
        pinball_seconds=np.sum([f.pinball_seconds for f in folds], axis=0),
        distribution=_merged(laws) if laws else None,
    )


def developer_of_session(rows: PauseRows, n_sessions: int) -> NDArray[np.intp]:
    """Give the developer of each session, shape (n_sessions,); 0 for one without rows, which weighs nothing."""
    out = np.zeros(n_sessions, dtype=np.intp)
    out[rows.session] = rows.developer
    return out


def headline_cut(
    model: MethodScores,
    baseline: MethodScores,
    developer: NDArray[np.intp],
    p: float = 0.9,
    loss: Literal["pinball_log", "pinball_seconds"] = "pinball_log",
    *,
    elapsed: Sequence[float] = HEADLINE_LANDMARKS,
    draws: int = 0,
    seed: int = 0,
) -> Interval:
    """Give the upper-quantile error cut, 100 (1 - mean over landmarks of [sum rho_p model / sum rho_p baseline]).

    Parameters
    ----------
    model, baseline : MethodScores
        Of the same rows.
    developer : ndarray of int, shape (S,)
        From `developer_of_session`.
    p : float
        Quantile.
    loss : {"pinball_log", "pinball_seconds"}
    elapsed : sequence of float
        Which of the `LANDMARKS`; one of them for its skill alone.
    draws, seed
        As in `tracestat.forecast.skill.error_cut`.

    Returns
    -------
    Interval
        Percent, by session and by developer; no value where a landmark has no rows.
    """
    at = [LANDMARKS.index(s) for s in elapsed]
    return error_cut(model.loss(loss, p)[:, at], baseline.loss(loss, p)[:, at], developer, draws=draws, seed=seed)


def _merged(laws: Sequence[DistributionSums]) -> DistributionSums:
    return DistributionSums(
        twcrps=np.sum([d.twcrps for d in laws], axis=0),
        log_score=np.sum([d.log_score for d in laws], axis=0),
        calibration=CalibrationSums.added([d.calibration for d in laws]),
    )


def _landmark(rows: PauseRows, order: NDArray[np.intp], elapsed: float, n_sessions: int) -> _Landmark:
    here = order[rows.seconds[order] > elapsed]
    seconds, observed, session = rows.seconds[here], rows.observed[here], rows.session[here]
    known = np.flatnonzero(observed | (seconds >= TAU))
    capped = np.minimum(seconds[known], TAU)
    return _Landmark(
        elapsed,
        here,
        seconds,
        observed,
        SessionSums.of(session, n_sessions),
        known,
        SessionSums.of(session[known], n_sessions),
        capped,
        log_seconds(capped),
    )


def _judge_point(
    forecast: PointForecast, landmarks: Sequence[_Landmark], n: NDArray[np.int64], n_known: NDArray[np.int64]
) -> MethodScores:
    by_log, by_seconds = np.zeros((*n.shape, 1)), np.zeros((*n.shape, 1))
    for k, m in enumerate(landmarks):
        x = np.minimum(forecast.at(m.rows[m.known], m.elapsed), TAU)
        by_seconds[:, k, 0] = m.of_known.pinball(m.known_seconds, x, _MEDIAN)
        by_log[:, k, 0] = m.of_known.pinball(m.known_log, log_seconds(x), _MEDIAN)
    return MethodScores(forecast.name, (_MEDIAN,), n, n_known, by_log, by_seconds, None)


def _judge_curves(
    forecast: CurveForecast,
    landmarks: Sequence[_Landmark],
    bins: Sequence[Bins],
    n: NDArray[np.int64],
    n_known: NDArray[np.int64],
) -> MethodScores:
    by_log, by_seconds = np.zeros((*n.shape, len(QUANTILES))), np.zeros((*n.shape, len(QUANTILES)))
    crps, log = np.zeros(n.shape), np.zeros(n.shape)
    calibration = CalibrationSums.empty(n.shape[0], len(LANDMARKS))
    for k, m in enumerate(landmarks):
        curves, place = _used(forecast.curves, forecast.place[m.rows])
        laws = given(curves, m.elapsed)
        known = place[m.known]
        for q, p in enumerate(QUANTILES):
            x = np.minimum(curves.quantile(np.arange(curves.size), p, m.elapsed), TAU)
            by_seconds[:, k, q] = m.of_known.pinball(m.known_seconds, x[known], p)
            by_log[:, k, q] = m.of_known.pinball(m.known_log, log_seconds(x)[known], p)
        crps[:, k] = m.all.add(twcrps(threshold_weights(laws, m.elapsed), place, m.seconds, m.observed, bins[k]))
        log[:, k] = m.all.add(log_score(laws, place, m.seconds, m.observed, bins=bins[k]))
        pit_sums(calibration, k, pit(laws, place, m.seconds, bins=bins[k]), m.seconds, m.observed, m.all)
        if k == 0:
            horizon_sums(calibration, curves, place, m.seconds, m.observed, m.all)
    return MethodScores(
        forecast.name, QUANTILES, n, n_known, by_log, by_seconds, DistributionSums(crps, log, calibration)
    )


def _used(curves: Curves, place: NDArray[np.intp]) -> tuple[Curves, NDArray[np.intp]]:
    """Keep the curves that occur, which may be few of many."""
    occurs = np.zeros(curves.size, dtype=bool)
    occurs[place] = True
    which = np.flatnonzero(occurs)
    if which.size == curves.size:
        return curves, place
    number = np.cumsum(occurs) - 1
    return Curves(curves.grid, curves.log_survival[which], curves.alpha), number[place]
