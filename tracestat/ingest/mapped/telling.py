"""How a table was read, in words: which column serves for what, in which unit, from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from datetime import datetime
from typing import Any, Final

from tracestat.ingest.mapped.mapping import Mapping, Served, shown_names
from tracestat.ingest.mapped.times import UNIT_NAMES, TimeColumn

__all__ = ["told"]

_GAPS: Final = {
    "pause": ("pause", "from the end of a request to the next arrival of its session"),
    "call": ("tool call", "after which nothing came: the pause is open"),
    "no tool": ("gap", "after a request that called no tool: no pause"),
    "no end": ("gap", "after a request without an end: no pause, since its start is not known"),
    "last": ("session", "whose last request is followed by nothing: no pause"),
}


def told(
    mapping: Mapping,
    times: AnyMapping[str, TimeColumn],
    shown: str,
    read: int,
    counts: AnyMapping[str, Any],
    gaps: AnyMapping[str, tuple[int, int]],
) -> Iterator[str]:
    """Give the lines to print.

    Parameters
    ----------
    mapping : Mapping
        What serves for what.
    times : mapping of str to TimeColumn
        What was found of the columns of times.
    shown : str
        How messages name the table.
    read : int
        Rows read.
    counts : mapping
        The row of ``queries/mapped_counts.sql``.
    gaps : mapping of str to (int, int)
        Gaps after requests, by kind; with requests that overlapped.
    """
    what = "tool calls" if mapping.form == "calls" else "requests"
    kept = counts["n_kept"]
    yield f"{shown}: a table of {what}: {_n(read, 'row')} = {kept:,} kept + {read - kept:,} rejected"
    for served in mapping.served:
        if served.field in times:
            side = "end" if served.field == "end" else "start"
            span = _span(counts[f"first_{side}"], counts[f"last_{side}"])
            yield f"{served.field}: {times[served.field].told(shown)} ({_place(served)}){span}"
        elif served.field in ("duration", "asked_limit"):
            yield f"{served.field}: {UNIT_NAMES[served.unit or 's']} ({_place(served)})"
        else:
            yield f"{served.field}: {_place(served)}"
    yield from _held(mapping, counts)
    for gap, (n, _) in gaps.items():
        yield f"{_n(n, _GAPS[gap][0])} {_GAPS[gap][1]}"
    overlapping = sum(n for _, n in gaps.values())
    if overlapping:
        yield f"{_n(overlapping, 'request')} that arrived while another of its session ran: no pause between"


def _held(mapping: Mapping, counts: AnyMapping[str, Any]) -> Iterator[str]:
    """Say what the rows make."""
    n_rounds = _n(counts["n_rounds"], "round")
    if mapping.form == "calls":
        most = _n(counts["most_calls"], "call")
        how = "with one request_id" if mapping.get("request_id") else "that overlap (map request_id if there is one)"
        yield f"{_n(counts['n_sessions'], 'session')}, {n_rounds} of up to {most}: a round is the calls {how}"
        if counts["n_open"]:
            yield f"{_n(counts['n_open'], 'call')} without an end: the pause is open"
    else:
        yield f"{_n(counts['n_sessions'], 'session')}, {n_rounds}"
    if counts["n_backward"]:
        yield f"{_n(counts['n_backward'], 'row')} with an end before its beginning: kept as it is"


def _n(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def _place(served: Served) -> str:
    if served.column is None:
        return f"the same in every row: {shown_names([served.value or ''])}"
    return f"column {shown_names([served.column])}"


def _span(first: datetime | None, last: datetime | None) -> str:
    if first is None or last is None:
        return ""
    return f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
