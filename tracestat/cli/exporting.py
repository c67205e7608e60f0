"""What every command that writes a file of a trace does: check the place, open the trace, describe what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.cli.heads import files_document, plain_head, trace_info
from tracestat.cli.options import Located, Output, Source, Whole
from tracestat.cli.output import document, print_files, print_tables
from tracestat.cli.reading import opened
from tracestat.cli.screen import say

if TYPE_CHECKING:
    from tracestat.charts.tables import Table
    from tracestat.export.attribution import Attribution
    from tracestat.results import Json
    from tracestat.store import Trace

__all__ = ["export_head", "exporting", "files_of", "licence_note", "tell"]


@contextmanager
def exporting(
    read: Located | Source,
    output: Path,
    endings: Sequence[str],
    *,
    json: bool,
    quiet: bool,
    beside: bool = True,
    inputs: Sequence[Path | None] = (),
) -> Iterator[Trace]:
    """Refuse a place that cannot be written or that is read, then open the trace.

    Parameters
    ----------
    read : Located, Whole or Source
        Which trace.
    output : Path
        What ``-o`` names.
    endings : sequence of str
        The allowed endings, each with its dot.
    json, quiet : bool
        Whether to keep stdout to one document, and stderr to errors.
    beside : bool
        Whether ``FILE.about.json`` is written too.
    inputs : sequence of Path or None
        What else the command reads.

    Raises
    ------
    UsageError, TracestatError
        See `tracestat.cli.files`.
    """
    check_target(output, "-o", endings)
    classes = read.classes if isinstance(read, Located | Whole) else None
    sources = [read.trace, classes, *inputs, *(_own_folders() if read.mine and read.trace is None else ())]
    check_no_input(output, "-o", sources)
    if beside:
        from tracestat.export.attribution import about_path

        check_no_input(about_path(output), "-o", sources)
    located = read if isinstance(read, Located) else Located(read.trace, read.mine, classes=classes)
    with opened(located, Output(json=json, quiet=quiet)) as trace:
        yield trace


def export_head(trace: Trace, command: str, *, notes: Sequence[str] = (), seed: int = 0) -> dict[str, Json]:
    """Give the head of the document of a command that writes files of a trace.

    Examples
    --------
    >>> import tracestat
    >>> export_head(tracestat.open(), "export_tracelab")["synthetic"]
    True
    """
    return plain_head(command, trace=trace_info(trace), seed=seed, synthetic=trace.synthetic, notes=notes)


def files_of(path: Path, *, rows: int | None, beside: bool = True) -> list[dict[str, Json]]:
    """Describe a written file, and the file that says whose data it is made of."""
    files = [describe_file(path, rows=rows)]
    if beside:
        from tracestat.export.attribution import about_path

        files.append(describe_file(about_path(path), rows=None))
    return files


def licence_note(about: Attribution) -> str:
    """Say under which licence a written file may be passed on.

    Examples
    --------
    >>> from tracestat.export.attribution import Attribution
    >>> licence_note(Attribution("t", "sha256:0", False, "CC-BY-4.0", "Zhu et al.", "none"))
    'licence CC-BY-4.0; attribution: Zhu et al.'
    """
    if about.licence is None:
        return f"licence unknown (--licence TEXT if you know it): {about.attribution}"
    return f"licence {about.licence}; attribution: {about.attribution}"


def tell(
    head: dict[str, Json],
    files: Sequence[dict[str, Json]],
    title: str,
    *,
    json: bool,
    tables: Sequence[Table] = (),
    **more: Json,
) -> None:
    """Print one document, or tables and the files under a title that marks invented data, with the notes of the head.

    Parameters
    ----------
    head : dict
        From `export_head`.
    files : sequence of dict
        From `files_of`.
    title : str
        How much was written.
    json : bool
    tables : sequence of Table
        Printed before the files; not part of the document.
    more
        Further keys of the document.
    """
    if json:
        say(document({**files_document(head, files), **more}))
        return
    if tables:
        print_tables(tables)
    notes = head["notes"]
    print_files(
        f"{'SYNTHETIC: ' if head['synthetic'] else ''}{title}",
        files,
        [str(note) for note in notes] if isinstance(notes, list) else (),
    )


def _own_folders() -> list[Path]:
    from tracestat.own_logs import require_log_folders

    return [folder.place for folder in require_log_folders()]
