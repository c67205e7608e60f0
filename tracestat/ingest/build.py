"""Writing a store: beside the old one, and in its place only when it is complete.

Whatever stops a build (an interrupt, a full disk, a reader's error) leaves the old file as it was.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tracestat
from tracestat.errors import TracestatError
from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject, gather, moved, rejected
from tracestat.ingest.derive import derive
from tracestat.ingest.logs.state import StoredLog
from tracestat.queries import query_text
from tracestat.store import SCHEMA_VERSION, connect_in_memory, interruptible, is_plain, read_head, reading

__all__ = ["FileState", "SourceRow", "StoreWriter", "Tally", "file_state", "remove_leftovers", "writing"]

# Rows gathered before they are inserted: fewer make the inserts slow, more only take memory.
_ROWS_PER_INSERT: Final = 100_000
IntArray = npt.NDArray[np.uint64]
FileState: TypeAlias = tuple[int, int, int] | None
_PREFIX: Final = ".tracestat-"
_SOURCE: Final = pa.field("source_id", pa.int64())
_CALLS: Final = CALLS.append(_SOURCE)
_REJECTS: Final = pa.schema(
    [_SOURCE, ("line", pa.int64()), ("part", pa.string()), ("row_index", pa.int64()), ("reason", pa.string())]
)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row of the table ``sources``, but for its number; see ``queries/ingest_tables.sql``."""

    source: str
    format: str
    sha256: str
    bytes: int
    path_key: str | None
    developer: str | None
    first_round_pk: int | None
    last_round_pk: int | None
    rows_read: int
    rows_kept: int
    rows_rejected: int
    calls_rejected: int
    events_rejected: int
    rows_repaired: int
    note: str | None


_WHOLE: Final = {"int": pa.int64(), "int | None": pa.int64()}
# What is said of the sources, beside their rows.
_TOLD: Final = {
    "sources": pa.schema(
        [_SOURCE, *((field.name, _WHOLE.get(str(field.type), pa.string())) for field in fields(SourceRow))]
    ),
    "logs": pa.schema([_SOURCE, ("state", pa.string()), ("rest", pa.binary())]),
    "facts": pa.schema([_SOURCE, ("piece", pa.int64()), ("facts", pa.binary())]),
}


@dataclass(slots=True)
class Tally:
    """What was counted of the source that is being written."""

    read: int = 0
    kept: int = 0
    rows_rejected: int = 0
    calls_rejected: int = 0
    events_rejected: int = 0
    repaired: int = 0
    last_row: int = -1  # place of the last round in the source


class _Slot:
    """A table for DuckDB to read that can be exchanged.

    A table registered anew for every insert would stay in memory until the transaction ends.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.table = schema.empty_table()

    def clear(self) -> None:
        """Let go of the table."""
        self.table = self.schema.empty_table()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class StoreWriter:
    """Writes sources, one after the other, into a new store; a context manager.

    Parameters
    ----------
    out : Path
        Where the store will be.
    memory_limit : str
        What DuckDB may use.
    threads : int
        Threads of DuckDB.
    before : tuple or None
        The state of ``out`` (:func:`file_state`) when what it holds was looked at.

    Raises
    ------
    TracestatError
        The folder cannot be written, the disk is full, or somebody else wrote the store meanwhile.
    """

    def __init__(self, out: Path, *, memory_limit: str, threads: int, before: FileState = None) -> None:
        self._out = out.absolute()
        self._before = before
        self._beside = self._out.parent / f"{_PREFIX}{_host()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
        # DuckDB cannot write in every folder: then the draft is made in another one, and copied
        self._elsewhere = None if is_plain(self._beside) else Path(tempfile.mkdtemp(prefix="tracestat-"))
        self._draft = self._beside if self._elsewhere is None else self._elsewhere / "draft.tmp"
        self._memory_limit = memory_limit
        self._threads = threads
        self._source_id = 1
        self._first = 1
        self._ranges: list[tuple[int, int]] = []  # first and last round_pk of the sources so far
        self._digests: list[tuple[Any, ...]] = []  # what those hold, as far as it was asked for
        self._waiting: list[tuple[int, Batch]] = []  # with the number of their source
        self._sources: list[dict[str, object]] = []
        self._logs: list[tuple[int, StoredLog]] = []
        schemas = {"rounds": ROUNDS, "calls": _CALLS, "events": EVENTS, "rejects": _REJECTS, **_TOLD}
        self._slots = {name: _Slot(schema) for name, schema in schemas.items()}
        self.tally = Tally()

    def __enter__(self) -> StoreWriter:
        remove_leftovers(self._out.parent)
        _check_folder(self._out, self._beside)
        with writing(self._out.name):
            # One thread while rows come in: the others parse.
            self._connection = connect_in_memory(
                self._draft.with_suffix(".d"), memory_limit=self._memory_limit, threads=1
            )
            try:
                self._run("ingest_attach_build", path=str(self._draft))
                self._run("ingest_use")
                self._run("ingest_tables")
                for name, slot in self._slots.items():
                    self._connection.register(f"batch_{name}", slot)
                self._connection.begin()
            except BaseException:
                self._remove()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._remove()

    def add(self, batch: Batch) -> None:
        """Take in rounds of the current source; their ``row`` is the place in the source."""
        tally = self.tally
        if batch.rounds.num_rows:
            tally.last_row = max(tally.last_row, pa.compute.max(batch.rounds.column(0)).as_py())
        tally.read += batch.read
        tally.kept += batch.rounds.num_rows
        tally.rows_rejected += rejected(batch.rejects, "round")
        tally.calls_rejected += rejected(batch.rejects, "call")
        tally.events_rejected += rejected(batch.rejects, "event")
        tally.repaired += batch.repaired
        self._waiting.append((self._source_id, moved(batch, self._first)))
        rows = sum(b.rounds.num_rows + b.calls.num_rows + b.events.num_rows for _, b in self._waiting)
        if rows >= _ROWS_PER_INSERT:
            self._flush()

    def end_source(
        self,
        row: Callable[[Tally, int | None, int | None], SourceRow],
        *,
        before: IntArray | None = None,
        log: StoredLog | None = None,
    ) -> int | None:
        """Close the current source.

        Parameters
        ----------
        row : callable
            Makes the row of ``sources`` from the tally and the first and last round_pk.
        before : array of uint64, optional
            Identities of the rounds that an earlier version of the source had.
        log : StoredLog, optional
            What is kept of a raw log; its rounds are known not to repeat those of another.

        Returns
        -------
        int or None
            How many of its rounds that version did not have; None if an earlier source holds the same rows: then
            this one is left out.
        """
        tally, first = self.tally, self._first
        self.tally = Tally()
        last = first + tally.last_row
        if log is None:
            self._flush()
            if self._repeats(first, last):
                return None
        has_rounds = tally.kept > 0
        made = row(tally, first if has_rounds else None, last if has_rounds else None)
        self._sources.append({"source_id": self._source_id, **asdict(made)})
        if log is not None:
            self._logs.append((self._source_id, log))
        with writing(self._out.name):
            new = tally.kept
            if before is not None:
                self._flush()
                new = _count_new(self._identities(first, last), before)
        self._first = last + 1
        self._source_id += 1
        return new

    def finish(self) -> dict[str, int]:
        """Derive the other tables, make the file safe and put it in place; give the rows of each table."""
        self._flush()
        with writing(self._out.name):
            self._write_sources()
            self._run("ingest_trace_source")
            now = datetime.now(UTC).replace(tzinfo=None)
            self._run("ingest_mark", schema_version=SCHEMA_VERSION, version=tracestat.__version__, created_at=now)
            self._run("ingest_set_threads", threads=self._threads)
            self._connection.commit()
            pa.default_memory_pool().release_unused()  # DuckDB needs the room now
            derive(self._connection)
            self._run("ingest_checkpoint")
            self._run("ingest_use_memory")
            self._run("ingest_detach")
        counts = self._read_back()
        with writing(self._out.name):
            if self._draft != self._beside:
                shutil.copyfile(self._draft, self._beside)
            if file_state(self._out) != self._before:  # it holds what this one does not
                raise TracestatError(f"{self._out.name}: another ingest wrote it meanwhile: run this one again")
            _replace(self._beside, self._out)
        return counts

    def _read_back(self) -> dict[str, int]:
        """Read the finished file from its beginning: DuckDB does not always say that a disk was full."""
        try:
            with reading(self._out.name):
                self._run("ingest_attach_store", path=str(self._draft))
                self._run("ingest_use")
                counts = read_head(self._connection, self._out.name).counts
        except TracestatError as error:
            raise TracestatError(f"{self._out.name} could not be written: is the disk full?") from error
        self._connection.close()
        return counts

    def _run(self, query: str, **parameters: Any) -> None:
        self._connection.execute(query_text(query), parameters or None)

    def _flush(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        batch = gather([b for _, b in waiting])
        sources = [pa.repeat(pa.scalar(source, pa.int64()), b.calls.num_rows) for source, b in waiting]
        tables = {
            "rounds": batch.rounds,
            "calls": batch.calls.append_column(_SOURCE, pa.chunked_array(sources, pa.int64())),
            "events": batch.events,
            "rejects": pa.concat_tables([_reject_table(source, b.rejects) for source, b in waiting]),
        }
        with writing(self._out.name):
            for name, table in tables.items():
                if table.num_rows:
                    self._slots[name].table = table
                    self._run(f"ingest_add_{name}")
                    self._slots[name].clear()

    def _write_sources(self) -> None:
        """Write what is said of the sources, all at once: there may be thousands of logs."""
        logs = [
            (source, msgspec.json.encode(log.state).decode(), msgspec.msgpack.encode(log.rest))
            for source, log in self._logs
        ]
        facts = [(source, n, piece) for source, log in self._logs for n, piece in enumerate(log.pieces)]
        for name, rows in (
            ("sources", [tuple(row.values()) for row in self._sources]),
            ("logs", logs),
            ("facts", facts),
        ):
            if rows:
                columns = [
                    pa.array(column, kind)
                    for column, kind in zip(zip(*rows, strict=True), _TOLD[name].types, strict=True)
                ]
                self._slots[name].table = pa.table(columns, schema=_TOLD[name])
                self._run(f"ingest_add_{name}")
                self._slots[name].clear()

    def largest_custom_numbers(self) -> dict[str, int]:
        """Give the largest number of each kind of private name among the rows so far."""
        self._flush()
        result = self._connection.execute(query_text("ingest_custom_names"))
        return dict(zip([column[0] for column in result.description], result.fetchall()[0], strict=True))

    def _repeats(self, first: int, last: int) -> bool:
        """Tell whether the rows just written are those of an earlier source, and take them out again if so."""
        if last < first:
            return False
        self._ranges.append((first, last))
        if len(self._ranges) == 1:  # worth reading again only when there is a second source
            return False
        with writing(self._out.name):
            for known in self._ranges[len(self._digests) : -1]:
                self._digests.append(self._digest(*known))
            digest = self._digest(first, last)
            if digest not in self._digests:
                self._digests.append(digest)
                return False
            self._ranges.pop()
            for table in ("rounds", "calls", "events"):
                self._run(f"ingest_drop_{table}", first=first)
            self._run("ingest_drop_rejects", source_id=self._source_id)
        return True

    def _digest(self, first: int, last: int) -> tuple[Any, ...]:
        row = self._connection.execute(query_text("ingest_digest"), {"first": first, "last": last}).fetchone()
        return tuple(row or ())

    def _identities(self, first: int, last: int) -> IntArray:
        relation = self._connection.sql(query_text("ingest_round_identity"), params={"first": first, "last": last})
        found: IntArray = relation.fetchnumpy()["identity"]
        return found

    def _remove(self) -> None:
        """Close the draft and take away what is left of it."""
        self._connection.close()
        _unlink(self._draft)
        _unlink(self._beside)
        if self._elsewhere is not None:
            shutil.rmtree(self._elsewhere, ignore_errors=True)


@contextmanager
def writing(shown: str) -> Iterator[None]:
    """Turn what goes wrong in writing a store into one line for the user."""
    try:
        with interruptible():
            yield
    except duckdb.OutOfMemoryException as error:
        raise TracestatError(f"{shown}: DuckDB's memory limit is too small for this build: raise it") from error
    except (duckdb.Error, OSError) as error:
        if "No space left" in str(error) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise TracestatError(f"{shown}: no space left on the disk: free some, or choose another -o") from error
        raise TracestatError(f"{shown} could not be written ({_reason(error)})") from error


def _reason(error: duckdb.Error | OSError) -> str:
    """Say why without the path that DuckDB's own message holds."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    known = (os.strerror(code) for code in (errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES))
    return next((reason for reason in known if reason in str(error)), type(error).__name__)


def remove_leftovers(folder: Path) -> None:
    """Take away drafts of builds on this machine that were killed."""
    for draft in folder.glob(f"{_PREFIX}{_host()}-*.tmp"):
        pid = draft.name.removeprefix(f"{_PREFIX}{_host()}-").split("-")[0]
        if pid.isdigit() and not _is_running(int(pid)):
            _unlink(draft)


def file_state(path: Path) -> FileState:
    """Tell one version of a file from the next; None where there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _unlink(draft: Path) -> None:
    for path in (draft, draft.with_name(draft.name + ".wal")):
        path.unlink(missing_ok=True)
    shutil.rmtree(draft.with_suffix(".d"), ignore_errors=True)


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # elsewhere the question itself may stop the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _check_folder(out: Path, draft: Path) -> None:
    """Find out before the work whether the result can be written."""
    try:
        draft.touch(exist_ok=False)
        draft.unlink()
    except FileNotFoundError:
        raise TracestatError(f"the folder for {out.name} does not exist: make it first") from None
    except OSError as error:
        raise TracestatError(f"{out.name} cannot be written there ({error.strerror}): choose another -o") from error


def _replace(draft: Path, out: Path) -> None:
    if out.exists():
        shutil.copymode(out, draft)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(out)
    if os.name == "posix":
        folder = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _count_new(now: IntArray, before: IntArray) -> int:
    """Count what is in one list and not in the other; repeats count as often as they occur."""
    if not len(before):
        return len(now)
    kinds, counts = np.unique(now, return_counts=True)
    known, had = np.unique(before, return_counts=True)
    at = np.minimum(np.searchsorted(known, kinds), len(known) - 1)
    covered = np.where(known[at] == kinds, had[at], 0)
    return int(np.maximum(counts - covered, 0).sum())


def _reject_table(source: int, rejects: tuple[Reject, ...]) -> pa.Table:
    columns = [[source] * len(rejects), *([getattr(r, name) for r in rejects] for name in _REJECTS.names[1:])]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, _REJECTS, strict=True)], schema=_REJECTS)
