"""What the tests of mapped tables share: a table written, read, and given as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Reject
from tracestat.ingest.logs.names import Names
from tracestat.ingest.mapped import MappedTable, load_mapping

NAMES = Names(b"a key of the tests")
CALLS_MAP = "session=chat,tool=fn,start=t0,end=t1"

Row = dict[str, Any]


@dataclass
class Read:
    """A table as it was read."""

    rounds: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    repaired: int = 0
    read: int = 0
    kept: int = 0
    told: tuple[str, ...] = ()
    note: str | None = None

    def seconds(self) -> list[float | None]:
        """Give how long each call took."""
        return [
            None if call["result_at"] is None else (call["result_at"] - call["emitted_at"]).total_seconds()
            for call in self.calls
        ]

    def reasons(self) -> list[tuple[int | None, str]]:
        """Give line and reason of each reject."""
        return [(reject.line, reject.reason) for reject in self.rejects]


def read_file(path: Path, spec: str, **options: Any) -> Read:
    """Read a file with a mapping; every batch must have the schemas that the builder takes."""
    table = MappedTable(path, load_mapping(spec), shown=path.name, names=NAMES, **options)
    found = Read()
    for batch in table.batches():
        assert (batch.rounds.schema, batch.calls.schema, batch.events.schema) == (ROUNDS, CALLS, EVENTS)
        found.rounds += batch.rounds.to_pylist()
        found.calls += batch.calls.to_pylist()
        found.events += batch.events.to_pylist()
        found.rejects += batch.rejects
        found.repaired += batch.repaired
    found.read, found.kept, found.told, found.note = table.read, table.kept, table.told, table.note
    assert found.read == found.kept + len(found.rejects)
    assert [row["row"] for row in found.rounds] == list(range(len(found.rounds)))
    return found


def read(folder: Path, content: str | bytes, spec: str = CALLS_MAP, *, name: str = "table.csv", **options: Any) -> Read:
    """Write a table and read it."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_file(path, spec, **options)


def csv_of(header: str, rows: Sequence[str]) -> str:
    """Write lines."""
    return "\n".join([header, *rows]) + "\n"
