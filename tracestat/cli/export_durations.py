"""``tracestat export durations``: the distribution of every key as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracestat.cli.exporting import export_head, exporting, files_of, licence_note, tell
from tracestat.cli.options import Clocked, Json, Licensed, MinRows, Quiet, Seed, Selected, expand
from tracestat.cli.progress import progress_bar

if TYPE_CHECKING:
    from tracestat.api.exports_durations import DurationsExport
    from tracestat.charts.tables import Table

__all__ = ["durations_command"]


@expand
def durations_command(
    selected: Selected,
    clocked: Clocked,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The distributions: .parquet.")],
    min_n: MinRows = None,
    seed: Seed = 0,
    licensed: Licensed,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the distribution of the durations of every key, a row per key and unit, as Parquet.

    Keys are provider, tool class, tool and command skeleton, level by level; units are call, pause and command, all
    three unless --unit names one. A row has counts, quantiles with bounds, the survival curve on a fixed grid as it is
    and shrunk towards the key above, point masses, hazard bins, residual life and fitted laws. The file's metadata say
    what every column means, and whose data it is.
    """
    import tracestat

    options = selected.options()
    unit = options.pop("unit", None)
    with exporting(selected, output, (".parquet",), json=json, quiet=quiet, beside=False) as read:
        with progress_bar("laws of keys", quiet=quiet, in_bytes=False) as progress:
            written = tracestat.export_durations(
                read,
                output,
                **({} if unit is None else {"units": unit}),
                **options,
                **clocked.options(),
                **licensed.options(),
                min_n=min_n,
                seed=seed,
                progress=progress,
            )
        head = export_head(read, "export_durations", notes=[*written.notes, licence_note(written.about)], seed=seed)
    from tracestat.charts.words import counted
    from tracestat.results.key_laws import LEVELS

    head = {
        **head,
        "unit": unit,
        "clock": clocked.clock or "wall",
        "by": list(LEVELS),
        "where": selected.where,
        "rows": selected.rows or "tool",
    }
    tell(
        head,
        files_of(output, rows=written.rows, beside=False),
        f"{counted(written.rows, 'row')}, one per key and unit",
        json=json,
        tables=() if json else [_table(written, synthetic=bool(head["synthetic"]))],
        min_n=written.min_n,
        keys=[
            {
                "unit": one.unit,
                "level": one.level,
                "n_keys": one.n_keys,
                "n_estimated": one.n_estimated,
                "n_with_laws": one.n_with_laws,
            }
            for one in written.levels
        ],
    )


def _table(written: DurationsExport, *, synthetic: bool) -> Table:
    from tracestat.charts.tables import Column, Table

    columns = (
        Column("unit", "left"),
        Column("level", "left"),
        Column("keys"),
        Column("estimated"),
        Column("with laws"),
    )
    rows = tuple(
        (one.unit, one.level, f"{one.n_keys:,}", f"{one.n_estimated:,}", f"{one.n_with_laws:,}")
        for one in written.levels
    )
    title = f"{'SYNTHETIC: ' if synthetic else ''}keys per unit and level"
    note = f"estimated: at least {written.min_n} rows; with laws: at least 100 events of 20 sessions above 5.5 ms"
    return Table(title, columns, rows, notes=(note,))
