"""``tracestat ingest``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracestat.cli.files import check_no_input
from tracestat.cli.heads import plain_head, trace_info
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_tables
from tracestat.cli.progress import progress_bar
from tracestat.cli.screen import say

if TYPE_CHECKING:
    from tracestat.charts.tables import Table
    from tracestat.ingest import IngestReport, SourceReport

__all__ = ["ingest"]

_MOST_SHOWN = 20


def ingest(
    *,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="A TraceLab .jsonl (plain, gzip, zstd), .duckdb or Parquet folder, a tracestat store, or a folder of "
            "these.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The store. One that is there keeps its sources; those named again are refreshed, new ones follow.",
        ),
    ],
    developer: Annotated[
        str | None,
        typer.Option("--developer", metavar="NAME", help="Who worked, where rows do not say.  [default: local]"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Go on when more than half of a source cannot be read.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read any sources into one store, and count what became of every row.

    The store is one DuckDB file with TraceLab's own tables. Copies of a source are taken once; what cannot be read
    stands in its table rejects, with source, line and reason.
    """
    from tracestat.ingest import ingest as run
    from tracestat.store import is_store, open_store

    # a store may be named as its own source; a folder may hold the store that is written
    check_no_input(output, "-o", [source for source in sources if not source.is_dir() and not is_store(source)])
    with progress_bar("reading", quiet=quiet) as progress:
        report = run(sources, output, force=force, developer=developer, progress=progress)
    with open_store(output) as trace:
        head = plain_head("ingest", trace=trace_info(trace), synthetic=trace.synthetic)
    if json:
        say(document({**head, **report.to_dict()}))
    else:
        print_tables([_table(report, output.name, synthetic=bool(head["synthetic"]))])


def _table(report: IngestReport, name: str, *, synthetic: bool) -> Table:
    from tracestat.charts.tables import Column, Table
    from tracestat.charts.words import counted

    counts = ", ".join(
        counted(number, table.replace("_", " ").removesuffix("s")) for table, number in report.tables.items()
    )
    done = "written" if report.changed else "already held all of it and was left as it is"
    notes = [f"{source.path}: {source.note}" for source in report.sources if source.note]
    inside = [
        counted(sum(getattr(source, part) for source in report.sources), what)
        for part, what in (("calls_rejected", "call"), ("events_rejected", "event"))
        if any(getattr(source, part) for source in report.sources)
    ]
    if inside:
        notes.append(f"left out of rounds that were kept: {' and '.join(inside)}")
    repaired = sum(source.repaired for source in report.sources)
    if repaired:
        notes.append(f"{counted(repaired, 'round')} with text that was no Unicode: replaced")
    if report.rejected:
        notes.append(f"table rejects: {counted(report.rejected, 'line')}, with source, line and reason")
    if len(report.sources) > _MOST_SHOWN:
        notes.append(f"{_MOST_SHOWN} of {len(report.sources):,} sources shown; --json lists all")
    return Table(
        title=f"{'SYNTHETIC: ' if synthetic else ''}{name}: {counts}",
        caption=(done,),
        columns=(
            Column("source", "left", "shorten"),
            Column("format", "left", "wrap"),
            Column("state", "left"),
            Column("rounds\nread"),
            Column("rejected"),
            Column("new"),
            Column("had"),
        ),
        rows=tuple(_row(source) for source in report.sources[:_MOST_SHOWN]),
        notes=tuple(notes[:_MOST_SHOWN]),
    )


def _row(source: SourceReport) -> tuple[str, ...]:
    numbers = (source.rows, source.rejected, source.new, source.duplicates)
    return (source.path, source.format, source.state, *(f"{number:,}" for number in numbers))
