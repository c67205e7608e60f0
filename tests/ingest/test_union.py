"""Sources join a store, are refreshed in place, and never counted twice."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

from tests.ingest.helpers import lines, rejects, sample, tables, tracelab_database
from tests.traces import call, round_
from tracestat.errors import TracestatError
from tracestat.ingest import ingest
from tracestat.store import open_store

A = [round_("a", i, [call(f"a{i}", i, i + 1)], text=i) for i in range(3)]
B = [round_("b", i, [call(f"b{i}", i, i + 1)], text=i) for i in range(2)]
C = [round_("c", 0, text=0)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.duckdb"


def put(folder: Path, name: str, rows: list[dict[str, object]]) -> Path:
    path = folder / name
    path.write_bytes(lines(rows))
    return path


def sessions(out: Path) -> list[str]:
    """Give the sessions of the rounds by their number, which must have no holes."""
    rows = tables(out)["rounds"]
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    return [str(row[4]).removeprefix("claude:") for row in rows]


def states(report: object) -> list[tuple[str, str, int, int]]:
    return [(s.path, s.state, s.new, s.duplicates) for s in report.sources]  # type: ignore[attr-defined]


def test_several_sources_in_their_order(tmp_path: Path, out: Path) -> None:
    report = ingest([put(tmp_path, "z.jsonl", A), put(tmp_path, "y.jsonl", B)], out)
    assert sessions(out) == ["a", "a", "a", "b", "b"]
    assert states(report) == [("z.jsonl", "new", 3, 0), ("y.jsonl", "new", 2, 0)]
    with open_store(out) as trace:
        assert trace.sql("SELECT source_id, first_round_pk, last_round_pk FROM sources").rows() == [
            (1, 1, 3),
            (2, 4, 5),
        ]
        assert trace.sql("SELECT round_pk, source_id FROM tool_calls").rows() == [
            (1, 1),
            (2, 1),
            (3, 1),
            (4, 2),
            (5, 2),
        ]


def test_a_store_that_is_there_is_added_to(tmp_path: Path, out: Path) -> None:
    ingest([put(tmp_path, "a.jsonl", A)], out)
    report = ingest([put(tmp_path, "b.jsonl", B)], out)
    assert sessions(out) == ["a", "a", "a", "b", "b"]
    assert states(report) == [("a.jsonl", "kept", 0, 3), ("b.jsonl", "new", 2, 0)]
    ingest([put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B)], tmp_path / "at once.duckdb")
    assert tables(out) == tables(tmp_path / "at once.duckdb")


def test_the_same_again_changes_nothing_not_even_the_file(tmp_path: Path, out: Path) -> None:
    sources = [put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B)]
    ingest(sources, out)
    before = out.read_bytes(), out.stat().st_mtime_ns
    report = ingest(sources[::-1], out)
    assert report.changed is False
    assert states(report) == [("a.jsonl", "unchanged", 0, 3), ("b.jsonl", "unchanged", 0, 2)]
    assert report.tables["rounds"] == 5
    assert (out.read_bytes(), out.stat().st_mtime_ns) == before


def test_the_same_sources_twice_give_the_same_tables_and_fingerprint(tmp_path: Path) -> None:
    sources = [put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B)]
    ingest(sources, tmp_path / "one.duckdb")
    ingest(sources, tmp_path / "two.duckdb")
    ingest(sources[::-1], tmp_path / "other order.duckdb")
    assert tables(tmp_path / "one.duckdb") == tables(tmp_path / "two.duckdb")
    prints = []
    for name in ("one", "two", "other order"):
        with open_store(tmp_path / f"{name}.duckdb") as trace:
            prints.append(trace.fingerprint)
    assert prints[0] == prints[1] != prints[2]
    assert prints[0].startswith("sha256:")


def test_a_changed_file_is_refreshed_in_its_place(tmp_path: Path, out: Path) -> None:
    a = put(tmp_path, "a.jsonl", A[:2])
    ingest([a, put(tmp_path, "b.jsonl", B)], out)
    put(tmp_path, "a.jsonl", [*A, A[2]])
    report = ingest([a], out)
    assert sessions(out) == ["a"] * 4 + ["b"] * 2
    assert states(report) == [("a.jsonl", "refreshed", 2, 2), ("b.jsonl", "kept", 0, 2)]


def test_a_file_that_shrank(tmp_path: Path, out: Path) -> None:
    a = put(tmp_path, "a.jsonl", A)
    ingest([a], out)
    put(tmp_path, "a.jsonl", A[1:])
    assert states(ingest([a], out)) == [("a.jsonl", "refreshed", 0, 2)]
    assert sessions(out) == ["a", "a"]


def test_the_same_content_under_another_name_is_left_out(tmp_path: Path, out: Path) -> None:
    sources = [put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B), put(tmp_path, "copy.jsonl", A)]
    report = ingest(sources, out)
    assert sessions(out) == ["a", "a", "a", "b", "b"]
    assert states(report)[2] == ("copy.jsonl", "duplicate", 0, 3)
    assert report.sources[2].note == "the same as a.jsonl: left out"


def test_the_same_rows_in_another_form_are_left_out(tmp_path: Path, out: Path) -> None:
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(lines(A)))
    ingest([put(tmp_path, "a.jsonl", A)], out)
    database = tracelab_database(tmp_path / "a.duckdb", A)
    report = ingest([packed, put(tmp_path, "c.jsonl", C), database], out)
    assert sessions(out) == ["a", "a", "a", "c"]
    assert [s.state for s in report.sources] == ["kept", "new", "duplicate", "duplicate"]
    with open_store(out) as trace:
        assert trace.sql("SELECT source FROM sources ORDER BY source_id").to_series().to_list() == [
            "a.jsonl",
            "c.jsonl",
        ]
        assert trace.sql("SELECT DISTINCT source_id FROM tool_calls").rows() == [(1,)]


def test_a_file_named_twice(tmp_path: Path, out: Path) -> None:
    a = put(tmp_path, "a.jsonl", A)
    report = ingest([a, a], out)
    assert states(report) == [("a.jsonl", "new", 3, 0)]


def test_rows_that_repeat_in_a_source_stay(tmp_path: Path, out: Path) -> None:
    report = ingest([put(tmp_path, "a.jsonl", [*A, *A])], out)
    assert states(report) == [("a.jsonl", "new", 6, 0)]


def test_rejects_are_kept_with_their_source(tmp_path: Path, out: Path) -> None:
    damaged = put(tmp_path, "a.jsonl", A)
    damaged.write_bytes(damaged.read_bytes() + b"bad\n")
    ingest([damaged], out)
    report = ingest([put(tmp_path, "b.jsonl", B)], out)
    assert rejects(out) == [(4, "round", 0, "not JSON")]
    assert (report.sources[0].rows, report.sources[0].rejected) == (4, 1)
    damaged.write_bytes(lines(A))
    ingest([damaged], out)
    assert rejects(out) == []


def test_another_developer_is_a_change(tmp_path: Path, out: Path) -> None:
    a = put(tmp_path, "a.jsonl", [round_("a", 0, user=None)])
    ingest([a], out, developer="ada")
    assert ingest([a], out, developer="ada").changed is False
    report = ingest([a], out, developer="ben")
    assert report.sources[0].state == "refreshed"
    assert tables(out)["rounds"][0][22] == "ben"


def test_a_store_as_a_source(tmp_path: Path, out: Path) -> None:
    ingest([put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B)], tmp_path / "first.duckdb")
    ingest([put(tmp_path, "c.jsonl", C)], out)
    report = ingest([tmp_path / "first.duckdb"], out)
    assert sessions(out) == ["c", "a", "a", "a", "b", "b"]
    assert states(report) == [("c.jsonl", "kept", 0, 1), ("a.jsonl", "new", 3, 0), ("b.jsonl", "new", 2, 0)]
    assert ingest([tmp_path / "first.duckdb"], out).changed is False


def test_the_store_itself_in_a_folder_of_sources_is_no_source(tmp_path: Path, out: Path) -> None:
    put(tmp_path, "a.jsonl", A)
    ingest([tmp_path], out)
    put(tmp_path, "b.jsonl", B)
    report = ingest([tmp_path], out)
    assert states(report) == [("a.jsonl", "unchanged", 0, 3), ("b.jsonl", "new", 2, 0)]


def test_what_is_no_store_is_not_replaced(tmp_path: Path, out: Path) -> None:
    tracelab_database(out, sample())
    with pytest.raises(TracestatError, match=r"^out\.duckdb exists and is not a tracestat store: choose another -o$"):
        ingest([put(tmp_path, "a.jsonl", A)], out)
    out.write_bytes(b"precious")
    with pytest.raises(TracestatError, match=r"out\.duckdb"):
        ingest([put(tmp_path, "a.jsonl", A)], out)
    assert out.read_bytes() == b"precious"


def version(out: Path, number: int) -> None:
    with duckdb.connect(str(out)) as con:
        con.execute("UPDATE tracestat SET schema_version = $n, tracestat_version = '9.1.0'", {"n": number})


def test_a_store_of_a_newer_form(tmp_path: Path, out: Path) -> None:
    a = put(tmp_path, "a.jsonl", A)
    ingest([a], out)
    version(out, 99)
    for attempt in (lambda: ingest([a], out), lambda: open_store(out)):
        with pytest.raises(TracestatError, match=r"^out\.duckdb needs tracestat >= 9\.1\.0: upgrade tracestat$"):
            attempt()


def test_a_store_of_an_older_form_is_made_again_from_all_of_its_sources(tmp_path: Path, out: Path) -> None:
    a, b = put(tmp_path, "a.jsonl", A), put(tmp_path, "b.jsonl", B)
    ingest([a, b], out)
    version(out, 0)
    with pytest.raises(TracestatError, match=r"made by an older tracestat \(9\.1\.0\): make it again"):
        open_store(out)
    with pytest.raises(TracestatError, match="1 of its sources are not named: name all of them"):
        ingest([a], out)
    report = ingest([a, b], out)
    assert [s.state for s in report.sources] == ["new", "new"]
    assert sessions(out) == ["a", "a", "a", "b", "b"]
