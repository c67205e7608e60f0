"""Pooling of hierarchies: weights are found again, unseen developers get theirs, and a pool of one is that one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.pool import Pool, fit_pool, fit_weights, log_odds, pooled_forecast, pooled_hazards
from tracestat.forecast.rows import PauseRows

GRID = forecast_grid()
SHORT = Grid(np.array([0.0, 1.0, 4.0, 16.0]))


def drawn(seed: int, n: int = 3000, developers: int = 12, sessions: int = 60) -> PauseRows:
    """Pauses whose rate is the product of what runs, whose it is and a mood that the pause before tells of."""
    rng = np.random.default_rng(seed)
    session = rng.integers(sessions, size=n)
    developer = session % developers
    what = rng.integers(6, size=n)
    mood = rng.integers(3, size=n)
    rate = np.exp(rng.normal(0, 1, 6))[what] * np.exp(rng.normal(0, 0.7, developers))[developer] * 4.0 ** (mood - 1)
    seconds = rng.exponential(1 / rate).round(6) + 1e-6
    codes = {"tool_class": what // 3, "command_skeleton": what, "developer": developer, "previous": mood}
    codes = {key: code.astype(np.int64) for key, code in codes.items()}
    names = {key: tuple(str(c) for c in range(int(code.max()) + 1)) for key, code in codes.items()}
    started = np.arange(n, dtype=np.float64)
    return PauseRows(codes, names, session, developer, started, seconds, rng.random(n) < 0.97)


PATHS = (("tool_class", "command_skeleton", "developer"), ("tool_class", "previous"))


def mean_log_score(curves: NDArray[np.float64], place: NDArray[np.intp], rows: PauseRows) -> float:
    bins = np.minimum(GRID.place(rows.seconds), GRID.n_bins - 1)
    low, high = curves[place, bins], curves[place, bins + 1]
    return float(np.mean(np.where(rows.observed, low + np.log(-np.expm1(high - low)), low)))


def test_weights_are_found_again() -> None:
    rng = np.random.default_rng(1)
    n = 40_000
    base = np.full((n, 3), 0.3)
    members = [1 / (1 + np.exp(-(log_odds(base) + rng.normal(0, 1, (n, 1))))) for _ in range(3)]
    truth = pooled_hazards(base, members, (0.9, 0.4, 0.0))
    ends = rng.random((n, 3)) < truth
    bins = np.where(ends.any(axis=1), ends.argmax(axis=1), 3)
    found = fit_weights(base, members, bins, np.ones(n, dtype=np.bool_))
    assert found == pytest.approx((0.9, 0.4, 0.0), abs=0.03)


def test_censored_rows_end_nothing() -> None:
    base, member = np.full((2, 2), 0.5), np.array([[0.9, 0.9], [0.9, 0.9]])
    # the first reaches bin 1 and is lost there: only that it passed bin 0 is known
    lost = fit_weights(base, [member], np.array([1, 2]), np.array([False, True]))
    assert lost == (0.0,)


def test_the_pool_beats_each_of_its_members_and_the_plain_hierarchy() -> None:
    rows = drawn(2)
    train, test = rows.take(rows.session % 4 != 0), rows.take(rows.session % 4 == 0)
    pool = fit_pool(train, ("tool_class",), PATHS, GRID)
    ours = pooled_forecast("ours", pool, test)
    own = mean_log_score(ours.curves.log_survival, ours.place, test)
    for member in pool.members:
        assert own > mean_log_score(member.curves().log_survival, member.place(test), test) + 0.02
    # the mood multiplies the rate whoever it is, so both are believed almost in full
    assert min(pool.seen) > 0.7


def test_a_developer_who_was_not_seen_has_other_weights() -> None:
    rows = drawn(3)
    pool = fit_pool(rows.take(rows.developer != 5), ("tool_class",), PATHS, GRID)
    assert pool.held_out[0] > 0
    assert pool.held_out[1] == int((rows.developer != 5).sum())
    ours = pooled_forecast("ours", pool, rows)
    trees = (pool.base, *pool.members)
    for row in (int(np.flatnonzero(rows.developer == 5)[0]), int(np.flatnonzero(rows.developer == 4)[0])):
        some = rows.take(np.array([row]))
        hazards = [np.concatenate(t.shrinkage.hazards)[t.place(some)] for t in trees]
        weights = pool.unseen if rows.developer[row] == 5 else pool.seen
        expected = np.cumsum(np.log1p(-pooled_hazards(hazards[0], hazards[1:], weights)[0]))
        assert ours.curves.log_survival[ours.place[row], 1:] == pytest.approx(expected, rel=1e-9)


def test_the_order_of_rows_is_irrelevant() -> None:
    rows = drawn(4, n=800)
    order = np.random.default_rng(0).permutation(rows.size)
    first, second = (fit_pool(r, ("tool_class",), PATHS, GRID) for r in (rows, rows.take(order)))
    assert first.seen == pytest.approx(second.seen, abs=1e-4)
    assert first.unseen == pytest.approx(second.unseen, abs=1e-4)


def test_too_little_to_hold_out() -> None:
    rows = drawn(5, n=60, developers=1, sessions=3)
    pool = fit_pool(rows, ("tool_class",), PATHS, GRID)
    assert (pool.seen, pool.unseen, pool.held_out) == ((0.5, 0.5), (0.5, 0.5), (0, 0))


def test_one_developer_leaves_the_weights_of_seen_ones() -> None:
    rows = drawn(6, n=600, developers=1, sessions=30)
    pool = fit_pool(rows, ("tool_class",), PATHS, GRID)
    assert pool.unseen == pool.seen
    assert pool.held_out[1] == 0


def test_hierarchies_fitted_before_are_used() -> None:
    rows = drawn(7, n=500)
    first = fit_pool(rows, ("tool_class",), PATHS, GRID)
    again = fit_pool(rows, ("tool_class",), PATHS, GRID, trees=first.members[:1])
    assert again.members[0] is first.members[0]
    assert again.seen == first.seen


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0, 1.5))
def test_pooled_hazards_are_hazards(base: float, member: float, weight: float) -> None:
    pooled = pooled_hazards(np.array([[base]]), [np.array([[member]])], [weight])[0, 0]
    assert 0 < pooled < 1
    assert (pooled - base) * (member - base) >= -1e-12
    assert pooled_hazards(np.array([[base]]), [np.array([[member]])], [0.0])[0, 0] == pytest.approx(base)


def test_a_key_never_seen_falls_to_its_parent_in_every_member() -> None:
    rows = drawn(8, n=900)
    pool: Pool = fit_pool(rows, ("tool_class",), PATHS, SHORT)
    strange = rows.take(np.array([0]))
    codes = {**strange.codes, "command_skeleton": np.array([99]), "previous": np.array([-1])}
    strange = PauseRows(
        codes, rows.names, strange.session, strange.developer, strange.started, strange.seconds, strange.observed
    )
    ours = pooled_forecast("ours", pool, strange)
    level = pool.base.place(strange)
    parts = [np.concatenate(t.shrinkage.hazards)[t.place(strange, 1)] for t in pool.members]
    base = np.concatenate(pool.base.shrinkage.hazards)[level]
    expected = np.cumsum(np.log1p(-pooled_hazards(base, parts, pool.seen)[0]))
    assert ours.curves.log_survival[0, 1:] == pytest.approx(expected, rel=1e-9)
