"""The tables of ``residual``: how much longer after each elapsed time, and how far its mean can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import by_words, group_notes, headline_method, made, name_of, titled, units_of
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, count, counted, percent, seconds, seconds_interval, shorten
from tracestat.results import Head, Interval, ResidualGroup, ResidualPoint, ResidualResult

__all__ = ["beside", "length_words", "residual_tables", "waited"]

_FEW = 4
_LONGEST = 36
_TIMES = 3
_MEAN_ALONE = "median and 90 % are the firm statements: a mean of such times hangs on its longest rows"
_UNSTABLE = "mean unstable: Hill index below 1.2, or the longest 1 % of rows hold over 40 % of the remaining time"


def waited(elapsed: float) -> str:
    """Write an elapsed time as the user gives it.

    Examples
    --------
    >>> waited(146.0), waited(0.01)
    ('146 s', '0.01 s')
    """
    return f"{elapsed:,.10g} s"


def beside(groups: Sequence[ResidualGroup]) -> tuple[list[ResidualGroup], int]:
    """Put tool rows and all rows of a key beside each other.

    Parameters
    ----------
    groups : sequence of ResidualGroup

    Returns
    -------
    shown : list of ResidualGroup
        Keys in the order of their first group, tool rows first; all rows only where there are more of them.
    same : int
        Groups of all rows left out, since they are the tool rows.
    """
    keys: dict[str, list[ResidualGroup]] = {}
    for group in groups:
        keys.setdefault(repr([item for item in group.key.items() if item[0] != "rows"]), []).append(group)
    shown, same = [], 0
    for some in keys.values():
        some.sort(key=lambda group: group.key["rows"] != "tool")
        distinct = [group for i, group in enumerate(some) if i == 0 or group.n != some[0].n]
        same += len(some) - len(distinct)
        shown += [group for group in distinct if group.n or len(distinct) == 1]
    return shown, same


def residual_tables(result: ResidualResult, groups: Sequence[ResidualGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Residual life of {units_of(head)}, {by_words(head)}", head)
    shown, same = beside(groups)
    caption = [*made(head), *([cut] if cut else [])]
    if not shown:
        return [Table(title, caption=(*caption, "no groups: nothing is left to count"), notes=head.notes)]
    if same:
        caption.append(f"all rows are the tool rows in {counted(same, 'group')}, shown once")
    tables = [_counts(shown, title, caption)]
    rest: tuple[str, ...] = ()
    if len(shown) <= _FEW:
        tables += [_group(g, titled(f"Remaining time after a wait of t, {_named(g)}", head)) for g in shown if g.at]
        tables.append(_tails(shown, titled("How far the mean can be trusted", head)))
    else:
        tables += _landmarks(shown, head)
        rest = (f"every elapsed time: --where or --top {_FEW} (or --json)",)
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *rest, *head.notes))
    return tables


def _named(group: ResidualGroup) -> str:
    """Give the name of a group for a title: its key, then which rows."""
    name = shorten(name_of(group, without="rows"), _LONGEST) if len(group.key) > 1 else ""
    return ", ".join([*([name] if name else []), f"{group.key['rows']} rows"])


def _counts(groups: Sequence[ResidualGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("rows"),
        Column("ended"),
        Column("censored"),
        Column("sessions"),
        Column("developers"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n),
            count(g.n_events),
            count(g.n_censored),
            count(g.n_sessions),
            count(g.n_developers),
        )
        for g in groups
    )
    return Table(title, columns, rows, tuple(caption), tuple(group_notes(groups)))


def _cell(point: ResidualPoint, item: Interval) -> str:
    """Write an estimate; in brackets where it describes only a few sessions."""
    text = seconds_interval(item)
    return f"({text})" if point.few_sessions and text != MISSING else text


def _group(group: ResidualGroup, title: str) -> Table:
    columns = (
        Column("t"),
        Column("rows"),
        Column("sessions"),
        Column(f"mean within {length_words(group.window)}", "left"),
        Column("median", "left"),
        Column("90 %", "left"),
    )
    rows = tuple(
        (
            waited(p.elapsed),
            count(p.n_at_risk),
            count(p.sessions_at_risk) if p.sessions_at_risk or not p.n_at_risk else MISSING,
            _cell(p, p.mean),
            _cell(p, p.median),
            _cell(p, p.p90),
        )
        for p in group.at
    )
    method = headline_method([item for p in group.at for item in (p.mean, p.median, p.p90)])
    return Table(title, columns, rows, (), (method,) if method else ())


def length_words(window: float) -> str:
    """Write a window in the unit in which it is round.

    Examples
    --------
    >>> length_words(3600.0), length_words(90.0)
    ('1 h', '90 s')
    """
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if window >= size and window % size == 0:
            return f"{window / size:,.0f} {unit}"
    return f"{window:,g} s"


def _tails(groups: Sequence[ResidualGroup], title: str) -> Table:
    columns = (
        label_column(),
        Column("t"),
        Column("outlast\nwindow"),
        Column("mean without\nwindow"),
        Column("Hill\nindex"),
        Column("longest 1 %\nhold"),
        Column("", "left"),
    )
    rows = []
    left_out = 0
    for group in groups:
        for place, point in enumerate(p for p in group.at if p.mean.value is not None):
            left_out = max(left_out, point.censored_at_risk)
            rows.append(
                (
                    name_of(group) if place == 0 else "",
                    waited(point.elapsed),
                    percent(point.beyond_window),
                    seconds(point.unrestricted),
                    MISSING if point.hill is None else f"{point.hill:.2f}",
                    percent(point.top_share),
                    "mean unstable" if point.tail_flag else "",
                )
            )
    notes = ["mean without window: as published means are, ruled by the longest rows, so compare it but do not use it"]
    if left_out:
        notes[0] += f"; over the rows that were seen to end (up to {count(left_out)} were not)"
    notes += [_UNSTABLE, _MEAN_ALONE] if any(row[-1] for row in rows) else []
    return Table(title, columns if rows else (), tuple(rows), (), tuple(notes) if rows else ("too few rows",))


def _landmarks(groups: Sequence[ResidualGroup], head: Head) -> list[Table]:
    """Give a table per quantity, a row per group, at up to three elapsed times."""
    known = [sum(p.median.value is not None for p in points) for points in zip(*(g.at for g in groups), strict=True)]
    times = [p.elapsed for p in groups[0].at]
    most = [t for t, n in zip(times, known, strict=True) if 2 * n >= len(groups)] or times
    shown = list(dict.fromkeys(most[round(i * (len(most) - 1) / (_TIMES - 1))] for i in range(_TIMES)))
    window = length_words(groups[0].window)
    tables = []
    for name, words in (("median", "Median"), ("p90", "90 % point"), ("mean", f"Mean within {window}")):
        columns = (label_column(), *(Column(f"t = {waited(t)}", "left") for t in shown))
        at = [{p.elapsed: p for p in group.at} for group in groups]
        rows = tuple(
            (name_of(g), *(_cell(points[t], getattr(points[t], name)) for t in shown))
            for g, points in zip(groups, at, strict=True)
        )
        tables.append(Table(titled(f"{words} of the remaining time after a wait of t", head), columns, rows))
    items = [item for g in groups for p in g.at for item in (p.mean, p.median, p.p90)]
    method = headline_method(items)
    last = tables[-1]
    flagged = sum(any(p.tail_flag and p.elapsed in shown for p in g.at) for g in groups)
    notes = [f"the mean is unstable in {counted(flagged, 'group')}: {_MEAN_ALONE}"] if flagged else []
    tables[-1] = Table(last.title, last.columns, last.rows, (), (*((method,) if method else ()), *notes))
    return tables
