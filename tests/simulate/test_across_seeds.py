"""Runs of many seeds: known answers, and intervals that cover what they should."""

from __future__ import annotations

import numpy as np
import pytest

from tracestat.simulate.across_seeds import captured_share, gains_in_every_seed, median_over_seeds, paired_ratio

NAN = float("nan")


def test_median_and_what_is_missing() -> None:
    found = median_over_seeds([3.0, 1.0, 2.0, NAN, float("inf")])
    assert (found.median.value, found.low, found.high, found.n, found.n_missing) == (2.0, 1.0, 3.0, 3, 2)
    assert found.median.low is None  # three seeds decide nothing
    assert median_over_seeds([NAN, NAN]).median.value is None
    assert median_over_seeds([]).n == 0


def test_seeds_that_agree_have_an_interval_of_one_point() -> None:
    found = median_over_seeds([2.0] * 20).median
    assert (found.low, found.value, found.high) == (2.0, 2.0, 2.0)


def test_the_same_seed_of_the_draws_gives_the_same_interval() -> None:
    values = np.random.default_rng(1).lognormal(size=100)
    assert median_over_seeds(values) == median_over_seeds(values)
    assert median_over_seeds(values, seed=1) != median_over_seeds(values)


def test_the_interval_of_the_median_covers() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        found = median_over_seeds(rng.exponential(size=60), draws=400).median
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= np.log(2) <= found.high
    assert 0.90 <= inside / 200 <= 0.99


def test_ratios_are_of_the_same_seed() -> None:
    # each seed is twice as slow; the ratio of medians over shuffled seeds would say something else
    base = np.random.default_rng(2).lognormal(sigma=2.0, size=50)
    found = paired_ratio(2 * base, base).median
    assert found.value == pytest.approx(2.0)
    assert found.low == pytest.approx(2.0)
    assert found.high == pytest.approx(2.0)
    assert paired_ratio([1.0, 1.0], [0.0, NAN]).n_missing == 2


def test_policies_of_other_seeds_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same seeds"):
        paired_ratio([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="same seeds"):
        captured_share([1.0], [1.0, 2.0], [1.0, 2.0])


def test_a_gain_in_every_seed() -> None:
    assert gains_in_every_seed([0.89, 0.5], [1.0, 1.0])
    assert not gains_in_every_seed([0.91, 0.5], [1.0, 1.0])
    assert not gains_in_every_seed([0.5, NAN], [1.0, 1.0])  # a seed without a value has no gain
    assert not gains_in_every_seed([], [])


def test_captured_share_of_known_gains() -> None:
    base = np.full(20, 10.0)
    oracle = base - np.tile([1.0, 3.0], 10)
    half = captured_share(base - np.tile([0.5, 1.5], 10), base, oracle)
    assert half.share.value == pytest.approx(0.5)
    assert half.share.low == pytest.approx(0.5)
    assert captured_share(oracle, base, oracle).share.value == pytest.approx(1.0)
    assert captured_share(base, base, oracle).share.value == 0.0
    worse = captured_share(base + 1.0, base, oracle).share
    assert worse.value == pytest.approx(-0.5)


def test_captured_share_is_not_defined_without_a_gain_of_the_oracle() -> None:
    base = np.linspace(5.0, 6.0, 30)
    for oracle in (base, base + 0.1):
        found = captured_share(base - 0.2, base, oracle)
        assert found.share.value is None
        assert found.share.low is None
        assert found.reason == "not defined: the oracle gains nothing"
    assert captured_share([NAN], [1.0], [1.0]).reason == "not defined: no seed has all three values"


def test_captured_share_has_no_interval_where_the_gain_of_the_oracle_may_be_none() -> None:
    rng = np.random.default_rng(3)
    base = np.full(40, 10.0)
    oracle = base - rng.normal(0.05, 1.0, 40)
    oracle -= oracle.mean() - 9.95  # gains 0.05 on average, of noise of 1
    found = captured_share(base - 0.02, base, oracle)
    assert found.share.value == pytest.approx(0.4)
    assert found.share.low is None
    assert found.reason.startswith("no interval: in ")


def test_captured_share_covers() -> None:
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(150):
        best = rng.normal(2.0, 1.0, 80)
        gain = 0.3 * best + rng.normal(0.0, 0.5, 80)
        found = captured_share(-gain, np.zeros(80), -best, draws=400).share
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 0.3 <= found.high
    assert 0.88 <= inside / 150 <= 0.99
