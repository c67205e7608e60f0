"""The chart of ``survival``: the share that lasts longer than t, its interval, and the rows still at risk below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, group_notes, in_words, made, name_of, units_of
from tracestat.charts.style import COLORS, finished, heading, message, rows_of, time_axis
from tracestat.charts.words import count, counted, distinct, percent_interval, seconds
from tracestat.results import SurvivalGroup, SurvivalResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_survival"]

_MOST = 6
_WIDTH, _HEIGHT, _LINE = 640, 340, 20
_LONGEST = 34
_STRIP_TIMES = 8
_DOTS = 14


def draw_survival(result: SurvivalResult) -> alt.TopLevelMixin:
    """Draw the curves of the largest groups on one axis of log time.

    Parameters
    ----------
    result : SurvivalResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    usable = [g for g in result.groups if any(p.t > 0 and p.S.value is not None for p in g.curve)]
    groups, _ = arrange(usable, "n", _MOST)
    title = f"Survival of {units_of(head)}, {by_words(head)}"
    lines = made(head)
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most rows, of {count(len(usable))}")
    notes = [*group_notes([g for g in result.groups if g in groups or g not in usable]), *head.notes]
    if not groups:
        text = f"no curve to draw: {'; '.join(notes) or 'nothing is left to count'}"
        return finished(message(text), heading(title, lines, head, 560))
    for group in groups:
        median = group.quantiles.get("0.5")
        half = "" if median is None or median.value is None else f", half over by {seconds(median.value)}"
        lines.append(
            f"{in_words(group)}: {counted(group.n, 'row')}, {counted(group.n_sessions, 'session')}, "
            f"{counted(group.n_developers, 'developer')}{half}"
        )
    times = [p.t for g in groups for p in g.curve if p.t > 0]
    domain = (min(times), max(times)) if min(times) < max(times) else (min(times) / 2, 2 * max(times))
    names = distinct(map(name_of, groups), _LONGEST)
    chart = alt.vconcat(_curves(groups, names, domain, head.unit or "wait"), _strip(groups, names, domain), spacing=6)
    chart = chart.resolve_scale(color="shared")
    bands = clustered((in_words(group), point.S) for group in groups for point in group.curve)
    marks = "dots only tell the curves apart"
    lines.append(f"bands: {bands}; {marks}" if bands else marks)
    return finished(chart, heading(title, [*lines, *notes], head, _WIDTH + 150))


def _colors(names: Sequence[str]) -> alt.Color:
    import altair as alt

    legend = alt.Legend(title=None, orient="right", labelLimit=240, symbolOpacity=1) if len(names) > 1 else None
    return alt.Color(
        "group:N", scale=alt.Scale(domain=list(names), range=list(COLORS[: len(names)])), sort=None, legend=legend
    )


def _curves(
    groups: Sequence[SurvivalGroup], names: Sequence[str], domain: tuple[float, float], unit: str
) -> alt.LayerChart:
    import altair as alt

    rows = [row for place, group in enumerate(groups) for row in _rows(names[place], group, place)]
    x = time_axis("x", f"t, time since the {unit} began", domain)
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format=".0%", values=[k / 10 for k in range(11)], labelOverlap=False)
    words = "share that lasts longer than t"
    y = alt.Y("y:Q", title=words, axis=axis, scale=scale)
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    base = alt.Chart(rows_of(rows))
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.2, interpolate="step-after")
        .encode(x=x, y=alt.Y("low:Q", title=words, axis=axis, scale=scale), y2=alt.Y2("high:Q"), color=_colors(names))
    )
    # the curve falls at its ends of waits only, and holds between them
    line = base.mark_line(interpolate="step-after", strokeWidth=1.8).encode(x=x, y=y, color=_colors(names))
    # shapes tell the curves apart as well, for readers who do not see the colours
    shape = alt.Shape("group:N", scale=alt.Scale(domain=list(names)), sort=None, legend=None)
    dots = (
        base.transform_filter("datum.dot")
        .mark_point(filled=True, size=28, opacity=1)
        .encode(x=x, y=y, color=_colors(names), shape=shape, tooltip=tips)
    )
    chart: alt.LayerChart = alt.LayerChart(layer=[band, line, dots]).properties(width=_WIDTH, height=_HEIGHT)
    return chart


_TIPS = (("group", "group"), ("at", "t"), ("share", "share"), ("risk", "at risk"))


def _rows(name: str, group: SurvivalGroup, place: int) -> list[Mapping[str, Any]]:
    """Give the points of a curve; of many points every so-manieth gets a dot, not at the same times in each curve."""
    points = [point for point in group.curve if point.t > 0 and point.S.value is not None]
    every = max(1, round(len(points) / _DOTS))
    return [
        {
            "group": name,
            "x": point.t,
            "y": point.S.value,
            "low": point.S.low,
            "high": point.S.high,
            "at": seconds(point.t),
            "share": percent_interval(point.S),
            "risk": count(point.at_risk),
            "dot": number % every == place % every,
        }
        for number, point in enumerate(points)
    ]


def _strip(groups: Sequence[SurvivalGroup], names: Sequence[str], domain: tuple[float, float]) -> alt.Chart:
    """Write the rows at risk below the curve, at some of its own times."""
    import altair as alt

    rows = []
    for group, name in zip(groups, names, strict=True):
        points = [point for point in group.curve if point.t > 0]
        kept: list[float] = []
        step = (domain[1] / domain[0]) ** (1 / _STRIP_TIMES)
        for point in points:
            if not kept or point.t >= kept[-1] * step:
                kept.append(point.t)
                rows.append({"group": name, "x": point.t, "text": count(point.at_risk)})
    axis = alt.Axis(
        title="at risk", domain=False, ticks=False, labelLimit=240, offset=30, titleAngle=0, titleAlign="right"
    )
    mark = alt.Chart(rows_of(rows)).mark_text(fontSize=10, align="center")
    chart: alt.Chart = mark.encode(
        x=time_axis("x", "", domain, bare=True),
        y=alt.Y("group:N", sort=list(names), axis=axis),
        text=alt.Text("text:N"),
        color=_colors(names),
    ).properties(width=_WIDTH, height=_LINE * max(len(names), 1))
    return chart
