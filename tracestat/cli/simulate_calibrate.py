"""``tracestat simulate calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.options import Json, Output, Quiet, expand
from tracestat.cli.output import check_output, show

__all__ = ["calibrate_command"]


@expand
def calibrate_command(
    *,
    hardware: Annotated[
        str | None,
        typer.Option(
            "--hardware",
            metavar="ID|FILE",
            help="Constants of a machine; see tracestat hardware list.  [default: rtx4090-llama3.1-8b-fp8]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write the numbers to FILE: .parquet, .csv or .json."),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Also draw the residuals to FILE: .html, .svg, .png or .pdf."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how well the simulator's machine meets its timings, and which of its numbers no timing tells.

    Each timing beside the model, the constants beside a fit of these timings, and what a prompt of 32K takes resident,
    reloaded and recomputed.
    """
    given = Output(json=json, output=output, chart=chart, quiet=quiet)
    file = Path(hardware) if hardware and hardware.lower().endswith((".toml", ".json")) else None
    check_output(given, (file,))
    import tracestat

    show(tracestat.calibrate(hardware), given, names={})
