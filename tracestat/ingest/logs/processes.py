"""What runs in a process that reads logs; it loads neither Arrow nor DuckDB, which takes longer than many a log."""

from __future__ import annotations

from tracestat.ingest.logs.formats import format_of
from tracestat.ingest.logs.lines import read_chunk
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk

__all__ = ["begin", "work_on"]

_names_here: list[Names] = []  # a reading process has one user's key for all its life


def begin(key: bytes, keep: bool) -> None:
    """Make a process ready for the logs of one user."""
    _names_here[:] = [Names(key, keep=keep)]


def work_on(slug: str, data: bytes, first_line: int, *, complete: bool) -> tuple[Chunk, dict[tuple[str, str], str]]:
    """Read a block of lines; give what it says, and the private names met."""
    names = _names_here[0]
    names.seen.clear()
    chunk = read_chunk(format_of(slug), names, data, first_line, complete=complete)
    return chunk, dict(names.seen)
