"""The rise tests of all groups of one table: by session and by developer, adjusted together, told as results.

One draw of multipliers per cluster serves every group, bin set and family, so that groups which share developers
keep that dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import ClusterInterval, sign_multipliers, student_interval
from tracestat.results import Contrast, Interval, Rise, RiseFamily, RiseLimit
from tracestat.survival.blocks import block_centres
from tracestat.survival.hazard import RangeData
from tracestat.survival.headline import ENOUGH_CLUSTERS, headline
from tracestat.survival.rise import RiseContrast, RiseGroup, RiseTest, pava_ratio, rise_tests_together

__all__ = ["NO_RISE", "RiseInput", "rises"]

_NOTHING = RiseFamily(None, note="too few events, bins or sessions")
NO_RISE = Rise(_NOTHING, _NOTHING, _NOTHING, None)
_ENOUGH_SIGNS = 12


@dataclass(frozen=True, slots=True)
class RiseInput:
    """One group: its bins, the same moved by half a bin, and which cluster each of its rows is.

    Attributes
    ----------
    data, moved : RangeData
        Events and exposure per session and bin.
    session, developer : ndarray of int
        Numbers of the group's sessions, and of its developers in the order of ``data.by_developer()``, among those of
        the whole table.
    """

    data: RangeData
    moved: RangeData
    session: NDArray[np.intp]
    developer: NDArray[np.intp]


def rises(groups: Sequence[RiseInput | None], *, draws: int = 2_000, seed: int = 0) -> list[Rise]:
    """Test every group of a table for rises, adjusted together.

    Parameters
    ----------
    groups : sequence of RiseInput or None
        None for a group that has too little data.
    draws : int, default 2,000
        Draws of the multipliers; 0 takes Holm's correction.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    list of Rise
        In the order of the groups. The headline is the developers' from 20 of them on.
    """
    present = [group for group in groups if group is not None]
    if not present:
        return [NO_RISE for _ in groups]
    made = iter(_together(present, draws, seed))
    return [NO_RISE if group is None else next(made) for group in groups]


def _together(groups: Sequence[RiseInput], draws: int, seed: int) -> list[Rise]:
    tests: dict[str, list[tuple[RiseTest, RiseTest, RiseTest]]] = {}
    for name in ("session", "developer"):
        codes = [cast("NDArray[np.intp]", getattr(group, name)) for group in groups]
        n = 1 + max(int(code.max(initial=0)) for code in codes)
        common = sign_multipliers(n, draws, seed) if draws and n >= _ENOUGH_SIGNS else None
        base = [_input(group.data, name, code, common) for group, code in zip(groups, codes, strict=True)]
        moved = [_input(group.moved, name, code, common) for group, code in zip(groups, codes, strict=True)]
        first = rise_tests_together(base, ("adjacent", "any"), draws=draws, seed=seed)
        second = rise_tests_together(moved, ("adjacent",), draws=draws, seed=seed)
        tests[name] = [(a["adjacent"], a["any"], b["adjacent"]) for a, b in zip(first, second, strict=True)]
    out = []
    for i, group in enumerate(groups):
        session, developer = tests["session"][i], tests["developer"][i]
        adjacent, anywhere, moved_origin = (
            _family(by_session, by_developer, data)
            for by_session, by_developer, data in zip(
                session, developer, (group.data, group.data, group.moved), strict=True
            )
        )
        used = slice(0, group.data.n_bins)
        ratio = pava_ratio(group.data.D.sum(axis=0)[used], group.data.X.sum(axis=0)[used])
        out.append(Rise(adjacent, anywhere, moved_origin, ratio))
    return out


def _input(
    data: RangeData, name: str, code: NDArray[np.intp], common: NDArray[np.int8] | NDArray[np.float64] | None
) -> RiseGroup:
    D, X = (data.D, data.X) if name == "session" else data.by_developer()
    # few clusters need multipliers of their own (Webb's points), not signs
    shared = common[:, code] if common is not None and code.size >= _ENOUGH_SIGNS else None
    return RiseGroup(D, X, data.blocks, shared)


def _limit(test: RiseTest, middles: NDArray[np.float64]) -> RiseLimit:
    if test.largest is None:
        return RiseLimit(test.significant, None, None, None, test.n_clusters)
    start, stop = float(middles[test.largest.start]), float(middles[test.largest.stop])
    return RiseLimit(test.significant, test.largest_upper, start, stop, test.n_clusters)


def _family(session: RiseTest, developer: RiseTest, data: RangeData) -> RiseFamily:
    middles = np.exp(block_centres(data.edges, data.blocks))
    by_developer = developer.n_clusters >= ENOUGH_CLUSTERS
    first = developer if by_developer else session
    limits = _limit(session, middles), _limit(developer, middles)
    head = limits[1] if by_developer else limits[0]
    contrasts = tuple(
        Contrast(
            float(middles[one.start]),
            float(middles[one.stop]),
            _ratio(by_s, by_d, session.n_clusters, developer.n_clusters),
            one.p_adjusted,
            one.upper,
        )
        for one, by_s, by_d in zip(first.contrasts, session.contrasts, developer.contrasts, strict=True)
    )
    return RiseFamily(
        first.significant,
        contrasts,
        head.largest_upper,
        head.largest_from,
        head.largest_to,
        "developer" if by_developer else "session",
        *limits,
        first.note,
    )


def _ratio(session: RiseContrast, developer: RiseContrast, n_sessions: int, n_developers: int) -> Interval:
    """Give the ratio of two hazards with the interval of this contrast alone."""
    both = []
    for contrast, n in ((session, n_sessions), (developer, n_developers)):
        se = np.nan if contrast.se is None else contrast.se
        log = student_interval(contrast.log_ratio, se, n, 0.95, "clustered")
        low, high = (None if bound is None else float(np.exp(bound)) for bound in log.bounds)
        both.append(ClusterInterval(float(np.exp(log.value)), log.se, low, high, n, 0.95, "clustered"))
    return headline(*both)
