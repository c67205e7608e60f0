"""Taking a source out of a store as it is: how a new store gets what an old one holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject
from tracestat.ingest.build import IntArray, SourceRow
from tracestat.queries import query_text
from tracestat.store import Trace, attach_read_only, reading

__all__ = ["StoredSource", "stored_path_keys", "stored_sources"]

_ROWS_PER_BATCH: Final = 65_536


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A source of an open store.

    Attributes
    ----------
    trace : Trace
        The store; it must stay open.
    source_id : int
        Its number there.
    row : SourceRow
        What the store says about it.
    """

    trace: Trace
    source_id: int
    row: SourceRow

    def batches(self) -> Iterator[Batch]:
        """Give its rows and rejects."""
        row = self.row
        rejects = tuple(
            Reject(line, part, index, reason)
            for line, part, index, reason in self.trace.run(
                query_text("ingest_copy_rejects"), {"source_id": self.source_id}
            ).rows()
        )
        empty = Batch(ROUNDS.empty_table(), CALLS.empty_table(), EVENTS.empty_table())
        yield Batch(empty.rounds, empty.calls, empty.events, rejects, row.rows_repaired)
        if row.first_round_pk is None or row.last_round_pk is None:
            return
        span = {"first": row.first_round_pk, "last": row.last_round_pk}
        for rounds in self._tables("ingest_copy_rounds", span, ROUNDS):
            yield Batch(rounds, empty.calls, empty.events)
        for calls in self._tables("ingest_copy_calls", span, CALLS):
            yield Batch(empty.rounds, calls, empty.events)
        for events in self._tables("ingest_copy_events", span, EVENTS):
            yield Batch(empty.rounds, empty.calls, events)

    def identities(self) -> IntArray:
        """Give what tells its rounds apart."""
        span = {"first": self.row.first_round_pk or 0, "last": self.row.last_round_pk or -1}
        return self.trace.run(query_text("ingest_round_identity"), span)["identity"].to_numpy()

    def _tables(self, query: str, span: dict[str, int], schema: pa.Schema) -> Iterator[pa.Table]:
        for batch in self.trace.stream(query_text(query), span, rows=_ROWS_PER_BATCH):
            yield pa.Table.from_batches([batch]).cast(schema)


def stored_sources(trace: Trace) -> list[StoredSource]:
    """List the sources of an open store, in their order."""
    return [
        StoredSource(trace, row.pop("source_id"), SourceRow(**row))
        for row in trace.run(query_text("ingest_sources")).to_dicts()
    ]


def stored_path_keys(path: Path) -> set[str | None]:
    """Give the pseudonyms of the paths of a store of whatever version."""
    with reading(path.name):
        connection, close = attach_read_only(path)
        try:
            return {row[0] for row in connection.execute(query_text("ingest_path_keys")).fetchall()}
        finally:
            close()
