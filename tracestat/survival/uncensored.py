"""A survival curve with clustered intervals where nothing is censored: counts per cluster are all it takes.

Without censoring the curve is one less the empirical distribution, a mean of indicators, and its clustered variance is
that of a ratio of sums. No row needs to know how many are at risk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.clustered import ClusteredCurve, widened_variance
from tracestat.survival.curve import Curve

__all__ = ["uncensored_curve"]

Floats = NDArray[np.float64]


def uncensored_curve(curve: Curve, n: ArrayLike, developer: NDArray[np.intp], at: Sequence[float]) -> ClusteredCurve:
    """Put a curve and the counts of its sessions together.

    Parameters
    ----------
    curve : Curve
        The product-limit curve of the same rows, none of them censored.
    n : array_like, shape (S, M + 1)
        Rows per session and interval between chosen values; column k holds those in (at[k-1], at[k]], the last one
        those beyond.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps.
    at : sequence of float, length M
        Chosen values, ascending, above 0.

    Returns
    -------
    ClusteredCurve
        With the variance of the cumulative hazard ``sum_g (N_g(<= t) - F N_g)^2 / (N S)^2``, times G/(G - 1), never
        below that of independent rows and widened to Student's t; beyond the last row, that of the last value before.

    Raises
    ------
    TracestatError
        Shapes that do not match, or counts that are not those of the curve.

    Examples
    --------
    >>> from tracestat.survival.curve import kaplan_meier
    >>> curve = kaplan_meier([1.0, 2.0, 3.0], [1, 1, 1])
    >>> made = uncensored_curve(curve, [[1, 0], [1, 0], [0, 1]], np.array([0, 1, 1]), [2.0])
    >>> round(made.survival([2.0])[0].value, 6), made.n_developers
    (0.333333, 2)
    """
    counts = np.asarray(n, dtype=np.float64)
    if counts.ndim != 2 or counts.shape != (developer.size, len(at) + 1):
        raise TracestatError(f"curve: counts of shape {counts.shape}, {developer.size} sessions, {len(at)} values")
    if curve.n_censored.any() or counts.sum() != curve.n_event.sum():
        raise TracestatError("curve: rows are censored, or others than those of the sessions")
    steps = np.concatenate([[0.0], np.cumsum(curve.n_event / curve.at_risk**2)])
    independent = steps[np.searchsorted(curve.time, np.asarray(at), side="right")]
    n_developers = int(developer.max(initial=-1)) + 1
    return ClusteredCurve(
        curve,
        np.asarray(at, dtype=np.float64),
        _variance(counts, independent),
        _variance(sum_by(counts, developer, n_developers), independent),
        counts.shape[0],
        n_developers,
    )


def _variance(counts: Floats, independent: Floats) -> Floats | None:
    """Give the clustered variance of the cumulative hazard at the chosen values; None for fewer than two clusters."""
    n_clusters = counts.shape[0]
    if n_clusters < 2:
        return None
    total = counts.sum(axis=1)
    upto = np.cumsum(counts[:, :-1], axis=1)
    rows = float(total.sum())
    share = upto.sum(axis=0) / rows
    left = 1.0 - share
    known = left > 0.5 / rows
    apart = upto - share * total[:, None]
    clustered = np.zeros(share.size)
    np.divide((apart**2).sum(axis=0), (rows * left) ** 2, out=clustered, where=known)
    variance = widened_variance(clustered * n_clusters / (n_clusters - 1), independent, n_clusters)
    last = int(np.flatnonzero(known)[-1]) if known.any() else -1
    if last >= 0:
        variance[last + 1 :] = variance[last]
    return variance
