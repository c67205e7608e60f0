"""One reader for each kind of source: batches in the source's order, then what the file turned out to be."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from tracestat.errors import TracestatError
from tracestat.ingest.batch import Batch, moved
from tracestat.ingest.blocks import LineFile
from tracestat.ingest.columns import CALL_COLUMNS, EVENT_COLUMNS, ROUND_COLUMNS
from tracestat.ingest.detect import Found, Table
from tracestat.ingest.mapped import MappedTable, Mapping
from tracestat.ingest.pipeline import in_order
from tracestat.ingest.tables import read_tables
from tracestat.ingest.tracelab_json import read_block
from tracestat.queries import query_text
from tracestat.store import attach_read_only, reading

__all__ = ["READ_MEMORY", "Reader", "content_hash", "reader_of"]

# What DuckDB may use to stream a file that is only read from one end to the other.
READ_MEMORY: Final = "128MB"
_ROWS_PER_BATCH: Final = 65_536
_HASH_BYTES: Final = 1 << 20
_QUERIES: Final[dict[Table, str]] = {
    "rounds": "ingest_read_rounds",
    "tool_calls": "ingest_read_calls",
    "timing_events": "ingest_read_events",
}
_PARQUET_COLUMNS: Final[dict[Table, set[str]]] = {
    "rounds": {"round_pk", *ROUND_COLUMNS},
    "tool_calls": {"round_pk", *CALL_COLUMNS, "root_tool_call_id", "process_state", "process_exit_code"},
    "timing_events": {"round_pk", *EVENT_COLUMNS},
}

OnBytes = Callable[[int], None]


class Reader(ABC):
    """What the builder needs of a source.

    Attributes
    ----------
    sha256 : str
        Hash of the content, once all batches were read.
    size : int
        Bytes, once all batches were read.
    note : str or None
        What else a reader of the store should know.
    told : tuple of str
        How a plain table was read, for the screen.
    rows : (int, int) or None
        Rows read and rejected, where these are not rounds.
    """

    def __init__(self, found: Found, *, on_bytes: OnBytes, workers: int) -> None:
        self.found = found
        self.on_bytes = on_bytes
        self.workers = workers
        self.sha256 = ""
        self.size = 0
        self.note: str | None = None
        self.told: tuple[str, ...] = ()
        self.rows: tuple[int, int] | None = None

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Give the rows; ``row`` is the place of a round in the source."""


def reader_of(found: Found, *, on_bytes: OnBytes, workers: int, force: bool = False) -> Reader:
    """Give the reader of a source.

    Parameters
    ----------
    found : Found
        The source and its kind.
    on_bytes : callable
        Told of the bytes of the source as they are read.
    workers : int
        Threads that may parse at once.
    force : bool
        Read a plain table most of which is damaged.
    """
    if found.mapping is not None:
        return _Mapped(found, found.mapping, on_bytes=on_bytes, workers=workers, force=force)
    kinds: dict[str, type[Reader]] = {
        "TraceLab JSONL": _Lines,
        "TraceLab DuckDB": _DuckDB,
        "TraceLab Parquet": _Parquet,
    }
    return kinds[found.kind](found, on_bytes=on_bytes, workers=workers)


def content_hash(found: Found) -> str:
    """Hash the content of a source, as its reader would.

    Raises
    ------
    TracestatError
        A file cannot be read.
    """
    hashes = [_file_hash(path) for path in found.files]
    if found.mapping is not None:  # read otherwise, it is another source
        return hashlib.sha256(f"{hashes[0]}\n{found.mapping.to_toml()}".encode()).hexdigest()
    if len(hashes) == 1:
        return hashes[0]
    tables: list[str] = [table for table, paths in found.parts.items() for _ in paths]
    named = [f"{table} {h}" for table, h in zip(tables or ["file", "log"], hashes, strict=True)]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            while piece := file.read(_HASH_BYTES):
                digest.update(piece)
    except OSError as error:
        raise TracestatError(f"{path.name}: {error.strerror}") from error
    return digest.hexdigest()


class _Lines(Reader):
    """JSON lines: one thread reads blocks, others parse them, while the caller writes the last ones."""

    def batches(self) -> Iterator[Batch]:
        file = LineFile(self.found.place, self.found.compression, on_bytes=self.on_bytes)
        row = 0
        try:
            for batch in in_order(read_block, file, self.workers):
                yield moved(batch, row)
                row += batch.rounds.num_rows
        except OSError as error:
            raise TracestatError(f"{self.found.shown}: {error.strerror or 'cannot be read'}") from error
        self.sha256, self.size = file.sha256, file.size
        if file.damage:
            self.note = f"{file.damage}: what was before that is read"


class _DuckDB(Reader):
    """A DuckDB file of TraceLab, opened as any file from someone else is: read-only, reaching nothing."""

    def batches(self) -> Iterator[Batch]:
        with reading(self.found.shown):
            self._connection, close = attach_read_only(self.found.place, memory_limit=READ_MEMORY, threads=self.workers)
            try:
                yield from read_tables(self, self.found.shown)
            finally:
                close()
        self.sha256 = content_hash(self.found)
        self.size = sum(path.stat().st_size for path in self.found.files)
        self.on_bytes(self.size)

    def keys(self) -> Iterator[pa.RecordBatch]:
        return self._stream("ingest_read_keys")

    def stream(self, table: Table) -> Iterator[pa.RecordBatch]:
        return self._stream(_QUERIES[table])

    def _stream(self, query: str) -> Iterator[pa.RecordBatch]:
        relation = self._connection.sql(query_text(query))
        yield from relation.to_arrow_reader(_ROWS_PER_BATCH)


class _Parquet(Reader):
    """A folder of Parquet files with TraceLab's three tables."""

    def batches(self) -> Iterator[Batch]:
        try:
            yield from read_tables(self, self.found.shown)
        except (pa.ArrowException, OSError) as error:
            raise TracestatError(f"{self.found.shown}: a Parquet file in it is damaged or cannot be read") from error
        self.sha256 = content_hash(self.found)
        self.size = sum(path.stat().st_size for path in self.found.files)
        self.on_bytes(self.size)

    def keys(self) -> Iterator[pa.RecordBatch]:
        for path in self.found.parts["rounds"]:
            yield from _parquet_batches(path, {"round_pk"})

    def stream(self, table: Table) -> Iterator[pa.RecordBatch]:
        for path in self.found.parts[table]:
            yield from _parquet_batches(path, _PARQUET_COLUMNS[table])


class _Mapped(Reader):
    """A plain table, of which a mapping says which column serves for what."""

    def __init__(self, found: Found, mapping: Mapping, *, on_bytes: OnBytes, workers: int, force: bool) -> None:
        super().__init__(found, on_bytes=on_bytes, workers=workers)
        self._table = MappedTable(
            found.place, mapping, shown=found.shown, force=force, on_bytes=on_bytes, threads=workers
        )

    def batches(self) -> Iterator[Batch]:
        yield from self._table.batches()
        self.sha256 = content_hash(self.found)
        self.size = self.found.place.stat().st_size
        self.note, self.told = self._table.note, self._table.told
        self.rows = (self._table.read, self._table.rejected)


def _parquet_batches(path: Path, columns: set[str]) -> Iterator[pa.RecordBatch]:
    with pa.parquet.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if name in columns]
        yield from file.iter_batches(_ROWS_PER_BATCH, columns=names)
