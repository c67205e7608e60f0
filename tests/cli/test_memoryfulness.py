"""``tracestat memoryfulness`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


def test_help_states_what_it_takes(run: Run) -> None:
    ran = run("memoryfulness", "--help")
    assert ran.code == 0
    assert max(map(len, ran.out.partition("Example:")[0].splitlines())) <= 80
    text = " ".join(ran.out.split())
    for option in (
        "--by",
        "--where",
        "--since",
        "--until",
        "--min-n",
        "--seed",
        "--chart",
        "--json",
        "--sort",
        "--top",
    ):
        assert option in text
    for other in ("--unit", "--clock", "--rows"):
        assert other not in text
    assert "tracestat memoryfulness" in run("memoryfulness", "--help").out
    assert "\n  memoryfulness " in run("--help").out


def test_tables_and_files(run: Run, tmp_path: Path) -> None:
    ran = run("memoryfulness", "-o", tmp_path / "m.parquet", "--chart", tmp_path / "m.svg")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Memoryfulness of programs, by provider")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "Continuum's TTL is 0 as soon as" in " ".join(ran.out.split())
    frame = pl.read_parquet(tmp_path / "m.parquet")
    assert frame.select("provider", "unit").rows() == [
        (provider, unit) for provider in ("claude", "codex") for unit in ("session", "request")
    ]
    assert "SYNTHETIC: How many rounds programs have" in (tmp_path / "m.svg").read_text()


def test_json_is_one_document(run: Run) -> None:
    ran = run("memoryfulness", "--json", "--quiet", "--by", "none", "--where", "provider = 'codex'")
    document = json.loads(ran.out)
    assert ran.err == ""
    assert [group["key"] for group in document["groups"]] == [{"unit": "session"}, {"unit": "request"}]
    assert document["groups"][1]["value"]["method"].endswith("bootstrap-t")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "tool"], "--by tool: a session or request has many of it"),
        (["--where", "tool = 'Bash'"], "--where tool: a session or request has many of it"),
        (["--unit", "call"], "--unit"),
        (["--chart", "x.txt"], "the name must end in"),
    ],
)
def test_what_it_does_not_take_is_a_usage_error(run: Run, arguments: list[str], said: str) -> None:
    ran = run("memoryfulness", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_real_trace(run: Run, real_trace: Path) -> None:
    ran = run("memoryfulness", real_trace)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "session and request differ in sign" in ran.out
