"""``tracestat simulate sweep`` and ``tracestat simulate verdict``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.options import Json, Licensed, Output, Quiet, WholeSessions, expand, given
from tracestat.cli.output import check_output, remark, show
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened
from tracestat.cli.screen import complain

__all__ = ["sweep_command", "verdict_command"]

Chart = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Also draw what the table says to FILE: .html, .svg, .png or .pdf."),
]


@contextmanager
def stopped_gently() -> Iterator[None]:
    """Take a request to end, or a closed terminal, for an interrupt: processes are ended, and one line is said."""
    names = ("SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    # a program that is told to outlive its terminal does
    ours = [number for number in numbers if before[number] == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


@expand
def sweep_command(
    *,
    grid: Annotated[
        str,
        typer.Argument(
            metavar="GRID",
            help="article, eta, levers, paired, questions, sensitivity, where, or a .toml file.",
            show_default=False,
        ),
    ],
    sessions: WholeSessions,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where the table of runs goes: .parquet.")
    ],
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, metavar="N", help="Seeds 0 to N - 1.  [default: the grid's]")
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="H", help="Simulated hours of each run, for a trial.  [default: the grid's]"),
    ] = None,
    constants: Annotated[
        Path | None,
        typer.Option(
            "--constants",
            metavar="FILE",
            help="What policies know: a .json of export constants.  [default: the earlier half of the sessions; the "
            "later half is played]",
        ),
    ] = None,
    licensed: Licensed,
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes at most.", show_default=True)] = 2,
    chart: Chart = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run every configuration of a grid under every seed, a row per run in one Parquet file, and say what they say.

    Finished runs are kept in FILE.parts until all are done: the same command goes on where an interrupted one ended.
    """
    shown = Output(json=json, chart=chart, quiet=quiet)
    own = Path(grid) if grid.lower().endswith(".toml") else None
    reads = (sessions.trace, sessions.classes, constants, own)
    check_output(shown, reads)
    check_target(output, "-o", (".parquet",))
    check_no_input(output, "-o", reads)
    with opened(sessions, shown) as trace:
        import tracestat

        try:
            with stopped_gently(), progress_bar("simulating", quiet=quiet, in_bytes=False) as progress:
                result = tracestat.sweep(
                    trace,
                    grid,
                    output,
                    jobs=jobs,
                    progress=progress,
                    **sessions.options(),
                    **licensed.options(),
                    **given(seeds=seeds, hours=hours, constants=constants),
                )
        except KeyboardInterrupt:
            kept = output.with_name(f"{output.name}.parts")
            complain(
                f"interrupted: finished runs are kept in {kept.name}; the same command goes on from there"
                if any(kept.glob("*.parquet"))
                else "interrupted: no run was finished and no file was written"
            )
            raise
        remark(f"wrote {output.name}, {result.runs:,} runs", quiet=quiet)
        show(result, shown, names={})


@expand
def verdict_command(
    *,
    runs: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table of runs that simulate sweep wrote.", show_default=False)
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="success, where, levers, eta, questions, sensitivity or none.  [default: what the grid asks]",
        ),
    ] = None,
    hardware: Annotated[
        list[str] | None,
        typer.Option("--hardware", metavar="ID|FILE", help="A machine to mark on the map of where; may be repeated."),
    ] = None,
    output: Output,
) -> None:
    """Say what a table of runs says, without running anything."""
    check_output(output, (runs,))
    import tracestat

    show(tracestat.read_sweep(runs, verdict=kind, hardware=tuple(hardware or ())), output, names={})
