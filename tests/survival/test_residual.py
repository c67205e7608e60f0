"""Residual life: known values, laws whose residual life is known, identities, and a curve by another hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survival.data import EVENTS, TIMES, quick, rows
from tracestat.errors import TracestatError
from tracestat.survival.curve import Curve, kaplan_meier, kaplan_meier_counts
from tracestat.survival.residual import (
    Window,
    mean_residual,
    plug_in_mean,
    quantile_residual,
    rows_beyond,
    survival_beyond,
    window_beyond,
)

TOY = kaplan_meier(TIMES, EVENTS)
MIDDLES = (np.arange(200_000) + 0.5) / 200_000
WAITED = (0.0, 1.0, 4.0, 25.0, 146.0, 600.0)


def law(quantiles: Any) -> Curve:
    return kaplan_meier_counts(quantiles, np.ones(quantiles.size))


def test_known_values() -> None:
    assert mean_residual(TOY, 2, 6) == pytest.approx(4.25714285714, rel=1e-9)
    assert quantile_residual(TOY, 2, 0.5) == 6
    assert survival_beyond(TOY, 2, 6) == pytest.approx(0.205714285714 / 0.8, rel=1e-9)
    assert rows_beyond(TOY, 2) == 7


def test_an_exponential_law_has_the_same_mean_at_every_time() -> None:
    curve = law(-1000 * np.log(1 - MIDDLES))
    for t in WAITED:
        assert mean_residual(curve, t, 3600) == pytest.approx(972.676277553, rel=2e-4)
        assert quantile_residual(curve, t, 0.5) == pytest.approx(1000 * np.log(2), rel=1e-3)


def test_a_falling_hazard_makes_the_remaining_time_rise() -> None:
    curve = law((-np.log(1 - MIDDLES) / 0.3) ** 2.5)
    means = [mean_residual(curve, t, 3600) or 0 for t in WAITED]
    medians = [quantile_residual(curve, t, 0.5) or 0 for t in WAITED]
    assert means == sorted(means)
    assert medians == sorted(medians)
    assert means[-1] > 5 * means[0] > 0


def test_a_fixed_end_bends_the_mean_down_and_a_window_does_not() -> None:
    curve = law((-np.log(1 - MIDDLES) / 0.3) ** 2.5)
    late = (600.0, 1800.0, 3000.0)
    windowed = [mean_residual(curve, t, 3600) or 0 for t in late]
    fixed = [mean_residual(curve, t, 3600 - t) or 0 for t in late]
    assert windowed == sorted(windowed)
    assert fixed[-1] < fixed[0]


@quick
@given(rows(), st.integers(0, 40), st.floats(0.1, 20))
def test_without_censoring_it_is_a_mean_of_what_is_left(data: dict[str, Any], ticks: int, h: float) -> None:
    t, times = ticks * 0.25, data["times"]
    curve = kaplan_meier(times, np.ones(times.size))
    left = times[times > t] - t
    assert rows_beyond(curve, t) == left.size
    if left.size == 0:
        assert mean_residual(curve, t, h) is None
        assert quantile_residual(curve, t, 0.5) is None
        assert plug_in_mean(curve, t) is None
        return
    assert mean_residual(curve, t, h) == pytest.approx(np.minimum(left, h).mean(), rel=1e-9)
    assert survival_beyond(curve, t, h) == pytest.approx(np.mean(times[times > t] > t + h), abs=1e-9)
    assert plug_in_mean(curve, t) == pytest.approx(left.mean(), rel=1e-9)
    for q in (0.5, 0.9):
        found = quantile_residual(curve, t, q)
        assert found == pytest.approx(min(r for r in left if np.mean(left <= r) >= q - 1e-12))


@quick
@given(rows(entries=True), st.integers(0, 40), st.floats(0.1, 5), st.floats(0.01, 5))
def test_the_mean_does_not_fall_in_the_window(data: dict[str, Any], ticks: int, h: float, more: float) -> None:
    curve = kaplan_meier(data["times"], data["events"], data["entry"])
    short, long = (mean_residual(curve, ticks * 0.25, each) for each in (h, h + more))
    if long is not None:
        assert short is not None
        assert 0 < short <= h + 1e-9
        assert short <= long + 1e-9


@quick
@given(rows(entries=True), st.integers(0, 30), st.integers(1, 59))
def test_splitting_a_row_changes_nothing(data: dict[str, Any], ticks: int, at: int) -> None:
    t, c, times, events, entry = ticks * 0.25, at * 0.25, data["times"], data["events"], data["entry"]
    long = (times > c) & (entry < c)
    split = kaplan_meier(
        np.concatenate([np.where(long, c, times), times[long]]),
        np.concatenate([np.where(long, False, events), events[long]]),
        np.concatenate([entry, np.full(int(long.sum()), c)]),
    )
    whole = kaplan_meier(times, events, entry)
    for found, expected in (
        (mean_residual(split, t, 5), mean_residual(whole, t, 5)),
        (quantile_residual(split, t, 0.5), quantile_residual(whole, t, 0.5)),
    ):
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))


def test_only_rows_beyond_count() -> None:
    beyond = TIMES > 3
    assert mean_residual(kaplan_meier(TIMES[beyond], EVENTS[beyond]), 3, 5) == pytest.approx(mean_residual(TOY, 3, 5))


def test_the_window_ends_where_the_last_row_is_lost() -> None:
    assert window_beyond(TOY, 4, 100) == Window(5, lowered=True)
    assert window_beyond(TOY, 4, 5) == Window(5, lowered=False)
    assert window_beyond(TOY, 20, 5) == Window(0, lowered=True)
    ended = kaplan_meier([1.0, 3.0], [1, 1])
    assert window_beyond(ended, 0, 100) == Window(100, lowered=False)
    assert mean_residual(ended, 0, 100) == 2
    assert mean_residual(TOY, 4, 5.1) is None
    assert quantile_residual(TOY, 6, 0.9) is None


def test_the_plug_in_mean_leaves_censored_rows_out() -> None:
    assert plug_in_mean(TOY, 4) == pytest.approx((1 + 1 + 4) / 3)
    assert plug_in_mean(TOY, 8) is None


@pytest.mark.parametrize(("t", "h"), [(-1.0, 5.0), (np.nan, 5.0), (np.inf, 5.0), (1.0, 0.0), (1.0, np.nan)])
def test_times_that_are_none_are_refused(t: float, h: float) -> None:
    with pytest.raises(TracestatError, match="residual life"):
        mean_residual(TOY, t, h)


@pytest.mark.parametrize("q", [0.0, 1.0])
def test_a_quantile_outside_the_unit_interval_is_refused(q: float) -> None:
    with pytest.raises(TracestatError, match="between 0 and 1"):
        quantile_residual(TOY, 1, q)


@pytest.mark.filterwarnings("ignore")
def test_lifelines_says_the_same() -> None:
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    rng = np.random.default_rng(3)
    times = np.round(rng.lognormal(2, 1.5, 400), 2)
    events = rng.random(400) < 0.8
    curve = kaplan_meier(times, events)
    for t in (0.5, 5.0, 20.0):
        fitted = KaplanMeierFitter().fit(times[times > t] - t, events[times > t])
        assert quantile_residual(curve, t, 0.5) == pytest.approx(fitted.median_survival_time_)
        assert mean_residual(curve, t, 10) == pytest.approx(restricted_mean_survival_time(fitted, t=10), rel=1e-9)
