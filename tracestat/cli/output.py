"""Where a result goes: tables or one JSON document on stdout, numbers and charts into files, remarks on stderr."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.options import Output, Shown, given
from tracestat.cli.screen import complain, paint, say, width
from tracestat.replacing import replacing

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from tracestat.charts.tables import Table
    from tracestat.results import Json, Result

__all__ = [
    "CHART_ENDINGS",
    "DATA_ENDINGS",
    "check_output",
    "document",
    "print_files",
    "print_tables",
    "remark",
    "show",
    "with_names",
    "write_chart",
]

DATA_ENDINGS = (".parquet", ".csv", ".json")
CHART_ENDINGS = (".html", ".svg", ".png", ".pdf")


def check_output(output: Output, inputs: Sequence[Path | None] = ()) -> None:
    """Refuse files that cannot be written or that are read, before anything is computed."""
    for path, option, endings in (
        (output.output, "-o", DATA_ENDINGS),
        (output.chart, "--chart", CHART_ENDINGS),
    ):
        check_target(path, option, endings)
        check_no_input(path, option, inputs)


def document(data: Json | dict[str, Json]) -> str:
    """Give JSON data as one document, never with NaN or Infinity."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def remark(text: str, *, quiet: bool) -> None:
    """Say something beside the result on stderr."""
    if not quiet:
        complain(text)


def show(result: Result, output: Output, shown: Shown | None = None, *, names: Mapping[str, str]) -> None:
    """Write the files that were asked for, then print the result.

    The files come first, so that a reader of stdout that goes away cannot keep them from being written. ``names`` are
    the true names of private ones: for the tables, and for files and JSON only where the user said so.
    """
    outside = names if output.with_names else {}
    if output.output is not None:
        _write_numbers(result, output.output, outside, quiet=output.quiet)
    if output.chart is not None:
        write_chart(result.chart(), output.chart, outside, quiet=output.quiet)
    if output.json:
        say(document(with_names(result.to_dict(), outside)))
        return
    from tracestat.charts.tables import tables_of

    looks: dict[str, Any] = {} if shown is None else given(sort=shown.sort, top=shown.top)
    tables = tables_of(result, **looks)
    print_tables([_named(table, names) for table in tables] if names else tables)


def write_chart(chart: alt.TopLevelMixin, path: Path, names: Mapping[str, str], *, quiet: bool) -> None:
    """Write a chart, with the true names of private ones where there are any."""
    from tracestat.charts import save

    if names:
        import altair as alt

        spec = with_names(chart.to_dict(), names)
        chart = alt.Chart.from_dict(dict(spec) if isinstance(spec, Mapping) else {})
    save(chart, Path(os.path.realpath(path)))  # a link stays a link
    remark(f"wrote {path.name}", quiet=quiet)


def with_names(value: Json, names: Mapping[str, str]) -> Json:
    """Put true names into every text of JSON data."""
    if isinstance(value, str):
        from tracestat.private_names import true_names

        return true_names(value, names)
    if isinstance(value, list):
        return [with_names(item, names) for item in value]
    if isinstance(value, dict):
        return {key: with_names(item, names) for key, item in value.items()}
    return value


def _named(table: Table, names: Mapping[str, str]) -> Table:
    from tracestat.private_names import true_names

    return replace(table, rows=tuple(tuple(true_names(cell, names) for cell in row) for row in table.rows))


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables as wide as the terminal allows."""
    from tracestat.charts.tables import to_text

    say(to_text(tables, width=width(), color=paint()))


def print_files(title: str, files: Sequence[Mapping[str, Json]], notes: Sequence[str] = ()) -> None:
    """Print a list of files as a table."""
    from tracestat.charts.tables import Column, Table

    columns = (Column("file", "left", "shorten"), Column("rows"), Column("bytes"), Column("sha256", "left", "shorten"))
    rows = tuple(
        (
            str(file["path"]),
            "-" if file["rows"] is None else f"{file['rows']:,}",
            f"{file['bytes']:,}",
            str(file["sha256"])[:12],
        )
        for file in files
    )
    print_tables([Table(title, columns if rows else (), rows, notes=tuple(notes))])


def _write_numbers(result: Result, path: Path, names: Mapping[str, str], *, quiet: bool) -> None:
    from tracestat.charts.words import counted

    ending = path.suffix.lower()
    with replacing(path, f"-o {path.name}") as beside:
        if ending == ".json":
            beside.write_text(document(with_names(result.to_dict(), names)), encoding="utf-8")
            remark(f"wrote {path.name}", quiet=quiet)
            return
        frame = _marked(result)
        if names:
            import polars as pl

            from tracestat.private_names import true_names

            texts = [name for name, kind in frame.schema.items() if kind == pl.String]
            frame = frame.with_columns(
                pl.col(texts).map_elements(lambda text: true_names(text, names), return_dtype=pl.String)
            )
        if ending == ".parquet":
            frame.write_parquet(beside)
        else:
            nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
            if nested:
                remark(f"{path.name}: left out {', '.join(nested)}, which do not fit a .csv", quiet=quiet)
            frame.drop(nested).write_csv(beside)
        remark(f"wrote {path.name}: {counted(frame.height, 'row')}", quiet=quiet)


def _marked(result: Result) -> pl.DataFrame:
    """Give the numbers with the mark of invented data in every row."""
    import polars as pl

    frame = result.to_frame()
    return frame if "synthetic" in frame.columns else frame.with_columns(synthetic=pl.lit(result.head.synthetic))
