"""A CSV file as text columns: nothing is guessed but the delimiter, and damage costs the line it is on.

A quote that is never closed makes one record of all lines that follow. So a record over several lines that does not
fit the header loses its first line only, and the others are read again.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.blocks import Compression, LineFile
from tracestat.ingest.columns import TEXT
from tracestat.ingest.mapped.chunks import ROWS_PER_CHUNK, Chunk, missing_column, texts_of
from tracestat.ingest.mapped.mapping import Mapping, shown_names
from tracestat.ingest.mapped.times import instants_of

__all__ = ["CsvTable"]

_DELIMITERS: Final = (",", "\t", ";", "|")
# Longest record: beyond it a quote was not closed.
_MOST_LINES: Final = 10_000


class CsvTable:
    """Reads a CSV file (also with tabs, semicolons or bars) whose first line names the columns."""

    def __init__(
        self,
        path: Path,
        mapping: Mapping,
        *,
        shown: str,
        compression: Compression = "",
        on_bytes: Callable[[int], None] | None = None,
    ) -> None:
        self._file = LineFile(path, compression, on_bytes=on_bytes)
        self._mapping = mapping
        self._shown = shown
        self.note: str | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Give the rows in the order of the file."""
        lines = _Lines(self._file)
        header, delimiter = self._header(lines)
        places = {name: header.index(name) for name in self._mapping.columns}
        rows: list[list[str]] = []
        numbers: list[int] = []
        damaged: list[tuple[int, str]] = []
        for number, row, reason in _records(lines, len(header), delimiter):
            if reason is not None:
                damaged.append((number, reason))
            else:
                numbers.append(number)
                rows.append(row)
            if len(rows) + len(damaged) >= ROWS_PER_CHUNK:
                yield _chunk(rows, numbers, places, damaged)
                rows, numbers, damaged = [], [], []
        yield _chunk(rows, numbers, places, damaged)
        if self._file.damage:
            self.note = f"{self._file.damage}: what was before that is read"

    def _header(self, lines: _Lines) -> tuple[list[str], str]:
        """Read the names of the columns; the delimiter is the one under which the mapped columns are found."""
        first = next((text for text in lines if text.strip()), "")
        if not first:
            raise TracestatError(f"{self._shown} is empty: a CSV file begins with the names of its columns")
        headers = []
        for delimiter in _DELIMITERS:
            try:
                row = next(csv.reader([first], delimiter=delimiter, strict=True))
            except csv.Error:
                continue
            headers.append(([name.strip() for name in row], delimiter))
        if not headers:
            raise TracestatError(f"{self._shown}: the first line does not name the columns of a CSV file")
        wanted = self._mapping.columns
        names, delimiter = max(headers, key=lambda h: (sum(name in h[0] for name in wanted), len(h[0])))
        lacking = missing_column(self._mapping, names, self._shown)
        if lacking:
            if _looks_like_a_row(names):  # whose values are not for a message
                raise UsageError(f"{self._shown}: the first line holds values: it must name the columns")
            raise lacking
        twice = next((name for name in wanted if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"{self._shown} has several columns {shown_names([twice])}: rename all but one")
        return names, delimiter


def _looks_like_a_row(names: list[str]) -> bool:
    instants = instants_of(pa.array([name.encode("utf-8", "replace").decode() for name in names], TEXT))
    return bool((instants.is_iso | instants.numbers.valid).any())


class _Lines:
    """The lines of a file one by one, of which some may be given back; remembers those of the current record."""

    def __init__(self, file: LineFile) -> None:
        self._lines = _lines_of(file)
        self._again: deque[tuple[int, str]] = deque()
        self.taken: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= _MOST_LINES:
            raise csv.Error("field larger than field limit")
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        return line[1]

    def begin(self) -> None:
        """Begin a record."""
        self.taken.clear()

    def give_back(self) -> None:
        """Give all lines of the record back but the first."""
        self._again.extendleft(reversed(self.taken[1:]))


def _lines_of(file: LineFile) -> Iterator[tuple[int, str]]:
    for block in file:
        if block.too_long:
            yield block.first_line, '"'  # a quote that is not closed: rejected like one
            continue
        texts = bytes(block.data).decode("utf-8", "surrogateescape").split("\n")
        last = texts.pop()
        yield from enumerate((text + "\n" for text in texts), block.first_line)
        if last:
            yield block.first_line + len(texts), last


def _records(lines: _Lines, width: int, delimiter: str) -> Iterator[tuple[int, list[str], str | None]]:
    """Give line, values and reason of each record: a reason says why it is no row."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin()
        reason = None
        row: list[str] = []
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            large = "larger than field limit" in str(error)
            reason = "a quote that is not closed, or a very long value" if large else "not CSV"
            reader = csv.reader(lines, delimiter=delimiter, strict=True)  # forgets what it holds of the record
        if reason is None and (not row or (len(row) == 1 and not row[0].strip())):
            continue  # a blank line is no row
        number = lines.taken[0][0]
        # a delimiter at the end of each line is common
        if reason is None and (len(row) < width or any(row[width:])):
            reason = f"{len(row):,} values, but {width:,} columns"
        if reason is not None and len(lines.taken) > 1:
            reason = "a quote that is not closed"
            lines.give_back()
        yield number, row, reason


def _chunk(rows: list[list[str]], numbers: list[int], places: dict[str, int], damaged: list[tuple[int, str]]) -> Chunk:
    columns = {}
    repaired = np.zeros(len(rows), bool)
    for name, place in places.items():
        columns[name], replaced = texts_of([row[place] or None for row in rows])
        if replaced is not None:
            repaired |= replaced
    return Chunk(np.array(numbers, np.int64), columns, damaged, repaired)
