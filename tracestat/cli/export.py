"""``tracestat export tracelab``: a whole trace in TraceLab's form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.exporting import export_head, exporting, files_of, licence_note, tell
from tracestat.cli.options import Json, Licensed, Quiet, Source, expand
from tracestat.cli.progress import progress_bar

__all__ = ["tracelab_command"]


@expand
def tracelab_command(
    source: Source,
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The rows: .jsonl, .jsonl.gz or .jsonl.zst."),
    ],
    licensed: Licensed,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a whole trace as rows of TraceLab v0.0.2, which TraceLab's own tools read.

    Reading the file back with tracestat ingest gives an equal store: what only raw logs know stands in more keys of
    the tool calls. Rows that ingest rejected are not in it. FILE.about.json beside it says whose data it is.
    """
    import tracestat

    with exporting(source, output, (".jsonl", ".jsonl.gz", ".jsonl.zst"), json=json, quiet=quiet) as read:
        with progress_bar("writing rounds", quiet=quiet, in_bytes=False) as progress:
            written = tracestat.export_tracelab(read, output, **licensed.options(), progress=progress)
        head = export_head(read, "export_tracelab", notes=[*written.notes, licence_note(written.about)])
    from tracestat.charts.words import counted

    made = (
        counted(written.rounds, "round"),
        counted(written.tool_calls, "tool call"),
        counted(written.timing_events, "timing event"),
    )
    tell(head, files_of(output, rows=written.rounds), ", ".join(made), json=json)
