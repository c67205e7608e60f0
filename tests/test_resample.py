from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from tracestat.errors import TracestatError
from tracestat.resample import (
    bootstrap_weights,
    jackknife_interval,
    percentile_interval,
    sign_multipliers,
    student_interval,
    sum_by,
)


def test_sums_by_code() -> None:
    assert sum_by([1.0, 2.0, 4.0], [0, 2, 0], 3).tolist() == [5, 0, 2]
    assert sum_by([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]], [1, 1, 0], 3).tolist() == [[4, 40], [3, 30], [0, 0]]
    assert sum_by(np.empty((0, 2)), [], 2).tolist() == [[0, 0], [0, 0]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 4)), max_size=30))
def test_groups_add_up_to_the_total(pairs: list[tuple[float, int]]) -> None:
    values, codes = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], dtype=int)
    assert_allclose(sum_by(values, codes, 5).sum(), values.sum(), atol=1e-6)


@pytest.mark.parametrize("n_clusters", [2, 7, 40, 8_000])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_student_bounds(n_clusters: int, level: float) -> None:
    interval = student_interval(1.5, 0.2, n_clusters, level, "CR1")
    assert_allclose(interval.bounds, stats.t.interval(level, n_clusters - 1, 1.5, 0.2), rtol=1e-10)
    assert interval.method == "CR1"


@pytest.mark.parametrize(("se", "n_clusters"), [(0.2, 1), (np.nan, 30), (np.inf, 30)])
def test_no_bounds_without_a_standard_error(se: float, n_clusters: int) -> None:
    interval = student_interval(1.5, se, n_clusters, 0.95, "CR1")
    assert (interval.value, interval.se, interval.bounds) == (1.5, None, (None, None))


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    x = np.array([1.0, 2.0, 4.0, 5.0, 9.0])
    interval = jackknife_interval(float(x.mean()), (x.sum() - x) / 4)
    assert interval.se == pytest.approx(x.std(ddof=1) / np.sqrt(5), rel=1e-12)
    assert_allclose(interval.bounds, stats.t.interval(0.95, 4, x.mean(), interval.se), rtol=1e-10)
    assert (interval.n_clusters, interval.method) == (5, "CV3")


def test_jackknife_is_around_the_full_estimate() -> None:
    # not around the mean of the replicates, which would be smaller
    assert jackknife_interval(0.0, [1.0, 1.0]).se == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("replicates", [[], [1.0], [1.0, np.nan, 2.0]])
def test_jackknife_without_bounds(replicates: list[float]) -> None:
    interval = jackknife_interval(1.0, replicates)
    assert interval.bounds == (None, None)
    assert interval.n_clusters == len(replicates)


def test_percentile_bounds() -> None:
    interval = percentile_interval(50.0, np.arange(1001) / 10, 30, 0.9)
    assert_allclose(interval.bounds, (5, 95), rtol=1e-12)
    assert interval.se == pytest.approx(np.std(np.arange(1001) / 10, ddof=1))


def test_percentile_bounds_bear_one_failed_sample_in_a_hundred() -> None:
    values = np.append(np.arange(99.0), np.nan)
    assert percentile_interval(1.0, values, 30).low is not None
    assert percentile_interval(1.0, np.append(values, np.nan), 30).low is None
    assert percentile_interval(1.0, np.arange(99.0), 1).low is None


def test_signs() -> None:
    signs = sign_multipliers(301, 1_000, seed=3)
    assert signs.shape == (1_000, 301)
    assert signs.dtype == np.int8
    assert set(np.unique(signs).tolist()) == {-1, 1}
    # 301,000 signs: the mean has standard error 0.0018; columns must not repeat each other either
    assert abs(signs.mean()) < 0.008
    correlation = signs.astype(float).T @ signs / 1_000 - np.eye(301)
    assert np.abs(correlation).max() < 0.2
    assert np.array_equal(signs, sign_multipliers(301, 1_000, seed=3))
    assert not np.array_equal(signs, sign_multipliers(301, 1_000, seed=4))


def test_few_clusters_get_six_points() -> None:
    points = sign_multipliers(11, 5_000)
    assert_allclose(np.unique(points) ** 2, [1.5, 1, 0.5, 0.5, 1, 1.5], rtol=1e-12)
    assert points.mean() == pytest.approx(0, abs=0.02)
    assert points.var() == pytest.approx(1, abs=0.02)
    assert sign_multipliers(12, 5).dtype == np.int8


def test_bootstrap_weights_are_multinomial() -> None:
    weights = bootstrap_weights(40, 3_000, seed=1)
    assert weights.shape == (3_000, 40)
    assert np.all(weights.sum(axis=1) == 40)
    assert_allclose(weights.mean(axis=0), 1, atol=0.08)
    assert weights.var() == pytest.approx(1 - 1 / 40, abs=0.02)
    assert np.array_equal(weights, bootstrap_weights(40, 3_000, seed=1))
    assert not np.array_equal(weights, bootstrap_weights(40, 3_000, seed=2))


@pytest.mark.parametrize("arguments", [(0, 5), (5, 0)])
def test_nothing_to_draw(arguments: tuple[int, int]) -> None:
    with pytest.raises(TracestatError):
        sign_multipliers(*arguments)
    with pytest.raises(TracestatError):
        bootstrap_weights(*arguments)
