"""What the functions of the face promise whatever the trace: shapes, choices, counts, reproducibility."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.errors import TracestatError, UsageError

Make = Callable[[list[Row]], Any]
ANSWERS = (tracestat.hazard, tracestat.summary, tracestat.survival_curve)
MORE_ANSWERS = (tracestat.residual, tracestat.deadlines, tracestat.memoryfulness, tracestat.fit_laws)


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


@pytest.mark.parametrize("answer", [*ANSWERS, *MORE_ANSWERS], ids=lambda f: f.__name__)
@pytest.mark.first_case
def test_the_same_trace_gives_the_same_digits(answer: Callable[..., Any]) -> None:
    found = set()
    for _ in range(2):
        with tracestat.open() as trace:
            found.add(json.dumps(answer(trace).to_dict(), allow_nan=False))
    assert len(found) == 1


@pytest.mark.parametrize("answer", [*ANSWERS, tracestat.keys, tracestat.calls], ids=lambda f: f.__name__)
def test_every_answer_says_how_it_was_made_and_can_be_looked_at(
    sample: tracestat.Trace, answer: Callable[..., Any]
) -> None:
    result = answer(sample)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["schema"] == f"tracestat.{result.command}/1"
    assert document["synthetic"] is True
    assert document["trace"]["path"] == "sample.jsonl.gz"
    assert document["rows"] == "tool"
    assert document["excluded"]["human"] > 0
    assert result.to_frame().height > 0
    assert "SYNTHETIC" in repr(result)
    assert "<table" in result._repr_html_()


@pytest.mark.parametrize("name", ["hazard", "survival_curve", "summary", "residual", "deadlines", "fit_laws"])
@pytest.mark.first_case
def test_where_no_interval_is_given_no_note_speaks_of_them(sample: tracestat.Trace, name: str) -> None:
    groups = getattr(tracestat, name)(sample, definition="tracelab").groups
    assert min(group.n_developers for group in groups) < 20  # which is what a note would say
    assert not [note for group in groups for note in group.notes if "intervals" in note]


def test_a_path_is_as_good_as_a_trace() -> None:
    from tracestat.queries import data_path

    path = data_path("sample.jsonl.gz")
    assert [g.label for g in tracestat.survival_curve(path).groups] == ["claude", "codex"]
    assert [g.label for g in tracestat.survival_curve(str(path)).groups] == ["claude", "codex"]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda f: f.__name__)
@pytest.mark.first_case
def test_rows_are_in_a_group_or_counted_as_left_out(sample: tracestat.Trace, answer: Callable[..., Any]) -> None:
    for unit in ("pause", "call", "command"):
        table = f"{unit}s"
        whole = sample.sql(f"SELECT count(*) FROM {table}").item()
        for rows in ("tool", "human", "all"):
            result = answer(sample, unit=unit, rows=rows, by="tool_class")
            out = dict(result.head.excluded)
            out.pop("below_first_edge")  # these are rows of a group
            assert sum(g.n for g in result.groups) + sum(out.values()) == whole


def test_groups_of_everything_are_the_pooled_group(sample: tracestat.Trace) -> None:
    (pooled,) = tracestat.hazard(sample, by="none", draws=0).groups
    parts = tracestat.hazard(sample, by="provider,tool_class", draws=0).groups
    assert pooled.n == sum(g.n for g in parts)
    for j, item in enumerate(pooled.bins):
        assert item.events == sum(g.bins[j].events for g in parts)
        assert item.exposure == pytest.approx(sum(g.bins[j].exposure for g in parts), rel=1e-9, abs=1e-6)
    assert pooled.key == {}
    assert pooled.label == "all"


def test_what_is_not_asked_for_changes_nothing_else(sample: tracestat.Trace) -> None:
    whole, bare = (tracestat.hazard(sample, draws=0, within=within) for within in (True, False))
    assert [dataclasses.replace(group, within=()) for group in whole.groups] == list(bare.groups)
    assert any(group.within for group in whole.groups)
    full, points = (tracestat.residual(sample, curve=curve).to_dict()["groups"] for curve in (True, False))
    for with_curve, without in zip(full, points, strict=True):
        assert with_curve["curve"]
        assert without["curve"] == []
        assert with_curve["notes"] == without["notes"]
        for one, other in zip(with_curve["at"], without["at"], strict=True):
            assert one["n_at_risk"] == other["n_at_risk"]
            for name in ("mean", "median", "p90"):
                assert one[name]["value"] == other[name]["value"]
                known = [one[name][end] for end in ("low", "high") if one[name][end] is not None]
                assert known == pytest.approx(
                    [other[name][end] for end in ("low", "high") if other[name][end] is not None], rel=1e-12
                )


def test_causes_share_the_exposure_of_all(sample: tracestat.Trace) -> None:
    whole = {g.label: g for g in tracestat.hazard(sample, draws=0).groups}["codex"]
    causes = [
        g for g in tracestat.hazard(sample, by="provider,end_kind", draws=0).groups if g.key["provider"] == "codex"
    ]
    assert {"completed", "deadline"} <= {g.key["end_kind"] for g in causes}
    assert {g.key["end_kind"] for g in causes if not g.bins} <= {"lost", "open"}
    causes = [g for g in causes if g.bins]
    for j, item in enumerate(whole.bins):
        assert sum(g.bins[j].events for g in causes) == item.events
        assert {round(g.bins[j].exposure, 6) for g in causes} == {round(item.exposure, 6)}


def test_only_hazard_groups_by_outcome(sample: tracestat.Trace) -> None:
    for answer in (tracestat.summary, tracestat.survival_curve):
        with pytest.raises(UsageError, match="outcome"):
            answer(sample, by="end_kind")


def test_the_published_definition_states_no_uncertainty(sample: tracestat.Trace) -> None:
    result = tracestat.hazard(sample, definition="tracelab")
    assert (result.head.unit, result.head.clock, result.head.rows) == ("call", "effective", "all")
    for group in result.groups:
        assert group.slope.poisson.value is not None
        assert group.slope.poisson.low is None
        assert group.slope.poisson.session is None
        assert group.rise.adjacent.significant is None
        assert all(b.hazard.low is None for b in group.bins)
    assert result.head.excluded["copies"] == 0


def test_a_group_below_the_asked_minimum_is_shown_without_estimates(sample: tracestat.Trace) -> None:
    for group in tracestat.hazard(sample, min_n=10**9).groups:
        assert group.n > 0
        assert group.slope.poisson.value is None
        assert group.within == ()
        assert "asked for" in group.notes[0]
    for group in tracestat.survival_curve(sample, min_n=10**9).groups:
        assert group.curve == ()
        assert "asked for" in group.notes[0]
    for group in tracestat.summary(sample, min_n=10**9).groups:
        assert group.quantiles["0.5"].value is None


def test_bounds_for_the_censored_rows_enclose_the_slope(sample: tracestat.Trace) -> None:
    group = {g.label: g for g in tracestat.hazard(sample, draws=0).groups}["claude"]
    assert group.n_censored > 0
    assert group.censoring_bounds is not None
    never, now = sorted(b for b in group.censoring_bounds if b is not None)
    assert group.slope.poisson.value is not None
    assert never <= group.slope.poisson.value <= now


def test_own_bins_and_cuts(sample: tracestat.Trace) -> None:
    group = tracestat.hazard(sample, bins=9, first_edge=1.0, cut_at=[30.0], draws=0).groups[0]
    assert len(group.bins) == 10
    assert 1.0 <= group.bins[0].lo < 1.9
    assert {round(a / 0.995) for a, _ in group.deadlines_cut.windows} == {30}
    nothing = tracestat.hazard(sample, cut_at=[], draws=0).groups[0]
    assert nothing.deadlines_cut.windows == ()
    assert nothing.deadlines_cut.slope.poisson == nothing.slope.poisson


@pytest.mark.parametrize(
    "wrong", [{"bins": 1}, {"bins": 1000}, {"first_edge": -1.0}, {"cut_at": [-3.0]}, {"draws": -1}, {"by": "nothing"}]
)
def test_wrong_choices_are_usage_errors(sample: tracestat.Trace, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        tracestat.hazard(sample, **wrong)


def test_a_condition_that_nothing_meets(sample: tracestat.Trace) -> None:
    for answer in ANSWERS:
        result = answer(sample, where="tool = 'nothing'")
        assert result.groups == ()
        assert repr(result)
        result.to_dict()
        result.chart()


def test_a_trace_of_one_call(store_of: Make) -> None:
    trace = store_of([round_("s", 0, [call("a", 0, 3)])])
    for answer in ANSWERS:
        result = answer(trace)
        assert result.groups[0].n == 1
        assert repr(result)
        json.dumps(result.to_dict(), allow_nan=False)
    (group,) = tracestat.hazard(trace).groups
    assert group.slope.poisson.value is None
    assert any("no slope" in note for note in group.notes)


def test_a_trace_without_calls(store_of: Make) -> None:
    trace = store_of([round_("s", 0, text=1)])
    for answer in (*ANSWERS, tracestat.keys, tracestat.calls):
        result = answer(trace)
        assert repr(result)
        json.dumps(result.to_dict(), allow_nan=False)


def test_longest_waits_come_first(sample: tracestat.Trace) -> None:
    waits = [row["seconds"] for row in tracestat.calls(sample, longest=7).calls]
    assert len(waits) == 7
    assert waits == sorted(waits, reverse=True)
    with pytest.raises(UsageError):
        tracestat.calls(sample, longest=0)


def test_keys_count_their_values(sample: tracestat.Trace) -> None:
    found = {item["key"]: item for item in tracestat.keys(sample, top=3).keys}
    assert found["provider"]["n_values"] == 2
    assert len(found["tool"]["values"]) == 3
    assert sum(v["rows"] for v in found["provider"]["values"]) == sum(
        g.n for g in tracestat.survival_curve(sample).groups
    )


def test_sql_reads_and_nothing_else(sample: tracestat.Trace) -> None:
    assert sample.sql("SELECT count(*) AS n FROM calls").columns == ["n"]
    for text in ("DROP TABLE calls", "SELECT 1; SELECT 2", "COPY calls TO 'x.csv'", "SELECT * FROM read_csv('x.csv')"):
        with pytest.raises(TracestatError):
            sample.sql(text)


def test_slopes_within_keys_are_those_the_sample_was_made_with(sample: tracestat.Trace) -> None:
    from tracestat.queries import data_path

    truth = json.loads(data_path("sample.truth.json").read_text())
    assert truth["synthetic"] is True
    result = tracestat.hazard(sample, by="provider,tool_class", where="n_calls = 1", draws=0)
    (claude,) = (g for g in result.groups if g.key == {"provider": "claude", "tool_class": "shell"})
    within = {w.keys: w.slope for w in claude.within}[("command_skeleton", "developer")]
    assert within.session is not None
    low, high = within.session
    assert low is not None
    assert high is not None
    # the law of Claude's shell is t^-0.64 within skeleton and developer; pooled it is far steeper
    assert low - 0.03 < -0.64 < high + 0.03
    assert claude.slope.poisson.value is not None
    assert claude.slope.poisson.value < -0.75
