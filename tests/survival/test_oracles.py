"""The same estimates by other people's code: lifelines and scipy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import CensoredData, ecdf

from tests.survival.data import Floats
from tracestat.survival.curve import kaplan_meier, restricted_mean
from tracestat.survival.slope import power_law_slope


def sample(seed: int, n: int = 800) -> tuple[Floats, Floats]:
    """Durations on a coarse clock, so that there are many ties, a fifth of them censored."""
    rng = np.random.default_rng(seed)
    times = np.ceil(rng.weibull(0.5, n) * 40) / 4
    return times, (rng.random(n) < 0.8).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_kaplan_meier_against_lifelines(seed: int) -> None:
    from lifelines import KaplanMeierFitter

    times, events = sample(seed)
    fitted = KaplanMeierFitter().fit(times, events)
    curve = kaplan_meier(times, events)
    assert_allclose(
        curve.survival_at(curve.time), fitted.survival_function_at_times(curve.time), rtol=1e-12, atol=1e-15
    )


def test_late_entry_against_lifelines() -> None:
    from lifelines import KaplanMeierFitter

    times, events = sample(3)
    entry = np.where(np.arange(times.size) % 3 == 0, np.floor(times / 2 * 4) / 4, 0.0)
    # lifelines needs someone at risk at every event, which the rows without late entry provide
    fitted = KaplanMeierFitter().fit(times, events, entry=entry)
    curve = kaplan_meier(times, events, entry)
    assert_allclose(curve.survival, fitted.survival_function_at_times(curve.time), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_nelson_aalen_against_lifelines_without_smoothing(seed: int) -> None:
    from lifelines import NelsonAalenFitter

    times, events = sample(seed)
    fitted = NelsonAalenFitter(nelson_aalen_smoothing=False).fit(times, events)
    curve = kaplan_meier(times, events)
    assert_allclose(curve.cumulative_hazard, fitted.cumulative_hazard_at_times(curve.time), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_kaplan_meier_against_scipy(seed: int) -> None:
    times, events = sample(seed)
    oracle = ecdf(CensoredData(uncensored=times[events == 1], right=times[events == 0])).sf
    curve = kaplan_meier(times, events)
    assert_allclose(curve.survival, oracle.evaluate(curve.time), rtol=1e-12, atol=1e-15)


def test_greenwood_against_scipy() -> None:
    times, events = sample(4)
    oracle = ecdf(CensoredData(uncensored=times[events == 1], right=times[events == 0])).sf
    with warnings.catch_warnings():
        # scipy says so when the last rows leave nobody at risk, where it has no bounds either
        warnings.filterwarnings("ignore", message="The confidence interval is undefined")
        bounds = oracle.confidence_interval(0.95, method="linear")
    curve = kaplan_meier(times, events)
    at = curve.index(np.quantile(times, [0.2, 0.5, 0.7]))
    half = (bounds.high.evaluate(curve.time[at]) - bounds.low.evaluate(curve.time[at])) / 2
    assert_allclose(curve.survival[at] * np.sqrt(curve.greenwood[at]) * 1.959963984540, half, rtol=1e-9)


def test_restricted_mean_against_lifelines() -> None:
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    times, events = sample(5)
    fitted = KaplanMeierFitter().fit(times, events)
    assert_allclose(
        restricted_mean(kaplan_meier(times, events), 30.0).value,
        restricted_mean_survival_time(fitted, t=30.0),
        rtol=1e-9,
    )


@pytest.mark.parametrize("rho", [0.4, 0.8, 1.6])
def test_power_law_against_a_weibull_fit(rho: float) -> None:
    from lifelines import WeibullFitter

    rng = np.random.default_rng(6)
    times = rng.weibull(rho, 2_000) * 20 + 1e-9
    limit = rng.exponential(60, 2_000)
    observed, events = np.minimum(times, limit), (times <= limit).astype(float)
    late = observed > 1
    fitted = WeibullFitter().fit(observed[late], events[late], entry=np.full(int(late.sum()), 1.0))
    fit = power_law_slope(observed, events, 1 - events, 1.0, 1e6)
    assert fit is not None
    assert fit.slope + 1 == pytest.approx(fitted.rho_, rel=1e-4)
    # hazard rho/lambda (t/lambda)^(rho - 1) at 1 s
    assert fit.intercept == pytest.approx(np.log(fitted.rho_ * fitted.lambda_**-fitted.rho_), abs=2e-3)
