"""What the tests of ingest share: invented rows in every form that TraceLab publishes, and the tables that come out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from tests.traces import Row, call, event, round_
from tracestat.ingest import IngestReport, ingest
from tracestat.ingest.columns import CALL_COLUMNS, EVENT_COLUMNS, ROUND_COLUMNS
from tracestat.store import open_store

TABLES = ("rounds", "tool_calls", "timing_events")
CLAUDE = "11111111-2222-3333-4444-555555555555"
CODEX = "66666666-7777-8888-9999-000000000000"
TURN = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
# TraceLab's published types (formats.md 1.7), where they differ from ours
TRACELAB_TYPES = {"turn_id": "UUID", "command_exit_code": "HUGEINT"}


def sample() -> list[Row]:
    """Make a few rounds of both providers with everything that a row may hold."""
    facts = {
        "executables": ["cd", "pytest", "tail"],
        "executable_parse_status": "success",
        "executable_parse_reason": None,
        "command_skeleton": "cd && pytest | tail",
    }
    claude = [
        round_(
            CLAUDE,
            0,
            [call("call_1", 10, 12.4, **facts), call("call_2", 10.5, None, "Read", index=1)],
            events=[event("user_message", 1, content_chars=5), event("reasoning", 8, content_chars=0)],
            text=9,
            project="project_00c0ffee",
            claude_uncached_input_tokens=2,
            first_input_event_type="user_message",
        ),
        round_(CLAUDE, 1, events=[event("tool_result", 12.4, tool_call_id="call_1", is_error=False)], text=15),
    ]
    yielded = call(
        "call_3",
        20,
        30.01,
        "exec_command",
        command_status="running",
        tool_internal_latency_ms=10_002,
        executables=["make"],
        executable_parse_status="success",
        command_skeleton="make",
    )
    poll = call(
        "call_4",
        31,
        33,
        "write_stdin",
        command_status="finished",
        command_exit_code=-1073741819,
        continuation_of_tool_call_id="call_3",
        is_error=True,
    )
    codex = [
        round_(CODEX, 0, [yielded], provider="codex", turn_id=TURN, reasoning_output_tokens=16, user=None),
        round_(CODEX, 1, [poll], provider="codex", turn_id=TURN, text=30.5, user=None),
    ]
    return claude + codex


def lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Write rows as JSON lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Give the rows of the three tables of a store, in its own order."""
    with open_store(path) as trace:
        return {name: trace.sql(f"SELECT * FROM {name}").rows() for name in TABLES}


def ingested(tmp_path: Path, content: bytes, **options: Any) -> tuple[IngestReport, Path]:
    """Ingest bytes; give the report and the store."""
    source = tmp_path / "source.jsonl"
    source.write_bytes(content)
    out = tmp_path / "out.duckdb"
    return ingest([source], out, **options), out


def rejects(path: Path) -> list[tuple[Any, ...]]:
    """Give line, part, place and reason of what was rejected."""
    with open_store(path) as trace:
        return trace.sql("SELECT line, part, row_index, reason FROM rejects ORDER BY ALL").rows()


def _columns(kinds: Mapping[str, Any], leave_out: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    names = {"string": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN", "timestamp[us]": "TIMESTAMP"}
    return {
        name: types.get(name, names.get(str(kind), "VARCHAR[]"))
        for name, kind in kinds.items()
        if name not in leave_out
    }


def tracelab_database(
    path: Path,
    rows: Sequence[Row],
    *,
    leave_out: Sequence[str] = (),
    types: Mapping[str, str] = TRACELAB_TYPES,
    keys: Sequence[int] | None = None,
) -> Path:
    """Build a DuckDB file as TraceLab does, without the columns that an older build lacks."""
    keys = keys or range(1, len(rows) + 1)
    children = {"tool_calls": ("tools", CALL_COLUMNS), "timing_events": ("timing_events", EVENT_COLUMNS)}
    with duckdb.connect(str(path)) as con:
        columns = _columns(ROUND_COLUMNS, leave_out, types)
        con.execute(f"CREATE TABLE rounds (round_pk BIGINT, ingest_seq BIGINT, {_ddl(columns)})")
        for key, row in zip(keys, rows, strict=True):
            con.execute(
                f"INSERT INTO rounds VALUES (?, ?, {', '.join('?' * len(columns))})",
                [key, key, *(row.get(name) for name in columns)],
            )
        for table, (field, kinds) in children.items():
            columns = _columns(kinds, leave_out, types)
            con.execute(f"CREATE TABLE {table} (round_pk BIGINT, {_ddl(columns)})")
            for key, row in zip(keys, rows, strict=True):
                for place, child in enumerate(row[field], start=1):
                    values = {"event_index": place, **child}
                    con.execute(
                        f"INSERT INTO {table} VALUES (?, {', '.join('?' * len(columns))})",
                        [key, *(_naive(values.get(name), columns[name]) for name in columns)],
                    )
        con.execute("CREATE TABLE trace_source (path VARCHAR)")
    return path


def _naive(value: Any, kind: str) -> Any:
    return value.removesuffix("Z") if kind == "TIMESTAMP" and isinstance(value, str) else value


def _ddl(columns: Mapping[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())


def tracelab_parquet(
    folder: Path, rows: Sequence[Row], *, nested: bool = True, types: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Write the Parquet folder as the published data set has it: a folder or a file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    database = tracelab_database(folder.parent / f"{folder.name}.of.duckdb", rows, types=types)
    with duckdb.connect(str(database)) as con:
        for table in TABLES:
            target = folder / table / "train.parquet" if nested else folder / f"{table}.parquet"
            target.parent.mkdir(exist_ok=True)
            con.execute(f"COPY {table} TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    database.unlink()
    return folder
