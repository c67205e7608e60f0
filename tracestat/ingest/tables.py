"""Reading tables that were made from TraceLab's rows: its DuckDB file, and its Parquet folder.

Types are checked against ours by value, columns that an older build lacks are filled, and what cannot be a row is
rejected as it would be in the JSON lines. ``row`` is the rank of a round's ``round_pk``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracestat.errors import TracestatError
from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Part, Reject
from tracestat.ingest.columns import CALL_COLUMNS, EVENT_COLUMNS, INTEGER, NAMES, REQUIRED, ROUND_COLUMNS, TEXT, TEXTS
from tracestat.ingest.conform import conform, repair
from tracestat.ingest.detect import Table
from tracestat.ingest.extras import call_extras

__all__ = ["Tables", "read_tables"]

Columns: TypeAlias = dict[str, pa.Array]

# One build had other names: the state of a process, and its link to the call that started it.
_STATES: Final = {"exited": "finished", "continuation_error": "session_error"}


class Tables(Protocol):
    """A source of Arrow batches for each table, each in the order of its rows."""

    def keys(self) -> Iterator[pa.RecordBatch]:
        """Give ``round_pk`` of the rounds."""
        ...

    def stream(self, table: Table) -> Iterator[pa.RecordBatch]:
        """Give the columns of a table that are TraceLab's."""
        ...


def read_tables(tables: Tables, shown: str) -> Iterator[Batch]:
    """Read the three tables of a source.

    Parameters
    ----------
    tables : Tables
        Where the rows come from.
    shown : str
        How messages name the source.

    Yields
    ------
    Batch
        First rounds, then calls, then events.

    Raises
    ------
    TracestatError
        A column has a type that cannot hold its values.
    """
    keys = _Keys(tables.keys(), shown)
    for batch in tables.stream("rounds"):
        yield _rounds(_Rows(batch, ROUND_COLUMNS, "round", shown), keys)
    for batch in tables.stream("tool_calls"):
        yield _calls(_Rows(_renamed(batch), CALL_COLUMNS, "call", shown), keys)
    seen = np.zeros(keys.size, np.int64)  # events of each round so far, for a build without event_index
    for batch in tables.stream("timing_events"):
        yield _events(_Rows(batch, EVENT_COLUMNS, "event", shown), keys, seen)


class _Keys:
    """The rank of each round_pk, and which rounds were kept."""

    def __init__(self, batches: Iterable[pa.RecordBatch], shown: str) -> None:
        parts = [_conform(batch.column(0), INTEGER, "round_pk", shown)[0].drop_null().to_numpy() for batch in batches]
        self._sorted = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        self.size = len(self._sorted)
        self.kept = np.zeros(self.size, bool)

    def ranks(self, keys: pa.Array) -> np.ndarray:
        """Give the rank of each key, -1 where there is no such round."""
        values = pc.fill_null(keys, 0).to_numpy()
        if not self.size:
            return np.full(len(values), -1)
        at = np.minimum(np.searchsorted(self._sorted, values), self.size - 1)
        known = (self._sorted[at] == values) & keys.is_valid().to_numpy(zero_copy_only=False)
        return np.where(known, at, -1)


class _Rows:
    """A batch with our columns and types, and the first fault of each row."""

    def __init__(self, batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], part: Part, shown: str) -> None:
        self.part: Part = part
        self.n = batch.num_rows
        self._faults: dict[int, str] = {}
        self._has = set(batch.schema.names)
        self.columns: Columns = {}
        self._repaired = np.zeros(self.n, bool)
        for name, kind in {"round_pk": INTEGER, **columns}.items():
            self.columns[name] = self._column(batch, name, kind, shown)
        for name in REQUIRED[part]:
            self.fault(self.columns[name].is_null(), f"missing {name}")
        self.fault(self.columns["round_pk"].is_null(), "missing round_pk")

    def _column(self, batch: pa.RecordBatch, name: str, kind: pa.DataType, shown: str) -> pa.Array:
        if name not in self._has:
            return pa.nulls(self.n, kind)
        values, bad = _conform(batch.column(name), kind, name, shown)
        if bad is not None:
            self.fault(bad, f"{name} is not {NAMES[kind]}")
        if kind in (TEXT, TEXTS):
            values, repaired = repair(values)
            self._repaired |= repaired
        return values

    def has(self, name: str) -> bool:
        """Tell whether the source has this column."""
        return name in self._has

    def fault(self, mask: pa.Array | np.ndarray, reason: str) -> None:
        """Note a fault of some rows; the first one of a row stays."""
        for row in np.flatnonzero(np.asarray(mask)):
            self._faults.setdefault(int(row), reason)

    def forgive(self, mask: np.ndarray) -> None:
        """Drop the faults of some rows, which go with their round."""
        for row in np.flatnonzero(mask):
            self._faults.pop(int(row), None)

    def kept(self, keep: np.ndarray | None = None) -> np.ndarray:
        """Give the places of the rows without fault, of those wanted."""
        good = np.ones(self.n, bool) if keep is None else keep.copy()
        good[list(self._faults)] = False
        return np.flatnonzero(good)

    def repaired(self, rows: np.ndarray) -> int:
        """Count the rows in which text was repaired."""
        return int(self._repaired[rows].sum())

    def rejects(self, index: str | None = None) -> tuple[Reject, ...]:
        """Give a reject for each row with a fault."""
        keys = self.columns["round_pk"]
        places = None if index is None else self.columns[index]
        return tuple(
            Reject(keys[row].as_py(), self.part, None if places is None else places[row].as_py(), reason)
            for row, reason in sorted(self._faults.items())
        )

    def table(self, schema: pa.Schema, rows: np.ndarray, ranks: np.ndarray, **more: pa.Array) -> pa.Table:
        """Give the kept rows as a table of a batch."""
        at = pa.array(rows)
        columns: Columns = {**self.columns, **more, "row": pa.array(ranks, INTEGER)}
        return pa.table([columns[name].take(at) for name in schema.names], schema=schema)


def _conform(column: pa.Array, kind: pa.DataType, name: str, shown: str) -> tuple[pa.Array, np.ndarray | None]:
    try:
        return conform(column, kind)
    except TypeError:
        raise TracestatError(
            f"{shown}: column {name} is {column.type}, but {NAMES[kind]} is needed: is this a TraceLab file?"
        ) from None


def _rounds(rows: _Rows, keys: _Keys) -> Batch:
    ranks = keys.ranks(rows.columns["round_pk"])
    known = ranks >= 0
    first = np.zeros(rows.n, bool)
    first[np.unique(ranks, return_index=True)[1]] = True
    rows.fault(known & (keys.kept[ranks] | ~first), "a round_pk that an earlier row has")
    kept = rows.kept()
    keys.kept[ranks[kept]] = True
    return Batch(
        rounds=rows.table(ROUNDS, kept, ranks),
        calls=CALLS.empty_table(),
        events=EVENTS.empty_table(),
        rejects=rows.rejects(),
        repaired=rows.repaired(kept),
    )


def _children(rows: _Rows, keys: _Keys) -> tuple[np.ndarray, np.ndarray]:
    """Give the rank of each row's round, and the rows to keep: those of a rejected round go with it."""
    ranks = keys.ranks(rows.columns["round_pk"])
    rows.fault(ranks < 0, "no round has its round_pk")
    of_rejected = (ranks >= 0) & ~keys.kept[ranks] if keys.size else np.zeros(rows.n, bool)
    rows.forgive(of_rejected)
    return ranks, rows.kept(~of_rejected)


def _calls(rows: _Rows, keys: _Keys) -> Batch:
    ranks, kept = _children(rows, keys)
    extras = call_extras(rows.columns["command_status"], rows.columns["tool_internal_latency_ms"])
    names = CALLS.names[-len(extras) :]
    return Batch(
        rounds=ROUNDS.empty_table(),
        calls=rows.table(CALLS, kept, ranks, **dict(zip(names, extras, strict=True))),
        events=EVENTS.empty_table(),
        rejects=rows.rejects("tool_index"),
    )


def _events(rows: _Rows, keys: _Keys, seen: np.ndarray) -> Batch:
    ranks, kept = _children(rows, keys)
    if not rows.has("event_index"):
        rows.columns["event_index"] = pa.array(_numbered(ranks, seen), INTEGER)
    rejects = rows.rejects("event_index")
    return Batch(
        rounds=ROUNDS.empty_table(),
        calls=CALLS.empty_table(),
        events=rows.table(EVENTS, kept, ranks),
        rejects=tuple(
            Reject(r.line, r.part, None if r.row_index is None else r.row_index - 1, r.reason) for r in rejects
        ),
    )


def _numbered(ranks: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Count the events of each round from 1 in the order of their rows, over all batches."""
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
    lengths = np.diff(np.r_[starts, len(ordered)])
    within = np.arange(len(ordered)) - np.repeat(starts, lengths)
    numbers = np.empty(len(ranks), np.int64)
    numbers[order] = within + 1
    known = ranks >= 0
    numbers[known] += seen[ranks[known]]
    np.add.at(seen, ranks[known], 1)
    return numbers


def _renamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Bring the names and values of the intermediate build to those of v0.0.2."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    moves: tuple[tuple[str, str, Callable[[pa.Array], pa.Array]], ...] = (
        ("process_state", "command_status", _status),
        ("process_exit_code", "command_exit_code", lambda codes: codes),
        ("root_tool_call_id", "continuation_of_tool_call_id", lambda roots: _not_itself(roots, columns)),
    )
    for old, new, change in moves:
        if old in columns:
            values = columns.pop(old)
            if new not in columns:
                columns[new] = change(values)
    return pa.RecordBatch.from_pydict(columns)


def _status(states: pa.Array) -> pa.Array:
    states = states.cast(TEXT)
    for old, new in _STATES.items():
        states = pc.if_else(pc.fill_null(pc.equal(states, old), False), new, states)
    return states


def _not_itself(roots: pa.Array, columns: Columns) -> pa.Array:
    """Drop the link of a call that is its own root: it continues nothing."""
    roots = roots.cast(TEXT)
    own = pc.fill_null(pc.equal(roots, columns["tool_call_id"].cast(TEXT)), False)
    return pc.if_else(own, pa.scalar(None, TEXT), roots)
