"""How much ends in an atom beyond what a smooth hazard explains: of the rows that reach it, and of all rows.

Both are differences of sums over sums, so a cluster can be left out at no cost, flanks included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from tracestat.resample import ClusterInterval, jackknife_interval, sum_by
from tracestat.results import Interval
from tracestat.survival.curve import log_log_interval
from tracestat.survival.deadline_cells import ScanCells
from tracestat.survival.deadline_votes import WindowTest
from tracestat.survival.headline import headline

__all__ = ["Excess", "excess_of", "share_of_atoms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Excess:
    """The mass of an atom.

    Attributes
    ----------
    mass : Interval
        q = (O - E) / rows that reach the window: the factor by which the survival curve drops is 1 - q.
    share : Interval
        (O - E) / all rows.
    """

    mass: Interval
    share: Interval


def excess_of(data: ScanCells, test: WindowTest, *, established: bool = True) -> Excess:
    """Give mass and share of a window with their intervals by session and by developer.

    Parameters
    ----------
    data : ScanCells
        The counts that the test was made from.
    test : WindowTest
    established : bool, default True
        Whether the window is known to hold an atom. Then bounds lie on the log-log scale of 1 - q, above 0. If not,
        they lie at equal distances and may reach below 0.

    Returns
    -------
    Excess
        From the jackknife over clusters (CV3), flanks estimated anew without each; a standard error is never below
        that of independent rows.
    """
    reach = data.reaching(test.window[0])
    rows = sum_by(data.n_exit, data.session, data.n_sessions)
    return Excess(*(_interval(data, [test], whole, established) for whole in (reach, rows)))


def share_of_atoms(data: ScanCells, tests: Sequence[WindowTest]) -> Interval:
    """Give the share of all rows that several atoms hold together.

    Parameters
    ----------
    data : ScanCells
    tests : sequence of WindowTest
        Windows that do not overlap; without any the share is 0, without bounds.

    Returns
    -------
    Interval
        As that of :func:`excess_of`.
    """
    if not tests:
        return Interval(0.0)
    return _interval(data, tests, sum_by(data.n_exit, data.session, data.n_sessions), established=True)


def _interval(data: ScanCells, tests: Sequence[WindowTest], whole: Floats, established: bool) -> Interval:
    by_session = [(t.D, t.X, t.D_left, t.X_left, t.D_right, t.X_right) for t in tests]
    n = data.n_developers
    by_developer = [tuple(sum_by(v, data.developer, n) for v in sums) for sums in by_session]
    return headline(
        _clustered(by_session, whole, established),
        _clustered(by_developer, sum_by(whole, data.developer, n), established),
    )


def _excess(sums: Sequence[Floats]) -> Floats:
    """Give O - E from (D, X, D_L, X_L, D_R, X_R); NaN where a flank has no exposure."""
    D, X, D_left, X_left, D_right, X_right = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = np.sqrt((D_left + 0.5) / X_left * (D_right + 0.5) / X_right)
        found: Floats = np.where((X_left > 0) & (X_right > 0), D - hazard * X, np.nan)
    return found


def _clustered(tests: Sequence[Sequence[Floats]], whole: Floats, established: bool) -> ClusterInterval:
    # a cluster that never reaches a window may still hold some of its left flank
    use = (whole > 0) | np.any([v > 0 for sums in tests for v in sums], axis=0)
    denominator = whole[use]
    total = float(denominator.sum())
    above, without = 0.0, np.zeros(denominator.size)
    for sums in tests:
        own = [v[use] for v in sums]
        full = [np.asarray(v.sum()) for v in own]
        above += float(_excess(full))
        # what rounding leaves of an exposure that only one cluster has is nothing
        without += _excess([np.where(t - v > 1e-9 * t, t - v, 0.0) for t, v in zip(full, own, strict=True)])
    rest = total - denominator
    replicates = np.divide(without, rest, out=np.full(rest.shape, np.nan), where=rest > 0)
    value = above / total
    found = jackknife_interval(value, replicates)
    if found.se is None:
        return found
    student = float(stdtrit(found.n_clusters - 1, 0.5 + found.level / 2))
    if established and 0 < value < 1:
        se = max(found.se, float(np.sqrt(value * (1 - value) / total)))
        widened = (student / float(ndtri(0.5 + found.level / 2)) * se / (1 - value)) ** 2
        low, high = (1 - float(bound) for bound in reversed(log_log_interval(1 - value, widened, found.level)))
    else:
        # an excess of nothing is a difference of counts, seen and expected
        seen = sum(float(sums[0][use].sum()) for sums in tests)
        se = max(found.se, float(np.sqrt(max(seen, seen - above))) / total)
        low, high = value - student * se, min(value + student * se, 1.0)
    return replace(found, se=se, low=low, high=max(high, value))
