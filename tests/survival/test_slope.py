from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar

from tests.survival.data import CENTRES, WEIBULL, Floats, R, hazard_tables, quick
from tracestat.errors import TracestatError
from tracestat.survival.bins import DEFAULT_EDGES
from tracestat.survival.blocks import block_centres, block_sums, merge_blocks
from tracestat.survival.exposure import events_and_exposure
from tracestat.survival.slope import curvature, ols_slope, poisson_slope, power_law_slope, slope_note

D_W, X_W = events_and_exposure(WEIBULL, np.ones(1000), DEFAULT_EDGES)
J = R["weibull"]["support"]
ONES, NONE = np.ones(1000), np.zeros(1000)


def test_poisson_slope_of_the_weibull_sample() -> None:
    fit = poisson_slope(D_W[:J], X_W[:J], CENTRES[:J])
    assert fit is not None
    assert_allclose(fit.slope, R["weibull"]["slope"], rtol=1e-9)
    assert_allclose(fit.intercept, R["weibull"]["intercept"], rtol=1e-9)
    assert_allclose(fit.se_naive, R["weibull"]["se_naive"], rtol=1e-9)
    all_bins = poisson_slope(D_W, X_W, CENTRES)
    assert all_bins is not None
    assert_allclose(all_bins.slope, R["weibull"]["slope_all_bins"], rtol=1e-9)


def test_poisson_slope_of_four_bins() -> None:
    frozen = R["four_bins"]
    fit = poisson_slope(frozen["D"], frozen["X"], frozen["x"])
    assert fit is not None
    assert_allclose(fit.intercept, frozen["intercept"], rtol=1e-9)
    assert_allclose(fit.slope, frozen["slope"], rtol=1e-9)
    # R stops one step early, which shows in the standard errors only
    assert_allclose(fit.se_intercept, frozen["se_intercept"], rtol=1e-7)
    assert_allclose(fit.se_naive, frozen["se_slope"], rtol=1e-7)
    Z = np.stack([np.ones(4), frozen["x"]], axis=1)
    information = Z.T @ (Z * (np.array(frozen["X"]) * np.exp(fit.intercept + fit.slope * Z[:, 1]))[:, None])
    assert_allclose([fit.se_intercept, fit.se_naive], np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-10)


def test_pooled_slope_of_three_keys() -> None:
    fit = poisson_slope([4, 3], [7, 4.5], [0, 1])
    assert fit is not None
    assert_allclose(fit.slope, 0.154150679827, rtol=1e-9)


def test_least_squares() -> None:
    blocks, n_bins = merge_blocks(D_W)
    assert n_bins == J
    slope = ols_slope(block_sums(D_W, blocks), block_sums(X_W, blocks), block_centres(DEFAULT_EDGES, blocks))
    assert_allclose(slope, -0.596552042977, rtol=1e-9)


def test_least_squares_skips_blocks_without_events() -> None:
    assert_allclose(ols_slope([8, 0, 2], [1, 1, 1], [0, 1, 2]), -np.log(2), rtol=1e-12)
    assert ols_slope([8, 0, 0], [1, 1, 1], [0, 1, 2]) is None


def test_power_law() -> None:
    fit = power_law_slope(WEIBULL, ONES, NONE, 0.1285, 525.1435)
    assert fit is not None
    assert_allclose(fit.slope, -0.59922183756, rtol=1e-9)
    assert_allclose(fit.se_naive, 0.0167899538108, rtol=1e-6)
    wide = power_law_slope(WEIBULL, ONES, NONE, 0.1, 1000)
    assert wide is not None
    assert_allclose(wide.slope, -0.599957508284, rtol=1e-9)


def log_likelihood(k: float, times: Floats, events: Floats, starts: Floats, t1: float) -> float:
    """Profile log likelihood of the power law, by its definition."""
    end = np.minimum(times, t1)
    area = np.log(end / starts) if k == 0 else (end**k - starts**k) / k
    seen = events * (times <= t1)
    return float(seen.sum() * np.log(seen.sum() / area.sum()) + (k - 1) * seen @ np.log(times))


@pytest.mark.parametrize("true", [-2.3, -1.0, -0.4, 0.0, 0.8])
@pytest.mark.parametrize("late", [False, True])
def test_power_law_is_the_maximum_also_below_minus_one(true: float, late: bool) -> None:
    rng = np.random.default_rng(5)
    t0, t1, k, n = 0.2, 300.0, true + 1, 400
    starts = np.where(late & (rng.random(n) < 0.5), rng.uniform(t0, 3, n), t0)
    area = rng.exponential(size=n) / 0.3
    with np.errstate(invalid="ignore"):
        times = starts * np.exp(area) if k == 0 else (starts**k + k * area) ** (1 / k)
    times = np.where(np.isfinite(times), times, 2 * t1)  # the law has mass at infinity
    events = (rng.random(n) < 0.8).astype(float)
    fit = power_law_slope(times, events, 1 - events, t0, t1, entry=starts if late else None)
    assert fit is not None
    found = minimize_scalar(
        lambda s: -log_likelihood(s + 1, times, events, starts, t1), (-3, 1), method="brent", options={"xtol": 1e-10}
    )
    assert fit.slope == pytest.approx(found.x, abs=1e-6)
    curve = [log_likelihood(fit.slope + 1 + h, times, events, starts, t1) for h in (-1e-3, 0, 1e-3)]
    assert fit.se_naive == pytest.approx((-(curve[0] - 2 * curve[1] + curve[2]) / 1e-6) ** -0.5, rel=1e-4)
    assert abs(fit.slope - true) < 4 * fit.se_naive
    end = np.minimum(times, t1)
    expected = np.exp(fit.intercept) * ((end ** (fit.slope + 1) - starts ** (fit.slope + 1)) / (fit.slope + 1)).sum()
    assert expected == pytest.approx(fit.n_events, rel=1e-9)


def test_power_law_takes_counts_at_distinct_times() -> None:
    rng = np.random.default_rng(6)
    times = np.ceil(rng.exponential(5, 500) * 10) / 10
    seen = rng.random(500) < 0.7
    distinct, where = np.unique(times, return_inverse=True)
    events, censored = np.bincount(where, seen), np.bincount(where, ~seen)
    one, other = power_law_slope(times, seen, ~seen, 0.25, 20), power_law_slope(distinct, events, censored, 0.25, 20)
    assert one is not None
    assert other is not None
    assert one.slope == pytest.approx(other.slope, abs=1e-10)


def test_power_law_without_answer() -> None:
    assert power_law_slope([1.0, 2.0], [1, 1], [0, 0], 5, 10) is None
    assert power_law_slope([9.99, 9.99], [1, 1], [0, 0], 1, 10) is None  # steeper than any exponent in range
    with pytest.raises(TracestatError):
        power_law_slope([1.0], [1], [0], 0, 10)


def test_curvature() -> None:
    fit = curvature(D_W[:J], X_W[:J], CENTRES[:J])
    assert fit is not None
    assert_allclose(fit.curvature, 0.00076105629268, rtol=1e-7)
    assert_allclose(fit.centre, 2.31438047927, rtol=1e-9)
    assert fit.local_slope(fit.centre) == fit.slope
    assert fit.local_slope(fit.centre + 1) == pytest.approx(fit.slope + 2 * fit.curvature, rel=1e-12)


def test_curvature_of_an_exact_parabola() -> None:
    x = np.arange(6.0)
    X = np.full(6, 1e6)
    fit = curvature(X * np.exp(-3 - 0.5 * x - 0.1 * x**2), X, x)
    assert fit is not None
    assert_allclose(fit.curvature, -0.1, rtol=1e-8)
    assert_allclose(fit.local_slope(2.0), -0.5 - 0.2 * 2, rtol=1e-8)


@pytest.mark.parametrize(
    ("D", "X"),
    [([0, 0, 0], [1, 1, 1]), ([5, 0, 0], [1, 1, 1]), ([0, 0, 0], [0, 0, 0])],
)
def test_no_slope_without_events_in_two_bins(D: list[float], X: list[float]) -> None:
    assert poisson_slope(D, X, [0, 1, 2]) is None
    assert curvature(D, X, [0, 1, 2]) is None


def test_curvature_needs_three_bins() -> None:
    assert curvature([5, 5, 0], [1, 1, 1], [0, 1, 2]) is None


def test_shapes_must_agree() -> None:
    with pytest.raises(TracestatError, match="last axis"):
        poisson_slope([1, 2], [1.0, 2.0], [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("have", "note"),
    [
        ((100, 5, 20), None),
        ((99, 5, 20), "99 events, 100 needed"),
        ((100, 4, 12), "4 bins, 5 needed; 12 clusters, 20 needed"),
    ],
)
def test_minimum_of_data(have: tuple[int, int, int], note: str | None) -> None:
    assert slope_note(*have) == note


@quick
@given(hazard_tables())
def test_the_fit_is_the_maximum(table: tuple[Floats, Floats, Floats]) -> None:
    D, X, x = table[0].sum(axis=0), table[1].sum(axis=0), table[2]
    fit = poisson_slope(D, X, x)
    assert fit is not None

    def negative(p: Floats) -> float:
        return float(X @ np.exp(p[0] + p[1] * x) - D @ (p[0] + p[1] * x))

    best = minimize(negative, [np.log(D.sum() / X.sum()), 0.0], method="BFGS")
    assert negative(np.array([fit.intercept, fit.slope])) <= best.fun + 1e-6
    residual = D - X * np.exp(fit.intercept + fit.slope * x)
    assert abs(residual.sum()) < 1e-6
    assert abs(residual @ x) < 1e-6


@quick
@given(hazard_tables(), st.floats(0.001, 1000))
def test_another_unit_leaves_the_slope(table: tuple[Floats, Floats, Floats], c: float) -> None:
    D, X, x = table[0].sum(axis=0), table[1].sum(axis=0), table[2]
    plain, scaled = poisson_slope(D, X, x), poisson_slope(D, X * c, x + np.log(c))
    assert plain is not None
    assert scaled is not None
    assert scaled.slope == pytest.approx(plain.slope, abs=1e-9)
    # hazard at the same place: divided by c
    assert scaled.intercept + scaled.slope * np.log(c) == pytest.approx(plain.intercept - np.log(c), abs=1e-8)
