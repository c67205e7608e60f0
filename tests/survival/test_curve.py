from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.survival.data import ENTRY, EVENTS, TIMES, R, quick, rows
from tracestat.errors import TracestatError
from tracestat.survival.curve import (
    kaplan_meier,
    kaplan_meier_counts,
    log_log_interval,
    quantile,
    quantile_interval,
    restricted_mean,
)

TOY = kaplan_meier(TIMES, EVENTS)


def test_kaplan_meier() -> None:
    assert TOY.time.tolist() == R["kaplan_meier"]["time"]
    assert_allclose(TOY.survival, R["kaplan_meier"]["survival"], rtol=1e-9)


def test_nelson_aalen_takes_ties_as_one_jump() -> None:
    frozen = R["nelson_aalen"]
    assert_allclose(TOY.cumulative_hazard_at(frozen["time"]), frozen["cumulative_hazard"], rtol=1e-9)
    assert TOY.cumulative_hazard_at(5) != pytest.approx(frozen["fleming_harrington_at_5"], abs=0.01)


def test_log_log_interval() -> None:
    low, high = log_log_interval(TOY.survival, TOY.greenwood)
    for t, bounds in R["log_log_interval"].items():
        at = TOY.index(float(t))
        assert_allclose([low[at], high[at]], bounds, rtol=1e-9)


def test_no_interval_where_survival_is_zero_or_one() -> None:
    low, high = log_log_interval([0.0, 1.0, 0.5], [0.1, 0.0, 0.01])
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]


@pytest.mark.parametrize(("q", "expected"), [(float(q), t) for q, t in R["quantiles"].items()])
def test_quantiles(q: float, expected: float | None) -> None:
    assert quantile(TOY, q) == expected


def test_a_quantile_survives_rounding() -> None:
    # ten equal steps: 1 - S after the seventh is 0.7 only up to rounding
    curve = kaplan_meier(np.arange(1, 11), np.ones(10))
    assert [quantile(curve, q / 10) for q in range(1, 10)] == list(range(1, 10))


@pytest.mark.parametrize("q", [0.0, 1.0, -1.0])
def test_quantile_outside_the_unit_interval(q: float) -> None:
    with pytest.raises(TracestatError):
        quantile(TOY, q)


def test_quantile_interval_inverts_the_pointwise_one() -> None:
    rng = np.random.default_rng(0)
    times, events = rng.exponential(10, 300), rng.random(300) < 0.8
    curve = kaplan_meier(times, events)
    low, high = log_log_interval(curve.survival, curve.greenwood)
    lower, upper = quantile_interval(curve, 0.5, curve.greenwood)
    assert lower == next(t for t, s in zip(curve.time, low, strict=True) if s <= 0.5)
    assert upper == next(t for t, s in zip(curve.time, high, strict=True) if s <= 0.5)
    median = quantile(curve, 0.5)
    assert lower is not None
    assert median is not None
    assert upper is not None
    assert lower < median < upper


def test_a_bound_that_never_crosses_is_none() -> None:
    lower, upper = quantile_interval(TOY, 0.75, TOY.greenwood)
    assert lower is not None
    assert upper is None


def test_late_entry() -> None:
    curve = kaplan_meier(TIMES, EVENTS, ENTRY)
    assert curve.at_risk.tolist() == R["late_entry"]["at_risk"]
    assert_allclose(curve.survival, R["late_entry"]["survival"], rtol=1e-9)


@pytest.mark.parametrize("tau", ["6", "8"])
def test_restricted_mean(tau: str) -> None:
    mean = restricted_mean(TOY, float(tau))
    assert_allclose([mean.value, mean.se], R["restricted_mean"][tau], rtol=1e-9)


def test_restricted_mean_beyond_a_curve_that_ends_above_zero() -> None:
    mean = restricted_mean(TOY, 9.5)
    assert (mean.value, mean.se) == (None, None)
    assert "9 s" in mean.note
    ended = kaplan_meier([1.0, 3.0], [1, 1])
    assert restricted_mean(ended, 100).value == 2
    with pytest.raises(TracestatError):
        restricted_mean(TOY, 0)


def test_zeros_are_events_at_zero() -> None:
    curve = kaplan_meier([0, 0, 1, 2], [1, 1, 1, 1], entry=[0, 0, 0, 0])
    assert curve.survival.tolist() == [0.5, 0.25, 0]
    assert curve.survival_at([-1, 0, 0.5]).tolist() == [1, 0.5, 0.5]


def test_greenwood_stays_finite_where_nobody_is_left() -> None:
    curve = kaplan_meier([1, 2, 3], [1, 1, 1])
    assert np.isfinite(curve.greenwood).all()
    assert curve.survival[-1] == 0


@pytest.mark.parametrize(
    ("times", "events", "entry"),
    [([], [], None), ([-1.0], [1], None), ([np.nan], [1], None), ([1.0, 2.0], [1], None), ([2.0], [1], [2.0])],
)
def test_rows_that_cannot_be_are_refused(times: list[float], events: list[int], entry: list[float] | None) -> None:
    with pytest.raises(TracestatError):
        kaplan_meier(times, events, entry)


def test_counts_that_end_before_they_enter_are_refused() -> None:
    with pytest.raises(TracestatError, match="entry"):
        kaplan_meier_counts([1.0, 2.0], [1, 1], entry_time=[1.5, 1.5], n_entry=[1, 1])


@quick
@given(rows(entries=True), st.randoms(use_true_random=False))
def test_counts_and_rows_in_any_order_give_one_curve(data: dict[str, Any], random: Any) -> None:
    times, events, entry = data["times"], data["events"], data["entry"]
    curve = kaplan_meier(times, events, entry)
    distinct, where = np.unique(times, return_inverse=True)
    starts, n_entry = np.unique(entry[entry > 0], return_counts=True)
    counted = kaplan_meier_counts(distinct, np.bincount(where, events), np.bincount(where, ~events), starts, n_entry)
    order = list(range(times.size))
    random.shuffle(order)
    mixed = kaplan_meier(times[order], events[order], entry[order])
    for other in (counted, mixed):
        for name in ("time", "n_event", "n_censored", "at_risk", "survival", "cumulative_hazard", "greenwood"):
            assert_allclose(getattr(curve, name), getattr(other, name), atol=1e-12)


@quick
@given(rows(entries=True))
def test_risk_sets_by_definition(data: dict[str, Any]) -> None:
    curve = kaplan_meier(data["times"], data["events"], data["entry"])
    entry = np.where(data["entry"] > 0, data["entry"], -np.inf)
    expected = [np.sum((entry < t) & (data["times"] >= t)) for t in curve.time]
    assert curve.at_risk.tolist() == expected


@quick
@given(rows())
def test_survival_falls_from_one_and_is_the_product_of_its_jumps(data: dict[str, Any]) -> None:
    curve = kaplan_meier(data["times"], data["events"])
    assert np.all((curve.survival >= 0) & (curve.survival <= 1))
    assert np.all(np.diff(curve.survival) <= 0)
    jumps = np.diff(curve.cumulative_hazard, prepend=0)
    assert_allclose(curve.survival, np.cumprod(1 - jumps), atol=1e-12)


@quick
@given(rows(), st.integers(1, 59))
def test_splitting_a_row_changes_nothing(data: dict[str, Any], ticks: int) -> None:
    c, times, events = ticks * 0.25, data["times"], data["events"]
    long = times > c
    split = kaplan_meier(
        np.concatenate([np.where(long, c, times), times[long]]),
        np.concatenate([np.where(long, False, events), events[long]]),
        np.concatenate([np.zeros(times.size), np.full(int(long.sum()), c)]),
    )
    whole = kaplan_meier(times, events)
    assert_allclose(split.survival_at(times), whole.survival_at(times), atol=1e-12)
    assert_allclose(split.cumulative_hazard_at(times), whole.cumulative_hazard_at(times), atol=1e-12)


@quick
@given(rows(), st.floats(0.1, 20))
def test_the_integral_of_survival_is_the_mean_of_the_shorter(data: dict[str, Any], tau: float) -> None:
    curve = kaplan_meier(data["times"], np.ones(data["times"].size))
    mean = restricted_mean(curve, tau)
    assert mean.value == pytest.approx(np.minimum(data["times"], tau).mean(), rel=1e-9)
    # uncensored: Greenwood's error is that of a mean, with n in place of n - 1
    assert mean.se == pytest.approx(np.minimum(data["times"], tau).std() / np.sqrt(data["times"].size), abs=1e-9)


@quick
@given(rows(), st.floats(0.05, 0.95), st.floats(0.01, 0.04))
def test_quantiles_do_not_fall_in_q(data: dict[str, Any], q: float, more: float) -> None:
    curve = kaplan_meier(data["times"], data["events"])
    low, high = quantile(curve, q), quantile(curve, q + more)
    assert high is None or (low is not None and low <= high)


def test_a_variance_beyond_all_bounds_leaves_zero_and_one() -> None:
    low, high = log_log_interval([0.999], [1e8])
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])
