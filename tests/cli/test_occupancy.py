"""``tracestat occupancy`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


def test_help_states_what_it_takes(run: Run) -> None:
    ran = run("occupancy", "--help")
    assert ran.code == 0
    assert max(map(len, ran.out.partition("Example:")[0].splitlines())) <= 80
    text = " ".join(ran.out.split())
    for option in ("--agents", "--hardware", "--human-gap", "--scale-context", "--by", "--where", "--chart", "--json"):
        assert option in text
    assert "\n  occupancy " in run("--help").out


def test_tables_and_files(run: Run, tmp_path: Path) -> None:
    ran = run("occupancy", "--agents", "12", "-o", tmp_path / "o.parquet", "--chart", tmp_path / "o.svg")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Paused caches of 12 agents, by provider")
    assert max(map(len, ran.out.splitlines())) <= 80
    frame = pl.read_parquet(tmp_path / "o.parquet")
    assert frame.select("provider", "rows").unique().height == 6
    assert "SYNTHETIC: Tokens held by paused caches" in (tmp_path / "o.svg").read_text()


@pytest.mark.full
def test_json_is_one_document(run: Run) -> None:
    options = ("--agents", "3", "--by", "none", "--human-gap", "cap:60", "--scale-context", "32768")
    ran = run("occupancy", *options, "--json", "--quiet")
    document = json.loads(ran.out)
    assert ran.err == ""
    assert [group["key"] for group in document["groups"]] == [{"rows": r} for r in ("tool", "human", "all")]
    assert (document["agents"], document["human_gap"]) == (3, "cap:60")
    assert document["context_scale"] < 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--agents"),
        (("--agents", "0"), "--agents"),
        (("--agents", "200000"), "--agents 200000: give 1 to 100,000"),
        (("--agents", "4", "--hardware", "none-such"), "none-such"),
        (("--agents", "4", "--human-gap", "cap"), "--human-gap cap: give cap:SECONDS"),
        (("--agents", "4", "--by", "tool_class"), "--by tool_class: whole sessions are grouped"),
    ],
)
def test_usage_errors_are_one_line(run: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = run("occupancy", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
