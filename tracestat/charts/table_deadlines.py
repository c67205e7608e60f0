"""The tables of ``deadlines``: what ends on a limit by each way of knowing, the atoms, named limits, and the cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracestat.charts.captions import by_words, group_notes, headline_method, made, name_of, titled, units_of
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    MISSING,
    amount,
    bounds,
    count,
    counted,
    p_value,
    percent,
    percent_interval,
    plain,
    seconds,
)
from tracestat.results import Bounds, DeadlineAtom, DeadlinesGroup, DeadlinesResult, Head, Interval

__all__ = ["HOW", "deadline_tables", "once", "place_words"]

HOW = {"scan": "scan", "status": "by status", "asked": "as asked"}
_MOST = 20
_WHOSE = (
    "harness: at least 3 developers have it, none more than 90 % of it; local: one machine's habit, or too few "
    "developers to tell; ( ) how many have it"
)
_SMOOTH = (
    "smooth hazard: the ends that the hazard beside the window explains; sessions, expected: those with an end in the "
    "window, and how many there would be by that hazard"
)
Title = Callable[[str], str]


def place_words(value: float | None) -> str:
    """Write a place on the time axis so exactly that neighbours are told apart.

    Examples
    --------
    >>> place_words(30.0474), place_words(0.5306), place_words(1234.6), place_words(None)
    ('30.05 s', '0.531 s', '1,235 s', '-')
    """
    if value is None:
        return MISSING
    digits = 3 if value < 10 else 2 if value < 100 else 1 if value < 1000 else 0
    return f"{value:,.{digits}f} s"


def deadline_tables(result: DeadlinesResult, groups: Sequence[DeadlinesGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Deadlines of {units_of(head)}, {by_words(head)}", head)
    caption = [*made(head), *([cut] if cut else [])]
    if not groups:
        return [Table(title, caption=(*caption, "no groups: nothing is left to count"), notes=head.notes)]

    def marked(text: str) -> str:
        return titled(text, head)

    tables = [
        _ways(groups, title, caption, head),
        *_asked(groups, marked),
        *_status(groups, marked),
        *_atoms(groups, marked),
        *_named(groups, marked),
        *_whole_seconds(groups, marked),
        _cost(groups, marked),
    ]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def _ways(groups: Sequence[DeadlinesGroup], title: str, caption: Sequence[str], head: Head) -> Table:
    columns = (
        label_column(),
        Column("known by", "left"),
        Column("rows"),
        Column("sessions"),
        Column("devel-\nopers"),
        Column("share that ends\non a deadline", "left"),
        Column("time"),
    )
    rows = tuple(
        (
            name_of(g),
            HOW[g.mode],
            count(g.n),
            count(g.n_sessions),
            count(g.n_developers),
            percent_interval(g.share_on_deadline),
            _hours(g.cost.hours),
        )
        for g in groups
    )
    says = {
        "asked": "as asked: calls that ended on the limit they had asked for, of all calls",
        "status": "by status: rows that say so themselves",
        "scan": "scan: ends beyond what the smooth hazard beside them explains; it misses limits that few reach",
    }
    method = headline_method([g.share_on_deadline for g in groups])
    notes = [*([method] if method else []), *(says[mode] for mode in says if any(g.mode == mode for g in groups))]
    if any(g.unit != head.unit for g in groups):
        notes.append(f"rows of 'as asked' are calls, all others {units_of(head)}")
    return Table(title, columns, rows, tuple(caption), (*notes, *group_notes(once(groups))))


def once(groups: Sequence[DeadlinesGroup]) -> list[DeadlinesGroup]:
    """Join the groups of a key, with the notes of each way of knowing it once."""
    whose: dict[str, DeadlinesGroup] = {}
    for group in groups:
        first = whose.get(name_of(group), group)
        whose[name_of(group)] = replace(first, notes=tuple(dict.fromkeys((*first.notes, *group.notes))))
    return list(whose.values())


def _hours(hours: float | None) -> str:
    return MISSING if hours is None else seconds(hours * 3600)


def _whose(atom: DeadlineAtom) -> str:
    return MISSING if atom.label is None else f"{atom.label} ({atom.n_developers})"


def _span(window: Bounds) -> str:
    low, high = window
    if low is None or high is None:
        return MISSING
    return f"{place_words(low).removesuffix(' s')} to {place_words(high)}"


def _method(items: Sequence[Interval | None]) -> list[str]:
    method = headline_method(items)
    return [method] if method else []


def _of(groups: Sequence[DeadlinesGroup], mode: str) -> list[DeadlinesGroup]:
    return [group for group in groups if group.mode == mode]


def _asked(groups: Sequence[DeadlinesGroup], title: Title) -> list[Table]:
    everything = [(group, atom) for group in _of(groups, "asked") for atom in group.atoms]
    if not everything:
        return []
    chosen = set(sorted(range(len(everything)), key=lambda i: -(everything[i][1].n_asked or 0))[:_MOST])
    shown = [item for i, item in enumerate(everything) if i in chosen]
    rest = [item for i, item in enumerate(everything) if i not in chosen]
    columns = (
        label_column(),
        Column("tool", "left", "shorten"),
        Column("limit"),
        Column("asked\nfor it"),
        Column("ended\non it"),
        Column("of those that asked", "left"),
        Column("of those that\nran so long", "left"),
    )
    rows = tuple(
        (
            name_of(group),
            "(none)" if atom.tool is None else plain(atom.tool),
            f"{atom.seconds:g} s",
            count(atom.n_asked),
            count(atom.events),
            percent_interval(atom.of_asked),
            percent_interval(atom.mass),
        )
        for group, atom in shown
    )
    notes = _method([item for _, atom in shown for item in (atom.of_asked, atom.mass)])
    if any(atom.of_asked is not None and atom.of_asked.low is None for _, atom in shown):
        notes.append("no interval where none or all of the calls ended on the limit, or all are of one session")
    notes.append("ran so long: by the wall clock less a known wait for approval; an unknown wait counts as run")
    if rest:
        notes.append(
            f"{counted(len(rest), 'more limit')}, asked for by {count(sum(a.n_asked or 0 for _, a in rest))} calls, "
            f"{count(sum(a.events for _, a in rest))} of which ended on it; -o FILE.json has all"
        )
    return [Table(title("Limits that calls asked for"), columns, rows, (), tuple(notes))]


def _status(groups: Sequence[DeadlinesGroup], title: Title) -> list[Table]:
    shown = [(group, atom) for group in _of(groups, "status") for atom in group.atoms]
    if not shown:
        return []
    columns = (
        label_column(),
        Column("limit"),
        Column("ended"),
        Column("of those that reach it", "left"),
        Column("of all", "left"),
        Column("whose", "left"),
    )
    rows = tuple(
        (
            name_of(group),
            f"{atom.seconds:g} s",
            count(atom.events),
            percent_interval(atom.mass),
            percent_interval(atom.share),
            _whose(atom),
        )
        for group, atom in shown
    )
    notes = [*_method([item for _, atom in shown for item in (atom.mass, atom.share)]), _WHOSE]
    return [Table(title("Rows that say that they ended on a limit"), columns, rows, (), tuple(notes))]


def _atoms(groups: Sequence[DeadlinesGroup], title: Title) -> list[Table]:
    scans = _of(groups, "scan")
    shown = [(group, atom) for group in scans for atom in group.atoms]
    if not shown:
        if not any(group.n_tested for group in scans):
            return []
        tested = sum(group.n_tested for group in scans)
        return [
            Table(
                title("Spikes that the scan finds"),
                caption=(f"none: {counted(tested, 'window')} tested at a false discovery rate of 1 % per group",),
            )
        ]
    first = Table(
        title("Spikes that the scan finds"),
        (
            label_column(),
            Column("at"),
            Column("window", "left"),
            Column("ends"),
            Column("smooth\nhazard"),
            Column("sessions,\nexpected", "left"),
            Column("q value", "left"),
            Column("whose", "left"),
        ),
        tuple(
            (
                name_of(group),
                place_words(atom.seconds),
                _span(atom.window),
                count(atom.events),
                _tenths(atom.expected),
                f"{count(atom.votes)}, {_tenths(atom.expected_votes)}",
                _small(atom.q_value),
                _whose(atom),
            )
            for group, atom in shown
        ),
        (),
        (
            f"{counted(sum(g.n_tested for g in scans), 'window')} tested, adjusted per group (false discoveries 1 %); "
            "each session votes once",
            _SMOOTH,
            _WHOSE,
        ),
    )
    second = Table(
        title("What these spikes hold"),
        (
            label_column(),
            Column("at"),
            Column("of those that reach it", "left"),
            Column("of all", "left"),
        ),
        tuple(
            (name_of(group), place_words(atom.seconds), percent_interval(atom.mass), percent_interval(atom.share))
            for group, atom in shown
        ),
        (),
        (
            *_method([item for _, atom in shown for item in (atom.mass, atom.share)]),
            "of what was found: a spike that barely passes the test holds on average less than it seems to",
        ),
    )
    third = Table(
        title("Where these spikes come from"),
        (
            label_column(),
            Column("at"),
            Column("tool", "left", "shorten"),
            Column("by the\ntool's clock"),
            Column("known\nlimit"),
            Column("most of\none developer"),
        ),
        tuple(
            (
                name_of(group),
                place_words(atom.seconds),
                MISSING if atom.tool is None else plain(atom.tool),
                place_words(atom.nominal_seconds),
                MISSING if atom.known_limit is None else f"{atom.known_limit:g} s",
                percent(atom.largest_developer),
            )
            for group, atom in shown
        ),
        (),
        (
            "tool: the one with most of these ends; by its clock: less the median of what its calls here take beyond "
            "what it reports",
        ),
    )
    return [first, second, third]


def _tenths(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _small(value: float | None) -> str:
    if value is None:
        return MISSING
    if value >= 0.001:
        return f"{value:.2g}"
    power = f"{value:.0e}".replace("e-0", "e-")
    return power if value > 0 else "<1e-300"


def _named(groups: Sequence[DeadlinesGroup], title: Title) -> list[Table]:
    shown = [(group, limit) for group in _of(groups, "scan") for limit in group.named]
    if not shown:
        return []
    columns = (
        label_column(),
        Column("limit"),
        Column("ends"),
        Column("smooth\nhazard"),
        Column("sessions,\nexpected", "left"),
        Column("excess, of all", "left"),
        Column("", "left"),
    )
    rows = tuple(
        (
            name_of(group),
            f"{limit.seconds:g} s",
            count(limit.events),
            _tenths(limit.expected),
            f"{count(limit.votes)}, {_tenths(limit.expected_votes)}" if limit.votes is not None else MISSING,
            percent_interval(limit.share),
            p_value(limit.p_adjusted) + (" (z)" if limit.by_z else ""),
        )
        for group, limit in shown
    )
    notes = [
        *_method([limit.share for _, limit in shown]),
        "p by votes of sessions, adjusted over the list (Holm); (z): by clustered z, as nearly every session has one",
    ]
    if any(limit.p_adjusted is None for _, limit in shown):
        notes.append("p not available: the flanks hold fewer than 5 ends")
    return [Table(title("Limits named beforehand: known ones, and those asked for"), columns, rows, (), tuple(notes))]


def _whole_seconds(groups: Sequence[DeadlinesGroup], title: Title) -> list[Table]:
    shown = [(group, second) for group in _of(groups, "scan") for second in group.whole_seconds]
    if not shown:
        return []
    columns = (
        label_column(),
        Column("at"),
        Column("ends"),
        Column("mean of\nneighbours"),
        Column("ratio", "left"),
    )
    rows = tuple(
        (
            name_of(group),
            f"{second.seconds} s",
            count(second.events),
            _tenths(second.neighbours),
            _ratio(second.ratio),
        )
        for group, second in shown
    )
    notes = (
        *_method([second.ratio for _, second in shown]),
        "rows on a clock of whole seconds: the second against the one before and the one after; no test",
    )
    return [Table(title("Where the clock knows whole seconds only"), columns, rows, (), notes)]


def _ratio(item: Interval) -> str:
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), lambda x: f"{x:.2f}")
    return f"{item.value:.2f}" if pair == MISSING else f"{item.value:.2f} {pair}"


def _cost(groups: Sequence[DeadlinesGroup], title: Title) -> Table:
    # polls and sleeps are the same by every way of knowing, hours are taken from the most exact one
    first: dict[str, DeadlinesGroup] = {}
    for group in groups:
        if name_of(group) not in first or first[name_of(group)].cost.hours is None:
            first[name_of(group)] = group
    columns = (
        label_column(),
        Column("time that ended\non a limit"),
        Column("polls per\npolled command", "left"),
        Column("rounds that\nonly poll"),
        Column("their\ntokens"),
        Column("written\nsleeps"),
    )
    rows = tuple(
        (
            name,
            f"{_hours(g.cost.hours)} ({HOW[g.mode]})" if g.cost.hours is not None else MISSING,
            _polls(g.cost.polls_interval),
            count(g.cost.rounds),
            amount(g.cost.tokens),
            seconds(g.cost.sleep_seconds),
        )
        for name, g in first.items()
    )
    notes = (
        *_method([g.cost.polls_interval for g in first.values()]),
        "tokens: input and output of these rounds; written sleeps: what commands asked to sleep and slept to the end",
    )
    return Table(title("What limits cost"), columns, rows, (), notes)


def _polls(item: Interval) -> str:
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), lambda x: f"{x:.1f}")
    return f"{item.value:.1f}" if pair == MISSING else f"{item.value:.1f} {pair}"
