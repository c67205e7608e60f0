"""``tracestat fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tracestat.cli.files import describe_file
from tracestat.cli.heads import files_document, plain_head
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_files
from tracestat.cli.progress import progress_bar
from tracestat.cli.screen import say

__all__ = ["fetch"]


def fetch(
    *,
    release: Annotated[
        str | None, typer.Option("--release", metavar="TAG", help="Which release of TraceLab.  [default: v0.0.2]")
    ] = None,
    kind: Annotated[
        Literal["jsonl", "duckdb"],
        typer.Option("--format", metavar="FORMAT", help="jsonl (packed rows) or duckdb.", show_default=True),
    ] = "jsonl",
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="PLACE",
            help="A folder, or the file to write.  [default: this folder]",
            show_default=False,
        ),
    ] = Path(),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fetch the TraceLab release and check it.

    The only command that uses the network. A file that is there already with the right SHA-256 is left as it is;
    another one is never replaced. Proxies are those of the environment (HTTPS_PROXY, NO_PROXY).
    """
    import shlex

    from tracestat.fetch import ATTRIBUTION, LATEST, fetch_release

    with progress_bar(f"fetching TraceLab {release or LATEST}", quiet=quiet) as progress:
        done = fetch_release(output, release=release or LATEST, kind=kind, progress=progress)
    files = [describe_file(done.path, rows=done.asset.rounds)]
    if json:
        head = plain_head("fetch", notes=[ATTRIBUTION])
        head |= {"release": done.release, "format": done.kind, "url": done.url, "new": done.new}
        say(document(files_document(head, files)))
        return
    notes = [ATTRIBUTION, f"next: tracestat hazard {shlex.quote(str(done.path))}"]
    how = "fetched, and its SHA-256 is right" if done.new else "was there, and its SHA-256 is right; nothing fetched"
    print_files(f"TraceLab {done.release}, {done.kind}: {how}", files, notes)
