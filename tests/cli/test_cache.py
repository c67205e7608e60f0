from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def trace(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small trace, and a cache of its own."""
    path = tmp_path / "small.jsonl"
    assert run("synth", "-o", path, "--sessions", "3", "--quiet").code == 0
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "cache"))
    return path


def test_empty_cache_is_no_error(run: Run, trace: Path) -> None:
    for command in ("list", "clear"):
        ran = run("cache", command)
        assert (ran.code, ran.err) == (0, "")
        assert "no store" in ran.out
        assert json.loads(run("cache", command, "--json").out)["files"] == []


def test_reading_a_trace_puts_one_store_into_the_cache(run: Run, trace: Path) -> None:
    first = run("summary", trace, "--json").out
    assert "1 store, " in run("cache", "list").out
    assert "small.jsonl" in run("cache", "list").out
    [file] = json.loads(run("cache", "list", "--json").out)["files"]
    assert file["source"] == "small.jsonl"
    assert file["path"].endswith(".duckdb")
    assert file["bytes"] > 0
    assert json.loads(run("summary", trace, "--json").out)["trace"] == json.loads(first)["trace"]
    assert len(json.loads(run("cache", "list", "--json").out)["files"]) == 1


@pytest.mark.full
def test_clear_removes_what_it_lists_and_leaves_the_trace(run: Run, trace: Path, tmp_path: Path) -> None:
    run("keys", trace)
    listed = json.loads(run("cache", "list", "--json").out)["files"]
    gone = json.loads(run("cache", "clear", "--json").out)["files"]
    assert [file["path"] for file in gone] == [file["path"] for file in listed]
    assert not list((tmp_path / "cache").glob("*.duckdb"))
    assert trace.exists()
    assert run("keys", trace).code == 0


def test_cache_that_cannot_be_made_is_one_line(run: Run, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_CACHE", str(trace / "below a file"))
    for arguments in (["cache", "list"], ["keys", trace]):
        ran = run(*arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert "TRACESTAT_CACHE" in ran.err
