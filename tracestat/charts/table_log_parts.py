"""The tables of ``summary`` that only raw logs fill: asked limits, and the waits before calls really started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tracestat.charts.captions import headline_method, name_of
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    count,
    counted,
    joined,
    percent,
    percent_interval,
    plain,
    seconds,
    seconds_interval,
)
from tracestat.results import AskedLimit, Interval, StartWait, SummaryGroup

__all__ = ["limit_tables", "start_wait_tables"]

_MOST = 20
_MOST_NAMED = 4
_HUMAN = "calls of human tools, not in here: "
T = TypeVar("T")
Title = Callable[[str], str]


def limit_tables(groups: Sequence[SummaryGroup], title: Title, most: int = _MOST) -> list[Table]:
    """Give the table of the limits most asked for; none where no group knows any."""
    everything = [(group, limit) for group in groups for limit in group.limits]
    if not everything:
        return []
    shown, left = _largest(everything, lambda item: item[1].n_asked, most)
    columns = (
        label_column(),
        Column("tool", "left", "shorten"),
        Column("limit"),
        Column("asked\nfor it"),
        Column("ended\non it"),
        Column("share that ended on it", "left"),
        Column("time in\nthese"),
    )
    rows = tuple(
        (
            name_of(group, without="unit"),
            _named(group, limit),
            f"{limit.asked_limit_seconds:g} s",
            count(limit.n_asked),
            count(limit.n_ended),
            percent_interval(limit.share),
            seconds(limit.seconds_ended),
        )
        for group, limit in shown
    )
    notes = ["calls by the wall clock; share: of those with a result"]
    if any(limit.share.value is not None and limit.share.low is None for _, limit in shown):
        notes.append("no interval where none or all of the calls ended on the limit, or all are of one session")
    if left:
        asked, ended = (sum(getattr(limit, name) for _, limit in left) for name in ("n_asked", "n_ended"))
        notes.append(
            f"{counted(len(left), 'more limit')}, asked for by {counted(asked, 'call')}, {count(ended)} of which ended "
            "on it; -o FILE.json shows all"
        )
    method = _method([limit.share for _, limit in shown])
    return [Table(title("Limits that calls asked for"), columns, rows, (), (*method, *notes))]


def _named(group: SummaryGroup, limit: AskedLimit) -> str:
    tool = "(none)" if limit.tool is None else plain(limit.tool)
    return tool if "provider" in group.key or limit.provider is None else f"{plain(limit.provider)} {tool}"


def _largest(items: list[T], size: Callable[[T], int], most: int) -> tuple[list[T], list[T]]:
    """Choose the largest items, in the order in which they stand; then the others."""
    chosen = set(sorted(range(len(items)), key=lambda i: -size(items[i]))[:most])
    return [items[i] for i in sorted(chosen)], [item for i, item in enumerate(items) if i not in chosen]


def start_wait_tables(groups: Sequence[SummaryGroup], title: Title, most: int = _MOST) -> list[Table]:
    """Give the two tables of waits before the start, by permission mode; none where no group knows any."""
    everything = [(group, wait) for group in groups for wait in group.start_waits]
    if not everything:
        return []
    waits, left = _largest(everything, lambda item: item[1].n_known, most)
    more = [f"{counted(len(left), 'more mode')} with fewer known starts; -o FILE.json shows all"] if left else []
    names = [_mode(group, wait) for group, wait in waits]
    longest = Table(
        title("Waits before calls started, for approval and hooks, by permission mode"),
        (
            label_column(),
            Column("starts known"),
            Column("median", "left"),
            Column("p90", "left"),
        ),
        tuple(
            (
                name,
                f"{count(wait.n_known)} of {count(wait.n)}",
                seconds_interval(wait.median),
                seconds_interval(wait.p90),
            )
            for name, (_, wait) in zip(names, waits, strict=True)
        ),
        (),
        (*_method([interval for _, wait in waits for interval in (wait.median, wait.p90)]), *more),
    )
    human = [
        f"{percent(group.human.of_time)} of the call time of {name_of(group, without='unit')}"
        for group in groups
        if group.start_waits and group.human.of_time is not None
    ]
    known = [(name, wait) for name, (_, wait) in zip(names, waits, strict=True) if wait.n_known]
    took = Table(
        title("What these waits took of the time of these calls"),
        (label_column(), Column("wait"), Column("wall time"), Column("share that was wait", "left")),
        tuple(
            (name, seconds(wait.wait_seconds), seconds(wait.seconds), percent_interval(wait.of_time))
            for name, wait in known
        ),
        (),
        (*_method([wait.of_time for _, wait in known]), *([_HUMAN + joined(human, _MOST_NAMED)] if human else [])),
    )
    return [longest, took]


def _mode(group: SummaryGroup, wait: StartWait) -> str:
    mode = "(none)" if wait.permission_mode is None else plain(wait.permission_mode)
    return mode if set(group.key) <= {"unit", "permission_mode"} else f"{name_of(group, without='unit')} / {mode}"


def _method(intervals: Sequence[Interval]) -> list[str]:
    method = headline_method(intervals)
    return [method] if method else []
