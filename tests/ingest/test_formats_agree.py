"""One trace in every form that it is published in gives equal tables."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.ingest.helpers import TABLES, ingested, lines, sample, tables, tracelab_database, tracelab_parquet
from tests.traces import Row, round_
from tracestat.errors import TracestatError
from tracestat.ingest import ingest
from tracestat.store import open_store

OLD_COMMAND_COLUMNS = (
    "continuation_of_tool_call_id",
    "command_status",
    "command_exit_code",
    "executables",
    "executable_parse_status",
    "executable_parse_reason",
    "command_skeleton",
)
Make = Callable[[Path, list[Row]], Path]


def plain(folder: Path, rows: list[Row]) -> Path:
    path = folder / "plain"
    path.write_bytes(lines(rows))
    return path


def without_last_newline(folder: Path, rows: list[Row]) -> Path:
    path = folder / "open end"
    path.write_bytes(lines(rows)[:-1])
    return path


def windows(folder: Path, rows: list[Row]) -> Path:
    path = folder / "windows"
    path.write_bytes(b"\xef\xbb\xbf" + lines(rows).replace(b"\n", b"\r\n"))
    return path


def one_line(folder: Path, rows: list[Row]) -> Path:
    path = folder / "one line"
    path.write_bytes(lines(rows).replace(b"\n", b" "))
    return path


def gzipped(folder: Path, rows: list[Row]) -> Path:
    path = folder / "named.jsonl"  # the name says nothing
    path.write_bytes(gzip.compress(lines(rows)))
    return path


def several_members(folder: Path, rows: list[Row]) -> Path:
    content = lines(rows)
    middle = len(content) // 2
    path = folder / "members.gz"
    path.write_bytes(gzip.compress(content[:middle]) + gzip.compress(content[middle:]) + b"\0" * 100)
    return path


def zstd(folder: Path, rows: list[Row]) -> Path:
    content = lines(rows)
    middle = len(content) // 3
    path = folder / "frames.gz"
    path.write_bytes(b"".join(pa.compress(part, "zstd", asbytes=True) for part in (content[:middle], content[middle:])))
    return path


def database(folder: Path, rows: list[Row]) -> Path:
    return tracelab_database(folder / "released.jsonl", rows)


def database_with_holes(folder: Path, rows: list[Row]) -> Path:
    return tracelab_database(folder / "holes.duckdb", rows, keys=[10 * i + 7 for i in range(len(rows))])


def database_without_event_index(folder: Path, rows: list[Row]) -> Path:
    return tracelab_database(folder / "old.duckdb", rows, leave_out=["event_index"])


def parquet(folder: Path, rows: list[Row]) -> Path:
    return tracelab_parquet(folder / "parquet", rows)


def parquet_with_uuids(folder: Path, rows: list[Row]) -> Path:
    return tracelab_parquet(folder / "uuids", rows, types={"turn_id": "UUID"})


def parquet_files(folder: Path, rows: list[Row]) -> Path:
    return tracelab_parquet(folder / "flat", rows, nested=False)


def published_folder(folder: Path, rows: list[Row]) -> Path:
    tracelab_parquet(folder / "dataset" / "data" / "v0.0.2", rows)
    (folder / "dataset" / "README.md").write_text("a data card")
    return folder / "dataset"


FORMS: list[Make] = [
    without_last_newline,
    windows,
    one_line,
    gzipped,
    several_members,
    zstd,
    database,
    database_with_holes,
    database_without_event_index,
    parquet,
    parquet_with_uuids,
    parquet_files,
    published_folder,
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("expected")
    ingest([plain(folder, sample())], folder / "expected.duckdb")
    return tables(folder / "expected.duckdb")


# other tests read these too
ELSEWHERE = (gzipped, database, parquet, parquet_files)


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=[pytest.mark.full] * (make in ELSEWHERE), id=make.__name__) for make in FORMS],
)
def test_equal_tables(make: Make, expected: Any, tmp_path: Path) -> None:
    report = ingest([make(tmp_path, sample())], tmp_path / "out.duckdb")
    assert tables(tmp_path / "out.duckdb") == expected
    (source,) = report.sources
    assert (source.rows, source.kept, source.rejected, source.note) == (4, 4, 0, None)


def test_a_build_before_the_command_columns(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "v1.duckdb", sample(), leave_out=[*OLD_COMMAND_COLUMNS, "turn_id"])
    ingest([source], tmp_path / "out.duckdb")
    with open_store(tmp_path / "out.duckdb") as trace:
        for name in OLD_COMMAND_COLUMNS:
            assert trace.sql(f"SELECT count({name}) FROM tool_calls").item() == 0
        assert trace.sql("SELECT count(turn_id) FROM rounds").item() == 0
        assert trace.counts["tool_calls"] == 4


def test_the_build_with_the_names_of_processes(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "between.duckdb", sample())
    with duckdb.connect(str(source)) as con:
        con.execute("ALTER TABLE tool_calls RENAME continuation_of_tool_call_id TO root_tool_call_id")
        con.execute("ALTER TABLE tool_calls RENAME command_status TO process_state")
        con.execute("ALTER TABLE tool_calls RENAME command_exit_code TO process_exit_code")
        con.execute("ALTER TABLE tool_calls ADD COLUMN process_session_id BIGINT")
        con.execute("UPDATE tool_calls SET process_state = 'exited' WHERE process_state = 'finished'")
        con.execute("UPDATE tool_calls SET root_tool_call_id = tool_call_id WHERE tool_call_id = 'call_3'")
    ingest([source], tmp_path / "out.duckdb")
    ingest([plain(tmp_path, sample())], tmp_path / "expected.duckdb")
    assert tables(tmp_path / "out.duckdb") == tables(tmp_path / "expected.duckdb")


def test_rows_out_of_order_are_numbered_by_their_key(tmp_path: Path) -> None:
    rows = sample()
    source = tracelab_database(tmp_path / "a.duckdb", rows[::-1], keys=[4, 3, 2, 1])
    ingest([source], tmp_path / "out.duckdb")
    ingest([plain(tmp_path, rows)], tmp_path / "expected.duckdb")
    out, expected = tables(tmp_path / "out.duckdb"), tables(tmp_path / "expected.duckdb")
    for name in TABLES:
        assert sorted(out[name], key=repr) == sorted(expected[name], key=repr)


def test_a_database_is_not_written_to(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", sample())
    before = source.read_bytes()
    ingest([source], tmp_path / "out.duckdb")
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.duckdb", "out.duckdb"]


def test_what_a_database_has_in_its_log_only(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", sample())
    ingest([source], tmp_path / "out.duckdb")
    code = """
import duckdb, os, sys
con = duckdb.connect(sys.argv[1])
con.execute("DELETE FROM tool_calls")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code, source], check=True)
    before = source.with_name("a.duckdb.wal").read_bytes()
    report = ingest([source], tmp_path / "out.duckdb")
    assert report.sources[0].state == "refreshed"
    assert report.tables["tool_calls"] == 0
    assert source.with_name("a.duckdb.wal").read_bytes() == before


def test_three_parquet_files_named_one_by_one(tmp_path: Path) -> None:
    folder = tracelab_parquet(tmp_path / "flat", sample(), nested=False)
    ingest([folder / f"{table}.parquet" for table in TABLES], tmp_path / "out.duckdb")
    ingest([plain(tmp_path, sample())], tmp_path / "expected.duckdb")
    assert tables(tmp_path / "out.duckdb") == tables(tmp_path / "expected.duckdb")


def test_a_folder_with_the_same_trace_in_three_forms_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    database(folder, sample())
    gzipped(folder, sample())
    parquet(folder, sample())
    report = ingest([folder], tmp_path / "out.duckdb")
    assert [source.state for source in report.sources] == ["new", "duplicate", "duplicate"]
    assert report.tables["rounds"] == 4
    ingest([plain(tmp_path, sample())], tmp_path / "expected.duckdb")
    assert tables(tmp_path / "out.duckdb") == tables(tmp_path / "expected.duckdb")


def test_a_folder_with_several_traces(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.jsonl").write_bytes(lines([round_("b", 0)]))
    (folder / "a.jsonl").write_bytes(lines([round_("a", 0)]))
    (folder / ".hidden.jsonl").write_bytes(lines([round_("h", 0)]))
    (folder / "notes.txt").write_text("nothing to see")
    (folder / "other.json").write_text('{"some": "thing"}\n')
    report = ingest([folder], tmp_path / "out.duckdb")
    assert [source.path for source in report.sources] == ["a.jsonl", "b.jsonl"]
    assert [row[4] for row in tables(tmp_path / "out.duckdb")["rounds"]] == ["claude:a", "claude:b"]


def test_two_published_versions_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    for version in ("v0.0.1", "v0.0.2"):
        tracelab_parquet(tmp_path / "data" / version, sample())
    with pytest.raises(TracestatError, match=r"data holds several Parquet traces \(v0\.0\.1, v0\.0\.2\): name one"):
        ingest([tmp_path / "data"], tmp_path / "out.duckdb")


def test_report_and_store_say_the_same(tmp_path: Path) -> None:
    report, out = ingested(tmp_path, lines(sample()))
    with open_store(out) as trace:
        assert {**report.tables, "rejected": report.rejected} == trace.counts
    assert report.to_dict()["tables"] == {"rounds": 4, "tool_calls": 4, "timing_events": 10}
