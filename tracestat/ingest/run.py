"""Any sources into one store: the plan, then the build, then the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.about import about_note
from tracestat.ingest.batch import Batch
from tracestat.ingest.build import SourceRow, StoreWriter, Tally, file_state
from tracestat.ingest.copy import StoredSource
from tracestat.ingest.detect import Found
from tracestat.ingest.logs.building import read_logs, write_logs
from tracestat.ingest.logs.numbering import Numbering
from tracestat.ingest.logs.one_key import check_key
from tracestat.ingest.logs.planned import PlannedLog
from tracestat.ingest.logs.reading import LogReader
from tracestat.ingest.mapped import Mapping
from tracestat.ingest.plan import Plan, Planned, make_plan, path_key
from tracestat.ingest.readers import Reader, reader_of
from tracestat.ingest.report import IngestReport, SourceReport, State
from tracestat.private_names import PrivateNames, read_names, write_names
from tracestat.store import open_store
from tracestat.user_key import user_key

__all__ = ["MEMORY_LIMIT", "Progress", "ingest"]

MEMORY_LIMIT: Final = "512MB"
_MAX_THREADS: Final = 8

Progress: TypeAlias = Callable[[int, int], None]


def ingest(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    force: bool = False,
    developer: str | None = None,
    developer_from: str | None = None,
    only_named: bool = False,
    keep_names: bool = False,
    mapping: Mapping | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> IngestReport:
    """Read any sources into one store.

    Parameters
    ----------
    sources : sequence of str or Path
        Files and folders; what each is, is told by its content. A folder stands for the traces in it.
    out : str or Path
        The store. If it exists, its sources are kept, those named again are refreshed, and new ones follow. It is
        replaced when the new one is complete, and not touched when nothing has changed.
    force : bool
        Go on when more than half of a source cannot be rows.
    developer : str, optional
        Who worked, for rows that do not say; ``local`` for raw logs by default.
    developer_from : {"parent"}, optional
        Name the developer of each raw log after the first folder below the one that was named.
    only_named : bool
        Drop raw logs of the store that are not named or not there any more.
    keep_names : bool
        Write the true names of private executables, tools, models and projects to a file next to the store, readable
        by its owner only (:mod:`tracestat.private_names`).
    mapping : Mapping, optional
        The sources are plain tables, and this says which column serves for what (:mod:`tracestat.ingest.mapped`).
    progress : callable, optional
        Called with (bytes done, bytes in all).
    threads : int, optional
        As many as there are processors, at most 8, by default.
    memory_limit : str
        What DuckDB may use.

    Returns
    -------
    IngestReport
        What became of each source.

    Raises
    ------
    TracestatError
        A source is nothing that tracestat reads, most of it is damaged, or the store cannot be written.
    """
    if not sources:
        raise UsageError("ingest needs at least one source")
    target = Path(out).resolve()
    before = file_state(target)
    names = read_names(target)
    workers = threads or min(_MAX_THREADS, _processors())
    with ExitStack() as opened:
        plan = make_plan(
            [Path(source) for source in sources],
            target,
            developer=developer,
            developer_from=developer_from,
            only_named=only_named,
            again=keep_names and names is None,
            mapping=mapping,
            opened=opened,
        )
        check_key(plan.logs, target.name)
        if target.exists() and plan.changes_nothing:
            with open_store(target) as trace:
                tables = dict(trace.counts)
            reports = [*map(_copied, plan.sources), *map(_copied, plan.logs)]
            return _report(plan, reports, tables, changed=False)
        work = _Work(plan, force=force, workers=workers, keep_names=keep_names, progress=progress)
        with StoreWriter(target, memory_limit=memory_limit, threads=workers, before=before) as writer:
            reports = [work.write(writer, entry) for entry in plan.sources]
            if plan.logs:
                reports += work.write_logs(writer, plan.logs)
            opened.close()  # where files are locked, an open store cannot be replaced
            tables = writer.finish()
    if keep_names or names is not None:  # the numbers of an older file may mean other names now
        write_names(target, work.names(names))
    return _report(plan, reports, tables, changed=True)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Work:
    """Writes the sources of a plan, and tells how far it is."""

    def __init__(self, plan: Plan, *, force: bool, workers: int, keep_names: bool, progress: Progress | None) -> None:
        self._force = force
        self._workers = workers
        self._keep_names = keep_names
        self._seen: dict[tuple[str, str], str] = {}
        self._numbering: Numbering | None = None
        self._progress = progress
        self._log_bytes = sum(_size(entry.found) for entry in plan.logs if entry.found)
        self._total = sum(_size(entry.read) for entry in plan.sources if entry.read) + self._log_bytes
        self._done = 0

    def _count(self, n: int) -> None:
        self._done += n
        if self._progress:
            self._progress(min(self._done, self._total), self._total)

    def write(self, writer: StoreWriter, entry: Planned) -> SourceReport:
        """Write one source."""
        if entry.read is not None:
            return self._read(writer, entry, entry.read)
        assert entry.copy is not None  # noqa: S101 - a source is read or copied
        return _copy(writer, entry, entry.copy)

    def write_logs(self, writer: StoreWriter, entries: Sequence[PlannedLog]) -> list[SourceReport]:
        """Read what is new of the raw logs, and write the rounds of all."""
        with LogReader(
            user_key(),
            keep_names=self._keep_names,
            workers=self._workers,
            expected_bytes=self._log_bytes,
            on_bytes=self._count,
        ) as reader:
            known = read_logs(entries, reader, force=self._force)
        self._seen = reader.seen
        return write_logs(writer, known, self._numbers(writer))

    def _numbers(self, writer: StoreWriter) -> Numbering:
        """Give what numbers the private names of this ingest, behind those of all sources so far."""
        if self._numbering is None:
            self._numbering = Numbering(writer.largest_custom_numbers())
        return self._numbering

    def names(self, before: PrivateNames | None) -> PrivateNames:
        """Give the true names known now."""
        seen = {**(before.seen if before else {}), **{" ".join(key): name for key, name in self._seen.items()}}
        numbers = self._numbering.numbers if self._numbering else {}
        shown = {name: seen[" ".join(key)] for key, name in numbers.items() if " ".join(key) in seen}
        projects = {key.removeprefix("project "): name for key, name in seen.items() if key.startswith("project ")}
        return PrivateNames(dict(sorted(seen.items())), shown | projects)

    def _read(self, writer: StoreWriter, entry: Planned, found: Found) -> SourceReport:
        reader = reader_of(found, on_bytes=self._count, workers=self._workers, force=self._force)
        reasons: Counter[str] = Counter()
        for batch in reader.batches():
            if found.mapping is not None:
                batch = self._numbers(writer).apply_to(batch)
            reasons.update(reject.reason for reject in batch.rejects if reject.part == "round")
            writer.add(_of_developer(batch, entry.developer))
        tally = writer.tally
        if reader.rows is None and 2 * tally.rows_rejected > tally.read and not self._force:
            ((reason, _),) = reasons.most_common(1)
            raise TracestatError(
                f"{found.shown}: {tally.rows_rejected:,} of {tally.read:,} rows cannot be read (most often: {reason}): "
                "is it the right file? --force keeps the rest"
            )
        before = entry.before.identities() if entry.before else None
        new = writer.end_source(lambda t, first, last: _row(reader, entry, t, first, last), before=before)
        report = _reported(entry.state, found.shown, found.format, tally, new, _note(reader))
        if reader.rows is None:
            return report
        read, rejected = reader.rows
        return replace(report, rows=read, kept=read - rejected, rejected=rejected, calls_rejected=0, told=reader.told)


def _copy(writer: StoreWriter, entry: Planned, stored: StoredSource) -> SourceReport:
    for batch in stored.batches():
        writer.add(batch)
    tally = writer.tally
    before = entry.before.identities() if entry.before else None
    new = writer.end_source(
        lambda _, first, last: replace(stored.row, first_round_pk=first, last_round_pk=last), before=before
    )
    if entry.state in ("kept", "unchanged") and new is not None:
        return _copied(entry)
    return _reported(entry.state, stored.row.source, stored.row.format, tally, new, stored.row.note)


def _row(reader: Reader, entry: Planned, tally: Tally, first: int | None, last: int | None) -> SourceRow:
    found = reader.found
    read, rejected = reader.rows or (tally.read, tally.rows_rejected)
    return SourceRow(
        source=found.shown,
        format=found.format,
        sha256=reader.sha256,
        bytes=reader.size,
        path_key=path_key(found.place),
        developer=entry.developer,
        first_round_pk=first,
        last_round_pk=last,
        rows_read=read,
        rows_kept=read - rejected,
        rows_rejected=rejected,
        calls_rejected=0 if reader.rows else tally.calls_rejected,
        events_rejected=tally.events_rejected,
        rows_repaired=tally.repaired,
        note=_note(reader),
    )


def _note(reader: Reader) -> str | None:
    """Say what else there is to know of a source: of its end, and what stands beside it about whose data it is."""
    found = reader.found
    beside = about_note(found.place, reader.sha256) if found.mapping is None and not found.parts else None
    return "; ".join(note for note in (reader.note, beside) if note) or None


def _reported(state: State, shown: str, kind: str, tally: Tally, new: int | None, note: str | None) -> SourceReport:
    return SourceReport(
        path=shown,
        format=kind,
        state="duplicate" if new is None else state,
        rows=tally.read,
        kept=tally.kept,
        rejected=tally.rows_rejected,
        calls_rejected=tally.calls_rejected,
        events_rejected=tally.events_rejected,
        repaired=tally.repaired,
        new=new or 0,
        duplicates=tally.kept - (new or 0),
        note="an earlier source holds the same rows: left out" if new is None else note,
    )


def _copied(entry: Planned | PlannedLog) -> SourceReport:
    """Report a source that stays as it is."""
    stored = entry.copy if isinstance(entry, Planned) else entry.before
    assert stored is not None  # noqa: S101 - it is in the store
    row = stored.row
    had = row.rows_kept
    if isinstance(entry, PlannedLog):  # of a log, rows are JSON objects
        had = 0 if row.first_round_pk is None else (row.last_round_pk or 0) - row.first_round_pk + 1
    return SourceReport(
        path=row.source,
        format=row.format,
        state=entry.state,
        rows=row.rows_read,
        kept=row.rows_kept,
        rejected=row.rows_rejected,
        calls_rejected=row.calls_rejected,
        events_rejected=row.events_rejected,
        repaired=row.rows_repaired,
        new=0,
        duplicates=had,
        note=row.note,
    )


def _report(plan: Plan, reports: list[SourceReport], tables: dict[str, int], *, changed: bool) -> IngestReport:
    """Put the reports together; sources that were left out come last."""
    left_out = [report for report in reports if report.state == "duplicate"]
    for entry, of in plan.repeated:
        name = entry.read.shown if entry.read else entry.copy.row.source if entry.copy else ""
        same = reports[of]
        left_out.append(
            replace(
                same,
                path=name,
                state="duplicate",
                new=0,
                duplicates=same.kept,
                note=f"the same as {same.path}: left out",
            )
        )
    counts = {name: tables[name] for name in ("rounds", "tool_calls", "timing_events")}
    stay = [report for report in reports if report.state != "duplicate"]
    return IngestReport((*stay, *left_out), counts, tables["rejected"], changed=changed)


def _of_developer(batch: Batch, developer: str | None) -> Batch:
    """Fill in who worked, where the rows do not say."""
    if developer is None or not batch.rounds.num_rows:
        return batch
    at = batch.rounds.schema.get_field_index("user")
    users = pc.fill_null(batch.rounds.column(at), pa.scalar(developer))
    return replace(batch, rounds=batch.rounds.set_column(at, batch.rounds.schema.field(at), users))


def _size(found: Found) -> int:
    try:
        return sum(path.stat().st_size for path in found.files)
    except OSError as error:
        raise TracestatError(f"{found.shown}: {error.strerror}") from error
