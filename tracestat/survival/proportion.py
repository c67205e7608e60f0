"""A share of rows that did something, when rows of one session or developer resemble each other.

The interval is that of a survival probability at one time: the share is 1 - S of a curve with a single step, so its
bounds come from the same log-log scale and the same sums of influence. On that scale a small share has bounds above 0
and a large one bounds below 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval
from tracestat.survival.curve import log_log_interval
from tracestat.survival.influence import clustered_variance

__all__ = ["clustered_share"]


def clustered_share(did: ArrayLike, n: ArrayLike, level: float = 0.95) -> ClusterInterval | None:
    """Give the share of rows that did something, with its interval by clusters.

    Parameters
    ----------
    did : array_like, shape (G,)
        Rows of each cluster that did.
    n : array_like, shape (G,)
        All rows of each cluster; clusters without rows do not count.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    ClusterInterval or None
        The share p with the log-log interval of 1 - p turned over; no bounds where p is 0 or 1, or for fewer than two
        clusters. None if there are no rows.

    Raises
    ------
    TracestatError
        If more rows did than there are, or the shapes do not fit.

    Notes
    -----
    A cluster's influence on ln(1 - p) is ``U_g = (d_g - p n_g) / (n (1 - p))``. Its variance ``G/(G - 1) sum U_g^2``
    is never below ``d / (n (n - d))``, that of independent rows (Greenwood's, with one step), and is widened to
    Student's t with G - 1 degrees of freedom.

    Examples
    --------
    >>> share = clustered_share([1, 0, 2, 1], [10, 10, 10, 10])
    >>> share.value, [round(bound, 3) for bound in share.bounds]
    (0.1, [0.022, 0.388])
    >>> clustered_share([0, 0], [5, 5]).bounds
    (None, None)
    """
    counted, rows = np.asarray(did, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if counted.shape != rows.shape or rows.ndim != 1 or bool(((counted < 0) | (counted > rows)).any()):
        raise TracestatError("share: each cluster needs two counts, the first of them at most the second")
    counted, rows = counted[rows > 0], rows[rows > 0]
    total, ended = float(rows.sum()), float(counted.sum())
    if total == 0:
        return None
    value, n_clusters = ended / total, rows.size
    nothing = ClusterInterval(value, None, None, None, n_clusters, level, "log-log")
    if n_clusters < 2 or ended in (0.0, total):
        return nothing
    variance = clustered_variance(((counted - value * rows) / (total - ended))[:, None])
    if variance is None:
        return nothing
    wider = float(stdtrit(n_clusters - 1, 0.5 + level / 2) / ndtri(0.5 + level / 2))
    spread = max(float(variance[0]), ended / (total * (total - ended))) * wider**2
    low, high = (float(bound) for bound in log_log_interval(1 - value, spread, level))
    return ClusterInterval(value, (1 - value) * float(np.sqrt(spread)), 1 - high, 1 - low, n_clusters, level, "log-log")
