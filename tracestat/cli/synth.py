"""``tracestat synth``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.cli.heads import files_document, plain_head
from tracestat.cli.options import Json, Quiet, Seed
from tracestat.cli.output import document, print_files, print_tables, remark
from tracestat.cli.progress import progress_bar
from tracestat.cli.screen import say
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.synth import LikeTruth

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
        int | None,
        typer.Option(
            "--sessions",
            min=1,
            metavar="N",
            help="Sessions, of about 80 rounds.  [default: 200; 1000 with --like]",
        ),
    ] = None,
    developers: Annotated[
        int | None,
        typer.Option(
            "--developers", min=1, metavar="N", help="Developers.  [default: one in 25 sessions, from 24 to 52]"
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="NAME", help="tracelab: meet its published figures by construction."),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PROFILE", help="Draw sessions from a file that export profile wrote, and from it alone."
        ),
    ] = None,
    shift: Annotated[
        list[str] | None,
        typer.Option(
            "--shift",
            metavar="FIGURE=FACTOR",
            help="With --like: miss a figure on purpose; may be repeated.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a trace with known truth, of any size.

    Every row and every result made of it is marked as synthetic. The file FILE.truth.json says which laws the
    durations were drawn from.

    With --like tracelab the trace meets the figures that were published for TraceLab v0.0.2 (section 1 of the article)
    by construction, and the truth file says for each what was asked and what was written; 8058 sessions are its full
    size. With --shift article.mrl.25=1.3 it misses one of them.

    With --from PROFILE the sessions resemble those that tracestat export profile was given, as far as its laws say: the
    table, the JSON and the truth file compare medians, p95 and p99 of recorded and drawn sessions. The licence of the
    profile's source stands in FILE.about.json, which ingest and every later export carry on.
    """
    check_target(output, "-o", (".jsonl", ".jsonl.gz"))
    if profile is not None:
        check_no_input(output, "-o", [profile])
        for option, value in (("--like", like), ("--developers", developers), ("--shift", shift)):
            if value:
                raise UsageError(f"{option}: not with --from, where the profile decides; leave one of them out")
        _from_profile(profile, output, 200 if sessions is None else sessions, seed, json=json, quiet=quiet)
        return
    from tracestat.results import TraceInfo
    from tracestat.store import fingerprint_of
    from tracestat.synth import SynthTruth, synth_trace
    from tracestat.synth.writing import truth_path

    shifts = _shifts(like, shift or [])
    if like is not None and developers is not None:
        raise UsageError("--developers: with --like their number is a figure; use --shift article.sessions.developers=")
    truth: SynthTruth | LikeTruth
    with progress_bar("writing sessions", quiet=quiet, in_bytes=False) as progress:
        if like is not None:
            truth = synth_trace(output, sessions=sessions, seed=seed, progress=progress, like="tracelab", shifts=shifts)
        else:
            n = 200 if sessions is None else sessions
            truth = synth_trace(output, sessions=n, seed=seed, developers=developers, progress=progress)
    notes = [] if isinstance(truth, SynthTruth) else _notes(truth)
    rounds = sum(written.rounds for written in truth.written.values())
    calls = sum(written.calls for written in truth.written.values())
    files = [describe_file(output, rows=rounds), describe_file(truth_path(output), rows=None)]
    fingerprint = fingerprint_of([str(files[0]["sha256"])])
    head = plain_head(
        "synth", trace=TraceInfo(output.name, fingerprint, rounds, calls, 0), seed=seed, synthetic=True, notes=notes
    )
    if json:
        say(document(files_document(head, files)))
    else:
        from tracestat.charts.words import counted

        made = ", ".join((counted(truth.sessions, "session"), counted(rounds, "round"), counted(calls, "tool call")))
        print_files(f"SYNTHETIC: {made}, seed {seed}", files)
        for note in notes:
            remark(note, quiet=quiet)


def _from_profile(profile: Path, output: Path, sessions: int, seed: int, *, json: bool, quiet: bool) -> None:
    from dataclasses import asdict

    from tracestat.ingest.about import about_path
    from tracestat.results import TraceInfo
    from tracestat.store import fingerprint_of
    from tracestat.synth import synth_trace
    from tracestat.synth.writing import truth_path

    for beside in (truth_path(output), about_path(output)):
        check_no_input(beside, "-o", [profile])
    with progress_bar("drawing sessions", quiet=quiet, in_bytes=False) as progress:
        truth = synth_trace(output, profile=profile, sessions=sessions, seed=seed, progress=progress)
    files = [describe_file(output, rows=truth.rounds)]
    files += [describe_file(beside, rows=None) for beside in (truth_path(output), about_path(output))]
    about = truth.attribution
    licence = about.licence or "unknown"
    notes = [f"drawn from {truth.profile} ({truth.corpus.name}), licence {licence}: {about.attribution}", *truth.notes]
    info = TraceInfo(output.name, fingerprint_of([str(files[0]["sha256"])]), truth.rounds, truth.calls, 0)
    head = plain_head("synth", trace=info, seed=seed, synthetic=True, notes=notes)
    if json:
        say(document({**files_document(head, files), "compared": [asdict(row) for row in truth.compared]}))
        return
    from tracestat.charts.table_profile import comparison_tables
    from tracestat.charts.words import counted

    print_tables(comparison_tables(truth.compared))
    made = ", ".join((counted(sessions, "session"), counted(truth.rounds, "round"), counted(truth.calls, "tool call")))
    print_files(f"SYNTHETIC: {made}, seed {seed}", files)
    for note in notes:
        remark(note, quiet=quiet)


def _shifts(like: str | None, given: list[str]) -> dict[str, float]:
    """Read ``--like`` and ``--shift``."""
    from tracestat.synth.like_figures import parse_shift

    if like not in (None, "tracelab"):
        raise UsageError(f"--like {like}: there is only tracelab")
    if given and like is None:
        raise UsageError("--shift: only the figures of a stand-in can be shifted; add --like tracelab")
    shifts: dict[str, float] = {}
    for text in given:
        name, factor = parse_shift(text)
        if name in shifts:
            raise UsageError(f"--shift {text}: {name} is shifted twice; give one factor")
        shifts[name] = factor
    return shifts


def _notes(truth: LikeTruth) -> list[str]:
    """Say which figures were shifted, and which are not met."""
    met = sum(figure.met for figure in truth.figures)
    notes = [f"made like TraceLab v0.0.2: {met} of {len(truth.figures)} figures are as asked"]
    for figure in truth.figures:
        written = "nothing" if figure.written is None else f"{figure.written:.6g}"
        if figure.shift != 1.0:
            notes.append(
                f"{figure.id}: shifted from {figure.published:.6g} by {figure.shift:g}, "
                f"{figure.asked:.6g} asked, {written} written"
            )
        elif not figure.met:
            notes.append(f"{figure.id}: {figure.asked:.6g} asked, {written} written ({figure.moved_by})")
    return notes
