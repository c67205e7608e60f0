"""The time-out sweep against its definition, on hand-made and on random sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.errors import TracestatError
from tracestat.survival.sweep import SweepSums, clustered_ratio, effective_timeout, sweep_at

TIMEOUTS = np.array([1.0, 10.0, 100.0])


def sums_of(idle: Any, cacheable: Any, fresh: Any, session: Any, *, prefix: Any = None) -> SweepSums:
    """Sum single steps per session and cell."""
    idle, cacheable, fresh = (np.asarray(values, dtype=np.float64) for values in (idle, cacheable, fresh))
    session = np.asarray(session)
    n_sessions = int(session.max()) + 1
    cell = np.searchsorted(TIMEOUTS, idle, side="left")

    def table(values: Any) -> Any:
        out = np.zeros((n_sessions, TIMEOUTS.size + 1))
        np.add.at(out, (session, cell), values)
        return out

    def column(values: Any) -> Any:
        return np.bincount(session, weights=values, minlength=n_sessions)

    served = cacheable / 2 if prefix is None else np.asarray(prefix, dtype=np.float64)
    total = cacheable + fresh
    return SweepSums(
        TIMEOUTS,
        table(np.ones_like(idle)),
        table(idle),
        table(cacheable),
        table(idle),
        column(served),
        column(total - served),
        column(fresh),
        column(total),
        np.ones(n_sessions),
        np.arange(n_sessions) // 2,
    )


def test_by_hand() -> None:
    # four steps: idle 0.5, 1 (at the time-out: a hit), 30 and 1000 s
    sums = sums_of([0.5, 1, 30, 1000], [10, 20, 30, 40], [1, 2, 3, 4], [0, 0, 1, 1])
    point = sweep_at(sums, 1.0)
    assert point.hit_rate.value == pytest.approx(30 / 110)
    assert point.storage_ratio.value == pytest.approx((0.5 + 1 + 1 + 1) / 2)
    assert point.amplification.value == pytest.approx((10 + 70) / 10)
    assert point.active_ratio.value == pytest.approx(2 / (2 + 1.5))
    last = sweep_at(sums, 100.0)
    assert last.hit_rate.value == pytest.approx(60 / 110)
    assert last.storage_ratio.value == pytest.approx((0.5 + 1 + 30 + 100) / 2)
    assert last.amplification.value == pytest.approx((10 + 40) / 10)


def test_a_timeout_off_the_grid() -> None:
    with pytest.raises(TracestatError, match="not on the grid"):
        sweep_at(sums_of([1.0], [1], [1], [0]), 2.0)


def test_shapes_are_checked() -> None:
    good = sums_of([1.0], [1], [1], [0])
    with pytest.raises(TracestatError, match="shape"):
        SweepSums(
            TIMEOUTS[:2], good.n, good.idle_seconds, good.cacheable, good.active_idle, good.prefix, good.append,
            good.fresh, good.tokens, good.generation, good.developer,
        )  # fmt: skip


steps = st.lists(
    st.tuples(st.floats(0, 1000), st.integers(0, 10_000), st.integers(1, 1000), st.integers(0, 5), st.floats(0, 1)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=20, deadline=None)
@given(steps)
def test_monotone_and_bounded(rows: list[tuple[float, int, int, int, float]]) -> None:
    idle, cacheable, fresh, session, _ = zip(*rows, strict=True)
    sums = sums_of(idle, cacheable, fresh, session)
    points = [sweep_at(sums, timeout) for timeout in TIMEOUTS]
    for name, sign in (("hit_rate", 1), ("storage_ratio", 1), ("amplification", -1), ("active_ratio", -1)):
        values = [getattr(point, name).value for point in points]
        assert np.all(sign * np.diff(values) >= -1e-9), name
    for point in points:
        assert 0 <= point.hit_rate.value <= 1  # type: ignore[operator]
        assert point.amplification.value >= 1 - 1e-9  # type: ignore[operator]
        if point.hit_rate.low is not None and point.hit_rate.high is not None:
            assert 0 <= point.hit_rate.low <= point.hit_rate.value <= point.hit_rate.high <= 1  # type: ignore[operator]


def test_effective_timeout_is_the_nearest_of_the_grid() -> None:
    # ideal hits: 10, 30, 60 of 110
    steps_: tuple[list[float], list[int], list[int], list[int]] = (
        [0.5, 5, 50, 500],
        [10, 20, 30, 40],
        [1, 2, 3, 4],
        [0, 0, 1, 1],
    )
    for deployed, expected in ((12, 1.0), (28, 10.0), (59, 100.0)):
        prefix = np.array([1, 1, 1, 1]) * deployed / 4
        found = effective_timeout(sums_of(*steps_, prefix=prefix))
        assert found is not None
        assert found.value == expected
        assert found.low is None or found.low <= expected <= found.high  # type: ignore[operator]
    for deployed in (5, 80):  # outside what the grid reaches
        prefix = np.array([1, 1, 1, 1]) * deployed / 4
        assert effective_timeout(sums_of(*steps_, prefix=prefix)) is None


def test_effective_timeout_repeats_with_its_seed() -> None:
    rng = np.random.default_rng(1)
    n = 400
    sums = sums_of(
        rng.lognormal(2, 2, n), rng.integers(100, 1000, n), rng.integers(1, 50, n), rng.integers(0, 50, n),
        prefix=rng.integers(50, 500, n),
    )  # fmt: skip
    first, again, other = (effective_timeout(sums, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first is not None
    assert other is not None
    assert first.value == other.value


def test_no_tokens() -> None:
    empty = sums_of([1.0], [0], [0], [0])
    assert effective_timeout(empty) is None
    assert sweep_at(empty, 1.0).hit_rate.value is None


def test_ratio_bounds_are_those_of_a_share() -> None:
    found = clustered_ratio([0.0, 0, 0, 9], [10.0, 10, 10, 10], np.arange(4), share=True)
    assert found.low == 0
    above = clustered_ratio([20.0, 1, 30], [10.0, 10, 10], np.arange(3), share=True)
    assert above.value == pytest.approx(1.7)
    assert above.high is not None
    assert above.high > 1.7


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_interval_of_a_ratio_covers(share: float) -> None:
    """Sessions differ in size and in rate: the session interval holds the truth about as often as it says."""
    rng = np.random.default_rng(7)
    runs, hits = 200, 0
    for _ in range(runs):
        whole = rng.integers(1, 60, 60).astype(float)
        rate = rng.beta(share * 8, (1 - share) * 8, 60)
        part = rng.binomial(whole.astype(int), rate)
        low, high = clustered_ratio(part, whole, np.arange(60), share=True).session or (None, None)
        hits += low is not None and high is not None and low <= share <= high
    assert 0.90 <= hits / runs <= 0.985


def drawn_sessions(rng: np.random.Generator, sessions: int) -> SweepSums:
    """Sessions whose deployed cache evicts after a time of its own, 500 s in the middle; idle times vary by session."""
    session = np.repeat(np.arange(sessions), rng.integers(5, 60, sessions))
    n = session.size
    idle = np.exp(rng.normal(0.5, 2.6, n) + rng.normal(0, 0.5, sessions)[session])
    cacheable, fresh = rng.lognormal(11, 0.6, n), rng.lognormal(6, 1, n)
    evicts = np.exp(np.log(500) + rng.normal(0, 0.6, sessions))[session]
    grid = np.unique(np.geomspace(1, 14_400, 120))
    cell = np.searchsorted(grid, idle)

    def table(values: Any) -> Any:
        out = np.zeros((sessions, grid.size + 1))
        np.add.at(out, (session, cell), values)
        return out

    def column(values: Any) -> Any:
        return np.bincount(session, weights=values, minlength=sessions)

    served = np.where(idle <= evicts, cacheable, 0.0)
    return SweepSums(
        grid,
        table(np.ones(n)),
        table(idle),
        table(cacheable),
        table(idle),
        column(served),
        column(cacheable + fresh - served),
        column(fresh),
        column(cacheable + fresh),
        np.ones(sessions),
        np.arange(sessions),
    )


def test_interval_of_the_effective_timeout_covers() -> None:
    whole = effective_timeout(drawn_sessions(np.random.default_rng(0), 8000), draws=2)
    assert whole is not None
    assert whole.value is not None
    rng, runs, hits = np.random.default_rng(1), 60, 0
    for _ in range(runs):
        found = effective_timeout(drawn_sessions(rng, 60), draws=200)
        assert found is not None
        low, high = found.session or (None, None)
        hits += low is not None and high is not None and low <= whole.value <= high
    assert hits / runs >= 0.87
