"""What is kept of a log between two ingests: how far it was read, and the facts found so far.

Facts are kept in compressed pieces, each one msgpack array, so that what a log grows by is added behind what is there.
Neither holds text of the log.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from tracestat.errors import TracestatError

__all__ = ["Chunk", "LogState", "LostPiece", "StoredLog", "pack", "unpack"]

# how a msgpack array of any length begins
_HEAD: Final = struct.Struct(">BI")
_ARRAY_32: Final = 0xDD
_LEVEL: Final = 1  # facts repeat themselves: the fastest level takes nine tenths off


class LostPiece(msgspec.Struct, frozen=True, array_like=True):
    """What was read and could not be understood: its line, its place on the line, and why."""

    line: int
    place: int
    reason: str


class Chunk(msgspec.Struct):
    """What a block of lines says.

    Attributes
    ----------
    facts : bytes
        A piece: what :func:`pack` makes.
    objects, repaired : int
        Objects understood, and those of them in which text that is no Unicode was replaced.
    lost : list of LostPiece
        What could not be understood.
    unknown : dict of str to int
        Lines of types that are not known, by type.
    first, last : str
        First and last time stamp, as written; empty where there is none.
    """

    facts: bytes = b""
    objects: int = 0
    repaired: int = 0
    lost: list[LostPiece] = []
    unknown: dict[str, int] = {}
    first: str = ""
    last: str = ""


class LogState(msgspec.Struct, frozen=True):
    """How far a log was read: all that its complete lines said but the facts.

    Attributes
    ----------
    slug : str
        Its format.
    offset : int
        Bytes of complete lines read; 0 for a log that is read whole each time.
    size, mtime_ns : int
        Of the file when it was read: unchanged, it is not opened again.
    head, tail : str
        Keyed hashes of its first bytes and of the last ones before ``offset``: unchanged, it has only grown.
    lines : int
        Complete lines read.
    objects, repaired, lost, unknown, first, last
        As in :class:`Chunk`.
    unfinished : bool
        Whether the file ended within a line.
    note : str or None
        What else a reader of the store should know.
    key : str
        Mark of the user's key that its pseudonyms are made with.
    """

    slug: str
    offset: int = 0
    size: int = 0
    mtime_ns: int = 0
    head: str = ""
    tail: str = ""
    lines: int = 0
    objects: int = 0
    repaired: int = 0
    lost: tuple[LostPiece, ...] = ()
    unknown: dict[str, int] = {}
    first: str = ""
    last: str = ""
    unfinished: bool = False
    note: str | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log as the store keeps it.

    Attributes
    ----------
    state : LogState
        How far it was read.
    pieces : tuple of bytes
        Facts of its complete lines.
    rest : Chunk
        What its unfinished last line says: used, but read again next time.
    """

    state: LogState
    pieces: tuple[bytes, ...] = ()
    rest: Chunk = field(default_factory=Chunk)

    @property
    def objects(self) -> int:
        """JSON objects understood."""
        return self.state.objects + self.rest.objects

    @property
    def lost(self) -> tuple[LostPiece, ...]:
        """What could not be understood."""
        return (*self.state.lost, *self.rest.lost)

    @property
    def span(self) -> tuple[str, str]:
        """First and last time stamp."""
        return self.state.first or self.rest.first, self.rest.last or self.state.last

    @property
    def sha256(self) -> str:
        """Hash of all facts: equal however the log was cut into ingests."""
        digest = hashlib.sha256()
        for piece in (*self.pieces, self.rest.facts):
            digest.update(memoryview(unpack(piece))[_HEAD.size :])
        return digest.hexdigest()

    def facts(self, kind: Any) -> Iterator[Any]:
        """Give the facts, of a union of tagged structs, in the order of the lines.

        Raises
        ------
        TracestatError
            The store that they were kept in is damaged.
        """
        decoder = _decoder(kind)
        for piece in (*self.pieces, self.rest.facts):
            try:
                facts = decoder.decode(unpack(piece))
            except msgspec.DecodeError as error:
                raise _damaged() from error
            yield from facts


@lru_cache(maxsize=32)
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[list[Any]]:
    return msgspec.msgpack.Decoder(list[kind])


def pack(facts: Sequence[bytes]) -> bytes:
    """Make a piece of encoded facts; nothing of none."""
    return zlib.compress(b"".join((_HEAD.pack(_ARRAY_32, len(facts)), *facts)), _LEVEL) if facts else b""


def unpack(piece: bytes) -> bytes:
    """Give the msgpack array of a piece.

    Raises
    ------
    TracestatError
        It is none.
    """
    try:
        return zlib.decompress(piece) if piece else _HEAD.pack(_ARRAY_32, 0)
    except zlib.error as error:
        raise _damaged() from error


def _damaged() -> TracestatError:
    return TracestatError("what the store keeps of its raw logs is damaged: make it again from the logs")
