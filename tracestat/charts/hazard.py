"""The chart of ``hazard``: hazard per bin on two log axes, deadlines kept and cut, and the slope on its range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, in_words, made, name_of, titled, units_of
from tracestat.charts.rises import headline_sentence
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
from tracestat.charts.words import count, counted, plain, rate_interval, span
from tracestat.results import Bin, HazardGroup, HazardResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["common_domains", "draw_hazard", "fitted_line", "rate_axis"]

_MOST = 6
_KEPT, _CUT = "deadlines kept", "deadlines cut, where it differs"
_ASIDE = 1.06
_FEWEST_MARKS = 2
_TIPS = (("bin", "bin"), ("set", "shown"), ("events", "events"), ("hazard", "hazard, per second"))


@dataclass(frozen=True, slots=True)
class _Page:
    """What all panels share: axes, size, words."""

    times: tuple[float, float]
    rates: tuple[float, float]
    width: int
    height: int
    began: str


def draw_hazard(result: HazardResult) -> alt.TopLevelMixin:
    """Draw the hazard of the largest groups, a panel each, on common axes.

    Parameters
    ----------
    result : HazardResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    groups, _ = arrange(result.groups, "n", _MOST)
    single = len(groups) <= 1
    width, height = (620, 340) if single else (380, 250)
    total = width if single else 2 * width + 80
    title = f"Hazard of {units_of(head)}, {by_words(head)}"
    lines = made(head)
    if len(groups) < len(result.groups):
        lines.append(f"the {len(groups)} groups with most rows, of {count(len(result.groups))}")
    domains = common_domains(groups)
    if domains is None:
        reasons = sorted({plain(note) for group in result.groups for note in group.notes})
        text = f"no hazard to draw: {'; '.join(reasons) or 'nothing is left to count'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    lines += [_legend(groups), *head.notes]
    page = _Page(*domains, width, height, f"time since the {head.unit or 'wait'} began")
    # the titles of two panels side by side stand at one height
    told = [_told(group) for group in groups]
    tall = [len(wrapped(lines, column_width(width))) for lines in told]
    titles = [
        panel_title(
            titled(name_of(group), head), told[place], width, rows=max(tall[place // 2 * 2 : place // 2 * 2 + 2])
        )
        for place, group in enumerate(groups)
    ]
    panels = [
        _panel(group, page, title) if group.bins else _nothing(group, page, title)
        for group, title in zip(groups, titles, strict=True)
    ]
    chart = alt.concat(*panels, columns=2, spacing=34)
    # one legend above all panels, where it covers no data
    chart = chart.resolve_scale(color="shared", shape="shared")
    return finished(chart, heading(title, lines, head, total))


def _legend(groups: Sequence[HazardGroup]) -> str:
    """Say what the marks are; the line is the fit that :func:`fitted_line` draws."""
    known = {bool(group.deadlines_cut.windows and group.deadlines_cut.bins) for group in groups if group.bins}
    cut = {frozenset({True}): ", with deadlines cut", frozenset({False}): ""}
    fit = cut.get(frozenset(known), ", with deadlines cut where they are known")
    intervals = clustered((in_words(group), item.hazard) for group in groups for item in group.bins)
    dots = f"dots: hazard per bin, {intervals}" if intervals else "dots: hazard per bin"
    return (
        f"{dots}; pale: beyond the range; triangles: upper limit of a bin without events; "
        f"dashed: the fitted power law on its range{fit}; grey: windows of known deadlines"
    )


def _told(group: HazardGroup) -> list[str]:
    """Say in the title of a panel what its group holds, what the hazard does, and what is missing."""
    lines = [
        f"{counted(group.n, 'row')}, {counted(group.n_sessions, 'session')}, {counted(group.n_developers, 'developer')}"
    ]
    if group.bins:
        lines.append(headline_sentence(group).removeprefix(f"{in_words(group)}: "))
        windows = ", ".join(f"{a:g} to {b:g} s" for a, b in group.deadlines_cut.windows)
        lines += [f"deadlines cut: {windows}"] if windows else []
        lines += map(plain, group.notes)
    return lines


def _nothing(group: HazardGroup, page: _Page, title: alt.TitleParams) -> alt.Chart:
    text = f"nothing to draw: {'; '.join(map(plain, group.notes)) or 'no rows'}"
    chart: alt.Chart = message(text, page.width).properties(title=title)
    return chart


def common_domains(groups: Sequence[HazardGroup]) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Give the common axes: the closed bins that have events, and their hazards with intervals."""
    bins = [(b.lo, b.hi, b.hazard) for g in groups for b in g.bins if b.hi is not None and b.lo > 0 and b.hazard.value]
    if not bins:
        return None
    values = [hazard.value for _, _, hazard in bins if hazard.value]
    ends = [end for _, _, hazard in bins for end in (hazard.low, hazard.high) if end]
    # an interval that reaches very far must not press the points into a corner
    low = max(min(values + ends), min(values) / 10)
    high = min(max(values + ends), max(values) * 10)
    return (min(lo for lo, _, _ in bins), max(hi for _, hi, _ in bins)), (low / 1.2, high * 1.2)


def _panel(group: HazardGroup, page: _Page, title: alt.TitleParams) -> alt.LayerChart:
    import altair as alt

    layers = [_bands(group, page), *_marks(group, page), _line(group, page)]
    chart: alt.LayerChart = alt.LayerChart(layer=[layer for layer in layers if layer is not None]).properties(
        width=page.width, height=page.height, title=title
    )
    return chart


def _bands(group: HazardGroup, page: _Page) -> alt.Chart | None:
    """Mark the windows of the known deadlines; a thin line keeps the narrow ones visible."""
    import altair as alt

    least, most = page.times
    bands = [{"x": max(a, least), "x2": min(b, most)} for a, b in group.deadlines_cut.windows if a < most and b > least]
    if not bands:
        return None
    mark = alt.Chart(rows_of(bands)).mark_rect(color=GREY, opacity=0.35, stroke=GREY, strokeWidth=1)
    chart: alt.Chart = mark.encode(x=time_axis("x", page.began, page.times), x2=alt.X2("x2"))
    return chart


def _line(group: HazardGroup, page: _Page) -> alt.Chart | None:
    import altair as alt

    ends = fitted_line(group)
    if not ends:
        return None
    mark = alt.Chart(rows_of(ends)).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.4, clip=True)
    chart: alt.Chart = mark.encode(x=time_axis("x", page.began, page.times), y=rate_axis("y", page.rates))
    return chart


def rate_axis(field: str, rates: tuple[float, float]) -> alt.Y:
    """Give a logarithmic axis of hazards per second."""
    import altair as alt

    low, high = rates
    # own marks with own labels: those that Vega chooses for a log axis leave out what is above half a decade
    axis = alt.Axis(values=_marks_between(low, high), labelExpr="format(datum.value, '~g')")
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    return alt.Y(f"{field}:Q", title="hazard, per second", axis=axis, scale=scale)


def _marks_between(low: float, high: float) -> list[float]:
    """Give the decades; where they are few, also what lies between them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps: tuple[tuple[float, ...], ...] = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9))
    marks: list[float] = []
    for step in steps:
        # parsed, so that a mark is the number that its label says
        marks = [value for k in powers for m in step if low <= (value := float(f"{m}e{k}")) <= high]
        if len(marks) > _FEWEST_MARKS:
            break
    return marks


def _marks(group: HazardGroup, page: _Page) -> list[alt.Chart]:
    """Draw each bin: its extent, its interval and its hazard, or the upper limit where it has no events."""
    import altair as alt

    color = alt.Color(
        "set:N",
        scale=alt.Scale(domain=[_KEPT, _CUT], range=list(COLORS[:2])),
        legend=alt.Legend(title=None, orient="top", direction="horizontal"),
    )
    shape = alt.Shape("set:N", scale=alt.Scale(domain=[_KEPT, _CUT], range=["circle", "diamond"]))
    faded = alt.condition("datum.used", alt.value(1.0), alt.value(0.35))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    x = time_axis("x", page.began, page.times)
    rows = alt.Chart(rows_of(_points(group, page)))
    seen, unseen = rows.transform_filter("datum.y > 0"), rows.transform_filter("datum.limit > 0")
    extent = time_axis("lo", page.began, page.times)
    return [
        seen.mark_rule(strokeWidth=1).encode(
            x=extent, x2=alt.X2("hi"), y=rate_axis("y", page.rates), color=color, opacity=faded
        ),
        seen.mark_rule(strokeWidth=1.5).encode(
            x=x, y=rate_axis("low", page.rates), y2=alt.Y2("high"), color=color, opacity=faded
        ),
        seen.mark_point(filled=True, size=45, opacity=1).encode(
            x=x, y=rate_axis("y", page.rates), color=color, shape=shape, opacity=faded, tooltip=tips
        ),
        unseen.mark_point(filled=False, size=40, shape="triangle-down", strokeWidth=1.2).encode(
            x=x, y=rate_axis("limit", page.rates), color=color, opacity=faded, tooltip=tips
        ),
    ]


def _points(group: HazardGroup, page: _Page) -> list[Mapping[str, Any]]:
    """Give a row per closed bin, and one more where cutting the deadlines changes it."""
    out = []
    cuts = {item.lo: item for item in group.deadlines_cut.bins}
    for number, item in enumerate(group.bins):
        if item.hi is None or item.lo < page.times[0] or item.hi > page.times[1]:
            continue
        used = number < group.n_bins
        other = cuts.get(item.lo)
        if other is None or (other.events, other.exposure) == (item.events, item.exposure):
            out.append(_point(item, _KEPT, used, 1.0, page))
        else:
            # beside each other, so that both can be seen
            out += [_point(item, _KEPT, used, 1 / _ASIDE, page), _point(other, _CUT, used, _ASIDE, page)]
    return out


def _point(item: Bin, name: str, used: bool, shift: float, page: _Page) -> Mapping[str, Any]:
    value, high, hi = item.hazard.value or 0.0, item.hazard.high or 0.0, item.hi or item.lo
    least, most = page.rates
    return {
        "x": math.sqrt(item.lo * hi) * shift,
        "lo": item.lo,
        "hi": hi,
        "y": value,
        # bounds stay on the page: a log axis knows no zero
        "low": max(item.hazard.low or least, least),
        "high": min(max(high, value, least), most),
        "limit": high if not value and least <= high <= most else 0.0,
        "set": name,
        "used": used,
        "bin": span(item.lo, item.hi),
        "events": count(item.events),
        "hazard": rate_interval(item.hazard),
    }


def fitted_line(group: HazardGroup) -> list[Mapping[str, float]]:
    """Give both ends of the Poisson line on the range of the slope; empty where there is no slope.

    The fit makes expected and observed events equal, so its level follows from the slope:
    ``a = ln(sum D / sum X exp(b x))``, x the log of a bin's geometric middle.
    """
    cut = group.deadlines_cut
    bins, steepness = (cut.bins, cut.slope) if cut.windows and cut.bins else (group.bins, group.slope)
    b = steepness.poisson.value
    if b is None or group.range is None:
        return []
    used = [(math.log(math.sqrt(item.lo * item.hi)), item) for item in bins[: group.n_bins] if item.hi is not None]
    expected = sum(item.exposure * math.exp(b * x) for x, item in used)
    events = sum(item.events for _, item in used)
    if expected <= 0 or events == 0:
        return []
    a = math.log(events / expected)
    return [{"x": t, "y": math.exp(a + b * math.log(t))} for t in group.range]
