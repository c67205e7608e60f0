"""JSON lines as text columns: one object per line, of which only the mapped values are decoded.

A name with dots reaches into objects (``meta.session``) where no column has that name as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from tracestat.errors import TracestatError
from tracestat.ingest.blocks import Compression, LineFile
from tracestat.ingest.mapped.chunks import ROWS_PER_CHUNK, Chunk, missing_column, texts_of
from tracestat.ingest.mapped.mapping import FIELDS, Mapping

__all__ = ["JsonTable"]

_MOST_NAMES: Final = 1000  # of columns, remembered for a message
_NO_JSON: Final = "not a JSON object"

Path_ = tuple[str, ...]


class JsonTable:
    """Reads JSON lines."""

    def __init__(
        self,
        path: Path,
        mapping: Mapping,
        *,
        shown: str,
        compression: Compression = "",
        on_bytes: Callable[[int], None] | None = None,
    ) -> None:
        self._path = path
        self._compression = compression
        self._file = LineFile(path, compression, on_bytes=on_bytes)
        self._mapping = mapping
        self._shown = shown
        self.note: str | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Give the rows in the order of the file."""
        paths = self._paths()
        # a command may also be a list of arguments
        lists = {served.column for served in self._mapping.served if FIELDS[served.field].kind == "command"}
        decode = _decoder(paths)
        columns: dict[str, list[str | None]] = {name: [] for name in paths}
        numbers: list[int] = []
        damaged: list[tuple[int, str]] = []
        replaced: list[bool] = []
        for number, line in _lines_of(self._file):
            try:
                values, repaired = decode(line)
                texts = [_text(value, name in lists) for name, value in zip(paths, values, strict=True)]
            except _NoRowError as reason:
                damaged.append((number, str(reason)))
            else:
                numbers.append(number)
                replaced.append(repaired)
                for name, text in zip(paths, texts, strict=True):
                    columns[name].append(text)
            if len(numbers) + len(damaged) >= ROWS_PER_CHUNK:
                yield _chunk(numbers, columns, damaged, replaced)
                columns = {name: [] for name in paths}
                numbers, damaged, replaced = [], [], []
        yield _chunk(numbers, columns, damaged, replaced)
        if self._file.damage:
            self.note = f"{self._file.damage}: what was before that is read"

    def _paths(self) -> dict[str, Path_]:
        """Find each mapped column, reading on until all were seen: one that is mostly empty may be left out of rows."""
        wanted = self._mapping.columns
        found: dict[str, Path_] = {}
        names: dict[str, None] = {}
        any_object = False
        for _, line in _lines_of(LineFile(self._path, self._compression, block_bytes=1 << 16)):
            try:
                value, _ = _decoded(line, msgspec.json.decode)
            except _NoRowError:
                continue
            if not isinstance(value, dict):
                continue
            any_object = True
            for name in wanted:
                if name not in found and (way := _way(name, value)):
                    found[name] = way
            if len(found) == len(wanted):
                return {name: found[name] for name in wanted}
            if len(names) < _MOST_NAMES:
                names.update(dict.fromkeys(_all_names(value)))
        if not any_object:
            raise TracestatError(f"{self._shown}: no line of it is a JSON object")
        lacking = missing_column(self._mapping, [*found, *(name for name in names if name not in found)], self._shown)
        assert lacking is not None  # noqa: S101 - some column was not found
        raise lacking


class _NoRowError(Exception):
    """A line that is no row; the message is the reason."""


def _way(name: str, value: dict[str, Any]) -> Path_ | None:
    if name in value:
        return (name,)
    steps = tuple(name.split("."))
    inner: Any = value
    for step in steps:
        if not isinstance(inner, dict) or step not in inner:
            return None
        inner = inner[step]
    return steps


def _all_names(value: dict[str, Any]) -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from (f"{name}.{below}" for below in inner)
        else:
            yield name


def _decoder(paths: dict[str, Path_]) -> Callable[[bytes], tuple[list[Any], bool]]:
    """Make a function that gives the values of the columns, and whether text was replaced; the rest is skipped."""
    tops = list(dict.fromkeys(path[0] for path in paths.values()))
    fields = [(f"f{i}", Any, None) for i in range(len(tops))]
    line_type = msgspec.defstruct("Line", fields, rename={f"f{i}": top for i, top in enumerate(tops)})
    decoder = msgspec.json.Decoder(line_type)
    ways = [(f"f{tops.index(path[0])}", path[1:]) for path in paths.values()]

    def decode(line: bytes) -> tuple[list[Any], bool]:
        value, repaired = _decoded(line, decoder.decode)
        values = []
        for attribute, steps in ways:
            inner = getattr(value, attribute)
            for step in steps:
                inner = inner.get(step) if isinstance(inner, dict) else None
            values.append(inner)
        return values, repaired

    return decode


def _decoded(line: bytes, decode: Callable[[bytes], Any]) -> tuple[Any, bool]:
    """Decode a line, with what is no UTF-8 in it replaced, and tell whether it was."""
    try:
        return decode(line), False
    except (msgspec.DecodeError, RecursionError):
        repaired = line.decode("utf-8", "replace").encode()
    if repaired == line:
        raise _NoRowError(_NO_JSON)
    try:
        return decode(repaired), True
    except (msgspec.DecodeError, RecursionError):
        raise _NoRowError(_NO_JSON) from None


def _text(value: Any, may_be_list: bool) -> str | None:
    """Write a plain value as CSV would have it."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if may_be_list and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return msgspec.json.encode(value).decode()
    raise _NoRowError("a mapped column holds a list or an object")


def _lines_of(file: LineFile) -> Iterator[tuple[int, bytes]]:
    """Give the lines that are not blank; one that is too long is no JSON object."""
    for block in file:
        if block.too_long:
            yield block.first_line, b"#"
            continue
        for number, line in enumerate(bytes(block.data).split(b"\n"), block.first_line):
            if line and not line.isspace():
                yield number, line


def _chunk(
    numbers: list[int], columns: dict[str, list[str | None]], damaged: list[tuple[int, str]], replaced: list[bool]
) -> Chunk:
    repaired = np.array(replaced, bool)
    made = {}
    for name, values in columns.items():
        made[name], odd = texts_of(values)
        if odd is not None:
            repaired |= odd
    return Chunk(np.array(numbers, np.int64), made, damaged, repaired)
