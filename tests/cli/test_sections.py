"""``tracestat summary --section`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize("section", ["sessions", "cache", "commands"])
@pytest.mark.first_case
def test_tables_json_and_files(run: Run, tmp_path: Path, section: str) -> None:
    out, chart = tmp_path / "numbers.csv", tmp_path / "chart.svg"
    drawn = ["--chart", chart] if section == "sessions" else []
    ran = run("summary", "--section", section, "--json", "-o", out, *drawn, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["schema"] == f"tracestat.summary_{section}/1"
    assert [group["key"] for group in document["groups"]] == [{"provider": "claude"}, {"provider": "codex"}, {}]
    header = out.read_text().splitlines()[0]
    assert header == "provider,name,item,rule,unit,value,low,high,n,synthetic"
    assert not drawn or "<svg" in chart.read_text()


def test_without_section_summary_is_as_it_was(run: Run) -> None:
    assert json.loads(run("summary", "--json").out)["schema"] == "tracestat.summary/1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--unit", "call"], "--unit call: not with --section cache"),
        (["--clock", "wall"], "--clock wall: not with --section cache"),
        (["--rows", "all"], "--rows all: not with --section cache"),
        (["--definition", "tracelab"], "it shows both definitions"),
        (["--by", "tool"], "--by tool: whole sessions are grouped"),
        (["--where", "tool = 'Bash'"], "--where tool: whole sessions are chosen"),
        (["--section", "calls"], "--section"),
    ],
)
def test_what_does_not_go_with_a_section(run: Run, arguments: list[str], words: str) -> None:
    ran = run("summary", "--section", "cache", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_real_trace(run: Run, real_trace: Path) -> None:
    ran = run("summary", real_trace, "--section", "cache", "--by", "none", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("hit rate, of tokens") and "96.4 % [" in line for line in lines)
    assert "deployed: as logged, like a time-out of" in ran.out
