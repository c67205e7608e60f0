"""``evaluate_forecast``: counts, comparisons and headline, on small traces and on the sample."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import tracestat
from tests.traces import call, round_
from tracestat.api.answers import Question, Source, answer_of
from tracestat.charts.forecast_panels import main_methods
from tracestat.charts.tables import tables_of, to_text
from tracestat.errors import UsageError
from tracestat.forecast.keys import PATHS
from tracestat.forecast.methods import BASELINES
from tracestat.published import load_published, number_at
from tracestat.results import ForecastEvaluation, Interval
from tracestat.survival.monotone import holm

StoreOf = Callable[[Iterable[Mapping[str, Any]]], tracestat.Trace]
CODEX = "provider = 'codex'"


def pauses(
    session: str, user: str, seconds: Iterable[float | None], *, start: float = 0.0, tool: str = "Bash"
) -> Iterator[dict[str, Any]]:
    """Make a session whose calls take so long, one after the other; None is a call whose end was not seen."""
    now = start
    for index, length in enumerate(seconds):
        end = None if length is None else now + length
        yield round_(session, index, [call(f"{session}-{index}", now, end, tool)], user=user)
        now = (now if end is None else end) + 2.0


def developers(
    n: int, *, sessions: int = 3, censored: bool = False, spread: float = 1.5, seed: int = 0
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for who in range(n):
        for k in range(sessions):
            lengths: list[float | None] = [float(x) for x in np.round(rng.lognormal(0, spread, 8) + 0.001, 3)]
            if censored:
                lengths[3] = None
            rows += pauses(f"s{who}-{k}", f"user_{who:08d}", lengths, start=10_000.0 * k + 100.0 * who)
    return rows


@pytest.fixture(scope="module")
def codex() -> ForecastEvaluation:
    with tracestat.open() as trace:
        return tracestat.evaluate_forecast(trace, split="time", where=CODEX)


@pytest.mark.full
def test_every_method_is_judged_on_the_same_rows(codex: ForecastEvaluation) -> None:
    [counts] = codex.counts
    assert [m.name for m in codex.methods][: len(BASELINES)] == list(BASELINES)
    assert codex.methods[-1].name == codex.ours == "ours"
    assert codex.paths == PATHS
    for method in codex.methods:
        assert [at.elapsed for at in method.landmarks] == [0, 1, 4, 25, 146, 600]
        assert [at.n for at in method.landmarks] == [at.n for at in codex.methods[0].landmarks]
        assert method.landmarks[0].n <= counts.rows
        assert list(method.landmarks[0].skill) == (
            ["0.5"] if method.kind == "point" else ["0.1", "0.25", "0.5", "0.75", "0.9", "0.95", "0.99"]
        )
    points = [m.name for m in codex.methods if m.kind == "point"]
    assert points == ["running mean", "ewma", "elapsed"]
    assert all(m.calibration is None and not m.horizons for m in codex.methods if m.kind == "point")


def test_skill_is_the_cut_of_the_mean_loss(codex: ForecastEvaluation) -> None:
    base, *others = codex.methods
    assert base.name == "global"
    assert all(item.value == 0 for at in base.landmarks for item in at.skill.values() if item.value is not None)
    for method in others:
        for mine, theirs in zip(method.landmarks, base.landmarks, strict=True):
            for p, item in mine.skill.items():
                mean, reference = mine.pinball_log[p], theirs.pinball_log[p]
                if item.value is not None and mean is not None and reference:
                    assert item.value == pytest.approx(100 * (1 - mean / reference), abs=1e-9)


def test_headline_is_the_mean_of_the_cuts_at_four_landmarks(codex: ForecastEvaluation) -> None:
    cuts = {(c.loss, c.quantile, len(c.landmarks)): c.cut for c in codex.headline.table}
    assert set(cuts) == {
        (loss, p, n) for loss in ("log", "seconds") for p in (0.9, 0.95, 0.99, 0.1, 0.5) for n in (1, 4)
    }
    ours = codex.methods[-1]
    for (loss, p, n), cut in cuts.items():
        skills = [(at.skill if loss == "log" else at.skill_seconds)[f"{p:g}"].value for at in ours.landmarks[:n]]
        assert cut.value == pytest.approx(np.mean([x for x in skills if x is not None]), abs=1e-9)
        assert cut.low is not None
        assert cut.high is not None
        assert cut.low < cut.high
    assert codex.headline.upper_quantile_cut == {"provider": {"codex": cuts["log", 0.9, 4]}}
    assert codex.headline.published == {"least": 27.0, "most": 37.0}


def test_comparisons_follow_from_losses_and_intervals(codex: ForecastEvaluation) -> None:
    methods = {m.name: m for m in codex.methods}
    assert {item.baseline for item in codex.against} == set(BASELINES)
    for item in codex.against:
        at, own = methods[item.baseline].at(item.elapsed), methods["ours"].at(item.elapsed)
        assert at is not None
        assert own is not None
        if item.measure == "log_score":
            theirs, ours = at.log_score, own.log_score
            sign = -1.0
        else:
            p = f"{item.quantile:g}"
            theirs, ours = getattr(at, item.measure)[p], getattr(own, item.measure)[p]
            sign = 1.0
        if ours is None or theirs is None:
            assert item.gain.value is None
            assert item.verdict == "cannot tell"
            continue
        assert item.gain.value == pytest.approx(sign * (theirs - ours), abs=1e-9)
        assert (item.cut is None) == (item.quantile is None or not theirs)
    assert {item.verdict for item in codex.against} >= {"better", "cannot tell"}


def test_verdicts_are_adjusted_for_the_number_of_comparisons(codex: ForecastEvaluation) -> None:
    tested = [item for item in codex.against if item.p_value is not None]
    assert all((item.gain.low is None) == (item.p_value is None) == (item.p_adjusted is None) for item in codex.against)
    adjusted = holm([item.p_value for item in tested if item.p_value is not None])
    for item, p in zip(tested, adjusted, strict=True):
        assert item.p_value is not None
        assert item.p_adjusted == pytest.approx(p, rel=1e-12)
        gain = item.gain.value or 0.0
        assert item.verdict == ("cannot tell" if p > 0.05 else "better" if gain > 0 else "worse")
        # alone, the jackknife's interval and p say the same
        assert (item.verdict_alone != "cannot tell") == (item.p_value < 0.05)
    counts = [sum(getattr(item, name) == "better" for item in tested) for name in ("verdict", "verdict_alone")]
    assert 0 < counts[0] < counts[1]
    text = " ".join(to_text(tables_of(codex), width=80).split())
    assert {item.gain.method for item in tested} == {"developer CV3"}
    assert f"better in {counts[0]} of {len(tested)} comparisons, cannot tell" in text
    assert f"not adjusted for their number: better in {counts[1]}, worse in" in text
    assert f"adjusted for all {len(tested)} comparisons of this provider and split" in text
    against = codex.to_frame().filter(part="against", says="better")
    assert against["p_adjusted"].is_between(0, 0.05).all()


def test_ours_beats_the_global_curve_on_the_sample(codex: ForecastEvaluation) -> None:
    [score] = [i for i in codex.against if (i.baseline, i.measure, i.elapsed) == ("global", "log_score", 0.0)]
    assert score.verdict_alone == "better"


def test_order_is_beside_lru_on_both_clocks(codex: ForecastEvaluation) -> None:
    names = [item.name for item in codex.order]
    assert names == ["lru", *(m.name for m in codex.methods)] * 2
    for item in codex.order:
        if item.name == "lru" and item.pairs:
            assert item.over_lru.value == 0
            assert item.same_as_lru == 1
        for bound in (item.pairs_right.low, item.pairs_right.high):
            assert bound is None or 0 <= bound <= 1


def test_coverage_and_tenths_add_up(codex: ForecastEvaluation) -> None:
    for method in codex.methods:
        if method.calibration is not None:
            assert sum(method.calibration.pit) == pytest.approx(1)
            shares = list(method.calibration.coverage["0"].values())
            assert shares == sorted(shares, key=lambda x: x or 0.0)
            observed = [score.observed for score in method.horizons.values()]
            assert observed == sorted(observed, key=lambda x: -(x or 0.0))
    ours = codex.methods[-1]
    assert ours.horizons["0.5"].forecast == pytest.approx(ours.horizons["0.5"].observed, abs=0.1)


def test_frame_holds_every_number_once(codex: ForecastEvaluation) -> None:
    frame = codex.to_frame()
    assert set(frame["part"]) == {"loss", "coverage", "horizon", "headline", "against", "order"}
    key = ["part", "provider", "split", "method", "measure", "quantile", "elapsed", "says"]
    assert frame.filter(frame["part"] != "order").select(key).is_duplicated().sum() == 0
    assert frame.filter(frame["part"] == "against").height == len(codex.against)


@pytest.mark.full
def test_two_runs_give_the_same_bytes(codex: ForecastEvaluation) -> None:
    with tracestat.open() as trace:
        again = tracestat.evaluate_forecast(trace, split="time", where=CODEX)
    assert json.dumps(again.to_dict()) == json.dumps(codex.to_dict())


@pytest.mark.full
def test_keys_given_are_ours(store_of: StoreOf) -> None:
    trace = store_of(developers(5))
    result = tracestat.evaluate_forecast(trace, split="developer", keys="tool, developer")
    assert result.paths == (("tool", "developer"),)
    assert result.methods[-1].name == "ours"
    assert result.counts[0].folds == 5


def test_the_first_path_may_be_ours(store_of: StoreOf) -> None:
    result = tracestat.evaluate_forecast(store_of(developers(3)), split="time", keys=PATHS[0])
    by_name = {m.name: m for m in result.methods}
    assert by_name["ours"].landmarks == by_name["effective counts"].landmarks


@pytest.mark.parametrize("keys", ["end_kind", "seconds", "provider", "observed", "", "developer,developer", "nonsense"])
def test_keys_that_are_none_are_refused(keys: str) -> None:
    with tracestat.open() as trace, pytest.raises(UsageError, match="--keys"):
        tracestat.evaluate_forecast(trace, keys=keys)


def test_choices_that_do_not_exist_are_refused() -> None:
    with tracestat.open() as trace:
        with pytest.raises(UsageError, match="--split random"):
            tracestat.evaluate_forecast(trace, split="random")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="--draws -1"):
            tracestat.evaluate_forecast(trace, draws=-1)


def test_no_pauses_is_an_answer(store_of: StoreOf) -> None:
    result = tracestat.evaluate_forecast(store_of(developers(2)), where="tool = 'none such'")
    assert result.methods == ()
    assert result.counts == ()
    assert "nothing to judge" in to_text(tables_of(result))
    result.chart().to_dict()


def test_one_session_cannot_be_split(store_of: StoreOf) -> None:
    result = tracestat.evaluate_forecast(store_of(pauses("only", "user_00000001", [1.0, 2.0, 3.0])))
    assert result.methods == ()
    assert [(c.split, c.folds, c.rows) for c in result.counts] == [("time", 0, 0), ("developer", 0, 0)]
    assert all("cannot be split" in c.notes[0] for c in result.counts)
    text = to_text(tables_of(result))
    assert "cannot be split by time" in text
    assert "cannot be split by developer" in text
    result.chart().to_dict()


@pytest.mark.full
def test_one_developer_is_split_by_time_only(store_of: StoreOf) -> None:
    result = tracestat.evaluate_forecast(store_of(developers(1, sessions=5)))
    assert [(c.split, c.folds) for c in result.counts] == [("time", 1), ("developer", 0)]
    assert {m.split for m in result.methods} == {"time"}
    [time, developer] = result.counts
    assert (time.train_sessions, time.sessions) == (3, 2)
    assert "cannot be split by developer" in developer.notes[0]
    cut = result.headline.upper_quantile_cut["provider"]["claude"]
    assert cut.value is None
    assert "headline has no mean" in time.notes[1]
    [start] = [c.cut for c in result.headline.table if (c.loss, c.quantile, c.landmarks) == ("log", 0.9, (0.0,))]
    assert start.value is not None
    assert start.developer == (None, None)
    to_text(tables_of(result))
    result.chart().to_dict()


@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.first_case
def test_fewer_than_five_developers(store_of: StoreOf, censored: bool) -> None:
    result = tracestat.evaluate_forecast(store_of(developers(3, censored=censored)))
    time, developer = result.counts
    assert (developer.folds, developer.developers, developer.developers_without_training) == (3, 3, 3)
    assert (developer.rows, developer.sessions) == (72, 9)
    assert developer.train_developers == 2
    assert time.developers_without_training == 0
    assert developer.censored == (9 if censored else 0)
    assert any("fewer than 20 developers (3)" in note for note in developer.notes)
    judged = result.of("claude", "developer")[0].landmarks[0]
    assert judged.n - judged.n_pinball == developer.pinball_left_out


@pytest.mark.full
def test_a_synthetic_trace_is_marked(codex: ForecastEvaluation) -> None:
    assert codex.head.synthetic
    tables = tables_of(codex)
    assert all(table.title.startswith("SYNTHETIC: ") for table in tables)
    assert max(map(len, to_text(tables, width=80).splitlines())) <= 80
    assert codex.chart().to_dict()["title"]["text"][0].startswith("SYNTHETIC: ")


def test_chart_draws_main_methods_with_ours_last(codex: ForecastEvaluation) -> None:
    drawn = [m.name for m in main_methods(codex, "codex", "time")]
    assert drawn[-1] == "ours"
    assert "continuum-paper" in drawn
    assert len(set(drawn)) == len(drawn) <= 6


@pytest.mark.full
def test_bootstrap_instead_of_the_jackknife(store_of: StoreOf) -> None:
    trace = store_of(developers(6, spread=4.0))
    one = tracestat.evaluate_forecast(trace, split="time", draws=50, seed=1)
    other = tracestat.evaluate_forecast(trace, split="time", draws=50, seed=2)
    cuts = [result.headline.upper_quantile_cut["provider"]["claude"] for result in (one, other)]
    assert all("bootstrap" in cut.method for cut in cuts)
    assert cuts[0].value == cuts[1].value
    assert cuts[0].low != cuts[1].low


def test_reproduce_gives_the_same_numbers(codex: ForecastEvaluation) -> None:
    """It judges only the methods that the published figure speaks of, and gets the same cuts."""
    [first, *others] = [figure for figure in load_published().figures if figure.of == "article.forecast"]
    assert first.answer is not None
    assert others[0].answer == first.answer
    cuts = {(c.loss, len(c.landmarks)): c.cut for c in codex.headline.table if c.quantile == 0.9}
    by_name = {m.name: m for m in codex.methods}
    with tracestat.open() as trace:
        source = Source(trace)
        for definition in first.answer.definitions:
            answer = answer_of(source, first.answer.name, Question({}, definition.choices, "codex", interval=True))
            loss, mean = definition.choices["loss"], definition.choices["landmarks"] == "mean"
            if definition.choices["model"] == "pool":
                expected = cuts[loss, 4 if mean else 1]
                assert (answer.value.low or 0) * 100 == pytest.approx(expected.low)
            else:
                landmarks = by_name["effective counts"].landmarks[: 4 if mean else 1]
                skills = [(at.skill if loss == "log" else at.skill_seconds)["0.9"] for at in landmarks]
                expected = Interval(float(np.mean([item.value or 0.0 for item in skills])))
            assert (answer.value.value or 0) * 100 == pytest.approx(expected.value)
    assert answer.command is not None
    assert number_at(codex.to_dict(), answer.command.at) == cuts["log", 4].value
    assert "class > skeleton > developer" in definition.says
    assert PATHS[0] == ("tool_class", "command_skeleton", "developer")


def test_reproduce_says_why_it_cannot(store_of: StoreOf) -> None:
    source = Source(store_of(pauses("only", "user_00000001", [1.0, 2.0])))
    choices = {"model": "pool", "loss": "log", "landmarks": "mean"}
    answer = answer_of(source, "forecast.error_cut", Question({}, choices, "claude", interval=True))
    assert answer.value.value is None
    assert "too few sessions" in answer.why
