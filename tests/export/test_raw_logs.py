"""Real logs of agents, written as TraceLab rows and read back: what TraceLab has no column for survives."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.conftest import corpus_path
from tests.export.trips import assert_equal, there_and_back
from tracestat.ingest import ingest
from tracestat.store import open_store

# what each archive must hold, so that the comparison is one of these columns and not of nulls
KNOWN = {
    "raw_claude_code.tar.gz": {
        "is_subagent",
        "approval_seconds",
        "permission_mode",
        "parallel_group",
        "job_ended_at",
        "command_fingerprint",
        "asked_limit_seconds",
    },
    "raw_codex.tar.gz": {"is_subagent", "permission_mode", "command_fingerprint", "asked_limit_seconds"},
    "kvcache_tester": {"start_kind"},
}


@pytest.mark.parametrize(
    "name", [pytest.param("raw_claude_code.tar.gz", marks=pytest.mark.full), "raw_codex.tar.gz", "kvcache_tester"]
)
@pytest.mark.first_case
def test_a_store_of_logs_comes_back(name: str, tmp_path: Path) -> None:
    source = corpus_path(name)
    if source.is_file():
        with tarfile.open(source) as tar:
            tar.extractall(tmp_path / "logs", filter="data")
        source = tmp_path / "logs"
    store = tmp_path / "a.duckdb"
    ingest([source], store)
    with open_store(store) as trace:
        counts = trace.sql("SELECT count(COLUMNS(*)) FROM tool_calls").row(0, named=True)
    assert all(counts[column] for column in KNOWN[name])
    assert_equal(store, there_and_back(store))
