"""Laws fitted to counts: known parameters, scipy and lifelines as oracles, clusters left out, data that say nothing."""

from __future__ import annotations

import warnings
from typing import Any

import lifelines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from tests.survival.data import Floats, quick
from tracestat.errors import TracestatError
from tracestat.survival.law_clusters import cluster_contributions, leave_one_out, log_likelihood_by
from tracestat.survival.law_families import (
    FAMILIES,
    GeneralizedGammaFitter,
    LogNormalFitter,
    fit_family,
    law_of,
)
from tracestat.survival.law_fits import fit_group
from tracestat.survival.law_ranges import LAW_EDGES
from tracestat.survival.laws import LawCounts, Maximum, law_counts, law_quantiles, maximise

TRUTH = {
    "weibull": ([20.0, 0.6], lambda rng, n: 20 * rng.weibull(0.6, n)),
    "lognormal": ([1.0, 1.5], lambda rng, n: rng.lognormal(1.0, 1.5, n)),
    "loglogistic": ([5.0, 1.2], lambda rng, n: 5 * (1 / rng.random(n) - 1) ** (-1 / 1.2)),
    # ln T = mu + sigma/lambda ln(lambda^2 G), G ~ Gamma(1/lambda^2)
    "gengamma": (
        [1.0, 0.2, 0.6],
        lambda rng, n: np.exp(1 + np.exp(0.2) / 0.6 * np.log(0.36 * rng.gamma(1 / 0.36, 1, n))),
    ),
}


def rows(family: str, n: int = 6_000, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """Durations of a family, half of them watched from 1 s on, a fifth or so censored."""
    rng = np.random.default_rng(seed)
    times = TRUTH[family][1](rng, n)
    limit = rng.exponential(40, n)
    entry = np.where(rng.random(n) < 0.5, 1.0, 1e-6)
    observed, events = np.minimum(times, limit), (times <= limit).astype(float)
    seen = observed > entry
    return observed[seen], events[seen], entry[seen]


def counted(times: Floats, events: Floats, entry: Floats, clusters: int = 40) -> LawCounts:
    session = np.arange(times.size) % clusters
    return law_counts(times, events, 1 - events, entry, session, session // 2)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_parameters_are_recovered_from_censored_rows_that_enter_late(family: str) -> None:
    fitter = fit_family(family, counted(*rows(family)))
    error = (fitter._fitted_parameters_ - TRUTH[family][0]) / fitter.summary["se(coef)"].to_numpy()
    assert np.all(np.abs(error) < 3.5), error


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_maximum_is_that_of_lifelines_own_optimiser(family: str) -> None:
    times, events, entry = rows(family, 1_500)
    ours = fit_family(family, counted(times, events, entry))
    own = getattr(lifelines, type(ours).__name__)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own.fit(times, events, entry=entry)
    assert ours.log_likelihood_ >= own.log_likelihood_ - 1e-6
    assert_allclose(ours._fitted_parameters_, own._fitted_parameters_, rtol=2e-3)
    assert_allclose(ours.log_likelihood_, own.log_likelihood_, rtol=1e-7)
    assert_allclose(ours.summary["se(coef)"], own.summary["se(coef)"], rtol=5e-3)


@pytest.mark.parametrize(
    ("family", "parameters", "law"),
    [
        ("weibull", [3.0, 0.7], stats.weibull_min(0.7, scale=3.0)),
        ("lognormal", [0.5, 1.3], stats.lognorm(1.3, scale=np.exp(0.5))),
        ("loglogistic", [2.0, 1.4], stats.fisk(1.4, scale=2.0)),
        # scipy's a = 1/lambda^2 and c = lambda/sigma
        (
            "gengamma",
            [0.4, 0.3, 0.8],
            stats.gengamma(1 / 0.64, 0.8 / np.exp(0.3), scale=np.exp(0.4) * 0.64 ** (np.exp(0.3) / 0.8)),
        ),
    ],
)
def test_hazards_against_scipy(family: str, parameters: list[float], law: Any) -> None:
    ours = law_of(FAMILIES[family]())
    t = np.geomspace(0.01, 40, 30)
    at = np.array(parameters)
    assert_allclose(ours.cumulative_hazard(at, t), -law.logsf(t), rtol=1e-8)
    assert_allclose(ours.log_hazard(at, t), law.logpdf(t) - law.logsf(t), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("shape", [-0.7, 0.4])
def test_functions_are_those_of_lifelines(family: str, shape: float) -> None:
    fitter = FAMILIES[family]()
    law, own = law_of(fitter), getattr(lifelines, type(fitter).__name__)()
    at, t = law.natural(np.array([0.4, 0.3, shape])[: len(law.positive)]), np.geomspace(0.01, 30, 25)
    assert_allclose(law.cumulative_hazard(at, t), own._cumulative_hazard(at, t), rtol=1e-9, atol=1e-14)
    assert_allclose(law.log_hazard(at, t), own._log_hazard(at, t), rtol=1e-9, atol=1e-9)
    if law.log_density is not None:
        assert_allclose(law.log_density(at, t), law.log_hazard(at, t) - law.cumulative_hazard(at, t), atol=1e-9)


def test_weibull_fit_against_scipy() -> None:
    times, events, _ = rows("weibull", 1_000)
    fitter = fit_family("weibull", counted(times, events, np.full(times.size, 1e-12)))
    data = stats.CensoredData(uncensored=times[events == 1], right=times[events == 0])
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    assert_allclose([fitter.lambda_, fitter.rho_], [scale, shape], rtol=1e-3)


def test_generalised_gamma_is_smooth_through_the_lognormal_law() -> None:
    fitter, t = GeneralizedGammaFitter(), np.geomspace(0.05, 300, 40)
    at = [np.array([0.5, 0.2, shape]) for shape in (0.0199, 0.0201, -0.0199, -0.0201)]
    law = law_of(fitter)
    for function in (fitter._cumulative_hazard, fitter._log_hazard, law.cumulative_hazard, law.log_hazard):
        inside, outside, below, beyond = (function(p, t) for p in at)
        assert_allclose(inside, outside, rtol=2e-3, atol=2e-4)
        assert_allclose(below, beyond, rtol=2e-3, atol=2e-4)
    at_zero = fitter._cumulative_hazard(np.array([0.5, 0.2, 0.0]), t)
    assert_allclose(at_zero, law.cumulative_hazard(np.array([0.5, 0.2, 0.0]), t), rtol=1e-12)
    assert_allclose(at_zero, LogNormalFitter()._cumulative_hazard([0.5, np.exp(0.2)], t), rtol=1e-12)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_counts_are_rows(family: str) -> None:
    times, events, entry = rows(family, 400)
    times = np.maximum(np.round(times, 1), entry + 0.05)
    cells = np.unique(np.stack([times, events, entry]), axis=1, return_counts=True)
    (t, e, s), n = cells
    session = np.zeros(t.size)
    together = fit_family(family, law_counts(t, e * n, (1 - e) * n, s, session, session))
    each = fit_family(family, counted(times, events, entry))
    assert_allclose(together._fitted_parameters_, each._fitted_parameters_, rtol=1e-6)
    assert_allclose(together.log_likelihood_, each.log_likelihood_, rtol=1e-9)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_scores_of_sessions_add_up_to_nothing_and_their_likelihood_to_all(family: str) -> None:
    counts = counted(*rows(family, 800))
    fitter = fit_family(family, counts)
    law = law_of(fitter)
    working = law.working(fitter._fitted_parameters_)
    score, hessian = cluster_contributions(law, working, counts)
    assert_allclose(score.sum(axis=0), 0, atol=1e-3)
    assert_allclose(log_likelihood_by(law, working, counts).sum(), fitter.log_likelihood_, rtol=1e-9)
    natural = law.natural(working)
    scale = np.where(law.positive, natural, 1.0)
    assert_allclose(-hessian.sum(axis=0) / np.outer(scale, scale), np.linalg.inv(fitter.variance_matrix_), rtol=1e-3)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("by_developer", [False, True])
def test_one_step_without_a_cluster_is_close_to_a_refit(family: str, by_developer: bool) -> None:
    rng = np.random.default_rng(3)
    session = rng.integers(0, 30, 1_500)
    level = rng.lognormal(0, 0.5, 30)[session]
    times = TRUTH[family][1](rng, 1_500) * level
    counts = law_counts(times, np.ones(1_500), np.zeros(1_500), np.full(1_500, 1e-9), session, session // 3)
    fitter = fit_family(family, counts)
    law = law_of(fitter)
    working = law.working(fitter._fitted_parameters_)
    score, hessian = cluster_contributions(law, working, counts)
    maximum = Maximum(working, fitter.log_likelihood_, hessian.sum(axis=0))
    quick_ones = leave_one_out(law, maximum, counts, score, hessian, by_developer=by_developer)
    cluster = counts.developer[counts.session] if by_developer else counts.session
    refits = []
    for g in range(quick_ones.shape[0]):
        found = maximise(law, working, counts.times, counts.entries, counts.totals(cluster != g))
        assert found is not None
        refits.append(found.working)
    spread = np.sqrt(np.sum((np.array(refits) - working) ** 2, axis=0))
    assert_allclose(np.sqrt(np.sum((quick_ones - working) ** 2, axis=0)), spread, rtol=0.05)
    assert_allclose(quick_ones, refits, atol=float(0.2 * spread.max()))


@quick
@given(st.floats(0.01, 100), st.floats(-1, 2), st.integers(0, 3))
def test_quantiles_invert_the_law_beyond_its_entry(entry: float, spread: float, number: int) -> None:
    family = list(FAMILIES)[number]
    law = law_of(FAMILIES[family]())
    working = np.array([0.3, spread, 0.4][: len(law.positive)])
    wanted = [0.05, 0.3, 0.5, 0.9]
    found = law_quantiles(law, working, wanted, entry)
    reached = [(q, t) for q, t in zip(wanted, found, strict=True) if t is not None]
    assert [t for _, t in reached] == sorted(t for _, t in reached)
    natural = law.natural(working)
    start = law.cumulative_hazard(natural, np.array([entry]))[0]
    for q, t in reached:
        assert t >= entry
        passed = law.cumulative_hazard(natural, np.array([t]))[0] - start
        assert passed >= -np.log1p(-q) * (1 - 1e-6) - 1e-9


def test_a_quantile_that_is_never_reached_is_none() -> None:
    law = law_of(FAMILIES["loglogistic"]())
    assert law_quantiles(law, np.array([0.0, np.log(0.01)]), [0.999], 0.1) == [None]


ONE = np.ones(1)
BROKEN = {
    "one event": ([1.0, 2.0, 3.0], [0, 1, 0]),
    "all censored": ([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0]),
    "all equal": ([2.0] * 50, [1] * 50),
}


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("case", list(BROKEN))
def test_data_that_say_nothing_of_a_law_are_one_line(family: str, case: str) -> None:
    times, events = (np.array(v, dtype=float) for v in BROKEN[case])
    with pytest.raises(TracestatError, match="fewer than 3 different durations") as error:
        fit_family(family, counted(times, events, np.full(times.size, 0.5)))
    assert "\n" not in str(error.value)


def test_a_hazard_steeper_than_any_weibull_law_is_one_line() -> None:
    rng = np.random.default_rng(0)
    # hazard 0.5 t^-1.6 above 0.1 s, censored at 100 s
    goal = rng.exponential(size=5_000)
    inner = 0.1**-0.6 - goal * 0.6 / 0.5
    times = np.where(inner > 0, np.maximum(inner, 1e-12) ** (-1 / 0.6), np.inf)
    events = (times <= 100).astype(float)
    with pytest.raises(TracestatError, match="Weibull: the likelihood has no maximum"):
        fit_family("weibull", counted(np.minimum(times, 100), events, np.full(5_000, 0.1)))


@pytest.mark.parametrize(("time", "entry"), [(1.0, 1.0), (1.0, 2.0), (1.0, 0.0), (np.inf, 0.5), (np.nan, 0.5)])
def test_rows_that_were_never_watched_are_refused(time: float, entry: float) -> None:
    with pytest.raises(TracestatError, match="enter above 0 and end after"):
        law_counts([time], ONE, 0 * ONE, [entry], [0], [0])


def test_too_little_is_said_with_both_minima() -> None:
    with pytest.raises(TracestatError, match=r"3 events above 0.0055 s, 100 needed; 3 sessions, 20 needed"):
        fit_group(counted(np.array([1.0, 2.0, 3.0]), np.ones(3), np.full(3, 0.0055)), LAW_EDGES)


def test_a_group_has_all_laws_and_says_which_has_none() -> None:
    rng = np.random.default_rng(5)
    goal = rng.exponential(size=4_000)
    inner = 0.1**-0.6 - goal * 0.6 / 0.5
    times = np.where(inner > 0, np.maximum(inner, 1e-12) ** (-1 / 0.6), np.inf)
    counts = counted(np.minimum(times, 100), (times <= 100).astype(float), np.full(4_000, 0.1))
    made = fit_group(counts, (0.1, *(e for e in LAW_EDGES if e > 0.12)), draws=200)
    assert [law.family for law in made.laws] == ["weibull", "lognormal", "loglogistic", "gengamma", "piecewise"]
    weibull = made.laws[0]
    assert weibull.aic is None
    assert weibull.holds is None
    assert weibull.notes == ("Weibull: the likelihood has no maximum on these rows",)
    assert sum(law.best for law in made.laws) <= 1
    reference = made.laws[-1]
    assert reference.aic is not None
    assert reference.holds
    assert reference.worst is reference.worst_at is None


def test_the_best_law_is_the_one_with_the_least_aic() -> None:
    times, events, entry = rows("lognormal", 4_000)
    counts = counted(times[entry < 1], events[entry < 1], np.full(int((entry < 1).sum()), 1e-6))
    made = fit_group(counts, (1e-6, *LAW_EDGES), draws=200)
    smooth = made.laws[:-1]
    assert [law.best for law in smooth].count(True) == 1
    best = next(law for law in smooth if law.best)
    assert best.family in ("lognormal", "gengamma")
    assert best.behind.value == 0
    for law in smooth:
        assert law.aic is not None
        assert best.aic is not None
        assert law.behind.value == pytest.approx(law.aic - best.aic, abs=1e-6)
    weibull = smooth[0]
    assert weibull.behind.low is not None
    assert weibull.behind.low > 0
    assert made.quantiles[5].fitted["lognormal"] == pytest.approx(made.quantiles[5].observed.value, rel=0.1)


@pytest.mark.parametrize(("family", "best"), [("lognormal", "lognormal"), ("gengamma", "gengamma")])
def test_a_law_within_another_is_never_said_to_fit_better_than_it(family: str, best: str) -> None:
    times, events, entry = rows(family, 1_000)
    early = entry < 1
    counts = counted(times[early], events[early], np.full(int(early.sum()), 1e-6))
    made = {law.family: law for law in fit_group(counts, (1e-6, *LAW_EDGES), draws=50).laws}
    assert made[best].best
    # one parameter more costs 2, and gains the rest
    if best == "lognormal":
        within = made["gengamma"].behind
        assert within.high == pytest.approx(2.0)
        assert within.low is not None
        assert within.low < 2
    for name in ("lognormal", "weibull") if best == "gengamma" else ():
        low = made[name].behind.low
        assert low is not None
        assert low >= -2


def test_the_piecewise_law_expects_what_it_sees() -> None:
    made = fit_group(
        counted(*rows("weibull", 3_000), clusters=60), (1e-6, 1.0, *(e for e in LAW_EDGES if e > 1.2)), draws=200
    )
    reference = made.laws[-1]
    assert_allclose([b.expected for b in reference.bins], [b.events for b in reference.bins], rtol=1e-9)
    assert reference.holds
