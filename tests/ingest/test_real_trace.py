"""The real trace: the counts that TraceLab's own code gives, and nothing lost of a damaged copy."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from tests.ingest.helpers import tables
from tracestat.ingest import ingest
from tracestat.store import open_store


def test_counts(real_trace: Path, tmp_path: Path) -> None:
    report = ingest([real_trace], tmp_path / "out.duckdb")
    assert report.tables == {"rounds": 29_916, "tool_calls": 35_705, "timing_events": 111_689}
    assert report.rejected == 0
    with open_store(tmp_path / "out.duckdb") as trace:
        sessions = trace.sql('SELECT count(DISTINCT session_id), count(DISTINCT "user") FROM rounds').row(0)
        assert sessions == (545, 37)
        assert trace.sql("SELECT count(*) FROM tool_calls WHERE result_at IS NULL").item() == 73
        by_provider = trace.sql("SELECT provider, count(*) FROM rounds GROUP BY ALL ORDER BY ALL").rows()
        assert by_provider == [("claude", 25_649), ("codex", 4_267)]
        odd = "SELECT count(*) FROM rounds WHERE input_tokens_total <> prefix_tokens + newly_append_tokens"
        assert trace.sql(odd).item() == 0
        assert trace.sql("SELECT count(*) FROM calls").item() == 35_705


@pytest.mark.full
def test_a_damaged_copy(real_trace: Path, tmp_path: Path) -> None:
    content = bytearray(gzip.decompress(real_trace.read_bytes())[:4_000_000])
    number = random.Random(0)
    for _ in range(200):
        content[number.randrange(len(content))] = number.randrange(256)
    (tmp_path / "damaged").write_bytes(content)
    (said,) = ingest([tmp_path / "damaged"], tmp_path / "out.duckdb").sources
    assert said.rows == said.kept + said.rejected
    assert said.rows - 200 <= content.count(b"\n") <= said.rows + 200
    assert said.rejected + said.calls_rejected + said.events_rejected > 20
    assert said.kept > 1500
    assert len(tables(tmp_path / "out.duckdb")["rounds"]) == said.kept
