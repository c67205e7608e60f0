"""One window against its flanks: known numbers, oracles, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tests.survival.data import Floats, quick
from tracestat.errors import TracestatError
from tracestat.survival.bins import Grid
from tracestat.survival.deadline_cells import ScanCells, cells_of_rows
from tracestat.survival.deadline_excess import excess_of
from tracestat.survival.deadline_votes import (
    Background,
    WindowTest,
    backgrounds,
    benjamini_hochberg,
    examine,
    vote_p_value,
)
from tracestat.survival.deadline_windows import flank_edges, scan_grid

WINDOW = (9.9905, 10.0505)
GRID = scan_grid([WINDOW])
TOY = np.concatenate([np.geomspace(8, 9.9, 20), np.full(30, 10.01), np.geomspace(10.1, 12.6, 20), np.full(100, 50.0)])


def none_masked(data: ScanCells) -> NDArray[np.bool_]:
    return np.zeros(data.grid.n_cells, dtype=np.bool_)


def examined(data: ScanCells) -> WindowTest:
    (background,) = backgrounds(data, [WINDOW], none_masked(data))
    return examine(data, background, none_masked(data))


def toy(order: NDArray[np.intp] | None = None) -> ScanCells:
    rows = np.arange(TOY.size) if order is None else order
    return cells_of_rows(TOY[rows], np.ones(TOY.size), rows % 20, GRID)


@pytest.mark.parametrize(
    ("votes", "expected", "flanks", "p"),
    [(23, 0.89, 11, 2.69048899333e-19), (9, 3.24, 39, 0.00857829841413), (20, 0.518046994852, 39, 2.36227293527e-23)],
)
def test_vote_p_value(votes: float, expected: float, flanks: float, p: float) -> None:
    assert vote_p_value(votes, expected, flanks) == pytest.approx(p, rel=1e-9)


@given(st.integers(0, 40), st.floats(0.01, 30), st.integers(0, 300))
@quick
def test_vote_p_value_is_the_tail_of_a_negative_binomial(votes: int, expected: float, flanks: int) -> None:
    size = flanks + 1
    tail = stats.nbinom.sf(votes - 1, size, size / (size + expected))
    assert vote_p_value(votes, expected, flanks) == pytest.approx(float(tail), rel=1e-7, abs=1e-300)


def test_toy_with_a_deadline() -> None:
    data = toy()
    test = examined(data)
    background = test.background
    assert (background.ratio, background.D_left, background.D_right, background.D) == (1.25, 20, 19, 30)
    assert test.expected == pytest.approx(0.524878789801, rel=1e-9)
    assert (test.votes, test.by_z) == (20, False)
    assert test.expected_votes == pytest.approx(0.518046994852, rel=1e-9)
    assert test.z == pytest.approx(4.12525426508, rel=1e-9)
    assert test.p == pytest.approx(2.36227293527e-23, rel=1e-9)
    excess = excess_of(data, test)
    assert excess.mass.value == pytest.approx(0.196500808068, rel=1e-9)
    assert excess.share.value == pytest.approx(0.173383065942, rel=1e-9)


def test_row_order_does_not_matter() -> None:
    first, second = examined(toy()), examined(toy(np.random.default_rng(1).permutation(TOY.size)))
    assert second.p == pytest.approx(first.p, rel=1e-12)
    assert second.z == pytest.approx(first.z, rel=1e-12)


def test_a_value_on_the_upper_edge_lies_above() -> None:
    grid = scan_grid([(1.0, 2.0)])
    data = cells_of_rows([1.0, 2.0, 1.999], [1, 1, 1], [0, 0, 0], grid)
    assert data.by_session(data.inside([(1.0, 2.0)]))[0] == [2.0]


def brute(times: Floats, observed: Floats, session: NDArray[np.intp], low: float, high: float) -> tuple[Floats, Floats]:
    n = int(session.max()) + 1
    D, X = np.zeros(n), np.zeros(n)
    for t, e, g in zip(times, observed, session, strict=True):
        D[g] += e * (low <= t < high)
        X[g] += max(0.0, min(t, high) - low)
    return D, X


@given(st.integers(0, 2**32 - 1))
@quick
def test_sums_per_session_are_those_of_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    times = np.round(rng.lognormal(2, 1.2, n), 3)
    observed, session = (
        (rng.random(n) < 0.8).astype(np.float64),
        np.unique(rng.integers(0, 6, n), return_inverse=True)[1],
    )
    data = cells_of_rows(times, observed, session, GRID)
    begin, end = flank_edges(WINDOW, 2.5)
    for low, high in (WINDOW, (begin, WINDOW[0]), (WINDOW[1], end)):
        D, X = data.by_session(data.inside([(low, high)]))
        expected_D, expected_X = brute(times, observed, session, low, high)
        np.testing.assert_allclose(D, expected_D)
        np.testing.assert_allclose(X, expected_X, atol=1e-9)
        inside = data.inside([(low, high)])
        assert data.exposure[inside].sum() == pytest.approx(expected_X.sum(), abs=1e-8)
        assert data.events[inside].sum() == expected_D.sum()
    np.testing.assert_array_equal(
        data.reaching(WINDOW[0]), [np.sum(times[session == g] >= WINDOW[0]) for g in range(data.n_sessions)]
    )


def test_masked_cells_count_neither_events_nor_exposure() -> None:
    data = toy()
    masked = data.inside([(flank_edges(WINDOW, 1.25)[0], WINDOW[0])])
    (background,) = backgrounds(data, [WINDOW], masked)
    # the left flank must reach beyond the mask, where nothing ended
    assert (background.D_left, background.ratio) == (0, 4.0)
    assert background.X_left == pytest.approx(170 * (7.9924 - 2.497625))


def test_flanks_widen_until_each_holds_ten() -> None:
    times = np.concatenate([np.full(5, 9.0), np.full(5, 7.0), np.full(10, 13.0), np.full(50, 60.0)])
    (background,) = backgrounds(
        data := cells_of_rows(times, np.ones(times.size), np.arange(times.size), GRID), [WINDOW], none_masked(data)
    )
    assert (background.ratio, background.D_left, background.D_right) == (1.6, 10, 10)


def test_without_ends_beside_it_a_window_cannot_be_tested() -> None:
    times = np.concatenate([np.full(30, 10.01), np.full(4, 11.0), np.full(50, 60.0)])
    (background,) = backgrounds(
        data := cells_of_rows(times, np.ones(times.size), np.arange(times.size), GRID), [WINDOW], none_masked(data)
    )
    assert not background.testable


def test_a_window_that_nobody_survives_has_no_background() -> None:
    times = np.concatenate([np.geomspace(8, 9.9, 20), np.full(30, 10.01)])
    (background,) = backgrounds(
        data := cells_of_rows(times, np.ones(50), np.arange(50), GRID), [WINDOW], none_masked(data)
    )
    assert (background.hazard, background.expected, background.testable) == (None, None, False)


def test_votes_that_saturate_give_way_to_z() -> None:
    # 12 sessions of 600 rows that end evenly over 5 to 16 s: nearly every session has an end in any window
    test = examined(cells_of_rows(np.linspace(5, 16, 7200), np.ones(7200), np.arange(7200) % 12, GRID))
    assert test.by_z
    assert test.z is not None
    assert test.p == pytest.approx(float(stats.norm.sf(test.z)))


def test_one_session_alone_has_no_z() -> None:
    data = cells_of_rows(TOY, np.ones(TOY.size), np.zeros(TOY.size, dtype=int), GRID)
    test = examined(data)
    assert test.z is None
    assert not test.by_z
    assert excess_of(data, test).share.session == (None, None)


def test_a_session_that_polls_counts_once() -> None:
    session = np.where(TOY == 10.01, 0, np.arange(TOY.size) % 20)
    test = examined(cells_of_rows(TOY, np.ones(TOY.size), session, GRID))
    assert (test.background.D, test.votes) == (30, 1)
    assert test.p > 0.1


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=30))
@quick
def test_benjamini_hochberg_agrees_with_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p), rtol=1e-12)


def test_no_p_values_at_all() -> None:
    assert benjamini_hochberg([]).size == 0


def test_hazard_is_log_symmetric() -> None:
    background = Background(WINDOW, 1.25, 3.0, 5.0, 9.5, 10.0, 3.5, 16.0)
    assert background.hazard == pytest.approx(0.5)
    assert background.expected == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("times", "observed", "session"), [([-1.0], [1], [0]), ([np.nan], [1], [0]), ([1.0, 2.0], [1], [0])]
)
def test_rows_that_are_none(times: list[float], observed: list[int], session: list[int]) -> None:
    with pytest.raises(TracestatError, match="deadline scan"):
        cells_of_rows(times, observed, session, GRID)


def test_a_window_off_the_grid() -> None:
    data = cells_of_rows([1.0], [1], [0], Grid((0.0, 2.0)))
    with pytest.raises(TracestatError, match="edge"):
        data.inside([(0.5, 2.0)])
    with pytest.raises(TracestatError, match="edge"):
        backgrounds(data, [(0.0, 2.0)], none_masked(data))
