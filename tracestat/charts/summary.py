"""The chart of ``summary``: a few long waits hold most of the time, so shares of rows stand beside shares of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, clustered, group_notes, in_words, made, name_of, titled
from tracestat.charts.style import COLORS, finished, heading, message, panel_title, rows_of
from tracestat.charts.words import count, distinct, drawn, percent, percent_interval
from tracestat.results import Interval, SummaryGroup, SummaryResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_summary"]

_MOST = 10
_WIDTH = 210
_BAR = 11
_LONGEST = 30
_WHAT = ("rows", "time", "token-seconds")


def draw_summary(result: SummaryResult) -> alt.TopLevelMixin:
    """Draw shares of rows against shares of time and of token-seconds, a line of panels per unit.

    Parameters
    ----------
    result : SummaryResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = f"Where rows, time and token-seconds go, {by_words(head)}"
    lines = made(head, units=not any("unit" in group.key for group in result.groups))
    parts = _by_unit([group for group in result.groups if group.n])
    if not parts:
        if result.tracelab is not None and result.tracelab.get("latency_bins"):
            return _bins(result)
        notes = [*group_notes(result.groups), *head.notes]
        text = f"nothing to draw: {'; '.join(notes) or 'no rows'}"
        return finished(message(text), heading(title, lines, head, 560))
    panels = []
    drawn_groups: list[SummaryGroup] = []
    for unit, groups in parts:
        shown, _ = arrange(groups, "n", _MOST)
        if len(shown) < len(groups):
            lines.append(f"{unit or 'rows'}: the {len(shown)} groups with most rows, of {count(len(groups))}")
        sizes = "; ".join(
            f"{name} {count(group.n)} / {count(group.n_sessions)} / {count(group.n_developers)}"
            for name, group in zip(distinct(map(_name, shown), _LONGEST), shown, strict=True)
        )
        lines.append(f"{f'{unit}s' if unit else 'rows'} / sessions / developers: {sizes}")
        drawn_groups += shown
        panels.append(_row(unit, groups, shown, titled("", head)))
    whiskers = clustered(
        (in_words(group), item)
        for group in drawn_groups
        for over in group.over.values()
        for item in (over.of_count, over.of_time, over.of_token_seconds)
    )
    if whiskers:
        lines.append(f"whiskers: {whiskers}")
    lines += ["human waits: share of tool and human rows together", *head.notes]
    return finished(alt.vconcat(*panels, spacing=28), heading(title, lines, head, 3 * _WIDTH + 160))


def _by_unit(groups: Sequence[SummaryGroup]) -> list[tuple[str, list[SummaryGroup]]]:
    units: dict[str, list[SummaryGroup]] = {}
    for group in groups:
        units.setdefault(str(group.key.get("unit", "")), []).append(group)
    return list(units.items())


def _name(group: SummaryGroup) -> str:
    """Give the key of a group without its unit, which stands in the title of the panel."""
    return name_of(group, without="unit")


def _row(unit: str, groups: Sequence[SummaryGroup], shown: Sequence[SummaryGroup], mark: str) -> alt.HConcatChart:
    """Draw the panels of a unit: what each group holds, what the long rows hold, what waits for a human."""
    import altair as alt

    names = distinct(map(_name, shown), _LONGEST)
    pairs = list(zip(names, shown, strict=True))
    of = f"{unit}s" if unit else "rows"
    panels = []
    if len(groups) > 1:
        totals = [sum(values) for values in zip(*map(_amounts, groups), strict=True)]
        rows = [
            _bar(name, what, Interval(part / total if total else None))
            for name, group in pairs
            for what, part, total in zip(_WHAT, _amounts(group), totals, strict=True)
        ]
        panels.append((f"{mark}{of}: what each group holds", rows))
    over = sorted({name for group in shown for name in group.over}, key=float)
    for threshold in over:
        found = [(name, group.over[threshold]) for name, group in pairs if threshold in group.over]
        rows = [
            _bar(name, what, part)
            for name, item in found
            for what, part in zip(_WHAT, (item.of_count, item.of_time, item.of_token_seconds), strict=True)
        ]
        panels.append((f"{mark}{of} over {float(threshold):g} s", rows))
    rows = [
        _bar(name, what, Interval(part))
        for name, group in pairs
        for what, part in zip(
            _WHAT, (group.human.of_count, group.human.of_time, group.human.of_token_seconds), strict=True
        )
    ]
    if any(row["y"] for row in rows):
        panels.append((f"{mark}{of} that wait for a human", rows))
    charts = [_bars(title, rows, names, first=not number) for number, (title, rows) in enumerate(panels)]
    return alt.HConcatChart(hconcat=charts, spacing=24)


def _amounts(group: SummaryGroup) -> tuple[float, float, float]:
    return float(group.n), group.total_seconds, group.token_seconds


def _bar(name: str, what: str, item: Interval) -> Mapping[str, Any]:
    value = item.value
    return {
        "group": name,
        "what": what,
        "y": value,
        "low": None if value is None or item.low is None else max(item.low, 0.0),
        "high": None if value is None or item.high is None else min(item.high, 1.0),
        "share": percent_interval(item),
        "label": "-" if value is None else percent(value),
    }


def _bars(title: str, rows: Sequence[Mapping[str, Any]], order: Sequence[str], *, first: bool) -> alt.LayerChart:
    import altair as alt

    color = alt.Color(
        "what:N",
        scale=alt.Scale(domain=list(_WHAT), range=[COLORS[0], COLORS[4], COLORS[2]]),
        legend=alt.Legend(title="share of", orient="bottom", direction="horizontal"),
    )
    y_axis = alt.Axis(title=None, labelLimit=220, ticks=False, labels=first, domain=True)
    y = alt.Y("group:N", sort=list(order), axis=y_axis, scale=alt.Scale(paddingInner=0.25))
    offset = alt.YOffset("what:N", sort=list(_WHAT), scale=alt.Scale(domain=list(_WHAT)))
    x_axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    scale = alt.Scale(domain=[0, 1.22], nice=False)
    x = alt.X("y:Q", title="share", axis=x_axis, scale=scale)
    base = alt.Chart(rows_of(rows))
    tips = [alt.Tooltip("group:N"), alt.Tooltip("what:N", title="share of"), alt.Tooltip("share:N")]
    bars = base.mark_bar().encode(x=x, y=y, yOffset=offset, color=color, tooltip=tips)
    whiskers = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.2)
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y, yOffset=offset)
    )
    # the number stands right of the bar and of its whisker
    texts = (
        base.transform_calculate(end="max(isValid(datum.high) ? datum.high : 0, isValid(datum.y) ? datum.y : 0)")
        .mark_text(fontSize=9, align="left", dx=4)
        .encode(x=alt.X("end:Q", scale=scale), y=y, yOffset=offset, text=alt.Text("label:N"))
    )
    height = max(len(order), 1) * (3 * _BAR + 8)
    chart: alt.LayerChart = alt.LayerChart(layer=[bars, whiskers, texts]).properties(
        width=_WIDTH, height=height, title=panel_title(title, [], _WIDTH)
    )
    return chart


def _bins(result: SummaryResult) -> alt.TopLevelMixin:
    """Draw TraceLab's latency bins: shares of calls against shares of time."""
    import altair as alt

    figures = result.tracelab or {}
    order = [drawn(row.get("label")) for row in figures["latency_bins"]]
    rows = [
        {"bin": drawn(row.get("label")), "what": what, "y": row.get(name)}
        for row in figures["latency_bins"]
        for what, name in (("calls", "call_share"), ("time", "latency_share"))
        if row.get(name) is not None
    ]
    color = alt.Color(
        "what:N",
        scale=alt.Scale(domain=["calls", "time"], range=[COLORS[0], COLORS[4]]),
        legend=alt.Legend(title="share of", orient="top"),
    )
    mark = alt.Chart(rows_of(rows)).mark_bar()
    chart: alt.Chart = mark.encode(
        x=alt.X("bin:N", sort=order, title="effective latency", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("what:N"),
        y=alt.Y("y:Q", title="share", axis=alt.Axis(format="%")),
        color=color,
    ).properties(width=560, height=280)
    title = heading("TraceLab: where calls and time lie", [*made(result.head), *result.head.notes], result.head, 620)
    return finished(chart, title)
