"""What kind of table a file is, told by its content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tracestat.errors import TracestatError
from tracestat.ingest.blocks import Compression, LineFile
from tracestat.ingest.mapped.chunks import Source
from tracestat.ingest.mapped.csv_table import CsvTable
from tracestat.ingest.mapped.json_table import JsonTable
from tracestat.ingest.mapped.mapping import Mapping
from tracestat.ingest.mapped.parquet_table import ParquetTable

__all__ = ["open_table"]

_ACCEPTED: Final = "a table is CSV, Parquet or JSON lines (CSV and JSON lines also in gzip or zstd)"
_COMPRESSIONS: Final[tuple[tuple[bytes, Compression], ...]] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_OTHERS: Final = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet"),
    (b"SQLite format 3\0", "an SQLite file"),
    (b"ARROW1", "an Arrow file"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
    (b"[", "one JSON array, not an object per line"),
)


def open_table(path: Path, mapping: Mapping, *, shown: str, on_bytes: Callable[[int], None] | None = None) -> Source:
    """Give the reader of a table.

    Raises
    ------
    TracestatError
        The file cannot be read or is no table.
    """
    try:
        if path.is_dir():
            raise TracestatError(f"{shown} is a folder: --map reads one file; {_ACCEPTED}")
        with path.open("rb") as file:
            head = file.read(512)
        if head[:4] == b"PAR1":
            return ParquetTable(path, mapping, shown=shown, on_bytes=on_bytes)
        compression: Compression = next((name for magic, name in _COMPRESSIONS if head.startswith(magic)), "")
        if compression:
            blocks = LineFile(path, compression, block_bytes=1 << 16)
            head = next((bytes(block.data[:512]) for block in blocks), b"")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise TracestatError(f"{shown}: {reason}") from None
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise TracestatError(f"{shown} is empty, or nothing of it can be read")
    other = next((what for magic, what in _OTHERS if text.startswith(magic)), None)
    if other is None and (b"\0" in head.partition(b"\n")[0] or head[8:12] == b"DUCK"):
        other = "binary data"
    if other is not None:
        raise TracestatError(f"{shown} is {other}; {_ACCEPTED}")
    kind = JsonTable if text.startswith(b"{") else CsvTable
    return kind(path, mapping, shown=shown, compression=compression, on_bytes=on_bytes)
