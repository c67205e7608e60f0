"""Reading a log: only what it has grown by since the last time, in several processes where that pays."""

from __future__ import annotations

import hmac
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import loky
import msgspec

from tracestat.errors import TracestatError
from tracestat.ingest.blocks import Block, Compression, LineFile
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.lines import read_chunk, read_document
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.processes import begin, work_on
from tracestat.ingest.logs.state import Chunk, LogState, LostPiece, StoredLog
from tracestat.ingest.pipeline import in_order

__all__ = ["MAX_LOG_LINE_BYTES", "LogReader", "has_changed", "key_mark"]

MAX_LOG_LINE_BYTES: Final = 256 << 20
_ENDS_BYTES: Final = 4096
# Of blocks larger than this, one is worked on at a time: memory is for the longest line, not for several of them.
_LARGE_BYTES: Final = 16 << 20
# Another process needs half a second before its first line.
_WORTH_A_PROCESS: Final = 48 << 20

OnBytes = Callable[[int], None]


def key_mark(key: bytes) -> str:
    """Give what tells one user's key from another, and nothing about it."""
    return hmac.digest(key, b"key mark", "sha256").hex()[:16]


def has_changed(path: Path, before: LogState) -> bool:
    """Tell, without opening it, whether a log may have changed since it was read."""
    stat = path.stat()
    return (stat.st_size, stat.st_mtime_ns) != (before.size, before.mtime_ns)


class LogReader:
    """Reads logs one after the other; a context manager, since it may start processes.

    Parameters
    ----------
    key : bytes
        The user's key.
    keep_names : bool
        Also give the private names that were met.
    workers : int
        Processes that may read at once.
    expected_bytes : int
        About how much will be read: little is read in this process.
    on_bytes : callable
        Told of the bytes as they are read.

    Attributes
    ----------
    workers : int
        Processes that read; logs may be read in as many threads.
    seen : dict of (str, str) to str
        (kind, token) to true name of the private names met, empty unless ``keep_names``.
    """

    def __init__(self, key: bytes, *, keep_names: bool, workers: int, expected_bytes: int, on_bytes: OnBytes) -> None:
        self._key = key
        self._keep = keep_names
        self.workers = workers if expected_bytes >= _WORTH_A_PROCESS else 1
        self._on_bytes = on_bytes
        self._names = Names(key, keep=keep_names)
        self._large = threading.Semaphore()
        self._opened = ExitStack()
        self._pool: loky.ProcessPoolExecutor | None = None

    @property
    def seen(self) -> dict[tuple[str, str], str]:
        """True names of the private names met."""
        return self._names.seen

    def __enter__(self) -> LogReader:
        if self.workers > 1:
            self._pool = self._opened.enter_context(
                # unlike the standard one, it does not run the caller's script again in each process
                loky.ProcessPoolExecutor(
                    self.workers,
                    initializer=begin,
                    initargs=(self._key, self._keep),
                )
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None and kind is not None:
            self._pool.shutdown(kill_workers=True)
        self._opened.close()

    def read(
        self, path: Path, form: Format, compression: Compression = "", *, before: StoredLog | None = None
    ) -> StoredLog:
        """Read a log, or what is new of it.

        Parameters
        ----------
        path : Path
            The file.
        form : Format
            What its lines are.
        compression : {"", "gzip", "zstd"}
            How it is compressed; a compressed log is read whole.
        before : StoredLog, optional
            What was kept of it.

        Returns
        -------
        StoredLog

        Raises
        ------
        TracestatError
            The file cannot be read.
        """
        try:
            return self._read(path, form, compression, before)
        except OSError as error:
            raise TracestatError(f"{path.name}: {error.strerror or 'cannot be read'}") from error

    def _read(self, path: Path, form: Format, compression: Compression, before: StoredLog | None) -> StoredLog:
        stat = path.stat()
        if form.document:
            seen = LogState(form.slug, size=stat.st_size, mtime_ns=stat.st_mtime_ns, key=key_mark(self._key))
            whole = self._document(path, form, compression, seen)
            if whole is not None:
                return whole
        grown = before is not None and not compression and self._has_grown(path, before.state)
        start = before if grown and before is not None else StoredLog(LogState(form.slug))
        file = LineFile(
            path,
            compression,
            on_bytes=self._on_bytes,
            max_line_bytes=MAX_LOG_LINE_BYTES,
            start=start.state.offset,
            first_line=start.state.lines + 1,
            hashed=False,
        )
        total = _Total(start)
        rest = b""
        for block, chunk in self._chunks(form, file):
            if block.complete:
                total.add(block, chunk)
            else:
                rest = bytes(block.data)
                total.finish(chunk)
        offset = 0 if compression else start.state.offset + file.size - len(rest)
        head, tail = self._ends(path, offset)
        return total.stored(
            LogState(
                slug=form.slug,
                offset=offset,
                size=stat.st_size,
                mtime_ns=stat.st_mtime_ns,
                head=head,
                tail=tail,
                unfinished=bool(rest),
                note=f"{file.damage}: what was before that is read" if file.damage else None,
                key=key_mark(self._key),
            )
        )

    def _has_grown(self, path: Path, before: LogState) -> bool:
        """Tell whether a log still begins with what was read of it."""
        if before.offset == 0 or path.stat().st_size < before.offset:
            return False
        return self._ends(path, before.offset) == (before.head, before.tail)

    def _ends(self, path: Path, offset: int) -> tuple[str, str]:
        """Hash the first bytes of a log, and the last ones before an offset; keyed, since a prompt can be guessed."""
        if offset == 0:
            return "", ""
        with path.open("rb") as file:
            head = file.read(min(offset, _ENDS_BYTES))
            file.seek(max(0, offset - _ENDS_BYTES))
            tail = file.read(min(offset, _ENDS_BYTES))
        return self._hashed(head), self._hashed(tail)

    def _hashed(self, content: bytes) -> str:
        return hmac.digest(self._key, b"end of a log\0" + content, "sha256").hex()

    def _document(self, path: Path, form: Format, compression: Compression, state: LogState) -> StoredLog | None:
        """Read a file that is one JSON value; None if it is not, since some write one per line."""
        file = LineFile(path, compression, max_line_bytes=MAX_LOG_LINE_BYTES, hashed=False)
        parts: list[bytes] = []
        size = 0
        for block in file:
            size += len(block.data)
            if block.too_long or size > MAX_LOG_LINE_BYTES:
                return None
            parts.append(bytes(block.data))
        chunk = read_document(form, self._names, b"".join(parts))
        if chunk is None:
            return None
        self._on_bytes(file.size)
        total = _Total(StoredLog(state))
        total.add(Block(b"", 1, complete=True), chunk)
        return total.stored(state)

    def _chunks(self, form: Format, file: LineFile) -> Iterator[tuple[Block, Chunk]]:
        def blocks() -> Iterator[Block]:
            for block in file:
                if len(block.data) > _LARGE_BYTES:
                    self._large.acquire()
                yield block

        def work(block: Block) -> tuple[Block, Chunk]:
            try:
                return read(block)
            finally:
                if len(block.data) > _LARGE_BYTES:
                    self._large.release()

        def read(block: Block) -> tuple[Block, Chunk]:
            if block.too_long:
                return block, Chunk(lost=[LostPiece(block.first_line, 0, "longer than a line may be")])
            data = bytes(block.data)
            if self._pool is None or len(data) > _LARGE_BYTES:  # not worth a copy for another process
                return block, read_chunk(form, self._names, data, block.first_line, complete=block.complete)
            made = self._pool.submit(work_on, form.slug, data, block.first_line, complete=block.complete).result()
            self._names.seen.update(made[1])
            return block, made[0]

        yield from in_order(work, blocks(), self.workers) if self._pool is not None else map(work, blocks())


class _Total:
    """What was read of a log so far."""

    def __init__(self, start: StoredLog) -> None:
        self._pieces = list(start.pieces)
        state = start.state
        self._lines = state.lines
        self._objects = state.objects
        self._repaired = state.repaired
        self._lost = list(state.lost)
        self._unknown = Counter(state.unknown)
        self._first, self._last = state.first, state.last
        self._rest = Chunk()

    def add(self, block: Block, chunk: Chunk) -> None:
        """Take in complete lines."""
        self._lines += 1 if block.too_long else bytes(block.data).count(b"\n")
        if chunk.facts:
            self._pieces.append(chunk.facts)
        self._objects += chunk.objects
        self._repaired += chunk.repaired
        self._lost += chunk.lost
        self._unknown.update(chunk.unknown)
        self._first = self._first or chunk.first
        self._last = chunk.last or self._last

    def finish(self, chunk: Chunk) -> None:
        """Take in the last line, which may go on."""
        self._rest = chunk

    def stored(self, state: LogState) -> StoredLog:
        """Give the log as the store keeps it."""
        return StoredLog(
            state=msgspec.structs.replace(
                state,
                lines=self._lines,
                objects=self._objects,
                repaired=self._repaired,
                lost=tuple(self._lost),
                unknown=dict(sorted(self._unknown.items())),
                first=self._first,
                last=self._last,
            ),
            pieces=tuple(self._pieces),
            rest=self._rest,
        )
