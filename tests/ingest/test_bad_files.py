"""A file that is nothing, damaged or out of reach gets one clear line, and what can be read of it is read."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.ingest.helpers import TABLES, lines, rejects, sample, tables, tracelab_database, tracelab_parquet
from tests.traces import round_
from tracestat.errors import TracestatError, UsageError
from tracestat.ingest import ingest
from tracestat.store import open_store

ROWS = [round_("s", i, text=float(i)) for i in range(2000)]


def refused(source: Path, out: Path) -> str:
    """Ingest what cannot be; give the one line that says why."""
    with pytest.raises(TracestatError) as caught:
        ingest([source], out)
    text = str(caught.value)
    assert "\n" not in text
    assert source.name in text
    assert str(source.parent) not in text
    assert not out.exists()
    return text


CONTENTS: list[tuple[bytes, str]] = [
    (b"", "an empty file"),
    (b"\n\n", "blank lines"),
    (b"hello\nworld\n", "text that is not JSON"),
    (b"5\n", "JSON that is no object"),
    (b'{"type": "user", "sessionId": "s"}\n', "JSON, but no rounds of TraceLab"),
    (b"%PDF-1.7\n1 0 obj\n<< >>\nendobj\n", "a PDF file"),
    (b"[1, 2]\n", "JSON that is no object"),
    (b"\x7fELF\0\0\0\0\0\0\0\0\0\0", "binary data"),
    (b"PK\x03\x04 and so on", "a zip archive: unpack it first"),
    (b"SQLite format 3\0 and so on", "an SQLite file"),
    (b"\xff\xfe{\0}\0", "text in UTF-16: convert it to UTF-8 first"),
    (gzip.compress(b""), "a gzip file of blank lines"),
    (gzip.compress(b"hello\n"), "a gzip file of text that is not JSON"),
    (gzip.compress(b"\0" * 8 + b"DUCK" + b"\0" * 100), "a gzip file of other files: unpack it first"),
    (gzip.compress(lines(sample()))[:40], "no line can be read: the gzip stream is cut off"),
    (b"\x1f\x8b\x08\x00 garbage that is no stream", "no line can be read: the gzip stream is damaged"),
    (pa.compress(lines(sample()), "zstd", asbytes=True)[:20], "no line can be read: the zstd stream is damaged or cut"),
    (b"PAR1 and so on PAR1", "a damaged Parquet file"),
    (b"\0" * 8 + b"DUCK" + b"\0" * 5000, "a DuckDB file that cannot be read"),
]


@pytest.mark.parametrize(("content", "what"), CONTENTS, ids=range(len(CONTENTS)))
def test_what_is_found_and_what_is_accepted(content: bytes, what: str, tmp_path: Path) -> None:
    source = tmp_path / "some.jsonl"
    source.write_bytes(content)
    text = refused(source, tmp_path / "out.duckdb")
    assert what in text
    assert "accepted are TraceLab's .jsonl (plain, gzip or zstd), .duckdb and Parquet folder" in text


def test_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.jsonl", tmp_path / "out.duckdb") == "no.jsonl: no such file or folder"


def test_no_source_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ingest([], tmp_path / "out.duckdb")


def test_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in refused(tmp_path / "pipe", tmp_path / "out.duckdb")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(lines(sample()))
    source.chmod(0)
    assert "Permission denied" in refused(source, tmp_path / "out.duckdb")


def test_a_folder_with_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "a folder with no trace in it" in refused(folder, tmp_path / "out.duckdb")
    (folder / "notes.txt").write_text("notes")
    assert "a folder with no trace in it" in refused(folder, tmp_path / "out.duckdb")


def test_a_damaged_trace_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "good.jsonl").write_bytes(lines(sample()))
    (tmp_path / "folder" / "bad.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 5000)
    with pytest.raises(TracestatError, match=r"bad\.duckdb: a DuckDB file that cannot be read"):
        ingest([tmp_path / "folder"], tmp_path / "out.duckdb")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_cut_stream_gives_what_comes_before_the_cut(kind: str, tmp_path: Path) -> None:
    content = lines(ROWS)
    packed = gzip.compress(content) if kind == "gzip" else pa.compress(content, "zstd", asbytes=True)
    source = tmp_path / "cut"
    source.write_bytes(packed[: len(packed) * 2 // 3])
    report = ingest([source], tmp_path / "out.duckdb")
    (said,) = report.sources
    assert 0 < said.kept < len(ROWS)
    assert said.rows == said.kept + said.rejected
    assert said.rejected <= 1
    assert "cut off" in (said.note or "")
    assert "what was before that is read" in (said.note or "")
    with open_store(tmp_path / "out.duckdb") as trace:
        assert trace.sql("SELECT max(round_index) FROM rounds").item() == said.kept - 1
        assert trace.sql("SELECT note FROM sources").item() == said.note


def test_every_byte_before_the_cut_of_a_gzip_is_read(tmp_path: Path) -> None:
    content = lines(ROWS[:300])
    packed = gzip.compress(content)
    source = tmp_path / "cut.gz"
    for length in (len(packed) - 8, len(packed) - 1):  # the checksum alone is missing
        source.write_bytes(packed[:length])
        report = ingest([source], tmp_path / f"{length}.duckdb")
        assert report.sources[0].kept == 300
        assert report.sources[0].note


def test_a_damaged_stream_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(lines(ROWS)))
    packed[-8] ^= 0xFF  # the checksum
    source = tmp_path / "damaged.gz"
    source.write_bytes(packed)
    (said,) = ingest([source], tmp_path / "out.duckdb").sources
    assert (said.kept, said.rejected) == (len(ROWS), 0)
    assert "the gzip stream is damaged" in (said.note or "")


def test_what_follows_a_gzip_stream_is_not_taken_for_a_part_of_it(tmp_path: Path) -> None:
    source = tmp_path / "more.gz"
    source.write_bytes(gzip.compress(lines(ROWS[:10])) + b"and some text")
    (said,) = ingest([source], tmp_path / "out.duckdb").sources
    assert said.kept == 10
    assert "damaged" in (said.note or "")


def test_a_duckdb_file_that_is_no_trace(tmp_path: Path) -> None:
    source = tmp_path / "a.duckdb"
    with duckdb.connect(str(source)) as con:
        con.execute("CREATE TABLE rounds (round_pk BIGINT, session_id VARCHAR, round_index BIGINT)")
    assert "a DuckDB file without the table tool_calls" in refused(source, tmp_path / "out.duckdb")
    with duckdb.connect(str(source)) as con:
        con.execute("CREATE TABLE tool_calls (round_pk BIGINT, emitted_at TIMESTAMP)")
    assert "without the column tool_call_id in its table tool_calls" in refused(source, tmp_path / "out.duckdb")


def test_a_view_is_no_table(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", sample())
    with duckdb.connect(str(source)) as con:
        con.execute("ALTER TABLE rounds RENAME TO hidden")
        con.execute("CREATE VIEW rounds AS SELECT * FROM hidden")
    assert "without the table rounds" in refused(source, tmp_path / "out.duckdb")


def test_a_column_of_another_type(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", sample(), types={"model": "BLOB"})
    text = refused(source, tmp_path / "out.duckdb")
    assert text == "a.duckdb: column model is binary, but text is needed: is this a TraceLab file?"


def test_a_truncated_duckdb_file(tmp_path: Path) -> None:
    whole = tracelab_database(tmp_path / "whole.duckdb", sample()).read_bytes()
    source = tmp_path / "cut.duckdb"
    source.write_bytes(whole[: len(whole) // 2])
    assert "DuckDB file" in refused(source, tmp_path / "out.duckdb")


def test_rows_of_a_database_that_cannot_be_rows(tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", sample(), types={"output_tokens": "DOUBLE"})
    with duckdb.connect(str(source)) as con:
        con.execute("UPDATE rounds SET output_tokens = 1.5 WHERE round_pk = 2")
        con.execute(
            "INSERT INTO rounds (round_pk, provider, session_id, round_index, round_id) VALUES (1, 'c', 's', 0, 'r')"
        )
        con.execute(
            "INSERT INTO rounds (round_pk, provider, session_id, round_index, round_id) VALUES (NULL, 'c', 's', 0, 'r')"
        )
        con.execute("UPDATE tool_calls SET emitted_at = NULL WHERE tool_call_id = 'call_2'")
        con.execute(
            "INSERT INTO tool_calls (round_pk, tool_index, tool_call_id, emitted_at) "
            "VALUES (99, 3, 'x', now()::TIMESTAMP)"
        )
        con.execute("UPDATE timing_events SET \"timestamp\" = 'infinity' WHERE round_pk = 4 AND event_index = 1")
    report = ingest([source], tmp_path / "out.duckdb")
    assert rejects(tmp_path / "out.duckdb") == [
        (1, "call", 1, "missing emitted_at"),
        (1, "round", None, "a round_pk that an earlier row has"),
        (2, "round", None, "output_tokens is not a whole number"),
        (4, "event", 0, "timestamp is not a time"),
        (99, "call", 3, "no round has its round_pk"),
        (None, "round", None, "missing round_pk"),
    ]
    (said,) = report.sources
    assert (said.rows, said.kept, said.rejected, said.calls_rejected, said.events_rejected) == (6, 3, 3, 2, 1)
    # the events of round 2 go with it
    assert {row[0] for row in tables(tmp_path / "out.duckdb")["timing_events"]} == {1, 3, 4}


def test_parquet_with_a_table_missing(tmp_path: Path) -> None:
    folder = tracelab_parquet(tmp_path / "parquet", sample(), nested=False)
    (folder / "timing_events.parquet").unlink()
    text = refused(folder, tmp_path / "out.duckdb")
    assert "Parquet without timing_events: rounds, tool_calls and timing_events are all needed" in text


def test_parquet_that_is_something_else(tmp_path: Path) -> None:
    source = tmp_path / "other.parquet"
    pa.parquet.write_table(pa.table({"a": [1]}), source)
    assert "a Parquet file that is no table of TraceLab" in refused(source, tmp_path / "out.duckdb")


def test_parquet_text_that_is_no_unicode_is_repaired(tmp_path: Path) -> None:
    folder = tracelab_parquet(tmp_path / "parquet", sample(), nested=False)
    path = folder / "rounds.parquet"
    table = pa.parquet.read_table(path)
    models = pa.array([b"a\xff", b"b", b"c", None]).view(pa.string())
    pa.parquet.write_table(table.set_column(table.schema.get_field_index("model"), "model", models), path)
    report = ingest([folder], tmp_path / "out.duckdb")
    assert report.sources[0].repaired == 1
    with open_store(tmp_path / "out.duckdb") as trace:
        assert trace.sql("SELECT model FROM rounds").to_series().to_list() == ["a\ufffd", "b", "c", None]


def test_damaged_parquet(tmp_path: Path) -> None:
    folder = tracelab_parquet(tmp_path / "parquet", sample(), nested=False)
    path = folder / "tool_calls.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    assert "damaged" in refused(folder, tmp_path / "out.duckdb")


def test_an_archive_of_a_trace(tmp_path: Path) -> None:
    source = tmp_path / "a.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("a.jsonl", lines(sample()))
    assert "a zip archive: unpack it first" in refused(source, tmp_path / "out.duckdb")


@pytest.mark.parametrize("table", TABLES)
def test_empty_tables_are_a_trace_without_rows(table: str, tmp_path: Path) -> None:
    source = tracelab_database(tmp_path / "a.duckdb", [])
    report = ingest([source], tmp_path / "out.duckdb")
    assert report.tables[table] == 0
    assert report.sources[0].rows == 0


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"%PDF-1.7\n", b""])
def test_what_is_there_and_no_store_is_not_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "source.jsonl").write_bytes(lines(sample()))
    there = tmp_path / "there.csv"
    there.write_bytes(content)
    with pytest.raises(TracestatError, match=r"^there.csv exists and is not a tracestat store: choose another -o$"):
        ingest([tmp_path / "source.jsonl"], there)
    assert there.read_bytes() == content
