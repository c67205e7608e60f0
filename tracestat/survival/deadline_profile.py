"""The hazard around the atoms, coarse enough to be drawn: bins of enough ends, and an atom never shares one.

Beside each bin stands the smooth hazard that the scan expects there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracestat.resample import ClusterInterval, sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.survival.bins import Window
from tracestat.survival.deadline_cells import ScanCells
from tracestat.survival.deadline_scan import Scan
from tracestat.survival.deadline_votes import backgrounds
from tracestat.survival.headline import headline
from tracestat.survival.intervals import BinHazards, bin_hazards

__all__ = ["ProfileRow", "profile"]

_FEWEST, _MOST_BINS, _WIDEST = 10, 80, 1.6


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One bin.

    Attributes
    ----------
    window : (float, float)
        [lo, hi), seconds.
    events, exposure : float
        Ends, and seconds watched.
    hazard : Interval
        Events per second.
    smooth : float or None
        The hazard that the flanks expect; None where they say nothing.
    in_atom : bool
        Whether the bin is an atom of the scan.
    """

    window: Window
    events: float
    exposure: float
    hazard: Interval
    smooth: float | None
    in_atom: bool


def profile(data: ScanCells, windows: Sequence[Window], found: Scan) -> list[ProfileRow]:
    """Give the hazard over the range of the scan, up to the last row that was watched.

    Parameters
    ----------
    data : ScanCells
    windows : sequence of (float, float)
        Those of the scan, without gaps.
    found : Scan
        Its outcome.

    Returns
    -------
    list of ProfileRow
        Empty with fewer than 10 ends. An atom is one bin; between atoms windows are joined until they hold enough ends
        (10, or an eightieth of all) or reach a ratio of 1.6.
    """
    if not windows:
        return []
    ends = float(data.events[data.at(windows[0][0]) : data.at(windows[-1][1])].sum())
    if ends < _FEWEST:
        return []
    beside = [b for b in backgrounds(data, windows, found.masked) if b.X > 0]
    enough = max(_FEWEST, ends / _MOST_BINS)
    atoms = [atom.window for atom in found.atoms]
    groups: list[list[int]] = []
    was, is_open, held = None, False, 0.0
    for place, item in enumerate(beside):
        here = next((a for a in atoms if a[0] <= item.window[0] < a[1]), None)
        if not is_open or here != was:
            groups.append([])
            held = 0.0
        groups[-1].append(place)
        was, held = here, held + item.D
        full = held >= enough or item.window[1] >= _WIDEST * beside[groups[-1][0]].window[0]
        is_open = here is not None or not full
    bins = [(beside[g[0]].window[0], beside[g[-1]].window[1]) for g in groups]
    sums = [data.by_session(data.inside([window])) for window in bins]
    D, X = np.stack([d for d, _ in sums], axis=1), np.stack([x for _, x in sums], axis=1)
    n = data.n_developers
    both = bin_hazards(D, X), bin_hazards(sum_by(D, data.developer, n), sum_by(X, data.developer, n))
    rows = []
    for j, (window, group) in enumerate(zip(bins, groups, strict=True)):
        known = [beside[i] for i in group if beside[i].hazard is not None]
        expected, time = sum(b.expected or 0.0 for b in known), sum(b.X for b in known)
        events, exposure = D[:, j].sum(), X[:, j].sum()
        rows.append(
            ProfileRow(
                window,
                float(events),
                float(exposure),
                headline(*(_of_bin(h, j) for h in both)) if exposure > 0 else NOT_AVAILABLE,
                expected / time if time > 0 else None,
                any(a[0] <= window[0] < a[1] for a in atoms),
            )
        )
    return rows


def _of_bin(found: BinHazards, j: int) -> ClusterInterval:
    low, high = (float(bound[j]) if np.isfinite(bound[j]) else None for bound in (found.low, found.high))
    method = "clustered" if found.clustered[j] else "exact Poisson"
    return ClusterInterval(float(found.hazard[j]), None, low, high, found.n_clusters, 0.95, method)
