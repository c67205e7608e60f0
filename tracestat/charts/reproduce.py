"""The chart of ``reproduce``: ours over the published number, with interval and range, on a log scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.published_words import ours_words, printed_words, range_words
from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_reproduce import THEMES
from tracestat.charts.words import counted, distinct
from tracestat.results import ReproducedFigure, ReproduceResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_reproduce"]

_WIDTH, _LINE = 460, 21
_LABEL = 62
_MOST = 60
_NAMES = {"claude": "Claude: ", "codex": "Codex: "}
_COLORS = {
    "agrees": COLORS[2],
    "overlaps": COLORS[0],
    "higher": COLORS[1],
    "lower": COLORS[4],
    "differs": COLORS[3],
}
_SHAPES = {
    "agrees": "circle",
    "overlaps": "circle",
    "higher": "triangle-up",
    "lower": "triangle-down",
    "differs": "cross",
}
_TICKS = (0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 100.0, 1000.0)
_TICK_LABEL = "datum.value >= 1 ? '×' + format(datum.value, '~g') : '×' + format(datum.value, '~g')"
_TIPS = (
    ("label", "figure"),
    ("id", "id"),
    ("published", "published"),
    ("ours", "ours"),
    ("range", "range over definitions"),
    ("verdict", "verdict"),
    ("definition", "definition"),
)


def draw_reproduce(result: ReproduceResult) -> alt.TopLevelMixin:
    """Draw the rows to show that have a ratio, a panel per theme.

    Parameters
    ----------
    result : ReproduceResult

    Returns
    -------
    altair chart
        Dot: ours under the first definition; thick line: its interval; thin line: range over all definitions; grey
        band: the rounding of the published number.
    """
    import altair as alt

    head = result.head
    rows = result.rows
    having = [row for row in rows if row.ours.value is not None and row.published is not None]
    able = [row for row in having if _ratio(row, row.ours.value) is not None]
    drawn = able[:_MOST]
    title = "Published figures: ours over the published number"
    lines = [
        f"trace {head.trace.path}: {head.trace.rounds:,} rounds, {head.trace.tool_calls:,} tool calls",
        *head.notes,
        "dot: under the stated or most likely definition; thick line: its 95 % interval; thin line: range over all "
        "definitions; grey band: the rounding of the published number",
    ]
    left = [
        *([f"{counted(len(able) - len(drawn), 'figure')} more than are drawn"] if len(able) > len(drawn) else []),
        *(
            [f"{counted(len(having) - len(able), 'figure')} without a ratio (a zero, or another sign)"]
            if len(having) > len(able)
            else []
        ),
        *(
            [f"{counted(len(rows) - len(having), 'figure')} without a number of ours"]
            if len(rows) > len(having)
            else []
        ),
    ]
    if left:
        lines.append(f"not drawn: {'; '.join(left)}")
    if not drawn:
        return finished(message("no figure has a ratio to draw"), heading(title, lines, head, 560))
    methods = sorted({row.ours.method.partition(" ")[0] for row in drawn if row.ours.low is not None})
    if methods:
        lines.append(f"95 % intervals are clustered by {' or '.join(methods)}")
    labels = dict(
        zip(
            (row.id for row in drawn),
            distinct(
                (f"{_NAMES.get(row.provider or '', '')}{row.statement}, {printed_words(row)}" for row in drawn), _LABEL
            ),
            strict=True,
        )
    )
    domain = _domain(drawn)
    panels = []
    for theme, words in THEMES.items():
        part = [row for row in drawn if row.theme == theme]
        if part:
            panels.append(_panel(part, drawn, labels, domain, words))
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(color="shared", shape="shared")
    return finished(chart, heading(title, lines, head, _WIDTH + 330))


def _ratio(row: ReproducedFigure, value: float | None) -> float | None:
    if value is None or not row.published:
        return None
    ratio = value / row.published
    return ratio if ratio > 0 and math.isfinite(ratio) else None


def _ends(row: ReproducedFigure, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Give two bounds as ratios, the lesser first; one that is open, 0 or of another sign goes to an edge."""
    ratios = sorted(x for x in (_ratio(row, low), _ratio(row, high)) if x is not None)
    if not ratios:
        return None, None
    if len(ratios) == 2:
        return ratios[0], ratios[1]
    away = (high is None) if (row.published or 0.0) > 0 else (low is None)
    return (ratios[0], math.inf) if away else (0.0, ratios[0])


def _domain(rows: Sequence[ReproducedFigure]) -> tuple[float, float]:
    ratios = [r for row in rows for r in (_ratio(row, row.ours.value), *_ends(row, *(row.range or (None, None)))) if r]
    ratios = [r for r in ratios if 1e-4 < r < 1e4]
    return min(0.4, 0.8 * min(ratios, default=1.0)), max(2.5, 1.25 * max(ratios, default=1.0))


def _panel(
    rows: Sequence[ReproducedFigure],
    shown: Sequence[ReproducedFigure],
    labels: Mapping[str, str],
    domain: tuple[float, float],
    title: str,
) -> alt.LayerChart:
    import altair as alt

    def clipped(value: float | None) -> float | None:
        return None if value is None else min(max(value, domain[0]), domain[1])

    data: list[dict[str, Any]] = []
    for row in rows:
        low, high = (clipped(x) for x in _ends(row, row.ours.low, row.ours.high))
        least, most = (clipped(x) for x in _ends(row, *(row.range or (None, None))))
        below, above = (clipped(x) for x in _ends(row, row.published_low, row.published_high))
        data.append(
            {
                "label": labels[row.id],
                "id": row.id,
                "x": clipped(_ratio(row, row.ours.value)),
                "low": low,
                "high": high,
                "least": least,
                "most": most,
                "below": below,
                "above": above,
                "published": printed_words(row),
                "ours": ours_words(row.ours, row.unit),
                "range": range_words(row.range, row.unit),
                "verdict": row.verdict,
                "definition": row.definition or "",
            }
        )
    names = [labels[row.id] for row in rows]
    axis = alt.Axis(
        values=[t for t in _TICKS if domain[0] <= t <= domain[1]], labelExpr=_TICK_LABEL, labelOverlap="greedy"
    )
    scale = alt.Scale(type="log", domain=list(domain), nice=False, clamp=True)
    y = alt.Y("label:N", sort=names, title=None, axis=alt.Axis(labelLimit=400, ticks=False, domain=False, grid=True))

    def x(field: str, words: str = "") -> alt.X:
        return alt.X(f"{field}:Q", title=words or None, axis=axis, scale=scale)

    verdicts = list(_COLORS)
    seen = [verdict for verdict in verdicts if any(row.verdict == verdict for row in shown)]
    color = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=verdicts, range=list(_COLORS.values())),
        legend=alt.Legend(title=None, orient="right", symbolOpacity=1, values=seen),
    )
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=verdicts, range=list(_SHAPES.values())), legend=None)
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    base = alt.Chart(rows_of(data)).encode(y=y)
    words = "ours over published (log scale)"
    band = base.mark_bar(color=GREY, opacity=0.35, height=_LINE - 5).encode(x=x("below", words), x2=alt.X2("above:Q"))
    one = alt.Chart(rows_of([{"one": 1.0}])).mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x("one", words))
    spread = base.mark_rule(strokeWidth=1).encode(x=x("least", words), x2=alt.X2("most:Q"), color=color)
    interval = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3.5, opacity=0.75)
    interval = interval.encode(x=x("low", words), x2=alt.X2("high:Q"), color=color)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=x("x", words), color=color, shape=shape, tooltip=tips
    )
    layers: alt.LayerChart = alt.LayerChart(layer=[band, one, spread, interval, dots]).properties(
        width=_WIDTH, height=_LINE * len(names), title=panel_title(title, (), _WIDTH)
    )
    return layers
