"""Which of two clusterings an interval shows first: the developer's from 20 developers on, else the session's.

Rows of one session resemble each other, and sessions of one developer do. With few developers their own variation
cannot be estimated, so the session interval stands first and a note says that it may be too short.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import ClusterInterval
from tracestat.results import NOT_AVAILABLE, Interval

__all__ = ["ENOUGH_CLUSTERS", "FEW_DEVELOPERS", "headline", "headline_of"]

ENOUGH_CLUSTERS = 20
FEW_DEVELOPERS = (
    "fewer than 20 developers ({n}): intervals are by session and do not cover how developers differ from each other"
)


def headline(session: ClusterInterval, developer: ClusterInterval) -> Interval:
    """Combine the intervals of both clusterings into one, the headline first.

    Parameters
    ----------
    session, developer : ClusterInterval
        The same estimate by each clustering.

    Returns
    -------
    Interval
        With the bounds of both and those of the headline.

    Examples
    --------
    >>> few = ClusterInterval(1.0, 0.1, 0.8, 1.2, 5, 0.95, "CV3")
    >>> many = ClusterInterval(1.0, 0.1, 0.7, 1.3, 40, 0.95, "CV3")
    >>> headline(many, few).method, headline(many, many).method
    ('session CV3', 'developer CV3')
    """
    by_developer = developer.n_clusters >= ENOUGH_CLUSTERS
    first = developer if by_developer else session
    name = "developer" if by_developer else "session"
    return Interval(
        session.value,
        first.low,
        first.high,
        session.level,
        f"{name} {first.method}" if first.low is not None else "",
        session.bounds,
        developer.bounds,
    )


def headline_of(
    estimate: Callable[[NDArray[np.intp], int], ClusterInterval | None],
    session: NDArray[np.intp],
    developer: NDArray[np.intp],
) -> Interval:
    """Run an estimator once per clustering and combine.

    Parameters
    ----------
    estimate : callable
        Takes the cluster code of each row of sufficient statistics and the number of clusters.
    session, developer : ndarray of int, shape (R,)
        Codes from 0, without gaps.
    """
    first, second = (estimate(codes, int(codes.max(initial=-1)) + 1) for codes in (session, developer))
    if first is None or second is None:
        return NOT_AVAILABLE
    return headline(first, second)
