"""The tables of ``occupancy``: paused caches, what they hold, the tier for them, and what the tail does to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracestat.charts.captions import by_words, group_notes, headline_method, in_words, made, name_of, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, bounds, count, counted, percent, percent_interval, plain, seconds
from tracestat.results import Head, HeldByClass, HeldCache, Interval, OccupancyGroup, OccupancyResult

__all__ = [
    "COMPARED",
    "agents_interval",
    "beside",
    "gigabytes",
    "how_made",
    "occupancy_tables",
    "sentence",
    "times",
    "tokens",
]

_SAID = 6
_CLASSES = 2  # groups whose classes are shown
COMPARED = (
    "if median, if mean: had each tool pause lasted the median, or the mean, of its group, and each wait for a person "
    "likewise. What if median lacks is the tail's part. If mean leaves the number paused as it is, since that depends "
    "on durations by their mean alone; its tokens differ where long pauses hold other contexts"
)


def occupancy_tables(result: OccupancyResult, groups: Sequence[OccupancyGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Paused caches of {counted(result.agents, 'agent')}, {by_words(head)}", head)
    groups = beside(groups, result.groups)
    caption = (*how_made(result), *([cut] if cut else []))
    if not groups:
        return [Table(title, caption=(*caption, "no groups: no sessions are left"), notes=head.notes)]
    known = [group for group in groups if group.paused.mean.value is not None]
    tables = [_paused(groups, title, caption)]
    if known:
        tables += [
            _held(known, titled("Tokens held by paused caches", head)),
            _tier(known, result, titled("Host memory that holds them 99 % of the time", head)),
            *_tail(known, head),
            *_classes(known, head),
            _bursts(known, titled("Returns", head)),
            Table(titled("In short", head), caption=tuple(sentence(group) for group in known[:_SAID])),
        ]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def beside(shown: Sequence[OccupancyGroup], groups: Sequence[OccupancyGroup]) -> list[OccupancyGroup]:
    """Give all groups of the keys that are shown, in the order of their first: tool, human, all."""
    keys: dict[str, list[OccupancyGroup]] = {name_of(group, without="rows"): [] for group in shown}
    for group in groups:
        name = name_of(group, without="rows")
        if name in keys:
            keys[name].append(group)
    order = ("tool", "human", "all")
    return [group for some in keys.values() for group in sorted(some, key=lambda g: order.index(g.key["rows"]))]


def _labels() -> tuple[Column, Column]:
    return label_column(), Column("waits", "left")


def _names(group: OccupancyGroup) -> tuple[str, str]:
    return name_of(group, without="rows") if len(group.key) > 1 else "", str(group.key["rows"])


def how_made(result: OccupancyResult) -> list[str]:
    """Say what agents do, on which machine, and what becomes of people."""
    gap = {"keep": "as recorded", "drop": "left out"}.get(
        result.human_gap, f"at most {seconds(float(result.human_gap.partition(':')[2] or 0))}"
    )
    scale = "as recorded" if result.context_scale == 1 else f"times {result.context_scale:.3g}"
    return [
        f"{counted(result.agents, 'agent')}, independent; each plays recorded sessions one after another, drawn whole; "
        "wall clock",
        f"waits for a person {gap}; contexts {scale}, in blocks of {result.block_tokens}; no time passes between "
        "sessions, and their last context is let go",
        f"{plain(result.hardware)}: {result.kv_bytes_per_token:,} bytes a token, a pool of "
        f"{result.pool_tokens:,} tokens ({gigabytes(result.pool_tokens * result.kv_bytes_per_token)}), which running "
        "requests need as well",
        *made(result.head)[1:],
    ]


def tokens(value: float | None) -> str:
    """Write tokens with three digits, in thousands or millions where there are many.

    Examples
    --------
    >>> tokens(950.0), tokens(81408.0), tokens(4e6), tokens(0.0)
    ('950', '81.4 k', '4.00 M', '0')
    """
    if value is None:
        return MISSING
    size, unit = _size(value)
    return f"{_digits(value / size)}{unit}" if unit else f"{value:,.0f}"


def _size(value: float) -> tuple[float, str]:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= 0.9995 * size:
            return size, unit
    return 1.0, ""


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{decimals}f}"


def _interval(item: Interval, write: Callable[[float], str]) -> str:
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), write)
    return write(item.value) if pair == MISSING else f"{write(item.value)} {pair}"


def _tokens_interval(item: Interval) -> str:
    """Write tokens with their interval, in the unit of the estimate."""
    if item.value is None:
        return MISSING
    size, unit = _size(item.value or item.high or 0.0)
    pair = bounds((item.low, item.high), lambda x: _digits(x / size) if unit else f"{x:,.0f}")
    if pair == MISSING:
        return tokens(item.value)
    return f"{_digits(item.value / size) if unit else f'{item.value:,.0f}'}{unit} {pair}"


def agents_interval(item: Interval) -> str:
    """Write a number of agents with its interval.

    Examples
    --------
    >>> agents_interval(Interval(3.684, 1.42, 10.15)), agents_interval(Interval(8.0, 5.0, 16.0))
    ('3.7 [1.4, 10]', '8 [5, 16]')
    """
    return _interval(item, _agents) if (item.value or 0) < 9_999.5 else _tokens_interval(item)


def _agents(value: float) -> str:
    if value >= 9_999.5:
        return tokens(value)
    if value == round(value) or value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.095 else f"{value:.1g}"


def gigabytes(value: float | None) -> str:
    """Write bytes in units of 10^9.

    Examples
    --------
    >>> gigabytes(1.067e10), gigabytes(1.42e11), gigabytes(2.3e12)
    ('10.7 GB', '142 GB', '2,300 GB')
    """
    return MISSING if value is None else f"{_digits(value / 1e9)} GB"


def _gigabytes_interval(item: Interval) -> str:
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), lambda x: _digits(x / 1e9))
    return gigabytes(item.value) if pair == MISSING else f"{gigabytes(item.value)} {pair}"


def times(item: Interval) -> str:
    """Write a multiple with its interval.

    Examples
    --------
    >>> times(Interval(13.32, 8.33, 23.6))
    '13.3 [8.33, 23.6]'
    """
    return _interval(item, _digits)


def sentence(group: OccupancyGroup) -> str:
    """Say in one line what a group comes to."""
    who = {"tool": "in a tool", "human": "for a person", "all": "in a tool or for a person"}[group.key["rows"]]
    usual = "".join(
        f"{' and ' if place else ''}{seconds(group.typical[name].median)} ({name})"
        for place, name in enumerate(("tool", "human") if group.key["rows"] == "all" else (group.key["rows"],))
    )
    waiting = (
        f"{in_words(group)}: {agents_interval(group.paused.mean)} of {count(group.agents)} wait {who} at a time, "
        f"99 % of the time at most {agents_interval(group.paused.p99)}"
    )
    if group.tier_for_p99.bytes.value is None:
        return waiting
    return (
        f"{waiting}, with {_gigabytes_interval(group.tier_for_p99.bytes)}: "
        f"{times(group.tier_for_p99.times_pool)} times the pool. "
        f"Had each pause lasted the median, {usual}: {gigabytes(group.if_median.bytes.p99.value)}"
    )


def _paused(groups: Sequence[OccupancyGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        *_labels(),
        Column("pauses"),
        Column("sessions"),
        Column("devel-\nopers"),
        Column("paused at once,\nmean", "left"),
        Column("half the time\nat most", "left"),
        Column("99 % of the\ntime at most", "left"),
    )
    rows = tuple(
        (
            *_names(g),
            count(g.n),
            count(g.n_sessions),
            count(g.n_developers),
            agents_interval(g.paused.mean),
            agents_interval(g.paused.p50),
            agents_interval(g.paused.p99),
        )
        for g in groups
    )
    notes = [*group_notes(groups), "tool: a tool runs; human: a person is waited for; all: either"]
    method = headline_method([g.paused.mean for g in groups])
    return Table(title, columns, rows, tuple(caption), (*([method] if method else []), *notes))


def _held(groups: Sequence[OccupancyGroup], title: str) -> Table:
    columns = (
        *_labels(),
        Column("mean", "left"),
        Column("half the time\nat most", "left"),
        Column("99 % of the time\nat most", "left"),
    )
    rows = tuple(
        (
            *_names(g),
            _tokens_interval(g.tokens.mean),
            _tokens_interval(g.tokens.p50),
            _tokens_interval(g.tokens.p99),
        )
        for g in groups
    )
    worst = max((g.grid_error or 0.0) for g in groups)
    notes = () if worst == 0 else (f"computed on a grid that moves them by {percent(worst)} of the 99 % point at most",)
    return Table(title, columns, rows, (), notes)


def _tier(groups: Sequence[OccupancyGroup], result: OccupancyResult, title: str) -> Table:
    columns = (
        *_labels(),
        Column("size", "left"),
        Column("times the pool", "left"),
        Column("beyond the pool", "left"),
    )
    rows = tuple(
        (
            *_names(g),
            _gigabytes_interval(g.tier_for_p99.bytes),
            times(g.tier_for_p99.times_pool),
            _gigabytes_interval(g.tier_for_p99.excess),
        )
        for g in groups
    )
    pool = gigabytes(result.pool_tokens * result.kv_bytes_per_token)
    return Table(title, columns, rows, (), (f"beyond the pool: what does not fit its {pool}, 99 % of the time",))


def _tail(groups: Sequence[OccupancyGroup], head: Head) -> list[Table]:
    columns = (
        *_labels(),
        Column("as recorded", "left"),
        Column("if median", "left"),
        Column("if mean", "left"),
        Column("nobody\nwaited for", "left"),
    )

    def row(group: OccupancyGroup, write: Callable[[OccupancyGroup | HeldCache], str]) -> tuple[str, ...]:
        others = (group.if_median, group.if_mean, group.without_human)
        return (*_names(group), write(group), *(MISSING if held is None else write(held) for held in others))

    paused = tuple(row(g, lambda held: agents_interval(held.paused.mean)) for g in groups)
    size = tuple(row(g, lambda held: _whole_gigabytes(held.bytes.p99)) for g in groups)
    method = headline_method([g.if_median.paused.mean for g in groups])
    return [
        Table(titled("What the tail does: paused at once, mean", head), columns, paused),
        Table(
            titled("What the tail does: GB held, 99 % of the time at most", head),
            columns,
            size,
            (),
            (
                COMPARED,
                "nobody waited for: sessions without their waits for a person, as --human-gap drop has them",
                *([f"if median, if mean: {method.partition(';')[0]}"] if method else []),
            ),
        ),
    ]


def _whole_gigabytes(item: Interval) -> str:
    """Write bytes in units of 10^9 without the unit, which stands in the title."""
    return _interval(item, lambda x: f"{x / 1e9:,.0f}" if x >= 9.95e9 else f"{x / 1e9:.1f}")


def _classes(groups: Sequence[OccupancyGroup], head: Head) -> list[Table]:
    tables = []
    for g in [g for g in groups if g.key["rows"] == "tool" and g.by_class][:_CLASSES]:
        columns = (
            Column("tool class", "left", "shorten"),
            Column("pauses"),
            Column("of the time\npaused", "left"),
            Column("of the\ntokens"),
            Column("paused\nmean"),
            Column("99 %"),
            Column("tokens\nmean"),
            Column("99 %"),
        )
        rows = tuple(_class_row(item) for item in g.by_class)
        title = titled(f"By tool class, {in_words(g)}", head)
        notes = ("means add up to those of all classes; the 99 % points, each of the class alone, do not",)
        tables.append(Table(title, columns, rows, (), notes))
    return tables


def _class_row(item: HeldByClass) -> tuple[str, ...]:
    return (
        "(none)" if item.tool_class is None else plain(item.tool_class),
        count(item.n),
        percent_interval(item.share),
        percent(item.share_of_tokens),
        _agents(item.paused["mean"]),
        _agents(item.paused["p99"]),
        tokens(item.tokens["mean"]),
        tokens(item.tokens["p99"]),
    )


def _bursts(groups: Sequence[OccupancyGroup], title: str) -> Table:
    windows = groups[0].bursts
    columns = (*_labels(), *(Column(f"within {b.window:g} s", "left") for b in windows))
    rows = tuple((*_names(g), *(times(b.ratio) for b in g.bursts)) for g in groups)
    notes = [
        "variance over mean of the number of returns: 1 were they independent of each other (Poisson), above it they "
        "come in bursts; the same for any number of independent agents"
    ]
    for g in groups:
        near = g.neighbours
        if near is not None:
            notes.append(
                f"{in_words(g)}: successive ln tool pauses correlate by {times(near.raw)}; less their class means by "
                f"{times(near.without_class)}, of which {times(near.same_session)} is the session (any two of its "
                f"pauses) and {times(near.order)} being next to each other"
            )
    return Table(title, columns, rows, (), tuple(notes))
