"""Two small monotone things: p values adjusted step by step, and the closest hazard that never rises."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["holm", "pava_ratio"]


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values by Holm's step-down rule.

    Parameters
    ----------
    p : array_like, shape (K,)
        Raw p values.

    Returns
    -------
    ndarray, shape (K,)
        Adjusted p values, at most 1.

    References
    ----------
    .. [1] Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    factors = np.arange(raw.size, 0, -1)
    out = np.empty(raw.size)
    out[order] = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    return out


def pava_ratio(D: ArrayLike, X: ArrayLike) -> float | None:
    """Compare the hazards with the closest hazards that never rise.

    Parameters
    ----------
    D, X : array_like, shape (J,)
        Events and exposure per bin, in order of time.

    Returns
    -------
    float or None
        The largest ratio of a bin's hazard to the fit by pooling adjacent violators (weights X): 1 if the hazard
        never rises. None if there are no events.

    References
    ----------
    .. [1] Barlow, Bartholomew, Bremner and Brunk (1972), Statistical Inference under Order Restrictions.

    Examples
    --------
    >>> pava_ratio([4, 1, 3], [1.0, 1.0, 1.0])
    1.5
    """
    events, exposure = np.asarray(D, dtype=np.float64), np.asarray(X, dtype=np.float64)
    use = exposure > 0
    events, exposure = events[use], exposure[use]
    if not events.sum() > 0:
        return None
    pools: list[tuple[float, float, int]] = []
    for d, x in zip(events.tolist(), exposure.tolist(), strict=True):
        pool = (d, x, 1)
        while pools and pools[-1][0] * pool[1] < pool[0] * pools[-1][1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    fitted = np.repeat([d / x for d, x, _ in pools], [n for _, _, n in pools])
    positive = fitted > 0
    return float(np.max((events / exposure)[positive] / fitted[positive]))
