"""``export durations``: the law of every key in one Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tracestat.api.common import Progress, TraceLike, as_trace
from tracestat.api.key_laws import MIN_ROWS, key_laws
from tracestat.durations import Clock, Rows, Unit
from tracestat.errors import UsageError
from tracestat.export.attribution import Attribution, attribution_of
from tracestat.export.durations import check_ending, write_durations
from tracestat.results.key_laws import LEVELS, KeyLaws

__all__ = ["DurationsExport", "LevelCount", "export_durations"]

UNITS: tuple[Unit, ...] = ("call", "pause", "command")
_CHANGES = "reduced by tracestat to distributions of durations per key; no row of the source is kept"


@dataclass(frozen=True, slots=True)
class LevelCount:
    """Keys of one unit and level: all, those with a median, those with laws."""

    unit: str
    level: str
    n_keys: int
    n_estimated: int
    n_with_laws: int


@dataclass(frozen=True, slots=True)
class DurationsExport:
    """What was written.

    Attributes
    ----------
    path : Path
        The file.
    rows : int
        Its rows, one per unit and key.
    levels : tuple of LevelCount
    notes : tuple of str
        What a reader must know, and of which unit.
    min_n : int
        Rows below which nothing was estimated.
    about : Attribution
    """

    path: Path
    rows: int
    levels: tuple[LevelCount, ...]
    notes: tuple[str, ...]
    min_n: int
    about: Attribution


def export_durations(
    trace: TraceLike,
    path: str | Path,
    *,
    units: Sequence[Unit] | Unit = UNITS,
    clock: Clock = "wall",
    rows: Rows = "tool",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    min_n: int | None = None,
    seed: int = 0,
    licence: str | None = None,
    attribution: str | None = None,
    progress: Progress | None = None,
) -> DurationsExport:
    """Write the distribution of the durations of every key, a row per key and unit, as Parquet.

    Keys are provider, tool class, tool and command skeleton, level by level: within one ``level`` each duration is in
    one row. The file's metadata holds, under the key ``tracestat``, a JSON document with what every column means and is
    measured in, the grid, the choices, what was left out, and whose data it is.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    path : str or Path
        ``.parquet``; a file that is there is replaced once the new one is complete.
    units : sequence of {"call", "pause", "command"}, or one of them
    clock, rows, where, since, until, tz
        As for :func:`tracestat.hazard`; other clocks than wall only for unit call.
    min_n : int, optional
        Keys with fewer rows show counts and hazard bins, no estimates; default 20.
    seed : int
        Seed of the bands that say where laws hold.
    licence, attribution : str, optional
        Of the source, where it is not known.
    progress : callable, optional
        Called with (parts done, parts in all).

    Returns
    -------
    DurationsExport

    Raises
    ------
    UsageError
        A column or choice that does not exist, or another ending.
    TracestatError
        The trace cannot be read, or the file not be written.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder, tracestat.open() as trace:
    ...     written = tracestat.export_durations(trace, f"{folder}/durations.parquet", units="pause")
    ...     pl.read_parquet(written.path).height == written.rows
    True
    """
    chosen: tuple[Unit, ...] = (units,) if isinstance(units, str) else tuple(dict.fromkeys(units))
    if not chosen or any(unit not in get_args(Unit) for unit in chosen):
        raise UsageError(f"units {', '.join(chosen) or 'none'}: name some of {', '.join(get_args(Unit))}")
    if clock != "wall" and chosen != ("call",):
        raise UsageError(f"--clock {clock}: only calls have it; choose --unit call alone")
    place = Path(path)
    check_ending(place)
    opened = as_trace(trace)
    about = attribution_of(opened, _CHANGES, licence=licence, attribution=attribution)
    made: list[KeyLaws] = []
    for number, unit in enumerate(chosen):

        def told(done: int, of: int, before: int = number) -> None:
            if progress is not None:
                progress(before * of + done, len(chosen) * of)

        made.append(
            key_laws(
                opened,
                unit=unit,
                clock=clock,
                rows=rows,
                where=where,
                since=since,
                until=until,
                tz=tz,
                min_n=min_n,
                seed=seed,
                progress=told,
            )
        )
    least = MIN_ROWS if min_n is None else min_n
    written = write_durations(made, place, about, min_n=least, seed=seed)
    notes = [f"{one.head.unit}: {note}" for one in made for note in one.head.notes]
    for one in made:
        left = [f"{n:,} {reason}" for reason, n in one.head.excluded.items() if n]
        if left:
            notes.append(f"{one.head.unit}: left out {', '.join(left)}")
    if not written:
        notes.append("no durations: the file has no rows")
    return DurationsExport(place, written, tuple(_counts(made)), tuple(notes), least, about)


def _counts(made: Sequence[KeyLaws]) -> list[LevelCount]:
    counts = []
    for one in made:
        for level in LEVELS:
            laws = [law for law in one.laws if law.level == level]
            estimated = sum(law.quantiles["0.5"].value is not None for law in laws)
            counts.append(
                LevelCount(str(one.head.unit), level, len(laws), estimated, sum(bool(law.laws) for law in laws))
            )
    return counts
