"""The key ``recent``, for whoever keeps the lengths of earlier pauses: the mean of the last few."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import exp, inf, log

from tracestat.errors import UsageError

__all__ = ["recent_of"]

_LAST = 5
_SHORTEST = 1e-3


def recent_of(lengths: Iterable[float]) -> float | None:
    """Give the mean that the key ``recent`` of a forecast stands for.

    Parameters
    ----------
    lengths : iterable of float
        Seconds that the last pauses of one command of one developer took which had ended before this one started, the
        newest first. Only the first five count; a length below 1 ms counts as 1 ms.

    Returns
    -------
    float or None
        Seconds; None where there is none.

    Raises
    ------
    UsageError
        A length that is no number of seconds from 0 on.

    Notes
    -----
    Mean of logarithms, each older pause with half the weight of the next: ``exp(sum ln(x_i) 2^-i / sum 2^-i)``, as in
    ``queries/forecast_rows.sql``.

    Examples
    --------
    >>> import tracestat
    >>> tracestat.recent_of([])
    >>> round(tracestat.recent_of([8.0, 1.0]), 6)
    4.0
    """
    total = weights = 0.0
    for number, length in enumerate(islice(lengths, _LAST)):
        if not 0 <= length < inf:
            raise UsageError(f"recent: {length} is no length of a pause; give seconds from 0")
        total += log(max(length, _SHORTEST)) / 2**number
        weights += 1 / 2**number
    return exp(total / weights) if weights else None
