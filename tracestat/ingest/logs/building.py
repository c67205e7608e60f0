"""From the raw logs of a plan to the rows of a store.

Every log's facts are there, read now or kept from last time; the rounds of all logs are made anew from them in one
order that does not depend on which came when. So a store that was added to holds what a fresh one would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tracestat.errors import TracestatError
from tracestat.ingest.batch import Reject
from tracestat.ingest.build import SourceRow, StoreWriter, Tally
from tracestat.ingest.logs.batching import batch_of
from tracestat.ingest.logs.format import Format, Log, LogRounds
from tracestat.ingest.logs.formats import FORMATS
from tracestat.ingest.logs.numbering import Numbering
from tracestat.ingest.logs.planned import PlannedLog, log_pieces
from tracestat.ingest.logs.reading import LogReader
from tracestat.ingest.logs.state import StoredLog
from tracestat.ingest.pipeline import in_order
from tracestat.ingest.report import SourceReport

__all__ = ["LOCAL", "Known", "read_logs", "write_logs"]

# Who worked, where nobody says.
LOCAL: Final = "local"
_ROUNDS_PER_BATCH: Final = 4096


@dataclass(frozen=True, slots=True)
class Known:
    """A log of the plan with its facts."""

    entry: PlannedLog
    log: StoredLog


def read_logs(entries: Sequence[PlannedLog], reader: LogReader, *, force: bool) -> list[Known]:
    """Read what is new of the logs of a plan.

    Parameters
    ----------
    entries : sequence of PlannedLog
        The logs.
    reader : LogReader
        Open.
    force : bool
        Go on when more than half of what is read cannot be understood.

    Returns
    -------
    list of Known
        In the order in which their rounds are made: by format, first and last stamp. A log that was resumed in another
        file ends before that file does, so its rounds stay with it.

    Raises
    ------
    TracestatError
        A log cannot be read, or most of what was read is damaged.
    """
    known: list[Known] = []
    pieces = {trace: log_pieces(trace) for trace in {e.before.trace for e in entries if e.before is not None}}
    understood = lost = 0
    reasons: Counter[str] = Counter()

    def read(entry: PlannedLog) -> Known:
        before = None
        if entry.before is not None and entry.stored is not None:
            found = pieces[entry.before.trace].get(entry.before.source_id, ())
            before = StoredLog(entry.stored, found, entry.rest)
        if entry.found is None:
            assert before is not None  # noqa: S101 - a log is read, or it is in a store
            return Known(entry, before)
        return Known(entry, reader.read(entry.found.place, entry.form, entry.found.compression, before=before))

    # most logs are small: several are read at once
    for k in in_order(read, entries, reader.workers) if reader.workers > 1 else map(read, entries):
        known.append(k)
        if k.entry.found is not None:
            understood += k.log.objects
            lost += len(k.log.lost)
            reasons.update(piece.reason for piece in k.log.lost)
    if lost > understood and not force:
        ((reason, _),) = reasons.most_common(1)
        raise TracestatError(
            f"{lost:,} of {lost + understood:,} lines of the logs cannot be read (most often: {reason}): are they "
            "whole? --force keeps the rest"
        )
    places = {form.slug: place for place, form in enumerate(FORMATS)}
    return sorted(known, key=lambda k: (places[k.entry.form.slug], k.log.span, k.entry.key))


def write_logs(writer: StoreWriter, known: Sequence[Known], numbering: Numbering) -> list[SourceReport]:
    """Make the rounds of all logs and write them.

    Parameters
    ----------
    writer : StoreWriter
        Open, with all other sources written.
    known : sequence of Known
        In the order of :func:`read_logs`.
    numbering : Numbering
        Numbers private names.

    Returns
    -------
    list of SourceReport
        One per log.
    """
    reports = []
    for form in FORMATS:
        of_form = [k for k in known if k.entry.form.slug == form.slug]
        if not of_form:
            continue
        logs = [_log(k, form) for k in of_form]
        for k, made in zip(of_form, form.rounds(logs), strict=True):
            numbering.apply(made.rounds)
            reports.append(_write(writer, k, made))
    return reports


def _log(known: Known, form: Format) -> Log:
    return Log(known.entry.key, known.entry.developer or LOCAL, lambda: known.log.facts(form.fact))


def _write(writer: StoreWriter, known: Known, made: LogRounds) -> SourceReport:
    entry, log = known.entry, known.log
    rejects = tuple(Reject(piece.line, "line", piece.place, piece.reason) for piece in log.lost)
    rounds = made.rounds
    for r in rounds:
        r.developer = r.developer or entry.developer or LOCAL
    for start in range(0, max(1, len(rounds)), _ROUNDS_PER_BATCH):
        part = rounds[start : start + _ROUNDS_PER_BATCH]
        writer.add(batch_of(part, () if start else rejects, first=start))
    note = "; ".join(_notes(log, made)) or None

    def row(_: Tally, first: int | None, last: int | None) -> SourceRow:
        return SourceRow(
            source=entry.source,
            format=entry.form.kind,
            sha256=log.sha256,
            bytes=log.state.size,
            path_key=entry.key,
            developer=entry.developer,
            first_round_pk=first,
            last_round_pk=last,
            rows_read=log.objects + len(log.lost),
            rows_kept=log.objects,
            rows_rejected=len(log.lost),
            calls_rejected=0,
            events_rejected=0,
            rows_repaired=log.state.repaired + log.rest.repaired,
            note=note,
        )

    earlier = entry.earlier or entry.before
    before = earlier.identities() if earlier is not None and entry.state == "refreshed" else None
    new = writer.end_source(row, before=before, log=log)
    had = entry.state in ("kept", "unchanged")
    return SourceReport(
        path=entry.source,
        format=entry.form.kind,
        state=entry.state,
        rows=log.objects + len(log.lost),
        kept=log.objects,
        rejected=len(log.lost),
        calls_rejected=0,
        events_rejected=0,
        repaired=log.state.repaired + log.rest.repaired,
        new=0 if had else (new or 0),
        duplicates=len(rounds) if had else len(rounds) - (new or 0),
        note=note,
        left_out=dict(made.left_out),
        understood=dict(made.counts),
    )


def _notes(log: StoredLog, made: LogRounds) -> Iterator[str]:
    """Say what else a reader of the store should know of a log."""
    state = log.state
    if state.note:
        yield state.note
    for reason, n in made.left_out.items():
        yield f"left out: {n:,} {reason}"
    unknown = Counter(state.unknown) + Counter(log.rest.unknown)
    if unknown:
        most = ", ".join(f"{kind} {n:,}" for kind, n in unknown.most_common(3))
        yield f"lines of unknown types: {unknown.total():,} ({most})"
    if state.unfinished:
        yield "the last line has no end yet"
    calls, results = made.counts.get("calls", 0), made.counts.get("results", 0)
    if calls and not made.rounds and not made.left_out:
        yield "has calls, but no rounds could be made of them"
    elif calls and not results:
        yield "has calls, but no results"
