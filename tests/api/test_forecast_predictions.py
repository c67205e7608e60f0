"""Asking a model by its public names: one pause, a round of calls, many rows, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from timeit import timeit
from typing import Any

import numpy as np
import polars as pl
import pytest

import tracestat
from tests.forecast.models import model
from tracestat.api.forecast_predictions import WINDOW
from tracestat.errors import UsageError
from tracestat.forecast.model import ForecastModel, PathModel, ProviderModel
from tracestat.results import ForecastPrediction

KEYS: dict[str, str | float | None] = {"tool_class": "shell", "command_skeleton": "make", "developer": "bob"}
HISTORY = {**KEYS, "previous": 2.5, "previous_in_session": 0.3}


@pytest.fixture(scope="module")
def known() -> ForecastModel:
    return model()


def ask(known: ForecastModel, keys: Any = None, **options: Any) -> ForecastPrediction:
    return tracestat.predict_remaining(known, KEYS if keys is None else keys, **options)


def curve_at(found: ForecastPrediction, ahead: float) -> list[float]:
    return [share for t, share in found.survival if t == pytest.approx(ahead)]


def test_an_answer_agrees_with_itself(known: ForecastModel) -> None:
    found = ask(known, elapsed=20)
    told = found.remaining
    quantiles = [told.q10, told.q25, told.q50, told.q75, told.q90, told.q95, told.q99]
    assert quantiles == sorted(quantiles)
    assert found.level_used == "developer"
    assert sum(level.share for level in found.weights) == pytest.approx(1.0)
    times, shares = np.array(found.survival).T
    assert (np.diff(times) >= 0).all()
    assert (np.diff(shares) <= 1e-15).all()
    assert (times[0], shares[0]) == (0.0, 1.0)
    for p, t in ((0.1, told.q10), (0.5, told.q50), (0.9, told.q90)):
        # log-linear between the points that are told, so close to the curve itself
        assert np.interp(np.log(t), np.log(times[1:]), shares[1:]) == pytest.approx(1 - p, abs=0.01)
    area = np.trapezoid(shares[times <= WINDOW], times[times <= WINDOW])
    assert told.mean_restricted == pytest.approx(area, rel=0.05)
    assert [curve.name for curve in found.parents] == ["provider", "tool_class", "command_skeleton"]
    # the window of 5 s is over, that of 120 s lies ahead
    assert [atom.window for atom in found.atoms] == [(119.4, 126.0)]
    [before], [after] = curve_at(found, 99.4), curve_at(found, 106.0)
    assert found.atoms[0].reached == pytest.approx(before)
    assert found.atoms[0].ends == pytest.approx(before - after)


def test_it_says_which_level_answers_and_why(known: ForecastModel) -> None:
    assert "developer eve never seen: command_skeleton answers" in ask(known, {**KEYS, "developer": "eve"}).notes
    assert any(
        note == "command_skeleton Edit never seen with tool_class shell: tool_class answers"
        for note in ask(known, {**KEYS, "command_skeleton": "Edit"}).notes
    )
    nothing = ask(known, {})
    assert nothing.level_used == "provider"
    assert "tool_class is not given: the whole provider answers" in nothing.notes
    sharper = "sharper with --key previous, previous_in_session (seconds, or none): then the hierarchies that know of"
    assert any(note.startswith(sharper) for note in nothing.notes)
    assert "not used, since it stands below command_skeleton: developer" in (
        ask(known, {"tool_class": "shell", "developer": "bob"}).notes
    )


def test_with_all_history_the_hierarchies_answer_together(known: ForecastModel) -> None:
    part = ask(known, {**KEYS, "previous": 2.5})
    assert part.pool is None
    assert (part.answered_by, part.remaining) == ("developer", ask(known).remaining)
    assert "not used without --key previous_in_session (seconds, or none): previous" in part.notes
    found = ask(known, HISTORY, elapsed=3.0)
    assert found.pool is not None
    assert (found.answered_by, found.level_used, found.path) == ("pool", "developer", ("tool_class", *KEYS)[-3:])
    assert not any("--key" in note for note in found.notes)
    assert [each.keys for each in found.pool.members] == [path.keys for path in known.providers["claude"].paths]
    weights = [each.weight for each in found.pool.members]
    assert found.pool.base.weight == pytest.approx(1 - sum(weights))
    fitted = known.providers["claude"].pool
    assert fitted is not None
    assert (found.pool.developer_seen, weights) == (True, list(fitted.seen))
    assert found.weights == found.pool.members[0].levels
    assert found.pool.members[0].q50 == pytest.approx(ask(known, elapsed=3.0).remaining.q50)
    assert [curve.name for curve in found.parents] == ["base", "without history"]
    assert found.parents[1].survival == ask(known, elapsed=3.0).survival
    assert found.remaining != ask(known, {**HISTORY, "previous": None}, elapsed=3.0).remaining
    assert "sharper with --key tool_class, command_skeleton, developer" in (
        ask(known, {"previous": None, "previous_in_session": None}).notes
    )
    capped = ask(known, HISTORY, elapsed=3.0, asked_limit=3.5).pool
    assert capped is not None
    assert {each.q50 for each in (capped.base, *capped.members)} == {0.5}
    # the level that answers is that of the first hierarchy, not of the pool
    assert "first hierarchy: developer eve never seen: command_skeleton answers" in (
        ask(known, {**HISTORY, "developer": "eve"}).notes
    )
    stranger = ask(known, {**HISTORY, "developer": "eve"}).pool
    assert stranger is not None
    assert (stranger.developer_seen, [each.weight for each in stranger.members]) == (False, list(fitted.unseen))
    assert stranger.members[0].level_used == "command_skeleton"


def test_history_of_a_call_among_several_is_not_used(known: ForecastModel) -> None:
    found = ask(known, {"tool_class": "shell"}, calls=[{"previous": 3.0}, {}])
    assert any("tool_class > command_skeleton > developer): previous" in note for note in found.notes)


def test_an_asked_limit_cuts_the_law(known: ForecastModel) -> None:
    free, cut = ask(known, elapsed=1.0), ask(known, elapsed=1.0, asked_limit=7.0)
    assert cut.limit is not None
    assert (cut.limit.mass, cut.limit.tool_class) == (0.95, "shell")
    before, after = curve_at(cut, 6.0)
    assert after == pytest.approx(0.05 * before)
    [at] = curve_at(free, 6.0) or [before]
    assert before == pytest.approx(at)
    assert cut.remaining.q90 == pytest.approx(6.0)
    assert cut.remaining.mean_restricted < free.remaining.mean_restricted
    assert [atom.kind for atom in cut.atoms] == ["deadline", "asked limit", "deadline"]
    assert cut.atoms[1].hazard == pytest.approx(0.95)
    assert "deadlines ahead are those of all calls, whatever limit they asked for" in cut.notes
    assert not any("deadlines ahead" in note for note in free.notes)
    # a class without limits of its own
    pooled = ask(known, {"tool_class": "edit"}, asked_limit=7.0)
    assert pooled.limit is not None
    assert (pooled.limit.mass, pooled.limit.tool_class) == (30.5 / 41, None)
    assert ask(known, elapsed=1.0, asked_limit=1e8).remaining == free.remaining


def test_a_limit_that_is_over_and_one_of_which_nothing_is_known(known: ForecastModel) -> None:
    over = ask(known, elapsed=8.0, asked_limit=8.0)
    assert over.limit is None
    assert over.remaining == ask(known, elapsed=8.0).remaining
    assert "the asked limit of 8 s is over: the law is not cut" in over.notes
    bare = replace(known, providers={"claude": replace(known.providers["claude"], limits=())})
    all_end = ask(bare, asked_limit=9.0)
    assert all_end.limit is not None
    assert (all_end.limit.mass, all_end.limit.known) == (1.0, False)
    assert curve_at(all_end, 9.0)[-1] == 0.0
    assert "the model does not know what share ends at an asked limit: all is taken to end there" in all_end.notes


def test_a_round_of_several_calls(known: ForecastModel) -> None:
    calls = [{"command_skeleton": "make"}, {"command_skeleton": "pytest", "developer": "eve"}]
    found = ask(known, {"tool_class": "shell"}, calls=calls, elapsed=2.0)
    assert found.dependence is not None
    assert (found.dependence.theta, found.dependence.interval, found.dependence.n_rounds) == (1.5, (1.1, 2.0), 40)
    assert [call.level_used for call in found.calls] == ["command_skeleton", "command_skeleton"]
    assert found.calls[1].key == {"tool_class": "shell", "command_skeleton": "pytest", "developer": "eve"}
    alone = ask(known, {"tool_class": "shell", "command_skeleton": "make"}, elapsed=0.0)
    together = ask(known, {"tool_class": "shell"}, calls=calls, elapsed=0.0)
    assert together.dependence is not None
    assert alone.remaining.q50 < together.remaining.q50 < together.dependence.independent.q50
    [independent] = together.parents
    members = [dict(ask(known, {"tool_class": "shell", **call}).survival) for call in calls]
    # at the edges of a window the maximum is exact
    for t, share in independent.survival:
        if t in (4.975, 5.25, 119.4, 126.0):
            assert share == pytest.approx(1 - (1 - members[0][t]) * (1 - members[1][t]), rel=1e-9)
    bare = replace(known, providers={"claude": replace(known.providers["claude"], dependence=None)})
    plain = ask(bare, {"tool_class": "shell"}, calls=calls)
    assert plain.dependence is not None
    assert plain.remaining == plain.dependence.independent


def test_what_lies_beyond_the_longest_pause_is_marked(known: ForecastModel) -> None:
    last = known.providers["claude"].paths[0].last_seen
    found = ask(known, elapsed=last * 0.9)
    assert {"q90", "q99", "mean_restricted"} <= set(found.remaining.extrapolated)
    assert any(note.startswith("extrapolated beyond") for note in found.notes)
    assert any("all is extrapolated" in note for note in ask(known, elapsed=last * 2).notes)
    assert ask(known, asked_limit=1.0).remaining.q99 != 1.0
    bare = replace(known, providers={"claude": replace(known.providers["claude"], limits=())})
    assert ask(bare, asked_limit=1.0).remaining.extrapolated == ()


def test_a_curve_goes_on_as_far_as_was_waited_and_to_the_limit(known: ForecastModel) -> None:
    for options in ({"elapsed": 1e6}, {"elapsed": 1e6, "asked_limit": 3e6}, {"asked_limit": 5e5}):
        found = ask(known, **options)
        last = max(t for t, _ in found.survival)
        assert last == max(options.get("elapsed", 0.0), options.get("asked_limit", 0.0) - options.get("elapsed", 0.0))
        times = sorted({t for t, _ in found.survival if t > 1.0})
        # drawn straight over log time: no long way between two points
        assert max(b / a for a, b in pairwise(times)) <= 2.0


def test_json_and_frame(known: ForecastModel) -> None:
    for found in (
        ask(known, elapsed=20),
        ask(known, HISTORY),
        ask(known, {}, calls=[{"tool_class": "shell"}, {"tool_class": None}]),
    ):
        document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        [group] = document["groups"]
        assert group["key"] == {"provider": "claude", **found.key}
        assert document["synthetic"] is True
        assert {"q10", "q50", "q90", "mean_restricted"} <= group["remaining"].keys()
        assert len(group["survival"][0]) == 2
        frame = found.to_frame()
        assert frame["synthetic"].all()
        quantiles = frame.filter((pl.col("part") == "quantile") & (pl.col("level") == found.answered_by))
        assert quantiles["p"].to_list() == [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
        assert set(frame["part"]) == {"quantile", "mean", "survival"}
        assert "SYNTHETIC" in repr(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keys": {"end_kind": "timeout"}}, "--key end_kind: this model does not have it; it has tool_class"),
        ({"keys": {"provider": "claude"}}, "--provider"),
        ({"keys": {"previous": "soon"}}, "previous=soon"),
        ({"keys": {"previous": -1.0}}, "previous=-1.0"),
        ({"elapsed": -1.0}, "--elapsed -1"),
        ({"elapsed": float("nan")}, "--elapsed nan"),
        ({"elapsed": float("inf")}, "--elapsed inf"),
        ({"asked_limit": 0.0}, "--asked-limit 0"),
        ({"asked_limit": float("nan")}, "--asked-limit nan"),
        ({"provider": "gemini"}, "--provider gemini: this model is of claude; name one of them"),
        ({"calls": [{"tool_class": "shell"}]}, "--call: name 2 to"),
        ({"calls": [{"tool_class": "shell"}, {"seconds": "3"}]}, "--key seconds"),
        ({"calls": [{}, {}], "asked_limit": 3.0}, "--asked-limit: a limit belongs to one call"),
    ],
)
def test_what_cannot_be_asked(known: ForecastModel, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as error:
        ask(known, **options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_provider_must_be_named_where_there_are_several() -> None:
    two = model(two=True)
    with pytest.raises(UsageError, match="--provider: this model is of claude, codex"):
        tracestat.predict_remaining(two, KEYS)
    assert tracestat.predict_remaining(two, KEYS, provider="codex").provider == "codex"
    with pytest.raises(UsageError, match="no rounds of one call"):
        tracestat.predict_remaining(two, {}, provider="codex", calls=[KEYS, KEYS])


def test_a_model_is_read_from_its_file(known: ForecastModel, tmp_path: Path) -> None:
    tracestat.save_forecast(known, tmp_path / "m.parquet")
    for keys in (KEYS, HISTORY, {**HISTORY, "developer": "eve"}):
        assert tracestat.predict_remaining(tmp_path / "m.parquet", keys).to_dict() == ask(known, keys).to_dict()


COLUMNS: dict[str, list[Any]] = {
    "tool_class": ["shell", "shell", "edit", None, "web", "shell", "none"],
    "command_skeleton": ["make", "nope", "Edit", "sed, awk", "make", "go test", "sed, awk"],
    "developer": ["bob", "ada", "none", "ada", "bob", None, "bob"],
    "previous": [0.4, None, 3.0, float("nan"), 0.0, 90.0, 1.0],
    "previous_in_session": [None, 0.4, 0.4, 20.0, 2.0, 2.0, None],
}
NUMBERS = ("previous", "previous_in_session")
WAITED = [0.0, 3.0, 5.1, 30.0, 700.0, 2.0, 1e5]
LIMITS = [float("nan"), 7.0, 5.0, 120.0, float("nan"), 2.5, 2e5]


@pytest.mark.parametrize("history", [0, 1, 2])
@pytest.mark.parametrize("kind", ["frame", "lists", "arrays", "categories"])
def test_a_batch_answers_as_one_by_one(known: ForecastModel, history: int, kind: str) -> None:
    columns = {key: values for key, values in COLUMNS.items() if key not in NUMBERS[history:]}
    frame = pl.DataFrame(columns, strict=False)
    forms: dict[str, Any] = {
        "frame": frame.with_columns(other=pl.lit(3)),
        "lists": columns,
        "arrays": {key: np.array(values, dtype=float if key in NUMBERS else object) for key, values in columns.items()},
        "categories": frame.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    }
    forecaster = tracestat.Forecaster(known)
    found = forecaster.batch(forms[kind], elapsed=WAITED, p=[0.1, 0.9])
    capped = forecaster.batch(forms[kind], elapsed=WAITED, p=0.9, asked_limit=LIMITS)
    later = forecaster.batch(forms[kind], elapsed=WAITED, horizon=10.0, asked_limit=LIMITS)
    assert (found.shape, capped.shape) == ((2, 7), (7,))
    for i, (waited, limit) in enumerate(zip(WAITED, LIMITS, strict=True)):
        keys = {key: values[i] for key, values in columns.items()}
        asked = None if np.isnan(limit) else limit
        one = ask(known, keys, elapsed=waited)
        assert found[:, i] == pytest.approx([one.remaining.q10, one.remaining.q90], rel=1e-7, abs=1e-9)
        cut = ask(known, keys, elapsed=waited, asked_limit=asked)
        assert capped[i] == pytest.approx(cut.remaining.q90, rel=1e-7, abs=1e-9)
        quick = forecaster.remaining(keys, waited, asked_limit=asked)
        assert quick.quantile(0.9) == pytest.approx(cut.remaining.q90, rel=1e-9)
        assert quick.mean() == pytest.approx(cut.remaining.mean_restricted, rel=1e-9)
        assert later[i] == pytest.approx(quick.survival(10.0), rel=1e-9)


def test_who_was_seen_counts_also_beneath_a_key_that_is_missing(known: ForecastModel) -> None:
    columns: dict[str, list[Any]] = {
        "tool_class": ["shell", "shell"],
        "developer": ["bob", "eve"],
        "previous": [0.4, 0.4],
        "previous_in_session": [9.0, 9.0],
    }
    forecaster = tracestat.Forecaster(known)
    many = forecaster.batch(columns, p=0.5)
    one = [forecaster.remaining({key: column[i] for key, column in columns.items()}) for i in range(2)]
    assert many == pytest.approx([each.quantile(0.5) for each in one], rel=1e-9)
    assert many[0] != many[1]


def test_numbers_are_keys_too(known: ForecastModel) -> None:
    plain = known.providers["claude"].paths[0]
    named = {**plain.names, "developer": ("120.0", "7", "0.5")}
    path = PathModel(**{field: getattr(plain, field) for field in PathModel.__slots__} | {"names": named})
    forecaster = tracestat.Forecaster(replace(known, providers={"claude": ProviderModel((path,))}))
    same = {"tool_class": ["shell"] * 4, "command_skeleton": ["make"] * 4}
    by_number = forecaster.batch({**same, "developer": [120, 7, None, 8]}, elapsed=1.0)
    by_text = forecaster.batch({**same, "developer": ["120", "7", None, "8"]}, elapsed=1.0)
    assert by_number.tolist() == by_text.tolist()
    assert by_number[0] != by_number[1]
    assert by_number[2] == by_number[3]  # neither was seen


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({}, {}, "no column is a key of this model"),
        (pl.DataFrame({"seconds": [1.0]}), {}, "no column is a key of this model"),
        ({"end_kind": ["x"]}, {}, "--key end_kind"),
        ({"tool_class": ["shell"], "developer": ["a", "b"]}, {}, "unlike lengths"),
        ({"tool_class": ["shell"]}, {"elapsed": [1.0, 2.0]}, "elapsed has the shape (2,)"),
        ({"tool_class": ["shell"]}, {"elapsed": -1.0}, "elapsed is seconds from 0, at most 1e+08"),
        ({"tool_class": ["shell"]}, {"elapsed": float("nan")}, "elapsed is seconds from 0"),
        ({"tool_class": ["shell"]}, {"elapsed": 1e12}, "elapsed is seconds from 0"),
        ({"tool_class": "shell"}, {}, "tool_class is one value"),
        ({"tool_class": 3}, {}, "tool_class is one value"),
        ({"tool_class": [["shell"]]}, {}, "no column of texts or numbers"),
        ({"tool_class": np.array([["shell", "edit"]])}, {}, "no column of texts or numbers"),
        ({"tool_class": ["\ud800"]}, {}, "no column of texts or numbers"),
        ({"tool_class": ["shell"]}, {"p": 1.0}, "p lies from 0 to below 1"),
        ({"tool_class": ["shell"]}, {"horizon": -1.0}, "a horizon is seconds from 0"),
        ({"tool_class": ["shell"]}, {"p": 0.5, "horizon": 1.0}, "not for both"),
        ({"tool_class": ["shell"]}, {"asked_limit": 0.0}, "an asked limit is above 0"),
        ({"tool_class": ["shell"], "previous": ["soon"]}, {}, "previous is the seconds"),
        ({"tool_class": ["shell"], "previous": [-1.0]}, {}, "previous is below 0 s"),
    ],
)
def test_a_batch_that_cannot_be_asked(known: ForecastModel, columns: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as error:
        tracestat.Forecaster(known).batch(columns, **options)
    assert words in str(error.value)


def test_a_batch_of_nothing(known: ForecastModel) -> None:
    forecaster = tracestat.Forecaster(known)
    assert forecaster.batch({"tool_class": []}).shape == (0,)
    # all history keys: the pool is asked
    assert forecaster.batch({key: [] for key in HISTORY}, p=[0.1, 0.9], asked_limit=3.0).shape == (2, 0)


def test_not_a_number_among_texts_is_a_missing_value(known: ForecastModel) -> None:
    forecaster, nan = tracestat.Forecaster(known), float("nan")
    wanted = forecaster.batch({"tool_class": ["shell", None, "3"]})
    texts = np.array(["shell", nan, "3"], dtype=object)
    columns: list[Any] = [["shell", nan, 3], texts, iter(["shell", None, "3"])]
    for column in columns:
        assert forecaster.batch({"tool_class": column}).tolist() == wanted.tolist()
    assert forecaster.remaining({"tool_class": nan}).quantile(0.5) == pytest.approx(wanted[1])
    assert forecaster.batch({"tool_class": [nan]}).tolist() == [wanted[1]]
    lengths = {key: np.array([1.0, None], dtype=object) for key in ("previous", "previous_in_session")}
    assert np.isfinite(forecaster.batch(lengths)).all()


def test_one_pause_that_cannot_be_asked(known: ForecastModel) -> None:
    forecaster = tracestat.Forecaster(known)
    left = forecaster.remaining(KEYS, 5.0)
    date: Any = datetime(2026, 1, 1)
    for wrong in (
        lambda: left.quantile(1.0),
        lambda: left.quantile(float("nan")),
        lambda: left.survival(-30.0),
        lambda: left.mean(-1.0),
        lambda: forecaster.remaining(KEYS, 1e12),
        lambda: forecaster.remaining(KEYS, asked_limit=-5.0),
        lambda: forecaster.remaining(KEYS, asked_limit=0.0),
        lambda: forecaster.remaining({"tool_class": date}),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_keys_that_come_again_cost_microseconds(known: ForecastModel) -> None:
    forecaster = tracestat.Forecaster(known)
    keys = HISTORY

    def once() -> None:
        left = forecaster.remaining(keys, 20.0)
        left.survival(30.0)
        left.quantile(0.9)
        left.mean()

    # the fastest of some tries, as others may use this machine
    assert min(timeit(once, number=20) / 20 for _ in range(20)) < 100e-6
    with pytest.raises(UsageError, match="--key tool"):
        forecaster.remaining({"tool": "Bash"})
    with pytest.raises(UsageError, match="elapsed"):
        forecaster.remaining(keys, -1.0)


def test_curves_that_are_not_asked_for_again_are_let_go(known: ForecastModel) -> None:
    forecaster = tracestat.Forecaster(known, most_curves=2)
    laws = [forecaster.remaining({"tool_class": name}).law for name in ("shell", "edit", "web", "shell")]
    assert laws[0] is not laws[3]
    assert forecaster.remaining({"tool_class": "shell"}).law is laws[3]
    # a curve per band of lengths, not per length
    assert forecaster.remaining({"previous": 0.21}).law is forecaster.remaining({"previous": 0.22}).law


@pytest.fixture(scope="module")
def real(real_trace: Path) -> Iterator[tracestat.Trace]:
    with tracestat.open(real_trace) as trace:
        yield trace


def test_the_real_trace(real: tracestat.Trace) -> None:
    fitted = tracestat.fit_forecast(real, where="provider = 'claude'", keys="tool_class,command_skeleton,developer")
    short, long = (
        tracestat.predict_remaining(fitted, {"tool_class": name}, elapsed=0.0).remaining for name in ("edit", "agent")
    )
    assert short.q50 < 1 < 3 < long.q50
    # the longer one has waited, the longer it lasts still
    left = [tracestat.predict_remaining(fitted, {"tool_class": "shell"}, elapsed=s).remaining.q50 for s in (0, 20, 200)]
    assert left == sorted(left)


@pytest.mark.full
def test_a_million_questions_to_a_pool_take_less_than_a_second(known: ForecastModel) -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    frame = pl.DataFrame(
        {
            "tool_class": rng.choice(["shell", "edit", "web"], n),
            "command_skeleton": rng.choice(["Edit", "make", "go test", "pytest", "nope"], n),
            "developer": rng.choice(["ada", "bob", "eve"], n),
            "previous": rng.exponential(5, n),
            "previous_in_session": rng.exponential(5, n),
        }
    )
    forecaster, elapsed = tracestat.Forecaster(known), rng.exponential(20, n)
    assert min(timeit(lambda: forecaster.batch(frame, elapsed=elapsed, p=0.9), number=1) for _ in range(5)) < 1.0
