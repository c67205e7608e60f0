"""``tracestat reproduce`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


def test_one_figure_as_a_table(run: Run) -> None:
    ran = run("reproduce", "--only", "article.lt1s")
    assert ran.code == 0
    assert "article.lt1s" in ran.out
    assert "70 %" in ran.out
    assert "tracestat summary --unit pause --clock wall --rows all" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "bundled sample" in ran.err


def test_json_is_one_document_and_files_hold_the_rows(run: Run, tmp_path: Path) -> None:
    out, chart = tmp_path / "r.parquet", tmp_path / "r.svg"
    ran = run("reproduce", "--only", "v1.rounds", "--json", "-o", out, "--chart", chart, "--quiet")
    assert ran.code == 0
    assert ran.err == ""
    document = json.loads(ran.out)
    assert [row["id"] for row in document["rows"]] == ["v1.rounds", "v1.rounds.claude", "v1.rounds.codex"]
    assert pl.read_parquet(out)["id"].to_list() == [row["id"] for row in document["rows"]]
    assert chart.read_text().lstrip().startswith("<svg")


def test_a_csv_holds_all_columns(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    assert run("reproduce", "--only", "article.engine", "-o", out).code == 0
    frame = pl.read_csv(out)
    assert frame["verdict"].unique().to_list() == ["cannot tell"]
    assert frame["ours"].null_count() == frame.height


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nothing"], "no published figure has an id that begins so"),
        (["--source", "rumour"], "rumour"),
        (["--top", "0"], "top"),
        (["--since", "2026-01-01"], "--since"),
        (["--only", "article.lt1s", "-o", "r.txt"], "-o"),
    ],
)
def test_wrong_options_are_refused_in_one_line(run: Run, arguments: list[str], said: str) -> None:
    ran = run("reproduce", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_a_trace_that_is_none(run: Run, tmp_path: Path) -> None:
    ran = run("reproduce", tmp_path / "missing.duckdb")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    (tmp_path / "damaged.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    ran = run("reproduce", tmp_path / "damaged.duckdb", "--quiet")
    assert ran.code == 1
    assert "Traceback" not in ran.err
