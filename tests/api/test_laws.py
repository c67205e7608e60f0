"""``fit_laws`` and ``to_lifelines`` on the sample, on small stores, and on the real trace."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tracestat
from tests.traces import call, round_
from tracestat.api.lifelines_models import Model
from tracestat.errors import TracestatError, UsageError
from tracestat.results import FitResult

Store = Callable[[list[dict[str, Any]]], Any]


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


@pytest.fixture(scope="module")
def real(real_trace: Path) -> Iterator[tracestat.Trace]:
    with tracestat.open(real_trace) as trace:
        yield trace


@pytest.fixture(scope="module")
def fitted(sample: tracestat.Trace) -> FitResult:
    return tracestat.fit_laws(sample, draws=300)


def waits(seconds: list[float], sessions: int = 1) -> list[dict[str, Any]]:
    """A round per wait, dealt to sessions."""
    return [
        round_(f"s{i % sessions}", i, [call(f"c{i}", 1_000.0 * i, 1_000.0 * i + s)], text=1_000.0 * i)
        for i, s in enumerate(seconds)
    ]


def test_each_group_has_all_laws_with_both_intervals(fitted: FitResult) -> None:
    assert [group.label for group in fitted.groups] == ["claude", "codex"]
    for group in fitted.groups:
        assert [law.family for law in group.laws] == ["weibull", "lognormal", "loglogistic", "gengamma", "piecewise"]
        assert group.best is not None
        for law in group.laws:
            for interval in law.parameters.values():
                assert interval.session is not None
                assert interval.developer is not None
                assert interval.value is not None
                for bounds in (interval.session, interval.developer):
                    assert bounds[0] is None or bounds[0] <= interval.value
                    assert bounds[1] is None or bounds[1] >= interval.value
    json.dumps(fitted.to_dict(), allow_nan=False)


def test_the_frame_has_a_row_per_law_and_parameter(fitted: FitResult) -> None:
    frame = fitted.to_frame()
    assert frame.filter(frame["best"])["family"].n_unique() >= 1
    assert frame.filter(frame["family"] == "gengamma").height == 3 * len(fitted.groups)
    assert frame["synthetic"].all()


def test_the_same_seed_gives_the_same_answer(sample: tracestat.Trace) -> None:
    one, two = (tracestat.fit_laws(sample, by="none", where="tool_class = 'edit'", draws=100, seed=4) for _ in range(2))
    assert one.to_dict() == two.to_dict()


def test_zeros_and_what_lies_below_are_left_out_and_counted(store_of: Store) -> None:
    trace = store_of(waits([0.0, 0.003, 0.005, 0.2, 1.0, 3.0]))
    result = tracestat.fit_laws(trace)
    assert result.head.excluded["below_first_edge"] == 3
    group = result.groups[0]
    assert (group.n, group.n_fitted, group.laws) == (6, 3, ())
    assert group.notes == ("no law: 3 events above 0.0055 s, 100 needed; 1 sessions, 20 needed",)
    assert tracestat.fit_laws(trace, above=0.5).groups[0].n_fitted == 2


def test_nothing_above_is_an_answer(store_of: Store) -> None:
    group = tracestat.fit_laws(store_of(waits([0.0, 0.001]))).groups[0]
    assert group.notes == ("no law: nothing lasts longer than 0.0055 s",)
    assert tracestat.fit_laws(store_of(waits([1.0])), where="tool = 'none such'").groups == ()


def test_a_minimum_of_rows_is_said(sample: tracestat.Trace) -> None:
    result = tracestat.fit_laws(sample, min_n=10**7)
    assert all(group.notes[0].endswith("10000000 asked for") and not group.laws for group in result.groups)


@pytest.mark.parametrize("above", [0.001, 0.0, -1.0, 1e6])
def test_a_first_edge_that_cannot_be(sample: tracestat.Trace, above: float) -> None:
    with pytest.raises(UsageError, match=r"--above .*: give 0.0055 to 10000 seconds"):
        tracestat.fit_laws(sample, above=above)


def test_tracelab_states_no_intervals(sample: tracestat.Trace) -> None:
    result = tracestat.fit_laws(sample, definition="tracelab", where="tool_class = 'edit'", draws=50)
    assert {p.low for g in result.groups for law in g.laws for p in law.parameters.values()} == {None}
    assert result.head.clock == "effective"


@pytest.mark.parametrize("model", get_args(Model))
def test_lifelines_objects_of_every_kind_without_a_warning(sample: tracestat.Trace, model: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = tracestat.to_lifelines(sample, model=model)  # type: ignore[arg-type]  # of the names above
    assert models.synthetic
    assert models.model == model
    if model in ("coxph", "weibull_aft"):
        assert list(models) == ["all"]
        assert np.isfinite(models["all"].params_.to_numpy()).all()
        assert any("against tool_class" in note for note in models.notes)
        return
    assert list(models) == ["claude", "codex"]
    for name, fitter in models.items():
        assert fitter._label == f"SYNTHETIC {name}"
        if model != "nelson_aalen":
            assert 0 < fitter.predict(2.0) < 1
    below = 1 if model in ("weibull", "lognormal", "loglogistic", "gengamma") else 0
    assert (models.excluded.get("below_first_edge", 0) > 0) == bool(below)


def test_to_lifelines_agrees_with_fit_laws(sample: tracestat.Trace, fitted: FitResult) -> None:
    models = tracestat.to_lifelines(sample, model="lognormal")
    for group in fitted.groups:
        law = next(law for law in group.laws if law.family == "lognormal")
        fitter = models[group.label]
        assert law.parameters["sigma"].value == pytest.approx(fitter.sigma_, rel=1e-6)
        assert law.parameters["median_seconds"].value == pytest.approx(fitter.median_survival_time_, rel=1e-6)
        assert law.aic == pytest.approx(fitter.AIC_, rel=1e-9)


def test_curves_agree_with_the_default_estimator(sample: tracestat.Trace) -> None:
    curve = {g.label: g for g in tracestat.survival_curve(sample).groups}
    km, na = (tracestat.to_lifelines(sample, model=m) for m in ("kaplan_meier", "nelson_aalen"))
    for name, group in curve.items():
        at = [point.t for point in group.curve]
        assert_allclose(km[name].predict(at), [point.S.value or 0.0 for point in group.curve], rtol=1e-9)
        assert_allclose(np.exp(-na[name].predict(at)), [point.S.value or 0.0 for point in group.curve], atol=2e-3)


def check_power_law_and_atoms(trace: tracestat.Trace) -> None:
    """The two families of our own against ``hazard``."""
    default = tracestat.hazard(trace, draws=0)
    power, atoms = (tracestat.to_lifelines(trace, model=m) for m in ("power_law", "smooth_atoms"))
    for group in default.groups:
        assert group.slope.weibull.value == pytest.approx(power[group.label].slope_, abs=1e-6)
        fitter = atoms[group.label]
        cut = {b.lo: b.hazard.value for b in group.deadlines_cut.bins}
        hazards = [getattr(fitter, f"hazard_{i + 1}_") for i in range(fitter.edges.size - 1)]
        whole = [
            (lo, hazard)
            for lo, hi, hazard in zip(fitter.edges[:-1], fitter.edges[1:], hazards, strict=True)
            if any(b.lo == lo and b.hi == hi for b in group.deadlines_cut.bins)
        ]
        assert len(whole) >= 5
        free = [(lo, hazard) for lo, hazard in whole if not _suppressed(fitter, lo)]
        for lo, hazard in free:
            assert hazard == pytest.approx(cut[lo], rel=1e-6)


def _suppressed(fitter: Any, lo: float) -> bool:
    """Whether a window in the bin has no excess, so that it counts as part of the bin."""
    j = int(np.searchsorted(fitter.edges, lo))
    return any(
        getattr(fitter, f"atom_{i + 1}_") == 0 and a < fitter.edges[j + 1] and b > fitter.edges[j]
        for i, (a, b) in enumerate(fitter.windows)
    )


def test_our_own_families_agree_with_the_hazard(sample: tracestat.Trace) -> None:
    check_power_law_and_atoms(sample)


def test_our_own_families_agree_with_the_hazard_of_the_real_trace(real: tracestat.Trace) -> None:
    check_power_law_and_atoms(real)


def test_keys_of_groups(sample: tracestat.Trace) -> None:
    assert list(tracestat.to_lifelines(sample, model="kaplan_meier", by="none")) == ["all"]
    two = tracestat.to_lifelines(sample, model="kaplan_meier", by=["provider", "tool_class"])
    assert ("claude", "shell") in two


def test_clusters_widen_the_errors_of_cox(sample: tracestat.Trace) -> None:
    import lifelines

    cox = tracestat.to_lifelines(sample, model="coxph")["all"]
    assert isinstance(cox, lifelines.CoxPHFitter)
    assert cox.cluster_col == "developer"
    naive = np.sqrt(np.diag(cox.variance_matrix_))
    # providers are told apart by developers, who keep to one
    assert (cox.standard_errors_ / naive)["provider=claude"] > 1.5


def test_groups_without_a_fit_are_named_and_none_at_all_is_one_line(store_of: Store) -> None:
    rows = [*waits([0.512, 1.003, 2.071, 3.555], 2), *waits([1.007, 1.007, 1.007], 1)]
    for i, row in enumerate(rows[4:]):
        row |= {"provider": "codex", "session_id": "codex:x", "round_id": f"x{i}", "trace_key": f"codex:x:{i}"}
        for one in row["tools"]:
            one["tool_call_id"] = f"x{i}"
    trace = store_of(rows)
    models = tracestat.to_lifelines(trace)
    assert list(models) == ["claude"]
    assert models.notes == ("codex: Weibull: fewer than 3 different durations with an end: there is no law to fit",)
    with pytest.raises(TracestatError, match="power_law: no group can be fitted"):
        tracestat.to_lifelines(trace, model="power_law")
    with pytest.raises(TracestatError, match="coxph: no group can be fitted"):
        tracestat.to_lifelines(trace, model="coxph")
    with pytest.raises(TracestatError, match="nothing is left to count"):
        tracestat.to_lifelines(trace, where="tool = 'none such'")


def test_models_and_ranges_that_do_not_exist(sample: tracestat.Trace) -> None:
    with pytest.raises(UsageError, match="model gompertz: not known; it is one of weibull"):
        tracestat.to_lifelines(sample, model="gompertz")  # type: ignore[arg-type]  # what is tested
    for between in ((2.0, 1.0), (1.0,), (1.0, 2.0, 3.0), (1.0, np.inf)):
        with pytest.raises(UsageError, match="between: give two times"):
            tracestat.to_lifelines(sample, model="power_law", between=between)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(UsageError, match="cut_at"):
        tracestat.to_lifelines(sample, model="smooth_atoms", cut_at=[0.0])
    with pytest.raises(UsageError, match="nonsense"):
        tracestat.to_lifelines(sample, by="nonsense")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("kaplan_meier", {"above": 5.0}),
        ("weibull", {"between": (1.0, 2.0)}),
        ("power_law", {"cut_at": [5.0]}),
    ],
)
def test_a_choice_that_a_model_does_not_use_is_refused(
    sample: tracestat.Trace, model: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(options))}: model {model} does not use it"):
        tracestat.to_lifelines(sample, model=model, **options)


def test_a_comparison_of_too_few_says_so(sample: tracestat.Trace) -> None:
    with pytest.raises(TracestatError, match="no tool class and provider with 10 events"):
        tracestat.to_lifelines(sample, model="coxph", above=10_000.0)


def test_the_real_trace(real: tracestat.Trace) -> None:
    result = tracestat.fit_laws(real, draws=500)
    claude, codex = result.groups
    assert (claude.n_developers, codex.n_developers) == (26, 15)
    assert claude.clusters == "developer"
    assert codex.clusters == "session"
    below = result.head.excluded["below_first_edge"]
    assert below == claude.n - claude.n_fitted + codex.n - codex.n_fitted
    weibull = claude.laws[0].parameters["shape"]
    assert weibull.value == pytest.approx(0.246, abs=0.002)
    # no law passes the atom of 30 s
    assert not any(law.holds for law in codex.laws[:-1])
    power = tracestat.to_lifelines(real, model="power_law")
    assert power["claude"].slope_ == pytest.approx(-0.744, abs=0.003)
