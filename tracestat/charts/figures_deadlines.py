"""The hazard around the limits of a harness, and the share of pauses that end on one beside the published share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import titled
from tracestat.charts.figures import FigureRow, Redrawn, bar_pairs, captions
from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of, time_axis
from tracestat.charts.words import count, drawn, percent_interval, rate_interval, span

if TYPE_CHECKING:
    import altair as alt

__all__ = ["AROUND", "ATOM", "ON_LIMIT", "PLACE", "SHARE", "SMOOTH", "draw_deadlines"]

# the hazard per bin, what a smooth one would be, where pauses end together, how many end on a limit, and on any
AROUND, SMOOTH, PLACE = "hazard", "smooth hazard", "place of the deadline"
ATOM = "part of an atom of the scan"
ON_LIMIT, SHARE = "share that ends on the limit", "pauses that end on a deadline"
_WIDTH, _HEIGHT = 640, 210
_MARGIN = 4.0
_ROOM = 0.4  # of the height of the data, above them, for the words on the limits


def draw_deadlines(figure: Redrawn) -> alt.TopLevelMixin:
    """Draw a panel of hazards per provider, and the share on deadlines below."""
    import altair as alt

    hazards = figure.of(AROUND)
    title = heading(
        figure.title, captions(figure, [*hazards, *figure.of(SHARE)], "bands and whiskers"), figure.head, _WIDTH
    )
    parts: list[Any] = [
        _panel(figure, panel) for panel in figure.panels if any(row.ours.value for row in figure.of(AROUND, panel))
    ]
    shares = figure.of(SHARE)
    if shares:
        parts.append(bar_pairs(titled("Codex", figure.head), shares))
    if not hazards and not any(row.ours.value is not None for row in shares):
        parts.insert(0, message("no hazard to draw: no pauses around the deadlines"))
    # the legend belongs to the bars alone
    return finished(alt.vconcat(*parts, spacing=26).resolve_scale(color="independent"), title)


def _panel(figure: Redrawn, panel: str) -> alt.LayerChart:
    import altair as alt

    limits = figure.of(ON_LIMIT, panel)
    rows = [row for row in figure.of(AROUND, panel) if row.ours.value and row.at_low and row.at_high]
    times = _times(rows, limits)
    inside = [row for row in rows if (row.at_high or 0) > times[0] and (row.at_low or 0) < times[1]]
    values = [row.ours.value for row in inside if row.ours.value]
    low, top = min(values) / 3, max(values) * 1.5
    high = top * (top / low) ** _ROOM
    marks = [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    axis = alt.Axis(values=marks, labelExpr="format(datum.value, '~g')")
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="hazard, per second", axis=axis, scale=scale)

    words = f"time since the {figure.head.unit or 'wait'} began"
    x, left = time_axis("x", words, times), time_axis("lo", words, times)
    tips = [alt.Tooltip("bin:N"), alt.Tooltip("events:N"), alt.Tooltip("hazard:N", title="hazard, per second")]
    levels = {row.at: row.ours.value for row in figure.of(SMOOTH, panel)}
    bars = alt.Chart(rows_of([_bar(row, times, (low, high), levels.get(row.at)) for row in inside]))
    atoms = bars.transform_filter("datum.atom")
    smooth = [row for row in figure.of(SMOOTH, panel) if row.ours.value and row.at and times[0] <= row.at <= times[1]]
    line = alt.Chart(rows_of([{"x": row.at, "y": row.ours.value} for row in smooth]))
    named = [_limit(row, high) for row in limits if row.at and times[0] <= row.at <= times[1]]
    windows = alt.Chart(rows_of(named))
    layers = [
        windows.mark_rect(color=GREY, opacity=0.35, stroke=GREY, strokeWidth=1).encode(x=left, x2=alt.X2("hi")),
        bars.mark_rect(color=COLORS[0], opacity=0.2, clip=True).encode(
            x=left, x2=alt.X2("hi"), y=y("low"), y2=alt.Y2("high")
        ),
        bars.mark_rule(color=COLORS[0], strokeWidth=1.8, clip=True).encode(
            x=left, x2=alt.X2("hi"), y=y("y"), tooltip=tips
        ),
        # an atom is too narrow to be seen as a bar
        atoms.mark_rule(color=COLORS[1], strokeWidth=2.4, clip=True).encode(x=x, y=y("smooth"), y2=alt.Y2("y")),
        atoms.mark_point(filled=True, size=46, color=COLORS[1], opacity=1).encode(x=x, y=y("y"), tooltip=tips),
        line.mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.1, clip=True).encode(x=x, y=y("y")),
        windows.mark_text(
            fontSize=10, color=INK, align="left", dx=3, dy=2, baseline="top", lineHeight=12, lineBreak="\n"
        ).encode(x=x, y=y("top"), text=alt.Text("text:N")),
    ]
    told = [drawn(row.note) for row in limits if row.note]
    told += ["orange: where the scan finds more ends than a smooth hazard allows"] if _has_atoms(inside) else []
    name = panel_title(titled(drawn(panel), figure.head), told, _WIDTH)
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=name)
    return chart


def _has_atoms(rows: Sequence[FigureRow]) -> bool:
    return any(row.note == ATOM for row in rows)


def _times(rows: Sequence[FigureRow], limits: Sequence[FigureRow]) -> tuple[float, float]:
    """Give the axis of time: some way around the limits, as far as there are hazards."""
    places = [row.at for row in limits if row.at]
    starts = [row.at_low for row in rows if row.at_low]
    ends = [row.at_high for row in rows if row.at_high]
    if not places:
        return min(starts), max(ends)
    least, most = max(min(starts), min(places) / _MARGIN), min(max(ends), max(places) * _MARGIN)
    return (least, most) if least < most else (min(starts), max(ends))


def _bar(
    row: FigureRow, times: tuple[float, float], rates: tuple[float, float], smooth: float | None
) -> Mapping[str, Any]:
    value, lo, hi = row.ours.value or rates[0], row.at_low or times[0], row.at_high or times[1]
    return {
        "lo": max(lo, times[0]),
        "hi": min(hi, times[1]),
        "x": row.at,
        "y": value,
        "smooth": max(smooth or rates[0], rates[0]),
        "atom": row.note == ATOM,
        "low": max(row.ours.low or rates[0], rates[0]),
        "high": min(row.ours.high or value, rates[1]),
        "bin": span(lo, hi),
        "events": count(row.n or 0),
        "hazard": rate_interval(row.ours),
    }


def _limit(row: FigureRow, top: float) -> Mapping[str, Any]:
    at = row.at or 1.0
    share = percent_interval(row.ours).replace(" [", "\n[")
    return {
        "x": at,
        "lo": row.at_low or at,
        "hi": row.at_high or at,
        "top": top,
        "text": f"{at:g} s\n{share}",
    }
