"""What becomes of each source of a store: new, refreshed, unchanged, kept, or left out as a repetition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tracestat.errors import TracestatError
from tracestat.ingest.copy import StoredSource, stored_path_keys, stored_sources
from tracestat.ingest.detect import Found, find_sources, find_tables
from tracestat.ingest.logs.formats import format_of
from tracestat.ingest.logs.planned import PlannedLog, developer_of, log_states, planned
from tracestat.ingest.mapped import Mapping
from tracestat.ingest.readers import READ_MEMORY, content_hash
from tracestat.ingest.report import State
from tracestat.store import SCHEMA_VERSION, Trace, is_duckdb, open_store, store_version
from tracestat.user_key import keyed_hash

__all__ = ["Plan", "Planned", "make_plan", "path_key"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A source in its place in the store to be.

    Attributes
    ----------
    state : str
        As in :class:`~tracestat.ingest.report.SourceReport`.
    key : str or None
        Pseudonym of its path.
    sha256 : str or None
        Hash of its content; None where nothing is there to compare it with.
    developer : str or None
        Who the caller says worked.
    read : Found or None
        Where it is read from.
    copy : StoredSource or None
        Or the store that it is copied from.
    before : StoredSource or None
        Its earlier version.
    """

    state: State
    key: str | None
    sha256: str | None
    developer: str | None
    read: Found | None = None
    copy: StoredSource | None = None
    before: StoredSource | None = None


@dataclass(slots=True)
class Plan:
    """The sources in their order, those left out, each with the number of the source that it repeats, and the logs."""

    sources: list[Planned]
    repeated: list[tuple[Planned, int]]
    logs: list[PlannedLog]
    dropped: bool = False  # raw logs of the store were left out

    @property
    def changes_nothing(self) -> bool:
        """Whether the store holds everything already."""
        entries: list[Planned | PlannedLog] = [*self.sources, *self.logs]
        return bool(entries) and not self.dropped and all(entry.state in ("kept", "unchanged") for entry in entries)

    def place(self, new: Planned) -> None:
        """Give a source its place: that of its earlier version, or the last."""
        for i, entry in enumerate(self.sources):
            if new.key is None or entry.key != new.key:
                continue
            if (entry.sha256, entry.developer) != (new.sha256, new.developer):
                self.sources[i] = replace(new, state="refreshed", before=entry.copy)
            elif entry.state == "kept":
                self.sources[i] = replace(entry, state="unchanged")
            return
        for i, entry in enumerate(self.sources):
            if new.sha256 is not None and entry.sha256 == new.sha256:
                self.repeated.append((replace(new, state="duplicate"), i))
                return
        self.sources.append(new)

    def place_log(self, found: Found, developer: str | None, *, again: bool) -> None:
        """Give a raw log its place; ``again`` reads it from its start even if it is in the store."""
        key = path_key(found.place)
        for i, entry in enumerate(self.logs):
            if entry.key == key:
                if entry.found is None and entry.state == "kept":
                    self.logs[i] = entry.named(found, developer, again=again)
                return
        self.logs.append(planned(found, key, developer))

    def keep_logs(self, stored: Iterable[PlannedLog]) -> None:
        """Take over raw logs of a store, but for those that are here already and no older."""
        known = {entry.key: place for place, entry in enumerate(self.logs)}
        for entry in stored:
            place = known.get(entry.key)
            if place is None:
                self.logs.append(entry)
            elif self.logs[place].found is None and entry.is_later(self.logs[place]):
                self.logs[place] = replace(entry, state="refreshed", earlier=self.logs[place].before)


def make_plan(
    sources: Sequence[Path],
    out: Path,
    *,
    developer: str | None,
    developer_from: str | None = None,
    again: bool = False,
    only_named: bool = False,
    mapping: Mapping | None = None,
    opened: ExitStack,
) -> Plan:
    """Decide what becomes of every source.

    Parameters
    ----------
    sources : sequence of Path
        What the caller named.
    out : Path
        The store, which may exist.
    developer : str or None
        Who worked, for rows that do not say.
    developer_from : {"parent"}, optional
        Name the developer of a raw log after the first folder below the one that was named.
    again : bool
        Read raw logs from their start.
    only_named : bool
        Drop raw logs of the store that are not among the sources.
    mapping : Mapping, optional
        The sources are plain tables of this form.
    opened : ExitStack
        Takes the stores that the plan copies from.

    Returns
    -------
    Plan

    Raises
    ------
    TracestatError
        A source is not readable, or ``out`` is something else or of another version.
    """
    found = find_sources(sources, but=out) if mapping is None else find_tables(sources, mapping)
    plan = Plan([], [], [])
    _already_there(plan, out, found, opened)
    compare = bool(plan.sources) or sum(source.log is None for source in found) > 1
    for source in found:
        if source.kind == "tracestat store":
            trace = opened.enter_context(open_store(source.place, memory_limit=READ_MEMORY, threads=1))
            tables, logs = _stored(trace, "new")
            for stored in tables:
                plan.place(stored)
            plan.keep_logs(logs)
        elif source.log is not None:
            plan.place_log(source, developer_of(source, developer, developer_from), again=again)
        else:
            sha256 = content_hash(source) if compare else None
            plan.place(Planned("new", path_key(source.place), sha256, developer, read=source))
    if only_named:
        plan.dropped = any(entry.state == "kept" for entry in plan.logs)
        plan.logs = [entry for entry in plan.logs if entry.state != "kept"]
    return plan


def path_key(path: Path) -> str:
    """Give the pseudonym of a place on this machine."""
    return keyed_hash(str(path.resolve()), purpose="path")


def _copied(state: State, stored: StoredSource) -> Planned:
    row = stored.row
    return Planned(state, row.path_key, row.sha256, row.developer, copy=stored)


def _stored(trace: Trace, state: State) -> tuple[list[Planned], list[PlannedLog]]:
    """Give the sources of an open store: those that are copied, and raw logs, whose rounds are made again."""
    logs = log_states(trace)
    tables: list[Planned] = []
    kept: list[PlannedLog] = []
    for stored in stored_sources(trace):
        row = stored.row
        if stored.source_id in logs:
            known, rest = logs[stored.source_id]
            form, key = format_of(known.slug), row.path_key or ""
            kept.append(PlannedLog(key, form, row.developer, state, before=stored, stored=known, rest=rest))
        else:
            tables.append(_copied(state, stored))
    return tables, kept


def _already_there(plan: Plan, out: Path, found: Sequence[Found], opened: ExitStack) -> None:
    """Put the sources of the store that is there already into a plan."""
    if not out.exists():
        return
    version = store_version(out) if is_duckdb(out) else None
    if version is None:
        raise TracestatError(f"{out.name} exists and is not a tracestat store: choose another -o")
    if version < SCHEMA_VERSION:
        # an older form is not read: all of its sources must be
        missing = stored_path_keys(out) - {path_key(source.place) for source in found}
        if missing:
            raise TracestatError(
                f"{out.name} was made by an older tracestat and {len(missing)} of its sources are not named: name "
                "all of them to make it again, or choose another -o"
            )
        return
    trace = opened.enter_context(open_store(out, memory_limit=READ_MEMORY, threads=1))
    tables, logs = _stored(trace, "kept")
    plan.sources += tables
    plan.logs += logs
