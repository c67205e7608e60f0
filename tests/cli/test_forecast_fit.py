"""``tracestat forecast fit``: the tables, the document, the file, the chart, and wrong use."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.cli.conftest import Ran, Run
from tests.traces import call, round_, write

KEYS = ("--keys", "tool_class,developer")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Make 30 sessions of two developers: shell takes seconds, reads take moments."""
    rows = []
    for s in range(30):
        tool, unit = (("Bash", 3.0), ("Read", 0.02))[s % 2]
        for i in range(6):
            one = call(f"{s}-{i}", 1e4 * s + 600 * i, 1e4 * s + 600 * i + unit * (1 + i), tool)
            rows.append(round_(f"s{s}", i, [one], user=f"user_{s % 3}"))
    return write(tmp_path / "trace.jsonl", rows)


def fit(run: Run, trace: Path | None, *more: str | Path) -> Ran:
    return run("forecast", "fit", *([trace] if trace else []), *more)


def test_document_describes_the_fit_and_the_file(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = fit(run, trace, "-o", tmp_path / "m.parquet", *KEYS, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["schema"] == "tracestat.forecast_fit/1"
    assert (document["unit"], document["clock"], document["by"], document["synthetic"]) == (
        "pause",
        "wall",
        ["provider"],
        False,
    )
    content = (tmp_path / "m.parquet").read_bytes()
    [file] = document["files"]
    assert (file["path"], file["bytes"]) == ("m.parquet", len(content))
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    [provider] = document["providers"]
    assert provider.keys() == {"provider", "n_rows", "paths", "pool", "limits", "dependence", "notes"}
    assert provider["pool"] is None
    assert (provider["provider"], provider["n_rows"]) == ("claude", 180)
    assert [path["rounds"] for path in provider["paths"]] == ["all", "single"]
    for path in provider["paths"]:
        assert path["keys"] == ["tool_class", "developer"]
        assert [(level["key"], level["n_keys"]) for level in path["levels"]] == [
            ("tool_class", 2),
            ("developer", 6),
            ("session", 30),
        ]
        assert all(len(level["profile"]) == 31 for level in path["levels"])
    # tool classes differ, developers do not
    kappas = [level["kappa"] for level in provider["paths"][0]["levels"]]
    assert kappas[0] < 5 < kappas[1]
    model = tracestat.load_forecast(tmp_path / "m.parquet")
    assert [fit.kappa for fit in model.providers["claude"].paths[0].kappas] == kappas
    assert (model.trace, model.synthetic) == ("trace.jsonl", False)


def test_answers_and_files_are_reproducible_to_the_byte(run: Run, trace: Path, tmp_path: Path) -> None:
    one, other = (fit(run, trace, "-o", tmp_path / name, *KEYS, "--json").out for name in ("a.parquet", "b.parquet"))
    assert one.replace("a.parquet", "b.parquet") == other
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_the_sample_end_to_end(run: Run, tmp_path: Path) -> None:
    ran = fit(run, None, "-o", tmp_path / "m.parquet", "--chart", tmp_path / "m.svg", *KEYS, "--atoms", "5,120")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Forecast of pauses, fitted by provider")
    assert "\n\nSYNTHETIC: Levels of codex\n" in ran.out
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {"tool class > developer; 4,744 rows", "tool class > developer, rounds of one call; 4,221 rows"} <= set(
        lines
    )
    for words in ("kappa", "weight of", "100 rows", "session", "Calls of one round side by side", "m.parquet"):
        assert words in ran.out
    assert "bundled sample, which is synthetic" in ran.err
    assert "wrote m.svg" in ran.err
    drawn = (tmp_path / "m.svg").read_text()
    assert "SYNTHETIC: How far keys differ" in drawn
    assert "tool class &gt; developer" in drawn
    model = tracestat.load_forecast(tmp_path / "m.parquet")
    assert model.synthetic
    assert {name: len(each.paths[0].grid.windows) for name, each in model.providers.items()} == {
        "claude": 2,
        "codex": 2,
    }


@pytest.mark.full
def test_without_keys_the_weights_of_the_pool_are_told(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = fit(run, trace, "-o", tmp_path / "m.parquet", "--chart", tmp_path / "m.html", "--quiet")
    assert max(map(len, ran.out.splitlines())) <= 80
    words = " ".join(ran.out.split())
    assert "Weights of the hierarchies where all are asked" in words
    pool = tracestat.load_forecast(tmp_path / "m.parquet").providers["claude"].pool
    assert pool is not None
    assert f"decided by held-out rows {pool.held_out[0]} {pool.held_out[1]}" in words
    assert f"developer {pool.seen[0]:.2f} {pool.unseen[0]:.2f} claude" in words
    assert f"weight in the pool {pool.seen[0]:.2f}" in (tmp_path / "m.html").read_text()


def test_quiet_says_nothing_beside_the_tables(run: Run, trace: Path, tmp_path: Path) -> None:
    assert fit(run, trace, "-o", tmp_path / "m.parquet", *KEYS, "--quiet").err == ""


def test_limits_and_few_rows_are_told(run: Run, tmp_path: Path) -> None:
    known: dict[str, Any] = {"asked_limit_seconds": 10, "start_kind": "emission"}
    rows = [
        round_("s", i, [call(f"c{i}", 100 * i, 100 * i + t, command_status=status, **known)])
        for i, (t, status) in enumerate([(10.1, "timeout"), (3.0, "finished"), (12.0, "finished")])
    ]
    path = write(tmp_path / "t.jsonl", rows)
    arguments = (path, "-o", tmp_path / "m.parquet", *KEYS, "--atoms", "none")
    out = fit(run, *arguments).out
    assert "claude    all                         2            1      50.0 %" in out
    assert "claude: 3 rows, 100 needed for a forecast that can be relied on" in out
    [provider] = json.loads(fit(run, *arguments, "--json").out)["providers"]
    assert provider["limits"][0] == {"tool_class": None, "ended": 1, "reached": 2, "mass": 0.5}
    assert all(path["windows"] == [] for path in provider["paths"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--keys", "end_kind"], "--keys end_kind: not known when a pause starts"),
        (["--keys", "tool_class,last_returned_tool"], "--keys last_returned_tool"),
        (["--keys", "seconds"], "--keys seconds"),
        (["--keys", "provider"], "--keys provider"),
        (["--keys", "tool,tool"], "twice"),
        (["--keys", ""], "name at least one of"),
        (["--atoms", "soon"], "--atoms soon"),
        (["--atoms", "0"], "--atoms"),
        (["--atoms", "nan"], "--atoms"),
        (["--where", "seconds > 3"], "seconds"),
        (["--rows", "some"], "some"),
        (["-o", "model.csv"], "must end in .parquet"),
        (["--chart", "m.txt"], "--chart m.txt"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(
    run: Run, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = fit(run, trace, "-o", "m.parquet", "--quiet", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


def test_without_a_place_for_the_file_it_is_not_run(run: Run, trace: Path) -> None:
    ran = fit(run, trace)
    assert ran.code == 2
    assert "-o" in ran.err


def test_nothing_left_is_one_line_and_code_1(run: Run, trace: Path, tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", [round_("s", 0, text=1.0)])
    for arguments in ([trace, "--where", "tool = 'none such'"], [empty]):
        ran = fit(run, *arguments, "-o", tmp_path / "m.parquet", "--quiet")
        assert (ran.code, ran.out) == (1, "")
        assert "no pauses to fit a forecast on" in ran.err
        assert len(ran.err.splitlines()) == 1
        assert not (tmp_path / "m.parquet").exists()


def test_an_input_is_not_written_over(run: Run, trace: Path, tmp_path: Path) -> None:
    store = tmp_path / "trace.parquet"
    trace.rename(store)
    before = store.read_bytes()
    ran = fit(run, store, "-o", store, *KEYS)
    assert ran.code == 2
    assert "read by the command" in ran.err
    assert store.read_bytes() == before


def test_a_forecast_is_no_trace_and_a_trace_no_forecast(run: Run, trace: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.parquet"
    assert fit(run, trace, "-o", model, *KEYS, "-q").code == 0
    for command in (("forecast", "evaluate", model), ("hazard", model)):
        ran = run(*command)
        assert (ran.code, ran.out) == (1, "")
        assert "m.parquet: a forecast, no trace; ask it with `tracestat forecast predict m.parquet`" in ran.err
    ran = run("forecast", "predict", trace)
    assert (ran.code, ran.out) == (1, "")
    assert "make it with `tracestat forecast fit TRACE -o model.parquet`" in ran.err


def test_a_model_shows_in_one_line(trace: Path) -> None:
    model = tracestat.fit_forecast(trace, keys="tool_class")
    assert repr(model) == "ForecastModel(claude 180 pauses; trace.jsonl)"
