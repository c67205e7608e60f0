"""The tables of ``summary --section``: each figure by TraceLab's rules and by ours, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracestat.charts.captions import (
    by_words,
    group_notes,
    headline_method,
    in_words,
    left_out,
    titled,
)
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    MISSING,
    amount,
    bounds,
    count,
    counted,
    percent_interval,
    plain,
    seconds,
    seconds_interval,
)
from tracestat.results import Head, Interval, SectionFigure, SectionGroup, SectionResult, TimeoutSweep

__all__ = [
    "MORE",
    "cache_tables",
    "commands_tables",
    "number_interval",
    "section_caption",
    "sessions_tables",
    "written",
]

Groups = Sequence[SectionGroup]
# title of a table, and the figures in it, by the begin of their names
_SESSIONS: Mapping[str, tuple[str, ...]] = {
    "Where the time goes": (
        "time_share",
        "request_share",
        "session_hours",
        "human_hours",
        "generation_hours",
        "request_hours",
    ),
    "How long": (
        *("session_seconds", "human_seconds_per_session", "request_seconds", "generation_seconds."),
        *("generation_seconds_per_step", "tool_seconds_per_step", "tool_call_seconds"),
    ),
    "Waits for a person": ("human_wait", "human_waits", "sessions.without_wait"),
    "How many": (
        *(
            "requests",
            "steps",
            "tool_calls",
            "compactions",
            "steps_per",
            "tool_steps_per",
            "user_steps_per",
            "calls_per",
        ),
        *("sessions.multiround", "sessions.compacted", "compactions_per", "sessions.most"),
    ),
}
_CACHE = {
    "Prefix cache": ("hit_rate", "fresh_share", "amplification", "saved"),
    "Idle time, and tokens of a step": ("idle_", "prefix_tokens", "append_tokens.", "output_tokens"),
}
_COMMANDS = {"Shell calls": ("executables", "skeletons.", "single.")}
_MOST_EXECUTABLES = 15
MORE = (
    "more than 100 %: by TraceLab's rules parts may overlap, and where several developers have one session_id its "
    "steps go back in time, so that the same time is waited again"
)


def section_caption(head: Head) -> list[str]:
    """Say how a section was made."""
    lines = [f"{by_words(head)} and all; {left_out(head)}" if head.by else f"{by_words(head)}; {left_out(head)}"]
    limits = [f"where {plain(head.where)}"] if head.where else []
    limits += [f"since {plain(head.since)}"] if head.since else []
    limits += [f"until {plain(head.until)}"] if head.until else []
    if limits:
        zone = [f"times in {plain(head.zone)}"] if head.since or head.until else []
        lines.append("; ".join([*limits, *zone]))
    trace = head.trace
    lines.append(
        f"trace {plain(trace.path)}: {counted(trace.rounds, 'round')}, {counted(trace.tool_calls, 'call')}, "
        f"{counted(trace.rejected, 'line')} rejected"
    )
    return lines


def number_interval(item: Interval | None) -> str:
    """Write a count or a ratio with its interval.

    Examples
    --------
    >>> [number_interval(item) for item in (Interval(6.017, 3.83, 8.2), Interval(29_916.0), Interval(None))]
    ['6.0 [3.8, 8.2]', '29,916', '-']
    """
    if item is None or item.value is None:
        return MISSING
    pair = (item.low, item.high)
    if pair == (None, None) and float(item.value).is_integer() and item.value < 1e8:
        return f"{item.value:,.0f}"
    text = _number(item.value)
    return text if pair == (None, None) else f"{text} {bounds(pair, _number)}"


def _number(value: float) -> str:
    if abs(value) >= 1e4:
        return amount(value).replace(" ", "")
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 2 else f"{value:.2f}"


def _bare_percent(item: Interval) -> str:
    """Write a share in percent, whose sign stands in the header."""
    return percent_interval(item).replace(" %", "")


def _hours(item: Interval) -> str:
    return MISSING if item.value is None else seconds(3600 * item.value)


_WRITE: Mapping[str, Callable[[Interval], str]] = {
    "share": percent_interval,
    "seconds": seconds_interval,
    "hours": _hours,
}


def written(item: Interval, unit: str) -> str:
    """Write an estimate of one of the units of a section."""
    return _WRITE.get(unit, number_interval)(item)


def sessions_tables(result: SectionResult, groups: Groups, cut: str | None) -> list[Table]:
    """Give the tables of section sessions."""
    return _tables(result, groups, cut, "Sessions", _SESSIONS)


def cache_tables(result: SectionResult, groups: Groups, cut: str | None) -> list[Table]:
    """Give the tables of section cache: hits, idle times, and the time-out sweep."""
    return _tables(result, groups, cut, "Prefix cache", _CACHE, _sweeps)


def commands_tables(result: SectionResult, groups: Groups, cut: str | None) -> list[Table]:
    """Give the tables of section commands: what runs, how long, and two clocks."""
    return _tables(result, groups, cut, "Commands", _COMMANDS, _executables)


def _tables(
    result: SectionResult,
    groups: Groups,
    cut: str | None,
    title: str,
    themes: Mapping[str, tuple[str, ...]],
    more: Callable[[Head, SectionGroup], list[Table]] | None = None,
) -> list[Table]:
    head = result.head
    whole = titled(f"{title} by TraceLab's rules and by ours", head)
    caption = (*section_caption(head), *([cut] if cut else []))
    if not groups:
        return [Table(whole, caption=(*caption, "no sessions: nothing is left to count"), notes=head.notes)]
    tables = [Table(whole, caption=caption)]
    for group in groups:
        made = [_theme(head, group, theme, starts) for theme, starts in themes.items()]
        tables += [table for table in made if table is not None]
        tables += more(head, group) if more else []
    method = headline_method(
        item for group in groups for figure in group.figures for item in (figure.tracelab, figure.tracestat)
    )
    last = tables[-1]
    notes = (*last.notes, *([method] if method else []), *group_notes(groups), *head.notes)
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, notes)
    return tables


def _theme(head: Head, group: SectionGroup, theme: str, starts: tuple[str, ...]) -> Table | None:
    figures = [figure for figure in group.figures if figure.name.startswith(starts)]
    if not figures:
        return None
    columns = (Column("", "left", "wrap"), Column("TraceLab's rules", "left"), Column("ours", "left"))
    rows = tuple(
        (figure.what, written(figure.tracelab, figure.unit), written(figure.tracestat, figure.unit))
        for figure in sorted(figures, key=lambda found: _place(found, starts))
    )
    size = f"{counted(group.n_sessions, 'session')}, {counted(group.n_developers, 'developer')}"
    more = any(figure.unit == "share" and (figure.tracelab.value or 0.0) > 1.0 for figure in figures)
    return Table(titled(f"{theme}, {in_words(group)}: {size}", head), columns, rows, notes=(MORE,) if more else ())


def _place(figure: SectionFigure, starts: tuple[str, ...]) -> int:
    return next(place for place, start in enumerate(starts) if figure.name.startswith(start))


def _sweeps(head: Head, group: SectionGroup) -> list[Table]:
    return [_sweep(head, group, sweep) for sweep in group.sweeps if sweep.n_steps]


def _sweep(head: Head, group: SectionGroup, sweep: TimeoutSweep) -> Table:
    rules = "TraceLab's rules" if sweep.rule == "tracelab" else "our rules"
    title = titled(f"If a prefix were evicted after a time-out, {in_words(group)}, {rules}", head)
    columns = (
        Column("time-out"),
        Column("hit rate, %", "left"),
        Column("storage", "left"),
        Column("prefilled\nper fresh", "left"),
        Column("time that\ngenerates, %", "left"),
    )
    rows = [
        (
            seconds(point.timeout_seconds),
            _bare_percent(point.hit_rate),
            number_interval(point.storage_ratio),
            number_interval(point.amplification),
            _bare_percent(point.active_ratio),
        )
        for point in sweep.points
    ]
    rows.append(
        ("never", _bare_percent(sweep.optimal_hit_rate), MISSING, "1", MISSING),
    )
    rows.append(
        (
            "deployed",
            _bare_percent(sweep.deployed_hit_rate),
            MISSING,
            number_interval(sweep.deployed_amplification),
            MISSING,
        )
    )
    found = sweep.effective_timeout
    worth = f"deployed: as logged, like a time-out of {seconds_interval(found)}" if found.value is not None else ""
    notes = [f"{counted(sweep.n_steps, 'step')} with a step before them and a known time between"]
    return Table(title, columns, tuple(rows), (), tuple(([worth] if worth else []) + notes))


def _executables(head: Head, group: SectionGroup) -> list[Table]:
    tables = []
    figures = {(figure.name, figure.item): figure for figure in group.figures}
    names = [figure.item for figure in group.figures if figure.name == "command_seconds.p50"]
    shown = names[:_MOST_EXECUTABLES]
    columns = (
        label_column("exec-\nutable"),
        Column("calls"),
        Column("call, half", "left"),
        Column("command, half", "left"),
        Column("command, 90 %", "left"),
    )
    for rule, words in (("tracelab", "TraceLab's rules"), ("tracestat", "our rules")):
        rows = []
        for name in shown:
            one = [
                figures.get((part, name)) for part in ("call_seconds.p50", "command_seconds.p50", "command_seconds.p90")
            ]
            n = max((getattr(part, f"n_{rule}") for part in one if part is not None), default=0)
            cells = [MISSING if part is None else seconds_interval(getattr(part, rule)) for part in one]
            if n:
                rows.append((plain(name or "all"), count(n), *cells))
        if rows:
            title = titled(f"Calls of one executable, {in_words(group)}, {words}", head)
            notes = (
                (f"{len(shown)} of {len(names)} executables; --json and -o give all",)
                if len(shown) < len(names)
                else ()
            )
            tables.append(Table(title, columns, tuple(rows), (), notes))
    return [*tables, *_residual(head, group, figures)]


def _residual(head: Head, group: SectionGroup, figures: Mapping[tuple[str, str | None], SectionFigure]) -> list[Table]:
    items = [figure.item for figure in group.figures if figure.name == "residual.calls"]
    columns = (
        label_column("tool"),
        Column("calls"),
        Column("wall"),
        Column("reported"),
        Column("not\nreported, %", "left"),
        Column("of a call, half", "left"),
    )
    tables = []
    for rule, words in (("tracelab", "TraceLab's rules: Codex"), ("tracestat", "our rules")):

        def of(name: str, item: str | None, rule: str = rule) -> Interval:
            found = figures.get((name, item))
            return Interval(None) if found is None else getattr(found, rule)

        rows = tuple(
            (
                plain(item or "all"),
                number_interval(of("residual.calls", item)),
                _hours(of("residual.wall_hours", item)),
                _hours(of("residual.internal_hours", item)),
                _bare_percent(of("residual.share", item)),
                seconds_interval(of("residual_seconds.p50", item)),
            )
            for item in items
            if of("residual.calls", item).value
        )
        if rows:
            tables.append(
                Table(
                    titled(f"Wall clock less what the runner reports, {in_words(group)}, {words}", head), columns, rows
                )
            )
    return tables
