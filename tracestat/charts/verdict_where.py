"""The chart of the oracle's gain: a map per card and load, with the border of 10 % and the machines' own places."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tracestat.charts.style import INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_verdict_where import gain_words, tier_words
from tracestat.charts.verdict_panels import lines_of, nothing
from tracestat.charts.verdict_words import key_label, short_hardware, whole_percent
from tracestat.results.verdicts import MachinePoint, WhereMap, WhereVerdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["borders", "draw_where"]

_WIDTH, _LINE = 330, 34
_MOST = 8
_SPAN = 0.3  # gains beyond it have the colour of the end
_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def draw_where(verdict: WhereVerdict) -> alt.TopLevelMixin:
    """Draw the first maps; a place is a rectangle around its reload ratio and tier."""
    import altair as alt

    title = "What an oracle gains over LRU in p99, by the price of a reload and the size of the tier"
    head = verdict.head
    maps = [drawn for drawn in verdict.maps if drawn.n_known][:_MOST]
    if not maps:
        why = nothing(verdict, "no place has both P1 and P5-B")
        return finished(message(why), heading(title, lines_of(verdict), head, 560))
    more = [
        "colour and number: 1 less the median over seeds of p99 of P5-B over that of P1, in %; ~ not stable; "
        "black line: border of 10 %; dashed: a machine's own reload of 32,768 tokens",
        *([f"{len(maps)} of {len(verdict.maps)} maps are drawn"] if len(maps) < len(verdict.maps) else []),
    ]
    panels = [_map(drawn, _own(drawn, verdict)) for drawn in maps]
    columns = 2 if len(panels) > 1 else 1
    chart = alt.concat(*panels, columns=columns, spacing=24)
    return finished(chart, heading(title, lines_of(verdict, *more), head, columns * (_WIDTH + 90)))


def _own(drawn: WhereMap, verdict: WhereVerdict) -> list[MachinePoint]:
    """Give the machines that belong on a map: the user's on each, a card on its own and where no card has one."""
    name = drawn.key.get("hardware")
    return [point for point in verdict.machines if point.yours or point.name == name] or list(verdict.machines)


def _edges(values: list[float]) -> list[float]:
    """Give the borders between places on a logarithmic axis, and the outer ones."""
    if len(values) == 1:
        return [values[0] / 1.5, values[0] * 1.5]
    inner = [math.sqrt(a * b) for a, b in pairwise(values)]
    return [values[0] ** 2 / inner[0], *inner, values[-1] ** 2 / inner[-1]]


def borders(inside: list[list[bool | None]], edges: list[float]) -> list[dict[str, float]]:
    """Give the edges between places above 10 % and others; rows are tiers from below.

    Parameters
    ----------
    inside : list of list of bool or None
        By row and column; None has no border.
    edges : list of float
        Of the columns.

    Returns
    -------
    list of dict
        Ends ``x``, ``x2``, ``y``, ``y2``; the rows are 1 high.

    Examples
    --------
    >>> borders([[False, True]], [1.0, 2.0, 4.0])
    [{'x': 2.0, 'x2': 2.0, 'y': 0, 'y2': 1}]
    """
    out: list[dict[str, float]] = []
    for r, row in enumerate(inside):
        for c, own in enumerate(row):
            right = row[c + 1] if c + 1 < len(row) else None
            above = inside[r + 1][c] if r + 1 < len(inside) else None
            if own is not None and right is not None and own != right:
                out.append({"x": edges[c + 1], "x2": edges[c + 1], "y": r, "y2": r + 1})
            if own is not None and above is not None and own != above:
                out.append({"x": edges[c], "x2": edges[c + 1], "y": r + 1, "y2": r + 1})
    return out


def _map(drawn: WhereMap, machines: list[MachinePoint]) -> alt.LayerChart:
    import altair as alt

    tiers = sorted({cell.times_pool for cell in drawn.cells})
    ratios = sorted({cell.reload_ratio for cell in drawn.cells if cell.reload_ratio}) or [0.05]
    edges = _edges(ratios)
    place = {(cell.reload_ratio, cell.times_pool): cell for cell in drawn.cells}
    inside: list[list[bool | None]] = []
    data: list[dict[str, Any]] = []
    for row, tier in enumerate(tiers):
        # without a tier nothing is reloaded: one place over all prices
        cells = [place.get((ratio, tier)) or place.get((None, tier)) for ratio in ratios]
        inside.append([None if cell is None else cell.inside for cell in cells])
        for column, cell in enumerate(cells):
            if cell is None or cell.gain.value is None:
                continue
            data.append(
                {
                    "x": edges[column],
                    "x2": edges[column + 1],
                    "mid": ratios[column],
                    "y": row,
                    "y2": row + 1,
                    "center": row + 0.5,
                    "gain": cell.gain.value,
                    "text": f"{'~' if cell.stable is False else ''}{whole_percent(cell.gain.value)}",
                    "said": f"{gain_words(cell)} %",
                    "strong": abs(cell.gain.value) > 0.7 * _SPAN,
                }
            )
    low, high = (
        min([edges[0], *(m.reload_ratio / 1.1 for m in machines)]),
        max([edges[-1], *(m.reload_ratio * 1.1 for m in machines)]),
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axis = alt.Axis(values=ticks, format="~g", grid=False, labelOverlap="greedy")
    words = "[" + ", ".join(f"'{tier_words(tier)}'" for tier in tiers) + "]"
    y_axis = alt.Axis(
        values=[i + 0.5 for i in range(len(tiers))], labelExpr=f"{words}[floor(datum.value)]", grid=False, ticks=False
    )
    y_scale = alt.Scale(domain=[0, len(tiers)], nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis, title="reload over recompute, 32,768 tokens (log scale)")

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=y_axis, title="host tier over the pool")

    color = alt.Color(
        "gain:Q",
        scale=alt.Scale(domain=[-_SPAN, 0, _SPAN], range=["#D55E00", "#f7f7f7", "#0072B2"], clamp=True),
        legend=alt.Legend(title="gain", format="+.0%", values=[-_SPAN, -0.1, 0, 0.1, _SPAN], gradientLength=110),
    )
    base = alt.Chart(rows_of(data))
    boxes = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        x=x("x"), x2="x2:Q", y=y("y"), y2="y2:Q", color=color, tooltip=[alt.Tooltip("said:N", title="gain")]
    )
    ink = alt.condition("datum.strong", alt.value("white"), alt.value(INK))
    texts = base.mark_text(fontSize=11).encode(x=x("mid"), y=y("center"), text="text:N", color=ink)
    layers: list[Any] = [boxes, texts]
    lines = borders(inside, edges)
    if lines:
        rule = alt.Chart(rows_of(lines)).mark_rule(color="black", strokeWidth=2.5, strokeCap="round")
        layers.append(rule.encode(x=x("x"), x2="x2:Q", y=y("y"), y2="y2:Q"))
    if machines:
        marked = [
            {
                "at": m.reload_ratio,
                "name": f"{short_hardware(m.name)}{' (yours)' if m.yours else ''}",
                "top": len(tiers),
            }
            for m in machines
        ]
        marks = alt.Chart(rows_of(marked))
        layers.append(marks.mark_rule(color=INK, strokeDash=[5, 3], strokeWidth=1.3).encode(x=x("at")))
        layers.append(
            marks.mark_text(align="left", dx=3, dy=-5, fontSize=10, color=INK, clip=False, angle=0).encode(
                x=x("at"), y=y("top"), text="name:N"
            )
        )
    made: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=_WIDTH, height=_LINE * len(tiers), title=panel_title(key_label(drawn.key), (" ",), _WIDTH)
    )
    return made
