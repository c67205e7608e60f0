"""Eviction by expected remaining time (CacheWise), and prefetching for a known deadline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError

__all__ = ["UNKNOWN_TOOL_SECONDS", "prefetch_gain", "prefetch_pays", "remaining_score"]

# CacheWise: what a tool without a curve is expected to last
UNKNOWN_TOOL_SECONDS = 60.0
_AS_LONG_AGAIN = 2.0


def remaining_score(
    points: Sequence[tuple[float, float]],
    elapsed: float,
    *,
    beyond: Literal["tail", "published"] = "tail",
    alpha: float = _AS_LONG_AGAIN,
    window: float = 3600.0,
) -> float:
    """Give the expected remaining seconds of what has lasted ``elapsed``: ``int_t^inf S(u) du / S(t)``.

    Parameters
    ----------
    points : sequence of (seconds, P(T > seconds))
        Seconds rising, survival not rising; straight between them, as CacheWise has it.
    elapsed : float
        Seconds, not before the first point.
    beyond : {"tail", "published"}
        What is assumed where the points end. ``published``: nothing lasts beyond them, so that what outlasts all of
        them scores 0 and is taken for about to return (CacheWise). ``tail``: beyond the last point with a survival
        above 0 a power law, of which at most ``window`` seconds from ``elapsed`` on count; never 0.
    alpha : float
        Exponent of the tail, above 0; with 2 what is left is as long as what has passed (for an endless window).
    window : float
        Seconds, above 0; only for ``tail``.

    Raises
    ------
    UsageError
        Points out of order, an elapsed time before the first, or an exponent or window that is none.

    References
    ----------
    .. [1] CacheWise (2026), arXiv 2606.16824.

    Examples
    --------
    >>> curve = [(0, 1), (1, 0.5), (3, 0.25), (10, 0)]
    >>> remaining_score(curve, 1, beyond="published")
    3.25
    >>> remaining_score(curve, 12, beyond="published"), round(remaining_score(curve, 12), 2)
    (0.0, 11.96)
    """
    times, survival = _checked(points, elapsed)
    if beyond == "published":
        if elapsed >= times[-1]:
            return 0.0
        here = float(np.interp(elapsed, times, survival))
        return _area(times, survival, elapsed, float(times[-1])) / here if here > 0 else 0.0
    if not (0 < alpha < math.inf and 0 < window < math.inf):
        raise UsageError("alpha and window: give finite numbers above 0")
    last = int(np.flatnonzero(survival > 0)[-1])
    start, end = float(times[last]), elapsed + window
    if elapsed >= start:
        return _tail_area(alpha, max(elapsed, 0.0), window)
    here = float(np.interp(elapsed, times, survival))
    area = _area(times, survival, elapsed, min(start, end))
    if end > start:
        area += float(survival[last]) * _tail_area(alpha, start, end - start)
    return area / here


def _checked(points: Sequence[tuple[float, float]], elapsed: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pairs = np.asarray(points, dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1:] != (2,) or not pairs.size or not np.all(np.isfinite(pairs)):
        raise UsageError("points: give at least one (seconds, survival), finite")
    times, survival = pairs.T
    if np.any(np.diff(times) <= 0) or np.any(np.diff(survival) > 0) or times[0] < 0:
        raise UsageError("points: seconds must rise from 0 or more and the survival must not")
    if survival[-1] < 0 or survival[0] > 1 or survival[0] <= 0:
        raise UsageError("points: the survival lies within 0 and 1, and starts above 0")
    if not times[0] <= elapsed < math.inf:
        raise UsageError(f"elapsed {elapsed} s: give finite seconds from {times[0]:g} on")
    return times, survival


def _area(times: NDArray[np.float64], survival: NDArray[np.float64], start: float, end: float) -> float:
    """Integrate straight pieces from start to end."""
    inside = times[(times > start) & (times < end)]
    at = np.concatenate(([start], inside, [end]))
    there = np.interp(at, times, survival)
    return float(np.sum(np.diff(at) * (there[:-1] + there[1:]) / 2))


def _tail_area(alpha: float, start: float, length: float) -> float:
    """Integrate ``(1 + u / start)^-alpha`` for u from 0 to length; what has lasted no time at all lasts the window."""
    if start == 0:
        return length
    grown = math.log1p(length / start)
    return start * grown if alpha == 1 else start * math.expm1((1 - alpha) * grown) / (1 - alpha)


def prefetch_gain(mass: float, benefit: float, lead: float, spread: float) -> float:
    """Give what a prefetch for a point mass is worth, seconds of holding: ``q B - (l + d)``.

    Parameters
    ----------
    mass : float
        q, share of the pauses that get there which end on it, 0 to 1.
    benefit : float
        B, seconds of holding that a resident return is worth.
    lead : float
        l, seconds before the deadline at which the load starts.
    spread : float
        d, seconds after the deadline over which the returns come.

    Examples
    --------
    >>> prefetch_gain(0.5, 4.0, 0.2, 0.3)
    1.5
    """
    if not 0 <= mass <= 1 or not lead >= 0 or not spread >= 0 or not math.isfinite(benefit + lead + spread):
        raise UsageError(
            "prefetch: give a mass of 0 to 1, a finite benefit, and a lead and spread of 0 or more seconds"
        )
    return mass * benefit - (lead + spread)


def prefetch_pays(mass: float, benefit: float, lead: float, spread: float) -> bool:
    """Tell whether a prefetch for a point mass pays: ``q B > l + d``; parameters as `prefetch_gain`.

    Examples
    --------
    >>> prefetch_pays(0.5, 4.0, 0.2, 0.3), prefetch_pays(0.1, 4.0, 0.2, 0.2)
    (True, False)
    """
    return prefetch_gain(mass, benefit, lead, spread) > 0
