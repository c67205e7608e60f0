"""``tracestat export replay``: sessions for load generators and simulators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracestat.cli.exporting import export_head, exporting, licence_note, tell
from tracestat.cli.files import check_no_input, describe_file
from tracestat.cli.options import Json, Licensed, Output, Quiet, Seed, WholeSessions, expand
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened
from tracestat.errors import TracestatError, UsageError

if TYPE_CHECKING:
    from tracestat.results import Json as Json_
    from tracestat.store import Trace

__all__ = ["replay_command"]

_FOLDER = "kv-cache-tester"
_ENDINGS = {"blis-v2": (".csv",), "tracelab-csv": (".csv",)}


@expand
def replay_command(
    chosen: WholeSessions,
    *,
    format: Annotated[  # noqa: A002  the option's name
        Literal[
            "aiperf-mooncake",
            "dynamo-agentic-mooncake",
            "kv-cache-tester",
            "llmservingsim",
            "blis-v2",
            "tracelab-csv",
        ],
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Whose form: aiperf-mooncake, dynamo-agentic-mooncake, "
            "kv-cache-tester, llmservingsim, blis-v2 or tracelab-csv.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="FILE.csv for blis-v2 and tracelab-csv, a new folder for kv-cache-tester, else FILE.jsonl.",
        ),
    ],
    human_gap: Annotated[
        str,
        typer.Option(
            "--human-gap",
            metavar="RULE",
            help="What becomes of people's time: cap:SECONDS, keep or drop. Tools' time is never capped.",
            show_default=True,
        ),
    ] = "cap:60",
    start: Annotated[
        Literal["zero", "recorded"],
        typer.Option(
            "--start",
            metavar="WHEN",
            help="When sessions begin: zero (all at once) or recorded.",
            show_default=True,
        ),
    ] = "zero",
    block_size: Annotated[
        int | None,
        typer.Option(
            "--block-size",
            min=1,
            metavar="TOKENS",
            help="Tokens per cache block.  [default: 512 for aiperf-mooncake, else 64]",
        ),
    ] = None,
    scale_context: Annotated[
        int | None,
        typer.Option(
            "--scale-context",
            min=1,
            metavar="TOKENS",
            help="Multiply all tokens so that the 99th percentile of the sessions' largest contexts is TOKENS.  "
            "[default: as recorded]",
        ),
    ] = None,
    sessions: Annotated[
        int | None,
        typer.Option("--sessions", min=1, metavar="N", help="Draw N sessions by --seed.  [default: all]"),
    ] = None,
    token_ids: Annotated[
        bool,
        typer.Option("--token-ids", help="llmservingsim: an id for every token, for its prefix cache; large files."),
    ] = False,
    seed: Seed = 0,
    licensed: Licensed,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write recorded sessions in the form that another tool replays, each with its own pauses.

    Every step waits for the one before it, then as long as its tools took in the trace. FILE.about.json beside it says
    whose data it is, what was left out or changed, and what to tell the tool so that it caps no pause.
    """
    import tracestat

    place = (
        _folder(chosen, output, json=json, quiet=quiet)
        if format == _FOLDER
        else exporting(chosen, output, _ENDINGS.get(format, (".jsonl",)), json=json, quiet=quiet)
    )
    with place as read:
        with progress_bar("writing steps", quiet=quiet, in_bytes=False) as progress:
            written = tracestat.export_replay(
                read,
                output,
                format=format,
                human_gap=human_gap,
                start=start,
                block_size=block_size,
                scale_context=scale_context,
                sessions=sessions,
                seed=seed,
                token_ids=token_ids,
                **chosen.options(),
                **licensed.options(),
                progress=progress,
            )
        head = export_head(read, "export_replay", notes=[*written.notes, licence_note(written.about)], seed=seed)
    from tracestat.charts.words import counted

    steps = written.counts.steps
    files: list[dict[str, Json_]] = [
        {"path": output.name, "rows": steps, "bytes": written.size, "sha256": written.sha256},
        *(describe_file(path, rows=None) for path in written.beside),
    ]
    title = f"{counted(written.counts.sessions, 'session')}, {counted(steps, 'step')} as {format}"
    tell(
        {**head, "where": chosen.where},
        files,
        title,
        json=json,
        format=format,
        human_gap=human_gap,
        counts=written.numbers(),
    )


@contextmanager
def _folder(chosen: WholeSessions, output: Path, *, json: bool, quiet: bool) -> Iterator[Trace]:
    """Do for a folder what `exporting` does for a file."""
    if not output.name:
        raise UsageError(f"-o {output}: give the folder a name of its own")
    if not output.absolute().parent.is_dir():
        raise TracestatError(f"-o {output.name}: the folder that it is to stand in does not exist; create it first")
    for path in (output, output.with_name(f"{output.name}.about.json")):
        check_no_input(path, "-o", [chosen.trace, chosen.classes])
    with opened(chosen, Output(json=json, quiet=quiet)) as trace:
        yield trace
