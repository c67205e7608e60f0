"""Rise tests of several groups: adjusted together, by both clusterings, with the headline rule."""

from __future__ import annotations

import numpy as np
import pytest

from tracestat.survival.bins import DEFAULT_EDGES, Grid, shifted_edges
from tracestat.survival.exposure import cell_sums, exposure_from_exits
from tracestat.survival.hazard import SessionCells, range_data
from tracestat.survival.rise import RiseGroup, rise_tests, rise_tests_together
from tracestat.survival.rises import NO_RISE, RiseInput, rises

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
    return RiseInput(base, moved, first + np.arange(n_sessions), np.arange(n_developers))


def test_a_deadline_is_found_and_a_constant_hazard_is_not() -> None:
    flat, spiked = rises([group(1), group(2, atom=30.0, first=80)], draws=500)
    assert flat.adjacent.significant is False
    assert spiked.adjacent.significant is True
    assert spiked.origin_moved.significant is True
    assert spiked.adjacent.clusters == "developer"
    assert spiked.pava_ratio is not None
    assert flat.pava_ratio is not None
    assert spiked.pava_ratio > flat.pava_ratio > 1


def test_the_headline_is_the_sessions_below_twenty_developers() -> None:
    (few,) = rises([group(1, n_developers=10)], draws=200)
    assert few.adjacent.clusters == "session"
    assert few.adjacent.session is not None
    assert few.adjacent.developer is not None
    assert few.adjacent.largest_upper == few.adjacent.session.largest_upper
    assert few.adjacent.developer.n_clusters == 10


def test_contrasts_name_the_middles_of_their_blocks_and_carry_both_limits() -> None:
    (one,) = rises([group(1)], draws=200)
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
    found = rises([None, group(1), None], draws=100)
    assert found[0] is NO_RISE
    assert found[2] is NO_RISE
    assert found[1].adjacent.significant is not None
    assert rises([None]) == [NO_RISE]
    assert rises([]) == []


def test_more_groups_make_wider_limits() -> None:
    (alone,) = rises([group(1)], draws=1000)
    together = rises([group(1), *(group(seed, first=80 * seed) for seed in range(2, 8))], draws=1000)[0]
    for family in ("adjacent", "any", "origin_moved"):
        one, many = getattr(alone, family), getattr(together, family)
        assert many.largest_upper > one.largest_upper
        for a, b in zip(one.contrasts, many.contrasts, strict=True):
            assert b.p_adjusted >= a.p_adjusted - 0.03  # other draws


def test_a_single_group_together_is_the_single_test() -> None:
    one = group(3)
    plain = rise_tests(one.data.D, one.data.X, one.data.blocks, draws=300, seed=5)
    (together,) = rise_tests_together([RiseGroup(one.data.D, one.data.X, one.data.blocks)], draws=300, seed=5)
    assert plain == together


@pytest.mark.parametrize("draws", [0, 300])
def test_family_wise_error_over_a_table(draws: int) -> None:
    # 5 flat groups a table: with 60 tables and 5 % nominal, more than 9 tables with a find are improbable (p = 0.001)
    hits = 0
    for table in range(60):
        groups = [group(100 + 10 * table + i, n_sessions=40, first=40 * i) for i in range(5)]
        hits += any(
            rise.adjacent.session.significant
            for rise in rises(groups, draws=draws, seed=table)
            if rise.adjacent.session
        )
    assert hits <= 9
