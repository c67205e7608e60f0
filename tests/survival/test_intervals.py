from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy.special import stdtrit

from tests.survival.data import CENTRES, WEIBULL, WEIBULL_CLUSTERS, Floats, R, cluster_bins, hazard_tables, quick
from tracestat.survival.exposure import poisson_interval
from tracestat.survival.intervals import (
    bin_hazards,
    bin_log_hazard_se,
    curvature_jackknife,
    slope_bootstrap,
    slope_cr1,
    slope_jackknife,
)
from tracestat.survival.slope import curvature, poisson_slope

J = R["weibull"]["support"]
D_G, X_G = (table[:, :J] for table in cluster_bins(WEIBULL, WEIBULL_CLUSTERS))
X_PLACES = CENTRES[:J]


def random_table(n_clusters: int = 25, n_bins: int = 7, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = np.arange(n_bins) * 0.64
    X = rng.gamma(2.0, 20.0, (n_clusters, n_bins))
    level = rng.lognormal(0, 0.7, (n_clusters, 1))
    return rng.poisson(X * level * 0.2 * np.exp(-0.6 * x)).astype(float), X, x


def test_sandwich_and_jackknife_of_the_weibull_sample() -> None:
    sandwich, jackknife = slope_cr1(D_G, X_G, X_PLACES), slope_jackknife(D_G, X_G, X_PLACES)
    assert sandwich is not None
    assert jackknife is not None
    assert_allclose(sandwich.se, 0.0037268044093, rtol=1e-7)
    assert_allclose(jackknife.se, 0.0037249044113, rtol=1e-7)
    assert_allclose([sandwich.value, jackknife.value], R["weibull"]["slope"], rtol=1e-9)
    assert (sandwich.method, jackknife.method, jackknife.n_clusters) == ("CR1", "CV3", 10)


def test_jackknife_is_refitting_without_each_cluster() -> None:
    D, X, x = random_table()
    refits = [poisson_slope(np.delete(D, g, 0).sum(axis=0), np.delete(X, g, 0).sum(axis=0), x) for g in range(25)]
    full = poisson_slope(D.sum(axis=0), X.sum(axis=0), x)
    assert full is not None
    se = np.sqrt(24 / 25 * sum((fit.slope - full.slope) ** 2 for fit in refits if fit))
    interval = slope_jackknife(D, X, x)
    assert interval is not None
    assert_allclose(interval.se, se, rtol=1e-8)


def test_curvature_by_refitting() -> None:
    D, X, x = random_table(seed=1)
    refits = [curvature(np.delete(D, g, 0).sum(axis=0), np.delete(X, g, 0).sum(axis=0), x) for g in range(25)]
    full = curvature(D.sum(axis=0), X.sum(axis=0), x)
    assert full is not None
    bend = curvature_jackknife(D, X, x)
    assert bend is not None
    assert_allclose(bend.value, full.curvature, rtol=1e-9)
    assert_allclose(
        bend.se, np.sqrt(24 / 25 * sum((fit.curvature - full.curvature) ** 2 for fit in refits if fit)), rtol=1e-7
    )


def test_bootstrap_is_refitting_resampled_clusters() -> None:
    D, X, x = random_table(seed=2)
    interval = slope_bootstrap(D, X, x, draws=2_000, seed=7)
    again = slope_bootstrap(D, X, x, draws=2_000, seed=7)
    jackknife = slope_jackknife(D, X, x)
    assert interval is not None
    assert jackknife is not None
    assert interval == again
    assert interval != slope_bootstrap(D, X, x, draws=2_000, seed=8)
    assert interval.se == pytest.approx(jackknife.se, rel=0.25)
    rng = np.random.default_rng(9)
    slopes = []
    for _ in range(2_000):
        g = rng.integers(25, size=25)
        fit = poisson_slope(D[g].sum(axis=0), X[g].sum(axis=0), x)
        assert fit is not None
        slopes.append(fit.slope)
    # two Monte Carlo estimates of the same quantiles, 2,000 draws each
    assert_allclose(interval.bounds, np.quantile(slopes, [0.025, 0.975]), atol=4 * np.std(slopes) * 0.06)


def test_clusters_out_of_range_do_not_count() -> None:
    D, X, x = random_table()
    empty = np.zeros((5, 7))
    for method in (slope_cr1, slope_jackknife, curvature_jackknife):
        plain, padded = method(D, X, x), method(np.vstack([D, empty]), np.vstack([X, empty]), x)
        assert plain is not None
        assert padded is not None
        assert padded.n_clusters == 25
        assert padded.se == pytest.approx(plain.se, rel=1e-9)
    assert_allclose(
        bin_log_hazard_se(np.vstack([D, empty]), np.vstack([X, empty])), bin_log_hazard_se(D, X), rtol=1e-12
    )


def test_one_cluster_has_a_slope_but_no_bounds() -> None:
    D, X, x = random_table(1)
    for method in (slope_cr1, slope_jackknife, slope_bootstrap, curvature_jackknife):
        interval = method(D, X, x)
        assert interval is not None
        assert interval.bounds == (None, None)


def test_no_slope() -> None:
    D, X, x = np.zeros((3, 4)), np.ones((3, 4)), np.arange(4.0)
    for method in (slope_cr1, slope_jackknife, slope_bootstrap, curvature_jackknife):
        assert method(D, X, x) is None


def test_a_slope_that_hangs_on_one_cluster_has_no_bounds() -> None:
    # without cluster 0 all events lie in one bin
    D = np.array([[0.0, 3, 3], [5, 0, 0], [4, 0, 0]])
    interval = slope_jackknife(D, np.ones((3, 3)), np.arange(3.0))
    assert interval is not None
    assert interval.bounds == (None, None)


def test_single_bins() -> None:
    D, X, _ = random_table(seed=3)
    se, effect = bin_log_hazard_se(D, X)
    for j in range(7):
        total = D[:, j].sum()
        residual = D[:, j] - total / X[:, j].sum() * X[:, j]
        variance = 25 / 24 * (residual**2).sum() / total**2
        assert se[j] == pytest.approx(np.sqrt(variance), rel=1e-10)
        assert effect[j] == pytest.approx(variance * total, rel=1e-10)
    # levels of the clusters differ: rows are not independent
    assert effect.mean() > 2


def test_hazards_of_bins_and_their_bounds() -> None:
    D, X, _ = random_table(seed=4)
    D[:, 3] = 0
    X[:, 5] = 0
    D[:, 5] = 0
    hazards = bin_hazards(D, X)
    se, _ = bin_log_hazard_se(D, X)
    assert_allclose(hazards.hazard[0], D[:, 0].sum() / X[:, 0].sum(), rtol=1e-12)
    some = [0, 1, 6]
    # Student's t with the clusters that reach the bin, and never narrower than independent rows
    t = stdtrit(np.count_nonzero(X > 0, axis=0)[some] - 1, 0.975)
    wide = np.maximum(se[some], 1 / np.sqrt(D.sum(axis=0)[some]))
    assert_allclose(np.log(hazards.high[some] / hazards.low[some]), 2 * t * wide, rtol=1e-9)
    low, high = poisson_interval(D.sum(axis=0), np.where(X.sum(axis=0) > 0, X.sum(axis=0), 1))
    assert (hazards.hazard[3], hazards.low[3]) == (0, 0)
    assert_allclose(hazards.high[3], high[3], rtol=1e-12)
    assert np.isnan([hazards.hazard[5], hazards.low[5], hazards.high[5]]).all()
    one = bin_hazards(D[:1], X[:1])
    low, high = poisson_interval(D[0], np.where(X[0] > 0, X[0], np.nan))
    assert_allclose(one.low, low, rtol=1e-12)
    assert_allclose(one.high, high, rtol=1e-12)


@quick
@given(hazard_tables())
def test_every_cluster_twice(table: tuple[Floats, Floats, Floats]) -> None:
    D, X, x = table
    G = D.shape[0]
    once, twice = slope_cr1(D, X, x), slope_cr1(np.vstack([D, D]), np.vstack([X, X]), x)
    assert once is not None
    assert twice is not None
    assert once.se is not None
    assert twice.se is not None
    assert twice.value == pytest.approx(once.value, abs=1e-9)
    # half the variance, up to G/(G - 1)
    expected = once.se**2 / 2 * (2 * G / (2 * G - 1)) / (G / (G - 1))
    assert twice.se**2 == pytest.approx(expected, rel=1e-6)


@quick
@given(hazard_tables())
def test_order_of_clusters_does_not_matter(table: tuple[Floats, Floats, Floats]) -> None:
    D, X, x = table
    plain, turned = slope_jackknife(D, X, x), slope_jackknife(D[::-1], X[::-1], x)
    assert plain is not None
    assert turned is not None
    assert (plain.se is None) == (turned.se is None)
    if plain.se is not None:
        assert turned.se == pytest.approx(plain.se, rel=1e-6)


def test_two_alike_clusters_do_not_make_an_interval_of_no_width() -> None:
    hazards = bin_hazards([[1.0], [1.0]], [[6.0], [6.0]])
    low, high = poisson_interval([2.0], [12.0])
    assert hazards.low[0] < low[0]
    assert hazards.high[0] > high[0]
