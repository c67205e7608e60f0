"""The tables of ``memoryfulness``: the coefficient, what it is made of, what its sign means, and the rounds left."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import (
    both_clusterings,
    by_words,
    group_notes,
    headline_method,
    in_words,
    left_out,
    made,
    name_of,
    titled,
)
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, bounds, count, percent, slope
from tracestat.results import Head, Interval, MemoryfulnessGroup, MemoryfulnessResult

__all__ = ["eta_interval", "how_made", "memoryfulness_tables", "sentence", "units_differ"]

_SAID = 6
_CONTINUUM = "Continuum's TTL: how long that scheduler (arXiv 2511.02230) keeps the cache of a program that waits"


def memoryfulness_tables(
    result: MemoryfulnessResult, groups: Sequence[MemoryfulnessGroup], cut: str | None
) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Memoryfulness of programs, {by_words(head)}", head)
    caption = (
        *how_made(head),
        "minus the correlation of rounds done and rounds left, over all rounds of the finished programs",
        *([cut] if cut else []),
    )
    if not groups:
        return [Table(title, caption=(*caption, "no groups: nothing is left to count"), notes=head.notes)]
    said = [sentence(group) for group in groups[:_SAID]] + units_differ(groups)
    if len(groups) > _SAID:
        said.append(
            f"the first {_SAID} of {count(len(groups))} groups; what the others say follows from their intervals"
        )
    about = tuple(_CONTINUUM for _ in said[:1] if any("Continuum" in line for line in said))
    tables = [
        _counts(groups, title, caption),
        _values(groups, titled("Memoryfulness eta", head)),
        Table(titled("In short", head), caption=tuple(said), notes=about),
        _left(groups, titled("Mean rounds left after so many rounds", head)),
    ]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def how_made(head: Head) -> list[str]:
    """Say how the result was made; programs have neither clock nor kind of row."""
    return [f"sessions, and requests: what one message of the user sets off; {left_out(head)}", *made(head)[1:]]


def eta_interval(item: Interval) -> str:
    """Write a memoryfulness with its headline interval.

    Examples
    --------
    >>> eta_interval(Interval(-0.119, -0.19, 0.01))
    '-0.119 [-0.19, 0.01]'
    """
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), lambda x: slope(x, 2))
    return slope(item.value) if pair == MISSING else f"{slope(item.value)} {pair}"


def sentence(group: MemoryfulnessGroup) -> str:
    """Say in one line what the sign means, also for Continuum's rule, whose benefit is eta T + R.

    T is the queueing delay that a kept cache spares, R the time to restore an evicted one.
    """
    name, value = in_words(group), group.value.value
    if value is None:
        return f"{name}: not estimated: {'; '.join(group.notes[:1]) or 'too little data'}"
    low, high = group.value.low, group.value.high
    shown = f"{name}: eta {eta_interval(group.value)}"
    if low is None or high is None:
        return f"{shown}: without an interval its sign says nothing"
    if high < 0:
        times = 1 / abs(value)
        return (
            f"{shown}: the more rounds are done, the more are likely left; Continuum's TTL is 0 as soon as the "
            f"queueing delay is {times:.1f} times the time to restore a cache"
        )
    if low > 0:
        return f"{shown}: the more rounds are done, the fewer are left; Continuum's TTL grows with the queueing delay"
    return (
        f"{shown}: the sign is not settled, and so is not whether queueing delay lengthens Continuum's TTL or ends it"
    )


def units_differ(groups: Sequence[MemoryfulnessGroup]) -> list[str]:
    """Say where session and request have estimates of different sign."""
    signs: dict[str, set[bool]] = {}
    for group in groups:
        if group.value.value is not None:
            signs.setdefault(name_of(group, without="unit"), set()).add(group.value.value < 0)
    return [
        f"{'' if name == 'all' else f'{name}: '}session and request differ in sign: what a program is decides it"
        for name, found in signs.items()
        if len(found) > 1
    ]


def _counts(groups: Sequence[MemoryfulnessGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("programs"),
        Column("open"),
        Column("sessions"),
        Column("devel-\nopers"),
        Column("rounds\nmean"),
        Column("half"),
        Column("99 %"),
        Column("most"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n_programs),
            count(g.n_censored),
            count(g.n_sessions),
            count(g.n_developers),
            MISSING if g.turns.mean is None else f"{g.turns.mean:,.1f}",
            count(g.turns.p50),
            count(g.turns.p99),
            count(g.turns.max),
        )
        for g in groups
    )
    return Table(title, columns, rows, tuple(caption), tuple(group_notes(groups)))


def _values(groups: Sequence[MemoryfulnessGroup], title: str) -> Table:
    columns = (
        label_column(),
        Column("eta"),
        Column("by session", "left"),
        Column("by developer", "left"),
        Column("with\nopen"),
        Column("shift"),
        Column("longest"),
    )
    rows = tuple(
        (
            name_of(g),
            slope(g.value.value),
            bounds(g.value.session, lambda x: slope(x, 2)),
            bounds(g.value.developer, lambda x: slope(x, 2)),
            slope(g.with_open),
            slope(g.bootstrap_shift),
            percent(g.longest_share),
        )
        for g in groups
    )
    method = both_clusterings([g.value for g in groups])
    notes = [method] if method else []
    if any(g.value.value is not None for g in groups):
        notes.append(
            "with open: had the open programs ended with the log; shift: mean of the draws less eta, a part of its "
            "bias towards 0; longest: share of the longest program in the sum of cubes"
        )
    return Table(title, columns, rows, (), tuple(notes))


def _left(groups: Sequence[MemoryfulnessGroup], title: str) -> Table:
    marks = sorted({item.after for group in groups for item in group.left})
    columns = (label_column(), *(Column(f"after {mark}", "left") for mark in marks))
    rows = []
    for group in groups:
        found = {item.after: item.mean for item in group.left}
        rows.append((name_of(group), *(_rounds(found.get(mark)) for mark in marks)))
    method = headline_method([item.mean for group in groups for item in group.left])
    notes = [method] if method else []
    notes.append("were eta 0, the mean would stay what it is after 1 round")
    return Table(title, columns, tuple(rows), (), tuple(notes))


def _rounds(item: Interval | None) -> str:
    if item is None or item.value is None:
        return MISSING

    def write(value: float) -> str:
        return f"{value:,.1f}" if value < 9.95 else f"{value:,.0f}"

    pair = bounds((item.low, item.high), write)
    return write(item.value) if pair == MISSING else f"{write(item.value)} {pair}"
