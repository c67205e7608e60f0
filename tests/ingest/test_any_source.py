"""Whatever a file holds, ingest ends with a store in which every row is accounted for, or with one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.helpers import lines, sample, tracelab_database
from tracestat.errors import TracestatError
from tracestat.ingest import ingest
from tracestat.store import open_store

CONTENT = lines(sample() * 3)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    out = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(out) - 1)))
        size = draw(st.integers(0, 60))
        out[at : at + size] = draw(st.binary(max_size=40))
    return bytes(out)


def check(source: Path, folder: Path) -> None:
    out = folder / "out.duckdb"
    out.unlink(missing_ok=True)
    try:
        report = ingest([source], out, force=True)
    except TracestatError as error:
        line = str(error)
        report = None
    if report is None:
        assert "\n" not in line
        assert not out.exists()
        return
    (said,) = report.sources
    assert said.rows == said.kept + said.rejected
    with open_store(out) as trace:
        parts = dict(trace.sql("SELECT part, count(*) FROM rejects GROUP BY ALL").rows())
        assert trace.counts["rounds"] == said.kept
        assert parts.get("round", 0) == said.rejected
        assert parts.get("call", 0) == said.calls_rejected
        assert parts.get("event", 0) == said.events_rejected
        assert trace.sql("SELECT rows_read, rows_kept, rows_rejected FROM sources").row(0) == (
            said.rows,
            said.kept,
            said.rejected,
        )
        orphans = "SELECT count(*) FROM tool_calls ANTI JOIN rounds USING (round_pk)"
        assert trace.sql(orphans).item() == 0


@settings(max_examples=10, deadline=None)
@given(damaged(CONTENT))
@pytest.mark.full
def test_json_lines(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "source").write_bytes(content)
    check(folder / "source", folder)


@settings(max_examples=10, deadline=None)
@given(st.one_of(damaged(gzip.compress(CONTENT)), damaged(pa.compress(CONTENT, "zstd", asbytes=True))))
def test_compressed(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "source").write_bytes(content)
    check(folder / "source", folder)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tracelab_database(tmp_path_factory.mktemp("db") / "a.duckdb", sample()).read_bytes()


@pytest.mark.parametrize("cut", [11, 12, 4096, 12_288, 100_000, 400_000])
def test_a_cut_database(cut: int, database: bytes, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(database[:cut])
    check(tmp_path / "source", tmp_path)
