"""The tables of ``fit``: which law fits best and where each holds, and its parameters."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import (
    both_clusterings,
    by_words,
    group_notes,
    headline_method,
    in_words,
    made,
    name_of,
    titled,
    units_of,
)
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, bounds, count, per_second, seconds, slope, span
from tracestat.results import FitGroup, FitResult, Interval, LawFit
from tracestat.results.fit import FAMILY_WORDS

__all__ = ["fit_tables", "law_range", "law_time"]

_FEW = 3
_PARAMETERS = {
    "scale_seconds": "scale",
    "median_seconds": "median",
    "shape": "shape",
    "sigma": "sigma",
    "lambda": "lambda",
}
_HOLDS = (
    "tested: bins with 30 events or more, of two clusters or more; holds: widest row of 5 or more of them in which the "
    "events seen, over those the law expects of the rows at risk, differ from 1 by no more than the clustered band "
    "(95 %, all bins together); deadlines are kept"
)
_WITHIN = "within: nowhere in that range is the hazard off by more than this factor (95 %, simultaneous)"
_TOLD_APART = "AIC over best: where the interval holds 0, the data do not tell that law from the best one"
_WORST = "worst: events seen over expected where it is furthest off"
_REFERENCE = "piecewise, the reference: hazard constant within each bin; its factor is what the data can tell at best"


def law_time(value: float) -> str:
    """Write a time on the log grid, which begins at a few milliseconds.

    Examples
    --------
    >>> law_time(0.0055), law_time(3.1485)
    ('5.5 ms', '3.1 s')
    """
    return f"{1000 * value:.2g} ms" if value < 0.0995 else seconds(value)


def law_range(pair: tuple[float, float] | None) -> str:
    """Write a range of times.

    Examples
    --------
    >>> law_range((0.0055, 3.1485)), law_range(None)
    ('5.5 ms to 3.1 s', '-')
    """
    if pair is None:
        return MISSING
    low, high = pair
    return span(low, high) if low >= 0.0995 else f"{law_time(low)} to {law_time(high)}"


def fit_tables(result: FitResult, groups: Sequence[FitGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups."""
    head = result.head
    title = titled(f"Laws of {units_of(head)}, {by_words(head)}", head)
    caption = (*made(head), *([cut] if cut else []))
    if not groups:
        return [Table(title, caption=(*caption, "no groups: nothing is left to count"), notes=head.notes)]
    tables = [_counts(groups, title, caption)]
    fitted = [group for group in groups if group.laws]
    if len(fitted) <= _FEW:
        for group in fitted:
            tables.append(_laws(group, titled(f"Where laws hold, {in_words(group)}", head)))
            tables.append(_parameters(group, titled(f"Parameters, {in_words(group)}", head)))
        rest: tuple[str, ...] = ()
    else:
        tables.append(_overview(fitted, titled("The law that fits best", head)))
        rest = (f"all laws and parameters: --top {_FEW} (or --where, --json, -o)",)
    explained: tuple[str, ...] = ()
    if fitted:
        explained = (_HOLDS, f"{_WITHIN}; {_WORST}", _REFERENCE) if len(fitted) <= _FEW else (_HOLDS, _WITHIN)
    if any(law.behind.low is not None for group in fitted for law in group.laws):
        explained = (_TOLD_APART, *explained)
    last = tables[-1]
    notes = (*last.notes, *explained, *rest, *head.notes)
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, notes)
    return tables


def _counts(groups: Sequence[FitGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("rows"),
        Column(f"above\n{law_time(groups[0].above)}"),
        Column("sessions"),
        Column("developers"),
        Column("best law", "left"),
        Column("tested", "left"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n),
            count(g.n_fitted),
            count(g.n_sessions),
            count(g.n_developers),
            FAMILY_WORDS[g.best.family] if g.best else MISSING,
            law_range(g.tested),
        )
        for g in groups
    )
    return Table(title, columns, rows, tuple(caption), tuple(group_notes(groups)))


def _laws(group: FitGroup, title: str) -> Table:
    columns = (
        label_column(),
        Column("AIC over best", "left"),
        Column("holds", "left"),
        Column("within"),
        Column("worst", "left"),
    )
    rows = tuple(
        (
            FAMILY_WORDS[law.family],
            _behind(law),
            law_range(law.range),
            MISSING if law.within_factor is None else f"x {per_second(law.within_factor, 2)}",
            MISSING if law.family == "piecewise" else _worst(law),
        )
        for law in group.laws
    )
    method = headline_method([law.behind for law in group.laws])
    return Table(title, columns, rows, (), (method,) if method else ())


def _worst(law: LawFit) -> str:
    if law.worst is None or law.worst_at is None:
        return MISSING
    low, high = law.worst_at
    return f"{per_second(law.worst, 2)} at {law_time(float((low * high) ** 0.5))}"


def _behind(law: LawFit) -> str:
    item = law.behind
    if law.best:
        return "best"
    if item.value is None:
        return MISSING
    value = _whole(item.value)
    return value if item.low is None else f"{value} {bounds((item.low, item.high), _whole)}"


def _whole(value: float) -> str:
    return f"{value:,.0f}".replace("-0", "0") if abs(value) < 0.5 else f"{value:,.0f}"


def _parameters(group: FitGroup, title: str) -> Table:
    columns = (
        label_column(),
        Column("parameter", "left"),
        Column("value"),
        Column("by session", "left"),
        Column("by developer", "left"),
    )
    rows, items = [], []
    for law in group.laws:
        if law.family == "piecewise":
            continue
        for place, (name, item) in enumerate(law.parameters.items()):
            first = FAMILY_WORDS[law.family] if place == 0 else ""
            rows.append((first, _PARAMETERS[name], _value(name, item.value), *_bounds(name, item)))
            items.append(item)
    method = both_clusterings(items)
    more = "hazards of the piecewise law: tracestat hazard, --json or -o"
    return Table(title, columns, tuple(rows), (), (*((method,) if method else ()), more))


def _value(name: str, value: float | None) -> str:
    if value is None:
        return MISSING
    if not name.endswith("_seconds"):
        # bounds of few clusters lie anywhere: three decimals would be a row of noughts, or of digits
        return slope(value) if name == "lambda" or 0.0995 <= value < 9.995 else per_second(value)
    return law_time(value) if value >= 1e-4 else f"{per_second(value, 2)} s"


def _bounds(name: str, item: Interval) -> tuple[str, str]:
    def write(value: float) -> str:
        return _value(name, value)

    return bounds(item.session, write), bounds(item.developer, write)


def _overview(groups: Sequence[FitGroup], title: str) -> Table:
    columns = (
        label_column(),
        Column("best law", "left"),
        Column("holds", "left"),
        Column("within"),
        Column("next", "left"),
        Column("AIC over\nbest", "left"),
    )
    rows, items = [], []
    for group in groups:
        ranked = sorted(
            (law for law in group.laws if law.aic is not None and law.family != "piecewise"),
            key=lambda law: (not law.best, law.aic or 0.0),
        )
        if not ranked:
            continue
        best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
        items.append(second.behind if second else None)
        rows.append(
            (
                name_of(group),
                FAMILY_WORDS[best.family],
                law_range(best.range),
                MISSING if best.within_factor is None else f"x {per_second(best.within_factor, 2)}",
                FAMILY_WORDS[second.family] if second else MISSING,
                _behind(second) if second else MISSING,
            )
        )
    method = headline_method(items)
    return Table(title, columns, tuple(rows), (), (method,) if method else ())
