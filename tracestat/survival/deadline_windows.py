"""Where the scan for deadlines looks: narrow windows, their flanks, and the grid of cells that serves them all.

Windows follow each other from half a second to an hour. A flank reaches from the window to a fixed ratio of its edge
on either side, so that both are equally wide on a log axis. One pass over the data counts on a common refinement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from tracestat.errors import TracestatError
from tracestat.survival.bins import Grid, Window

__all__ = ["FLANK_RATIOS", "SCAN_FROM", "SCAN_TO", "flank_edges", "limit_window", "scan_grid", "scan_windows"]

SCAN_FROM, SCAN_TO = 0.5, 3600.0
FLANK_RATIOS: tuple[float, ...] = (1.25, 1.6, 2.5, 4.0)
_NARROWEST, _RELATIVE = 0.05, 0.01
_MICROSECONDS = 6


@cache
def scan_windows(start: float = SCAN_FROM, end: float = SCAN_TO) -> tuple[Window, ...]:
    """Give the windows that are tested, without gaps.

    Parameters
    ----------
    start, end : float
        First edge and the time that the last window reaches, seconds.

    Returns
    -------
    tuple of (float, float)
        Windows [a, b): ``c_0 = start``, ``c_{k+1} = c_k + max(0.05, 0.01 c_k)``, each edge moved to the half
        millisecond above, where no duration in whole milliseconds can lie.

    Raises
    ------
    TracestatError
        If the range is empty.

    Examples
    --------
    >>> len(scan_windows()), scan_windows()[0], scan_windows()[-1][1] >= 3600
    (752, (0.5005, 0.5505), True)
    """
    if not 0 < start < end:
        raise TracestatError(f"scan from {start:g} to {end:g} s: the first must lie above 0 and below the second")
    points = [start]
    while points[-1] < end:
        points.append(points[-1] + max(_NARROWEST, _RELATIVE * points[-1]))
    # the sum of many steps of 0.05 may miss a whole millisecond by rounding
    moved = (np.floor(np.round(np.array(points) * 1000, 6)) + 0.5) / 1000
    edges = [round(float(edge), _MICROSECONDS) for edge in moved]
    return tuple(pairwise(edges))


def limit_window(limit: float, overhead: float = 0.0) -> Window:
    """Give the window in which a limit named beforehand is looked for.

    Parameters
    ----------
    limit : float
        The limit, seconds, above 0.
    overhead : float, default 0
        What the harness adds after the limit beyond the usual, seconds.

    Returns
    -------
    (float, float)
        ``[tau - max(5 ms, 0.001 tau), tau + max(0.05, 0.01 tau) + overhead)``, to the microsecond.

    Examples
    --------
    >>> limit_window(120.0), limit_window(1.0, 0.5)
    ((119.88, 121.2), (0.995, 1.55))
    """
    if not (limit > 0 and overhead >= 0):
        raise TracestatError(f"limit {limit:g} s: a limit lies above 0 s, and its overhead is not negative")
    before, after = max(0.005, 0.001 * limit), max(_NARROWEST, _RELATIVE * limit) + overhead
    return round(max(limit - before, limit / 2), _MICROSECONDS), round(limit + after, _MICROSECONDS)


def flank_edges(window: Window, ratio: float) -> Window:
    """Give the outer edges of the two flanks of a window, to the microsecond.

    Examples
    --------
    >>> flank_edges((9.9905, 10.0505), 1.25)
    (7.9924, 12.563125)
    """
    return round(window[0] / ratio, _MICROSECONDS), round(window[1] * ratio, _MICROSECONDS)


def scan_grid(windows: Sequence[Window], more: Iterable[Window] = ()) -> Grid:
    """Make the cells of which every window and every flank is a union.

    Parameters
    ----------
    windows, more : sequences of (float, float)
        Windows of the scan, and others that are tested beside them.

    Returns
    -------
    Grid
        Cells from 0 on; the last one is open.

    Examples
    --------
    >>> scan_grid([(9.9905, 10.0505)]).edges[:3]
    (0.0, 2.497625, 3.9962)
    """
    every = [*windows, *more]
    flanks = [flank_edges(window, ratio) for window in every for ratio in FLANK_RATIOS]
    return Grid.refine([], holes=[*every, *flanks])
