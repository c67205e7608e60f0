"""``tracestat forecast fit``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.cli.heads import files_document
from tracestat.cli.options import Json, Located, Output, Quiet, Rows, expand, given
from tracestat.cli.output import document, print_files, print_tables, remark, write_chart
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened
from tracestat.cli.screen import say
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.results import ForecastFit
    from tracestat.results import Json as JsonValue

__all__ = ["fit_command"]


@dataclass(frozen=True, slots=True)
class Fitted(Located):
    """Which pauses of which trace a forecast learns from, and by which keys."""

    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only pauses for which EXPR holds: keys and started_at compared with literals, as in "
            "\"provider = 'claude'\".  [default: all]",
        ),
    ] = None
    rows: Annotated[
        Rows | None,
        typer.Option("--rows", metavar="ROWS", help="tool, human (waits for a person) or all.  [default: tool]"),
    ] = None
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys",
            metavar="KEY[,KEY]",
            help="Keys from the top, all known when a pause starts, as tool_class,command_skeleton,developer.  "
            "[default: several hierarchies, pooled]",
        ),
    ] = None
    atoms: Annotated[
        str | None,
        typer.Option(
            "--atoms",
            metavar="SECONDS",
            help="Deadlines with bins of their own, as 5,120, or none.  [default: the known ones of each provider]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        atoms = None if self.atoms is None else _seconds(self.atoms)
        return given(
            keys=self.keys,
            where=self.where,
            since=self.since,
            until=self.until,
            tz=self.tz,
            rows=self.rows,
            atoms=atoms,
        )


@expand
def fit_command(
    *,
    fitted: Fitted,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The forecast: .parquet, for forecast predict.")
    ],
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Also draw the fit to FILE: .html, .svg, .png or .pdf."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit how long pauses last, by keys that lean on each other, and write the forecast to a file.

    Per provider: hazards on a log grid with bins for known deadlines, each key shrunk towards the one above it as far
    as its own rows leave open. kappa says how many rows in a bin a key needs to count as much as the key above it.
    Without --keys several hierarchies are fitted, and held-out rows decide how far each one is believed.
    """
    check_target(output, "-o", (".parquet",))
    check_no_input(output, "-o", [fitted.trace, fitted.classes, *(_own_folders() if fitted.mine else ())])
    if chart is not None and chart.absolute() == output.absolute():
        raise UsageError(f"--chart {chart.name}: the forecast goes there; name another file")
    options = fitted.options()
    with opened(fitted, Output(json=json, chart=chart, quiet=quiet)) as trace:
        from tracestat.api.forecasts import fitted_forecast, save_forecast

        with progress_bar("fitting hierarchies", quiet=quiet, in_bytes=False) as progress:
            model, result = fitted_forecast(trace, **options, progress=progress)
        rows = save_forecast(model, output)
    files = [describe_file(output, rows=rows)]
    if chart is not None:
        write_chart(result.chart(), chart, {}, quiet=quiet)
    if json:
        say(document(_document(result, files)))
        return
    from tracestat.charts.tables import tables_of

    print_tables(tables_of(result))
    print_files(f"{'SYNTHETIC: ' if model.synthetic else ''}Forecast", files)
    remark(f"ask it: tracestat forecast predict {output.name} --help", quiet=quiet)


def _document(result: ForecastFit, files: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Give the head, the file, then the fit."""
    data = result.to_dict()
    providers = data.pop("providers")
    return {**files_document(data, files), "providers": providers}


def _seconds(text: str) -> tuple[float, ...]:
    """Read ``--atoms``: seconds joined by commas, or none."""
    if text.strip().lower() == "none":
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--atoms {text}: write seconds joined by commas, as 5,120, or none") from None


def _own_folders() -> list[Path]:
    from tracestat.own_logs import require_log_folders

    return [folder.place for folder in require_log_folders()]
