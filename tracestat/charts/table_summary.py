"""The tables of ``summary``: how many, how long, where time and token-seconds go, what waits for a human."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracestat.charts.captions import by_words, group_notes, headline_method, made, name_of, shown_quantiles, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.table_log_parts import limit_tables, start_wait_tables
from tracestat.charts.table_tracelab import tracelab_tables
from tracestat.charts.words import (
    MISSING,
    amount,
    count,
    percent,
    percent_interval,
    plain,
    seconds,
    seconds_interval,
)
from tracestat.results import Interval, SummaryGroup, SummaryResult

__all__ = ["summary_tables"]


def summary_tables(result: SummaryResult, groups: Sequence[SummaryGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups; those of TraceLab's analyses come after them."""
    head = result.head
    title = titled(f"Durations, {by_words(head)}", head)
    caption = (*made(head, units=not any("unit" in group.key for group in groups)), *([cut] if cut else []))
    tables = []
    if groups:
        tables = [
            _counts(groups, title, caption),
            _quantiles(groups, titled("Quantiles", head)),
            _within(groups, titled("Share of rows that end within", head)),
            *_over(groups, lambda text: titled(text, head)),
            _beside(groups, titled("What stands beside them", head)),
            _ends(groups, titled("How they ended", head)),
            *limit_tables(groups, lambda text: titled(text, head)),
            *start_wait_tables(groups, lambda text: titled(text, head)),
        ]
    elif result.tracelab is None:
        tables = [Table(title, caption=(*caption, "no groups: nothing is left to count"))]
    if result.tracelab is not None:
        tables += tracelab_tables(result.tracelab, head, made(head) if not groups else [])
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def _counts(groups: Sequence[SummaryGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("rows"),
        Column("censored"),
        Column("sessions"),
        Column("developers"),
        Column("time"),
        Column("token-seconds"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n),
            count(g.n_censored),
            count(g.n_sessions),
            count(g.n_developers),
            seconds(g.total_seconds),
            amount(g.token_seconds),
        )
        for g in groups
    )
    notes = ("token-seconds: tokens of context, times the seconds that they wait",)
    return Table(title, columns, rows, tuple(caption), (*notes, *group_notes(groups)))


def _spread(
    groups: Sequence[SummaryGroup],
    names: Sequence[str],
    header: Callable[[str], str],
    read: Callable[[SummaryGroup, str], Interval | None],
    write: Callable[[Interval | None], str],
) -> tuple[tuple[Column, ...], tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Lay out one interval per group and name, with the line that says what the brackets are."""
    columns = (label_column(), *(Column(header(name), "left") for name in names))
    rows = tuple((name_of(g), *(write(read(g, name)) for name in names)) for g in groups)
    method = headline_method([read(g, name) for g in groups for name in names])
    return columns, rows, (method,) if method else ()


def _names(groups: Sequence[SummaryGroup], read: Callable[[SummaryGroup], Mapping[str, Any]]) -> list[str]:
    """Give the names that any group has, by size."""
    return sorted({name for group in groups for name in read(group)}, key=float)


def _quantiles(groups: Sequence[SummaryGroup], title: str) -> Table:
    columns, rows, notes = _spread(
        groups,
        shown_quantiles(g.quantiles for g in groups),
        lambda name: "median" if float(name) == 0.5 else f"p{100 * float(name):g}",
        lambda g, name: g.quantiles.get(name),
        seconds_interval,
    )
    return Table(title, columns, rows, (), notes)


def _within(groups: Sequence[SummaryGroup], title: str) -> Table:
    columns, rows, notes = _spread(
        groups,
        _names(groups, lambda g: g.share_within),
        lambda name: seconds(float(name)) if float(name) >= 60 else f"{float(name):g} s",
        lambda g, name: g.share_within.get(name),
        percent_interval,
    )
    return Table(title, columns, rows, (), notes)


def _over(groups: Sequence[SummaryGroup], title: Callable[[str], str]) -> list[Table]:
    tables = []
    for name in _names(groups, lambda g: g.over):
        columns = (
            label_column(),
            Column("of the rows", "left"),
            Column("of the time", "left"),
            Column("of the token-seconds", "left"),
        )
        rows: list[tuple[str, ...]] = []
        shown: list[Interval | None] = []
        for g in groups:
            over = g.over.get(name)
            items = (over.of_count, over.of_time, over.of_token_seconds) if over else (None, None, None)
            rows.append((name_of(g), *map(percent_interval, items)))
            shown += items
        method = headline_method(shown)
        tables.append(
            Table(
                title(f"Rows over {float(name):g} s: their share"),
                columns,
                tuple(rows),
                (),
                (method,) if method else (),
            )
        )
    return tables


def _beside(groups: Sequence[SummaryGroup], title: str) -> Table:
    columns = (
        label_column(),
        Column("human\nof rows"),
        Column("human\nof time"),
        Column("human of\ntoken-s"),
        Column("several\ncalls"),
        Column("edit time\nover 60 s"),
        Column("time over 60 s\nless top 0.01 %"),
    )
    rows = []
    for g in groups:
        minute = g.over.get("60")
        rows.append(
            (
                name_of(g),
                percent(g.human.of_count),
                percent(g.human.of_time),
                percent(g.human.of_token_seconds),
                count(g.mixed_key),
                percent(g.edit_over_minute),
                percent(minute.of_time_without_top if minute else None),
            )
        )
    notes = (
        "human: share of what waits for a human, of tool and human rows together; not in the rows above",
        "several calls: rows whose calls differ in tool or command; they carry the key of one of them",
        "edit time over 60 s: share of the time of edits, a sign of approvals inside tool times; less top 0.01 %: "
        "without the longest rows",
        "- : not available, or no such rows",
    )
    return Table(title, columns, tuple(rows), (), notes)


def _ends(groups: Sequence[SummaryGroup], title: str) -> Table:
    columns = (label_column(), Column("rows by end kind", "left", "wrap"))
    rows = tuple(
        (
            name_of(g),
            ", ".join(f"{plain(kind)} {count(number)}" for kind, number in _by_number(g.by_end_kind)) or MISSING,
        )
        for g in groups
    )
    return Table(title, columns, rows)


def _by_number(kinds: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((kind, number) for kind, number in kinds.items() if number), key=lambda item: -item[1])
