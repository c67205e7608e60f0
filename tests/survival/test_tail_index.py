from __future__ import annotations

import numpy as np
import pytest

from tracestat.survival.curve import kaplan_meier
from tracestat.survival.tail_index import MEAN_UNSTABLE, TailIndex, tail_index


def pareto(index: float, n: int = 2_000) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return (1 - (np.arange(n) + 0.5) / n) ** (-1 / index)


@pytest.mark.parametrize("index", [0.8, 1.0, 1.5, 3.0])
def test_a_pareto_law_keeps_its_index_at_every_time(index: float) -> None:
    curve = kaplan_meier(pareto(index), np.ones(2_000))
    for t in (0.0, 1.5, 2.0):
        found = tail_index(curve, t)
        assert found.hill == pytest.approx(index, rel=0.12)
        assert (found.flag == MEAN_UNSTABLE) == (index <= 1.0)


def test_by_definition() -> None:
    times = np.random.default_rng(0).lognormal(2, 1, 500)
    longest = np.sort(times[times > 3])[::-1]
    k = max(20, longest.size // 10)
    found = tail_index(kaplan_meier(times, np.ones(500)), 3)
    assert found.hill == pytest.approx(1 / np.mean(np.log(longest[:k] / longest[k])))
    left = longest - 3
    assert found.top_share == pytest.approx(left[: longest.size // 100].sum() / left.sum())


def test_at_least_twenty_rows_are_the_tail_and_as_many_lie_below() -> None:
    times = pareto(1.5, 40)
    longest = times[::-1]
    assert tail_index(kaplan_meier(times, np.ones(40)), 0).hill == pytest.approx(
        1 / np.mean(np.log(longest[:20] / longest[20]))
    )
    assert tail_index(kaplan_meier(times[1:], np.ones(39)), 0).hill is None


def test_a_single_row_that_rules_is_flagged() -> None:
    times = np.concatenate([np.full(30, 1.0), [100.0]])
    assert tail_index(kaplan_meier(times, np.ones(31)), 0) == TailIndex(None, 100 / 130, MEAN_UNSTABLE)


def test_ties_at_the_bound_and_nothing_but_ties() -> None:
    times = np.concatenate([np.full(30, 2.0), np.full(15, 4.0)])
    # the 20 longest are the 15 and 5 of the ties, whose logarithm is 0
    assert tail_index(kaplan_meier(times, np.ones(45)), 0).hill == pytest.approx(20 / (15 * np.log(2)))
    assert tail_index(kaplan_meier(np.full(50, 2.0), np.ones(50)), 0).hill is None


def test_rows_not_seen_to_end_count_their_time_only() -> None:
    times = pareto(1.5)
    events = np.random.default_rng(1).random(2_000) < 0.5
    whole = tail_index(kaplan_meier(times, np.ones(2_000)), 0).hill
    half = tail_index(kaplan_meier(times, events), 0).hill
    assert whole is not None
    assert half == pytest.approx(whole / 2, rel=0.15)
    assert tail_index(kaplan_meier(times, np.zeros(2_000)), 0).hill is None


def test_nobody_beyond() -> None:
    assert tail_index(kaplan_meier([1.0], [1]), 1.0) == TailIndex(None, None, None)
