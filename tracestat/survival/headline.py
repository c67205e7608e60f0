"""Which of two clusterings an interval shows first: the developer's from 20 developers on, else the session's.

Rows of one session resemble each other, and sessions of one developer do. With few developers their own variation
cannot be estimated, so the session interval stands first and a note says that it may be too short.
"""

from __future__ import annotations

from tracestat.resample import ClusterInterval
from tracestat.results import Bounds, Interval

__all__ = ["ENOUGH_CLUSTERS", "FEW_DEVELOPERS", "complement", "headline"]

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


def complement(interval: Interval) -> Interval:
    """Turn the interval of a probability into that of its complement.

    Examples
    --------
    >>> complement(Interval(0.25, 0.125, 0.5)).low
    0.5
    """

    def flip(bounds: Bounds) -> Bounds:
        low, high = bounds
        return (None if high is None else 1 - high, None if low is None else 1 - low)

    return Interval(
        None if interval.value is None else 1 - interval.value,
        *flip((interval.low, interval.high)),
        interval.level,
        interval.method,
        interval.session and flip(interval.session),
        interval.developer and flip(interval.developer),
    )
