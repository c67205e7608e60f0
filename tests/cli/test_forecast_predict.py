"""``tracestat forecast predict`` end to end."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import tracestat
from tests.cli.conftest import Run
from tests.forecast.models import model
from tests.test_schemas import validator

HISTORY = ("--key", "previous=2.5", "--key", "previous_in_session=none")
KEYS = ("--key", "tool_class=shell", "--key", "command_skeleton=make")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("model") / "m.parquet"
    tracestat.save_forecast(model(), file)
    return file


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("model") / "two.parquet"
    tracestat.save_forecast(model(two=True), file)
    return file


def test_tables_fit_80_columns_and_say_they_are_synthetic(run: Run, path: Path) -> None:
    for more in (
        (*KEYS, "--key", "previous=2.5", "--key", "developer=eve", "--elapsed", "20", "--asked-limit", "120"),
        (*KEYS, *HISTORY, "--key", "developer=eve", "--elapsed", "20"),
        ("--call", "tool_class=shell,command_skeleton=make", "--call", "tool_class=edit", "--elapsed", "2"),
        (),
    ):
        ran = run("forecast", "predict", path, *more)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("SYNTHETIC: ")
        assert max(map(len, ran.out.splitlines())) <= 80


def test_the_tables_say_who_answers_and_what_lies_ahead(run: Run, path: Path) -> None:
    out = run("forecast", "predict", path, *KEYS, "--key", "developer=eve", "--asked-limit", "60").out
    assert "developer eve never seen: command_skeleton answers" in out
    assert "asked limit 60 s: 95.0 % of what still runs then ends there, as among shell" in out
    assert "119.4-126 s" in out
    assert "mean in 1 h" in out
    pooled = run("forecast", "predict", path, *KEYS, *HISTORY, "--key", "developer=ada").out
    assert "pool of 3 hierarchies" in pooled
    assert "weights for a developer the model knows" in pooled
    assert "base: tool class" in pooled
    together = run("forecast", "predict", path, "--call", "tool_class=shell", "--call", "tool_class=edit").out
    assert "theta 1.50 [1.10, 2.00] of 40 rounds; 1 is independence" in together
    assert "if independent" in together


@pytest.mark.parametrize(
    "more",
    [
        (),
        (*KEYS, "--key", "developer=none", "--key", "previous=none", "--elapsed", "20", "--asked-limit", "120"),
        (*KEYS, *HISTORY),
        ("--call", "tool_class=none,command_skeleton=sed, awk", "--call", "tool_class=shell"),
    ],
)
def test_json_keeps_to_its_schema(run: Run, path: Path, more: tuple[str, ...]) -> None:
    document = json.loads(run("forecast", "predict", path, *more, "--json", "--quiet").out)
    assert [error.message for error in validator("forecast_predict").iter_errors(document)] == []
    assert document["schema"] == "tracestat.forecast_predict/1"
    assert document["trace"]["path"] == "rows.jsonl"
    [group] = document["groups"]
    for name in ("key", "level_used", "weights", "pool", "elapsed", "remaining", "survival", "atoms", "notes", "n"):
        broken = {**document, "groups": [{key: value for key, value in group.items() if key != name}]}
        assert not validator("forecast_predict").is_valid(broken), name


def test_a_comma_inside_a_skeleton_is_no_end(run: Run, path: Path) -> None:
    call = "command_skeleton=sed, awk,tool_class=none"
    document = json.loads(run("forecast", "predict", path, "--call", call, "--call", call, "--json").out)
    [group] = document["groups"]
    assert group["calls"][0]["key"] == {"command_skeleton": "sed, awk", "tool_class": "none"}
    assert group["calls"][0]["level_used"] == "command_skeleton"


def test_files_and_charts(run: Run, path: Path, tmp_path: Path) -> None:
    out, chart = tmp_path / "p.parquet", tmp_path / "p.svg"
    assert run("forecast", "predict", path, *KEYS, "--elapsed", "3", "-o", out, "--chart", chart, "-q").code == 0
    frame = pl.read_parquet(out)
    assert {"part", "level", "p", "seconds", "extrapolated", "elapsed", "synthetic"} <= set(frame.columns)
    assert "share that still runs" in chart.read_text()
    assert "SYNTHETIC" in chart.read_text()
    assert run("forecast", "predict", path, *KEYS, *HISTORY, "--chart", tmp_path / "h.html", "-q").code == 0
    assert all(name in (tmp_path / "h.html").read_text() for name in ("pool", "without history", "base"))
    calls = ("--call", "tool_class=shell", "--call", "tool_class=edit")
    assert run("forecast", "predict", path, *calls, "--chart", tmp_path / "c.html", "-q").code == 0
    assert "independent calls" in (tmp_path / "c.html").read_text()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--key", "shell"], "--key shell: write KEY=VALUE"),
        (["--key", "=shell"], "write KEY=VALUE"),
        (["--key", "tool_class= "], "write KEY=VALUE"),
        (["--key", "tool_class=shell,command_skeleton=make"], "one key each; give --key again for the next one"),
        (["--key", "tool_class=a", "--key", "tool_class=b"], "--key tool_class: given twice"),
        (["--key", "tool=Bash"], "--key tool: this model does not have it; it has tool_class, command_skeleton"),
        (["--key", "previous=soon"], "previous=soon"),
        (["--key", "previous=nan"], "previous=nan: give the seconds of earlier pauses, or none"),
        (["--call", "tool_class=shell"], "--call: name 2 to"),
        (["--call", "shell", "--call", "edit"], "--call shell: write KEY=VALUE"),
        (["--elapsed", "-3"], "--elapsed -3"),
        (["--elapsed", "nan"], "--elapsed nan"),
        (["--asked-limit", "0"], "--asked-limit 0"),
        (["--provider", "gemini"], "--provider gemini"),
        (["-o", "p.txt"], "p.txt"),
        (["--key", "tool_class=\udcff", "--json"], "--key tool_class: bytes that are no UTF-8"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(run: Run, path: Path, more: list[str], words: str) -> None:
    ran = run("forecast", "predict", path, *more)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_long_times_are_written_out(run: Run, path: Path) -> None:
    ran = run("forecast", "predict", path, "--elapsed", "123456", "--asked-limit", "1e8")
    assert "100,000,000 s" in ran.out
    assert "99,876,544 s" in ran.out
    assert "e+" not in ran.out


def test_one_of_several_providers_is_named(run: Run, two: Path) -> None:
    ran = run("forecast", "predict", two)
    assert (ran.code, ran.err.strip()) == (
        2,
        "tracestat: --provider: this model is of claude, codex; name one of them",
    )
    assert "provider codex" in run("forecast", "predict", two, "--provider", "codex").out


def test_a_file_that_is_no_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_text("no model")
    for name in ("m.parquet", "none.parquet"):
        ran = run("forecast", "predict", tmp_path / name)
        assert (ran.code, ran.out) == (1, "")
        assert name in ran.err
        assert len(ran.err.splitlines()) == 1


def test_the_model_is_never_written_over(run: Run, path: Path) -> None:
    before = path.read_bytes()
    assert run("forecast", "predict", path, "-o", path).code == 2
    assert path.read_bytes() == before
