"""A check of the frailty fit: one slope with a free level for every large key, and no law for the levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tracestat.survival.slope import bins_used, event_centre

__all__ = ["stratified_slope"]

_STRATA_EVENTS = 50


def stratified_slope(D_k: ArrayLike, X_k: ArrayLike, x: ArrayLike, min_events: int = _STRATA_EVENTS) -> float | None:
    """Fit one slope with a free level for every key: a check of the frailty fit on large keys.

    Parameters
    ----------
    D_k, X_k : array_like, shape (K, J)
        Events and exposure (seconds) per key and bin.
    x : array_like, shape (J,)
        Places of the bins.
    min_events : int, default 50
        Keys with fewer events are left out. The estimate is biased upwards in small keys, since the last event of a
        key always falls where its exposure ends.

    Returns
    -------
    float or None
        The slope; None if no key is large enough or no maximum exists.

    Examples
    --------
    >>> round(stratified_slope([[3, 1], [0, 2], [1, 0]], [[2, 1], [4, 3], [1, 0.5]], [0, 1], min_events=1), 9)
    0.287682072
    """
    events, exposure, places = bins_used(D_k, X_k, x)
    n_k = events.sum(axis=1)
    use = (n_k >= max(min_events, 1)) & (exposure.sum(axis=1) > 0)
    if not np.any(use):
        return None
    n_k, X, D = n_k[use], exposure[use], events[use].sum(axis=0)
    z = places - event_centre(D, places)
    target = float(D @ z)
    b = 0.0
    for _ in range(60):
        rate = np.exp(b * z)
        weights = X @ np.stack([rate, rate * z, rate * z * z], axis=1)
        mean = weights[:, 1] / weights[:, 0]
        information = float(n_k @ (weights[:, 2] / weights[:, 0] - mean**2))
        if not information > 0:
            return None
        step = float(np.clip((target - n_k @ mean) / information, -2.0, 2.0))
        b += step
        if abs(step) < 1e-12:
            return b
        if abs(b) > 60:
            return None
    return b if abs(step) < 1e-8 else None
