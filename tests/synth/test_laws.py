"""The mathematics the truth rests on, against values known otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracestat.synth.catalogue import CLAUDE, CODEX
from tracestat.synth.laws import (
    PowerLaw,
    TurnLaw,
    WaitLaw,
    calibrate,
    compound_moments,
    eta_of_moments,
    gamma_strata,
    pooled_slope,
)


def moments_of(values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    first, second, third = (float(np.sum(weights * values**p)) for p in (1, 2, 3))
    return first, second, third


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2, 3, 7], 0.358070500928), ([1, 1, 4], 0.25), (range(1, 21), 0.5), ([5, 5], 1.0), ([1, 1], None)],
)
def test_eta_known_answers(values: list[int], expected: float | None) -> None:
    n = np.array(list(values), dtype=float)
    eta = eta_of_moments(*moments_of(n, np.full(n.size, 1.0 / n.size)))
    assert eta == (None if expected is None else pytest.approx(expected, rel=1e-10))


@pytest.mark.parametrize(("sigma", "expected"), [(1.0, -0.30856), (1.5, -0.45769)])
def test_eta_of_a_lognormal_turn_law(sigma: float, expected: float) -> None:
    # the cut at 100,000 takes 0.0015 from the third moment of the wider law
    assert eta_of_moments(*TurnLaw(2.0, sigma, 100_000).moments()) == pytest.approx(expected, abs=2e-3)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12).filter(lambda n: max(n) > 1))
def test_eta_is_the_pooled_correlation(turns: list[int]) -> None:
    done = np.concatenate([np.arange(1, n + 1) for n in turns]).astype(float)
    left = np.concatenate([n - np.arange(1, n + 1) for n in turns]).astype(float)
    n = np.array(turns, dtype=float)
    eta = eta_of_moments(*moments_of(n, np.full(n.size, 1.0 / n.size)))
    assert eta == pytest.approx(-np.corrcoef(done, left)[0, 1], abs=1e-9)


def test_compound_moments_by_enumeration() -> None:
    inner = np.array([1.0, 2.0, 5.0]), np.array([0.5, 0.3, 0.2])
    totals: dict[float, float] = {}
    for count, p in ((1, 0.4), (3, 0.6)):
        sums = {0.0: p}
        for _ in range(count):
            step: dict[float, float] = {}
            for total, q in sums.items():
                for value, w in zip(*inner, strict=True):
                    step[total + value] = step.get(total + value, 0.0) + q * w
            sums = step
        for total, q in sums.items():
            totals[total] = totals.get(total, 0.0) + q
    expected = moments_of(np.array(list(totals)), np.array(list(totals.values())))
    outer = moments_of(np.array([1.0, 3.0]), np.array([0.4, 0.6]))
    assert compound_moments(outer, moments_of(*inner)) == pytest.approx(expected)


def test_memoryfulness_of_requests_is_the_published_one() -> None:
    assert eta_of_moments(*CLAUDE.rounds.moments()) == pytest.approx(-0.35, abs=0.01)
    assert CLAUDE.requests.moments()[0] == pytest.approx(10.1, rel=0.15)
    assert CODEX.requests.moments()[0] == pytest.approx(10.1, rel=0.15)


@given(st.floats(0.05, 3.0), st.integers(1, 30))
def test_strata_keep_the_mean_and_lose_little_variance(theta: float, n: int) -> None:
    z = gamma_strata(theta, np.full(n, 1.0 / n))
    assert float(z.mean()) == pytest.approx(1.0, abs=1e-9)
    assert float(z.var()) <= theta
    assert np.all(np.diff(z) >= 0)


def test_strata_against_numerical_integration() -> None:
    weights = np.array([0.1, 0.6, 0.3])
    gamma = stats.gamma(1 / 0.6, scale=0.6)
    edges = gamma.ppf([0.0, 0.1, 0.7, 1.0])
    expected = [
        gamma.expect(lambda x: x, lb=a, ub=b) / w for a, b, w in zip(edges[:-1], edges[1:], weights, strict=True)
    ]
    assert gamma_strata(0.6, weights) == pytest.approx(expected, rel=1e-6)


@given(st.floats(0.2, 1.0), st.floats(-3.0, 3.0), st.floats(1e-3, 0.1), st.floats(1e-6, 1e3))
def test_inverse_undoes_cumulative(k: float, log_a: float, t0: float, above: float) -> None:
    law = PowerLaw(k, log_a, t0)
    t = t0 + above
    assert law.inverse(float(law.cumulative(t))) == pytest.approx(t, rel=1e-6)
    assert float(law.cumulative(t0 / 2)) == 0.0


@pytest.mark.parametrize("theta", [0.1, 0.5])
def test_calibration_puts_the_pooled_median(theta: float) -> None:
    z, w = np.array([0.2, 1.0, 3.0]), np.array([0.3, 0.4, 0.3])
    law = calibrate(0.329, 0.4, 0.01, z, w, theta)
    developers = stats.gamma(1 / theta, scale=theta)
    hazard = float(law.cumulative(0.329))
    survivors = sum(b * developers.expect(lambda d, s=s: math.exp(-s * d * hazard)) for s, b in zip(z, w, strict=True))
    assert survivors == pytest.approx(0.5, abs=1e-6)


def test_pooled_slope_is_the_derivative_of_the_mixture() -> None:
    k, rate, t0 = np.array([0.4, 0.4, 0.5]), np.array([0.3, 2.0, 1.0]), np.array([0.01, 0.02, 0.01])
    w = np.array([0.2, 0.5, 0.3])

    def log_hazard(x: float) -> float:
        t = math.exp(x)
        p = w * np.exp(-rate / k * (t**k - t0**k))
        return float(np.log(np.sum(p * rate * t ** (k - 1)) / np.sum(p)))

    x = math.log(3.0)
    assert pooled_slope(3.0, k, rate, t0, w) == pytest.approx(
        (log_hazard(x + 1e-5) - log_hazard(x - 1e-5)) / 2e-5, rel=1e-6
    )


@pytest.mark.parametrize("law", [CLAUDE.rounds, CLAUDE.requests, CODEX.rounds, CODEX.requests])
def test_turn_law_draws_its_own_distribution(law: TurnLaw) -> None:
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = [law.draw(float(x)) for x in u]
    assert min(drawn) == 1
    assert max(drawn) <= law.maximum
    assert law.draw(0.0) == 1
    assert law.draw(1.0 - 2**-53) == law.maximum
    assert float(np.mean(drawn)) == pytest.approx(law.moments()[0], rel=1e-3)


def test_wait_law_quantiles() -> None:
    law = WaitLaw(84.0, 2.3, 1.0, 1e6)
    assert law.draw(0.5) == pytest.approx(84.0)
    assert law.draw(stats.norm.cdf(1.0)) == pytest.approx(84.0 * math.exp(2.3))
    assert law.draw(0.0) == 1.0
    assert law.draw(1.0 - 2**-53) <= 1e6
