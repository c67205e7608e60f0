"""From a trace to the sufficient statistics that the estimators take.

A :class:`Selection` states the three choices of every answer (unit, clock, what is left out) together with keys and
filters. :func:`select` checks it and lets the view ``durations`` stand for it; the functions beside it each run one
query on that view. Frames come back, never rows of the trace, so that memory follows the number of groups, sessions
and distinct durations.
"""

from __future__ import annotations

from tracestat.durations.selection import Clock, Definition, Rows, Selection, Unit, run_on, select
from tracestat.durations.statistics import (
    Known,
    curve_counts,
    curve_influence,
    edit_over_minute,
    excluded_rows,
    hazard_cells,
    key_values,
    longest_waits,
    select_start_waits,
    summary_counts,
    summary_known,
    summary_limits,
    summary_shares,
    summary_start_waits,
)

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
    "run_on",
    "select",
    "select_start_waits",
    "summary_counts",
    "summary_known",
    "summary_limits",
    "summary_shares",
    "summary_start_waits",
]
