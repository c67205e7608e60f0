"""Whether a forecast means what it says: where the rows fall in it, and survival at fixed horizons.

The probability integral transform of a row (its PIT) is the share of its forecast below what happened; over many rows
it is uniform where forecasts are calibrated. Curves on a grid are continuous, so it jumps nowhere but at tau, where
all that lasts longer is one outcome: there, in place of one random value, a row is spread over its whole jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, fdtrc

from tracestat.errors import TracestatError
from tracestat.forecast.curves import Curves
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import TAU
from tracestat.forecast.session_sums import SessionSums
from tracestat.forecast.skill import effective_clusters, paired_difference
from tracestat.resample import sum_by
from tracestat.results import Interval
from tracestat.survival.curve import kaplan_meier, kaplan_meier_counts

__all__ = [
    "HORIZONS",
    "LEVELS",
    "PIT_EDGES",
    "CalibrationSums",
    "DCalibration",
    "coverage",
    "coverage_intervals",
    "d_calibration",
    "horizon_sums",
    "observed_survival",
    "pit",
    "pit_sums",
]

Array = NDArray[np.float64]
LEVELS = (0.1, 0.5, 0.9, 0.95, 0.99)
PIT_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
HORIZONS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
_FINE = 1000
_TENTHS = 10
_NOTHING = 1e-9
# which bin of PIT_EDGES each thousandth lies in
_BIN = np.searchsorted(PIT_EDGES, (np.arange(_FINE) + 0.5) / _FINE, side="right") - 1


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
        Sum of the forecast P(T > h), at the start of the pause, over the rows with T > 0.
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

    @classmethod
    def empty(cls, n_sessions: int, n_landmarks: int) -> CalibrationSums:
        """Give sums of no rows, to be filled."""
        fine, horizons = (n_landmarks, _FINE), (n_sessions, len(HORIZONS))
        return cls(
            np.zeros((n_sessions, n_landmarks, len(PIT_EDGES) - 1)),
            np.zeros(fine),
            np.zeros(fine),
            np.zeros(horizons),
            np.zeros(horizons),
            np.zeros(horizons, dtype=np.int64),
        )

    @classmethod
    def added(cls, parts: Sequence[CalibrationSums]) -> CalibrationSums:
        """Add the sums of several folds up."""
        return cls(*(np.sum([getattr(part, f.name) for part in parts], axis=0) for f in fields(cls)))


@dataclass(frozen=True, slots=True)
class DCalibration:
    """Test of whether the PIT is uniform, in ten bins.

    Attributes
    ----------
    n : int
        Rows.
    shares : tuple of float
        Share of the rows in each tenth of the PIT; 0.1 where the forecast is calibrated.
    largest : float
        Largest distance of a share from 0.1.
    statistic, p_value : float
        Chi-square with 9 degrees of freedom as if rows were independent: p is too small for clustered rows.
    clustered_p_value : float or None
        The same statistic against what it varies by between clusters (Rao and Scott's second-order correction, with the
        jackknife's covariance of the shares and the effective number of clusters); None with fewer than two clusters.
    n_clusters : int
        The G.
    """

    n: int
    shares: tuple[float, ...]
    largest: float
    statistic: float
    p_value: float
    clustered_p_value: float | None
    n_clusters: int


def pit(
    laws: Curves, place: ArrayLike, seconds: ArrayLike, tau: float = TAU, bins: NDArray[np.intp] | None = None
) -> Array:
    """Give F(min(T, tau)) given T > s, the lower end of the jump for a row that lasts to tau.

    Parameters
    ----------
    laws : Curves
        Given T > s, see `tracestat.forecast.scores.given`.
    place : array_like of int, shape (N,)
        Which law.
    seconds : array_like, shape (N,)
        The T, above s.
    tau : float
    bins : ndarray of int, shape (N,), optional
        Bins of ``min(T, tau)``, where they are known already.

    Returns
    -------
    ndarray, shape (N,)
        In [0, 1].

    Examples
    --------
    >>> from tracestat.forecast.curves import curves_of
    >>> from tracestat.forecast.grid import Grid
    >>> laws = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    >>> pit(laws, [0, 0], [4.0, 99.0], tau=16.0).round(6).tolist()
    [0.6, 0.76]
    """
    y = np.minimum(np.asarray(seconds, dtype=np.float64), tau)
    return np.asarray(-np.expm1(np.minimum(laws.log_survival_at(place, y, bins), 0.0)))


def pit_sums(
    sums: CalibrationSums,
    landmark: int,
    values: Array,
    seconds: Array,
    observed: NDArray[np.bool_],
    sessions: SessionSums,
    tau: float = TAU,
) -> None:
    """Put the PIT of the rows at one landmark into ``sums``.

    Parameters
    ----------
    sums : CalibrationSums
        Changed in place.
    landmark : int
        Number of the landmark.
    values, seconds, observed : ndarray, shape (N,)
        PIT (`pit`), length and whether the end was seen, of rows in the order of ``sessions``.
    sessions : SessionSums
    tau : float
    """
    n_bins = len(PIT_EDGES) - 1
    fine = np.minimum((values * _FINE).astype(np.intp), _FINE - 1)
    at_tau = seconds >= tau
    sure = observed & ~at_tau
    place = sessions.session[sure] * n_bins + _BIN[fine[sure]]
    mass = np.bincount(place, minlength=sessions.n_sessions * n_bins).reshape(-1, n_bins).astype(np.float64)
    spread = np.flatnonzero(~sure)
    np.add.at(mass, sessions.session[spread], _above(values[spread], np.asarray(PIT_EDGES)))
    sums.mass[:, landmark] += mass
    jump = _above(values[at_tau], np.linspace(0, 1, _FINE + 1)).sum(axis=0)
    sums.events[landmark] += np.bincount(fine[sure], minlength=_FINE) + jump
    sums.censored[landmark] += np.bincount(fine[~observed & ~at_tau], minlength=_FINE)


def _above(values: Array, edges: Array) -> Array:
    """Spread each row evenly over what lies above its value, shape (n, K)."""
    low = np.minimum(values, 1 - 1e-12)[:, None]
    return np.asarray(np.maximum(edges[1:] - np.maximum(edges[:-1], low), 0.0) / (1 - low))


def horizon_sums(
    sums: CalibrationSums,
    curves: Curves,
    place: NDArray[np.intp],
    seconds: Array,
    observed: NDArray[np.bool_],
    sessions: SessionSums,
) -> None:
    """Put survival at the `HORIZONS`, forecast and happened, into ``sums``; parameters as of `pit_sums`."""
    everyone, n = np.arange(curves.size), sessions.n_sessions
    rows, ends_unseen = sessions.counts(), np.flatnonzero(~observed)
    lasting = np.arange(seconds.size)
    for k, h in enumerate(HORIZONS):
        forecast = np.exp(curves.log_survival_at(everyone, h))
        # (f - I)^2 = f^2 + I (1 - 2 f): the rows that last are few
        lasting = lasting[seconds[lasting] > h]
        unknown = ends_unseen[seconds[ends_unseen] <= h]
        of_rows, of_lasting, of_unknown = forecast[place], forecast[place[lasting]], forecast[place[unknown]]
        sums.survival[:, k] += sessions.add(of_rows)
        sums.brier[:, k] += sessions.add(of_rows**2)
        sums.brier[:, k] += np.bincount(sessions.session[lasting], 1 - 2 * of_lasting, minlength=n)
        sums.brier[:, k] -= np.bincount(sessions.session[unknown], of_unknown**2, minlength=n)
        sums.n_known[:, k] += rows - np.bincount(sessions.session[unknown], minlength=n)


def observed_survival(rows: PauseRows) -> list[float | None]:
    """Give the share that lasted beyond each of the `HORIZONS`, by Kaplan-Meier; None without rows.

    Parameters
    ----------
    rows : PauseRows
        Test rows of all folds; those of length 0 are left out, as at the first landmark.
    """
    some = rows.seconds > 0
    if not some.any():
        return [None] * len(HORIZONS)
    return [float(s) for s in kaplan_meier(rows.seconds[some], rows.observed[some]).survival_at(HORIZONS)]


def coverage(sums: CalibrationSums, landmark: int) -> dict[float, float | None]:
    """Give, for each of the `LEVELS` p, the share of rows that ended by their forecast p quantile.

    Parameters
    ----------
    sums : CalibrationSums
    landmark : int
        Number of the landmark.

    Returns
    -------
    dict of float to (float or None)
        By Kaplan-Meier on the PIT, to a thousandth; p itself where the forecast is calibrated. None without rows,
        and where all rows that might have lasted so long are censored before.
    """
    events, censored = sums.events[landmark], sums.censored[landmark]
    if not events.sum() + censored.sum():
        return dict.fromkeys(LEVELS)
    curve = kaplan_meier_counts(np.arange(1, _FINE + 1), events, censored)
    ended = 1 - curve.survival_at(np.asarray(LEVELS) * _FINE + 0.5)
    seen = curve.survival[-1] == 0
    return {
        p: float(share) if seen or p * _FINE <= curve.time[-1] else None for p, share in zip(LEVELS, ended, strict=True)
    }


def coverage_intervals(sums: CalibrationSums, landmark: int, developer: NDArray[np.intp]) -> dict[float, Interval]:
    """Give the `coverage` with intervals by session and by developer.

    Parameters
    ----------
    sums : CalibrationSums
    landmark : int
        Number of the landmark.
    developer : ndarray of int, shape (S,)
        Developer of each session.

    Returns
    -------
    dict of float to Interval
        The bounds are those of the share in ``mass``, moved to this value: few rows are censored, so the two agree.
    """
    mass = sums.mass[:, landmark]
    rows, below = mass.sum(axis=1), np.cumsum(mass, axis=1)
    out = {}
    for p, share in coverage(sums, landmark).items():
        if share is None:
            out[p] = Interval(None)
            continue
        near = paired_difference(below[:, PIT_EDGES.index(p) - 1], np.zeros(rows.size), rows, developer, weight=rows)
        out[p] = replace(near.with_bounds(partial(_moved, by=share - (near.value or 0.0))), value=share)
    return out


def _moved(bound: float, by: float) -> float:
    return min(max(bound + by, 0.0), 1.0)


def d_calibration(sums: CalibrationSums, landmark: int, clusters: NDArray[np.intp]) -> DCalibration | None:
    """Test whether the PIT is uniform at one landmark.

    Parameters
    ----------
    sums : CalibrationSums
    landmark : int
        Number of the landmark.
    clusters : ndarray of int, shape (S,)
        Cluster of each session: its developer, or itself.

    Returns
    -------
    DCalibration or None
        None without rows.

    References
    ----------
    .. [1] Haider, Hoehn, Davis and Greiner (2020), Effective ways to build and evaluate individual survival
       distributions.
    .. [2] Rao and Scott (1984), On chi-squared tests for multiway contingency tables with cell proportions estimated
       from survey data.
    """
    mass = sums.mass[:, landmark]
    if clusters.shape != mass.shape[:1]:
        raise TracestatError("D-calibration: one cluster is needed for every session")
    tenths = np.concatenate([mass[:, : _TENTHS - 1], mass[:, _TENTHS - 1 :].sum(axis=1, keepdims=True)], axis=1)
    total = tenths.sum(axis=0)
    n = round(float(total.sum()))  # whole, but for rounding: every row has mass 1
    if n == 0:
        return None
    shares = total / n
    statistic = float(np.sum((total - n / _TENTHS) ** 2) / (n / _TENTHS))
    by_cluster = sum_by(tenths, clusters, int(clusters.max()) + 1)
    by_cluster = by_cluster[by_cluster.sum(axis=1) > 0]
    return DCalibration(
        n,
        tuple(float(s) for s in shares),
        float(np.abs(shares - 1 / _TENTHS).max()),
        statistic,
        float(chdtrc(_TENTHS - 1, statistic)),
        _clustered_p(by_cluster, statistic),
        by_cluster.shape[0],
    )


def _clustered_p(by_cluster: Array, statistic: float) -> float | None:
    """Refer the chi-square to what the jackknife over clusters says it varies by: sum of lambda_i chi^2_1, as an F."""
    rows, total = by_cluster.sum(axis=1, keepdims=True), by_cluster.sum(axis=0)
    n, n_clusters = float(total.sum()), by_cluster.shape[0]
    if n_clusters < 2:
        return None
    moves = (total - by_cluster) / (n - rows) - total / n
    covariance = (n_clusters - 1) / n_clusters * n * _TENTHS * (moves.T @ moves)
    size, square = float(np.trace(covariance)), float(np.sum(covariance**2))  # sums of lambda and of lambda^2
    if size <= _NOTHING:
        return None
    free = size**2 / square
    return float(fdtrc(free, free * max(effective_clusters(rows) - 1, 1.0), statistic / size))
