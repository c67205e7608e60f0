"""The tornado of each conclusion: how far its ratio moves with each constant and rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_simulation import ratio_words
from tracestat.charts.table_verdict_rows import change_words, flip_words
from tracestat.charts.verdict_panels import GAIN_LINE, lines_of, nothing
from tracestat.charts.verdict_words import key_label
from tracestat.charts.words import plain
from tracestat.results.verdicts import SensitivityRow, SensitivityVerdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_sensitivity"]

_WIDTH, _LINE = 300, 20
_PANELS, _BARS = 10, 14
_FARTHEST = 5.0


def draw_sensitivity(verdict: SensitivityVerdict) -> alt.TopLevelMixin:
    """Draw a tornado per conclusion and configuration: bars from the base to the ratio under the change."""
    import altair as alt

    title = "How each conclusion moves with each constant and rule"
    head = verdict.head
    groups: dict[tuple[str, str, str], list[SensitivityRow]] = {}
    for row in verdict.rows:
        if row.base.value is not None and row.changed.value is not None:
            groups.setdefault((row.policy, row.over, key_label(row.key)), []).append(row)
    if not groups:
        why = nothing(verdict, "no configuration differs from another in one change alone")
        return finished(message(why), heading(title, lines_of(verdict), head, 560))
    panels = [_tornado(name, rows) for name, rows in list(groups.items())[:_PANELS]]
    more = [
        f"bar: from the ratio as it is to that under the change, medians over seeds; the {_BARS} that move most; dark "
        "outline: a flip of sign or size; dashed: a gain of 10 %",
        *([f"{len(panels)} of {len(groups)} tornados are drawn"] if len(panels) < len(groups) else []),
    ]
    columns = 2 if len(panels) > 1 else 1
    chart = alt.concat(*panels, columns=columns, spacing=26)
    return finished(chart, heading(title, lines_of(verdict, *more), head, columns * (_WIDTH + 190)))


def _line(row: SensitivityRow) -> str:
    """Name the line of a change: more and less of one constant share it."""
    return plain(row.value.partition("=")[0]) if row.what == "change" else change_words(row)


def _direction(row: SensitivityRow) -> str:
    if row.what != "change":
        return "another rule"
    return "constant up" if float(row.value.partition("=")[2]) > 1 else "constant down"


def _tornado(name: tuple[str, str, str], rows: Sequence[SensitivityRow]) -> alt.LayerChart:
    import altair as alt

    data: list[dict[str, Any]] = []
    for row in rows:
        base, changed = row.base.value, row.changed.value
        if base is None or changed is None:
            continue
        data.append(
            {
                "line": _line(row),
                "from": min(base, _FARTHEST),
                "to": min(changed, _FARTHEST),
                "of": _direction(row),
                "half": "b" if _direction(row) == "constant down" else "a",
                "flips": bool(flip_words(row).strip("-")),
                "said": f"{change_words(row)}: {ratio_words(row.base)} to {ratio_words(row.changed)} {flip_words(row)}",
                "size": abs(changed - base),
            }
        )
    widest: dict[str, float] = {}
    for item in data:
        widest[item["line"]] = max(widest.get(item["line"], 0.0), item["size"])
    lines = sorted(widest, key=lambda line: -widest[line])[:_BARS]
    data = [item for item in data if item["line"] in lines]
    base_value = data[0]["from"]
    axis = alt.Axis(labelExpr="'×' + format(datum.value, '~g')", labelOverlap="greedy", tickCount=6)
    ends = [item[field] for item in data for field in ("from", "to")]
    scale = alt.Scale(domain=[min([0.88, *ends]) - 0.01, max([1.02, *ends]) + 0.01], nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="ratio of p99", axis=axis, scale=scale)

    kinds = ["constant up", "constant down", "another rule"]
    color = alt.Color(
        "of:N",
        scale=alt.Scale(domain=kinds, range=list(COLORS[:3])),
        legend=alt.Legend(title=None, orient="top"),
    )
    y = alt.Y("line:N", sort=lines, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=170))
    stroke = alt.condition("datum.flips", alt.value("black"), alt.value("transparent"))
    bars = alt.Chart(rows_of(data)).mark_bar(opacity=0.85, strokeWidth=1.4)
    # more and less of a constant stand below each other, since both may move the ratio the same way
    half = alt.YOffset("half:N", sort=["a", "b"], scale=alt.Scale(domain=["a", "b"], paddingInner=0.1))
    bars = bars.encode(x=x("from"), x2="to:Q", y=y, yOffset=half, color=color, stroke=stroke, tooltip=["said:N"])
    at = [(1.0, INK, []), (GAIN_LINE, GREY, [4, 3]), (base_value, COLORS[3], [])]
    rules = [
        alt.Chart(rows_of([{"at": value}])).mark_rule(color=c, strokeDash=d or alt.Undefined).encode(x=x("at"))
        for value, c, d in at
    ]
    policy, over, place = name
    made: alt.LayerChart = alt.LayerChart(layer=[*rules[:2], bars, rules[2]]).properties(
        width=_WIDTH,
        height=max(_LINE * len(lines), 40),
        title=panel_title(f"{policy} over {over}: {place}", (), _WIDTH),
    )
    return made
