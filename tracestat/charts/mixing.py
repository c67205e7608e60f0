"""How much of a falling hazard is mixing: the slope pooled, within classes, and within single keys, on one panel.

A mixture of keys whose hazards do not fall has a hazard that falls, since the slow keys are left over. The three lines
of a panel go through one centre, so that what differs is their slope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, in_words, made, name_of, titled, units_of
from tracestat.charts.hazard import common_domains, rate_axis
from tracestat.charts.style import (
    COLORS,
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
from tracestat.charts.words import count, counted, plain, rate_interval, slope_interval, span
from tracestat.results import HazardGroup, HazardResult, Interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["MixingLine", "draw_mixing", "mixing_centre", "mixing_lines", "share_words"]

_MOST = 6
_POOLED = "pooled"
# the lines in the order of their legend: name, keys of the slope
_WITHIN = (
    ("within class", ("tool_class",)),
    ("within class x skeleton x developer", ("command_skeleton", "developer")),
)
_NAMES = (_POOLED, *(name for name, _ in _WITHIN))
_DASHES = ([1, 0], [6, 3], [2, 2])
_STEPS = 24
_TIPS = (("bin", "bin"), ("events", "events"), ("hazard", "hazard, per second"))


@dataclass(frozen=True, slots=True)
class MixingLine:
    """One line of a panel: its slope, and the share of the pooled fall that it leaves to mixing (None: pooled)."""

    name: str
    slope: Interval
    share: float | None


def mixing_lines(group: HazardGroup) -> list[MixingLine]:
    """Give the lines that a group has: pooled, then those within keys that could be fitted; deadlines kept."""
    pooled = group.slope.poisson
    if pooled.value is None or group.range is None:
        return []
    within = {item.keys: item for item in group.within}
    lines = [MixingLine(_POOLED, pooled, None)]
    for name, keys in _WITHIN:
        found = within.get(keys)
        if found is not None and found.slope.value is not None:
            lines.append(MixingLine(name, found.slope, found.share_mixing))
    return lines


def mixing_centre(group: HazardGroup) -> tuple[float, float] | None:
    """Give the point through which the lines go: the mean of ln t over the events in range, on the pooled line.

    The pooled fit makes expected and observed events equal, so its level follows from its slope.
    """
    b = group.slope.poisson.value
    used = [
        (math.log(math.sqrt(item.lo * item.hi)), item) for item in group.bins[: group.n_bins] if item.hi is not None
    ]
    events = sum(item.events for _, item in used)
    if b is None or not events:
        return None
    centre = sum(item.events * x for x, item in used) / events
    expected = sum(item.exposure * math.exp(b * (x - centre)) for x, item in used)
    return math.exp(centre), events / expected


def share_words(line: MixingLine, pooled: float) -> str:
    """Say how much of the pooled fall goes away when keys are compared with themselves.

    Examples
    --------
    >>> share_words(MixingLine("within class", Interval(-0.6, -0.7, -0.5), 0.25), -0.8)
    '25 % of the fall is mixing (13 to 38 %)'
    >>> share_words(MixingLine("within class", Interval(-0.9), -0.125), -0.8)
    'no part of the fall is mixing'
    >>> share_words(MixingLine("within class", Interval(0.1), 1.125), -0.8)
    'all of the fall is mixing'
    >>> share_words(MixingLine("within class", Interval(0.3), 0.25), 0.4)
    'the pooled hazard does not fall'
    """
    if pooled >= 0 or line.share is None:
        return "the pooled hazard does not fall"
    if line.share <= 0:
        said = "no part of the fall is mixing"
    else:
        said = "all of the fall is mixing" if line.share >= 1 else f"{_percent(line.share)} % of the fall is mixing"
    low, high = line.slope.low, line.slope.high
    if low is None or high is None:
        return said
    return f"{said} ({_percent(1 - low / pooled)} to {_percent(1 - high / pooled)} %)"


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.0f}"


def draw_mixing(result: HazardResult) -> alt.TopLevelMixin:
    """Draw the slopes pooled and within keys of the largest groups, a panel each, on common axes.

    Parameters
    ----------
    result : HazardResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    usable = [group for group in result.groups if mixing_lines(group)]
    groups, _ = arrange(usable, "n", _MOST)
    title = f"How much of the fall of the hazard is mixing: {units_of(head)}, {by_words(head)}"
    lines = made(head)
    missing = [group for group in result.groups if group not in usable]
    if missing and usable:
        lines.append(f"no slope, so not drawn: {', '.join(in_words(group) for group in missing[:_MOST])}")
        lines[-1] += f" and {count(len(missing) - _MOST)} more" if len(missing) > _MOST else ""
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most rows, of {count(len(usable))} with a slope")
    domains = common_domains(groups)
    if domains is None:
        largest, _ = arrange(result.groups, "n", 1)
        reasons = [f"{in_words(group)}: {'; '.join(map(plain, group.notes[:1]))}" for group in largest]
        text = f"no slopes to compare; {'; '.join(reasons) or 'nothing is left to count'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    lines += [_legend(groups), *head.notes]
    single = len(groups) == 1
    width, height = (620, 340) if single else (380, 260)
    told = [_told(group) for group in groups]
    tall = [len(wrapped(each, column_width(width))) for each in told]
    panels = [
        _panel(
            group,
            domains,
            f"time since the {head.unit or 'wait'} began",
            panel_title(
                titled(name_of(group), head), told[place], width, rows=max(tall[place // 2 * 2 : place // 2 * 2 + 2])
            ),
        ).properties(width=width, height=height)
        for place, group in enumerate(groups)
    ]
    chart = alt.concat(*panels, columns=2, spacing=34).resolve_scale(color="shared", strokeDash="shared")
    return finished(chart, heading(title, lines, head, width if single else 2 * width + 80))


def _legend(groups: Sequence[HazardGroup]) -> str:
    bands = clustered((in_words(group), line.slope) for group in groups for line in mixing_lines(group))
    return (
        "a mixture falls even where none of its keys does, since the slow keys are left over; lines: the fitted "
        f"slopes, all through the centre of the ends (circle){f', bands: {bands}' if bands else ''}; within keys by a "
        "shared gamma frailty; ( ) after a share: what the interval of the slope within keys leaves of it; grey: "
        "hazard per bin, deadlines kept"
    )


def _told(group: HazardGroup) -> list[str]:
    """Say in the title of a panel what its group holds, each slope, and what share of the fall is mixing."""
    pooled, *within = mixing_lines(group)
    sizes = (counted(group.n, "row"), counted(group.n_sessions, "session"), counted(group.n_developers, "developer"))
    lines = [", ".join(sizes)]
    if group.range:
        lines.append(f"pooled: slope {slope_interval(pooled.slope)} from {span(*group.range)}")
    drawn = {line.name: line for line in within}
    known = {item.keys: item.notes for item in group.within}
    for name, keys in _WITHIN:
        line = drawn.get(name)
        if line is not None:
            shown = slope_interval(line.slope)
            lines.append(f"{name}: {shown}; {share_words(line, pooled.slope.value or 0.0)}")
        else:
            reason = "; ".join(map(plain, known.get(keys, ()))) or "not fitted"
            lines.append(f"{name}: no line, {reason}")
    return lines


def _panel(
    group: HazardGroup,
    domains: tuple[tuple[float, float], tuple[float, float]],
    began: str,
    title: alt.TitleParams,
) -> alt.LayerChart:
    import altair as alt

    times, rates = domains

    def x(field: str) -> alt.X:
        return time_axis(field, began, times)

    color = alt.Color(
        "line:N",
        scale=alt.Scale(domain=list(_NAMES), range=list(COLORS[: len(_NAMES)])),
        legend=alt.Legend(
            title=None, orient="top", direction="horizontal", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2
        ),
    )
    dash = alt.StrokeDash("line:N", scale=alt.Scale(domain=list(_NAMES), range=[list(d) for d in _DASHES]))
    drawn = alt.Chart(rows_of(list(_line_rows(group, rates))))
    bins = alt.Chart(rows_of(list(_bin_rows(group, domains))))
    centre = alt.Chart(rows_of(_centre_rows(group)))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    faded = alt.condition("datum.used", alt.value(0.75), alt.value(0.3))
    y = rate_axis("y", rates)
    chart: alt.LayerChart = alt.LayerChart(
        layer=[
            drawn.transform_filter("isValid(datum.low)")
            .mark_area(opacity=0.16, clip=True)
            .encode(x=x("x"), y=rate_axis("low", rates), y2=alt.Y2("high"), color=color),
            bins.mark_rule(strokeWidth=1.3, color="#666666").encode(
                x=x("x"), y=rate_axis("low", rates), y2=alt.Y2("high"), opacity=faded
            ),
            bins.mark_point(filled=True, size=34, color="#666666").encode(x=x("x"), y=y, opacity=faded, tooltip=tips),
            drawn.mark_line(strokeWidth=2, clip=True).encode(x=x("x"), y=y, color=color, strokeDash=dash),
            centre.mark_point(filled=False, size=70, color=INK, strokeWidth=1.4, opacity=1).encode(x=x("x"), y=y),
        ]
    ).properties(title=title)
    return chart


def _centre_rows(group: HazardGroup) -> list[Mapping[str, float]]:
    centre = mixing_centre(group)
    return [] if centre is None else [{"x": centre[0], "y": centre[1]}]


def _line_rows(group: HazardGroup, rates: tuple[float, float]) -> Iterator[Mapping[str, Any]]:
    """Give points of each line on the range of the slope, with the band that its interval makes about the centre."""
    centre = mixing_centre(group)
    if centre is None or group.range is None:
        return
    start, stop = group.range
    least, most = rates
    times = sorted({*(start * (stop / start) ** (k / _STEPS) for k in range(_STEPS + 1)), centre[0]})
    for line in mixing_lines(group):
        for t in times:
            row: dict[str, Any] = {"line": line.name, "x": t, "low": None, "high": None}
            slopes = [b for b in (line.slope.value, line.slope.low, line.slope.high) if b is not None]
            found = [centre[1] * (t / centre[0]) ** b for b in slopes]
            row["y"] = found[0]
            if len(found) == 3:
                # a band stays on the page: a log axis knows no zero
                row["low"], row["high"] = (min(max(v, least), most) for v in (min(found[1:]), max(found[1:])))
            yield row


def _bin_rows(
    group: HazardGroup, domains: tuple[tuple[float, float], tuple[float, float]]
) -> Iterator[Mapping[str, Any]]:
    (first, last), (least, most) = domains
    for number, item in enumerate(group.bins):
        if item.hi is None or item.lo < first or item.hi > last or not item.hazard.value:
            continue
        yield {
            "x": math.sqrt(item.lo * item.hi),
            "y": item.hazard.value,
            "low": max(item.hazard.low or least, least),
            "high": min(item.hazard.high or item.hazard.value, most),
            "used": number < group.n_bins,
            "bin": span(item.lo, item.hi),
            "events": count(item.events),
            "hazard": rate_interval(item.hazard),
        }
