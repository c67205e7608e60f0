"""Raw logs of an ingest: those named now, and those that the store holds already."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from tracestat.errors import TracestatError
from tracestat.ingest.copy import StoredSource
from tracestat.ingest.detect import Found
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.reading import has_changed
from tracestat.ingest.logs.state import Chunk, LogState
from tracestat.ingest.report import State
from tracestat.queries import query_text
from tracestat.store import Trace

__all__ = ["FROM_PARENT", "PlannedLog", "developer_of", "log_pieces", "log_states", "planned"]

# What `--developer-from parent` asks for.
FROM_PARENT: Final = "parent"
_OF_HARNESS: Final = re.compile(r"projects|sessions|archived_sessions|subagents|[0-9]{4}|\..*")


@dataclass(frozen=True, slots=True)
class PlannedLog:
    """A raw log in the store to be.

    Attributes
    ----------
    key : str
        Pseudonym of its place.
    form : Format
        What its lines are.
    developer : str or None
        Who worked.
    state : str
        As in :class:`~tracestat.ingest.report.SourceReport`.
    found : Found or None
        Where it is read from; None for one that is kept as it is.
    before : StoredSource or None
        What the store says about it.
    stored : LogState or None
        How far it was read.
    rest : Chunk
        What its unfinished last line said.
    earlier : StoredSource or None
        What the store to be had of it, where it comes from another store.
    """

    key: str
    form: Format
    developer: str | None
    state: State
    found: Found | None = None
    before: StoredSource | None = None
    stored: LogState | None = None
    rest: Chunk = field(default_factory=Chunk)
    earlier: StoredSource | None = None

    @property
    def source(self) -> str:
        """How ``sources`` and JSON name it: its place would tell about its owner."""
        return f"{self.form.slug}/{self.key[:12]}"

    def is_later(self, other: PlannedLog) -> bool:
        """Tell whether another store read a later state of the same file."""
        if self.stored is None or other.stored is None:
            return False
        return self.stored.mtime_ns > other.stored.mtime_ns

    def named(self, found: Found, developer: str | None, *, again: bool) -> PlannedLog:
        """Give the plan for a log of the store that is named now; ``again`` reads it from the start."""
        assert self.stored is not None  # noqa: S101 - it is in the store
        if not again and developer == self.developer and not has_changed(found.place, self.stored):
            return replace(self, state="unchanged")
        return replace(self, state="refreshed", found=found, developer=developer, stored=None if again else self.stored)


def planned(found: Found, key: str, developer: str | None) -> PlannedLog:
    """Give the plan for a log that the store does not hold."""
    assert found.log is not None  # noqa: S101 - it was found to be a log
    return PlannedLog(key, found.log, developer, "new", found=found)


def developer_of(found: Found, developer: str | None, source: str | None) -> str | None:
    """Tell who worked: the name given, or the first folder below the one that was named.

    Folders of a harness's own (``sessions``, a year, a hidden one) and those of projects are no people: then the name
    given counts.
    """
    if source != FROM_PARENT:
        return developer
    parent: Path = found.place.parent
    inside = found.root is not None and parent != found.root
    name = parent.relative_to(found.root).parts[0] if inside and found.root is not None else parent.name
    if _OF_HARNESS.fullmatch(name) or (inside and found.root is not None and _OF_HARNESS.fullmatch(found.root.name)):
        return developer
    return name


def log_states(trace: Trace) -> dict[int, tuple[LogState, Chunk]]:
    """Give how far the raw logs of an open store were read, by source_id.

    Raises
    ------
    TracestatError
        The store is damaged.
    """
    try:
        return {
            source_id: (msgspec.json.decode(state, type=LogState), msgspec.msgpack.decode(rest, type=Chunk))
            for source_id, state, rest in trace.run(query_text("ingest_logs")).rows()
        }
    except msgspec.DecodeError as error:
        raise TracestatError(
            f"{trace.shown}: what it keeps of its raw logs is damaged: make it again from the logs"
        ) from error


def log_pieces(trace: Trace) -> dict[int, tuple[bytes, ...]]:
    """Give the facts of the raw logs of an open store, compressed, by source_id."""
    pieces: dict[int, list[bytes]] = {}
    for source_id, facts in trace.run(query_text("ingest_log_facts")).rows():
        pieces.setdefault(source_id, []).append(facts)
    return {source_id: tuple(some) for source_id, some in pieces.items()}
