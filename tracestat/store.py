"""The store: one DuckDB file, opened for reading only, with nothing else within reach.

A trace may come from anyone. It is attached read-only to a database in memory whose access to files, network and
extensions is off and whose configuration is locked, so that no query on it and nothing inside it can reach further.
(Connecting to the file itself would hand back an open connection to a file that has been replaced since.)
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import polars as pl

from tracestat.errors import TracestatError, UsageError
from tracestat.queries import query_text

__all__ = [
    "MEMORY_LIMIT",
    "SCHEMA_VERSION",
    "Head",
    "Trace",
    "attach_read_only",
    "connect_in_memory",
    "fingerprint_of",
    "interruptible",
    "is_duckdb",
    "is_locked",
    "is_plain",
    "is_store",
    "open_if_store",
    "open_store",
    "read_head",
    "reading",
    "store_version",
    "tables_of",
]

SCHEMA_VERSION: Final = 2
MEMORY_LIMIT: Final = "1GB"
_MAGIC: Final = b"DUCK"  # at byte 8 of every DuckDB file


class Trace:
    """An open store.

    One connection serves all queries, so that variables and temporary views of a session last; it is not for use
    by several threads at once.

    Attributes
    ----------
    path : Path
        The file.
    shown : str
        How messages and results name it.
    fingerprint : str
        ``sha256:`` and a hash over the hashes of the sources, in their order.
    counts : dict of str to int
        ``rounds``, ``tool_calls``, ``timing_events``, and ``rejected`` (rows, calls and events).
    synthetic : bool
        Whether any row was made by ``tracestat synth``.
    schema_version : int
        Form of the tables.
    """

    def __init__(
        self,
        path: Path,
        *,
        shown: str | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = path
        self.shown = path.name if shown is None else shown
        with reading(self.shown):
            self._connection, self._close = attach_read_only(path, memory_limit=memory_limit, threads=threads)
        try:
            self.schema_version, self.synthetic, self.counts, hashes = read_head(self._connection, self.shown)
        except BaseException:
            self.close()
            raise
        self.fingerprint = fingerprint_of(hashes)

    def run(self, query: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Run one of tracestat's own queries.

        Parameters
        ----------
        query : str
            SQL from :func:`tracestat.queries.query_text`.
        parameters : mapping, optional
            The values of its ``$names``.

        Returns
        -------
        polars.DataFrame
            Its rows; empty for a statement that gives none.

        Raises
        ------
        TracestatError
            The file is damaged, or the memory limit is too small.
        """
        with reading(self.shown):
            relation = self._connection.sql(query, params=dict(parameters or {}))
            return _frame(relation)

    def stream(self, query: str, parameters: Mapping[str, Any], *, rows: int) -> Iterator[Any]:
        """Run one of tracestat's own queries and give its rows in Arrow batches of at most so many."""
        with reading(self.shown):
            relation = self._connection.sql(query, params=dict(parameters))
            if relation is not None:
                yield from relation.to_arrow_reader(rows)

    def sql(self, text: str) -> pl.DataFrame:
        """Run a SELECT of the user's own.

        Parameters
        ----------
        text : str
            One SELECT over the tables of the store.

        Returns
        -------
        polars.DataFrame
            Its rows.

        Raises
        ------
        UsageError
            The text is not one SELECT, or DuckDB does not accept it.
        """
        try:
            statements = self._connection.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("a trace is read with one SELECT: no other statement is run")
            with interruptible():
                return _frame(self._connection.sql(text))
        except duckdb.Error as error:
            raise UsageError(f"the SELECT does not run on {self.shown}: {_first_line(error)}") from error

    def close(self) -> None:
        """Close the file; a closed trace answers nothing more."""
        self._close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = getattr(self, "counts", {})
        return (
            f"<Trace {self.shown}: {counts.get('rounds', 0):,} rounds, {counts.get('tool_calls', 0):,} tool calls"
            f"{', synthetic' if getattr(self, 'synthetic', False) else ''}>"
        )


def _frame(relation: duckdb.DuckDBPyRelation | None) -> pl.DataFrame:
    frame: pl.DataFrame = pl.DataFrame() if relation is None else pl.DataFrame(relation)
    return frame


def open_store(
    path: str | Path, *, shown: str | None = None, memory_limit: str | None = None, threads: int | None = None
) -> Trace:
    """Open a store for reading.

    Parameters
    ----------
    path : str or Path
        A file made by ``tracestat ingest``.
    shown : str, optional
        How messages and results name it; the base name by default.
    memory_limit : str, optional
        What DuckDB may use, for example ``"512MB"``; 1 GB by default.
    threads : int, optional
        Threads of DuckDB; as many as the machine has by default.

    Raises
    ------
    TracestatError
        The file does not exist, is not a store, or needs another version of tracestat.
    """
    return Trace(Path(path), shown=shown, memory_limit=memory_limit, threads=threads)


def is_store(path: str | Path) -> bool:
    """Tell whether a path is a tracestat store, of whatever version; a DuckDB file of TraceLab is none."""
    path = Path(path)
    try:
        return is_duckdb(path) and store_version(path) is not None
    except TracestatError:
        return False


def is_duckdb(path: Path) -> bool:
    """Tell by its first bytes whether a file is one of DuckDB."""
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == _MAGIC
    except OSError:
        return False


def open_if_store(path: str | Path) -> Trace | None:
    """Open a store, or give None for what is none.

    Raises
    ------
    TracestatError
        It is a store, but of a version that cannot be read.
    """
    if not is_duckdb(Path(path)):
        return None
    try:
        return open_store(path)  # once: asking first whether it is a store would open it twice
    except TracestatError:
        if is_store(path):
            raise
        return None


def store_version(path: Path) -> int | None:
    """Give the version of a store's form; None when it is no store."""
    with reading(path.name):
        connection, close = attach_read_only(path)
        try:
            version = _version(connection)
            return None if version is None else version[0]
        finally:
            close()


def _version(connection: duckdb.DuckDBPyConnection) -> tuple[int, str, bool] | None:
    """Give schema version, maker and synthetic mark of an attached file; None when it is no store."""
    try:
        rows = connection.execute(query_text("ingest_version")).fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):  # no such table, or of another form
        return None
    if len(rows) != 1 or rows[0][0] is None:
        return None
    version, maker, synthetic = rows[0]
    return int(version), str(maker), bool(synthetic)


class Head(NamedTuple):
    """What a store says of itself."""

    schema_version: int
    synthetic: bool
    counts: dict[str, int]
    hashes: list[str]


def read_head(connection: duckdb.DuckDBPyConnection, shown: str) -> Head:
    """Give what the attached file says of itself.

    Raises
    ------
    TracestatError
        It is no store, one of another version, or damaged.
    """
    with reading(shown):
        version = _version(connection)
    if version is None:
        raise TracestatError(f"{shown} is not a tracestat store: make one with `tracestat ingest`")
    number, maker, synthetic = version
    if number > SCHEMA_VERSION:
        raise TracestatError(f"{shown} needs tracestat >= {maker}: upgrade tracestat")
    if number < SCHEMA_VERSION:
        raise TracestatError(
            f"{shown} was made by an older tracestat ({maker}): make it again from its sources with `tracestat ingest`"
        )
    with reading(shown):
        result = connection.execute(query_text("ingest_counts"))
        names = [column[0] for column in result.description]
        counts = dict(zip(names, map(int, result.fetchall()[0]), strict=True))
        hashes = [row[0] for row in connection.execute(query_text("ingest_hashes")).fetchall()]
    return Head(number, synthetic, counts, hashes)


def fingerprint_of(hashes: list[str]) -> str:
    """Give the fingerprint of a trace made of sources with these hashes, in this order.

    Examples
    --------
    >>> fingerprint_of(["aa", "bb"]) == fingerprint_of(["bb", "aa"])
    False
    """
    return "sha256:" + hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def tables_of(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Give the tables of an attached file with their columns; views are none."""
    tables: dict[str, list[str]] = {}
    for table, column in connection.execute(query_text("ingest_catalog")).fetchall():
        tables.setdefault(table, []).append(column)
    return tables


def connect_in_memory(temporary: Path, *, memory_limit: str | None, threads: int | None) -> duckdb.DuckDBPyConnection:
    """Make a database in memory that loads no extension and reads no variable of the program."""
    config: dict[str, Any] = {
        "memory_limit": memory_limit or MEMORY_LIMIT,
        "temp_directory": str(temporary),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
        # what a large query took goes back to the system also where no query follows
        "allocator_background_threads": True,
    }
    if threads is not None:
        config["threads"] = threads
    connection = duckdb.connect(config=config)
    connection.execute(query_text("ingest_quiet"))
    return connection


def is_plain(path: Path) -> bool:
    """Tell whether DuckDB takes a path as it is: a question mark begins a query for it, a backslash a folder."""
    return os.name != "posix" or not {"?", "\\"} & set(str(path))


def attach_read_only(
    path: Path, *, memory_limit: str | None = None, threads: int | None = None
) -> tuple[duckdb.DuckDBPyConnection, Any]:
    """Attach a file read-only, with access to anything else off and the configuration locked.

    Returns
    -------
    tuple of (connection, callable)
        The connection, whose current database is the file, and what closes it and removes its temporary folder.
    """
    temporary = Path(tempfile.mkdtemp(prefix="tracestat-"))
    connection = connect_in_memory(temporary, memory_limit=memory_limit, threads=threads)
    # also when the trace is dropped without being closed
    close = weakref.finalize(connection, shutil.rmtree, temporary, ignore_errors=True)

    def close_both() -> None:
        connection.close()
        close()

    try:
        file = path.absolute()  # never taken for a URL
        if not is_plain(file):
            file = temporary / "link"
            file.symlink_to(path.absolute())
        connection.execute(query_text("ingest_attach_store"), {"path": str(file)})
        for name in ("ingest_use", "ingest_close_files", "ingest_lock"):
            connection.execute(query_text(name))
    except BaseException:
        close_both()
        raise
    return connection, close_both


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Turn what DuckDB says about a file into one line for the user."""
    try:
        with interruptible():
            yield
    except duckdb.OutOfMemoryException as error:
        raise TracestatError(f"{shown}: DuckDB's memory limit is too small for this: raise it") from error
    except duckdb.IOException as error:
        raise TracestatError(_io_line(shown, error)) from error
    except duckdb.Error as error:
        raise TracestatError(f"{shown} cannot be read ({_first_line(error)}): is it damaged?") from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt by the user be one: DuckDB makes another error of it."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def is_locked(error: duckdb.Error) -> bool:
    """Tell whether a file could not be opened because another program is writing it."""
    return "Could not set lock" in str(error) or "Conflicting lock" in str(error)


def _io_line(shown: str, error: duckdb.Error) -> str:
    text = str(error)
    if is_locked(error):
        return f"{shown} is being written by another program: close it there first"
    if "No space left" in text:
        return f"{shown}: no space left on the disk: free some"
    if "Permission denied" in text:
        return f"{shown}: no permission to read it"
    if "does not exist" in text or "No such file" in text:
        return f"{shown}: no such file"
    return f"{shown} is not a DuckDB file that can be read: is it complete, or made by a newer DuckDB?"


def _first_line(error: duckdb.Error) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
