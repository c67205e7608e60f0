"""Skill and differences with intervals: values by hand, the jackknife by leaving out, coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from tracestat.errors import TracestatError
from tracestat.forecast.skill import effective_clusters, error_cut, paired_difference, paired_test
from tracestat.results import Bounds

# rows of the developers of a real trace: uneven, as they are
CLAUDE = (
    7785,
    3538,
    2659,
    1953,
    1340,
    1278,
    961,
    614,
    446,
    409,
    151,
    117,
    107,
    99,
    92,
    82,
    68,
    55,
    49,
    9,
    5,
    2,
    2,
    2,
    2,
    1,
)
CODEX = (2061, 1039, 268, 262, 80, 17, 9, 6, 5, 5, 4, 4, 4, 4, 3)


def some_sums(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    baseline = rng.gamma(2, 1, (n, 3)) * rng.lognormal(0, 1, (n, 1))
    return baseline * rng.uniform(0.5, 1.0, (n, 3)), baseline, rng.integers(0, 25, n)


def bounds(pair: Bounds | None) -> np.ndarray:
    return np.array(pair, dtype=np.float64)


def test_value_and_jackknife_by_leaving_out() -> None:
    model, base, developer = some_sums()
    cut = error_cut(model, base, developer)
    assert cut.value == pytest.approx(100 * (1 - (model.sum(0) / base.sum(0)).mean()), rel=1e-12)
    there = np.unique(developer)
    ratio = np.log((model.sum(0) / base.sum(0)).mean())
    without = np.array([np.log((model[developer != g].sum(0) / base[developer != g].sum(0)).mean()) for g in there])
    se = np.sqrt((there.size - 1) / there.size * np.sum((without - ratio) ** 2))
    share = np.array([(base[developer == g].sum(0) / base.sum(0)).mean() for g in there])
    half = stats.t.ppf(0.975, 1 / np.sum(share**2) - 1) * se
    assert_allclose(
        bounds(cut.developer), [100 * (1 - np.exp(ratio + half)), 100 * (1 - np.exp(ratio - half))], rtol=1e-9
    )
    assert ((cut.low, cut.high), cut.method) == (cut.developer, "developer CV3")


def test_difference_by_leaving_out() -> None:
    model, base, developer = some_sums()
    a, b, n = model[:, 0], base[:, 0], np.full(60, 2.0)
    found = paired_difference(a, b, n, developer)
    assert found.value == pytest.approx((a - b).sum() / 120, rel=1e-12)
    without = np.array([np.delete(a - b, i).sum() / np.delete(n, i).sum() for i in range(60)])
    se = np.sqrt(59 / 60 * np.sum((without - found.value) ** 2))
    half = stats.t.ppf(0.975, effective_clusters(a + b) - 1) * se
    middle = (a - b).sum() / 120
    assert_allclose(bounds(found.session), [middle - half, middle + half], rtol=1e-9)
    assert found.high is not None
    assert found.high < 0


def test_p_is_that_of_the_interval() -> None:
    model, base, developer = some_sums()
    for who, kind in ((developer, "developer"), (developer % 6, "developer"), (developer * 0, "session")):
        a, b, n = 0.06 * model[:, 0] + 0.94 * base[:, 0], base[:, 0] * 0.97, np.full(60, 2.0)
        test = paired_test(a, b, n, who)
        found, by = test.difference, who if kind == "developer" else np.arange(60)
        assert found == paired_difference(a, b, n, who)
        # however few the developers are: by session two equally good methods differ far too often
        assert found.method == f"{kind} CV3"
        assert found.value is not None
        assert found.high is not None
        assert test.p_value is not None
        free = effective_clusters(np.bincount(by, weights=a + b)) - 1
        se = (found.high - found.value) / stats.t.ppf(0.975, free)
        assert test.p_value == pytest.approx(2 * stats.t.sf(abs(found.value) / se, free), rel=1e-9)
        # at the level of its own p, an interval ends at 0
        edge = paired_test(a, b, n, who, level=1 - test.p_value).difference
        assert min(abs(edge.low or 0.0), abs(edge.high or 0.0)) == pytest.approx(0, abs=1e-9)
    assert paired_test(a, a, n, developer).p_value == 1
    assert paired_test([1.0, 0.0], [2.0, 0.0], [1, 0], np.zeros(2, dtype=np.intp)).p_value is None
    boot = paired_test(model[:, 0], base[:, 0], n, developer, draws=200).p_value
    assert boot == pytest.approx(paired_test(model[:, 0], base[:, 0], n, developer).p_value or 0.0, abs=1e-3)


def test_equally_good_methods_differ_in_one_of_twenty() -> None:
    rng, n, runs = np.random.default_rng(1), np.array(CLAUDE, dtype=float), 1000
    p = np.empty(runs)
    for run in range(runs):
        # developers differ, by 0 on average
        gain = n * rng.normal(0, 0.15, n.size) + np.sqrt(n) * rng.normal(0, 0.6, n.size)
        p[run] = paired_test(n + gain / 2, n - gain / 2, n, np.arange(n.size)).p_value
    assert 0.03 < np.mean(p < 0.05) < 0.07


def test_bootstrap_is_the_percentile_of_resampled_developers() -> None:
    model, base, developer = some_sums()
    cut = error_cut(model, base, developer, draws=500, seed=3)
    assert cut.method == "developer bootstrap"
    rng = np.random.default_rng(99)
    there = np.unique(developer)
    by_hand = []
    for _ in range(500):
        rows = np.concatenate([np.flatnonzero(developer == g) for g in rng.choice(there, there.size)])
        by_hand.append(100 * (1 - (model[rows].sum(0) / base[rows].sum(0)).mean()))
    width = np.diff(np.quantile(by_hand, [0.025, 0.975]))[0]
    assert cut.low is not None
    assert cut.high is not None
    assert cut.high - cut.low == pytest.approx(width, rel=0.2)
    assert cut == error_cut(model, base, developer, draws=500, seed=3)


def test_a_method_against_itself() -> None:
    _, base, developer = some_sums()
    cut = error_cut(base, base, developer)
    assert (cut.value, cut.low, cut.high) == pytest.approx((0, 0, 0), abs=1e-9)
    same = paired_difference(base[:, 0], base[:, 0], np.ones(60), developer)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    # the same sums added up in another order
    again = paired_test(base[:, 0] * (1 - 4e-16), base[:, 0], np.ones(60), developer)
    assert (again.difference, again.p_value) == (same, 1)
    assert error_cut(base * (1 + 4e-16), base, developer) == cut


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(60)), st.floats(0.01, 100))
def test_order_and_unit_do_not_matter(order: list[int], size: float) -> None:
    model, base, developer = some_sums(seed=2)
    one, other = error_cut(model, base, developer), error_cut(model[order] * size, base[order] * size, developer[order])
    for a, b in ((one.session, other.session), (one.developer, other.developer)):
        assert_allclose(bounds(a), bounds(b), rtol=1e-7)


def test_clusters_without_rows_do_not_count() -> None:
    model, base, developer = some_sums()
    none = np.zeros((5, 3))
    wider = error_cut(np.vstack([model, none]), np.vstack([base, none]), np.append(developer, [40, 41, 0, 0, 0]))
    assert wider == error_cut(model, base, developer)


def test_too_little_gives_no_bounds_and_no_warning() -> None:
    developer = np.zeros(2, dtype=np.intp)
    assert error_cut([0.0, 0.0], [0.0, 0.0], developer).value is None
    assert error_cut([], [], developer[:0]).value is None
    assert paired_difference([0.0, 0.0], [0.0, 0.0], [0, 0], developer).value is None
    one = error_cut([1.0, 0.0], [2.0, 0.0], developer)
    assert (one.value, one.low, one.session, one.developer) == (50, None, (None, None), (None, None))
    # a landmark that only one session reaches
    alone = error_cut(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 2.0], [2.0, 0.0]]), np.arange(2))
    assert (alone.value, alone.low) == (50, None)
    perfect = error_cut([0.0, 0.0], [1.0, 1.0], np.arange(2))
    assert (perfect.value, perfect.low) == (100, None)
    assert error_cut([1.0, 0.0], [2.0, 0.0], developer, draws=50).low is None
    with pytest.raises(TracestatError, match="developer of every session"):
        error_cut([1.0, 2.0], [2.0, 2.0], developer[:1])


def covered(sizes: tuple[int, ...], runs: int, draws: int = 0) -> float:
    """Give how often the developer interval holds the truth, with loss ratios that vary by 20 % between developers."""
    rng = np.random.default_rng(5)
    n, developers, hits = np.array(sizes, dtype=float), np.arange(len(sizes)), 0
    truth = 100 * (1 - 0.75 * np.exp(0.2**2 / 2))
    for run in range(runs):
        base = n * np.exp(0.4 * rng.standard_normal(n.size))
        cut = error_cut(
            base * 0.75 * np.exp(0.2 * rng.standard_normal(n.size)), base, developers, draws=draws, seed=run
        )
        low, high = cut.developer or (None, None)
        hits += low is not None and high is not None and low <= truth <= high
    return hits / runs


@pytest.mark.parametrize("sizes", [CLAUDE, CODEX])
def test_uneven_developers_are_covered(sizes: tuple[int, ...]) -> None:
    assert covered(sizes, 300) >= 0.92


@pytest.mark.full
@pytest.mark.parametrize(("sizes", "percentile"), [(CLAUDE, 0.90), (CODEX, 0.88)])
def test_coverage_of_both_intervals(sizes: tuple[int, ...], percentile: float) -> None:
    assert covered(sizes, 2000) >= 0.94
    assert covered(sizes, 2000, 300) <= percentile  # why it is not the default
