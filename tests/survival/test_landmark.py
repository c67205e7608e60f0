"""Intervals of residual life: against the jackknife made by hand from rows, and at the ends of what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.special import stdtrit

from tests.survival.data import Floats, quick, rows
from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.curve import kaplan_meier, log_log_interval
from tracestat.survival.landmark import LandmarkCells, LandmarkClusters, cells_of_exits, landmark_edges
from tracestat.survival.residual import mean_residual, quantile_residual

WAITED = (0.0, 1.0, 4.0)
H = 6.0
EDGES = landmark_edges(WAITED, [t + H for t in WAITED])


def cells(
    times: Floats, events: NDArray[np.bool_], clusters: NDArray[np.intp], entry: Floats | None = None
) -> LandmarkCells:
    """The sums of rows, as a database makes them."""
    n, J = int(clusters.max()) + 1, len(EDGES) - 1

    def summed(at: Floats, weights: Floats) -> Floats:
        use = at > 0
        place = clusters[use] * J + np.searchsorted(EDGES, at[use], side="left") - 1
        return sum_by(weights[use], place, n * J).reshape(n, J)

    seen = events.astype(np.float64)
    sums = [summed(times, v) for v in (seen, seen * times, 1 - seen, (1 - seen) * times)]
    if entry is not None:
        sums += [summed(entry, np.ones(entry.size)), summed(entry, entry)]
    return cells_of_exits(EDGES, *sums)


def clusters_of(times: Floats, events: NDArray[np.bool_], clusters: NDArray[np.intp]) -> LandmarkClusters:
    return LandmarkClusters(cells(times, events, clusters), WAITED, [t + H for t in WAITED])


@pytest.fixture
def data() -> tuple[Floats, NDArray[np.intp]]:
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(12), rng.integers(3, 30, 12))
    times = np.round(rng.exponential(3, cluster.size) * np.exp(rng.normal(0, 0.5, 12))[cluster], 3) + 0.001
    return times, cluster


def test_mean_is_the_jackknife_of_the_rows(data: tuple[Floats, NDArray[np.intp]]) -> None:
    times, cluster = data
    made = clusters_of(times, np.ones(times.size, bool), cluster)
    for k, t in enumerate(WAITED):

        def mean(keep: NDArray[np.bool_], t: float = t) -> float:
            return float(np.minimum(times[keep & (times > t)] - t, H).mean())

        full = mean(times > 0)
        part = [g for g in range(12) if np.any((cluster == g) & (times > t))]
        apart = [np.log(mean(cluster != g) / full) for g in part]
        se = np.sqrt((len(part) - 1) / len(part) * np.sum(np.square(apart)))
        half = stdtrit(len(part) - 1, 0.975) * se
        found = made.mean(k, full)
        assert made.means[k] == pytest.approx(full, rel=1e-9)
        assert made.n_clusters[k] == len(part)
        assert found.bounds == pytest.approx((full * np.exp(-half), full * np.exp(half)), rel=1e-9)


def by_hand(times: Floats, cluster: NDArray[np.intp], t: float, q: float) -> list[float | None]:
    """The bounds of a quantile from the curve without each cluster, at every step."""
    part = np.unique(cluster[times > t])
    n = len(part)
    ratio = stdtrit(n - 1, 0.975) / 1.959963984540054

    def share(keep: NDArray[np.bool_], s: float) -> float:
        return float(np.mean(times[keep & (times > t)] > s))

    crossed: list[list[float]] = [[], []]
    for s in np.unique(times[times > t]):
        full = share(times > 0, s)
        if full == 0:
            crossed[0].append(float(s))
            continue
        left = np.array([share(cluster != g, s) for g in part])
        rows_beyond = int(np.sum(times > t))
        variance = (n - 1) / n * np.sum(np.log(np.maximum(left, np.exp(-50)) / full) ** 2)
        variance = max(variance, (1 - full) / full / rows_beyond)
        for side, limit in enumerate(log_log_interval(full, variance * ratio**2)):
            if limit <= 1 - q:
                crossed[side].append(float(s))
    return [min(some) - t if some else None for some in crossed]


def test_quantile_inverts_the_jackknife_of_the_curve(data: tuple[Floats, NDArray[np.intp]]) -> None:
    times, cluster = data
    # ends on edges of bins, where the variance is exact
    grid = np.array(EDGES[1:-1])
    times = grid[np.searchsorted(grid, times)]
    made = clusters_of(times, np.ones(times.size, bool), cluster)
    curve = kaplan_meier(times, np.ones(times.size))
    for q in (0.5, 0.9):
        found = made.quantile(curve, 1, q, quantile_residual(curve, 1.0, q))
        assert list(found.bounds) == pytest.approx(by_hand(times, cluster, 1.0, q))


def test_quantile_on_an_atom_that_holds_most_of_its_bin() -> None:
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(30), 12)
    often = rng.beta(0.5, 0.5, 30)[cluster]
    # a limit of 30 s, late by up to half a second; its bin is 2.5 s wide
    late = 30 + 0.02 * rng.exponential(1, cluster.size)
    times = np.round(np.where(rng.random(cluster.size) < often, late, 30.2 + rng.exponential(3, cluster.size)), 3)
    made = clusters_of(times, np.ones(times.size, bool), cluster)
    curve = kaplan_meier(times, np.ones(times.size))
    low, high = made.quantile(curve, 2, 0.5, quantile_residual(curve, 4.0, 0.5)).bounds
    least, most = by_hand(times, cluster, 4.0, 0.5)
    assert low == pytest.approx(least, abs=0.02)
    assert high == pytest.approx(most, rel=0.02)


def test_no_upper_bound_of_a_quantile_that_the_last_rows_alone_reach() -> None:
    times = np.round(np.geomspace(1.5, 400, 24), 3)
    cluster = np.arange(24) % 8
    made = clusters_of(times, np.ones(24, bool), cluster)
    curve = kaplan_meier(times, np.ones(24))
    found = made.quantile(curve, 1, 0.9, quantile_residual(curve, 1.0, 0.9))
    assert by_hand(times, cluster, 1.0, 0.9)[1] is None
    assert found.low is not None
    assert found.high is None


@quick
@given(rows(entries=True, min_size=2))
def test_life_table_is_that_of_the_rows(data: dict[str, Any]) -> None:
    times, events, entry = data["times"], data["events"], data["entry"]
    made = cells(times, events, data["clusters"], entry)
    edges = np.array(EDGES)
    for row in range(made.events.shape[0]):
        own = data["clusters"] == row
        width = np.minimum(times[own, None], edges[1:]) - np.maximum(entry[own, None], edges[:-1])
        assert_allclose(made.exposure[row], np.maximum(width, 0).sum(axis=0), atol=1e-9)
        assert made.events[row].sum() == events[own].sum()
    both = made.merged(np.zeros(made.events.shape[0], dtype=np.intp), 1)
    assert_allclose(both.exposure[0], made.exposure.sum(axis=0))


@settings(deadline=None, max_examples=10)
@given(rows(min_size=4), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(data: dict[str, Any], random: Any) -> None:
    order = list(range(data["times"].size))
    random.shuffle(order)
    first = clusters_of(data["times"], data["events"], data["clusters"])
    second = clusters_of(*(data[name][order] for name in ("times", "events", "clusters")))
    assert first.n_clusters == second.n_clusters
    assert_allclose(first.means, second.means)
    for k in range(len(WAITED)):
        assert first.mean(k, 1.0).bounds == pytest.approx(second.mean(k, 1.0).bounds)


def test_the_life_table_is_near_the_exact_curve_under_censoring() -> None:
    rng = np.random.default_rng(6)
    times, lost = rng.exponential(5, 3_000), rng.exponential(12, 3_000)
    events, times = times <= lost, np.minimum(times, lost)
    curve = kaplan_meier(times, events)
    made = clusters_of(times, events, np.arange(3_000) % 40)
    for k, t in enumerate(WAITED):
        assert made.means[k] == pytest.approx(mean_residual(curve, t, H), rel=2e-3)


def test_no_interval_is_narrower_than_that_of_independent_rows() -> None:
    # clusters all alike: the jackknife itself finds no spread
    times = np.tile(np.array([0.5, 2.0, 3.0, 5.0, 9.0]), 10)
    cluster = np.repeat(np.arange(10), 5)
    made = clusters_of(times, np.ones(50, bool), cluster)
    alone = clusters_of(times, np.ones(50, bool), np.arange(50))
    curve = kaplan_meier(times, np.ones(50))
    for k, t in enumerate(WAITED):
        value = mean_residual(curve, t, H)
        assert value is not None
        se, own = made.mean(k, value).se, alone.mean(k, value).se
        left = np.minimum(times[times > t] - t, H)
        # up to how the ends are spread within bins
        assert se == pytest.approx(left.std() / np.sqrt(left.size), rel=0.01)
        assert own is not None
        assert own == pytest.approx(se, rel=0.1)
        low, high = made.quantile(curve, k, 0.5, 1.0).bounds
        assert low is not None
        # beyond 4 s only two ends are left, and the last one bounds nothing
        assert (high is None) == (t == 4)


def test_one_cluster_gives_no_bounds() -> None:
    times = np.array([0.5, 2.0, 5.0])
    made = clusters_of(times, np.ones(3, bool), np.zeros(3, dtype=np.intp))
    curve = kaplan_meier(times, np.ones(3))
    assert made.mean(0, 2.5).bounds == made.quantile(curve, 0, 0.5, 2.0).bounds == (None, None)


def test_nobody_left_without_one_cluster_gives_no_mean_bounds_and_none_beyond() -> None:
    times = np.array([0.5, 0.6, 0.7, 5.0])
    made = clusters_of(times, np.ones(4, bool), np.arange(4))
    assert made.n_clusters == [4, 1, 1]
    assert made.mean(1, 4.0).bounds == (None, None)


def test_where_all_end_at_once_there_is_a_lower_bound_only() -> None:
    times = np.full(60, 5.0)
    made = clusters_of(times, np.ones(60, bool), np.arange(60) % 20)
    assert made.quantile(kaplan_meier(times, np.ones(60)), 1, 0.5, 4.0).bounds == (4.0, None)


def test_a_quantile_that_is_not_reached_keeps_its_lower_bound() -> None:
    rng = np.random.default_rng(7)
    times = rng.exponential(5, 400)
    events, times = times <= 6, np.minimum(times, 6.0)
    found = clusters_of(times, events, np.arange(400) % 40).quantile(kaplan_meier(times, events), 0, 0.72, None)
    assert np.isnan(found.value)
    assert found.low is not None
    assert 4 < found.low < 6
    assert found.high is None


def test_what_does_not_fit_is_refused() -> None:
    zeros = np.zeros((2, 3))
    with pytest.raises(TracestatError, match="do not fit"):
        cells_of_exits([0.0, 1.0], zeros, zeros, zeros, zeros)
    made = cells(np.array([1.0, 2.0]), np.array([True, True]), np.array([0, 1]))
    with pytest.raises(TracestatError, match="edges"):
        LandmarkClusters(made, [0.1234], [1.0])


def test_clusters_far_apart_keep_the_mean_within_its_window() -> None:
    times = np.array([0.001] * 30 + [6.0] * 30)
    made = clusters_of(times, np.ones(60, bool), np.repeat([0, 1], 30))
    found = made.mean(0, float(made.means[0]))
    assert found.high == H
    assert found.low is not None
    assert 0 <= found.low < found.value
    low, high = made.quantile(kaplan_meier(times, np.ones(60)), 0, 0.5, 0.001).bounds
    assert low == 0.001
    assert high is None
