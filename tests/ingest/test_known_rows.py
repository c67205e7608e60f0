"""Rows known in advance come out as they went in, under TraceLab's names and types."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.ingest.helpers import CLAUDE, TURN, ingested, lines, sample
from tests.traces import BASE, call, round_
from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS
from tracestat.store import Trace, open_store

DUCKDB_NAMES = {
    "string": "VARCHAR",
    "int64": "BIGINT",
    "bool": "BOOLEAN",
    "timestamp[us]": "TIMESTAMP",
    "double": "DOUBLE",
}


@pytest.fixture
def trace(tmp_path: Path) -> Any:
    _, out = ingested(tmp_path, lines(sample()))
    with open_store(out) as opened:
        yield opened


def at(seconds: float) -> dt.datetime:
    return BASE + dt.timedelta(seconds=seconds)


def test_rounds(trace: Trace) -> None:
    rows = trace.sql("SELECT * FROM rounds").to_dicts()
    assert [row["round_pk"] for row in rows] == [row["ingest_seq"] for row in rows] == [1, 2, 3, 4]
    first = {name: value for name, value in rows[0].items() if value is not None}
    assert first == {
        "round_pk": 1,
        "ingest_seq": 1,
        "provider": "claude",
        "project": "project_00c0ffee",
        "session_id": f"claude:{CLAUDE}",
        "round_index": 0,
        "round_id": f"round_{CLAUDE}_0",
        "model": "model-1",
        "input_tokens_total": 1000,
        "prefix_tokens": 900,
        "newly_append_tokens": 100,
        "claude_uncached_input_tokens": 2,
        "output_tokens": 24,
        "first_input_event_type": "user_message",
        "user": "user_00000001",
        "store": ".claude",
        "trace_key": f"claude:{CLAUDE}:0",
    }
    assert rows[2]["turn_id"] == TURN
    assert rows[2]["user"] is None


def test_calls(trace: Trace) -> None:
    rows = trace.sql("SELECT * FROM tool_calls").to_dicts()
    assert [(row["round_pk"], row["tool_call_id"]) for row in rows] == [
        (1, "call_1"),
        (1, "call_2"),
        (3, "call_3"),
        (4, "call_4"),
    ]
    first = rows[0]
    assert (first["emitted_at"], first["result_at"]) == (at(10), at(12.4))
    assert first["tool_wall_latency_ms"] == 2400
    assert first["executables"] == ["cd", "pytest", "tail"]
    assert first["is_error"] is False
    assert rows[1]["result_at"] is None
    assert rows[1]["is_error"] is None
    assert rows[3]["command_exit_code"] == -1073741819
    assert rows[3]["continuation_of_tool_call_id"] == "call_3"


def test_what_a_tracelab_row_says_beyond_its_columns(trace: Trace) -> None:
    rows = trace.sql("SELECT * FROM tool_calls").to_dicts()
    assert [row["start_kind"] for row in rows] == ["emission"] * 4
    assert [row["source_id"] for row in rows] == [1] * 4
    assert [row["asked_limit_seconds"] for row in rows] == [None, None, 10.0, None]
    unknown = (
        "approval_seconds",
        "permission_mode",
        "parallel_group",
        "is_subagent",
        "job_ended_at",
        "command_fingerprint",
    )
    assert all(row[name] is None for row in rows for name in unknown)


def test_events(trace: Trace) -> None:
    rows = trace.sql("SELECT * FROM timing_events WHERE round_pk = 1").to_dicts()
    assert [(row["event_index"], row["event_type"], row["timestamp"]) for row in rows] == [
        (1, "user_message", at(1)),
        (2, "reasoning", at(8)),
        (3, "text", at(9)),
        (4, "tool_call", at(10)),
        (5, "tool_call", at(10.5)),
    ]
    assert rows[0]["content_chars"] == 5
    assert (rows[4]["tool_index"], rows[4]["tool_name"]) == (1, "Read")


@pytest.mark.parametrize(("table", "schema"), [("rounds", ROUNDS), ("tool_calls", CALLS), ("timing_events", EVENTS)])
def test_the_tables_have_the_readers_columns_and_types(trace: Trace, table: str, schema: Any) -> None:
    made = {"round_pk", "ingest_seq", "source_id"}
    described = trace.sql(f"DESCRIBE {table}").rows()
    stored = [(name, kind) for name, kind, *_ in described if name not in made]
    expected = [(field.name, DUCKDB_NAMES.get(str(field.type), "VARCHAR[]")) for field in schema if field.name != "row"]
    assert stored == expected


def test_the_first_columns_are_tracelabs_in_its_order(trace: Trace) -> None:
    names = {table: trace.sql(f"SELECT * FROM {table}").columns for table in ("rounds", "tool_calls", "timing_events")}
    assert names["rounds"][:6] == ["round_pk", "ingest_seq", "provider", "project", "session_id", "round_index"]
    assert names["rounds"][-4:] == ["store", "trace_key", "turn_id", "reasoning_output_tokens"]
    assert names["tool_calls"][:4] == ["round_pk", "tool_index", "tool_name", "tool_call_id"]
    assert names["tool_calls"][17:19] == ["command_skeleton", "source_id"]
    assert names["timing_events"][:5] == ["round_pk", "event_index", "event_type", "source", "timestamp"]


def test_sources_and_version(trace: Trace) -> None:
    (source,) = trace.sql("SELECT * FROM sources").to_dicts()
    assert (source["source"], source["format"]) == ("source.jsonl", "TraceLab JSONL")
    assert (source["first_round_pk"], source["last_round_pk"]) == (1, 4)
    assert (source["rows_read"], source["rows_kept"], source["rows_rejected"]) == (4, 4, 0)
    assert len(source["path_key"]) == 32
    assert trace.sql("SELECT path FROM trace_source").rows() == [("source.jsonl",)]
    assert trace.synthetic is False


def test_rows_that_were_made_up_mark_the_store(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines([round_("s", 0), round_("s", 1, store=".synthetic")]))
    with open_store(out) as trace:
        assert trace.synthetic is True


def test_tracelabs_own_kind_of_sql_runs_on_any_duckdb_client(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    with duckdb.connect(str(out), read_only=True) as con:
        rows = con.execute(
            """
            SELECT t.tool_name, count(*), count(coalesce(t.tool_internal_latency_ms, t.tool_wall_latency_ms))
            FROM tool_calls t JOIN rounds r USING (round_pk)
            WHERE r.provider = 'codex' GROUP BY 1 ORDER BY 1
            """
        ).fetchall()
        ordered = con.execute(
            'SELECT round_id FROM rounds ORDER BY "user", session_id, round_index, ingest_seq'
        ).fetchall()
    assert rows == [("exec_command", 1, 1), ("write_stdin", 1, 1)]
    assert len(ordered) == 4


def test_an_older_duckdb_reads_the_file(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    with duckdb.connect() as con:
        con.execute("ATTACH $path AS trace (READ_ONLY)", {"path": str(out)})
        (tags,) = con.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'trace'").fetchone() or ()
    assert tags["storage_version"].startswith("v1.0.0")


def test_the_developer_is_filled_in_where_the_rows_name_none(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()), developer="ada")
    with open_store(out) as trace:
        assert trace.sql('SELECT DISTINCT provider, "user" FROM rounds ORDER BY ALL').rows() == [
            ("claude", "user_00000001"),
            ("codex", "ada"),
        ]


def test_negative_absurd_and_repeated_rows_stay(tmp_path: Path) -> None:
    reversed_call = call("call_1", 10, 5)
    absurd = round_("s", 1, [call("call_2", 0, 1, tool_wall_latency_ms=-(2**62))], output_tokens=2**62)
    report, out = ingested(tmp_path, lines([round_("s", 0, [reversed_call]), absurd, absurd]))
    assert report.rejected == 0
    with open_store(out) as trace:
        assert trace.counts["rounds"] == 3
        assert trace.sql("SELECT tool_wall_latency_ms FROM tool_calls").rows() == [(-5000,), (-(2**62),), (-(2**62),)]


def test_a_list_of_executables_may_hold_nothing_but_null(tmp_path: Path) -> None:
    rows = [round_("s", 0, [call("c1", 1, 2, executables=[None], command_skeleton="")])]
    _, store = ingested(tmp_path, lines(rows))
    with open_store(store) as trace:
        assert trace.sql("SELECT executables FROM tool_calls")["executables"].to_list() == [[None]]
