"""The facts of a block of lines: each object once, with what is damaged told apart from what is not known."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from tracestat.ingest.logs.format import Facts, Format, UnreadableError
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk, LostPiece, pack
from tracestat.ingest.logs.type_words import shown_type
from tracestat.ingest.objects import TOO_DEEP, json_objects

__all__ = ["read_chunk", "read_document"]

# Where a record may begin again after damage.
_START: Final = re.compile(
    r'\{\s*"(?:type|parentUuid|timestamp|event_type|event|schema|id|uuid|session_id|resourceSpans)"\s*:'
)
_STAMP: Final = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT[0-9:.]{8,18}Z?)"')
_STAMP_KEY: Final = b'"timestamp"'
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# msgspec names the place of a wrong type; keys of the text itself must not be repeated
_PLACE: Final = re.compile(r"`(\$[A-Za-z0-9_.\[\]]{0,60})`")
_ENCODER: Final = msgspec.msgpack.Encoder()


def read_chunk(form: Format, names: Names, data: bytes, first_line: int, *, complete: bool = True) -> Chunk:
    r"""Read a block of lines.

    Parameters
    ----------
    form : Format
        What the lines are.
    names : Names
        Makes pseudonyms.
    data : bytes
        Lines that end in ``\n``, the last one perhaps not.
    first_line : int
        Number of the first line, from 1.
    complete : bool
        Whether the last line ended; one that did not and cannot be read is not damaged, but not finished.

    Returns
    -------
    Chunk
        With every object either understood, of unknown type, or lost with its reason.
    """
    reader = _Reader(form, names)
    # a long line stands alone in its block: not worth a copy, and JSON does not mind a newline
    contents = [data] if data.find(b"\n") == len(data) - 1 else data.split(b"\n")
    for i, content in enumerate(contents):
        if content and not content.isspace():
            ended = i < len(contents) - 1 or content.endswith(b"\n")
            reader.line(content, first_line + i, complete=complete or ended)
    return reader.chunk(data)


def read_document(form: Format, names: Names, data: bytes) -> Chunk | None:
    """Read a file that is one JSON value; None if it is not one."""
    reader = _Reader(form, names)
    try:
        reader.take(form.facts(data, names))
    except msgspec.ValidationError as error:
        reader.lose(1, 0, _reason(error))
    except msgspec.DecodeError:
        return None
    except UnreadableError as error:
        reader.lose(1, 0, str(error))
    except RecursionError:
        reader.lose(1, 0, TOO_DEEP)
    return reader.chunk(data)


class _Reader:
    """Gathers what lines say."""

    def __init__(self, form: Format, names: Names) -> None:
        self._form = form
        self._names = names
        self._facts: list[bytes] = []
        self._objects = 0
        self._repaired = 0
        self._lost: list[LostPiece] = []
        self._unknown: Counter[str] = Counter()

    def line(self, content: bytes, number: int, *, complete: bool) -> None:
        """Read a line: as one object if it is one, else piece by piece."""
        try:
            self.take(self._form.facts(content, self._names))
        except msgspec.DecodeError:
            for place, found, reason in _pieces(self._form, content, complete=complete):
                self._piece(number, place, found, reason)
        except UnreadableError as error:
            self.lose(number, 0, str(error))
        except RecursionError:
            self.lose(number, 0, TOO_DEEP)

    def _piece(self, number: int, place: int, found: tuple[bytes, bool] | None, reason: str) -> None:
        if found is None:
            self.lose(number, place, reason)
            return
        raw, repaired = found
        try:
            self.take(self._form.facts(raw, self._names))
        except msgspec.DecodeError as error:
            self.lose(number, place, _reason(error))
        except UnreadableError as error:
            self.lose(number, place, str(error))
        except RecursionError:
            self.lose(number, place, TOO_DEEP)
        else:
            self._repaired += repaired

    def take(self, said: Facts) -> None:
        """Take in what an object says."""
        self._objects += 1
        if said.unknown is not None:
            self._unknown[shown_type(said.unknown)] += 1
        self._facts += map(_ENCODER.encode, said.facts)

    def lose(self, line: int, place: int, reason: str) -> None:
        """Note what could not be understood."""
        self._lost.append(LostPiece(line, place, reason))

    def chunk(self, data: bytes) -> Chunk:
        """Put together what was read."""
        first = _STAMP.search(data)
        return Chunk(
            facts=pack(self._facts),
            objects=self._objects,
            repaired=self._repaired,
            lost=self._lost,
            unknown=dict(self._unknown),
            first=first.group(1).decode() if first else "",
            last=_last_stamp(data),
        )


def _pieces(form: Format, content: bytes, *, complete: bool) -> Iterator[tuple[int, tuple[bytes, bool] | None, str]]:
    """Give the objects of a line that is not one clean object, and one reason per piece that is lost.

    After damage only what the format knows as a whole line counts: objects that stood inside the damaged one do not.
    The bool tells whether text was replaced.
    """
    text = content.decode("utf-8", "surrogateescape")
    damage: tuple[int, str] | None = None
    for place, value, reason in json_objects(text, _START, complete=complete):
        if reason is not None:
            damage = damage or (place, reason)
        elif damage is not None and not (isinstance(value, dict) and form.recognises(value)):
            continue
        elif not isinstance(value, dict):
            yield place, None, "not an object"
        else:
            if damage is not None:
                yield damage[0], None, damage[1]
                damage = None
            clean, replaced = _SURROGATE.subn("\ufffd", json.dumps(value, ensure_ascii=False))
            yield place, (clean.encode(), replaced > 0), ""
    # the rest of a last line that has no end yet is still to come
    if damage is not None and complete:
        yield damage[0], None, damage[1]


def _reason(error: msgspec.DecodeError) -> str:
    place = _PLACE.search(str(error))
    return f"{place.group(1)} has a type that does not belong there" if place else "not of the expected form"


def _last_stamp(data: bytes) -> str:
    at = data.rfind(_STAMP_KEY)
    while at >= 0:
        match = _STAMP.match(data, at)
        if match:
            return match.group(1).decode()
        at = data.rfind(_STAMP_KEY, 0, at)
    return ""
