"""From a trace to the sufficient statistics that the estimators take.

A :class:`Selection` states the three choices of every answer (unit, clock, what is left out) together with keys and
filters. :func:`select` checks it and lets the view ``durations`` stand for it; the functions below it each run one
query on that view. Frames come back, never rows of the trace, so that memory follows the number of groups, sessions
and distinct durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tracestat.errors import UsageError
from tracestat.filters import EVERYTHING, Filter, Value, check_keys, parse_where, render_keys, time_range, zone_name
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = [
    "Clock",
    "Definition",
    "Known",
    "Rows",
    "Selection",
    "Unit",
    "curve_counts",
    "curve_influence",
    "edit_over_minute",
    "excluded_rows",
    "hazard_cells",
    "key_values",
    "longest_waits",
    "select",
    "select_start_waits",
    "summary_counts",
    "summary_known",
    "summary_limits",
    "summary_shares",
    "summary_start_waits",
]

Unit = Literal["pause", "call", "command"]
Clock = Literal["wall", "internal", "effective"]
Rows = Literal["tool", "human", "all"]
Definition = Literal["tracestat", "tracelab"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which durations an answer is about.

    Attributes
    ----------
    unit, clock, rows, definition : str
        The stated choices; under definition ``tracelab`` they are call, effective and all.
    keys : tuple of str
        What to group by; empty pools everything.
    where, period : Filter
        The user's condition, and the one on ``started_at``.
    zone : str
        Time zone of the keys day, week, hour and weekday.
    since, until : str or None
        The period as the user wrote it.
    """

    unit: Unit = "pause"
    clock: Clock = "wall"
    rows: Rows = "tool"
    definition: Definition = "tracestat"
    keys: tuple[str, ...] = ()
    where: Filter = EVERYTHING
    period: Filter = EVERYTHING
    zone: str = "UTC"
    since: str | None = None
    until: str | None = None

    @property
    def condition(self) -> str:
        """What stands in the ``{where}`` slot."""
        return f"({self.where.sql}) AND ({self.period.sql})"

    @property
    def parameters(self) -> dict[str, Value]:
        """The values that the condition binds."""
        return {**self.where.parameters, **self.period.parameters}


def _one_of(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {value}: not known; it is one of {', '.join(allowed)}")


def select(
    trace: Trace,
    *,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    outcomes: bool = False,
) -> Selection:
    """Check the choices and point the view ``durations`` of this trace at them.

    Raises
    ------
    UsageError
        A choice, key, column or date that does not exist, or a clock that the unit does not have.
    """
    import zoneinfo

    _one_of(unit, get_args(Unit), "--unit")
    _one_of(clock, get_args(Clock), "--clock")
    _one_of(rows, get_args(Rows), "--rows")
    _one_of(definition, get_args(Definition), "--definition")
    if definition == "tracelab":
        unit, clock, rows = "call", "effective", "all"
    if clock != "wall" and unit != "call":
        raise UsageError(f"--clock {clock}: only calls have it (--unit call); a {unit} is timed by the wall clock")
    zone = zone_name(tz)
    zone_info = zoneinfo.ZoneInfo(zone)
    selection = Selection(
        unit=unit,
        clock=clock,
        rows=rows,
        definition=definition,
        keys=check_keys(by, outcomes=outcomes),
        where=parse_where(where, zone_info),
        period=time_range(since, until, zone_info),
        zone=zone,
        since=since,
        until=until,
    )
    trace.run(query_text("set_zone"), {"zone": zone})
    trace.run(query_text("set_clock"), {"clock": clock})
    trace.run(query_text("set_definition"), {"definition": definition})
    trace.run(query_text(f"unit_{unit}"))
    trace.run(query_text("durations"))
    return selection


def _run(trace: Trace, name: str, selection: Selection, **parameters: object) -> pl.DataFrame:
    text = query_text(name, keys=render_keys(selection.keys), where=selection.condition)
    return trace.run(text, {**selection.parameters, **parameters})


def excluded_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count the rows that take no part, by key, reason and kind of row: ``queries/excluded.sql``."""
    return _run(trace, "excluded", selection)


def hazard_cells(trace: Trace, selection: Selection, grid: Sequence[float], edges: Sequence[float]) -> pl.DataFrame:
    """Count ends and sum times per session and cell of a grid: ``queries/hazard_cells.sql``.

    Rows come in the order of session, skeleton (numbered from 0) and cell. Per row of the frame: n and n_seen rows and
    those whose end was seen, micros summed; n_event the ends that count (the row had entered), n_lost and micros_lost
    those that were lost from sight; n_net and micros_net what ends in the cell less what enters in it, from which
    exposure follows.

    Parameters
    ----------
    grid : sequence of float
        Lower bounds of the cells in seconds, ascending from 0; the last cell is open.
    edges : sequence of float
        Edges of the hazard bins, for rows whose clock is too coarse for the first ones.
    """
    import polars as pl

    lower = [float(value) for value in grid]
    counted = _run(
        trace,
        "hazard_cells",
        selection,
        rows=selection.rows,
        cell=list(range(len(lower))),
        lo=lower,
        hi=[*lower[1:], 1e300],
        edge=[float(value) for value in edges],
    )
    skeletons = counted["skeleton_id"].unique().sort()
    number = pl.col("skeleton_id").replace_strict(skeletons, pl.int_range(skeletons.len(), eager=True))
    # sums of floats made of these depend on their order; sorting by one number is quicker than by three
    counted = counted.with_columns(skeleton_id=number).sort(
        (pl.col("session_pk") * skeletons.len() + pl.col("skeleton_id")) * len(lower) + pl.col("cell")
    )
    # an entry is a negative end; a row that ended before it would have entered counts, but shows nothing
    sign = pl.col("sign")
    is_row, is_end = sign >= 0, sign == 1
    return counted.select(
        pl.exclude("sign", "n", "n_seen", "micros", "micros_lost"),
        n=pl.col("n") * is_row,
        n_seen=pl.col("n_seen") * is_row,
        micros=pl.col("micros") * is_row,
        n_early=pl.col("n") * (sign == 0),
        n_event=pl.col("n_seen") * is_end,
        n_lost=(pl.col("n") - pl.col("n_seen")) * is_end,
        micros_lost=pl.col("micros_lost") * is_end,
        n_net=pl.col("n") * sign,
        micros_net=pl.col("micros") * sign,
    )


def curve_counts(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count ends and censorings per distinct duration: ``queries/curve_counts.sql``."""
    return _run(trace, "curve_counts", selection, rows=selection.rows)


def curve_influence(trace: Trace, selection: Selection, at: Sequence[float]) -> pl.DataFrame:
    """Sum each session's influence on the cumulative hazard between chosen times: ``queries/curve_influence.sql``.

    Parameters
    ----------
    at : sequence of float
        Chosen times in seconds, ascending; step k holds the rows in (at[k-1], at[k]], step len(at) those beyond.
    """
    times = [float(value) for value in at]
    return _run(
        trace,
        "curve_influence",
        selection,
        rows=selection.rows,
        step=list(range(len(times) + 1)),
        above=[-1.0, *times],
        at_most=[*times, 1e300],
    )


def summary_counts(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count rows and sum time by kind of row and end: ``queries/summary_counts.sql``."""
    return _run(trace, "summary_counts", selection)


def summary_shares(trace: Trace, selection: Selection, over: float) -> pl.DataFrame:
    """Sum time per session, in all and above ``over`` seconds: ``queries/summary_shares.sql``."""
    return _run(trace, "summary_shares", selection, rows=selection.rows, over=float(over))


@dataclass(frozen=True, slots=True)
class Known:
    """How many calls of a trace know their asked limit, and how many their start."""

    n_limits: int
    n_starts: int


def summary_known(trace: Trace) -> Known:
    """Count what only raw logs tell: ``queries/summary_known.sql``."""
    row = trace.run(query_text("summary_known")).row(0, named=True)
    return Known(row["n_limits"], row["n_starts"])


def summary_limits(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count calls per asked limit and session, and those that ended on it: ``queries/summary_limits.sql``."""
    return _run(trace, "summary_limits", selection, rows=selection.rows)


def summary_start_waits(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the waits before the start per permission mode and session: ``queries/summary_start_waits.sql``."""
    return _run(trace, "summary_start_waits", selection, rows=selection.rows)


def select_start_waits(trace: Trace) -> None:
    """Let the view ``durations`` stand for the waits before the start, by ``queries/unit_start_wait.sql``."""
    trace.run(query_text("unit_start_wait"))
    trace.run(query_text("durations"))


def edit_over_minute(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the time of edits, in all and above a minute: ``queries/edit_over_minute.sql``."""
    return _run(trace, "edit_over_minute", selection)


def longest_waits(trace: Trace, selection: Selection, longest: int) -> pl.DataFrame:
    """List single waits, longest first: ``queries/longest.sql``."""
    return _run(trace, "longest", selection, rows=selection.rows, longest=longest)


def key_values(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count rows per value of the selection's keys: ``queries/key_values.sql``."""
    return _run(trace, "key_values", selection, rows=selection.rows)
