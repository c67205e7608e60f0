"""Parts that the charts of verdicts share: ratios as dots with intervals on a logarithmic axis, a line per name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, GREY, INK, panel_title, rows_of
from tracestat.charts.table_simulation import ratio_words
from tracestat.charts.verdict_words import how_judged
from tracestat.results import SeedMedian
from tracestat.results.verdicts import Verdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["GAIN_LINE", "clipped", "dot", "lines_of", "nothing", "ratio_axis", "ratio_panel", "x_rule"]

GAIN_LINE = 0.9
_FARTHEST = 100.0
_FINE = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0)
_COARSE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def nothing(verdict: Verdict, why: str) -> str:
    """Say why there is nothing to draw."""
    return f"nothing to draw: {'; '.join(verdict.remarks) or why}"


def lines_of(verdict: Verdict, *more: str) -> list[str]:
    """Give the lines below the title of a chart."""
    return [*how_judged(verdict), *more, *verdict.remarks, *verdict.head.notes]


def clipped(value: float | None) -> float | None:
    """Bring a ratio onto the axis; what is not above 0 has no place on it."""
    return None if value is None or value <= 0 else min(max(value, 1 / _FARTHEST), _FARTHEST)


def dot(name: str, of: str, item: SeedMedian, *, sure: bool = True) -> dict[str, Any]:
    """Give the data of one dot.

    Parameters
    ----------
    name : str
        Of its line.
    of : str
        Of its colour.
    item : SeedMedian
    sure : bool
        Drawn full; else hollow.
    """
    return {
        "name": name,
        "of": of,
        "x": clipped(item.value),
        "low": clipped(item.low),
        "high": clipped(item.high),
        "said": ratio_words(item),
        "sure": sure,
    }


def ratio_axis(rows: Sequence[dict[str, Any]], text: str) -> tuple[Any, Any]:
    """Give scale and axis that hold all dots, intervals, 1 and the gain of 10 %."""
    import altair as alt

    known = [row[field] for row in rows for field in ("x", "low", "high") if row.get(field) is not None]
    low, high = min([0.8, *known]) / 1.04, max([1.2, *known]) * 1.04
    fine = math.log(high / low) < math.log(5)
    ticks = [tick for tick in (_FINE if fine else _COARSE) if low <= tick <= high]
    axis = alt.Axis(values=ticks, labelExpr="'×' + format(datum.value, '~g')", labelOverlap="greedy", title=text)
    return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True), axis


def x_rule(at: float, x: Any, color: str = INK, dash: Sequence[int] = ()) -> Any:
    """Give a line across a panel."""
    import altair as alt

    mark = alt.Chart(rows_of([{"at": at}])).mark_rule(color=color, strokeDash=list(dash) or alt.Undefined)
    return mark.encode(x=x("at"))


def ratio_panel(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    kinds: Sequence[str],
    title: str,
    text: str,
    *,
    width: int = 400,
    step: int = 11,
    legend: bool = True,
    gain: bool = True,
    labels: bool = True,
    marks: Sequence[dict[str, Any]] = (),
) -> alt.LayerChart:
    """Draw dots with intervals: a line per name, within it a place and a colour per kind.

    Parameters
    ----------
    rows : sequence of dict
        As `dot` makes them.
    names, kinds : sequence of str
        In order.
    title, text : str
        Of the panel and of its axis.
    width, step : int
        Pixels, and those of a dot's own line.
    legend, gain, labels : bool
        Whether colours are explained, the gain of 10 % is drawn, and the lines are named.
    marks : sequence of dict
        ``name``, ``x`` of published values.
    """
    import altair as alt

    scale, axis = ratio_axis([*rows, *marks], text)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q")

    # one layer says axis and scale for all: every further axis would be copied with each step of a chart of panels
    axis_y = alt.Axis(ticks=False, domain=False, grid=True, labelLimit=330, labels=labels)
    first_x = alt.X("x:Q", axis=axis, scale=scale, title=text)
    first_y = alt.Y("name:N", sort=list(names), scale=alt.Scale(domain=list(names)), title=None, axis=axis_y)
    y = alt.Y("name:N")
    colors = [COLORS[i % len(COLORS)] for i in range(len(kinds))]
    explained = alt.Legend(title=None, orient="top", columns=8) if legend and len(kinds) > 1 else None
    color = alt.Color("of:N", scale=alt.Scale(domain=list(kinds), range=colors), legend=explained)
    offset = alt.YOffset("of:N", sort=list(kinds), scale=alt.Scale(domain=list(kinds), paddingOuter=0.3))
    base = alt.Chart(rows_of(rows)).encode(y=y, yOffset=alt.YOffset("of:N"), color=alt.Color("of:N"))
    ranged = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    intervals = ranged.mark_rule(strokeWidth=3, opacity=0.55).encode(x=x("low"), x2="high:Q")
    tips = ["name:N", "of:N", alt.Tooltip("said:N", title="ratio")]
    known = base.transform_filter("isValid(datum.x)")
    full = known.transform_filter("datum.sure").mark_point(filled=True, size=45, opacity=1)
    full = full.encode(x=first_x, y=first_y, yOffset=offset, color=color, tooltip=tips)
    hollow = known.transform_filter("!datum.sure").mark_point(filled=False, size=38, opacity=1, strokeWidth=1.3)
    layers = [x_rule(1.0, x)]
    layers += [x_rule(GAIN_LINE, x, GREY, (4, 3))] if gain else []
    layers += [intervals, full, hollow.encode(x=x("x"), tooltip=tips)]
    if marks:
        drawn = alt.Chart(rows_of(marks)).mark_point(shape="diamond", size=70, color=INK, opacity=1, strokeWidth=1.5)
        layers.append(drawn.encode(x=x("x"), y=y, tooltip=["name:N", "said:N"]))
    height = max(len(names) * (step * max(len(kinds), 1) + 8), 60)
    made: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=width, height=height, title=panel_title(title, (), width)
    )
    return made
