"""Rise tests of several groups: adjusted together, by both clusterings, with the headline rule."""

from __future__ import annotations

import numpy as np
import pytest

from tracestat.results import Rise
from tracestat.survival.bins import DEFAULT_EDGES, Grid, shifted_edges
from tracestat.survival.exposure import cell_sums, exposure_from_exits
from tracestat.survival.hazard import SessionCells, range_data
from tracestat.survival.rise import RiseGroup, rise_tests, rise_tests_together
from tracestat.survival.rises import BinSets, RiseInput, rises

MOVED = shifted_edges(DEFAULT_EDGES)
GRID = Grid.refine([DEFAULT_EDGES, MOVED])


def group(
    seed: int, *, atom: float | None = None, n_sessions: int = 80, n_developers: int = 25, first: int = 0
) -> RiseInput:
    rng = np.random.default_rng(seed)
    session = np.repeat(np.arange(n_sessions), 40)
    times = rng.exponential(30.0, session.size)
    if atom is not None:
        times = np.where(rng.random(times.size) < 0.25, np.maximum(times, atom), times)
        times = np.where((times > atom) & (rng.random(times.size) < 0.5), atom + 0.05, times)
    exits, event, time = cell_sums(
        times, np.ones(times.size, bool), GRID.edges, clusters=session, n_clusters=n_sessions
    )
    developer = np.arange(n_sessions) % n_developers
    data = SessionCells(event, exposure_from_exits(exits, time, GRID.edges), developer)
    base, moved = (range_data(data, GRID, edges) for edges in (DEFAULT_EDGES, MOVED))
    return RiseInput({"all": BinSets(base, moved)}, first + np.arange(n_sessions), np.arange(n_developers))


def run(*groups: RiseInput, draws: int = 500, seed: int = 0) -> list[Rise]:
    return [found["all"] for found in rises(groups, draws=draws, seed=seed)]


def test_a_deadline_is_found_and_a_constant_hazard_is_not() -> None:
    flat, spiked = run(group(1), group(2, atom=30.0, first=80))
    assert flat.adjacent.significant is False
    assert spiked.adjacent.significant is True
    assert spiked.origin_moved.significant is True
    assert spiked.adjacent.clusters == "developer"
    assert spiked.pava_ratio is not None
    assert flat.pava_ratio is not None
    assert spiked.pava_ratio > flat.pava_ratio > 1


def test_the_headline_is_the_sessions_below_twenty_developers() -> None:
    (few,) = run(group(1, n_developers=10), draws=200)
    assert few.adjacent.clusters == "session"
    assert few.adjacent.session is not None
    assert few.adjacent.developer is not None
    assert few.adjacent.largest_upper == few.adjacent.session.largest_upper
    assert few.adjacent.developer.n_clusters == 10


def test_contrasts_name_the_middles_of_their_blocks_and_carry_both_limits() -> None:
    (one,) = run(group(1), draws=200)
    for contrast in one.adjacent.contrasts:
        assert 0.1285 < contrast.start < contrast.stop < 12857.8
        assert contrast.ratio.value is not None
        assert contrast.upper is not None
        assert contrast.ratio.session is not None
        assert contrast.ratio.developer is not None
        # the simultaneous limit is wider than that of one contrast alone would be at the same side
        assert contrast.upper > contrast.ratio.value - 1
    assert len(one.any.contrasts) > len(one.adjacent.contrasts)


def test_groups_without_data_stay_in_their_place() -> None:
    nothing = RiseInput({}, np.arange(3), np.arange(2))
    found = rises([nothing, group(1), nothing], draws=100)
    assert [list(each) for each in found] == [[], ["all"], []]
    assert rises([nothing]) == [{}]
    assert rises([]) == []


def test_more_groups_make_wider_limits() -> None:
    (alone,) = run(group(1), draws=1000)
    together = run(group(1), *(group(seed, first=80 * seed) for seed in range(2, 8)), draws=1000)[0]
    for family in ("adjacent", "any", "origin_moved"):
        one, many = getattr(alone, family), getattr(together, family)
        assert many.largest_upper > one.largest_upper
        for a, b in zip(one.contrasts, many.contrasts, strict=True):
            assert b.p_adjusted >= a.p_adjusted - 0.03  # other draws


def test_a_single_group_together_is_the_single_test() -> None:
    one = group(3)
    plain = rise_tests(
        one.variants["all"].data.D, one.variants["all"].data.X, one.variants["all"].data.blocks, draws=300, seed=5
    )
    (together,) = rise_tests_together(
        [RiseGroup(one.variants["all"].data.D, one.variants["all"].data.X, one.variants["all"].data.blocks)],
        draws=300,
        seed=5,
    )
    assert plain == together


@pytest.mark.parametrize("draws", [0, 300])
@pytest.mark.first_case
def test_family_wise_error_over_a_table(draws: int) -> None:
    # 5 flat groups a table: with 60 tables and 5 % nominal, more than 9 tables with a find are improbable (p = 0.001)
    hits = 0
    for table in range(60):
        groups = [group(100 + 10 * table + i, n_sessions=40, first=40 * i) for i in range(5)]
        hits += any(
            rise.adjacent.session.significant for rise in run(*groups, draws=draws, seed=table) if rise.adjacent.session
        )
    assert hits <= 9
