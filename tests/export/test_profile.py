"""The profile of a trace: hand-made laws and sessions with known answers, then the sample against its schema."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import tracestat
from tracestat.cli import main
from tracestat.errors import TracestatError, UsageError
from tracestat.export.profile import key_of_law
from tracestat.export.profile_sessions import provider_sessions, recorded, with_states
from tracestat.results import LAW_GRID, Interval, KeyAtom, KeyHazard, KeyLaw, KeyResidual
from tracestat.results.profile import QUANTILE_LEVELS, grid_of

LAW = KeyLaw(
    key={"provider": "claude", "tool_class": "shell", "tool": None, "command_skeleton": None},
    level="tool_class",
    n=40,
    n_events=38,
    n_censored=2,
    n_sessions=9,
    n_developers=4,
    total_seconds=100.0,
    resolution_seconds=0.001,
    quantiles={"0.5": Interval(1.5), "0.99": Interval(None)},
    survival=(1.0, 0.75, 0.75, 0.75, 0.5),
    last_seconds=0.0017,
    tail_alpha=1.25,
    used=(1.0, *([0.5] * 160)),
    level_used="tool_class",
    weight=0.625,
    atoms=(KeyAtom(30.0, Interval(0.125), "deadline"), KeyAtom(5.0, Interval(0.25), "timeout")),
    hazard=(KeyHazard(0.5, 1.0, 3, 7.5), KeyHazard(1.0, None, 1, 2.0)),
    residual=(
        KeyResidual(4.0, 9, Interval(2.0, 1.0, 3.0), Interval(1.5)),
        KeyResidual(25.0, 1, Interval(None), Interval(None)),
    ),
    notes=("a note",),
)  # fmt: skip


def test_law_of_a_key_in_milliseconds() -> None:
    key = key_of_law(LAW)
    assert key.key == {
        "provider": "claude", "tool_class": "shell", "command_class": None, "tool": None, "command_skeleton": None,
        "developer": None,
    }  # fmt: skip
    assert (key.n, key.n_censored, key.n_units, key.unit) == (40, 2, 9, "session")
    assert key.own_survival == [(1.0, 1.0), (1.12202, 0.75), (1.41254, 0.75), (1.58489, 0.5)]  # a flat point left out
    assert key.survival == [(1.0, 1.0), (1.12202, 0.5), (1e8, 0.5)]
    assert key.atoms == [(5000.0, 0.25, "timeout"), (30000.0, 0.125, "deadline")]
    assert key.quantiles == {"0.5": 1500.0, "0.99": None}
    assert key.mrl == [(4000.0, 2000.0, 1000.0, 3000.0)]
    assert key.median_residual == [(4000.0, 1500.0)]
    assert [(b.lo, b.hi, b.events, b.exposure_ms) for b in key.hazard] == [
        (500.0, 1000.0, 3, 7500.0),
        (1000.0, None, 1, 2000.0),
    ]
    assert (key.tail.kind, key.tail.alpha, key.last_support_ms) == ("pareto", 1.25, 1.7)
    assert (key.level_used, key.shrink_weight, key.notes) == ("tool_class", 0.625, ["a note"])


def test_key_without_shrunk_curve_shows_its_own_and_no_tail() -> None:
    key = key_of_law(replace(LAW, used=(), tail_alpha=None, n_developers=25))
    assert key.survival == key.own_survival
    assert (key.tail.kind, key.tail.alpha) == ("none", None)
    assert (key.n_units, key.unit) == (25, "developer")


def test_flat_points_left_out_change_nothing_in_between() -> None:
    key = key_of_law(LAW)
    grid = [t * 1e3 for t in LAW_GRID[:5]]
    kept = dict(key.own_survival)
    for t, s in zip(grid, LAW.survival, strict=True):
        around = [value for at, value in kept.items() if at >= float(f"{t:.6g}")]
        assert around[0] == s


def steps(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make a sequence of rows that say only what matters."""
    usual = {
        "session_pk": 1, "place": 1, "request": 1, "prefix_tokens": 0, "append_tokens": 1000, "output_tokens": 10,
        "generation_seconds": 2.0, "tool_seconds": 0.0, "human_seconds": 0.0, "pause_known": True, "tool_class": None,
        "n_calls": 0, "observed": None, "model": "m",
    }  # fmt: skip
    places: dict[int, int] = {}
    made = []
    for row in rows:
        pk = row.get("session_pk", 1)
        places[pk] = places.get(pk, 0) + 1
        made.append({**usual, "place": places[pk], **row})
    return pl.DataFrame(made, schema_overrides={"observed": pl.Boolean, "tool_class": pl.String})


CALL = {"tool_class": "shell", "n_calls": 1, "observed": True}
TWO = steps(
    [
        {**CALL, "tool_seconds": 3.0},
        {**CALL, "n_calls": 2, "tool_seconds": 5.0, "prefix_tokens": 1000, "append_tokens": 500},
        {"human_seconds": 60.0, "prefix_tokens": 1500, "append_tokens": 100},
        {"request": 2, "prefix_tokens": 0, "append_tokens": 800, "output_tokens": 900},
        {"session_pk": 2, **CALL, "tool_class": "human", "human_seconds": 9.0},
        {"session_pk": 2, **CALL, "observed": False, "append_tokens": 2000},
    ]
)


def test_sessions_as_counts() -> None:
    part = provider_sessions(with_states(TWO), "claude")
    assert (part.n_sessions, part.n_steps) == (2, 6)
    assert part.chain.states == ["start", "message", "answer", "human", "shell", "end"]
    counts = {
        (a, b): n
        for a, row in zip(part.chain.states, part.chain.counts, strict=True)
        for b, n in zip(part.chain.states, row, strict=True)
        if n
    }
    assert counts == {
        ("start", "shell"): 1, ("start", "human"): 1, ("shell", "shell"): 1, ("shell", "answer"): 1,
        ("answer", "message"): 1, ("message", "answer"): 1, ("answer", "end"): 1, ("human", "shell"): 1,
        ("shell", "end"): 1,
    }  # fmt: skip
    assert (part.endings.answer, part.endings.result, part.endings.open) == (1, 0, 1)
    assert part.calls_per_round == {"human": [(1, 1)], "shell": [(1, 2), (2, 1)]}
    assert part.human.message.values[0] == 60_000.0
    assert part.human.asked.values[-1] == 9_000.0
    assert part.human.after_call.n == 0
    (shell,) = part.growth["shell"]
    assert (shell.to, shell.grid.n, shell.grid.values[0], shell.grid.values[-1]) == (20_000.0, 2, 100.0, 500.0)
    assert part.growth["human"][0].grid.values[0] == 1000.0
    assert [(band.to, band.steps, band.compactions) for band in part.compactions] == [(10_000.0, 4, 1)]  # 1600 -> 800
    assert part.after_compaction.values[0] == 800.0
    assert part.most_context == 2000
    assert part.first_prompt.n == 2
    assert [(band.to, band.grid.n) for band in part.requests_per_session] == [(2.0, 1), (5.0, 1)]


def test_growth_is_kept_by_context() -> None:
    """What is read at the start of a session is most of it: one law for all contexts would be low by a tenth."""
    tokens = [10_000, 18_000, 25_000, 150_000, 150_500]
    part = provider_sessions(with_states(steps([{**CALL, "append_tokens": n} for n in tokens])), "x")
    assert [(band.to, band.grid.values[-1]) for band in part.growth["shell"]] == [
        (20_000.0, 8_000.0),
        (30_000.0, 125_000.0),
        (200_000.0, 500.0),
    ]


def test_recorded_quantiles() -> None:
    of = {row.quantity: row for row in recorded(with_states(TWO), "claude")}
    assert (of["tool_pause"].n, of["tool_pause"].p50) == (2, 4000.0)
    assert (of["human_wait"].n, of["human_wait"].p50) == (2, 34_500.0)
    assert (of["rounds_per_session"].n, of["rounds_per_session"].p50) == (2, 3.0)
    assert (of["rounds_per_request"].n, of["rounds_per_request"].p50) == (3, 2.0)
    assert of["paused_per_session"].p50 == (3 + 5 + 60 + 9) * 1e3 / 2
    assert of["tool_paused_per_session"].p50 == 4000.0


def test_pauses_of_one_session_are_alike_or_not() -> None:
    alike = [{"session_pk": pk, **CALL, "tool_seconds": 10.0**pk} for pk in (1, 2, 3) for _ in range(20)]
    mixed = [{"session_pk": pk, **CALL, "tool_seconds": float(1 + i)} for pk in (1, 2, 3) for i in range(20)]
    assert provider_sessions(with_states(steps(alike)), "x").alike.tool > 0.9
    assert provider_sessions(with_states(steps(mixed)), "x").alike.tool == 0.0


def test_unknown_tokens_are_counted() -> None:
    frame = TWO.with_columns(prefix_tokens=pl.when(pl.col("place") == 1).then(None).otherwise("prefix_tokens"))
    assert "context: unknown for 2 of 6 steps, left out" in provider_sessions(with_states(frame), "x").notes


def test_grid_is_of_values_that_were_there() -> None:
    grid = grid_of([5.0, float("nan"), 1.0, 2.0])
    assert grid.n == 3
    assert set(grid.values) == {1.0, 2.0, 5.0}
    assert len(grid.values) == len(QUANTILE_LEVELS)
    assert (grid_of([]).n, grid_of([]).values) == (0, [])


def wrong(document: object) -> list[str]:
    schema = json.loads(resources.files("tracestat").joinpath("schemas/profile.json").read_text(encoding="utf-8"))
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(document)]


def test_sample_keeps_to_the_schema_and_says_whose_it_is(sample_profile: Path) -> None:
    document = json.loads(sample_profile.read_text(encoding="utf-8"))
    document["keys"] = document["keys"][::100]  # the validator takes its time; below is a whole file
    assert wrong(document) == []
    assert document["synthetic"] is True
    assert (document["attribution"]["licence"], document["attribution"]["attribution"]) == ("Apache-2.0", "nobody")
    assert document["duration"]["definition"] == "pause"
    for broken in (
        {**document, "version": 2},
        {**document, "keys": [{**document["keys"][0], "survival": [[1.0, 1.5]]}]},
        {name: value for name, value in document.items() if name != "programs"},
    ):
        assert wrong(broken)


def test_sample_has_no_ids_and_no_names_of_developers(sample_profile: Path) -> None:
    text = sample_profile.read_text(encoding="utf-8")
    with tracestat.open() as trace:
        ids = trace.run('SELECT DISTINCT session_id AS id FROM rounds UNION SELECT DISTINCT "user" FROM rounds')["id"]
        assert ids.len() > 100
        assert not [i for i in ids.to_list() if i in text]
    assert {key["key"]["developer"] for key in json.loads(text)["keys"]} == {None}


@pytest.mark.full
def test_keys_agree_with_the_commands(sample_profile: Path) -> None:
    keys = [key for key in json.loads(sample_profile.read_text(encoding="utf-8"))["keys"] if key["level"] == "tool"]
    of = {(key["key"]["provider"], key["key"]["tool"]): key for key in keys}
    groups = tracestat.survival_curve(tracestat.open(), by="provider,tool").groups
    assert {(group.key["provider"], group.key["tool"]) for group in groups} == set(of)
    for group in groups:
        assert of[group.key["provider"], group.key["tool"]]["n"] == group.n
    eta = json.loads(sample_profile.read_text(encoding="utf-8"))["programs"]["eta"]
    whole = {
        group.key["unit"]: group.value.value
        for group in tracestat.memoryfulness(tracestat.open(), by="none", draws=0).groups
    }
    assert eta == {unit: float(f"{value:.6g}") for unit, value in whole.items() if value is not None}


def test_commands_end_to_end_and_the_same_trace_gives_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tracestat.synth import synth_trace

    synth_trace(tmp_path / "t.jsonl", sessions=2, seed=3)
    tracestat.export_profile(tmp_path / "t.jsonl", tmp_path / "a.json")
    assert main(["export", "profile", str(tmp_path / "t.jsonl"), "-o", str(tmp_path / "b.json"), "--quiet"]) == 0
    assert "SYNTHETIC: claude: recorded, 1 session" in capsys.readouterr().out
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert wrong(json.loads((tmp_path / "a.json").read_bytes())) == []
    drawing = ["synth", "--from", str(tmp_path / "b.json"), "-o", str(tmp_path / "d.jsonl.gz"), "--sessions", "6"]
    assert main([*drawing, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "SYNTHETIC: claude" in shown
    assert "d.jsonl.gz.about.json" in shown
    assert main([*drawing, "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["synthetic"] is True
    assert [file["path"] for file in document["files"]] == ["d.jsonl.gz", "d.truth.json", "d.jsonl.gz.about.json"]
    assert all(row["reason"] for row in document["compared"] if row["ratio"] is None)


@pytest.mark.full
def test_nothing_left_is_an_answer_and_wrong_requests_are_one_line(tmp_path: Path) -> None:
    trace = tracestat.open()
    made = tracestat.export_profile(trace, tmp_path / "none.json", where="provider = 'nobody'")
    assert made.profile.keys == []
    assert made.profile.notes[-1] == "no sessions: there is nothing to draw from"
    assert wrong(json.loads((tmp_path / "none.json").read_text(encoding="utf-8"))) == []
    with pytest.raises(UsageError, match=r"must end in \.json"):
        tracestat.export_profile(trace, tmp_path / "a.parquet")
    with pytest.raises(UsageError):
        tracestat.export_profile(trace, tmp_path / "a.json", where="tool = 'Bash'")
    with pytest.raises(TracestatError):
        tracestat.export_profile(trace, tmp_path / "no" / "a.json", where="provider = 'nobody'")
