"""The sufficient statistics of deadlines: each function runs one query on the selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.durations import Selection, run_on
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = [
    "asked_rows",
    "atom_overheads",
    "atom_tools",
    "poll_rounds",
    "polled_commands",
    "scan_cells",
    "status_rows",
    "whole_seconds",
    "written_sleeps",
]

Windows = Sequence[tuple[float, float]]


def scan_cells(trace: Trace, selection: Selection, edges: Sequence[float]) -> pl.DataFrame:
    """Count ends per session and cell of the scan's grid: ``queries/deadlines_cells.sql``.

    Parameters
    ----------
    edges : sequence of float
        Lower bounds of the cells in seconds, ascending from 0; the last cell is open.
    """
    lower = [float(edge) for edge in edges]
    return run_on(
        trace,
        "deadlines_cells",
        selection,
        rows=selection.rows,
        cell=list(range(len(lower))),
        lo=lower,
        hi=[*lower[1:], 1e300],
    )


def atom_tools(trace: Trace, selection: Selection, windows: Windows) -> pl.DataFrame:
    """Count which tools end in each window: ``queries/deadlines_in_atoms.sql``."""
    return run_on(trace, "deadlines_in_atoms", selection, rows=selection.rows, **_windows(windows))


def atom_overheads(trace: Trace, windows: Windows) -> pl.DataFrame:
    """Take the median of wall less internal time in each window, per tool: ``queries/deadlines_overhead.sql``."""
    return trace.run(query_text("deadlines_overhead"), _windows(windows))


def _windows(windows: Windows) -> dict[str, list[float] | list[int]]:
    return {
        "atom": list(range(len(windows))),
        "low": [float(low) for low, _ in windows],
        "high": [float(high) for _, high in windows],
    }


def whole_seconds(trace: Trace, selection: Selection, seconds: Sequence[int]) -> pl.DataFrame:
    """Count ends at whole seconds, where a clock knows no finer: ``queries/deadlines_whole_seconds.sql``."""
    return run_on(trace, "deadlines_whole_seconds", selection, rows=selection.rows, second=[int(s) for s in seconds])


def status_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count rows that say that they ended on a limit, and those at risk: ``queries/deadlines_status.sql``."""
    return run_on(trace, "deadlines_status", selection, rows=selection.rows, unit=selection.unit)


def asked_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count calls that ran as long as the limit they asked for: ``queries/deadlines_asked.sql``."""
    return run_on(trace, "deadlines_asked", selection, rows=selection.rows)


def poll_rounds(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count rounds that only poll, and their tokens: ``queries/deadlines_polls.sql``."""
    return run_on(trace, "deadlines_polls", selection, rows=selection.rows)


def polled_commands(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count how often commands were polled: ``queries/deadlines_polled.sql``."""
    return run_on(trace, "deadlines_polled", selection, rows=selection.rows)


def written_sleeps(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the sleeps that commands asked for: ``queries/deadlines_sleeps.sql``."""
    return run_on(trace, "deadlines_sleeps", selection, rows=selection.rows)
