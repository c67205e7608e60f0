from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_document_lists_both_files(run: Run, tmp_path: Path) -> None:
    ran = run("synth", "-o", tmp_path / "a.jsonl.gz", "--sessions", "4", "--developers", "2", "--seed", "9", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert (document["synthetic"], document["seed"]) == (True, 9)
    assert [file["path"] for file in document["files"]] == ["a.jsonl.gz", "a.truth.json"]
    for file in document["files"]:
        content = (tmp_path / file["path"]).read_bytes()
        assert file["bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    rows = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).count(b"\n")
    assert document["files"][0]["rows"] == document["trace"]["rounds"] == rows
    truth = json.loads((tmp_path / "a.truth.json").read_text(encoding="utf-8"))
    assert truth["generator"]["sessions"] == 4
    assert truth["generator"]["developers"] == 2


@pytest.mark.full
def test_fingerprint_is_that_of_the_store_made_of_it(run: Run, tmp_path: Path) -> None:
    made = json.loads(run("synth", "-o", tmp_path / "a.jsonl", "--sessions", "3", "--json").out)
    read = json.loads(run("ingest", tmp_path / "a.jsonl", "-o", tmp_path / "a.duckdb", "--json").out)
    assert made["trace"]["fingerprint"] == read["trace"]["fingerprint"]
    assert made["trace"]["rounds"] == read["trace"]["rounds"]
    assert made["trace"]["tool_calls"] == read["trace"]["tool_calls"]


def test_same_seed_gives_the_same_file(run: Run, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        assert run("synth", "-o", tmp_path / name, "--sessions", "3", "--seed", "5").code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_table_says_synthetic(run: Run, tmp_path: Path) -> None:
    ran = run("synth", "-o", tmp_path / "a.jsonl", "--sessions", "3")
    assert ran.out.startswith("SYNTHETIC: 3 sessions, ")


def test_wrong_requests_are_one_line(run: Run, tmp_path: Path) -> None:
    for arguments, code in (
        (["-o", tmp_path / "a.csv"], 2),
        (["-o", tmp_path / "none" / "a.jsonl"], 1),
        (["-o", tmp_path / "a.jsonl", "--sessions", "0"], 2),
        (["-o", tmp_path / "a.jsonl", "--sessions", "2", "--developers", "3"], 2),
    ):
        ran = run("synth", *arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
