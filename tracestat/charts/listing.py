"""The charts of ``keys`` and ``calls``: plain bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import key_words, made
from tracestat.charts.style import COLORS, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_listing import local_time, what_ran
from tracestat.charts.words import count, distinct, drawn, seconds, shorten
from tracestat.results import CallsResult, KeysResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_calls", "draw_keys"]

_MOST_CALLS = 30
_LINE = 22
_KEY_WIDTH = 170
_UNITS = ((172_800.0, 86_400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def draw_calls(result: CallsResult) -> alt.TopLevelMixin:
    """Draw the longest waits as bars, the longest first.

    Parameters
    ----------
    result : CallsResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = f"The longest {f'{head.unit}s' if head.unit else 'waits'}"
    waits = [wait for wait in result.calls if wait.get("seconds") is not None][:_MOST_CALLS]
    lines = made(head)
    if not waits:
        return finished(message("none: nothing is left to list"), heading(title, [*lines, *head.notes], head, 560))
    if len(waits) < len(result.calls):
        lines.append(f"{len(waits)} of {count(len(result.calls))}")
    longest = max(float(wait["seconds"]) for wait in waits)
    _, size, unit = next(item for item in _UNITS if longest >= item[0])
    rows: list[dict[str, Any]] = [
        {
            "place": f"{number}. {shorten(drawn(what_ran(wait)), 44)}",
            "x": float(wait["seconds"]) / size,
            "label": f"{seconds(float(wait['seconds']))}, {local_time(wait.get('started_at'), head)}",
            "end": drawn(wait.get("end_kind") or "(none)"),
            "session": drawn(wait.get("session") or "(none)"),
        }
        for number, wait in enumerate(waits, 1)
    ]
    ends = list(dict.fromkeys(row["end"] for row in rows))
    color = alt.Color(
        "end:N",
        scale=alt.Scale(domain=ends, range=[COLORS[i % len(COLORS)] for i in range(len(ends))]),
        legend=alt.Legend(title="end kind", orient="top"),
    )
    most = 1.0 if longest == 0 else longest / size
    x = alt.X("x:Q", title=f"duration, {unit}", scale=alt.Scale(domain=[0, 1.45 * most], nice=False))
    axis = alt.Axis(title=None, labelLimit=340, ticks=False)
    y = alt.Y("place:N", sort=[row["place"] for row in rows], axis=axis)
    base = alt.Chart(rows_of(rows))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    bars = base.mark_bar(height=_LINE - 8).encode(x=x, y=y, color=color, tooltip=tips)
    texts = base.mark_text(align="left", dx=5, fontSize=10).encode(x=x, y=y, text=alt.Text("label:N"))
    layered: alt.LayerChart = alt.LayerChart(layer=[bars, texts]).properties(width=460, height=_LINE * len(rows))
    lines += [f"beside each bar: how long, and when it started (time in {drawn(head.zone)})", *head.notes]
    return finished(layered, heading(title, lines, head, 720))


_TIPS = (("place", "what ran"), ("label", "how long, since"), ("session", "session"), ("end", "end kind"))


def draw_keys(result: KeysResult) -> alt.TopLevelMixin:
    """Draw the most frequent values of every key, a small panel each.

    Parameters
    ----------
    result : KeysResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = "Keys for --by and --where, with their most frequent values"
    lines = [*made(head), *head.notes]
    filled = [item for item in result.keys if item.get("values")]
    empty = [key_words(str(item.get("key"))) for item in result.keys if not item.get("values")]
    if empty:
        lines.append(f"without values here: {', '.join(empty)}")
    if not filled:
        return finished(message("no keys: nothing is left to count"), heading(title, lines, head, 560))
    panels = [_panel(item) for item in filled]
    chart = alt.concat(*panels, columns=2, spacing=24)
    return finished(chart, heading(title, lines, head, 700))


def _panel(item: Mapping[str, Any]) -> alt.LayerChart:
    import altair as alt

    values = item["values"]
    names = distinct(("(none)" if value["value"] is None else str(value["value"]) for value in values), 24)
    rows = [
        {"value": name, "rows": value["rows"], "label": count(value["rows"])}
        for name, value in zip(names, values, strict=True)
    ]
    most = max(value["rows"] for value in values) or 1
    y = alt.Y("value:N", sort=names, axis=alt.Axis(title=None, labelLimit=180, ticks=False))
    x = alt.X("rows:Q", title="rows", scale=alt.Scale(domain=[0, 1.3 * most], nice=False), axis=alt.Axis(tickCount=3))
    base = alt.Chart(rows_of(rows))
    bars = base.mark_bar(color=COLORS[0], height=_LINE - 9).encode(x=x, y=y)
    texts = base.mark_text(align="left", dx=4, fontSize=10).encode(x=x, y=y, text=alt.Text("label:N"))
    number = int(item.get("n_values") or 0)
    title = f"{key_words(str(item['key']))} ({number:,} {'value' if number == 1 else 'values'})"
    chart: alt.LayerChart = alt.LayerChart(layer=[bars, texts]).properties(
        width=_KEY_WIDTH, height=_LINE * len(rows), title=panel_title(title, [], _KEY_WIDTH)
    )
    return chart
