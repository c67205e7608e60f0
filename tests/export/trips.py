"""From a store to TraceLab rows and back: what must be equal then, and stores of invented rows to try it on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

import tracestat
from tracestat.ingest import ingest
from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch
from tracestat.ingest.build import SourceRow, StoreWriter, Tally
from tracestat.store import open_store

# The number of the source is bookkeeping; pauses and commands have no order of their own.
TABLES = {
    "rounds": "SELECT * FROM rounds",
    "tool_calls": "SELECT * EXCLUDE (source_id) FROM tool_calls",
    "timing_events": "SELECT * FROM timing_events",
    "pauses": "SELECT * FROM pauses ORDER BY round_pk",
    "calls": "SELECT * FROM calls ORDER BY call_pk",
    "commands": "SELECT * FROM commands ORDER BY ALL",
}
Rows = Sequence[Mapping[str, Any]]


def tables(store: Path) -> dict[str, pl.DataFrame]:
    """Give all that a store says about the trace."""
    with open_store(store) as trace:
        return {name: trace.sql(query) for name, query in TABLES.items()}


def there_and_back(store: Path, *, ending: str = ".jsonl") -> Path:
    """Write a store as TraceLab rows, and make a store of them."""
    written = store.with_name(f"{store.stem}-written{ending}")
    back = store.with_name(f"{store.stem}-back.duckdb")
    with open_store(store) as trace:
        tracestat.export_tracelab(trace, written)
    back.unlink(missing_ok=True)
    report = ingest([written], back)
    assert report.rejected == 0
    return back


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Give the rows of a file; only a newline ends a line."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def assert_equal(store: Path, other: Path) -> None:
    """Compare two stores table by table, column by column."""
    ours, theirs = tables(store), tables(other)
    for name, frame in ours.items():
        assert frame.schema == theirs[name].schema, name
        assert frame.height == theirs[name].height, name
        differ = [column for column in frame.columns if not frame[column].equals(theirs[name][column])]
        assert differ == [], name


def store_of_tables(path: Path, rounds: Rows, calls: Rows = (), events: Rows = ()) -> Path:
    """Make a store of rows that no reader has to have given; `row` is the place of a round, from 0."""
    parts = ((rounds, ROUNDS), (calls, CALLS), (events, EVENTS))
    batch = Batch(*(pa.Table.from_pylist([dict(row) for row in rows], schema=schema) for rows, schema in parts))
    with StoreWriter(path, memory_limit="256MB", threads=1) as writer:
        writer.add(batch)
        writer.end_source(_source)
        writer.finish()
    return path


def _source(tally: Tally, first: int | None, last: int | None) -> SourceRow:
    kept = tally.kept
    return SourceRow("invented", "invented", "0" * 64, 1, None, None, first, last, kept, kept, 0, 0, 0, 0, None)
