"""``tracestat synth``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.files import check_target, describe_file
from tracestat.cli.heads import files_document, plain_head
from tracestat.cli.options import Json, Quiet, Seed
from tracestat.cli.output import document, print_files
from tracestat.cli.progress import progress_bar
from tracestat.cli.screen import say

__all__ = ["synth"]


def synth(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The trace: .jsonl or .jsonl.gz; its truth goes beside it."
        ),
    ],
    sessions: Annotated[
        int,
        typer.Option("--sessions", min=1, metavar="N", help="Sessions, of about 80 rounds each.", show_default=True),
    ] = 200,
    developers: Annotated[
        int | None,
        typer.Option(
            "--developers", min=1, metavar="N", help="Developers.  [default: one in 25 sessions, from 24 to 52]"
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a trace with known truth, of any size.

    Every row and every result made of it is marked as synthetic. The file FILE.truth.json says which laws the
    durations were drawn from.
    """
    check_target(output, "-o", (".jsonl", ".jsonl.gz"))
    from tracestat.results import TraceInfo
    from tracestat.store import fingerprint_of
    from tracestat.synth import synth_trace
    from tracestat.synth.writing import truth_path

    with progress_bar("writing sessions", quiet=quiet, in_bytes=False) as progress:
        truth = synth_trace(output, sessions=sessions, seed=seed, developers=developers, progress=progress)
    rounds = sum(written.rounds for written in truth.written.values())
    calls = sum(written.calls for written in truth.written.values())
    files = [describe_file(output, rows=rounds), describe_file(truth_path(output), rows=None)]
    fingerprint = fingerprint_of([str(files[0]["sha256"])])
    head = plain_head("synth", trace=TraceInfo(output.name, fingerprint, rounds, calls, 0), seed=seed, synthetic=True)
    if json:
        say(document(files_document(head, files)))
    else:
        from tracestat.charts.words import counted

        made = ", ".join((counted(sessions, "session"), counted(rounds, "round"), counted(calls, "tool call")))
        print_files(f"SYNTHETIC: {made}, seed {seed}", files)
