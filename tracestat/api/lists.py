"""``keys`` and ``calls``: what one can group by, and the single longest waits."""

from __future__ import annotations

from typing import Any

from tracestat.api.common import TraceLike, as_trace, excluded_of, head_of
from tracestat.durations import Clock, Rows, Unit, key_values, longest_waits, select
from tracestat.errors import UsageError
from tracestat.filters import KEYS
from tracestat.results import CallsResult, KeysResult

__all__ = ["calls", "keys"]


def keys(
    trace: TraceLike,
    *,
    top: int = 5,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    rows: Rows = "tool",
) -> KeysResult:
    """List the keys that ``by`` and ``where`` take, with the most frequent values in this trace.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    top : int
        How many values of each key to give.
    where, since, until, tz, unit, rows
        As for :func:`tracestat.hazard`.

    Returns
    -------
    KeysResult

    Examples
    --------
    >>> import tracestat
    >>> [item["key"] for item in tracestat.keys(tracestat.open()).keys][:2]
    ['provider', 'developer']
    """
    if top < 1:
        raise UsageError(f"--top {top}: give at least 1")
    opened = as_trace(trace)
    found: list[dict[str, Any]] = []
    for key in KEYS:
        selection = select(opened, unit=unit, rows=rows, by=[key], where=where, since=since, until=until, tz=tz)
        frame = key_values(opened, selection)
        values = [
            {"value": None if value is None else str(value), "rows": int(count)} for value, count in frame.rows()[:top]
        ]
        found.append({"key": key, "n_values": frame.height, "values": values})
    selection = select(opened, unit=unit, rows=rows, by=None, where=where, since=since, until=until, tz=tz)
    excluded = excluded_of(opened, selection)
    head = head_of(opened, selection, "keys", excluded=excluded.counts, notes=excluded.notes)
    return KeysResult(head, tuple(found))


def calls(
    trace: TraceLike,
    *,
    longest: int = 20,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "call",
    clock: Clock = "wall",
    rows: Rows = "tool",
) -> CallsResult:
    """List the single longest waits.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    longest : int
        How many.
    where, since, until, tz, unit, clock, rows
        As for :func:`tracestat.hazard`; the unit here is the call unless given.

    Returns
    -------
    CallsResult

    Examples
    --------
    >>> import tracestat
    >>> len(tracestat.calls(tracestat.open(), longest=3).calls)
    3
    """
    if longest < 1:
        raise UsageError(f"--longest {longest}: give at least 1")
    opened = as_trace(trace)
    selection = select(opened, unit=unit, clock=clock, rows=rows, by=None, where=where, since=since, until=until, tz=tz)
    found = tuple(longest_waits(opened, selection, longest).iter_rows(named=True))
    excluded = excluded_of(opened, selection)
    head = head_of(opened, selection, "calls", excluded=excluded.counts, notes=excluded.notes)
    return CallsResult(head, found)
