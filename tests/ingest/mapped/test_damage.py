"""What is broken costs the line it is on, never the table; and what is no table gets one line that says so."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.mapped.tables import NAMES, csv_of, read, read_file
from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.mapped import MappedTable, describe, load_mapping

SECONDS = "session=chat,tool=fn,start:s=t0,end:s=t1"
HEADER = "chat,fn,t0,t1"
GOOD = ["a,x,10,11", "a,x,20,22", "a,x,30,33", "a,x,40,44", "a,x,50,55"]


def test_lines_that_are_no_rows(tmp_path: Path) -> None:
    rows = [GOOD[0], "a,x,5", GOOD[1], "", "   ", "a,x,5,6,7", GOOD[2] + ",,", GOOD[3], "junk"]
    found = read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert found.seconds() == [1, 2, 3, 4]
    assert found.reasons() == [
        (3, "3 values, but 4 columns"),
        (7, "5 values, but 4 columns"),
        (10, "1 values, but 4 columns"),
    ]
    assert {reject.part for reject in found.rejects} == {"call"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks(tmp_path: Path, end: str, last: bool, mark: str) -> None:
    content = mark + end.join([HEADER, *GOOD]) + (end if last else "")
    assert read(tmp_path, content, SECONDS).seconds() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters(tmp_path: Path, delimiter: str) -> None:
    content = csv_of(HEADER, [f'"a{d}b",x,1,2' for d in (",", ";", "|", "\t")]).replace(",", delimiter)
    assert read(tmp_path, content, SECONDS).seconds() == [1] * 4


def test_values_in_quotes_may_hold_anything(tmp_path: Path) -> None:
    rows = ['"two\nlines, and a ""quote""",x,10,11', GOOD[1], '"two\r\nlines",x,30,33']
    found = read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert [r["session_id"] for r in found.rounds] == [
        NAMES.id("session", text) for text in ('two\nlines, and a "quote"', "a", "two\r\nlines")
    ]
    assert found.rejects == []


def test_a_reject_is_counted_by_its_line(tmp_path: Path) -> None:
    rows = ['"two\nlines",x,10,11', "a,x,soon,22", GOOD[2]]
    assert read(tmp_path, csv_of(HEADER, rows), SECONDS).reasons() == [(4, "start is no time")]


@pytest.mark.parametrize("bad", ['"a,x,10,11', 'a,x,10,"11', '"a"b,x,10,11', 'a,"x,10,11'])
def test_a_quote_that_is_not_closed_costs_its_line(tmp_path: Path, bad: str) -> None:
    rows = [GOOD[0], bad, *GOOD[1:3], '"a",x,40,44', GOOD[4]]
    found = read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert found.seconds() == [1, 2, 3, 4, 5]
    assert [line for line, _ in found.reasons()] == [3]
    assert found.reasons()[0][1] in ("a quote that is not closed", "not CSV")


def test_a_quote_that_is_not_closed_in_a_large_file(tmp_path: Path) -> None:
    rows = ['"a,x,10,11', *(f"a,x,{i},{i + 1}" for i in range(20_000))]
    found = read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert (found.kept, found.reasons()) == (20_000, [(2, "a quote that is not closed")])


def test_a_very_long_value(tmp_path: Path) -> None:
    rows = [GOOD[0], "a," + "x" * 200_000 + ",1,2", GOOD[1]]
    found = read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert found.reasons() == [(3, "a quote that is not closed, or a very long value")]
    assert found.seconds() == [1, 2]


def test_text_that_is_no_unicode_is_repaired(tmp_path: Path) -> None:
    content = csv_of(HEADER, GOOD).encode().replace(b"a,x,20", b"\xff\xfea,x,20")
    found = read(tmp_path, content, SECONDS)
    assert found.repaired == 1
    assert NAMES.id("session", "\ufffd\ufffda") in [r["session_id"] for r in found.rounds]


def test_columns_that_are_not_mapped_may_be_anything(tmp_path: Path) -> None:
    content = b'chat,note,fn,t0,t1\na,\xff\x00\x01,x,10,11\na,"\n\n",x,20,22\n'
    found = read(tmp_path, content, SECONDS)
    assert (found.seconds(), found.repaired) == ([1, 2], 0)


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"meta": {"chat": "a"}, "fn": "x", "t0": 10, "t1": 11.5, "more": {"deep": [1, {"x": null}]}}',
        '{"meta": {"chat": 7}, "fn": "x", "t0": "20", "t1": 20}',
        '{"meta": {}, "fn": "x", "t0": 20, "t1": 20}',
        '{"meta": 3, "fn": "x", "t0": 20, "t1": 20}',
        '{"meta": {"chat": "a"}, "fn": ["x"], "t0": 20, "t1": 20}',
        '{"meta": {"chat": "a"}, "fn": "x", "t0": 30, "t1": 33',
        "[1, 2]",
        "",
        "null",
        '{"meta": {"chat": "a"}, "fn": "x", "t0": true, "t1": 33}',
        '{"meta": {"chat": "a"}, "fn": "x", "t0": 1e1, "t1": 99999999999999999999999}',
        '{"meta": {"chat": "a"}, "fn": "x", "t0": 40, "t1": null}',
        '{"meta": {"chat": "a"}, "fn": "\\ud83d\\ude00", "t0": 60, "t1": 61}',
    ]
    spec = "session=meta.chat,tool=fn,start:s=t0,end:s=t1"
    found = read(tmp_path, "\n".join(lines), spec, name="t.jsonl", force=True)
    assert found.reasons() == [
        (3, "missing session"),
        (4, "missing session"),
        (5, "a mapped column holds a list or an object"),
        (6, "not a JSON object"),
        (7, "not a JSON object"),
        (9, "not a JSON object"),
        (10, "start is no time"),
        (11, "end is no time"),
    ]
    assert sorted(s for s in found.seconds() if s is not None) == [0, 1, 1.5]
    assert NAMES.id("session", "7") in {r["session_id"] for r in found.rounds}


def test_json_that_is_no_unicode(tmp_path: Path) -> None:
    content = b'{"chat": "a\xff", "fn": "x", "t0": 1, "t1": 2}\n{"chat": "\\ud800", "fn": "x", "t0": 1, "t1": 2}\n'
    found = read(tmp_path, content, SECONDS, name="t.jsonl")
    assert found.repaired == 1
    assert [line for line, _ in found.reasons()] == [2]


def test_a_json_column_that_comes_late(tmp_path: Path) -> None:
    line = '{"chat": "a", "fn": "x", "t0": %d, "t1": %d}\n'
    content = "".join(line % (3 * i, 3 * i + 1) for i in range(3000))
    content += '{"chat": "a", "fn": "x", "t0": 9000, "t1": 9001, "model": "m"}\n'
    found = read(tmp_path, content, SECONDS + ",model=model", name="t.jsonl")
    assert [r["model"] for r in found.rounds][-2:] == [None, NAMES.model("m")]


def test_a_name_with_a_dot_may_be_a_column_itself(tmp_path: Path) -> None:
    content = '{"a.b": "one", "a": {"b": "two"}, "fn": "x", "t0": 1, "t1": 2}\n'
    found = read(tmp_path, content, "session=a.b,tool=fn,start:s=t0,end:s=t1", name="t.jsonl")
    assert found.rounds[0]["session_id"] == NAMES.id("session", "one")


def test_a_compressed_table(tmp_path: Path) -> None:
    packed = gzip.compress(csv_of(HEADER, GOOD).encode())
    found = read(tmp_path, packed, SECONDS, name="t.csv.gz")
    assert (found.seconds(), found.note) == ([1, 2, 3, 4, 5], None)
    rows = [f"a,x,{i * 10},{i * 10 + i % 7}" for i in range(20_000)]
    packed = gzip.compress(csv_of(HEADER, rows).encode())
    found = read(tmp_path, packed[: len(packed) // 2], SECONDS, name="t.csv.gz")
    assert found.note == "the gzip stream is cut off: what was before that is read"
    assert 5000 < found.kept < 20_000


def test_parquet_types(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "chat": [1, 2, None, 4],
            "fn": pl.Series(["x", "y", "x", None], dtype=pl.Categorical),
            "t0": pl.Series([0, 1000, 2000, 3000], dtype=pl.Datetime("ms")),
            "t1": [0.5, None, 3.5, 4.5],
            "bad": [True, None, False, False],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    found = read_file(tmp_path / "t.parquet", "session=chat,tool=fn,start=t0,end:s=t1,is_error=bad")
    assert found.reasons() == [(3, "missing session"), (4, "missing tool")]
    assert found.seconds() == [0.5, None]
    assert [c["is_error"] for c in found.calls] == [True, None]
    assert [c["tool_name"] for c in found.calls] == [NAMES.tool("x"), NAMES.tool("y")]


def test_parquet_types_of_another_program(tmp_path: Path) -> None:
    chat = "6b2e7a1c-0000-4000-8000-000000000001"
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT '{chat}'::UUID AS chat, 'x'::ENUM ('x', 'y') AS fn, 1772355600.5::DECIMAL(18, 3) AS t1, "
            "make_timestamptz(2026, 3, 1, 9, 0, 0, 'UTC') AS t0, 5::UTINYINT AS tokens UNION ALL "
            f"SELECT NULL, 'x', 1772355601, NULL, NULL) TO '{path}'"
        )
    found = read_file(path, "session=chat,tool=fn,start=t0,end=t1,input_tokens=tokens", force=True)
    assert found.rounds[0]["session_id"] == NAMES.id("session", chat)
    assert (found.seconds(), found.rounds[0]["input_tokens_total"]) == ([0.5], 5)
    assert found.reasons() == [(2, "missing session")]
    assert found.told[3] == "start: timestamps (column t0), 2026-03-01 09:00:00 to 2026-03-01 09:00:00 UTC"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_text_that_is_no_unicode(tmp_path: Path, kind: pa.DataType) -> None:
    def column(*values: bytes | None) -> pa.Array:
        texts = pa.array(values, pa.binary()).view(pa.string())
        return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)

    table = {
        "chat": column(b"\xff", b"b", b"c", b"d"),
        "fn": column(b"x", b"x", b"x", b"x"),
        "t0": column(b"1", b"\xff", b"1", b"1"),
        "t1": column(b"2", b"2", b"2", b"2"),
        "tokens": column(b"5", b"5", b"\xff5", None),
    }
    pa.parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    found = read_file(tmp_path / "t.parquet", SECONDS + ",input_tokens=tokens")
    assert found.reasons() == [(2, "start is no time"), (3, "input_tokens is no whole number from 0 up")]
    assert (found.repaired, found.rounds[0]["session_id"]) == (1, NAMES.id("session", "\ufffd"))


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([[1]]), "t.parquet: column t0 is list<item: int64>, but start needs a time"),
        (pa.array([b"x"]), "t.parquet: column t0 is binary, but start needs a time"),
    ],
)
def test_parquet_types_that_cannot_serve(tmp_path: Path, column: pa.Array, reason: str) -> None:
    pa.parquet.write_table(pa.table({"chat": ["a"], "fn": ["x"], "t0": column, "t1": [1]}), tmp_path / "t.parquet")
    with pytest.raises(UsageError) as error:
        read_file(tmp_path / "t.parquet", SECONDS)
    assert str(error.value).replace("element", "item") == reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.csv", b"", "t.csv is empty"),
        ("t.csv", b"\n\n \n", "t.csv is empty"),
        ("t.csv", HEADER.encode("utf-16"), "t.csv is text in UTF-16"),
        ("t.csv", b"PK\x03\x04....", "t.csv is a zip archive or a spreadsheet"),
        ("t.csv", b"a\0b,c", "t.csv is binary data"),
        ("t.json", b'[{"chat": 1}]', "t.json is one JSON array"),
        ("t.jsonl", b"{\n{\n", "t.jsonl: no line of it is a JSON object"),
        (
            "t.jsonl",
            b'{"chat": 1, "fun": {"a": 1, "b": 2}}',
            "t.jsonl has no column 'fn' (for tool): it has chat, fun.a",
        ),
        ("t.parquet", b"PAR1 and no more", "t.parquet is damaged"),
        ("t.csv", b"chat,function,t0\n", "t.csv has no column 'fn' (for tool): it has chat, function, t0"),
        ("t.csv", b"chat,fn,fn,t0,t1\n", "t.csv has several columns fn"),
        ("t.csv", b"\x1f\x8b\x08\x00 cut", "t.csv is empty, or nothing of it can be read"),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(TracestatError) as error:
        read(tmp_path, content, SECONDS, name=name)
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_a_table_whose_columns_have_no_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, "anna@example.org,x,2026-03-01,5\n" * 3, SECONDS)
    assert str(error.value) == "table.csv: the first line holds values: it must name the columns"


def test_a_parquet_file_without_the_column(tmp_path: Path) -> None:
    pl.DataFrame({"chat": [1], "t0": [1], "t1": [2]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match=r"^t.parquet has no column 'fn'"):
        read_file(tmp_path / "t.parquet", SECONDS)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match=r"^none.csv: no such file"):
        read_file(tmp_path / "none.csv", SECONDS)
    with pytest.raises(TracestatError, match="is a folder: --map reads one file"):
        read_file(tmp_path, SECONDS)


def test_most_of_it_damaged(tmp_path: Path) -> None:
    rows = [GOOD[0], "a,x,soon,1", "a,x,later,1", "a,x"]
    with pytest.raises(TracestatError) as error:
        read(tmp_path, csv_of(HEADER, rows), SECONDS)
    assert str(error.value) == (
        "table.csv: 3 of 4 rows cannot be read (most often: start is no time): is it the right file? --force keeps the "
        "rest"
    )
    assert read(tmp_path, csv_of(HEADER, rows), SECONDS, force=True).kept == 1


def test_describing_reads_to_the_end_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("chat,fn,t0,t1\na,x,2026-03-01T10:00:00Z,2026-03-01T10:00:01Z\na,x,soon,\na,x,2026-03-01,\n")
    told = describe(path, load_mapping("session=chat,tool=fn,start=t0,end=t1,provider==proxy"), shown="t.csv")
    assert told == (
        "t.csv: a table of tool calls: 3 rows = 2 kept + 1 rejected",
        "session: column chat",
        "tool: column fn",
        "start: ISO 8601, partly without a zone: UTC (column t0), 2026-03-01 00:00:00 to 2026-03-01 10:00:00 UTC",
        "end: ISO 8601 (column t1), 2026-03-01 10:00:01 to 2026-03-01 10:00:01 UTC",
        "provider: the same in every row: proxy",
        "1 session, 2 rounds of up to 1 call: a round is the calls that overlap (map request_id if there is one)",
        "1 call without an end: the pause is open",
    )


def test_a_reader_counts_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv_of(HEADER, GOOD))
    seen: list[int] = []
    table = MappedTable(path, load_mapping(SECONDS), shown="t.csv", names=NAMES, on_bytes=seen.append)
    table.look()
    assert sum(seen) == path.stat().st_size


pieces = st.sampled_from(
    [
        b"a",
        b"x",
        b",",
        b",",
        b'"',
        b"\n",
        b"\n",
        b"\r",
        b"1",
        b"5",
        b"\xff",
        b"\0",
        b" ",
        b"a,x,1,5\n",
        b"-",
        b"{",
        b"\\",
    ]
)


@settings(deadline=None, max_examples=13)
@given(content=st.lists(pieces, max_size=60).map(b"".join), requests=st.booleans())
@pytest.mark.full
def test_every_line_is_kept_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, requests: bool
) -> None:
    spec = "session=chat,arrival:s=t0,end:s=t1"
    found = read(
        tmp_path_factory.mktemp("any"), b"chat,fn,t0,t1\n" + content, spec if requests else SECONDS, force=True
    )
    calls_or_requests = found.rounds if requests else found.calls
    assert found.kept == len(calls_or_requests)
    lines = content.count(b"\n") + 1
    assert found.read <= lines
    assert all(line is not None and 2 <= line <= lines + 1 for line, _ in found.reasons())
