"""The two families of our own: they agree with the default estimators, and work with all that lifelines does."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from contextlib import redirect_stdout

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from tests.survival.data import WEIBULL, Floats, quick
from tracestat.errors import TracestatError
from tracestat.survival.bins import DEFAULT_EDGES, deadline_window
from tracestat.survival.exposure import events_and_exposure
from tracestat.survival.law_own_families import PowerLawFitter, SmoothAtomsFitter
from tracestat.survival.slope import power_law_slope

EDGES = DEFAULT_EDGES[3:13]
WINDOW = deadline_window(10.0)


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def with_atom(seed: int, n: int = 6_000, q: float = 0.3) -> tuple[Floats, Floats]:
    """Hazard 0.1 a second; of those who reach 10 s a share q ends just then; a fifth censored."""
    rng = np.random.default_rng(seed)
    times = rng.exponential(10, n)
    caught = (times > 10) & (rng.random(n) < q)
    times = np.where(caught, 10 + 0.04 * rng.random(n), times)
    limit = rng.exponential(60, n)
    return np.minimum(times, limit), (times <= limit).astype(float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("slope", [-1.4, -0.6, -1.0, 0.3])
def test_power_law_is_that_of_the_default_estimator(seed: int, slope: float) -> None:
    rng = np.random.default_rng(seed)
    times, events = rng.weibull(0.7, 900) * 20 * 10 ** (-slope), (rng.random(900) < 0.8).astype(float)
    entry = np.where(rng.random(900) < 0.5, 0.0, times / 3)
    fitter = PowerLawFitter(0.2, 150.0).fit(times, events, entry=entry)
    default = power_law_slope(times, events, 1 - events, 0.2, 150.0, entry=entry)
    assert default is not None
    assert fitter.slope_ == pytest.approx(default.slope, abs=1e-6)
    assert fitter.ln_hazard_ == pytest.approx(default.intercept, abs=1e-6)
    assert fitter.summary.loc["slope_", "se(coef)"] == pytest.approx(default.se_naive, rel=1e-6)


def test_power_law_on_the_known_vector() -> None:
    fitter = PowerLawFitter(0.1285, 525.1435).fit(WEIBULL)
    assert fitter.slope_ == pytest.approx(-0.59922183756, rel=1e-6)
    assert fitter.summary.loc["slope_", "se(coef)"] == pytest.approx(0.0167899538108, rel=1e-6)


def test_power_law_is_the_maximum_of_its_own_likelihood() -> None:
    fitter = PowerLawFitter(0.1285, 525.1435).fit(WEIBULL)

    def loss(theta: Floats) -> float:
        return float(
            fitter._negative_log_likelihood_right_censoring(
                theta, (fitter.durations,), fitter.event_observed.astype(bool), fitter.entry, fitter.weights
            )
        )

    best = minimize(loss, [0.0, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert_allclose(fitter._fitted_parameters_, best.x, atol=1e-5)
    assert fitter.log_likelihood_ == pytest.approx(-best.fun * fitter.weights.sum(), rel=1e-9)
    assert pytest.approx(-2 * fitter.log_likelihood_ + 4) == fitter.AIC_


def test_a_slope_below_minus_one_is_allowed_and_some_never_end() -> None:
    rng = np.random.default_rng(1)
    inner = 0.1**-0.5 - rng.exponential(size=8_000)
    times = np.where(inner > 0, np.maximum(inner, 1e-12) ** (-1 / 0.5), np.inf)  # hazard 0.5 t^-1.5
    fitter = PowerLawFitter(0.1, 1e3).fit(np.minimum(times, 1e3), times <= 1e3)
    assert fitter.slope_ == pytest.approx(-1.5, abs=0.05)
    assert fitter.percentile(1e-6) == np.inf
    assert fitter.percentile(0.5) == pytest.approx(float(np.median(times)), rel=0.05)


@quick
@given(st.floats(-2.5, 1.5), st.floats(-3, 1), st.floats(0.05, 0.95))
def test_a_percentile_inverts_survival(slope: float, ln_hazard: float, p: float) -> None:
    fitter = PowerLawFitter(0.5, 100.0)
    fitter._fitted_parameters_ = np.array([ln_hazard, slope])
    fitter.ln_hazard_, fitter.slope_ = ln_hazard, slope
    at = fitter.percentile(p)
    assert at >= 0.5
    if np.isfinite(at) and at < 1e100:
        assert fitter._survival_function(fitter._fitted_parameters_, np.array([at]))[0] == pytest.approx(p, abs=1e-6)


def test_smooth_hazards_are_events_over_exposure_with_the_windows_cut() -> None:
    times, events = with_atom(1)
    entry = np.where(np.arange(times.size) % 3 == 0, times / 2, 0.0)
    fitter = SmoothAtomsFitter(EDGES[:6], [WINDOW]).fit(times, events, entry=entry)
    D, X = events_and_exposure(times, events, EDGES[:6], entry, [WINDOW])
    hazards = [getattr(fitter, f"hazard_{i + 1}_") for i in range(5)]
    assert_allclose(hazards, D / X, rtol=1e-9)


def test_an_atom_is_what_is_seen_less_what_is_expected_over_those_at_risk() -> None:
    times, events = with_atom(2)
    fitter = SmoothAtomsFitter(EDGES[:6], [WINDOW]).fit(times, events)
    a, b = WINDOW
    inside = (times >= a) & (times < b)
    ended, lost = float(events[inside].sum()), float((1 - events[inside]).sum())
    at_risk = float((times >= a).sum()) - lost
    hazard = getattr(fitter, f"hazard_{np.searchsorted(EDGES, a)}_")
    E = hazard * (b - a)
    assert fitter.atom_1_ == pytest.approx(1 - (1 - ended / at_risk) * np.exp(E), abs=1e-12)
    assert fitter.atom_1_ == pytest.approx((ended - at_risk * E) / at_risk, abs=0.02)
    assert fitter.atom_1_ == pytest.approx(0.3, abs=4 * fitter.summary.loc["atom_1_", "se(coef)"])
    assert hazard == pytest.approx(0.1, rel=0.1)


def grouped_loss(theta: Floats, times: Floats, events: Floats, edges: tuple[float, ...]) -> float:
    """The likelihood that takes a window as one yes or no, written out row by row."""
    hazard, q = np.exp(theta[:-1]), 1 / (1 + np.exp(-theta[-1]))
    a, b = WINDOW

    def passed(t: Floats) -> Floats:
        at = np.asarray(t)[:, None]
        return np.asarray((np.clip(at, edges[:-1], edges[1:]) - np.array(edges[:-1])) @ hazard)

    across = float(passed(np.array([b]))[0] - passed(np.array([a]))[0])
    total = 0.0
    for t, e in zip(times, events, strict=True):
        if t <= edges[0]:
            continue
        end, seen = min(t, edges[-1]), e * (t <= edges[-1])
        inside = a <= t < b
        if end >= b:
            total += -across + np.log1p(-q)
        elif inside and seen:
            total += np.log1p(-np.exp(-across) * (1 - q))
        stop = min(end, a) if inside else end
        total -= float(passed(np.array([stop]))[0]) - (across if end >= b else 0.0)
        if seen and not inside:
            total += np.log(hazard[np.searchsorted(edges, t, side="right") - 1])
    return -total


def test_atoms_and_hazards_are_the_maximum_of_the_grouped_likelihood() -> None:
    times, events = with_atom(3, 400)
    edges = (1.0, 5.0, 20.0, 40.0)
    fitter = SmoothAtomsFitter(edges, [WINDOW]).fit(times, events)
    theta = np.append(np.log(fitter._fitted_parameters_[:3]), np.log(fitter.atom_1_ / (1 - fitter.atom_1_)))
    assert grouped_loss(theta, times, events, edges) == pytest.approx(-fitter.log_likelihood_, rel=1e-9)
    best = minimize(grouped_loss, theta + 0.1, args=(times, events, edges), method="BFGS", options={"gtol": 1e-4})
    assert_allclose(best.x, theta, atol=1e-3)


def test_an_atom_without_excess_is_none_and_its_window_counts_in_the_bin() -> None:
    rng = np.random.default_rng(4)
    times = rng.exponential(10, 500)
    times = times[(times < WINDOW[0]) | (times >= WINDOW[1])]
    fitter = SmoothAtomsFitter((1.0, 20.0), [WINDOW]).fit(times)
    D, X = events_and_exposure(times, np.ones(times.size), (1.0, 20.0))
    assert fitter.atom_1_ == 0
    assert fitter.hazard_1_ == pytest.approx(float(D[0] / X[0]), rel=1e-9)


@pytest.mark.parametrize("kind", ["power", "atoms"])
def test_all_methods_of_lifelines_work(kind: str) -> None:
    times, events = with_atom(5, 1_500)
    fitter = PowerLawFitter(0.5, 60.0) if kind == "power" else SmoothAtomsFitter((0.5, 3.0, 20.0, 60.0), [WINDOW])
    fitter.fit(times, events, weights=np.full(times.size, 2), label="x")
    assert "total observations" in repr(fitter)
    for plot in ("survival_function", "hazard", "cumulative_hazard", "density", "cumulative_density"):
        assert getattr(fitter, f"plot_{plot}")() is not None
    assert fitter.confidence_interval_survival_function_.notna().to_numpy().all()
    text = io.StringIO()
    with redirect_stdout(text):
        fitter.print_summary(style="ascii")
    assert "AIC" in text.getvalue()
    S = fitter.predict([1.0, 5.0, 30.0]).to_numpy()
    assert np.all(np.diff(S) < 0)
    assert fitter.predict(0.4) == 1
    assert fitter.survival_function_at_times(fitter.percentile(0.4)).item() <= 0.4 + 1e-9
    assert fitter.percentile(0.4) == pytest.approx(fitter.median_survival_time_, rel=2)
    assert_allclose(fitter.percentile(np.array([0.9, 0.5])), [fitter.percentile(0.9), fitter.percentile(0.5)])
    assert np.isfinite(fitter.AIC_)
    assert np.isfinite(fitter.BIC_)
    again = pickle.loads(pickle.dumps(fitter))
    assert_allclose(again.predict([1.0, 5.0]), fitter.predict([1.0, 5.0]))


def test_survival_drops_by_the_atom() -> None:
    times, events = with_atom(6)
    fitter = SmoothAtomsFitter((1.0, 60.0), [WINDOW]).fit(times, events)
    before, after = fitter.predict([WINDOW[0] - 1e-9, WINDOW[0]]).to_numpy()
    assert after / before == pytest.approx(1 - fitter.atom_1_, abs=1e-6)
    # a percentile that the atom steps over is reached at the atom
    assert fitter.percentile((before + after) / 2) == pytest.approx(WINDOW[0], abs=1e-9)


@pytest.mark.parametrize(
    ("edges", "atoms", "match"),
    [
        ((0.0, 1.0), [], "above 0 and increase"),
        ((1.0, 1.0), [], "above 0 and increase"),
        ((1.0, 20.0), [(5.0, 6.0), (5.5, 7.0)], "must not overlap"),
        ((1.0, 20.0), [(5.0, 5.0)], "must not be empty"),
        ((1.0, 20.0), [(19.0, 21.0)], "between the first and the last edge"),
    ],
)
def test_edges_and_windows_that_cannot_be(
    edges: tuple[float, ...], atoms: list[tuple[float, float]], match: str
) -> None:
    with pytest.raises(TracestatError, match=match):
        SmoothAtomsFitter(edges, atoms)


def test_ranges_that_cannot_be_and_data_that_say_nothing_are_one_line() -> None:
    with pytest.raises(TracestatError, match="begin above 0"):
        PowerLawFitter(0.0, 1.0)
    with pytest.raises(TracestatError, match="no row lasts longer than 5 s"):
        PowerLawFitter(5.0, 9.0).fit([1.0, 2.0])
    with pytest.raises(TracestatError, match="power law: no maximum"):
        PowerLawFitter(0.5, 9.0).fit([1.0, 2.0], [0, 0])
    with pytest.raises(TracestatError, match="the bin 3 to 20 s holds no event"):
        SmoothAtomsFitter((1.0, 3.0, 20.0)).fit([2.0, 2.5, 5.0], [1, 1, 0])
    with pytest.raises(TracestatError, match="numbers of seconds"):
        SmoothAtomsFitter((1.0, 3.0)).fit([2.0, np.nan])
