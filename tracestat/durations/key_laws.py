"""What the laws of keys need beside the statistics of curves and hazards: each function runs one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations.selection import Selection, run_on

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["key_atoms", "key_rows"]


def key_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give a row per duration with the keys that laws are made for: ``queries/key_rows.sql``."""
    return run_on(trace, "key_rows", selection, rows=selection.rows)


def key_atoms(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count the rows of each session that ended at a limit or with a sleep: ``queries/key_atoms.sql``."""
    return run_on(trace, "key_atoms", selection, rows=selection.rows, unit=selection.unit)
