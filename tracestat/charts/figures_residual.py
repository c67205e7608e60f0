"""How long a pause still lasts, by how long it has lasted: mean and median, beside the means that were published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.figures import OURS, THEIRS, FigureRow, Redrawn, captions
from tracestat.charts.style import COLORS, INK, finished, heading, message, rows_of, time_axis
from tracestat.charts.words import bounds, count, seconds, seconds_interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["MEAN", "MEAN_AT", "MEDIAN", "MEDIAN_AT", "draw_residual_life"]

MEAN, MEDIAN = "mean that remains", "median that remains"
# at the times that were published; the others make the curves
MEAN_AT, MEDIAN_AT = f"{MEAN}, at a published time", f"{MEDIAN}, at a published time"
_WIDTH, _HEIGHT = 640, 380
_COLORS = {MEAN: COLORS[0], MEDIAN: COLORS[2]}
_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)
_LABEL = "datum.value < 60 ? format(datum.value, '~r') + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : '1 h'"


def draw_residual_life(figure: Redrawn) -> alt.TopLevelMixin:
    """Draw the remaining time over the elapsed time on two log axes."""
    import altair as alt

    title = heading(figure.title, captions(figure, figure.of(MEAN) + figure.of(MEAN_AT), "bands"), figure.head, _WIDTH)
    curves = {name: [row for row in figure.of(name) if row.at and row.ours.value] for name in (MEAN, MEDIAN)}
    marks = figure.of(MEAN_AT)
    if not curves[MEAN]:
        note = next((row.note for row in marks if row.note), "no rows")
        return finished(message(f"no residual life to draw: {note}"), title)
    drawn = [row for rows in curves.values() for row in rows]
    times = [row.at for row in [*drawn, *marks] if row.at]
    domain = (min(times), max(times))
    values = [v for row in drawn for v in (row.ours.value, row.ours.high) if v] + [r.published or 1.0 for r in marks]
    low, high = min(values) / 2, max(values) * 1.3
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    axis = alt.Axis(values=[tick for tick in _TICKS if low <= tick <= high], labelExpr=_LABEL)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="time that remains", axis=axis, scale=scale)

    x = time_axis("x", f"time that the {figure.head.unit or 'wait'} has lasted", domain)
    names = list(_COLORS)
    color = alt.Color(
        "what:N",
        scale=alt.Scale(domain=names, range=[_COLORS[name] for name in names]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", symbolType="stroke", symbolOpacity=1),
    )
    tips = [alt.Tooltip(f"{field}:N", title=words) for field, words in _TIPS]
    base = alt.Chart(rows_of([row for name, rows in curves.items() for row in _points(name, rows, low)]))
    points = alt.Chart(rows_of(_marks(marks)))
    who = alt.Shape(
        "who:N",
        scale=alt.Scale(domain=[OURS, THEIRS], range=["circle", "diamond"]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal"),
    )
    layers = [
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(opacity=0.18, clip=True)
        .encode(x=x, y=y("low"), y2=alt.Y2("high"), color=color),
        base.mark_line(strokeWidth=1.8, clip=True).encode(x=x, y=y("y"), color=color, tooltip=tips),
        points.mark_point(filled=True, size=80, opacity=1).encode(
            x=x,
            y=y("y"),
            shape=who,
            fill=alt.Fill("who:N", scale=alt.Scale(domain=[OURS, THEIRS], range=[COLORS[0], INK]), legend=None),
            tooltip=tips,
        ),
    ]
    # labels stand on two sides of the points, so that near ones can be told apart
    theirs, ours = (points.transform_filter(alt.datum.who == name) for name in (THEIRS, OURS))
    layers += [
        theirs.mark_text(fontSize=11, align="left", dx=9, dy=9, color=INK).encode(
            x=x, y=y("y"), text=alt.Text("text:N")
        ),
        ours.mark_text(fontSize=11, align="right", dx=-9, dy=-9, color=COLORS[0]).encode(
            x=x, y=y("y"), text=alt.Text("text:N")
        ),
    ]
    chart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT)
    return finished(chart, title)


_TIPS = (("at", "has lasted"), ("text", "remains"), ("risk", "at risk"))


def _points(name: str, rows: Sequence[FigureRow], least: float) -> list[Mapping[str, Any]]:
    return [
        {
            "what": name,
            "x": row.at,
            "y": row.ours.value,
            # a log axis knows no zero
            "low": None if row.ours.low is None else max(row.ours.low, least),
            "high": row.ours.high,
            "at": seconds(row.at),
            "text": seconds_interval(row.ours),
            "risk": count(row.n or 0),
        }
        for row in rows
    ]


def _in_seconds(row: FigureRow) -> str:
    """Write ours in the unit of the published number; in round brackets where few sessions are behind it."""
    text = f"{row.ours.value or 0.0:,.0f} s {bounds((row.ours.low, row.ours.high), lambda x: f'{x:,.0f}')}"
    return f"({text})" if row.note else text


def _marks(rows: Sequence[FigureRow]) -> list[Mapping[str, Any]]:
    """Give the points at the published times, ours and theirs."""
    out: list[Mapping[str, Any]] = []
    for row in rows:
        both = ((OURS, row.ours.value, _in_seconds(row)), (THEIRS, row.published, f"{row.printed} s"))
        out += [
            {"who": who, "x": row.at, "y": y, "text": text, "at": seconds(row.at), "risk": count(row.n or 0)}
            for who, y, text in both
            if y and math.isfinite(y)
        ]
    return out
