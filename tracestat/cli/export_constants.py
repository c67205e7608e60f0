"""``tracestat export constants``: a machine and the workload that it meets, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracestat.cli.exporting import export_head, exporting, files_of, tell
from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.heads import plain_head
from tracestat.cli.options import Json, Licensed, Located, Quiet, Seed, expand, given
from tracestat.cli.progress import progress_bar
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.constants import Constants
    from tracestat.results import Json as JsonValue

__all__ = ["constants_command"]

_ENDINGS = (".json",)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the file is made of, beside the trace."""

    hardware: Annotated[
        str | None,
        typer.Option(
            "--hardware",
            metavar="ID|FILE",
            help="The machine: an id of tracestat hardware list, or a .toml or .json file.  "
            "[default: rtx4090-llama3.1-8b-fp8]",
        ),
    ] = None
    hardware_only: Annotated[
        bool, typer.Option("--hardware-only", help="No workload: read no trace, and write the machine alone.")
    ] = False
    benefit: Annotated[
        str | None,
        typer.Option(
            "--benefit",
            metavar="SECONDS",
            help="What a resident return is worth, in seconds of holding: for each the best holds are given.  "
            "[default: 0.5,1,2,5,10,40]",
        ),
    ] = None
    forecast: Annotated[
        Path | None,
        typer.Option(
            "--forecast", metavar="FILE", help="A forecast of this trace, which the file then names by its SHA-256."
        ),
    ] = None
    other_forecast: Annotated[
        bool, typer.Option("--other-forecast", help="Take a --forecast that was fitted on another trace; it is said.")
    ] = False
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only sessions for which EXPR holds: provider, developer, project, session, model, day, week, hour, "
            "weekday and started_at compared with literals, as in \"provider = 'claude'\".  [default: all]",
        ),
    ] = None
    min_n: Annotated[
        int | None,
        typer.Option(
            "--min-n",
            min=1,
            metavar="N",
            help="Keys below the provider with fewer pauses are left out, and counted.  [default: 20]",
        ),
    ] = None
    seed: Seed = 0
    allow_synthetic: Annotated[
        bool, typer.Option("--allow-synthetic", help="Write constants of a synthetic trace; the file says so.")
    ] = False


@expand
def constants_command(
    located: Located,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The constants: .json, for simulators and engines.")
    ],
    chosen: Chosen,
    licensed: Licensed,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what simulators and serving engines load: the constants of a machine, and the workload that it meets.

    Of the workload: memoryfulness and rounds per program, the law of the pauses of every tool class, tool and command
    skeleton with its deadlines, and how long to hold a paused cache by what a resident return is worth, by Continuum's
    rule and by the hazard rule. tracestat.load_constants reads the file and checks it.
    """
    check_target(output, "-o", _ENDINGS)
    benefits = None if chosen.benefit is None else _seconds(chosen.benefit)
    inputs = [None if chosen.hardware is None else Path(chosen.hardware), chosen.forecast]
    check_no_input(output, "-o", inputs)
    import tracestat

    if chosen.hardware_only:
        _check_alone(located, chosen, licensed)
        made = tracestat.export_constants(None, output, **given(hardware=chosen.hardware))
        _tell(made, plain_head("export_constants"), output, json=json)
        return
    with exporting(located, output, _ENDINGS, json=json, quiet=quiet, beside=False, inputs=inputs) as trace:
        with progress_bar("computing constants", quiet=quiet, in_bytes=False) as progress:
            made = tracestat.export_constants(
                trace,
                output,
                other_forecast=chosen.other_forecast,
                allow_synthetic=chosen.allow_synthetic,
                progress=progress,
                **given(
                    hardware=chosen.hardware,
                    benefits=benefits,
                    forecast=chosen.forecast,
                    where=chosen.where,
                    min_n=chosen.min_n,
                    seed=chosen.seed,
                ),
                **located.options(),
                **licensed.options(),
            )
        notes = [] if made.workload is None else made.workload.notes
        head = export_head(trace, "export_constants", notes=notes, seed=chosen.seed)
    if made.workload is not None:
        workload = made.workload
        head |= {"unit": workload.unit, "clock": workload.clock, "rows": workload.rows, "where": workload.where}
        head |= {"excluded": dict(workload.excluded), "by": list(workload.keys[0].key) if workload.keys else []}
    _tell(made, head, output, json=json)


def _check_alone(located: Located, chosen: Chosen, licensed: Licensed) -> None:
    for option, value in (
        ("TRACE", located.trace),
        ("--mine", located.mine),
        ("--benefit", chosen.benefit),
        ("--forecast", chosen.forecast),
        ("--where", chosen.where),
        ("--since", located.since),
        ("--until", located.until),
        ("--tz", located.tz),
        ("--classes", located.classes),
        ("--other-forecast", chosen.other_forecast),
        ("--min-n", chosen.min_n),
        ("--seed", chosen.seed),
        ("--allow-synthetic", chosen.allow_synthetic),
        ("--licence", licensed.licence),
        ("--attribution", licensed.attribution),
    ):
        if value:
            raise UsageError(f"--hardware-only reads no trace: leave it out, or leave out {option}")


def _tell(made: Constants, head: dict[str, JsonValue], output: Path, *, json: bool) -> None:
    from tracestat.charts.table_constants import constants_tables
    from tracestat.charts.words import counted

    workload = made.workload
    title = "the hardware alone"
    if workload is not None:
        about = workload.origin
        licence = f"licence {about.licence}" if about.licence else "licence unknown (--licence TEXT if you know it)"
        title = f"{counted(len(workload.keys), 'key')} of {about.source}, {licence}"
    tell(head, files_of(output, rows=None, beside=False), title, json=json, tables=constants_tables(made))


def _seconds(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--benefit {text}: write seconds joined by commas, as 0.5,5,40") from None
