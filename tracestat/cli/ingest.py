"""``tracestat ingest``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.heads import plain_head, trace_info
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_tables
from tracestat.cli.progress import progress_bar
from tracestat.cli.screen import say
from tracestat.errors import UsageError
from tracestat.replacing import replacing

if TYPE_CHECKING:
    from tracestat.charts.tables import Table
    from tracestat.ingest import IngestReport, SourceReport

__all__ = ["ingest"]

_MOST_SHOWN = 20


def ingest(
    *,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SOURCE",
            help="A TraceLab .jsonl (plain, gzip, zstd), .duckdb or Parquet folder, a tracestat store, logs of agents, "
            "or a folder of these.",
            show_default=False,
        ),
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Also the logs of this user's Claude Code and Codex.")] = False,
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
    developer_from: Annotated[
        Literal["parent"] | None,
        typer.Option(
            "--developer-from",
            metavar="parent",
            help="Name the developer of each log after the first folder below SOURCE.  [default: none]",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN,...",
            help="SOURCE is any table (.csv, .parquet, .jsonl) of tool calls: session, tool, start and end, or of "
            "requests: session, arrival and end. Says which column serves for what, as text or as a .toml file.",
        ),
    ] = None,
    keep_map: Annotated[
        Path | None,
        typer.Option("--keep-map", metavar="FILE.toml", help="Write the mapping to a file, for --map next time."),
    ] = None,
    keep_names: Annotated[
        bool,
        typer.Option(
            "--keep-names",
            help="Write the true names of your own commands, tools and projects to a file next to the store that only "
            "you can read; tables on this screen show them.",
        ),
    ] = False,
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
    from tracestat.ingest.mapped import load_mapping
    from tracestat.own_logs import require_log_folders
    from tracestat.store import is_store, open_store

    # a store may be named as its own source; a folder may hold the store that is written
    places = list(sources or [])
    if mine:
        places += [folder.place for folder in require_log_folders()]
    if not places:
        raise UsageError("ingest needs a SOURCE, or --mine")
    if columns is not None and mine:
        raise UsageError("--map is for tables: leave out --mine")
    mapping = None if columns is None else load_mapping(columns)
    if keep_map is not None:
        if mapping is None:
            raise UsageError("--keep-map keeps what --map says: give --map too")
        check_target(keep_map, "--keep-map", (".toml",))
        check_no_input(keep_map, "--keep-map", places)
    check_no_input(output, "-o", [place for place in places if place.is_file() and not is_store(place)])
    with progress_bar("reading", quiet=quiet) as progress:
        report = run(
            places,
            output,
            force=force,
            developer=developer,
            developer_from=developer_from,
            keep_names=keep_names,
            mapping=mapping,
            progress=progress,
        )
    if keep_map is not None and mapping is not None:
        with replacing(keep_map, f"--keep-map {keep_map.name}") as beside:
            beside.write_text(mapping.to_toml(), encoding="utf-8")
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
    listed = [source for source in report.sources if not source.is_log]
    logs = [source for source in report.sources if source.is_log]
    notes = [line for source in listed for line in source.told]
    notes += [f"{source.path}: {source.note}" for source in listed if source.note] + _log_notes(logs)
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
    if len(listed) > _MOST_SHOWN:
        notes.append(f"{_MOST_SHOWN} of {len(listed):,} sources shown; --json lists all")
    return Table(
        title=f"{'SYNTHETIC: ' if synthetic else ''}{name}: {counts}",
        caption=(done,),
        columns=(
            Column("source", "left", "shorten"),
            Column("format", "left", "wrap"),
            Column("state", "left"),
            Column("read"),
            Column("rejected"),
            Column("new"),
            Column("had"),
        ),
        rows=(*(_row(source) for source in listed[:_MOST_SHOWN]), *_log_rows(logs)),
        notes=tuple(notes[:_MOST_SHOWN]),
    )


def _log_rows(logs: list[SourceReport]) -> list[tuple[str, ...]]:
    """Give one row per format and state: nobody wants to read a thousand names of logs."""
    from tracestat.charts.words import counted

    rows = []
    for kind, state in dict.fromkeys((log.format, log.state) for log in logs):
        some = [log for log in logs if (log.format, log.state) == (kind, state)]
        numbers = (sum(getattr(log, name) for log in some) for name in ("rows", "rejected", "new", "duplicates"))
        rows.append((counted(len(some), "log"), kind, state, *(f"{number:,}" for number in numbers)))
    return rows


def _log_notes(logs: list[SourceReport]) -> list[str]:
    """Say what was understood of the logs of each format, and what was left out and why."""
    notes = []
    for kind in dict.fromkeys(log.format for log in logs):
        some = [log for log in logs if log.format == kind]
        understood: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        for log in some:
            understood.update(log.understood)
            left_out.update(log.left_out)
        if understood:
            notes.append(f"{kind}: understood {', '.join(f'{n:,} {what}' for what, n in understood.items())}")
        if left_out:
            notes.append(f"{kind}: left out {', '.join(f'{n:,} {why}' for why, n in left_out.most_common())}")
        said = Counter(part for log in some for part in (log.note or "").split("; ") if not part.startswith("left out"))
        notes += [f"{kind}, {n:,} of {len(some):,} logs: {part}" for part, n in said.most_common(5) if part]
    if logs:
        notes.append("logs: read are JSON objects, new and had are rounds")
    return notes


def _row(source: SourceReport) -> tuple[str, ...]:
    numbers = (source.rows, source.rejected, source.new, source.duplicates)
    return (source.path, source.format, source.state, *(f"{number:,}" for number in numbers))
