from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def trace(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    assert run("synth", "-o", path, "--sessions", "4", "--seed", "1", "--quiet").code == 0
    return path


def test_report_counts_every_row(run: Run, trace: Path, tmp_path: Path) -> None:
    lines = trace.read_text(encoding="utf-8").splitlines()
    ran = run("ingest", trace, "-o", tmp_path / "a.duckdb", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    [source] = document["sources"]
    assert source["path"] == "small.jsonl"
    assert source["rows"] == source["new"] == document["tables"]["rounds"] == len(lines)
    assert source["rejected"] == source["duplicates"] == 0
    assert document["synthetic"] is True
    assert document["trace"]["path"] == "a.duckdb"


def test_table_shows_the_sources(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = run("ingest", trace, "-o", tmp_path / "a.duckdb")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: a.duckdb: ")
    assert "small.jsonl" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    again = run("ingest", trace, "-o", tmp_path / "a.duckdb")
    assert again.code == 0
    assert "already held all of it" in again.out


@pytest.mark.full
def test_rejects_are_counted_and_are_no_failure(run: Run, trace: Path, tmp_path: Path) -> None:
    with trace.open("a", encoding="utf-8") as file:
        file.write('{"broken\n')
    ran = run("ingest", trace, "-o", tmp_path / "a.duckdb", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["sources"][0]["rejected"] == 1
    assert "table rejects: 1 line" in run("ingest", trace, "-o", tmp_path / "b.duckdb").out


def test_mostly_broken_source_is_an_error_unless_forced(run: Run, trace: Path, tmp_path: Path) -> None:
    good = trace.read_text(encoding="utf-8").splitlines()
    trace.write_text("\n".join([*good, *["{"] * (len(good) + 5)]) + "\n", encoding="utf-8")
    ran = run("ingest", trace, "-o", tmp_path / "a.duckdb", "--quiet")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("tracestat: small.jsonl: ")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "a.duckdb").exists()
    assert run("ingest", trace, "-o", tmp_path / "a.duckdb", "--force", "--quiet").code == 0


@pytest.mark.parametrize("content", ["", "hello\n", "{}\n"])
def test_what_is_no_trace_is_one_line(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "no.jsonl").write_text(content, encoding="utf-8")
    ran = run("ingest", tmp_path / "no.jsonl", "-o", tmp_path / "a.duckdb")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("tracestat: no.jsonl")
    assert ran.err.count("\n") == 1


def test_unwritable_store_is_one_line(run: Run, trace: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "none" / "a.duckdb", tmp_path):
        ran = run("ingest", trace, "-o", target)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1
        assert "internal error" not in ran.err


@pytest.mark.full
def test_union_of_two_sources(run: Run, trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    run("synth", "-o", other, "--sessions", "4", "--seed", "2", "--quiet")
    run("ingest", trace, "-o", tmp_path / "a.duckdb")
    document = json.loads(run("ingest", other, "-o", tmp_path / "a.duckdb", "--json").out)
    assert sorted(source["path"] for source in document["sources"]) == ["other.jsonl", "small.jsonl"]
    assert document["tables"]["rounds"] == sum(source["rows"] for source in document["sources"])


def test_a_source_is_not_overwritten_and_a_store_may_be_its_own(run: Run, trace: Path, tmp_path: Path) -> None:
    before = trace.read_bytes()
    ran = run("ingest", trace, "-o", trace)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tracestat: -o small.jsonl: this file is read by the command; write to another one\n"
    assert trace.read_bytes() == before
    store = tmp_path / "a.duckdb"
    assert run("ingest", trace, "-o", store, "--quiet").code == 0
    assert run("ingest", store, trace, "-o", store, "--quiet").code == 0
