from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from tests.survival.data import CENTRES, Floats, cluster_bins, hazard_tables, quick
from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.bins import bin_centres
from tracestat.survival.frailty import (
    _Keys,
    frailty_cells,
    frailty_loglik,
    frailty_pairs,
    gamma_frailty,
)
from tracestat.survival.slope import poisson_slope
from tracestat.survival.stratified import stratified_slope

D_3, X_3, PLACES = np.array([[3, 1], [0, 2], [1, 0]]), np.array([[2, 1], [4, 3], [1, 0.5]]), [0, 1]


def keyed_rows(n_keys: int, per_key: int, slope: float, sd: float, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Rows of keys that differ by a lognormal level; hazard of each falls with the given slope."""
    rng = np.random.default_rng(seed)
    key = np.repeat(np.arange(n_keys), per_key)
    level = rng.lognormal(0, sd, n_keys)[key]
    times: Floats = (rng.exponential(size=key.size) * (1 + slope) / (0.1 * level)) ** (1 / (1 + slope))
    return times, key


def test_likelihood_and_strata() -> None:
    assert_allclose(frailty_loglik(-0.5, -0.3, 0.5, D_3, X_3, PLACES), -10.8930476326, rtol=1e-9)
    assert_allclose(stratified_slope(D_3, X_3, PLACES, min_events=1), 0.287682072452, rtol=1e-9)
    pooled = poisson_slope(D_3.sum(axis=0), X_3.sum(axis=0), PLACES)
    assert pooled is not None
    assert_allclose(pooled.slope, 0.154150679827, rtol=1e-9)


def test_theta_must_be_positive() -> None:
    with pytest.raises(TracestatError):
        frailty_loglik(0, 0, 0, D_3, X_3, PLACES)


@pytest.mark.parametrize(("sd", "slope"), [(1.0, 0.0), (1.0, -0.4), (0.4, -0.6)])
def test_the_fit_is_the_maximum(sd: float, slope: float) -> None:
    times, key = keyed_rows(400, 6, slope, sd, seed=1)
    D, X = cluster_bins(times, key)
    D, X, x = D[:, :12], X[:, :12], CENTRES[:12]
    fit = gamma_frailty(D, X, x)
    assert fit is not None

    def negative(p: Floats) -> float:
        return -frailty_loglik(p[0], p[1], float(np.exp(p[2])), D, X, x)

    found = min(
        (
            minimize(
                negative,
                [fit.intercept, fit.slope_pooled, start],
                method="L-BFGS-B",
                bounds=[(-9, 3), (-3, 3), (-9, 6)],
            )
            for start in (-2.0, 0.0)
        ),
        key=lambda result: float(result.fun),
    )
    assert_allclose([fit.intercept, fit.slope, np.log(fit.theta)], found.x, atol=5e-3)
    assert fit.loglik >= -found.fun - 1e-7
    assert fit.loglik == pytest.approx(frailty_loglik(fit.intercept, fit.slope, fit.theta, D, X, x), rel=1e-10)
    centre = np.array([fit.intercept, fit.slope, np.log(fit.theta)])
    for direction in np.eye(3) * 1e-4:
        assert abs(negative(centre + direction) - negative(centre - direction)) / 2e-4 < 1e-2
    pooled = poisson_slope(D.sum(axis=0), X.sum(axis=0), x)
    assert pooled is not None
    assert fit.slope_pooled == pytest.approx(pooled.slope, rel=1e-9)
    assert fit.mixing_share == pytest.approx(1 - fit.slope / pooled.slope, rel=1e-9)
    assert fit.slope > fit.slope_pooled


@pytest.mark.parametrize("log_theta", [-6.0, -1.0, 1.5])
def test_derivatives_against_differences(log_theta: float) -> None:
    # the fit would converge with a wrong Hessian, too, only slowly; the jackknife step would be wrong without a sign
    times, key = keyed_rows(80, 6, -0.4, 1.0, seed=11)
    D, X = cluster_bins(times, key)
    z = CENTRES - 2.0
    keys = _Keys(D.sum(axis=1), X, D.sum(axis=0), z)
    at = np.array([-3.0, -0.5, log_theta])
    value, gradient, hessian = keys.derivatives(at)
    assert value == pytest.approx(frailty_loglik(at[0], at[1], np.exp(log_theta), D, X, z), rel=1e-10)
    for i, h in enumerate(np.eye(3) * 1e-4):
        up, down = keys.derivatives(at + h), keys.derivatives(at - h)
        assert gradient[i] == pytest.approx((up[0] - down[0]) / 2e-4, rel=1e-5, abs=1e-4)
        assert_allclose(hessian[i], (up[1] - down[1]) / 2e-4, rtol=1e-5, atol=1e-4)


def test_equal_keys_put_theta_at_its_lower_end() -> None:
    x = np.arange(4.0)
    X = np.full((50, 4), 100.0)
    D = X * np.exp(-1 - 0.5 * x)  # exactly as expected: less than Poisson variation
    fit = gamma_frailty(D, X, x)
    assert fit is not None
    assert fit.at_bound
    assert fit.theta == pytest.approx(np.exp(-9), rel=1e-6)
    assert fit.slope == pytest.approx(-0.5, abs=1e-6)


def test_keys_without_exposure_do_not_count() -> None:
    times, key = keyed_rows(60, 6, -0.4, 1.0, seed=2)
    D, X = cluster_bins(times, key)
    fit = gamma_frailty(D, X, CENTRES)
    padded = gamma_frailty(np.vstack([D, np.zeros((4, 18))]), np.vstack([X, np.zeros((4, 18))]), CENTRES)
    assert fit is not None
    assert padded is not None
    assert padded.n_keys == fit.n_keys == int(np.count_nonzero(X.sum(axis=1)))
    assert padded.slope == pytest.approx(fit.slope, abs=1e-9)


def test_no_events_no_fit() -> None:
    assert gamma_frailty(np.zeros((3, 4)), np.ones((3, 4)), np.arange(4.0)) is None
    assert frailty_pairs([0, 1], [0, 1], np.zeros((2, 4)), np.ones((2, 4)), np.arange(4.0)) is None


def pairs(
    n_keys: int, n_sessions: int, n_rows: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats, Floats]:
    """(key, session) rows: sessions use a few keys each and have a level of their own."""
    rng = np.random.default_rng(seed)
    row_session = rng.integers(n_sessions, size=n_rows)
    row_key = (row_session * 7 + rng.integers(8, size=n_rows)) % n_keys
    level = rng.lognormal(0, 0.8, n_keys)[row_key] * rng.lognormal(0, 0.3, n_sessions)[row_session]
    times = (rng.exponential(size=n_rows) / (0.3 * level)) ** 2.0
    code, where = np.unique(row_key * n_sessions + row_session, return_inverse=True)
    D, X = cluster_bins(times, where)
    return code // n_sessions, code % n_sessions, D[:, :13], X[:, :13]


def test_one_newton_step_against_full_refits() -> None:
    key, session, D, X = pairs(60, 30, 2_400, seed=3)
    x = CENTRES[:13]
    fit = frailty_pairs(key, session, D, X, x)
    assert fit is not None
    assert fit.interval is not None
    refits = []
    for g in range(30):
        left = gamma_frailty(
            sum_by(D[session != g], key[session != g], 60), sum_by(X[session != g], key[session != g], 60), x
        )
        assert left is not None
        refits.append(left.slope)
    full_se = np.sqrt(29 / 30 * np.sum((np.array(refits) - fit.slope) ** 2))
    assert fit.interval.n_clusters == 30
    assert fit.interval.value == fit.slope
    assert_allclose(fit.interval.se, full_se, rtol=0.05)


def test_pairs_give_the_same_fit_as_keys() -> None:
    key, session, D, X = pairs(60, 30, 1_500, seed=4)
    by_pair = frailty_pairs(key, session, D, X, CENTRES[:13])
    by_key = gamma_frailty(sum_by(D, key, 60), sum_by(X, key, 60), CENTRES[:13])
    assert by_pair is not None
    assert by_key is not None
    assert by_pair.slope == pytest.approx(by_key.slope, abs=1e-9)
    assert by_pair.theta == pytest.approx(by_key.theta, rel=1e-7)
    assert by_key.interval is None


def test_a_pair_may_come_in_parts() -> None:
    key, session, D, X = pairs(20, 25, 900, seed=5)
    one = frailty_pairs(key, session, D, X, CENTRES[:13])
    parts = frailty_pairs(
        np.concatenate([key, key]),
        np.concatenate([session, session]),
        np.vstack([D, 0 * D]),
        np.vstack([X / 2, X / 2]),
        CENTRES[:13],
    )
    assert one is not None
    assert parts is not None
    assert one.interval is not None
    assert parts.interval is not None
    assert parts.interval.se == pytest.approx(one.interval.se, rel=1e-6)


def test_jackknife_when_keys_are_sessions() -> None:
    times, key = keyed_rows(40, 30, -0.4, 0.6, seed=6)
    D, X = cluster_bins(times, key)
    D, X, x = D[:, :13], X[:, :13], CENTRES[:13]
    fit = frailty_pairs(np.arange(40), np.arange(40), D, X, x)
    assert fit is not None
    assert fit.interval is not None
    refits = [gamma_frailty(np.delete(D, g, 0), np.delete(X, g, 0), x) for g in range(40)]
    se = np.sqrt(39 / 40 * sum((r.slope - fit.slope) ** 2 for r in refits if r))
    assert_allclose(fit.interval.se, se, rtol=0.05)


def test_jackknife_with_theta_at_its_end() -> None:
    rng = np.random.default_rng(7)
    x = np.arange(5.0)
    X = rng.gamma(4.0, 30.0, (40, 5))
    D = np.round(X * np.exp(-1 - 0.5 * x + rng.normal(0, 0.01, (40, 1))))
    fit = frailty_pairs(np.zeros(40, dtype=int), np.arange(40), D, X, x)
    assert fit is not None
    assert fit.at_bound
    assert fit.interval is not None
    assert fit.interval.se is not None
    refits = [poisson_slope(np.delete(D, g, 0).sum(axis=0), np.delete(X, g, 0).sum(axis=0), x) for g in range(40)]
    se = np.sqrt(39 / 40 * sum((r.slope - fit.slope) ** 2 for r in refits if r))
    assert_allclose(fit.interval.se, se, rtol=0.05)


@pytest.mark.parametrize("developers", [np.zeros(30, dtype=int), (np.arange(30) > 28).astype(int)])
def test_a_cluster_that_holds_all_events_has_no_interval(developers: NDArray[np.intp]) -> None:
    key, session, D, X = pairs(20, 30, 900, seed=12)
    D = np.where(session[:, None] > 28, 0.0, D)  # with two developers, the other one has exposure only
    fit = frailty_pairs(key, session, D, X, CENTRES[:13], coarser=developers[session])
    assert fit is not None
    assert fit.interval is not None
    assert fit.interval.low is not None
    assert fit.coarser is not None
    assert fit.coarser.n_clusters == len(set(developers))
    assert fit.coarser.low is None


def test_codes_and_rows_must_agree() -> None:
    with pytest.raises(TracestatError, match="per row"):
        frailty_pairs([0, 1], [0], np.ones((2, 3)), np.ones((2, 3)), np.arange(3.0))


def test_a_cluster_lies_in_one_coarser_cluster() -> None:
    with pytest.raises(TracestatError, match="two of the coarser"):
        frailty_pairs([0, 1, 1], [0, 0, 1], np.ones((3, 3)), np.ones((3, 3)), np.arange(3.0), coarser=[0, 1, 1])


def test_strata_leave_out_small_keys() -> None:
    times, key = keyed_rows(20, 100, -0.4, 1.0, seed=8)
    D, X = cluster_bins(times, key)
    small_D, small_X = cluster_bins(*keyed_rows(50, 3, 1.5, 0.1, seed=9))
    large = stratified_slope(D, X, CENTRES)
    assert large is not None
    assert stratified_slope(np.vstack([D, small_D]), np.vstack([X, small_X]), CENTRES) == pytest.approx(large, abs=1e-9)
    assert stratified_slope(small_D, small_X, CENTRES) is None


def test_strata_are_the_profile_maximum() -> None:
    times, key = keyed_rows(20, 100, -0.4, 1.0, seed=10)
    D, X = cluster_bins(times, key)

    def negative(b: float) -> float:
        return float(D.sum(axis=1) @ np.log(X @ np.exp(b * CENTRES)) - b * D.sum(axis=0) @ CENTRES)

    assert stratified_slope(D, X, CENTRES) == pytest.approx(
        minimize_scalar(negative, (-2, 1), options={"xtol": 1e-10}).x, abs=1e-6
    )


def test_strata_without_a_maximum() -> None:
    # all events in the first bin: the slope falls without end
    assert stratified_slope([[60, 0], [60, 0]], [[1.0, 1.0], [1.0, 1.0]], [0, 1]) is None


@quick
@given(hazard_tables(min_clusters=6))
def test_order_and_unit_do_not_matter(table: tuple[Floats, Floats, Floats]) -> None:
    D, X, x = table
    one, other = gamma_frailty(D, X, x), gamma_frailty(D[::-1], X[::-1] * 60, x + np.log(60))
    assert one is not None
    assert other is not None
    assert other.slope == pytest.approx(one.slope, abs=1e-6)
    assert np.exp(-9) * 0.999 <= one.theta <= np.exp(6) * 1.001


def test_rows_of_single_cells_give_what_whole_rows_give() -> None:
    rng = np.random.default_rng(11)
    edges = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    n = 3_000
    key, session = rng.integers(0, 40, n), rng.integers(0, 60, n)
    developer = session // 5
    times = rng.exponential(4.0, n) * rng.gamma(2.0, 0.5, 40)[key]
    seen = rng.random(n) > 0.1
    cell = np.searchsorted(edges, times, side="right")
    x = bin_centres(edges)
    found, D, X = frailty_cells(key, session, cell, seen & (times > 0), np.ones(n), times, edges, coarser=developer)
    D_row = np.zeros((n, 5))
    inside = (cell >= 1) & (cell <= 5) & seen
    D_row[np.flatnonzero(inside), cell[inside] - 1] = 1
    low, high = np.array(edges[:-1]), np.array(edges[1:])
    X_row = np.clip(np.minimum(times[:, None], high) - low, 0, None)
    whole = frailty_pairs(key, session, D_row, X_row, x, coarser=developer)
    assert found is not None
    assert whole is not None
    np.testing.assert_allclose(X.sum(axis=0), X_row.sum(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(D.sum(axis=0), D_row.sum(axis=0))
    for name in ("intercept", "slope", "theta", "slope_pooled", "loglik"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-6)
    for name in ("interval", "coarser"):
        one, other = getattr(found, name), getattr(whole, name)
        assert one.n_clusters == other.n_clusters
        assert one.se == pytest.approx(other.se, rel=1e-6)
