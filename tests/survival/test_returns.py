"""Bursts of returns against processes with known variance, and neighbours against laws with known correlation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tracestat.survival.returns import burst_interval, dispersion, neighbours, return_sums

Floats = NDArray[np.float64]


def ratio(gaps: Floats, window: float) -> float:
    """Dispersion where each row of gaps is a session that ends with its last return."""
    S, k = gaps.shape
    at = gaps.cumsum(axis=1)
    return float(dispersion(return_sums(np.repeat(np.arange(S), k), at.ravel(), at[:, -1], window))[0])


@pytest.mark.parametrize("per_session", [1, 4, 100])
@pytest.mark.parametrize("window", [1.0, 10.0, 60.0])
def test_poisson_is_one(per_session: int, window: float) -> None:
    gaps = np.random.default_rng(1).exponential(7.0, (60_000 // per_session, per_session))
    assert ratio(gaps, window) == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize(("per_session", "window"), [(1, 0.5), (1, 2.5), (3, 2.5), (5, 10.25), (40, 60.0)])
def test_a_clock_has_the_variance_of_its_fraction(per_session: int, window: float) -> None:
    part = window % 1
    assert ratio(np.ones((9, per_session)), window) == pytest.approx(part * (1 - part) / window, abs=5e-3)  # the grid


def test_renewals_tend_to_their_squared_variation() -> None:
    rng = np.random.default_rng(2)
    for gaps, square in ((rng.gamma(4.0, 0.25, (400, 500)), 0.25), (rng.gamma(0.25, 4.0, (400, 500)), 4.0)):
        # Var N(t) / E N(t) = cv^2 + O(1 / t)
        assert ratio(gaps, 100.0) == pytest.approx(square, rel=0.08)


def test_it_is_what_a_long_random_chain_gives() -> None:
    rng = np.random.default_rng(3)
    S = 30
    n = rng.integers(0, 6, S)
    session = np.repeat(np.arange(S), n)
    length = rng.exponential(12.0, S) + 0.5
    at = rng.uniform(0, 1, session.size) * length[session]
    order = rng.integers(0, S, 60_000)
    begin = np.concatenate([[0.0], np.cumsum(length[order])])
    times = np.sort(np.concatenate([begin[i] + at[session == s] for i, s in enumerate(order)]))
    for window in (1.0, 10.0, 60.0):
        counts = np.diff(np.searchsorted(times, np.arange(0, begin[-1], window)))
        want = float(counts.var() / counts.mean())
        found = float(dispersion(return_sums(session, at, length, window))[0])
        assert found == pytest.approx(want, rel=0.05)


def test_order_names_and_clusters_do_not_change_it() -> None:
    rng = np.random.default_rng(4)
    length, session = rng.exponential(30, 40) + 1, np.repeat(np.arange(40), 5)
    at = rng.uniform(0, 1, 200) * length[session]
    value = dispersion(return_sums(session, at, length, 10.0))[0]
    names = rng.permutation(40)
    renamed = np.empty(40)
    renamed[names] = length
    assert dispersion(return_sums(names[session], at, renamed, 10.0))[0] == pytest.approx(value, rel=1e-12)
    pooled = return_sums(session, at, length, 10.0, np.arange(40) // 8)
    assert dispersion(pooled)[0] == pytest.approx(value, rel=1e-12)
    assert dispersion(pooled, np.full((1, 5), 3.0))[0] == pytest.approx(value, rel=1e-12)
    interval = burst_interval(pooled)
    assert interval is not None
    assert interval == burst_interval(pooled)
    assert interval.low is not None
    assert interval.low < value < (interval.high or 0)


def test_many_sessions_are_left_out_in_groups() -> None:
    rng = np.random.default_rng(8)
    n = 2_500
    length, session = rng.exponential(30, n) + 1, np.repeat(np.arange(n), 4)
    sums = return_sums(session, rng.uniform(0, 1, 4 * n) * length[session], length, 10.0)
    single = dispersion(sums, 1 - np.eye(n))
    value = float(dispersion(sums)[0])
    interval = burst_interval(sums)
    assert interval is not None
    assert (interval.value, interval.n_clusters) == (value, 1_000)
    assert interval.se == pytest.approx(float(np.sqrt((n - 1) / n * np.sum((single - value) ** 2))), rel=0.15)


def test_no_returns() -> None:
    sums = return_sums([], [], [5.0, 6.0], 10.0)
    assert np.isnan(dispersion(sums)[0])
    assert burst_interval(sums) is None
    alone = burst_interval(return_sums([0], [1.0], [5.0], 10.0))
    assert alone is not None
    assert alone.low is None


def sessions_of(n: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    code = np.repeat(np.arange(n.size), n)
    return code, np.concatenate([[False], np.diff(code) == 0])


def test_short_sessions_do_not_feign_a_negative_correlation() -> None:
    rng = np.random.default_rng(5)
    code, follows = sessions_of(np.full(4_000, 3))
    found = neighbours(code, rng.lognormal(0, 2, code.size), np.zeros(code.size), follows, code)
    assert found is not None
    # less the mean of its session it would be -1/2
    for item in (found.raw, found.without_class, found.same_session, found.order):
        assert item.value == pytest.approx(0.0, abs=0.05)
        assert item.low is not None
        assert item.low < 0 < (item.high or 0)


def test_what_the_class_makes_the_class_explains() -> None:
    rng = np.random.default_rng(6)
    code, follows = sessions_of(rng.integers(2, 20, 800))
    of_session = rng.integers(0, 2, 800)
    kind = of_session[code]
    y = 3.0 * kind + rng.normal(0, 1.5, code.size)
    found = neighbours(code, np.exp(y), kind, follows, code)
    assert found is not None
    # between classes 9/4, within 9/4
    assert found.raw.value == pytest.approx(0.5, abs=0.05)
    assert found.without_class.value == pytest.approx(0.0, abs=0.05)


def test_session_and_order_are_told_apart() -> None:
    rng = np.random.default_rng(7)
    code, follows = sessions_of(rng.integers(2, 12, 1_500))
    level = rng.normal(0, 1, 1_500)[code]
    chain = np.empty(code.size)
    for i in range(code.size):
        chain[i] = 0.5 * chain[i - 1] + rng.normal(0, np.sqrt(0.75)) if follows[i] else rng.normal()
    only_session = neighbours(code, np.exp(level + rng.normal(0, 1, code.size)), np.zeros(code.size), follows, code)
    only_order = neighbours(code, np.exp(chain), np.zeros(code.size), follows, code)
    assert only_session is not None
    assert only_order is not None
    assert only_session.same_session.value == pytest.approx(0.5, abs=0.05)
    assert only_session.order.value == pytest.approx(0.0, abs=0.05)
    assert only_order.without_class.value == pytest.approx(0.5, abs=0.05)
    assert only_order.order.value > 0.2


def test_too_few_and_no_variation() -> None:
    assert neighbours([0, 0], [1.0, 2.0], [0, 0], [False, True], [0, 0]) is None
    assert neighbours([0] * 4, [2.0] * 4, [0] * 4, [False, True, True, True], [0] * 4) is None
