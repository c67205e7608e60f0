"""The rise tests of all groups of one table: by session and by developer, adjusted together, told as results.

One draw of multipliers per cluster serves every group, bin set and family, so that groups which share developers
keep that dependence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import ClusterInterval, sign_multipliers, student_interval
from tracestat.results import Contrast, Interval, Rise, RiseFamily, RiseLimit
from tracestat.survival.blocks import block_centres
from tracestat.survival.hazard import RangeData
from tracestat.survival.headline import ENOUGH_CLUSTERS, headline
from tracestat.survival.monotone import pava_ratio
from tracestat.survival.rise import RiseContrast, RiseGroup, RiseTest, draw_shared, rise_tests_together
from tracestat.survival.threads import two_at_a_time

__all__ = ["NO_RISE", "BinSets", "RiseInput", "rises"]

_NOTHING = RiseFamily(None, note="too few events, bins or sessions")
NO_RISE = Rise(_NOTHING, _NOTHING, _NOTHING, None)
_ENOUGH_SIGNS = 12


@dataclass(frozen=True, slots=True)
class BinSets:
    """The bins of one test, and the same moved by half a bin."""

    data: RangeData
    moved: RangeData


@dataclass(frozen=True, slots=True)
class RiseInput:
    """One group: what to test, and which cluster each of its rows is.

    Attributes
    ----------
    variants : mapping of str to BinSets
        By name, for example with deadlines kept and cut; each name is a table of its own.
    session, developer : ndarray of int
        Numbers of the group's sessions, and of its developers in the order of ``RangeData.by_developer()``, among
        those of the whole table.
    """

    variants: Mapping[str, BinSets]
    session: NDArray[np.intp]
    developer: NDArray[np.intp]


def rises(groups: Sequence[RiseInput], *, draws: int = 2_000, seed: int = 0) -> list[dict[str, Rise]]:
    """Test every group of a table for rises, each variant adjusted over the groups that have it.

    Parameters
    ----------
    groups : sequence of RiseInput
        Groups without variants are those that have too little data.
    draws : int, default 2,000
        Draws of the multipliers; 0 takes Holm's correction.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    list of dict of Rise
        In the order of the groups, by variant. The headline is the developers' from 20 of them on.
    """
    prepared = {name: _prepared(groups, name, draws, seed) for name in ("session", "developer")}
    variants = list(dict.fromkeys(name for group in groups for name in group.variants))

    def tested(variant: str) -> dict[int, Rise]:
        having = [i for i, group in enumerate(groups) if variant in group.variants]
        tests = {}
        for name, made in prepared.items():
            base = rise_tests_together([made[i][variant][0] for i in having], draws=draws, seed=seed)
            moved = rise_tests_together([made[i][variant][1] for i in having], ("adjacent",), draws=draws, seed=seed)
            tests[name] = [(a["adjacent"], a["any"], b["adjacent"]) for a, b in zip(base, moved, strict=True)]
        return {
            i: _rise(groups[i].variants[variant], session, developer)
            for i, session, developer in zip(having, tests["session"], tests["developer"], strict=True)
        }

    by_variant = dict(zip(variants, two_at_a_time(tested, variants), strict=True))
    return [{variant: by_variant[variant][i] for variant in group.variants} for i, group in enumerate(groups)]


def _rise(sets: BinSets, session: Sequence[RiseTest], developer: Sequence[RiseTest]) -> Rise:
    """Tell the tests of neighbours, of any pair and of neighbours in the moved bins, by both clusterings."""
    adjacent, anywhere, moved_origin = (
        _family(*tests) for tests in zip(session, developer, (sets.data, sets.data, sets.moved), strict=True)
    )
    used = slice(0, sets.data.n_bins)
    ratio = pava_ratio(sets.data.D.sum(axis=0)[used], sets.data.X.sum(axis=0)[used])
    return Rise(adjacent, anywhere, moved_origin, ratio)


def _prepared(
    groups: Sequence[RiseInput], name: str, draws: int, seed: int
) -> list[dict[str, tuple[RiseGroup, RiseGroup]]]:
    """Lay every bin set out by one clustering, and draw once for all bin sets of a group."""
    codes = [group.session if name == "session" else group.developer for group in groups]
    n = 1 + max((int(code.max(initial=0)) for code in codes), default=0)
    common = sign_multipliers(n, draws, seed) if draws and n >= _ENOUGH_SIGNS else None

    def laid_out(group: RiseInput, code: NDArray[np.intp]) -> dict[str, tuple[RiseGroup, RiseGroup]]:
        flat = []
        for sets in group.variants.values():
            for data in (sets.data, sets.moved):
                D, X = (data.D, data.X) if name == "session" else data.by_developer()
                flat.append(RiseGroup(D, X, data.blocks))
        # few clusters need multipliers of their own (Webb's points), not signs
        if flat and common is not None and code.size >= _ENOUGH_SIGNS:
            own: NDArray[np.int8] | NDArray[np.float64] = common.take(code, axis=1)
            flat = draw_shared(flat, own)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return dict(zip(group.variants, pairs, strict=True))

    return two_at_a_time(lambda pair: laid_out(*pair), zip(groups, codes, strict=True))


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
