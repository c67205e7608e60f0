"""The tables of ``keys`` and ``calls``."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Mapping
from typing import Any

from tracestat.charts.captions import cut_line, made, titled
from tracestat.charts.table import Column, Table
from tracestat.charts.words import MISSING, count, plain, seconds, shorten
from tracestat.results import CallsResult, Head, KeysResult

__all__ = ["calls_tables", "keys_tables", "local_time", "what_ran"]

_LONGEST_VALUE = 40


def keys_tables(result: KeysResult, top: int | None = None) -> list[Table]:  # noqa: ARG001  keys are few: all are shown
    """Give every key with its most frequent values."""
    columns = (
        Column("key", "left"),
        Column("values"),
        Column("most frequent, with rows", "left", "wrap"),
    )
    rows = []
    for item in result.keys:
        values = [f"{_value(value.get('value'))} ({count(value.get('rows'))})" for value in item.get("values", ())]
        more = int(item.get("n_values") or 0) - len(values)
        text = ", ".join(values) + (f" and {more:,} more" if values and more > 0 else "")
        rows.append((plain(item.get("key")), count(item.get("n_values")), text or MISSING))
    return [
        Table(
            titled("Keys for --by and --where", result.head),
            columns,
            tuple(rows),
            tuple(made(result.head)),
            ("--top N lists more values", *result.head.notes),
        )
    ]


def _value(value: object) -> str:
    return "(none)" if value is None else shorten(plain(value), _LONGEST_VALUE) or "(empty)"


def calls_tables(result: CallsResult, top: int | None) -> list[Table]:
    """Give the single waits, longest first, and how each ended."""
    head = result.head
    waits = result.calls if top is None else result.calls[:top]
    title = titled(f"The longest {f'{head.unit}s' if head.unit else 'waits'}", head)
    line = cut_line(len(waits), len(result.calls), "waits")
    caption = (*made(head), *([line] if line else []))
    if not waits:
        return [Table(title, caption=(*caption, "none: nothing is left to list"), notes=head.notes)]
    columns = (
        Column("lasted"),
        Column("tool", "left", "shorten"),
        Column("command", "left", "shorten"),
        Column("started", "left"),
        Column("session", "left", "shorten"),
        Column("end", "left"),
    )
    rows = tuple(
        (
            seconds(wait.get("seconds")),
            _or_missing(wait.get("tool")),
            _or_missing(wait.get("command_skeleton")),
            local_time(wait.get("started_at"), head),
            _or_missing(wait.get("session")),
            _or_missing(wait.get("end_kind")),
        )
        for wait in waits
    )
    notes = [f"command: the skeleton; started: time in {plain(head.zone)}"]
    if any(wait.get("observed") is False for wait in waits):
        notes.append("end lost or open: no result came, the wait lasted at least as long")
    return [Table(title, columns, rows, caption, (*notes, *head.notes))]


def what_ran(wait: Mapping[str, Any]) -> str:
    """Name a wait by its tool, with the command skeleton where it has one."""
    tool = _or_missing(wait.get("tool"))
    skeleton = wait.get("command_skeleton")
    return f"{tool}: {plain(skeleton)}" if skeleton else tool


def local_time(value: object, head: Head) -> str:
    """Write a moment of the store (naive UTC) in the zone of the answer, to the minute."""
    if not isinstance(value, dt.datetime):
        return MISSING if value is None else plain(value)
    moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    try:
        zone: dt.tzinfo = zoneinfo.ZoneInfo(head.zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        zone = dt.UTC
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


def _or_missing(value: object) -> str:
    return MISSING if value is None or value == "" else plain(value)
