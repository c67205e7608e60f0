"""The tables of ``survival``: quantiles of every group, and the curve itself where groups are few."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracestat.charts.captions import (
    both_clusterings,
    by_words,
    group_notes,
    headline_method,
    in_words,
    made,
    name_of,
    shown_quantiles,
    titled,
    units_of,
)
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    MISSING,
    bounds,
    count,
    percent,
    percent_interval,
    seconds,
    seconds_interval,
)
from tracestat.results import CurvePoint, SurvivalGroup, SurvivalResult

__all__ = ["survival_tables"]

_FEW = 3
_MOST_POINTS = 24
_LANDMARKS = (1.0, 10.0, 60.0)


def survival_tables(result: SurvivalResult, groups: Sequence[SurvivalGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Survival of {units_of(head)}, {by_words(head)}", head)
    caption = (*made(head), *([cut] if cut else []))
    if not groups:
        return [Table(title, caption=(*caption, "no groups: nothing is left to count"), notes=head.notes)]
    tables = [_counts(groups, title, caption), _quantiles(groups, titled("Time by which a share has ended", head))]
    if len(groups) <= _FEW:
        tables += [_curve(g, titled(f"Share that lasts longer than t, {in_words(g)}", head)) for g in groups if g.curve]
        rest: tuple[str, ...] = ()
    else:
        tables.append(_landmarks(groups, titled("Share that lasts longer than t", head)))
        rest = (f"whole curves: --top {_FEW} (or --where, --json)",)
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *rest, *head.notes))
    return tables


def _counts(groups: Sequence[SurvivalGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("rows"),
        Column("ended"),
        Column("censored"),
        Column("sessions"),
        Column("developers"),
        Column("last end"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n),
            count(g.n_events),
            count(g.n_censored),
            count(g.n_sessions),
            count(g.n_developers),
            seconds(g.last_observed),
        )
        for g in groups
    )
    return Table(title, columns, rows, tuple(caption), tuple(group_notes(groups)))


def _quantiles(groups: Sequence[SurvivalGroup], title: str) -> Table:
    names = shown_quantiles(group.quantiles for group in groups)
    columns = (
        label_column(),
        *(Column("half" if float(name) == 0.5 else f"{100 * float(name):g} %", "left") for name in names),
    )
    rows = tuple((name_of(g), *(seconds_interval(g.quantiles.get(name)) for name in names)) for g in groups)
    method = headline_method([g.quantiles.get(name) for g in groups for name in names])
    return Table(title, columns, rows, (), (method,) if method else ())


def _curve(group: SurvivalGroup, title: str) -> Table:
    columns = (
        Column("t"),
        Column("share"),
        Column("by session", "left"),
        Column("by developer", "left"),
        Column("at risk"),
    )
    points = _thinned(group.curve)
    rows = []
    for point in points:
        item = point.S
        pairs = (item.session, item.developer)
        if pairs == (None, None):
            only = (item.low, item.high)
            pairs = (None, only) if item.method.startswith("developer") else (only, None)
        shown = [bounds(pair, lambda x: percent(x).removesuffix(" %")) for pair in pairs]
        rows.append((seconds(point.t), percent(item.value), *shown, count(point.at_risk)))
    method = both_clusterings([point.S for point in group.curve])
    notes = [method] if method else []
    if len(points) < len(group.curve):
        notes.append(f"{len(points)} of {len(group.curve)} times; --json and -o give all")
    return Table(title, columns, tuple(rows), (), tuple(notes))


def _thinned(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Take evenly from a long curve, its first and last point among them."""
    if len(curve) <= _MOST_POINTS:
        return list(curve)
    step = (len(curve) - 1) / (_MOST_POINTS - 1)
    return [curve[round(i * step)] for i in range(_MOST_POINTS)]


def _landmarks(groups: Sequence[SurvivalGroup], title: str) -> Table:
    times = sorted({point.t for group in groups for point in group.curve if point.t > 0})
    shown = list(dict.fromkeys(_nearest(times, mark) for mark in _LANDMARKS)) if times else []
    columns = (label_column(), *(Column(f"t = {seconds(t)}", "left") for t in shown))
    at = [{point.t: point.S for point in group.curve} for group in groups]
    rows = tuple(
        (name_of(g), *(percent_interval(points.get(t)) if t in points else MISSING for t in shown))
        for g, points in zip(groups, at, strict=True)
    )
    method = headline_method([point.S for group in groups for point in group.curve])
    return Table(title, columns, rows, (), (method,) if method else ())


def _nearest(times: Sequence[float], mark: float) -> float:
    """Give the time nearest to a mark on a log scale; the curve is known at its own times only."""
    return min(times, key=lambda t: abs(math.log(t / mark)))
