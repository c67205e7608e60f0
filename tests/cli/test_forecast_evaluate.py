"""``tracestat forecast evaluate`` end to end."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run

FEW = ("--split", "time", "--keys", "tool_class,developer", "--where", "provider = 'codex'", "--quiet")


def test_sample_by_both_splits(run: Run, tmp_path: Path) -> None:
    parquet = tmp_path / "e.parquet"
    ran = run("forecast", "evaluate", "--keys", "tool_class,developer", "-o", parquet)
    assert ran.code == 0
    assert "reading the bundled sample" in ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "SYNTHETIC: Forecasts of pauses, judged by rows they have not seen"
    assert max(map(len, lines)) <= 80
    titles = [line for line in lines if line.startswith("SYNTHETIC: ")]
    for words in ("Headline", "Methods", "Ours against each baseline"):
        assert sum(words in title for title in titles) == 4
    for words in ("Ours by the time already waited", "Calibration of ours", "Order of return", "In short"):
        assert sum(words in title for title in titles) == 1
    assert "published for Claude: 27 to 37 %" in ran.out
    frame = pl.read_parquet(parquet)
    assert frame["synthetic"].all()
    assert set(frame["split"]) == {"time", "developer"}
    assert frame.filter((pl.col("part") == "headline") & pl.col("value").is_null()).is_empty()


@pytest.mark.full
def test_json_is_the_same_twice(run: Run) -> None:
    one, two = (run("forecast", "evaluate", *FEW, "--json").out for _ in range(2))
    assert one == two
    document = json.loads(one)
    assert document["schema"] == "tracestat.forecast_evaluate/1"
    assert document["paths"] == [["tool_class", "developer"]]
    assert document["split"] == "time"
    assert list(document["headline"]["upper_quantile_cut"]["provider"]) == ["codex"]
    assert {m["split"] for m in document["methods"]} == {"time"}


@pytest.mark.full
def test_csv_and_chart(run: Run, tmp_path: Path) -> None:
    chart = tmp_path / "e.svg"
    assert run("forecast", "evaluate", *FEW, "-o", tmp_path / "e.csv", "--chart", chart).code == 0
    drawn = chart.read_text(encoding="utf-8")
    assert "SYNTHETIC: How well the end of a pause is forecast" in drawn
    assert "codex, time split" in drawn
    frame = pl.read_csv(tmp_path / "e.csv", infer_schema_length=None)
    assert frame.filter(pl.col("part") == "loss")["method"].n_unique() == 15


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--split", "random"], "random"),
        (["--keys", "end_kind"], "--keys end_kind"),
        (["--keys", "seconds"], "--keys seconds"),
        (["--keys", "last_returned_tool"], "--keys last_returned_tool"),
        (["--keys", "provider"], "--keys provider"),
        (["--draws", "-1"], "--draws"),
        (["--where", "seconds > 1"], "seconds"),
        (["--chart", "x.txt"], "--chart"),
        (["none.duckdb"], "none.duckdb"),
    ],
)
def test_wrong_use_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    ran = run("forecast", "evaluate", "--quiet", *arguments)
    assert ran.code in (1, 2)
    assert (ran.code == 1) == (arguments == ["none.duckdb"])
    assert ran.out == ""
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
