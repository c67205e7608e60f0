"""Rows of a table as they are staged: typed, pseudonymised, times still without their unit; and what is no row.

The unit of a column is known when all of it was read, so that a time waits as whole and billionths of a number
(:mod:`tracestat.ingest.mapped.numbers`), or as microseconds where it is written as a date. No id, name or command
leaves this module as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tracestat.errors import UsageError
from tracestat.ingest.columns import BOOLEAN, INTEGER, SECONDS, TEXT, TEXTS
from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.shell import shell_of
from tracestat.ingest.mapped.chunks import Chunk
from tracestat.ingest.mapped.mapping import Mapping, Served
from tracestat.ingest.mapped.numbers import Numbers, numbers_of, scaled
from tracestat.ingest.mapped.times import PER_SECOND, TimeColumn, instants_of

__all__ = ["END_KINDS", "STAGED", "Rows"]

Changed = TypeVar("Changed")
BoolArray = npt.NDArray[np.bool_]

_TIME: Final = {"iso": INTEGER, "whole": INTEGER, "nanos": INTEGER}
STAGED: Final = pa.schema(
    [
        ("line", INTEGER),
        *((name, TEXT) for name in ("session", "provider", "developer", "project", "model", "tool", "request", "call")),
        *((f"{side}_{part}", kind) for side in ("start", "end") for part, kind in _TIME.items()),
        ("took_us", INTEGER),
        *((name, INTEGER) for name in ("input_tokens", "cached_tokens", "output_tokens")),
        ("status", TEXT),
        ("is_error", BOOLEAN),
        ("asked_limit", SECONDS),
        ("executables", TEXTS),
        *((name, TEXT) for name in ("parse_status", "parse_reason", "skeleton", "fingerprint")),
        ("repaired", BOOLEAN),
    ]
)
# What a table may write for the end of a call: TraceLab's status (tracestat.ingest.logs.model) and whether it failed.
END_KINDS: Final[dict[str, tuple[str, bool | None]]] = {
    "completed": ("finished", None),
    "ok": ("finished", False),
    "success": ("finished", False),
    "error": ("failed", True),
    "failed": ("failed", True),
    "deadline": ("running", None),
    "running": ("running", None),
    "timeout": ("timeout", None),
    "refused": ("refused", None),
    "interrupted": ("aborted", None),
    "cancelled": ("aborted", None),
    "canceled": ("aborted", None),
    "background": ("background", None),
}
_FLAGS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}
_NO_PROVIDER: Final = "table"
_LONGEST_US: Final = 100 * 366 * 86_400 * 10**6  # no pause lasts a hundred years
_MOST_TOKENS: Final = 2**53


class Rows:
    """Makes staged rows of chunks.

    Parameters
    ----------
    mapping : Mapping
        What serves for what.
    names : Names
        Makes the pseudonyms.
    shown : str
        How messages name the table.

    Attributes
    ----------
    times : dict of str to TimeColumn
        What is known so far of the columns of times.
    read : int
        Rows so far, kept or not.
    """

    def __init__(self, mapping: Mapping, names: Names, shown: str) -> None:
        self._mapping = mapping
        self._names = names
        self._shown = shown
        self.times = {
            served.field: TimeColumn(served) for served in mapping.served if served.field in ("start", "arrival", "end")
        }
        self.read = 0

    def stage(self, chunk: Chunk) -> tuple[pa.Table, list[tuple[int, str]]]:
        """Give the rows of a chunk, and line and reason of what is none."""
        work = _Chunk(chunk, self._mapping, self._shown)
        names = self._names
        begin = "start" if self._mapping.form == "calls" else "arrival"
        work.text("session", lambda text: names.id("session", text), needed=True)
        work.text("tool", names.tool, needed=self._mapping.form == "calls")
        work.text("provider", _as_it_is, otherwise=_NO_PROVIDER)
        work.text("developer", _as_it_is)
        work.text("project", names.project)
        work.text("model", names.model)
        work.text("request_id", lambda text: names.id("round", text), to="request")
        work.text("call_id", lambda text: names.id("call", text), to="call")
        work.time(self.times.get(begin), "start", needed=True)
        work.time(self.times.get("end"), "end")
        work.microseconds("duration", "took_us")
        for field in ("input_tokens", "cached_tokens", "output_tokens"):
            work.count(field)
        work.end_kind()
        work.flag("is_error")
        work.seconds("asked_limit")
        work.command(names)
        self.read += work.n + len(chunk.damaged)
        return work.finished(), sorted([*chunk.damaged, *work.rejects()])


def _as_it_is(text: str) -> str:
    return text


class _Chunk:
    """A chunk being staged: its columns so far, and the first fault of each row."""

    def __init__(self, chunk: Chunk, mapping: Mapping, shown: str) -> None:
        self.n = len(chunk.lines)
        self._chunk = chunk
        self._mapping = mapping
        self._shown = shown
        self._faults: dict[int, str] = {}
        self._repaired = np.zeros(self.n, bool) if chunk.repaired is None else chunk.repaired
        self._columns: dict[str, pa.Array] = {"line": pa.array(chunk.lines)}

    def fault(self, mask: BoolArray | pa.Array, reason: str) -> None:
        """Note a fault of some rows; the first one of a row stays."""
        for row in np.flatnonzero(np.asarray(mask)):
            self._faults.setdefault(int(row), reason)

    def rejects(self) -> list[tuple[int, str]]:
        """Give line and reason of the rows with a fault."""
        return [(int(self._chunk.lines[row]), reason) for row, reason in self._faults.items()]

    def finished(self) -> pa.Table:
        """Give the rows without fault."""
        self._columns["repaired"] = pa.array(self._repaired)
        columns = [self._columns.get(field.name, pa.nulls(self.n, field.type)) for field in STAGED]
        table = pa.table(columns, schema=STAGED)
        if not self._faults:
            return table
        keep = np.ones(self.n, bool)
        keep[list(self._faults)] = False
        return table.filter(pa.array(keep))

    def text(
        self,
        field: str,
        change: Callable[[str], str],
        *,
        to: str | None = None,
        needed: bool = False,
        otherwise: str | None = None,
    ) -> None:
        """Take a column of names or ids, each changed."""
        found = self._texts(field)
        found = pa.nulls(self.n, TEXT) if found is None else _each(found, change, TEXT)
        if needed:
            self.fault(found.is_null(), f"missing {field}")
        self._columns[to or field] = found if otherwise is None else found.fill_null(otherwise)

    def time(self, column: TimeColumn | None, side: str, *, needed: bool = False) -> None:
        """Take a column of times; one that is missing is a fault only where it is needed."""
        if column is None:
            return
        field = column.served.field
        try:
            instants = instants_of(self._values(column.served))
        except TypeError:
            raise self._wrong(column.served, "a time") from None
        self.fault(instants.bad, f"{field} is no time")
        if needed:
            self.fault(instants.numbers.missing, f"missing {field}")
        column.see(instants, self._chunk.lines)
        numbers = instants.numbers
        self._columns[f"{side}_iso"] = pa.array(instants.iso_us, mask=~instants.is_iso)
        self._columns[f"{side}_whole"] = pa.array(numbers.whole, mask=~numbers.valid)
        self._columns[f"{side}_nanos"] = pa.array(numbers.nanos, mask=~numbers.valid)

    def microseconds(self, field: str, to: str) -> None:
        """Take a column of durations."""
        served = self._mapping.get(field)
        if served is None:
            return
        numbers, scale = self._numbers(served), PER_SECOND[served.unit or "s"]
        values, fits = scaled(numbers, max(1, 10**6 // scale), max(1, scale // 10**6))
        good = fits & (values >= 0) & (values < _LONGEST_US)
        self.fault(~(good | numbers.missing), f"{field} is no number from 0 up")
        self._columns[to] = pa.array(values, mask=~good)

    def seconds(self, field: str) -> None:
        """Take a column of durations that stays in seconds."""
        self.microseconds(field, field)
        if field in self._columns:
            self._columns[field] = pc.divide(self._columns[field].cast(SECONDS), 1e6)

    def count(self, field: str) -> None:
        """Take a column of whole numbers."""
        served = self._mapping.get(field)
        if served is None:
            return
        numbers = self._numbers(served)
        good = numbers.valid & (numbers.nanos == 0) & (numbers.whole >= 0) & (numbers.whole < _MOST_TOKENS)
        self.fault(~(good | numbers.missing), f"{field} is no whole number from 0 up")
        self._columns[field] = pa.array(numbers.whole, mask=~good)
        if field == "cached_tokens" and "input_tokens" in self._columns:
            more = pc.greater(self._columns[field], self._columns["input_tokens"]).fill_null(False)
            self.fault(more, "cached_tokens is more than input_tokens, of which it is a part")

    def end_kind(self) -> None:
        """Take the column that says how a call ended."""
        found = self._texts("end_kind")
        if found is None:
            return
        words = pc.utf8_lower(pc.utf8_trim_whitespace(found))
        known = pa.array(list(END_KINDS))
        self.fault(
            pc.and_(words.is_valid(), pc.invert(pc.is_in(words, known))),
            f"end_kind is none of {', '.join(END_KINDS)}",
        )
        self._columns["status"] = _each(words, lambda word: END_KINDS.get(word, (None, None))[0], TEXT)
        self._columns["is_error"] = _each(words, lambda word: END_KINDS.get(word, (None, None))[1], BOOLEAN)

    def flag(self, field: str) -> None:
        """Take a column of yes and no; it overrules what the end kind says."""
        served = self._mapping.get(field)
        if served is None:
            return
        column = self._values(served)
        if not (pt.is_boolean(column.type) or pt.is_null(column.type)):
            column = column.cast(TEXT) if pt.is_integer(column.type) or pt.is_floating(column.type) else column
            texts = pc.utf8_lower(pc.utf8_trim_whitespace(self._as_texts(served, column)))
            column = _each(texts, _FLAGS.get, BOOLEAN)
            self.fault(pc.and_(texts.is_valid(), column.is_null()), f"{field} is neither true nor false")
        told = self._columns.get(field, pa.nulls(self.n, BOOLEAN))
        self._columns[field] = pc.coalesce(column.cast(BOOLEAN), told)

    def command(self, names: Names) -> None:
        """Take what is kept of a column of shell commands."""
        found = self._texts("command")
        if found is None:
            return
        shells, indices = _each_object(found, lambda text: shell_of(_command(text), names))
        kept: dict[str, tuple[pa.DataType, Callable[[Shell], object]]] = {
            "executables": (TEXTS, lambda shell: list(shell.executables)),
            "parse_status": (TEXT, lambda shell: shell.status),
            "parse_reason": (TEXT, lambda shell: shell.reason),
            "skeleton": (TEXT, lambda shell: shell.skeleton),
            "fingerprint": (TEXT, lambda shell: shell.fingerprint),
        }
        for name, (kind, get) in kept.items():
            self._columns[name] = pa.array([get(shell) for shell in shells], kind).take(indices)

    def _numbers(self, served: Served) -> Numbers:
        try:
            return numbers_of(self._values(served))
        except TypeError:
            raise self._wrong(served, "a number") from None

    def _values(self, served: Served) -> pa.Array:
        if served.column is None:
            return pa.repeat(pa.scalar(served.value, TEXT), self.n)
        return self._chunk.columns[served.column]

    def _texts(self, field: str) -> pa.Array | None:
        """Give a column as texts, empty ones as null; numbers may be ids."""
        served = self._mapping.get(field)
        if served is None:
            return None
        return self._as_texts(served, self._values(served))

    def _as_texts(self, served: Served, column: pa.Array) -> pa.Array:
        kind = column.type
        if pt.is_string(kind):
            return pc.if_else(pc.equal(column, ""), pa.scalar(None, TEXT), column)
        if pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_null(kind):
            return column.cast(TEXT)
        raise self._wrong(served, "text")

    def _wrong(self, served: Served, needed: str) -> UsageError:
        kind = self._values(served).type
        return UsageError(f"{self._shown}: column {served.column} is {kind}, but {served.field} needs {needed}")


def _command(text: str) -> str | Sequence[str]:
    """Give a command, or the list of arguments that JSON has written."""
    if text.startswith("["):
        try:
            return msgspec.json.decode(text, type=list[str])
        except msgspec.DecodeError:  # [ -f x ] is a command
            pass
    return text


def _each(texts: pa.Array, change: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    """Change each text, the same ones once."""
    objects, indices = _each_object(texts, change)
    return pa.array(objects, kind).take(indices)


def _each_object(texts: pa.Array, change: Callable[[str], Changed]) -> tuple[list[Changed], pa.Array]:
    coded = texts.dictionary_encode()
    return [change(text) for text in coded.dictionary.to_pylist()], coded.indices
