from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri

from tests.survival.data import Floats, R, hazard_tables, quick
from tracestat.errors import TracestatError, UsageError
from tracestat.resample import sign_multipliers
from tracestat.survival.monotone import holm, pava_ratio
from tracestat.survival.rise import RiseGroup, draw_shared, rise_test, rise_tests, rise_tests_together

D_4, X_4 = np.array([R["four_bins"]["D"]]), np.array([R["four_bins"]["X"]])
BINS_4 = [(0, 1), (1, 2), (2, 3), (3, 4)]


def table(hazards: list[float], n_clusters: int = 60, seed: int = 0, spread: float = 0.4) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.gamma(3.0, 40.0, (n_clusters, len(hazards)))
    return rng.poisson(X * rng.lognormal(0, spread, (n_clusters, 1)) * np.array(hazards)).astype(float), X


def bins(n: int) -> list[tuple[int, int]]:
    return [(j, j + 1) for j in range(n)]


def test_contrasts_of_four_bins() -> None:
    contrasts = rise_test(D_4, X_4, BINS_4).contrasts
    delta = np.array([c.log_ratio for c in contrasts])
    z = delta / np.array([c.se_naive for c in contrasts])
    assert_allclose(delta, [-0.470003629246, 0.315852949418, -0.656779536389], rtol=1e-9)
    assert_allclose(z, [-2.71356721865, 1.64948823184, -3.21754947531], rtol=1e-9)
    assert_allclose(holm(ndtr(-z)), [1, 0.148571478198, 1], rtol=1e-9)


def test_one_cluster_is_no_test() -> None:
    test = rise_test(D_4, X_4, BINS_4)
    assert (test.significant, test.largest, test.largest_upper, test.critical) == (None, None, None, None)
    assert test.note == "fewer than two clusters"
    assert all((c.se, c.p_adjusted, c.upper) == (None, None, None) for c in test.contrasts)


def test_one_block_is_no_test() -> None:
    D, X = table([0.1])
    test = rise_test(D, X, [(0, 1)])
    assert (test.contrasts, test.significant) == ((), None)
    assert "blocks" in test.note


def test_clustered_error_by_definition() -> None:
    D, X = table([0.2, 0.1, 0.1])
    blocks = [(0, 1), (1, 3)]
    (contrast,) = rise_test(D, X, blocks).contrasts
    D_b, X_b = (np.stack([v[:, 0], v[:, 1] + v[:, 2]], axis=1) for v in (D, X))
    hazard = D_b.sum(axis=0) / X_b.sum(axis=0)
    U = (D_b - hazard * X_b) / D_b.sum(axis=0)
    C = U[:, 1] - U[:, 0]
    assert contrast.log_ratio == pytest.approx(np.log(hazard[1] / hazard[0]), rel=1e-12)
    assert contrast.se == pytest.approx(np.sqrt(60 / 59 * C @ C), rel=1e-10)


def test_max_t_by_definition() -> None:
    D, X = table([0.2, 0.21, 0.2, 0.24])
    W = sign_multipliers(60, 2_000, seed=5)
    test = rise_test(D, X, bins(4), "any", seed=5)
    D_sum = D.sum(axis=0)
    U = (D - X * D_sum / X.sum(axis=0)) / D_sum
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    assert [(c.start, c.stop) for c in test.contrasts] == pairs
    C = np.stack([U[:, b] - U[:, a] for a, b in pairs], axis=1)
    share = W @ C / np.sqrt((C**2).sum(axis=0))
    null = share / np.sqrt((1 - share**2 / 60) * 60 / 59)
    assert test.critical == pytest.approx(np.quantile(null.max(axis=1), 0.95), rel=1e-9)
    t = np.array([c.log_ratio / c.se for c in test.contrasts if c.se])
    # step-down: each p over the contrasts that are not larger, and never below that of a larger one
    expected = np.array([np.mean(null[:, t <= value].max(axis=1) >= value) for value in t])
    expected = np.array([expected[t >= value].max() for value in t])
    assert_allclose([c.p_adjusted for c in test.contrasts], expected, atol=1e-12)
    upper = [np.exp(c.log_ratio + test.critical * c.se) - 1 for c in test.contrasts if c.se and test.critical]
    assert_allclose([c.upper for c in test.contrasts], upper, rtol=1e-12)
    assert test.largest is not None
    assert test.largest_upper == max(upper) == test.largest.upper


def test_a_rise_is_found_in_its_place() -> None:
    D, X = table([0.3, 0.2, 0.3, 0.1])
    test = rise_test(D, X, bins(4))
    assert test.significant
    p = [c.p_adjusted for c in test.contrasts]
    assert p[1] is not None
    assert p[1] < 0.01
    assert p[0] == p[2] == 1
    assert test.largest is not None
    assert (test.largest.start, test.largest.stop) == (1, 2)
    assert test.largest_upper is not None
    assert 0.5 < test.largest_upper < 1.5


def test_a_fall_is_not_a_rise_however_clear() -> None:
    D, X = table([0.8, 0.4, 0.2, 0.1])
    test = rise_test(D, X, bins(4))
    assert test.significant is False
    assert all(c.p_adjusted == 1 for c in test.contrasts)
    assert test.largest_upper is not None
    assert test.largest_upper < 0


def test_a_rise_between_distant_blocks_needs_the_larger_family() -> None:
    D, X = table([0.1, 0.112, 0.125, 0.14, 0.16], n_clusters=40, spread=0.05)
    tests = rise_tests(D, X, bins(5))
    assert tests["any"].significant
    assert len(tests["any"].contrasts) == 10
    far = max(tests["any"].contrasts, key=lambda c: c.log_ratio)
    assert (far.start, far.stop) == (0, 4)


def test_without_draws_holm_is_used() -> None:
    D, X = table([0.2, 0.21, 0.2])
    test = rise_test(D, X, bins(3), draws=0)
    t = np.array([c.log_ratio / c.se for c in test.contrasts if c.se])
    assert test.method == "Holm"
    assert_allclose([c.p_adjusted for c in test.contrasts], holm(ndtr(-t)), rtol=1e-12)
    assert test.critical == pytest.approx(ndtri(0.975), rel=1e-12)


def test_draws_can_be_shared() -> None:
    D, X = table([0.2, 0.21, 0.2])
    W = sign_multipliers(60, 2_000, seed=0)
    blocks, wide = tuple(bins(3)), ((0, 1), (1, 3))
    shared = rise_tests_together(draw_shared([RiseGroup(D, X, blocks)], W))
    own = rise_tests(D, X, blocks)
    for family in ("adjacent", "any"):
        one, other = own[family], shared[0][family]
        assert other.critical == pytest.approx(one.critical, rel=1e-9)
        assert [c.p_adjusted for c in other.contrasts] == [c.p_adjusted for c in one.contrasts]
    assert own["any"] == rise_test(D, X, blocks, "any")
    assert own["adjacent"] != rise_test(D, X, blocks, seed=1)
    # several bin sets of the same clusters through one product: each as if it were alone
    both = draw_shared([RiseGroup(D, X, blocks), RiseGroup(D, X, wide)], W)
    alone = rise_tests(D, X, wide)["adjacent"]
    assert rise_tests_together(both[1:])[0]["adjacent"].critical == pytest.approx(alone.critical, rel=1e-9)
    with pytest.raises(TracestatError, match="59"):
        draw_shared([RiseGroup(D, X, blocks)], W[:, :59])


def test_groups_of_a_table_are_controlled_together() -> None:
    tables = [table([0.2, 0.21, 0.2], seed=seed) for seed in range(6)]
    groups = [RiseGroup(D, X, tuple(bins(3))) for D, X in tables]
    together = [tests["adjacent"] for tests in rise_tests_together(groups)]
    alone = [rise_test(D, X, bins(3)) for D, X in tables]
    for one, other in zip(alone, together, strict=True):
        assert one.critical is not None
        assert other.critical is not None
        assert other.critical > one.critical
        assert other.largest_upper is not None
        assert one.largest_upper is not None
        assert other.largest_upper > one.largest_upper
        for a, b in zip(one.contrasts, other.contrasts, strict=True):
            assert a.p_adjusted is not None
            assert b.p_adjusted is not None
            assert b.p_adjusted >= a.p_adjusted


def test_clusters_out_of_range_do_not_count() -> None:
    D, X = table([0.2, 0.21, 0.2], n_clusters=8)
    padded = rise_test(np.vstack([D, np.zeros((10, 3))]), np.vstack([X, np.zeros((10, 3))]), bins(3))
    assert padded == rise_test(D, X, bins(3))  # Webb's six points in both
    assert padded.n_clusters == 8


def test_clusters_that_do_not_vary() -> None:
    test = rise_test(np.ones((30, 2)), np.ones((30, 2)), bins(2))
    assert test.significant is None
    assert test.note == "clusters do not vary"


def test_what_cannot_be_tested_is_refused() -> None:
    D, X = table([0.2, 0.1])
    D[:, 1] = 0
    with pytest.raises(TracestatError, match="merge"):
        rise_test(D, X, bins(2))
    with pytest.raises(UsageError, match="neighbours"):
        rise_test(D, X, bins(2), "neighbours")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        rise_test(D, X, bins(2), level=1.0)


def test_pooled_adjacent_violators() -> None:
    assert pava_ratio([4, 1, 3], [1.0, 1.0, 1.0]) == pytest.approx(1.5)
    assert pava_ratio([4, 3, 1], [1.0, 1.0, 1.0]) == 1
    assert pava_ratio([1, 0, 4], [1.0, 0.0, 1.0]) == pytest.approx(1.6)
    assert pava_ratio([0, 0], [1.0, 1.0]) is None


@quick
@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0.1, 50)), min_size=1, max_size=12))
def test_pooled_adjacent_violators_against_scipy(pairs: list[tuple[int, float]]) -> None:
    D, X = np.array([p[0] for p in pairs], dtype=float), np.array([p[1] for p in pairs])
    ratio = pava_ratio(D, X)
    if D.sum() == 0:
        assert ratio is None
        return
    fitted = isotonic_regression(D / X, weights=X, increasing=False).x
    assert ratio == pytest.approx(np.max((D / X)[fitted > 1e-12] / fitted[fitted > 1e-12]), rel=1e-9)
    assert ratio is not None
    assert ratio >= 1 - 1e-12


@quick
@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_is_at_least_the_raw_and_at_most_the_bonferroni_value(p: list[float]) -> None:
    raw, adjusted = np.array(p), holm(p)
    assert np.all(adjusted >= raw)
    assert np.all(adjusted <= np.minimum(raw * len(p), 1) + 1e-12)
    assert np.all(np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0)


@quick
@given(hazard_tables(), st.floats(0.01, 100))
def test_another_unit_changes_nothing(data: tuple[Floats, Floats, Floats], c: float) -> None:
    D, X, _ = data
    one, other = rise_test(D, X, bins(D.shape[1]), draws=99), rise_test(D, X * c, bins(D.shape[1]), draws=99)
    for a, b in zip(one.contrasts, other.contrasts, strict=True):
        assert b.log_ratio == pytest.approx(a.log_ratio, abs=1e-9)
        assert b.upper == pytest.approx(a.upper, rel=1e-6)
