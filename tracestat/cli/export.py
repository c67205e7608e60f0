"""``tracestat export``: traces for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.cli.heads import files_document, plain_head, trace_info
from tracestat.cli.options import Json, Output, Quiet, Selected
from tracestat.cli.output import document, print_files
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened
from tracestat.cli.screen import say

__all__ = ["tracelab_command"]


def tracelab_command(
    *,
    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="TRACE",
            help="A .duckdb made by ingest, or anything that ingest reads.  [default: the bundled sample]",
            show_default=False,
        ),
    ] = None,
    mine: Annotated[
        bool, typer.Option("--mine", help="Read the logs of this user's Claude Code and Codex in place of a TRACE.")
    ] = False,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The rows: .jsonl, .jsonl.gz or .jsonl.zst."),
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a whole trace as rows of TraceLab v0.0.2, which TraceLab's own tools read.

    Reading the file back with tracestat ingest gives an equal store: what only raw logs know stands in more keys of
    the tool calls. Rows that ingest rejected are not in it.
    """
    check_target(output, "-o", (".jsonl", ".jsonl.gz", ".jsonl.zst"))
    check_no_input(output, "-o", [trace, *(_own_folders() if mine and trace is None else ())])
    import tracestat

    with opened(Selected(trace=trace, mine=mine), Output(json=json, quiet=quiet)) as read:
        with progress_bar("writing rounds", quiet=quiet, in_bytes=False) as progress:
            written = tracestat.export_tracelab(read, output, progress=progress)
        head = plain_head(
            "export_tracelab", trace=trace_info(read), synthetic=read.synthetic, notes=_notes(read.counts)
        )
    files = [describe_file(output, rows=written.rounds)]
    if json:
        say(document(files_document(head, files)))
    else:
        from tracestat.charts.words import counted

        made = ", ".join(
            counted(number, what)
            for number, what in (
                (written.rounds, "round"),
                (written.tool_calls, "tool call"),
                (written.timing_events, "timing event"),
            )
        )
        print_files(f"{'SYNTHETIC: ' if head['synthetic'] else ''}{made}", files, _notes(read.counts))


def _own_folders() -> list[Path]:
    from tracestat.own_logs import require_log_folders

    return [folder.place for folder in require_log_folders()]


def _notes(counts: dict[str, int]) -> list[str]:
    from tracestat.charts.words import counted

    notes = []
    if counts["rejected"]:
        notes.append(f"{counted(counts['rejected'], 'row')} that could not be read from the sources not in it")
    if not counts["rounds"]:
        notes.append("no rounds: the file is empty")
    return notes
