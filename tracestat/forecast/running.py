"""Forecasts that run along: the mean, or the moving mean, of what the tool took before.

At the start of a pause everything counts that had ended strictly before, of the same provider and tool: whoever's it
is, in training and test rows alike, for this is what an engine sees. A pause whose end was not seen never counts, and
neither does the pause itself, not even one of no length that ends when it starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.rows import PauseRows

__all__ = ["running_means"]

Array = NDArray[np.float64]
_COLD = 1.0
_DOUBLINGS = 6  # after 64 rows a duration weighs 2^-64


def running_means(past: PauseRows, rows: PauseRows, key: str = "tool") -> tuple[Array, Array]:
    """Give for each pause the mean, and the moving mean m <- d/2 + m/2, of earlier ones of the same tool.

    Parameters
    ----------
    past : PauseRows
        All rows of the provider, those to forecast among them.
    rows : PauseRows
        Pauses to forecast; the codes of both have the same meaning.
    key : str, default "tool"

    Returns
    -------
    mean, moving : ndarray, shape (N,)
        Seconds. Where no pause of the tool had ended, the same over all tools; where none at all had, 1 s.

    Examples
    --------
    >>> n = np.zeros(3, dtype=int)
    >>> rows = PauseRows(
    ...     {"tool": n}, {"tool": ("a",)}, n, n, np.array([0.0, 10, 20]), np.array([4.0, 2, 9]), np.ones(3, bool)
    ... )
    >>> [m.tolist() for m in running_means(rows, rows)]
    [[1.0, 4.0, 3.0], [1.0, 4.0, 3.0]]
    """
    known = past.take(past.observed)
    ends = _ticks(known.started) + _ticks(known.seconds)
    # several that end at one instant: by start, so that the order of rows does not matter
    order = np.lexsort((known.started, ends))
    d, tools = known.seconds[order], known.codes[key][order]
    n_ended = np.searchsorted(ends[order], _ticks(rows.started))
    own = _before(d, tools, rows.codes[key], n_ended)
    anything = _before(d, np.zeros_like(tools), np.zeros(rows.size, dtype=np.int64), n_ended)
    mean, moving = (
        np.where(np.isnan(mine), np.where(np.isnan(any_tool), _COLD, any_tool), mine)
        for mine, any_tool in zip(own, anything, strict=True)
    )
    return mean, moving


def _ticks(seconds: Array) -> NDArray[np.int64]:
    """Give whole microseconds, the clock of the store, so that an end and a start at one instant compare as equal."""
    return np.rint(seconds * 1e6).astype(np.int64)


def _before(
    d: Array, groups: NDArray[np.int64], wanted: NDArray[np.int64], n_ended: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Give both means over those of the first ``n_ended`` that are of the group wanted; NaN where there are none."""
    if not d.size:
        return np.full(wanted.size, np.nan), np.full(wanted.size, np.nan)
    order = np.argsort(groups, kind="stable")
    d, groups = d[order], groups[order]
    last = np.searchsorted(groups * d.size + order, wanted * d.size + n_ended) - 1
    none = last < np.searchsorted(groups, wanted)
    head = np.searchsorted(groups, groups)
    # whole microseconds add up exactly, whatever other tools took
    ticks = _ticks(d)
    sums = np.cumsum(ticks)
    mean = (sums - (sums - ticks)[head]) / 1e6 / (np.arange(d.size) - head + 1)
    at = np.maximum(last, 0)
    return np.where(none, np.nan, mean[at]), np.where(none, np.nan, _moving(d, head)[at])


def _moving(d: Array, head: NDArray[np.intp]) -> Array:
    """Halve and add, all rows at once: the weights of ever longer stretches follow from those of half as long ones."""
    place = np.arange(d.size)
    # the first of a group stands for all before it
    value = np.where(place == head, d, d / 2)
    for doubling in range(_DOUBLINGS):
        reach = 1 << doubling
        earlier = place - reach
        inside = earlier >= head
        value = value + np.where(inside, value[np.maximum(earlier, 0)] * 0.5**reach, 0.0)
    return np.asarray(value)
