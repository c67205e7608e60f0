r"""A file as blocks of complete lines, whatever it is compressed with, in bounded memory.

What can be read of a damaged compressed stream is given before the damage is told; the hash of the file's own bytes
is made on the way. Lines end at the byte ``\n`` and nowhere else.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

__all__ = ["BLOCK_BYTES", "MAX_LINE_BYTES", "Block", "Compression", "LineFile"]

Compression: TypeAlias = Literal["", "gzip", "zstd"]

BLOCK_BYTES: Final = 4 << 20
MAX_LINE_BYTES: Final = 64 << 20
_PIECE: Final = 1 << 16
_NEWLINE: Final = ord("\n")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file.

    Attributes
    ----------
    data : bytes-like
        Lines with their newlines; empty when ``too_long``.
    first_line : int
        Number of the first line, from 1.
    complete : bool
        Whether the last line ends in a newline.
    too_long : bool
        The block stands for one line that is longer than a line may be, and was skipped.
    """

    data: bytes | bytearray | memoryview
    first_line: int
    complete: bool
    too_long: bool = False


class _Damage(Exception):  # noqa: N818 - caught here, never seen outside
    """The stream cannot be read further; the message says why."""


class _Stream(Protocol):
    def readinto(self, into: memoryview) -> int: ...


class LineFile:
    """Reads a file as blocks of lines.

    Parameters
    ----------
    path : Path
        The file.
    compression : {"", "gzip", "zstd"}
        How it is compressed.
    on_bytes : callable, optional
        Told how many bytes of the file were read, as they are read.
    block_bytes, max_line_bytes : int
        Size of a block, and of the longest line that is read.
    start : int
        Where in an uncompressed file to begin: after a newline.
    first_line : int
        Number of the line there.
    hashed : bool
        Make the hash of the file.

    Attributes
    ----------
    sha256 : str
        Hash of the file's bytes, once all blocks were read.
    size : int
        Bytes of the file that were read.
    damage : str or None
        Why the file ends early, once all blocks were read.
    """

    def __init__(
        self,
        path: Path,
        compression: Compression = "",
        *,
        on_bytes: Callable[[int], None] | None = None,
        block_bytes: int = BLOCK_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
        start: int = 0,
        first_line: int = 1,
        hashed: bool = True,
    ) -> None:
        self._path = path
        self._compression = compression
        self._on_bytes = on_bytes
        self._block_bytes = block_bytes
        self._max_line_bytes = max_line_bytes
        self._start = start
        self._first_line = first_line
        self._hashed = hashed
        self.sha256 = ""
        self.size = 0
        self.damage: str | None = None

    def __iter__(self) -> Iterator[Block]:
        with self._path.open("rb", buffering=0) as file:
            if self._start:
                file.seek(self._start)
            raw = _Hashed(file, self._on_bytes, hashed=self._hashed)
            yield from self._blocks(self._stream(raw))
            while raw.readinto(memoryview(bytearray(_PIECE))):  # what lies behind the damage belongs to the hash
                pass
            self.sha256 = raw.sha256.hexdigest()
            self.size = raw.count

    def _stream(self, raw: _Hashed) -> _Stream:
        if self._compression == "gzip":
            return _Gzip(raw)
        if self._compression == "zstd":
            return _Zstd(raw, self._path)
        return raw

    def _blocks(self, stream: _Stream) -> Iterator[Block]:
        line = self._first_line
        rest = b""
        skipping = False  # inside a line that is too long
        ended = False
        while not ended:
            # no larger than what the longest line needs, so that a line beyond it is never read whole
            largest = self._max_line_bytes + self._block_bytes
            buffer = bytearray(max(self._block_bytes, min(2 * len(rest), largest)))
            filled = len(rest)
            buffer[:filled] = rest
            rest = b""
            filled, ended = self._fill(stream, buffer, filled)
            if line == 1 and buffer.startswith(_BOM):
                del buffer[: len(_BOM)]
                filled -= len(_BOM)
            start = 0
            if skipping:
                start = buffer.find(b"\n", 0, filled) + 1
                if start == 0 and not ended:
                    rest = b""
                    continue
                skipping = False
                yield Block(b"", line, complete=start > 0, too_long=True)
                line += 1
                start = start or filled
            cut = buffer.rfind(b"\n", start, filled) + 1
            if cut > start:
                data = memoryview(buffer)[start:cut]
                yield Block(data, line, complete=True)
                line += int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))
                start = cut
            if ended and start < filled:
                yield Block(memoryview(buffer)[start:filled], line, complete=False)
            rest = bytes(memoryview(buffer)[start:filled])
            if len(rest) > self._max_line_bytes:
                skipping = True
                rest = b""

    def _fill(self, stream: _Stream, buffer: bytearray, at: int) -> tuple[int, bool]:
        """Fill the buffer from a place on; tell how far it is filled and whether the file has ended."""
        with memoryview(buffer) as view:
            while at < len(view):
                try:
                    got = stream.readinto(view[at:])
                except _Damage as damage:
                    self.damage = str(damage)
                    return at, True
                if got == 0:
                    return at, True
                at += got
        return at, False


class _Hashed(io.RawIOBase):
    """A file that hashes what is read of it."""

    def __init__(
        self, file: BinaryIO | io.FileIO, on_bytes: Callable[[int], None] | None, *, hashed: bool = True
    ) -> None:
        self._file = file
        self._hashed = hashed
        self._on_bytes = on_bytes
        self.sha256 = hashlib.sha256()
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        got = self._file.readinto(into) or 0  # type: ignore[union-attr]
        if self._hashed:
            self.sha256.update(memoryview(into)[:got])
        self.count += got
        if got and self._on_bytes:
            self._on_bytes(got)
        return got


class _Gzip:
    """All members of a gzip file, one after the other."""

    def __init__(self, raw: _Hashed) -> None:
        self._raw = raw
        self._member = zlib.decompressobj(31)
        self._begun = False  # inside a member
        self._input = b""
        self._output = b""
        self._damage: str | None = None

    def readinto(self, into: memoryview) -> int:
        while not self._output:
            if self._damage:
                raise _Damage(self._damage)
            if not self._input:
                self._input = self._raw.read(_PIECE) or b""
                if not self._input:
                    if self._begun:
                        raise _Damage("the gzip stream is cut off")
                    return 0
            if not self._begun:
                self._input = self._input.lstrip(b"\0")  # padding between members
                self._begun = bool(self._input)
            if self._begun:
                self._inflate(len(into))
        got = min(len(into), len(self._output))
        into[:got] = self._output[:got]
        self._output = self._output[got:]
        return got

    def _inflate(self, most: int) -> None:
        before = self._member.copy()
        try:
            self._output = self._member.decompress(self._input, most)
        except zlib.error:
            self._damage = "the gzip stream is damaged"
            self._output = _until_damage(before, self._input)
            return
        self._input = self._member.unconsumed_tail
        if self._member.eof:
            self._input = self._member.unused_data
            self._member = zlib.decompressobj(31)
            self._begun = False


def _until_damage(member: zlib._Decompress, data: bytes) -> bytes:
    """Give what a damaged piece holds before the damage, by going through it byte by byte."""
    out = bytearray()
    try:
        for i in range(len(data)):
            out += member.decompress(data[i : i + 1])
    except zlib.error:
        pass
    return bytes(out)


class _Zstd:
    """All frames of a zstd file, one after the other."""

    def __init__(self, raw: _Hashed, path: Path) -> None:
        self._stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
        self._path = path
        self._count = 0
        self._tail: Iterator[bytes] | None = None

    def readinto(self, into: memoryview) -> int:
        if self._tail is None:
            try:
                got = int(self._stream.readinto(into[:_PIECE]))
            except OSError:
                self._tail = self._until_damage()
            else:
                self._count += got
                return got
        data = next(self._tail)
        into[:1] = data
        return 1

    def _until_damage(self) -> Iterator[bytes]:
        """Read again what the failed read held before the damage, byte by byte."""
        with self._path.open("rb") as file:
            stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
            at = 0
            while at < self._count and (again := stream.read(min(_PIECE, self._count - at))):
                at += len(again)
            while True:
                try:
                    data = stream.read(1)
                except OSError:
                    break
                if not data:
                    break
                yield data
        raise _Damage("the zstd stream is damaged or cut off")
