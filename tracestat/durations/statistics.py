"""The sufficient statistics of hazards, curves and summaries: each function runs one query on the selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracestat.durations.selection import Selection, run_on
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = [
    "Known",
    "curve_counts",
    "curve_influence",
    "edit_over_minute",
    "excluded_rows",
    "hazard_cells",
    "key_values",
    "longest_waits",
    "select_start_waits",
    "summary_counts",
    "summary_known",
    "summary_limits",
    "summary_shares",
    "summary_start_waits",
]


def excluded_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count the rows that take no part, by key, reason and kind of row: ``queries/excluded.sql``."""
    return run_on(trace, "excluded", selection)


def hazard_cells(
    trace: Trace, selection: Selection, grid: Sequence[float], edges: Sequence[float], *, between: bool = False
) -> pl.DataFrame:
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
    between : bool
        Whether ends known to an interval only are left to `tracestat.durations.between`: they count among n, n_seen and
        micros, and are no events. The column skeleton_hash then has what that query calls the skeleton.
    """
    import polars as pl

    lower = [float(value) for value in grid]
    counted = run_on(
        trace,
        "hazard_cells",
        selection,
        rows=selection.rows,
        cell=list(range(len(lower))),
        lo=lower,
        hi=[*lower[1:], 1e300],
        edge=[float(value) for value in edges],
        between=between,
    )
    skeletons = counted["skeleton_id"].unique().sort()
    number = pl.col("skeleton_id").replace_strict(skeletons, pl.int_range(skeletons.len(), eager=True))
    named = {"skeleton_hash": pl.col("skeleton_id")} if between else {}
    # sums of floats made of these depend on their order; sorting by one number is quicker than by three
    counted = counted.with_columns(skeleton_id=number, **named).sort(
        (pl.col("session_pk") * skeletons.len() + pl.col("skeleton_id")) * len(lower) + pl.col("cell")
    )
    # an entry is a negative end; a row that ended before it would have entered counts, but shows nothing
    sign = pl.col("sign")
    is_row, is_end = sign >= 0, sign == 1
    net = pl.when(sign == 2).then(0).otherwise(sign) if between else sign
    return counted.select(
        pl.exclude("sign", "n", "n_seen", "micros", "micros_lost"),
        n=pl.col("n") * is_row,
        n_seen=pl.col("n_seen") * is_row,
        micros=pl.col("micros") * is_row,
        n_early=pl.col("n") * (sign == 0),
        n_event=pl.col("n_seen") * is_end,
        n_lost=(pl.col("n") - pl.col("n_seen")) * is_end,
        micros_lost=pl.col("micros_lost") * is_end,
        n_net=pl.col("n") * net,
        micros_net=pl.col("micros") * net,
    )


def curve_counts(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count ends and censorings per distinct duration: ``queries/curve_counts.sql``."""
    return run_on(trace, "curve_counts", selection, rows=selection.rows)


def curve_influence(trace: Trace, selection: Selection, at: Sequence[float]) -> pl.DataFrame:
    """Sum each session's influence on the cumulative hazard between chosen times: ``queries/curve_influence.sql``.

    Parameters
    ----------
    at : sequence of float
        Chosen times in seconds, ascending; step k holds the rows in (at[k-1], at[k]], step len(at) those beyond.
    """
    times = [float(value) for value in at]
    return run_on(
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
    return run_on(trace, "summary_counts", selection)


def summary_shares(trace: Trace, selection: Selection, over: float) -> pl.DataFrame:
    """Sum time per session, in all and above ``over`` seconds: ``queries/summary_shares.sql``."""
    return run_on(trace, "summary_shares", selection, rows=selection.rows, over=float(over))


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
    return run_on(trace, "summary_limits", selection, rows=selection.rows)


def summary_start_waits(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the waits before the start per permission mode and session: ``queries/summary_start_waits.sql``."""
    return run_on(trace, "summary_start_waits", selection, rows=selection.rows)


def select_start_waits(trace: Trace) -> None:
    """Let the view ``durations`` stand for the waits before the start, by ``queries/unit_start_wait.sql``."""
    trace.run(query_text("unit_start_wait"))
    trace.run(query_text("durations"))


def edit_over_minute(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the time of edits, in all and above a minute: ``queries/edit_over_minute.sql``."""
    return run_on(trace, "edit_over_minute", selection)


def longest_waits(trace: Trace, selection: Selection, longest: int) -> pl.DataFrame:
    """List single waits, longest first: ``queries/longest.sql``."""
    return run_on(trace, "longest", selection, rows=selection.rows, longest=longest)


def key_values(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count rows per value of the selection's keys: ``queries/key_values.sql``."""
    return run_on(trace, "key_values", selection, rows=selection.rows)
