"""``tracestat export profile``: the laws of a corpus, from which sessions can be drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.exporting import export_head, exporting, files_of, licence_note, tell
from tracestat.cli.options import Json, Licensed, Located, MinRows, Quiet, Seed, expand
from tracestat.cli.progress import progress_bar

__all__ = ["profile_command"]


@expand
def profile_command(
    located: Located,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The profile: .json.")],
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only sessions for which EXPR holds: provider, developer, project, session, day, week, hour, weekday "
            "and started_at compared with literals.  [default: all]",
        ),
    ] = None,
    min_n: MinRows = None,
    seed: Seed = 0,
    licensed: Licensed,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the laws of a trace as one JSON file (tracestat-profile, times in ms), enough to draw sessions from.

    It holds, per provider, tool class, tool and command skeleton, the survival of tool pauses with the shares that end
    on deadlines apart, residual lives and hazards; how many rounds sessions and requests have; and counts and quantiles
    of what sessions are made of. It has no rows, no ids and no names of developers. tracestat synth --from FILE draws
    sessions from it and says how far they are from the recorded ones.
    """
    import tracestat

    with exporting(located, output, (".json",), json=json, quiet=quiet, beside=False) as read:
        with progress_bar("laws of keys", quiet=quiet, in_bytes=False) as progress:
            written = tracestat.export_profile(
                read,
                output,
                where=where,
                **located.options(),
                **licensed.options(),
                min_n=min_n,
                seed=seed,
                progress=progress,
            )
        notes = [*written.profile.notes, licence_note(written.about)]
        head = export_head(read, "export_profile", notes=notes, seed=seed)
    from tracestat.charts.table_profile import profile_tables
    from tracestat.charts.words import counted

    head = {**head, "unit": "pause", "clock": "wall", "where": where, "rows": "tool"}
    sessions = sum(part.n_sessions for part in written.profile.sessions.providers)
    tell(
        head,
        files_of(output, rows=None, beside=False),
        f"{counted(written.n_keys, 'key')}, {counted(sessions, 'session')}",
        json=json,
        tables=() if json else profile_tables(written.profile),
        n_keys=written.n_keys,
        n_sessions=sessions,
    )
