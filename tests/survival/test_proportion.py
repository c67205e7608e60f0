"""A share by clusters, against the formula written out, against other variances, and by how often it covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracestat.errors import TracestatError
from tracestat.survival.curve import kaplan_meier, log_log_interval
from tracestat.survival.proportion import clustered_share
from tracestat.survival.shares import ratio_jackknife

COUNTS = st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=12)


def written_out(did: list[int], n: list[int]) -> tuple[float, float]:
    """The bounds in other words: leave a cluster out, and the delta method on ln(-ln(1 - p))."""
    p, G = sum(did) / sum(n), len(n)
    without = [(sum(did) - d) / (sum(n) - m) for d, m in zip(did, n, strict=True)]
    clustered = (G - 1) / G * sum((other - p) ** 2 for other in without)
    se = math.sqrt(max(clustered, p * (1 - p) / sum(n)))
    scale = se / ((1 - p) * -math.log(1 - p)) * stats.t(G - 1).ppf(0.975)
    low, high = (1 - (1 - p) ** math.exp(sign * scale) for sign in (-1, 1))
    return low, high


@pytest.mark.parametrize(
    ("did", "n"), [([1, 0, 2, 1], [10, 10, 10, 10]), ([2, 1], [4, 4]), ([9, 0, 3], [9, 40, 5]), ([1, 0], [400, 100])]
)
def test_bounds_are_the_formula(did: list[int], n: list[int]) -> None:
    assert clustered_share(did, n).bounds == pytest.approx(written_out(did, n), rel=1e-9)  # type: ignore[union-attr]


def test_independent_rows_get_the_usual_standard_error() -> None:
    did = np.zeros(200)
    did[:40] = 1
    share = clustered_share(did, np.ones(200))
    assert share is not None
    assert share.se == pytest.approx(did.std(ddof=1) / math.sqrt(200))


def test_it_is_the_interval_of_a_curve_with_one_step() -> None:
    """Rows of their own, so that Greenwood's variance holds; t with 1,999 degrees of freedom is nearly normal."""
    did = np.zeros(2000)
    did[:400] = 1
    share = clustered_share(did, np.ones(2000))
    assert share is not None
    curve = kaplan_meier(2 - did, np.ones(2000))
    low, high = log_log_interval(curve.survival_at(1.0), curve.greenwood[0])
    assert share.bounds == pytest.approx((1 - high, 1 - low), abs=2e-5)


def test_it_is_as_wide_as_the_jackknife_in_the_middle() -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(5, 60, 80)
    did = rng.binomial(n, rng.beta(2, 2, 80))
    ours, theirs = clustered_share(did, n), ratio_jackknife(did, n)
    assert ours is not None
    assert theirs is not None
    assert ours.value == theirs.value
    assert ours.low is not None
    assert theirs.low is not None
    assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.1)  # type: ignore[operator]


def test_clusters_that_agree_are_no_more_certain_than_independent_rows() -> None:
    alike = clustered_share([1, 1, 1, 1], [10, 10, 10, 10])
    assert alike is not None
    assert alike.bounds == pytest.approx(written_out([1, 1, 1, 1], [10, 10, 10, 10]))
    assert alike.low is not None
    assert alike.low < 0.05


@pytest.mark.parametrize(("did", "n"), [([0, 0], [5, 9]), ([5, 9], [5, 9]), ([3], [7]), ([3, 0], [7, 0])])
def test_too_little_gives_the_share_without_bounds(did: list[int], n: list[int]) -> None:
    share = clustered_share(did, n)
    assert share is not None
    assert share.value == sum(did) / sum(n)
    assert share.bounds == (None, None)


def test_no_rows_no_share() -> None:
    assert clustered_share([], []) is None
    assert clustered_share([0, 0], [0, 0]) is None


@pytest.mark.parametrize(("did", "n"), [([2], [1]), ([-1], [1]), ([1, 1], [1]), ([[1]], [[1]])])
def test_counts_that_cannot_be(did: list[int], n: list[int]) -> None:
    with pytest.raises(TracestatError, match="share: each cluster needs two counts"):
        clustered_share(did, n)


@given(COUNTS)
def test_bounds_hold_the_share_and_stay_within_0_and_1(counts: list[tuple[int, int]]) -> None:
    share = clustered_share([d for d, _ in counts], [n for _, n in counts])
    if share is None:
        assert not counts
    elif share.low is not None and share.high is not None:
        assert 0 <= share.low <= share.value <= share.high <= 1


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_it_covers(p: float) -> None:
    """Shares that differ from session to session: 60 sessions of unequal size, 400 times."""
    rng = np.random.default_rng(11)
    covered = tried = independent = 0
    for _ in range(400):
        n = rng.geometric(0.05, 60)
        did = rng.binomial(n, rng.beta(6 * p, 6 * (1 - p), 60))
        share = clustered_share(did, n)
        assert share is not None
        if share.low is None or share.high is None:
            continue
        tried += 1
        covered += share.low <= p <= share.high
        half = 1.96 * math.sqrt(share.value * (1 - share.value) / n.sum())
        independent += abs(share.value - p) <= half
    assert tried > 390
    # the error of 400 trials is 1.1 points; rows taken for independent cover at most 0.75 of the time
    assert covered / tried > 0.9
    assert independent / tried < 0.75
