"""Pinball, CRPS and log score of a law against vectors, quadrature, sums by hand, and their propriety."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.integrals import running_integral
from tracestat.forecast.scores import (
    LANDMARKS,
    QUANTILES,
    TAU,
    given,
    log_score,
    log_seconds,
    pinball,
    threshold_weights,
    twcrps,
)

GRID = forecast_grid([(119.4, 126.0)])
SMALL = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)


def some_laws(n: int = 3, seed: int = 0) -> Curves:
    q = np.random.default_rng(seed).beta(1, 9, (n, GRID.n_bins))
    q[:, ::7] = 0.0  # flat pieces too
    return curves_of(GRID, q, 1.2)


def test_pinball() -> None:
    assert pinball([3, 2], [2, 3], 0.9) == pytest.approx([0.9, 0.1])
    y, x, p = np.random.default_rng(0).uniform(0, 1, (3, 50))
    by_hand = [a * (b - c) if b >= c else (1 - a) * (c - b) for a, b, c in zip(p, y, x, strict=True)]
    assert_allclose(pinball(y, x, p), by_hand, rtol=1e-12)


def test_crps_of_atoms() -> None:
    w = 1e-11
    grid = Grid(np.array([0.0, 1, 1 + w, 4, 4 + w, 10, 10 + w]))
    laws = curves_of(grid, np.array([[0, 0.5, 0, 0.6, 0, 1.0]]), 1.0)

    def crps(window: tuple[float, float], log_time: bool) -> float:
        return float(twcrps(threshold_weights(laws, 0.0, window, log_time=log_time), [0], [3.0], [True])[0])

    assert crps((0, 20), False) == pytest.approx(0.99, abs=1e-7)
    assert crps((2, 20), False) == pytest.approx(0.74, abs=1e-7)
    assert crps((2, 20), True) == pytest.approx(0.209938424415, abs=1e-7)


@pytest.mark.parametrize("elapsed", LANDMARKS)
@pytest.mark.parametrize("log_time", [True, False])
def test_crps_by_quadrature(elapsed: float, log_time: bool) -> None:
    curves = some_laws()
    laws = given(curves, elapsed)
    low = max(elapsed, GRID.edges[1] if log_time else 0.0)
    seconds = [elapsed + 0.002, elapsed * 1.3 + 0.7, 121.0 + elapsed, 3599.0, 5000.0]
    for seen in (True, False):
        ours = twcrps(threshold_weights(laws, elapsed, log_time=log_time), [1] * 5, seconds, [seen] * 5)
        for t, value in zip(seconds, ours, strict=True):
            y = max(t, low)
            end = TAU if seen or t >= TAU else y
            start = np.exp(curves.log_survival_at([1], elapsed))[0]

            def square(x: float, y: float = y, start: float = start) -> float:
                s = np.exp(curves.log_survival_at([1], x))[0] / start
                return float(((1 - s) - (y <= x)) ** 2 / (x if log_time else 1.0))

            cuts = sorted({low, *(e for e in [*GRID.edges, y] if low < e < end), end})
            whole = sum(quad(square, a, b, epsabs=1e-11)[0] for a, b in pairwise(cuts))
            assert value == pytest.approx(whole, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("log_time", [True, False])
def test_integrals_by_quadrature(power: int, log_time: bool) -> None:
    integral = running_integral(SMALL, power, log_time=log_time)  # type: ignore[arg-type]
    for a, b in ((1.0, 2.0), (2.0, 16.0), (3.0, 64.0), (20.0, 90.0), *(() if log_time else ((0.0, 0.5), (0.2, 30.0)))):
        cuts = [a, *(e for e in (1.0, 4.0, 16.0) if a < e < b), b]
        whole = sum(
            quad(lambda t: np.exp(power * SMALL.log_survival_at([0], t)[0]) / (t if log_time else 1), x, y)[0]
            for x, y in pairwise(cuts)
        )
        assert integral.between([0], a, b)[0] == pytest.approx(whole, rel=1e-9)
        assert SMALL.integral([0], a, b, power, log_time=log_time)[0] == pytest.approx(whole, rel=1e-9)  # type: ignore[arg-type]


def test_a_law_that_gave_up_keeps_its_digits() -> None:
    """A law with S(600) near 1e-200 is judged from 600 s on as one that is the same from there and was 1 before."""
    hopeless = np.full((2, GRID.n_bins), 0.05)
    early = GRID.edges[1:] <= 500
    hopeless[0, early], hopeless[1, early] = 1 - 1e-9, 0.0
    laws = given(curves_of(GRID, hopeless, 1.0), 600.0)
    weights = threshold_weights(laws, 600.0)
    score = twcrps(weights, [0, 1], [900.0, 900.0], [True, True])
    assert score[0] == pytest.approx(score[1], rel=1e-9)
    assert 0 < score[0] < np.log(6)
    gain = log_score(laws, [0, 1], [900.0, 900.0], [True, True])
    assert gain[0] == pytest.approx(gain[1], rel=1e-9)


def test_log_score_by_hand() -> None:
    q = np.array([0.2, 0.5, 0.4])
    rows, times = [0] * 5, [0.5, 2.0, 9.0, 20.0, 5000.0]
    tail = 16 / 3600
    by_hand = [
        q[0],
        0.8 * q[1],
        0.8 * 0.5 * q[2],
        0.24 * (1 - tail**1.5),
        0.24 * tail**1.5,
    ]
    assert_allclose(np.exp(log_score(SMALL, rows, times, [True] * 5)), by_hand, rtol=1e-12)
    # censored: without the last factor; at tau nothing is missing
    assert_allclose(np.exp(log_score(SMALL, rows, times, [False] * 5)), [1, 0.8, 0.4, 0.24, by_hand[4]], rtol=1e-12)
    # having lasted 2 s: the bin of 2 s starts there
    s2 = 0.8 * 0.5**0.5
    after = log_score(given(SMALL, 2.0), [0, 0], [3.0, 9.0], [True, True])
    assert_allclose(np.exp(after), [1 - 0.4 / s2, 0.4 * q[2] / s2], rtol=1e-12)


@pytest.mark.parametrize("elapsed", LANDMARKS)
def test_the_bins_of_a_landmark_have_all_the_mass(elapsed: float) -> None:
    laws = given(some_laws(), elapsed)
    edges = GRID.edges[(elapsed < GRID.edges) & (GRID.edges < TAU)]
    times = np.array([elapsed + 1e-6, *edges + 1e-9, TAU])
    mass = np.exp(log_score(laws, np.full(times.size, 2), times, np.ones(times.size, bool)))
    assert mass.sum() == pytest.approx(1, rel=1e-9)


def test_a_bin_without_mass_is_finite() -> None:
    laws = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.0, 0.0, 0.4]]), 1.5)
    assert np.isfinite(log_score(laws, [0], [2.0], [True])).all()


def z_of(difference: np.ndarray) -> float:
    return float(difference.mean() / difference.std() * np.sqrt(difference.size)) if difference.any() else 0.0


@pytest.mark.parametrize("elapsed", [0.0, 4.0])
def test_the_true_law_scores_best(elapsed: float) -> None:
    rng = np.random.default_rng(1)
    base = rng.beta(2, 18, GRID.n_bins)
    q = np.stack([base, base * 0.7, np.minimum(base * 1.4, 1), np.roll(base, 3)])
    laws = given(curves_of(GRID, q, 1.2), elapsed)
    n = 20_000
    t = curves_of(GRID, q, 1.2).quantile(np.zeros(n, int), rng.uniform(0, 1, n), elapsed)
    # two rows in a thousand are censored, at a time that knows nothing of them; for the log score most may be
    few, many = (elapsed + rng.exponential(stop, n) for stop in (1e5, 200.0))
    few[rng.uniform(0, 1, n) > 0.05] = np.inf

    for p in QUANTILES:
        x = np.minimum(laws.quantile(np.arange(4), p, elapsed), TAU)
        for scale in (log_seconds, np.asarray):
            y = scale(np.minimum(t, TAU))
            lost = [pinball(y, scale(x[k]), p) for k in range(4)]
            assert all(z_of(other - lost[0]) > -3 for other in lost[1:])
            assert z_of(lost[1] - lost[0]) > 3 or x[0] == TAU
    weights = threshold_weights(laws, elapsed)
    assert 0 < np.mean(few < t) < 0.02 < 0.05 < np.mean(many < t)
    for stop in (few, many):
        seconds, observed = np.minimum(t, stop), t <= stop
        gain = [log_score(laws, np.full(n, k), seconds, observed) for k in range(4)]
        assert min(z_of(gain[0] - gain[k]) for k in (1, 2, 3)) > 3
    seconds, observed = np.minimum(t, few), t <= few
    crps = [twcrps(weights, np.full(n, k), seconds, observed) for k in range(4)]
    assert min(z_of(crps[k] - crps[0]) for k in (1, 2, 3)) > 3


@settings(deadline=None, max_examples=10)
@drawn(st.floats(0, 700), st.floats(1e-3, 8000), st.booleans(), st.integers(0, 2))
def test_scores_are_finite_and_within_bounds(elapsed: float, more: float, seen: bool, place: int) -> None:
    laws = given(some_laws(seed=3), elapsed)
    seconds = [elapsed + more]
    crps = twcrps(threshold_weights(laws, elapsed), [place], seconds, [seen])[0]
    assert 0 <= crps <= np.log(TAU / max(elapsed, GRID.edges[1])) + 1e-9
    assert log_score(laws, [place], seconds, [seen])[0] <= 0
