"""``tracestat deadlines`` on the bundled sample and on the real trace."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


def test_tables_fit_80_columns_and_say_they_are_synthetic(run: Run) -> None:
    ran = run("deadlines")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Deadlines of pauses, by provider")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "by status" in ran.out


def test_modes_are_said_in_the_document(run: Run) -> None:
    document = json.loads(run("deadlines", "--json", "--quiet").out)
    assert document["schema"] == "tracestat.deadlines/1"
    assert [(g["key"]["provider"], g["mode"]) for g in document["groups"]] == [
        ("claude", "scan"),
        ("codex", "status"),
        ("codex", "scan"),
    ]


def test_answers_are_reproducible_to_the_byte(run: Run) -> None:
    assert run("deadlines", "--json", "--quiet").out == run("deadlines", "--json", "--quiet").out


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_hold_a_row_per_atom(run: Run, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"d.{ending}"
    assert run("deadlines", "--mode", "status", "-o", path, "--quiet").code == 0
    frame = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
    assert frame["seconds"].to_list() == [1, 5, 10, 30]
    assert {"mass", "mass_low", "share_high", "label", "mode", "synthetic"} <= set(frame.columns)


@pytest.mark.full
def test_chart(run: Run, tmp_path: Path) -> None:
    assert run("deadlines", "--chart", tmp_path / "d.svg", "--quiet").code == 0
    drawn = (tmp_path / "d.svg").read_text()
    assert "harness" in drawn
    assert "hazard, per second" in drawn


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mode", "exact"], "--mode"),
        (["--by", "end_kind"], "--by end_kind"),
        (["--unit", "pause", "--clock", "internal"], "--clock internal"),
        (["--where", "end_kind = 'deadline'"], "end_kind"),
    ],
)
def test_wrong_choices_are_one_line(run: Run, arguments: list[str], words: str) -> None:
    ran = run("deadlines", *arguments, "--quiet")
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert words in ran.err


def test_the_real_trace(run: Run, real_trace: Path) -> None:
    ran = run("deadlines", real_trace, "--quiet")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    for part in ("11.1 % [", "29.98 to 30.58 s", "1.151 to 1.200 s", "local (8)", "96.1 %"):
        assert part in ran.out, part
    assert "…" not in ran.out  # no name is cut
