"""The chart of ``memoryfulness``: the law of the number of rounds, beside the geometric one that would make eta 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, in_words, name_of, titled
from tracestat.charts.style import (
    COLORS,
    INK,
    column_width,
    finished,
    heading,
    message,
    panel_title,
    rows_of,
    wrapped,
)
from tracestat.charts.table_memoryfulness import how_made, sentence, units_differ
from tracestat.charts.words import count, counted, percent_interval, plain
from tracestat.results import MemoryfulnessGroup, MemoryfulnessResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_memoryfulness", "geometric_reference"]

_MOST = 6
_WIDTH, _HEIGHT = 380, 260
_STEPS = 60
_TICKS = [m * 10**k for k in range(6) for m in (1, 2, 5)]
_TIPS = (("turns", "rounds, at least"), ("share", "share of programs"), ("n", "programs"))


def draw_memoryfulness(result: MemoryfulnessResult) -> alt.TopLevelMixin:
    """Draw the survival of the number of rounds, a panel per group and unit, on common axes.

    Parameters
    ----------
    result : MemoryfulnessResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    usable = [group for group in result.groups if group.law]
    groups, _ = arrange(usable, "n", _MOST)
    title = f"How many rounds programs have, {by_words(head)}"
    lines = how_made(head)
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most programs, of {count(len(usable))}")
    if not groups:
        reasons = sorted({plain(note) for group in result.groups for note in group.notes})
        text = f"no rounds to draw: {'; '.join(reasons) or 'nothing is left to count'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    bands = clustered((in_words(group), point.share) for group in groups for point in group.law)
    lines += [
        f"dots: share of the finished programs with at least so many rounds{f', {bands}' if bands else ''}; dashed: "
        "the geometric law of the same mean, with which progress would tell nothing (eta 0)",
        "a law that falls faster than the dashed line at its end has eta above 0, one that falls slower below 0",
        *units_differ(groups),
        *head.notes,
    ]
    domains = _domains(groups)
    told = [_told(group) for group in groups]
    tall = [len(wrapped(each, column_width(_WIDTH))) for each in told]
    panels = [
        _panel(
            group,
            domains,
            panel_title(
                titled(name_of(group), head), told[place], _WIDTH, rows=max(tall[place // 2 * 2 : place // 2 * 2 + 2])
            ),
        )
        for place, group in enumerate(groups)
    ]
    chart = alt.concat(*panels, columns=2, spacing=34)
    return finished(chart, heading(title, lines, head, 2 * _WIDTH + 80 if len(groups) > 1 else _WIDTH + 180))


def geometric_reference(group: MemoryfulnessGroup, most: int) -> list[tuple[float, float]]:
    """Give the share of at least n rounds of the geometric law with the mean of the group, up to ``most`` rounds.

    The law starts at 1 round; P(N >= n) = (1 - 1 / mean)^(n - 1).
    """
    mean = group.turns.mean
    if mean is None or mean <= 1:
        return []
    log_stay = math.log1p(-1 / mean)
    steps = [most ** (k / _STEPS) for k in range(_STEPS + 1)]
    return [(n, math.exp((n - 1) * log_stay)) for n in steps]


def _domains(groups: Sequence[MemoryfulnessGroup]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Give the common axes: all numbers of rounds, and all shares that are not 0."""
    most = max(point.turns for group in groups for point in group.law)
    least = min(point.share.value or 1.0 for group in groups for point in group.law)
    return (1.0, max(1.1 * most, 2.0)), (min(least / 2, 0.5), 1.0)


def _told(group: MemoryfulnessGroup) -> list[str]:
    turns = group.turns
    lines = [
        f"{counted(group.n_programs, 'program')} of {counted(group.n_sessions, 'session')}, "
        f"{counted(group.n_developers, 'developer')}; rounds: mean {turns.mean or 0:,.1f}, half at most "
        f"{count(turns.p50)}, 99 % at most {count(turns.p99)}, most {count(turns.max)}",
        sentence(group).removeprefix(f"{in_words(group)}: "),
    ]
    return [*lines, *(plain(note) for note in group.notes if group.value.value is not None)]


def _panel(
    group: MemoryfulnessGroup, domains: tuple[tuple[float, float], tuple[float, float]], title: alt.TitleParams
) -> alt.LayerChart:
    import altair as alt

    turns, shares = domains
    x = alt.X(
        "x:Q",
        title="rounds, at least",
        scale=alt.Scale(type="log", domain=list(turns), nice=False, clamp=True),
        axis=alt.Axis(values=[t for t in _TICKS if t <= turns[1]], format=",d", labelOverlap="greedy"),
    )

    def y(field: str) -> alt.Y:
        scale = alt.Scale(type="log", domain=list(shares), nice=False, clamp=True)
        marks = [10.0**k for k in range(math.ceil(math.log10(shares[0])), 1)]
        axis = alt.Axis(values=marks, labelExpr="format(100 * datum.value, '~r') + ' %'")
        return alt.Y(f"{field}:Q", title="share of programs", scale=scale, axis=axis)

    reference = [{"x": n, "y": p} for n, p in geometric_reference(group, int(turns[1])) if p >= shares[0]]
    rows = alt.Chart(rows_of(_rows(group, shares[0])))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    layers = [
        rows.transform_filter("isValid(datum.low)")
        .mark_rule(color=COLORS[0], strokeWidth=1.3)
        .encode(x=x, y=y("low"), y2=alt.Y2("high")),
        alt.Chart(rows_of(reference)).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.4).encode(x=x, y=y("y")),
        rows.mark_point(filled=True, size=26, opacity=1, color=COLORS[0]).encode(x=x, y=y("y"), tooltip=tips),
    ]
    if not reference:
        del layers[1]
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title)
    return chart


def _rows(group: MemoryfulnessGroup, least: float) -> list[Mapping[str, Any]]:
    return [
        {
            "x": point.turns,
            "y": point.share.value,
            # a log axis knows no zero
            "low": None if point.share.low is None else max(point.share.low, least),
            "high": point.share.high,
            "turns": count(point.turns),
            "share": percent_interval(point.share),
            "n": count(point.n),
        }
        for point in group.law
        if point.share.value
    ]
