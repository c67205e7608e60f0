"""What a source is, told by its content: never by its name.

Magic bytes tell DuckDB, Parquet, gzip and zstd; the first object of a text tells TraceLab's JSON lines. What is
none of these gets one line that says what was found and what is accepted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet

from tracestat.errors import TracestatError
from tracestat.ingest.about import ABOUT_ENDING, is_about
from tracestat.ingest.blocks import Compression, LineFile
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.formats import FORMATS
from tracestat.ingest.mapped.mapping import Mapping
from tracestat.store import attach_read_only, is_locked, tables_of

__all__ = ["ACCEPTED", "COLUMNS", "Found", "Kind", "Table", "find_sources", "find_tables", "walk"]

# One of these, or the kind of a format of raw logs
Kind: TypeAlias = str
Table: TypeAlias = Literal["rounds", "tool_calls", "timing_events"]

ACCEPTED: Final = (
    "accepted are TraceLab's .jsonl (plain, gzip or zstd), .duckdb and Parquet folder, tracestat's own stores, logs of "
    "agents, and any table by tracestat ingest --map"
)
_HEAD_BYTES: Final = 1 << 16
_HEAD_LINES: Final = 100
# Of a file of JSON objects: a harness may write many lines of new types before the first that is known.
_MOST_LINES: Final = 10_000
_MOST_BYTES: Final = 64 << 20
_DOCUMENT_BYTES: Final = 256 << 20
# A TraceLab round has all of these; an old or damaged one at least three.
_ROUND_KEYS: Final = {
    "provider",
    "session_id",
    "round_index",
    "round_id",
    "timing_events",
    "tools",
    "trace_key",
    "input_tokens_total",
}
# What makes a table one of the three.
COLUMNS: Final[dict[Table, set[str]]] = {
    "rounds": {"round_pk", "session_id", "round_index"},
    "tool_calls": {"round_pk", "tool_call_id", "emitted_at"},
    "timing_events": {"round_pk", "event_type", "timestamp"},
}
# Stands in the metadata of a file that `tracestat forecast fit` wrote.
_FORECAST: Final = b"tracestat.forecast"
_OTHER_MAGIC: Final = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"SQLite format 3\0", "an SQLite file"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF-", "a PDF file"),
    (b"BZh", "a bzip2 file: unpack it first"),
    (b"\xfd7zXZ\0", "an xz file: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: convert it to UTF-8 first"),
    (b"\xfe\xff", "text in UTF-16: convert it to UTF-8 first"),
)
_COMPRESSIONS: Final[tuple[tuple[bytes, Compression], ...]] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_SKIPPABLE_FRAME: Final = b"\x2a\x4d\x18"  # a zstd file may begin with one, after a byte 0x50 to 0x5f


@dataclass(frozen=True, slots=True)
class Found:
    """A source and what it is.

    Attributes
    ----------
    kind : str
        Which reader it is for.
    place : Path
        The file or folder, absolute.
    compression : {"", "gzip", "zstd"}
        Of JSON lines.
    parts : dict
        The Parquet files of each table.
    log : Format or None
        The format of a raw log.
    root : Path or None
        The folder that was named and holds it.
    mapping : Mapping or None
        Which column of a plain table serves for what.
    """

    kind: Kind
    place: Path
    compression: Compression = ""
    parts: dict[Table, tuple[Path, ...]] = field(default_factory=dict)
    log: Format | None = None
    root: Path | None = None
    mapping: Mapping | None = None

    @property
    def shown(self) -> str:
        """The base name."""
        return self.place.name

    @property
    def format(self) -> str:
        """The kind, with the compression."""
        return f"{self.kind}, {self.compression}" if self.compression else self.kind

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file of the source; a DuckDB file may have a log of what is not in it yet."""
        if self.parts:
            return tuple(path for table in COLUMNS for path in self.parts[table])
        log = self.place.with_name(self.place.name + ".wal")
        return (self.place, log) if self.kind == "TraceLab DuckDB" and log.is_file() else (self.place,)


@dataclass(frozen=True, slots=True)
class _Other:
    """Not a source; what it is instead, whether it might have been one before it was damaged, and whether a log."""

    what: str
    damaged: bool = False
    maybe_log: bool = False


@dataclass(frozen=True, slots=True)
class _OneParquet:
    """A Parquet file: one table of a source, or none."""

    path: Path
    table: Table | None
    forecast: bool = False


def find_tables(sources: Sequence[Path], mapping: Mapping) -> list[Found]:
    """Take sources for plain tables that a mapping describes.

    Raises
    ------
    TracestatError
        A source does not exist, or is a folder.
    """
    found = []
    for source in sources:
        place = source.absolute()
        if not place.is_file():
            reason = "a folder: name the tables in it" if place.is_dir() else "no such file"
            raise TracestatError(f"{place.name}: {reason}")
        found.append(
            Found(f"table of {'tool calls' if mapping.form == 'calls' else 'requests'}", place, mapping=mapping)
        )
    return found


def find_sources(sources: Sequence[Path], *, but: Path | None = None) -> list[Found]:
    """Find out what each source is; a folder stands for the traces in it.

    Parameters
    ----------
    sources : sequence of Path
        Files and folders.
    but : Path, optional
        The store that is being written: no source, even if it lies in one of the folders.

    Returns
    -------
    list of Found
        In the order given, those of a folder by name.

    Raises
    ------
    TracestatError
        A source does not exist, cannot be read, or is nothing that tracestat reads.
    """
    found: list[Found] = []
    loose: list[_OneParquet] = []
    about: list[Path] = []
    for source in sources:
        place = source.absolute()
        if place.is_dir():
            found += _in_folder(place, but)
            continue
        if is_about(place):
            about.append(place)
            continue
        what = _file(place)
        if isinstance(what, _OneParquet):
            loose.append(what)
        elif isinstance(what, _Other):
            raise TracestatError(f"{place.name}: {what.what}; {ACCEPTED}")
        else:
            found.append(what)
    if loose:
        found += _parquet_sets(loose, loose[0].path)
    if about and not found:
        of = about[0].name.removesuffix(ABOUT_ENDING)
        raise TracestatError(f"{about[0].name}: this only says whose data {of} is: name {of}")
    return found


def _file(path: Path) -> Found | _OneParquet | _Other:
    """Tell what a file is."""
    try:
        if path.exists() and not path.is_file():
            return _Other("neither a file nor a folder")
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        reason = "no such file or folder" if isinstance(error, FileNotFoundError) else error.strerror
        raise TracestatError(f"{path.name}: {reason}") from None
    if not head:
        return _Other("an empty file")
    if head[8:12] == b"DUCK":
        return _duckdb(path)
    if head[:4] == b"PAR1":
        return _parquet(path)
    for magic, what in _OTHER_MAGIC:
        if head.startswith(magic):
            return _Other(what)
    compression: Compression = next((name for magic, name in _COMPRESSIONS if head.startswith(magic)), "")
    if head[1:4] == _SKIPPABLE_FRAME and head[0] & 0xF0 == 0x50:
        compression = "zstd"
    return _text(path, compression)


def _text(path: Path, compression: Compression) -> Found | _Other:
    """Tell whether a text is TraceLab's, from the first objects in it."""
    packed = f"a {compression} file of " if compression else ""
    objects = values = lines = size = 0
    begins_open = False  # the first line is no value by itself
    file = LineFile(path, compression, block_bytes=_HEAD_BYTES)
    for block in file:
        content = bytes(block.data)
        size += len(content)
        if lines == 0:
            if content[8:12] == b"DUCK" or content[:4] == b"PAR1" or content[257:262] == b"ustar":
                return _Other(f"{packed or 'an archive of '}other files: unpack it first")
            if b"\0" in content[:512] and not content.lstrip(b"\0 \r\n\t").startswith(b"{"):
                return _Other(f"{packed}binary data")
        for line in content.split(b"\n"):
            if not line.strip():
                continue
            lines += 1
            value = _first_value(line.decode("utf-8", "replace"))
            values += value is not None
            begins_open = begins_open or (lines == 1 and value is None)
            if isinstance(value, dict):
                objects += 1
                if len(_ROUND_KEYS & value.keys()) >= 3:
                    return Found("TraceLab JSONL", path, compression)
                log = next((form for form in FORMATS if form.recognises(value)), None)
                if log is not None:
                    return Found(log.kind, path, compression, log=log)
            if lines >= (_MOST_LINES if objects else _HEAD_LINES):
                break
        if lines >= (_MOST_LINES if objects else _HEAD_LINES) or size >= _MOST_BYTES:
            break
    if file.damage and not objects:
        return _Other(f"a file of which no line can be read: {file.damage}", damaged=True, maybe_log=True)
    if lines == 0:
        return _Other(f"{packed}blank lines")
    if not objects or begins_open:  # an object on a line may be a part of a document
        log = _document(path, compression)
        if log is not None:
            return Found(log.kind, path, compression, log=log)
    if objects:
        return _Other(f"{packed}JSON, but no rounds of TraceLab and no log of an agent that is known", maybe_log=True)
    return _Other(f"{packed}JSON that is no object" if values else f"{packed}text that is not JSON")


def _document(path: Path, compression: Compression) -> Format | None:
    """Tell which log a file is that holds one JSON value over many lines."""
    parts: list[bytes] = []
    size = 0
    for block in LineFile(path, compression, max_line_bytes=_DOCUMENT_BYTES):
        size += len(block.data)
        if size > _DOCUMENT_BYTES or (
            not parts and not bytes(block.data[:64]).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")
        ):
            return None
        parts.append(bytes(block.data))
    value = _first_value(b"".join(parts).decode("utf-8", "replace"))
    if not isinstance(value, dict):
        return None
    return next((form for form in FORMATS if form.document and form.recognises(value)), None)


def _first_value(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text.strip())[0]
    except (ValueError, RecursionError):
        return None


def _duckdb(path: Path) -> Found | _Other:
    try:
        connection, close = attach_read_only(path)
    except duckdb.Error as error:
        busy = is_locked(error)
        return _Other(
            "a DuckDB file that another program is writing: close it there first"
            if busy
            else "a DuckDB file that cannot be read: it is not complete, or of a newer DuckDB",
            damaged=True,
        )
    try:
        tables = tables_of(connection)
    except duckdb.Error:
        return _Other("a damaged DuckDB file", damaged=True)
    finally:
        close()
    if "tracestat" in tables:
        return Found("tracestat store", path)
    for table, needed in COLUMNS.items():
        lacking = sorted(needed - set(tables.get(table, ())))
        if lacking:
            lack = f"column {lacking[0]} in its table {table}" if table in tables else f"table {table}"
            return _Other(f"a DuckDB file without the {lack}")
    return Found("TraceLab DuckDB", path)


def _parquet(path: Path) -> _OneParquet | _Other:
    try:
        schema = pa.parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        return _Other("a damaged Parquet file", damaged=True)
    names = set(schema.names)
    table = next((table for table, needed in COLUMNS.items() if needed <= names), None)
    return _OneParquet(path, table, forecast=_FORECAST in (schema.metadata or {}))


def _in_folder(folder: Path, but: Path | None) -> list[Found]:
    """Find the traces in a folder."""
    found: list[Found] = []
    parquet: list[_OneParquet] = []
    closed: list[Path] = []
    damaged: list[tuple[Path, _Other]] = []
    newer = 0
    for path in walk(folder, closed):
        if (but is not None and but.exists() and path.samefile(but)) or is_about(path):
            continue
        try:
            if not _may_be_a_trace(path):
                continue
        except OSError:
            closed.append(path)
            continue
        what = _file(path)
        if isinstance(what, _OneParquet):
            parquet.append(what)
        elif isinstance(what, _Other) and what.damaged:
            damaged.append((path, what))
        elif isinstance(what, _Other):
            newer += what.maybe_log and ".jsonl" in path.suffixes
        elif what.kind != "tracestat store":  # a store is made of other sources
            found.append(replace(what, root=folder))
    found += _parquet_sets([file for file in parquet if file.table], folder)
    for path, what in damaged:  # one of many logs may be damaged; of a released trace, every file counts
        if not what.maybe_log or not any(source.log for source in found):
            raise TracestatError(f"{path.name}: {what.what}; {ACCEPTED}")
    if damaged:
        warnings.warn(f"{len(damaged):,} files in {folder.name} of which no line can be read: left out", stacklevel=3)
    if closed:
        # their names are not said: those of logs spell out what somebody works on
        warnings.warn(f"{len(closed):,} files or folders in {folder.name} cannot be read: left out", stacklevel=3)
    if found and newer:
        warnings.warn(f"{newer:,} .jsonl files in {folder.name} are no logs that are known: left out", stacklevel=3)
    if not found:
        raise TracestatError(f"{folder.name}: a folder with no trace in it; {ACCEPTED}")
    return found


def walk(folder: Path, closed: list[Path]) -> Iterator[Path]:
    """Give the files of a folder and its folders by name, hidden ones left out, links to folders not followed.

    Parameters
    ----------
    folder : Path
        Where to begin.
    closed : list of Path
        Takes the folders in it that cannot be read.

    Raises
    ------
    TracestatError
        The folder itself cannot be read.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise TracestatError(f"{folder.name}: {error.strerror}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if entry.is_symlink():
                continue
            try:
                yield from walk(entry, closed)
            except TracestatError:
                closed.append(entry)
        elif entry.is_file():
            yield entry


def _may_be_a_trace(path: Path) -> bool:
    """Look at the first bytes only, since a folder may hold anything."""
    with path.open("rb") as file:
        head = file.read(512)
    if head[8:12] == b"DUCK" or head[:4] == b"PAR1" or head[1:4] == _SKIPPABLE_FRAME:
        return True
    if any(head.startswith(magic) for magic, _ in _COMPRESSIONS):
        return True
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _parquet_sets(files: Sequence[_OneParquet], place: Path) -> list[Found]:
    """Put the Parquet files of one trace together: those below the nearest folder that has all three tables."""
    if not files:
        return []
    for file in files:
        if file.forecast:
            raise TracestatError(
                f"{file.path.name}: a forecast, no trace; ask it with `tracestat forecast predict {file.path.name}`"
            )
        if file.table is None:
            raise TracestatError(f"{file.path.name}: a Parquet file that is no table of TraceLab; {ACCEPTED}")
    roots: dict[Path, dict[Table, tuple[Path, ...]]] = {}
    for file in files:
        assert file.table is not None  # noqa: S101 - checked above, said to the type checker
        root = next((parent for parent in file.path.parents if _tables_below(parent, files) == set(COLUMNS)), None)
        if root is None:
            lacking = next(table for table in COLUMNS if table not in {other.table for other in files})
            raise TracestatError(
                f"{place.name}: Parquet without {lacking}: rounds, tool_calls and timing_events are all needed"
            )
        parts = roots.setdefault(root, {})
        parts[file.table] = (*parts.get(file.table, ()), file.path)
    if len(roots) > 1:
        names = ", ".join(sorted(root.name for root in roots))
        raise TracestatError(f"{place.name} holds several Parquet traces ({names}): name one of them")
    return [
        Found("TraceLab Parquet", place if place.is_file() else root, parts={t: parts[t] for t in COLUMNS})
        for root, parts in roots.items()
    ]


def _tables_below(folder: Path, files: Sequence[_OneParquet]) -> set[Table | None]:
    return {file.table for file in files if file.path.is_relative_to(folder)}
