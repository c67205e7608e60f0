"""A mapped table as batches: read once into a scratch database, then placed in rounds by SQL and given in order.

The scratch database keeps to its memory limit and spills into a temporary folder that goes with it; it holds
pseudonyms and times only. Sessions come in the order of their first lines, the rounds of a session in the order of
time.
"""

from __future__ import annotations

import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Part, Reject
from tracestat.ingest.logs.names import Names
from tracestat.ingest.mapped.mapping import Mapping
from tracestat.ingest.mapped.rows import STAGED, Rows
from tracestat.ingest.mapped.sniff import open_table
from tracestat.ingest.mapped.telling import told
from tracestat.ingest.mapped.times import Window
from tracestat.queries import query_text
from tracestat.store import connect_in_memory, reading
from tracestat.user_key import user_key

__all__ = ["MappedTable", "describe", "read_mapped"]

_MEMORY: Final = "256MB"
_ROWS_PER_BATCH: Final = 50_000
_NO_WINDOW: Final = Window(1, 1, 0, 0)


class MappedTable:
    """Reads a table of tool calls or of requests.

    Parameters
    ----------
    path : Path
        CSV, Parquet or JSON lines.
    mapping : Mapping
        What serves for what.
    shown : str
        How messages name the table.
    names : Names, optional
        Makes the pseudonyms; with the user's key by default.
    force : bool
        Go on when more than half of the rows cannot be read.
    on_bytes : callable, optional
        Told how many bytes of the file were read, as they are read.
    memory_limit : str
        What the scratch database may use.
    threads : int
        Threads of it.

    Attributes
    ----------
    read, kept, rejected : int
        Rows of the table, once the first batch was given; read = kept + rejected.
    told : tuple of str
        How the table was read, line by line, for the screen; likewise.
    note : str or None
        What else to know: why the file ends early.
    """

    def __init__(
        self,
        path: Path,
        mapping: Mapping,
        *,
        shown: str,
        names: Names | None = None,
        force: bool = False,
        on_bytes: Callable[[int], None] | None = None,
        memory_limit: str = _MEMORY,
        threads: int = 1,
    ) -> None:
        self._path = path
        self._mapping = mapping
        self._shown = shown
        self._names = names
        self._force = force
        self._on_bytes = on_bytes
        self._memory_limit = memory_limit
        self._threads = threads
        self._rejects = _Rejects("call" if mapping.form == "calls" else "round")
        self.read = self.kept = 0
        self.told: tuple[str, ...] = ()
        self.note: str | None = None

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "table of tool calls" if self._mapping.form == "calls" else "table of requests"

    @property
    def rejected(self) -> int:
        """Rows that cannot be read."""
        return len(self._rejects)

    def batches(self) -> Generator[Batch]:
        """Give first what could not be read, then rounds, calls and events, each in the order of the trace.

        Raises
        ------
        UsageError
            A column does not exist, has a type that cannot serve, or does not tell its unit.
        TracestatError
            The file cannot be read, or most of it is damaged.
        """
        with tempfile.TemporaryDirectory(prefix="tracestat-") as folder, reading(self._shown):
            connection = connect_in_memory(
                Path(folder) / "scratch", memory_limit=self._memory_limit, threads=self._threads
            )
            try:
                scratch = _Scratch(connection)
                self._place(scratch)
                yield from self._rejects.batches()
                yield from scratch.batches()
            finally:
                connection.close()

    def look(self) -> tuple[str, ...]:
        """Read the table for what there is to tell of it."""
        with closing(self.batches()) as batches:
            next(batches, None)
        return self.told

    def _place(self, scratch: _Scratch) -> None:
        """Read the file and make rounds of its rows."""
        rows = Rows(self._mapping, self._names or Names(user_key()), self._shown)
        source = open_table(self._path, self._mapping, shown=self._shown, on_bytes=self._on_bytes)
        try:
            for chunk in source.chunks():
                staged, rejects = rows.stage(chunk)
                self._rejects.add(rejects)
                scratch.stage(staged)
        except OSError as error:
            raise TracestatError(f"{self._shown}: {error.strerror or 'cannot be read'}") from error
        self.note = source.note
        self.read = rows.read
        requests = self._mapping.form == "requests"
        begin = rows.times["arrival" if requests else "start"].window(self._shown)
        end = rows.times["end"].window(self._shown) if "end" in rows.times else _NO_WINDOW
        self._rejects.add(scratch.time(begin, end, requests=requests))
        self.kept = self.read - self.rejected
        self._check()
        scratch.place(
            requests=requests,
            by_request=self._mapping.get("request_id") is not None,
            has_tool=self._mapping.get("tool") is not None,
        )
        counts = scratch.one("mapped_counts")
        self.told = tuple(told(self._mapping, rows.times, self._shown, self.read, counts, scratch.gaps(requests)))
        if 2 * counts["n_backward"] > max(1, counts["n_kept"] - counts["n_open"]) and not self._force:
            raise UsageError(
                f"{self._shown}: {counts['n_backward']:,} of {counts['n_kept']:,} rows end before they begin: are "
                f"{'arrival' if requests else 'start'} and end swapped? --force reads them as they are"
            )

    def _check(self) -> None:
        if 2 * self.rejected > self.read and not self._force:
            raise TracestatError(
                f"{self._shown}: {self.rejected:,} of {self.read:,} rows cannot be read (most often: "
                f"{self._rejects.most_common()}): is it the right file? --force keeps the rest"
            )


def read_mapped(path: Path, mapping: Mapping, *, shown: str) -> Iterator[Batch]:
    """Give the batches of a mapped table; see :class:`MappedTable`."""
    return MappedTable(path, mapping, shown=shown).batches()


def describe(path: Path, mapping: Mapping, *, shown: str) -> tuple[str, ...]:
    """Say how a table is read: which column serves for what, the units found, and from when to when."""
    return MappedTable(path, mapping, shown=shown).look()


class _Rejects:
    """Lines and reasons of many rejects in little room."""

    def __init__(self, part: Part) -> None:
        self._part: Part = part
        self._lines = array("q")
        self._codes = array("l")
        self._reasons: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, rejects: list[tuple[int, str]]) -> None:
        for line, reason in rejects:
            self._lines.append(line)
            self._codes.append(self._reasons.setdefault(reason, len(self._reasons)))

    def most_common(self) -> str:
        ((code, _),) = Counter(self._codes).most_common(1)
        return list(self._reasons)[code]

    def batches(self) -> Iterator[Batch]:
        reasons = list(self._reasons)
        order = sorted(range(len(self)), key=self._lines.__getitem__)
        for first in range(0, len(order), _ROWS_PER_BATCH):
            rejects = tuple(
                Reject(self._lines[i], self._part, None, reasons[self._codes[i]])
                for i in order[first : first + _ROWS_PER_BATCH]
            )
            yield Batch(ROUNDS.empty_table(), CALLS.empty_table(), EVENTS.empty_table(), rejects)


class _Scratch:
    """The scratch database; every statement is in ``queries/mapped_*.sql``."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._run("mapped_unordered")
        self._register(STAGED.empty_table())
        self._run("mapped_staged")

    def _register(self, table: pa.Table) -> None:
        self._connection.register("mapped_chunk", table)

    def _run(self, query: str, **parameters: Any) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(query_text(query), parameters or None)

    def stage(self, rows: pa.Table) -> None:
        """Take in the rows of a chunk."""
        if rows.num_rows:
            self._register(rows)
            self._run("mapped_add")
            self._connection.unregister("mapped_chunk")

    def time(self, begin: Window, end: Window, *, requests: bool) -> list[tuple[int, str]]:
        """Turn times into microseconds; give line and reason of the rows that cannot be."""
        windows = {
            f"{side}_{name}": getattr(window, name if name in ("up", "down") else f"{name}_us")
            for side, window in (("start", begin), ("end", end))
            for name in ("up", "down", "first", "last")
        }
        self._run(
            "mapped_timed",
            **windows,
            requests=requests,
            start_reason=f"{'arrival' if requests else 'start'} is no time in the unit of its column",
            end_reason="end is no time in the unit of its column",
            repeat_reason=f"repeats the {'request_id' if requests else 'call_id'} of an earlier line of its session",
        )
        self._run("mapped_drop_staged")
        return [(int(line), str(reason)) for line, reason in self._run("mapped_rejects").fetchall()]

    def place(self, *, requests: bool, by_request: bool, has_tool: bool) -> None:
        """Make sessions, rounds and calls."""
        self._run("mapped_placed")
        self._run("mapped_members", requests=requests, by_request=by_request)
        self._run("mapped_rounds", named=requests or by_request)
        if requests:
            self._run("mapped_gaps", has_tool=has_tool)
            self._run("mapped_gap_calls")
            self._run("mapped_arrivals")
        else:
            self._run("mapped_calls")
            self._run("mapped_no_arrivals")

    def one(self, query: str) -> dict[str, Any]:
        """Give the one row of a query."""
        result = self._run(query)
        names = [column[0] for column in result.description]
        return dict(zip(names, result.fetchall()[0], strict=True))

    def gaps(self, requests: bool) -> dict[str, tuple[int, int]]:
        """Count the gaps after requests by kind, with the requests that overlapped them."""
        if not requests:
            return {}
        return {gap: (int(n), int(overlapping)) for gap, n, overlapping in self._run("mapped_gap_counts").fetchall()}

    def batches(self) -> Iterator[Batch]:
        """Give rounds, then calls, then events."""
        for found in self._stream("mapped_read_rounds"):
            repaired = pc.sum(found.column("repaired").cast(pa.int64())).as_py() or 0
            yield Batch(_conformed(found, ROUNDS), CALLS.empty_table(), EVENTS.empty_table(), repaired=repaired)
        for found in self._stream("mapped_read_calls"):
            yield Batch(ROUNDS.empty_table(), _conformed(found, CALLS), EVENTS.empty_table())
        for found in self._stream("mapped_read_events"):
            yield Batch(ROUNDS.empty_table(), CALLS.empty_table(), _conformed(found, EVENTS))

    def _stream(self, query: str) -> Iterator[pa.RecordBatch]:
        yield from self._connection.sql(query_text(query)).to_arrow_reader(_ROWS_PER_BATCH)


def _conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Give the columns of a schema; those that no table can tell are null."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
