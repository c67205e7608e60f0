"""A Parquet file: columns with their own types, row by row from 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
import pyarrow.types as pt

from tracestat.errors import TracestatError
from tracestat.ingest.columns import TEXT
from tracestat.ingest.conform import repair, without_extension
from tracestat.ingest.mapped.chunks import ROWS_PER_CHUNK, Chunk, missing_column
from tracestat.ingest.mapped.mapping import Mapping

__all__ = ["ParquetTable"]


class ParquetTable:
    """Reads a Parquet file."""

    def __init__(
        self, path: Path, mapping: Mapping, *, shown: str, on_bytes: Callable[[int], None] | None = None
    ) -> None:
        self._path = path
        self._mapping = mapping
        self._shown = shown
        self._on_bytes = on_bytes
        self.note: str | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Give the rows in the order of the file."""
        try:
            yield from self._chunks()
        except (pa.ArrowException, OSError) as error:
            raise TracestatError(f"{self._shown} is damaged or cannot be read as Parquet") from error

    def _chunks(self) -> Iterator[Chunk]:
        row = 0
        with pa.parquet.ParquetFile(self._path) as file:
            lacking = missing_column(self._mapping, file.schema_arrow.names, self._shown)
            if lacking:
                raise lacking
            for batch in file.iter_batches(ROWS_PER_CHUNK, columns=list(self._mapping.columns)):
                lines = np.arange(row + 1, row + 1 + batch.num_rows, dtype=np.int64)
                row += batch.num_rows
                columns = {}
                repaired = np.zeros(batch.num_rows, bool)
                for name in self._mapping.columns:
                    columns[name], replaced = _plain(batch.column(name))
                    if replaced is not None:
                        repaired |= replaced
                yield Chunk(lines, columns, repaired=repaired)
        if self._on_bytes:
            self._on_bytes(self._path.stat().st_size)


def _plain(column: pa.Array) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
    """Give a column without dictionary or extension, its texts of one type and valid: a file may hold any bytes."""
    kind = column.type
    if pt.is_dictionary(kind):
        column = column.cast(kind.value_type)
    column = without_extension(column)
    if pt.is_string(column.type) or pt.is_large_string(column.type) or pt.is_string_view(column.type):
        return repair(column.cast(TEXT))
    return column, None
