"""Tiers, wastes, scores, prefetch: published vectors, brute force, and limits that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.errors import UsageError
from tracestat.policy import (
    TierCosts,
    best_tiers,
    chunked_discard_waste,
    discard_waste,
    hazard_hold,
    law_of_curve,
    law_of_durations,
    least_waste,
    prefetch_gain,
    prefetch_pays,
    preserve_waste,
    remaining_score,
    remaining_unknown,
    swap_waste,
    tier_cost,
)

# policies.md 6.1
CURVE = [(0.0, 1.0), (1.0, 0.5), (3.0, 0.25), (10.0, 0.0)]
costs = st.builds(
    lambda host, more, reload, again: TierCosts(host + more, host, reload, reload + again),
    *[st.floats(0, 10)] * 4,
)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), costs)
def test_no_pair_of_times_costs_less(sample: list[float], cost: TierCosts) -> None:
    law = law_of_durations(sample)
    best = best_tiers(law, cost)
    assert best.cost == pytest.approx(tier_cost(law, cost, best.to_host, best.drop), abs=1e-7)
    tried = np.unique([0.0, *sample, *np.multiply(sample, 0.7), *np.multiply(sample, 0.99)])
    for i, first in enumerate(tried):
        for second in tried[i:]:
            assert best.cost <= tier_cost(law, cost, float(first), float(second)) + 1e-7


def test_the_cost_is_the_mean_over_the_pauses() -> None:
    sample, cost = [0.5, 2.0, 7.0, 40.0], TierCosts(3.0, 0.2, 1.5, 9.0)
    each = [
        3.0 * min(x, 1.0) + 0.2 * (min(x, 10.0) - min(x, 1.0)) + (0.0 if x <= 1.0 else 1.5 if x <= 10.0 else 9.0)
        for x in sample
    ]
    assert tier_cost(law_of_durations(sample), cost, 1.0, 10.0) == pytest.approx(np.mean(each))


def test_a_falling_hazard_is_left_where_it_crosses() -> None:
    times = np.geomspace(1e-3, 1e5, 3000)
    law = law_of_curve(times, (1 + times) ** -1.2)
    cost = TierCosts(1.0, 0.01, 5.0, 20.0)
    best = best_tiers(law, cost)
    # h(t) = 1.2 / (1 + t)
    assert best.to_host == pytest.approx(1.2 * 5.0 / 0.99 - 1, rel=0.02)
    assert best.drop == pytest.approx(1.2 * 15.0 / 0.01 - 1, rel=0.02)


def test_two_tiers_are_the_hazard_rule() -> None:
    sample = [0.1, 0.2, 0.5, 1.0, 3.0, 30.0]
    law = law_of_durations(sample)
    for benefit in (0.5, 1.0, 2.0, 5.0, 10.0, 40.0):
        # a host that costs as much as nothing can do: from there a return costs what a prefill does
        best = best_tiers(law, TierCosts(1.0, 0.0, benefit, benefit))
        assert best.to_host == hazard_hold(law, benefit).tau


@pytest.mark.parametrize(
    "bad",
    [
        lambda: TierCosts(1.0, 2.0, 1.0, 1.0),
        lambda: TierCosts(-1.0, 0.0, 1.0, 1.0),
        lambda: TierCosts(1.0, 0.0, math.nan, 1.0),
        lambda: tier_cost(law_of_durations([5.0]), TierCosts(1.0, 0.0, 1.0, 1.0), 2.0, 1.0),
        lambda: chunked_discard_waste(lambda t: t, 1, 1, 1, 0),
        lambda: remaining_score([], 0.0),
        lambda: remaining_score([(0, 1), (0, 0.5)], 0.0),
        lambda: remaining_score([(0, 0.5), (1, 0.7)], 0.0),
        lambda: remaining_score([(0, 0.0)], 0.0),
        lambda: remaining_score(CURVE, -1.0),
        lambda: remaining_score(CURVE, math.nan),
        lambda: remaining_score(CURVE, 1.0, alpha=0.0),
        lambda: prefetch_gain(1.5, 1.0, 0.0, 0.0),
        lambda: prefetch_gain(0.5, 1.0, -1.0, 0.0),
    ],
)
def test_nonsense_is_refused_in_a_line(bad: object) -> None:
    with pytest.raises(UsageError) as error:
        bad()  # type: ignore[operator]
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("elapsed", "score"), [(0, 2.375), (1, 3.25), (2, 19 / 6), (3, 3.5), (5, 2.5), (9, 0.5), (10, 0), (11, 0)]
)
def test_cachewise_scores_as_published(elapsed: float, score: float) -> None:
    assert remaining_score(CURVE, elapsed, beyond="published") == pytest.approx(score, abs=1e-12)


def test_cachewise_of_many_points_is_the_mean_of_what_is_left() -> None:
    times = np.arange(0, 30.001, 0.01)
    points = list(zip(times.tolist(), np.exp(-times / 2).tolist(), strict=True))
    for elapsed in (0.0, 1.0, 5.0):
        assert remaining_score(points, elapsed, beyond="published") == pytest.approx(2.0, rel=1e-3)


@given(st.floats(0, 1e5), st.floats(0.5, 3), st.floats(1, 1e4))
def test_ours_never_says_about_to_return(elapsed: float, alpha: float, window: float) -> None:
    score = remaining_score(CURVE, elapsed, alpha=alpha, window=window)
    assert 0 < score <= window * (1 + 1e-12)


def test_beyond_the_points_what_is_left_grows_with_what_has_passed() -> None:
    endless = {"window": 1e12}
    assert remaining_score(CURVE, 10.0, **endless) == pytest.approx(10.0, rel=1e-6)
    assert remaining_score(CURVE, 500.0, **endless) == pytest.approx(500.0, rel=1e-6)
    assert remaining_score(CURVE, 10.0, alpha=3.0, **endless) == pytest.approx(5.0, rel=1e-6)
    assert remaining_score(CURVE, 10.0, alpha=1.0, window=90.0) == pytest.approx(10 * math.log(10))
    scores = [remaining_score(CURVE, t) for t in (3.0, 5.0, 10.0, 100.0, 1000.0)]
    assert scores == sorted(scores)
    # at 0: 0.75 + 0.75 s of the points, then a quarter lasts 3 s more
    assert remaining_score(CURVE, 0.0, **endless) == pytest.approx(0.75 + 0.75 + 0.25 * 3.0, rel=1e-6)
    # the window counts from the elapsed time, also within the points
    assert remaining_score(CURVE, 0.0, window=1.0) == pytest.approx(0.75)


def test_wastes_by_hand() -> None:
    assert discard_waste(2.0, 100, 300, 10) == 2 * 100 * 10 + 2 * 300 * 10
    assert preserve_waste(3.0, 100, 10) == 3000.0
    assert swap_waste(0.5, 400, 10) == 4000.0
    forward = {100.0: 2.0, 25.0: 0.4}
    assert chunked_discard_waste(lambda tokens: forward[tokens], 100.0, 300, 10, 4) == 1000.0 + 4 * 0.4 * 3000
    assert least_waste(5.0, 4.0) == 4.0
    # elapsed as the remaining time is the mean residual life of a power law of exponent 2
    assert remaining_unknown(50.0) == pytest.approx(remaining_score(CURVE, 50.0, window=1e12))


def test_a_prefetch_pays_only_above_its_price() -> None:
    assert prefetch_gain(0.5, 4.0, 0.2, 0.3) == 1.5
    assert prefetch_pays(0.126, 4.0, 0.2, 0.3)
    assert not prefetch_pays(0.125, 4.0, 0.2, 0.3)
