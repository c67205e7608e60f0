"""The chart of ``residual``: mean, median and 90 % point of the remaining time over the time already waited."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, group_notes, in_words, made, name_of, units_of
from tracestat.charts.style import COLORS, GREY, finished, heading, message, panel_title, rows_of, time_axis
from tracestat.charts.table_residual import beside, length_words, waited
from tracestat.charts.words import count, counted, seconds_interval
from tracestat.results import ResidualGroup, ResidualPoint, ResidualResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_residual"]

_MOST = 4
_ALONE, _BESIDE, _HEIGHT, _STRIP = 640, 380, 340, 34
_STRIP_TIMES = {_ALONE: 10, _BESIDE: 6}
_DIAGONAL = "remaining = waited"


def draw_residual(result: ResidualResult) -> alt.TopLevelMixin:
    """Draw the remaining time of the largest groups, a panel each, on axes of log time.

    Parameters
    ----------
    result : ResidualResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = f"Residual life of {units_of(head)}, {by_words(head)}"
    shown, _ = beside(result.groups)
    # tool rows and all rows of one key differ by little: the tables hold both
    tools = [g for g in shown if g.key["rows"] == "tool" and len({other.key["rows"] for other in shown}) > 1]
    usable = [g for g in tools or shown if _drawn(g)]
    groups, _ = arrange(usable, "n", _MOST)
    lines = made(head)
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most rows, of {count(len(usable))}")
    notes = [*group_notes([g for g in tools or shown if g in groups or g not in usable]), *head.notes]
    if not groups:
        text = f"no curve to draw: {'; '.join(notes) or 'nothing is left to count'}"
        return finished(message(text), heading(title, lines, head, 560))
    domain, reach = _domains(groups)
    pixels = _ALONE if len(groups) == 1 else _BESIDE
    names = (f"mean within {length_words(groups[0].window)}", "median", "90 %")
    unit = head.unit or "wait"
    panels = [_panel(group, names, domain, reach, pixels, unit) for group in groups]
    rows = [alt.hconcat(*panels[i : i + 2], spacing=40) for i in range(0, len(panels), 2)]
    chart = alt.vconcat(*rows, spacing=28).resolve_scale(color="shared", shape="shared")
    told = [_bands(groups), f"dashed: {_DIAGONAL}"]
    if any(p.few_sessions for g in groups for p in _drawn(g)):
        told.append("hollow: fewer than 20 sessions at risk")
    width = pixels * min(len(groups), 2) + 150
    return finished(chart, heading(title, [*lines, "; ".join(told), *notes], head, width))


def _drawn(group: ResidualGroup) -> list[ResidualPoint]:
    """Give the points that have a place on axes of log time."""
    return [p for p in group.curve if p.elapsed > 0 and any(item.value for item in (p.mean, p.median, p.p90))]


def _bands(groups: Sequence[ResidualGroup]) -> str:
    """Say what the bands are; which clusters they are by may change along a curve."""
    items = [(in_words(g), item) for g in groups for p in _drawn(g) for item in (p.mean, p.median, p.p90)]
    kinds = {item.method.partition(" ")[0] for _, item in items if item.method}
    if kinds >= {"developer", "session"}:
        level = f"{100 * items[0][1].level:g} %"
        return f"bands: {level} intervals clustered by developer where 20 are at risk, else by session"
    words = clustered(items)
    return f"bands: {words}" if words else "no intervals"


def _domains(groups: Sequence[ResidualGroup]) -> tuple[tuple[float, float], tuple[float, float]]:
    points = [p for g in groups for p in _drawn(g)]
    x = [p.elapsed for p in points]
    items = [item for p in points for item in (p.mean, p.median, p.p90)]
    y = [value for item in items for value in (item.value, item.low, item.high) if value]
    # a bound far from every estimate may leave the panel rather than flatten the curves
    values = [item.value for item in items if item.value]
    low, high = max(min(y), min(values) / 10), min(max(y), max(values) * 10)

    def wide(a: float, b: float) -> tuple[float, float]:
        return (a, b) if b > 1.5 * a else (a / 2, b * 2)

    return wide(min(x), max(x)), wide(0.9 * low, 1.1 * high)


def _panel(
    group: ResidualGroup,
    names: Sequence[str],
    domain: tuple[float, float],
    reach: tuple[float, float],
    pixels: int,
    unit: str,
) -> alt.VConcatChart:
    import altair as alt

    points = _drawn(group)
    x = time_axis("x", f"t, time since the {unit} began", domain)
    along = time_axis("y", "", reach)
    words = "remaining time"
    colors = [COLORS[1], COLORS[0], COLORS[2]]
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1, symbolFillColor="transparent")
    color = alt.Color("what:N", scale=alt.Scale(domain=list(names), range=colors), sort=None, legend=legend)
    shape = alt.Shape(
        "what:N",
        scale=alt.Scale(domain=list(names), range=["circle", "square", "triangle-up"]),
        sort=None,
        legend=legend,
    )
    y = alt.Y("y:Q", title=words, axis=along["axis"], scale=along["scale"])
    base = alt.Chart(rows_of(_rows(points, names)))
    low = alt.Y("low:Q", title=words, axis=along["axis"], scale=along["scale"])
    band = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(opacity=0.16)
        .encode(x=x, y=low, y2=alt.Y2("high:Q"), color=color)
    )
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=color)
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS]
    fill = alt.condition("datum.few", alt.value("white"), color)
    dots = base.mark_point(size=26, opacity=1, strokeWidth=1.3).encode(
        x=x, y=y, color=color, fill=fill, shape=shape, tooltip=tips
    )
    start, stop = max(domain[0], reach[0]), min(domain[1], reach[1])
    ends = [{"x": start, "y": start}, {"x": stop, "y": stop}] if start < stop else []
    diagonal = alt.Chart(rows_of(ends)).mark_line(color=GREY, strokeWidth=1, strokeDash=[4, 3]).encode(x=x, y=y)
    title = panel_title(
        name_of(group, without="rows") if len(group.key) > 1 else f"{group.key['rows']} rows",
        [
            f"{counted(group.n, 'row')}, {counted(group.n_sessions, 'session')}, "
            f"{counted(group.n_developers, 'developer')}, {count(group.n_censored)} censored"
        ],
        pixels,
    )
    curves = alt.LayerChart(layer=[diagonal, band, line, dots]).properties(width=pixels, height=_HEIGHT, title=title)
    chart: alt.VConcatChart = alt.vconcat(curves, _strip(points, domain, pixels), spacing=4)
    return chart


_TIPS = (("what", "what"), ("at", "after"), ("remaining", "remaining"), ("risk", "rows at risk"), ("of", "sessions"))


def _rows(points: Sequence[ResidualPoint], names: Sequence[str]) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for point in points:
        for name, item in zip(names, (point.mean, point.median, point.p90), strict=True):
            # 0 has no place on a log axis
            if item.value:
                rows.append(
                    {
                        "what": name,
                        "x": point.elapsed,
                        "y": item.value,
                        "low": item.low or None,
                        "high": item.high or None,
                        "few": point.few_sessions,
                        "at": waited(point.elapsed),
                        "remaining": seconds_interval(item),
                        "risk": count(point.n_at_risk),
                        "of": count(point.sessions_at_risk),
                    }
                )
    return rows


def _strip(points: Sequence[ResidualPoint], domain: tuple[float, float], pixels: int) -> alt.Chart:
    """Write rows and sessions at risk below the curves, at some of their times."""
    import altair as alt

    step = (domain[1] / domain[0]) ** (1 / _STRIP_TIMES[pixels])
    rows: list[Mapping[str, Any]] = []
    last = -math.inf
    for point in points:
        if point.elapsed >= last * step:
            last = point.elapsed
            rows.append({"x": point.elapsed, "what": "rows", "text": count(point.n_at_risk)})
            rows.append({"x": point.elapsed, "what": "sessions", "text": count(point.sessions_at_risk)})
    axis = alt.Axis(title="at risk", domain=False, ticks=False, offset=22, titleAngle=0, titleAlign="right")
    mark = alt.Chart(rows_of(rows)).mark_text(fontSize=10, align="center", color="#222222")
    chart: alt.Chart = mark.encode(
        x=time_axis("x", "", domain, bare=True),
        y=alt.Y("what:N", sort=["rows", "sessions"], axis=axis),
        text=alt.Text("text:N"),
    ).properties(width=pixels, height=_STRIP)
    return chart
