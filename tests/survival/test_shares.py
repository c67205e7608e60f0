from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.survival.data import CLUSTERS, EVENTS, TIMES, Floats, R, quick, rows
from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.bins import FINE_EDGES
from tracestat.survival.curve import kaplan_meier
from tracestat.survival.exposure import cell_sums, exposure_from_exits
from tracestat.survival.influence import clustered_variance, influence
from tracestat.survival.shares import (
    ratio_jackknife,
    share_of_time,
    share_of_time_curve,
    share_of_time_grid,
    share_of_time_without_top,
    share_within,
    top_rows,
)

TOY = kaplan_meier(TIMES, EVENTS)


def fine(times: Floats, events: Floats, clusters: Any) -> tuple[Floats, Floats]:
    n_exit, n_event, sum_time = cell_sums(times, events, FINE_EDGES, clusters=clusters)
    return n_event[:, :-1], exposure_from_exits(n_exit, sum_time, FINE_EDGES)[:, :-1]


def test_share_of_time_of_the_toy() -> None:
    assert_allclose(share_of_time_curve(TOY, 3, 8), 0.878836833603, rtol=1e-9)


def test_share_of_time_beyond_the_curve() -> None:
    assert share_of_time_curve(TOY, 3, 50) is None


def test_share_within_turns_the_interval_over() -> None:
    variance = clustered_variance(influence(TIMES, EVENTS, CLUSTERS, [5.0]))
    assert variance is not None
    share = share_within(TOY, 5, float(variance[0]), 5)
    assert_allclose(share.value, 1 - 0.411428571429, rtol=1e-9)
    assert share.se == pytest.approx(0.411428571429 * np.sqrt(R["clustered"]["variance"]), rel=1e-9)
    greenwood = share_within(TOY, 5, float(TOY.greenwood[TOY.index(5)]), 10)
    low, high = R["log_log_interval"]["5"]
    assert_allclose(greenwood.bounds, (1 - high, 1 - low), rtol=1e-9)


@pytest.mark.parametrize(("x", "variance", "value"), [(0.5, 0.0, 0.0), (5.0, None, 1 - 0.411428571429)])
def test_share_without_bounds(x: float, variance: float | None, value: float) -> None:
    share = share_within(TOY, x, variance, 5)
    assert share.value == pytest.approx(value, abs=1e-9)
    assert (share.se, share.bounds) == (None, (None, None))


def test_ratio_by_leaving_out() -> None:
    num, den = np.array([1.0, 5.0, 2.0, 0.0]), np.array([4.0, 6.0, 8.0, 1.0])
    replicates = [np.delete(num, g).sum() / np.delete(den, g).sum() for g in range(4)]
    interval = ratio_jackknife(num, den)
    assert interval is not None
    assert interval.value == pytest.approx(8 / 19, rel=1e-12)
    assert interval.se == pytest.approx(np.sqrt(3 / 4 * np.sum((np.array(replicates) - 8 / 19) ** 2)), rel=1e-12)


def test_ratio_edges() -> None:
    assert ratio_jackknife([0.0, 0.0], [0.0, 0.0]) is None
    padded = ratio_jackknife([1.0, 2.0, 0.0], [2.0, 3.0, 0.0])
    assert padded == ratio_jackknife([1.0, 2.0], [2.0, 3.0])
    alone = ratio_jackknife([1.0, 1.0], [2.0, 0.0])  # without the first cluster nothing is left to divide by
    assert alone is not None
    assert alone.bounds == (None, None)
    with pytest.raises(TracestatError):
        ratio_jackknife([1.0], [1.0, 2.0])


def test_share_of_time_stays_within_zero_and_one() -> None:
    share = share_of_time([10.0, 100.0, 1.0], [0.0, 100.0, 0.0])
    assert share is not None
    assert share.value == pytest.approx(100 / 111)
    assert share.high == 1
    assert share.low == 0
    assert share_of_time([0.0], [0.0]) is None


@pytest.mark.parametrize(("n", "top"), [(1, 1), (10_000, 1), (20_000, 2), (743_819, 74)])
def test_top_rows(n: int, top: int) -> None:
    assert top_rows(n) == top


def test_share_without_the_longest_rows() -> None:
    times = np.concatenate([np.full(19_998, 1.0), [50.0, 5_000.0, 40.0]])
    above = float(times[times > 10].sum())
    without = share_of_time_without_top(float(times.sum()), above, times.size, [40.0, 5_000.0, 50.0], 10.0)
    assert without == pytest.approx(40 / (19_998 + 40), rel=1e-9)
    # rows below the threshold leave the whole, not the part above
    assert share_of_time_without_top(6.0, 0.0, 3, [3.0], 10.0) == 0
    assert share_of_time_without_top(3.0, 0.0, 1, [3.0], 10.0) is None
    with pytest.raises(TracestatError, match="74"):
        share_of_time_without_top(1e6, 1e5, 743_819, [3.0], 10.0)


@pytest.mark.parametrize(("x", "tau"), [(0.0, 5.0), (5.0, 5.0), (6.0, 5.0)])
def test_the_threshold_lies_below_tau(x: float, tau: float) -> None:
    with pytest.raises(TracestatError):
        share_of_time_curve(TOY, x, tau)
    with pytest.raises(TracestatError):
        share_of_time_grid(np.ones((2, 257)), np.ones((2, 257)), x, tau)


def test_grid_agrees_with_the_curve_under_censoring() -> None:
    rng = np.random.default_rng(0)
    times = rng.exponential(1, 20_000) ** 2 * 5
    limit = rng.exponential(200, 20_000)
    observed, events = np.minimum(times, limit), times <= limit
    curve = kaplan_meier(observed, events)
    D, X = fine(observed, events.astype(float), np.arange(20_000) % 100)
    share = share_of_time_grid(D, X, 10.0, 300.0)
    assert share is not None
    assert share.value == pytest.approx(share_of_time_curve(curve, 10.0, 300.0), abs=2e-3)
    assert share.n_clusters == 100


def test_grid_jackknife_by_leaving_out() -> None:
    rng = np.random.default_rng(1)
    times, clusters = rng.exponential(1, 3_000) ** 2 * 5, rng.integers(0, 12, 3_000)
    D, X = fine(times, (rng.random(3_000) < 0.9).astype(float), clusters)
    share = share_of_time_grid(D, X, 10.0, 200.0)
    assert share is not None
    left = [share_of_time_grid(np.delete(D, g, 0), np.delete(X, g, 0), 10.0, 200.0) for g in range(12)]
    assert share.se == pytest.approx(np.sqrt(11 / 12 * sum((s.value - share.value) ** 2 for s in left if s)), rel=1e-7)


def test_zeros_do_not_bend_the_grid() -> None:
    # a million times more zeros than time: they carry none of it
    rng = np.random.default_rng(2)
    times = rng.exponential(5, 2_000)
    plain = share_of_time_grid(*fine(times, np.ones(2_000), np.arange(2_000) % 20), 4.0, 60.0)
    both = np.concatenate([times, np.zeros(3_000)])
    zeros = share_of_time_grid(*fine(both, np.ones(5_000), np.arange(5_000) % 20), 4.0, 60.0)
    assert plain is not None
    assert zeros is not None
    assert zeros.value == pytest.approx(plain.value, rel=1e-9)


def test_grid_without_anyone() -> None:
    assert share_of_time_grid(np.zeros((3, 257)), np.zeros((3, 257)), 1.0, 10.0) is None
    with pytest.raises(TracestatError, match="257 bins"):
        share_of_time_grid(np.zeros((3, 5)), np.zeros((3, 5)), 1.0, 10.0)


@quick
@given(rows(), st.floats(0.3, 10))
def test_uncensored_share_is_one_number_in_two_ways(data: dict[str, Any], x: float) -> None:
    times, clusters = data["times"], data["clusters"]
    n = int(clusters.max()) + 1
    by_sums = share_of_time(sum_by(times, clusters, n), sum_by(times * (times > x), clusters, n))
    by_curve = share_of_time_curve(kaplan_meier(times, np.ones(times.size)), x, 100.0)
    assert by_sums is not None
    assert by_sums.value == pytest.approx(by_curve, abs=1e-9)
    assert by_sums.value == pytest.approx(times[times > x].sum() / times.sum(), abs=1e-9)
