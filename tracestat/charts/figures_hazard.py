"""The hazard of each tool class, and its slopes beside the range that was published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import titled
from tracestat.charts.figures import FigureRow, Redrawn, captions
from tracestat.charts.style import (
    COLORS,
    GREY,
    INK,
    column_width,
    finished,
    heading,
    message,
    panel_title,
    rows_of,
    time_axis,
    wrapped,
)
from tracestat.charts.words import count, drawn, rate_interval, slope_interval, span

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FIT", "HAZARD", "SLOPE", "draw_hazards"]

HAZARD, FIT, SLOPE = "hazard", "fitted hazard", "slope"
_WIDTH, _HEIGHT, _LINE = 240, 170, 24
_COLUMNS = 3
_MOST = 6


def draw_hazards(figure: Redrawn) -> alt.TopLevelMixin:
    """Draw the slopes of all classes beside the published range, and the hazards that they are slopes of."""
    import altair as alt

    slopes = figure.of(SLOPE)
    width = _COLUMNS * _WIDTH + 130
    lines = captions(figure, slopes, "lines through dots")
    title = heading(figure.title, lines, figure.head, width)
    if not slopes:
        return finished(message("no hazard to draw: no rows"), title)
    panels = [panel for panel in figure.panels if figure.of(HAZARD, panel)][:_MOST]
    times, rates = _domains([row for panel in panels for row in figure.of(HAZARD, panel)])
    # the titles of panels side by side stand at one height
    told = [_told(next(row for row in slopes if row.panel == panel)) for panel in panels]
    tall = [len(wrapped(text, column_width(_WIDTH))) for text in told]
    hazards = []
    for place, panel in enumerate(panels):
        first = place // _COLUMNS * _COLUMNS
        name = titled(drawn(panel), figure.head)
        above = panel_title(name, told[place], _WIDTH, rows=max(tall[first : first + _COLUMNS]))
        hazards.append(_hazard(figure, panel, above, times, rates))
    parts: list[Any] = [_slopes(slopes, titled("slope of ln hazard on ln time", figure.head))]
    if hazards:
        parts.append(alt.concat(*hazards, columns=_COLUMNS, spacing=26))
    return finished(alt.vconcat(*parts, spacing=26), title)


def _slopes(rows: Sequence[FigureRow], title: str) -> alt.LayerChart:
    import altair as alt

    names = [drawn(row.panel) for row in rows]
    values = [
        {
            "class": name,
            "y": row.ours.value,
            "low": row.ours.low,
            "high": row.ours.high,
            "text": slope_interval(row.ours) if row.ours.value is not None else drawn(row.note),
            "end": max(row.ours.high or 0.0, row.ours.value or 0.0, 0.0),
            "events": "" if row.n is None else count(row.n),
        }
        for name, row in zip(names, rows, strict=True)
    ]
    ends = [end for row in rows for end in (row.ours.low, row.ours.high, row.published_low) if end is not None]
    low, high = max(min([*ends, -1.0]), -2.0), min(max([*ends, 0.2]), 1.0)
    scale = alt.Scale(domain=[low - 0.05, high + 1.1], nice=False, clamp=True)
    axis = alt.Axis(values=[v / 4 for v in range(-8, 5) if low - 0.05 <= v / 4 <= high + 0.05], format=".2f")
    y = alt.Y("class:N", sort=names, axis=alt.Axis(title=None, ticks=False, labelLimit=200))
    base = alt.Chart(rows_of(values))
    x = alt.X("y:Q", title="slope", axis=axis, scale=scale)
    given = [{"from": row.published_low, "to": row.published_high} for row in rows if row.published_low is not None]
    layers = [
        alt.Chart(rows_of(given[:1])).mark_rect(color=GREY, opacity=0.3).encode(
            x=alt.X("from:Q", scale=scale, title="slope", axis=axis), x2=alt.X2("to:Q")
        ),
        base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.6, color=COLORS[0]).encode(
            x=alt.X("low:Q", scale=scale, title="slope", axis=axis), x2=alt.X2("high:Q"), y=y
        ),
        base.transform_filter("isValid(datum.y)").mark_point(filled=True, size=55, color=COLORS[0], opacity=1).encode(
            x=x, y=y, tooltip=[alt.Tooltip("class:N"), alt.Tooltip("text:N", title="slope"), alt.Tooltip("events:N")]
        ),
        base.mark_text(fontSize=10, align="left", dx=8).encode(
            x=alt.X("end:Q", scale=scale, title="slope", axis=axis), y=y, text=alt.Text("text:N")
        ),
    ]  # fmt: skip
    chart: alt.LayerChart = alt.LayerChart(layer=layers if given else layers[1:]).properties(
        width=_COLUMNS * _WIDTH, height=_LINE * len(names), title=panel_title(title, [], _COLUMNS * _WIDTH)
    )
    return chart


def _domains(rows: Sequence[FigureRow]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Give common axes to all panels; an interval that reaches far does not press the points into a corner."""
    seen = [row for row in rows if row.ours.value and row.at_low and row.at_high]
    if not seen:
        return (0.1, 10.0), (0.1, 1.0)
    values = [row.ours.value for row in seen if row.ours.value]
    times = (min(row.at_low for row in seen if row.at_low), max(row.at_high for row in seen if row.at_high))
    return times, (min(values) / 3, max(values) * 3)


def _told(slope: FigureRow) -> list[str]:
    """Say what the slope of a class is, and what the rise test says."""
    known = [f"slope {slope_interval(slope.ours)}"] if slope.ours.value is not None else []
    return [f"{count(slope.n or 0)} events", *known, slope.note]


def _hazard(
    figure: Redrawn, panel: str, title: alt.TitleParams, times: tuple[float, float], rates: tuple[float, float]
) -> alt.LayerChart:
    import altair as alt

    low, high = rates
    marks = [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    axis = alt.Axis(values=marks, labelExpr="format(datum.value, '~g')")
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="hazard, per second", axis=axis, scale=scale)

    words = f"time since the {figure.head.unit or 'wait'} began"
    rows = alt.Chart(rows_of(_points(figure.of(HAZARD, panel), rates)))
    fit = figure.of(FIT, panel)
    line = rows_of([{"x": row.at, "y": row.ours.value} for row in fit if row.ours.value])
    fan = rows_of([{"x": r.at, "low": r.published_low, "high": r.published_high} for r in fit if r.published_low])
    tips = [alt.Tooltip("bin:N"), alt.Tooltip("events:N"), alt.Tooltip("hazard:N", title="hazard, per second")]
    x = time_axis("x", words, times)
    layers: list[alt.Chart] = []
    if fan.values:
        layers.append(
            alt.Chart(fan).mark_area(color=GREY, opacity=0.3, clip=True).encode(x=x, y=y("low"), y2=alt.Y2("high"))
        )
    if line.values:
        layers.append(
            alt.Chart(line).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.2, clip=True).encode(x=x, y=y("y"))
        )
    layers += [
        rows.mark_rule(strokeWidth=1.4, color=COLORS[0], clip=True).encode(x=x, y=y("low"), y2=alt.Y2("high")),
        rows.mark_point(filled=True, size=34, color=COLORS[0], opacity=1).encode(x=x, y=y("y"), tooltip=tips),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title)
    return chart


def _points(rows: Sequence[FigureRow], rates: tuple[float, float]) -> list[Mapping[str, Any]]:
    least, most = rates
    return [
        {
            "x": row.at,
            "y": row.ours.value,
            "low": max(row.ours.low or least, least),
            "high": min(row.ours.high or row.ours.value, most),
            "bin": span(row.at_low or 0.0, row.at_high),
            "events": count(row.n or 0),
            "hazard": rate_interval(row.ours),
        }
        for row in rows
        if row.ours.value
    ]
