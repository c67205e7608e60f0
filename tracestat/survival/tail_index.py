"""How heavy the tail is beyond an elapsed time, and whether a mean of it can be trusted.

With a tail index of 1 or less the mean of a law is infinite: the plug-in mean then grows with the number of rows, and
a few of the longest decide it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracestat.survival.curve import Curve

__all__ = ["MEAN_UNSTABLE", "TailIndex", "tail_index"]

MEAN_UNSTABLE = "mean_unstable"
_LEAST = 20
_STEADY = 1.2
_MOST_OF_TIME = 0.4


@dataclass(frozen=True, slots=True)
class TailIndex:
    """The tail beyond an elapsed time.

    Attributes
    ----------
    hill : float or None
        Hill's index of the longest tenth; None with too few rows.
    top_share : float or None
        Share of the remaining time that the longest 1 % of rows hold; None where there is none.
    flag : str or None
        ``"mean_unstable"`` where the index is below 1.2 or the longest 1 % hold more than 40 %.
    """

    hill: float | None
    top_share: float | None
    flag: str | None


def tail_index(curve: Curve, t: float) -> TailIndex:
    """Describe the tail of the durations longer than t.

    Parameters
    ----------
    curve : Curve
        The survival curve; late entries play no part.
    t : float
        Elapsed time, seconds.

    Returns
    -------
    TailIndex
        Hill's index is ``e / sum ln(T_(i) / T_(k+1))`` over the k longest of the n rows with T > t, e of them seen to
        end; k is a tenth of n, at least 20, and n at least twice as many. The longest 1 % are at least one row.

    References
    ----------
    .. [1] Hill (1975), A simple general approach to inference about the tail of a distribution.
    .. [2] Beirlant, Guillou, Dierckx and Fils-Villetard (2007), Estimation of the extreme value index and extreme
       quantiles under random censoring.

    Examples
    --------
    Quantiles of a Pareto law of index 1.5.

    >>> from tracestat.survival.curve import kaplan_meier
    >>> times = (1 - (np.arange(1000) + 0.5) / 1000) ** (-1 / 1.5)
    >>> found = tail_index(kaplan_meier(times, np.ones(1000)), 0.0)
    >>> round(found.hill, 1), found.flag
    (1.5, None)
    """
    first = int(curve.index(t)) + 1
    # longest first
    time = curve.time[first:][::-1]
    n_event, n = curve.n_event[first:][::-1], (curve.n_event + curve.n_censored)[first:][::-1]
    rows = np.cumsum(n)
    total = int(rows[-1]) if rows.size else 0
    if total == 0:
        return TailIndex(None, None, None)
    hill = None
    k = max(_LEAST, total // 10)
    if total >= 2 * k:
        bound = time[np.searchsorted(rows, k + 1)]
        # of rows tied with the bound any may be the last one: its logarithm is 0
        above = time > bound
        logs = float(np.sum(n[above] * np.log(time[above] / bound)))
        tied = np.searchsorted(rows, k + 1)
        events = float(n_event[above].sum()) + (k - float(n[above].sum())) * float(n_event[tied] / n[tied])
        hill = events / logs if logs > 0 and events > 0 else None
    left = time - t
    whole = float(np.sum(n * left))
    top = max(1, total // 100)
    taken = np.minimum(rows, top) - np.minimum(rows - n, top)
    share = float(np.sum(taken * left)) / whole if whole > 0 else None
    heavy = (hill is not None and hill < _STEADY) or (share is not None and share > _MOST_OF_TIME)
    return TailIndex(hill, share, MEAN_UNSTABLE if heavy else None)
