"""``tracestat residual`` on the bundled sample and on the real trace."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


def test_tables_fit_80_columns_and_say_they_are_synthetic(run: Run) -> None:
    ran = run("residual")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Residual life of pauses, by provider")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "claude / tool" in ran.out


def test_elapsed_and_window_are_taken(run: Run) -> None:
    document = json.loads(run("residual", "--elapsed", "25,4", "--window", "60", "--json", "--quiet").out)
    assert document["schema"] == "tracestat.residual/1"
    for group in document["groups"]:
        assert group["window"] == 60
        assert [point["elapsed"] for point in group["at"]] == [4, 25]
        assert group["key"]["rows"] in ("tool", "all")


def test_answers_are_reproducible_to_the_byte(run: Run) -> None:
    assert run("residual", "--json", "--quiet").out == run("residual", "--json", "--quiet").out


def test_rows_chosen_are_one_group(run: Run) -> None:
    document = json.loads(run("residual", "--by", "none", "--rows", "human", "--json", "--quiet").out)
    assert [group["key"] for group in document["groups"]] == [{"rows": "human"}]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_hold_the_asked_times_and_the_curve(run: Run, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    assert run("residual", "-o", path, "--quiet").code == 0
    frame = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
    assert set(frame["part"]) == {"at", "curve"}
    asked = frame.filter((pl.col("part") == "at") & (pl.col("provider") == "claude") & (pl.col("rows") == "tool"))
    assert asked["elapsed"].to_list() == [0, 1, 4, 25, 146, 600]
    assert {"mean_session_low", "median_developer_high", "p90", "hill", "synthetic"} <= set(frame.columns)


def test_json_file_and_chart(run: Run, tmp_path: Path) -> None:
    assert run("residual", "-o", tmp_path / "r.json", "--chart", tmp_path / "r.svg", "--quiet").code == 0
    assert json.loads((tmp_path / "r.json").read_text())["groups"][0]["curve"]
    assert "remaining time" in (tmp_path / "r.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--elapsed", "soon"], "--elapsed soon"),
        (["--elapsed", "4,-1"], "--elapsed 4,-1"),
        (["--elapsed", "nan"], "--elapsed nan"),
        (["--elapsed", "1e99"], "--elapsed"),
        (["--elapsed", ",".join(map(str, range(101)))], "1 to 100 times"),
        (["--window", "0"], "--window 0"),
        (["--window", "nan"], "--window nan"),
        (["--by", "end_kind"], "end_kind"),
        (["--definition", "tracelab", "--rows", "tool"], "--rows tool"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(run: Run, arguments: list[str], words: str) -> None:
    ran = run("residual", "--quiet", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_real_trace(run: Run, real_trace: Path) -> None:
    ran = run("residual", real_trace, "--elapsed", "4,25,146", "--json", "--quiet")
    [claude] = [g for g in json.loads(ran.out)["groups"] if g["key"] == {"provider": "claude", "rows": "tool"}]
    assert [round(point["mean"]["value"], 1) for point in claude["at"]] == [59.6, 193.0, 517.8]
    assert [point["n_at_risk"] for point in claude["at"]] == [4_602, 1_206, 310]
    assert max(map(len, run("residual", real_trace, "--quiet").out.splitlines())) <= 80
