"""The chart of ``forecast predict``: the share that still runs, from now on, against what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, GREY, finished, heading, rows_of, time_axis
from tracestat.charts.table_forecast_prediction import about, named_level, window_words
from tracestat.charts.words import percent, seconds
from tracestat.results import AtomAhead, ForecastPrediction

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_forecast_prediction"]

_WIDTH, _HEIGHT = 640, 340
_ROOM = 1.3  # so that a jump at the end stands clear of the edge
_TIPS = (("what", "who answers"), ("at", "from now"), ("share", "still runs"))
_ATOM_TIPS = (("what", "what"), ("at", "from now"), ("reached", "reached"), ("ends", "ends there, of those"))


def draw_forecast_prediction(result: ForecastPrediction) -> alt.TopLevelMixin:
    """Draw the survival curve of the remaining time on an axis of log time, with what lies ahead.

    Parameters
    ----------
    result : ForecastPrediction

    Returns
    -------
    altair chart
    """
    import altair as alt

    own = "together" if result.calls else named_level(result.answered_by)
    curves = [(own, result.survival), *((named_level(each.name), each.survival) for each in reversed(result.parents))]
    domain = _domain(result)
    x = time_axis("x", "time from now", domain)
    y = alt.Y("y:Q", title="share that still runs", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    names = [name for name, _ in curves]
    color = alt.Color(
        "what:N",
        scale=alt.Scale(domain=names, range=[*COLORS, GREY, GREY, GREY][: len(names)]),
        sort=None,
        legend=alt.Legend(title=None, orient="top"),
    )
    width = alt.condition("datum.first", alt.value(2.6), alt.value(1.2))
    rows = [row for i, (name, curve) in enumerate(curves) for row in _rows(name, curve, domain, first=i == 0)]
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS]
    base = alt.Chart(rows_of(rows))
    # points in the order of the curve: a jump is two of one time
    line = base.mark_line().encode(x=x, y=y, color=color, order=alt.Order("order:Q"), strokeWidth=width)
    dots = (
        base.transform_filter("datum.first")
        .mark_point(size=14, filled=True)
        .encode(x=x, y=y, color=color, tooltip=tips)
    )
    layers: list[Any] = [*_marks(result.atoms, x, domain), line, dots]
    chart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT)
    title = f"Remaining time after a wait of {result.elapsed:,.10g} s" if result.elapsed else "Time until the return"
    lines = [*about(result), *(["grey: deadlines ahead"] if result.atoms else []), *result.notes, *result.head.notes]
    return finished(chart, heading(title, lines, result.head, _WIDTH + 60))


def _domain(result: ForecastPrediction) -> tuple[float, float]:
    """Show from where the curve begins to fall to where next to nothing runs."""
    points = [(t, s) for t, s in result.survival if t > 0]
    start = max((t for t, s in points if s > 0.995), default=points[0][0])
    end = next((t for t, s in points if s < 0.005), points[-1][0])
    return min(start, end / 10), end * _ROOM


def _rows(
    name: str, curve: Sequence[tuple[float, float]], domain: tuple[float, float], *, first: bool
) -> list[Mapping[str, Any]]:
    return [
        {"what": name, "x": t, "y": s, "order": i, "first": first, "at": seconds(t), "share": percent(s)}
        for i, (t, s) in enumerate(curve)
        if domain[0] <= t <= domain[1]
    ]


def _marks(atoms: Sequence[AtomAhead], x: alt.X, domain: tuple[float, float]) -> list[Any]:
    import altair as alt

    rows = [
        {
            "x": max(atom.from_now[0], domain[0]),
            "x2": min(atom.from_now[1], domain[1]),
            "what": atom.kind,
            "at": window_words(atom.from_now),
            "reached": percent(atom.reached),
            "ends": percent(atom.hazard),
        }
        for atom in atoms
        if atom.from_now[0] <= domain[1] and atom.from_now[1] >= domain[0]
    ]
    if not rows:
        return []
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in _ATOM_TIPS]
    marks = alt.Chart(rows_of(rows)).mark_rect(color=GREY, opacity=0.25, stroke=GREY, strokeWidth=0.8)
    return [marks.encode(x=x, x2=alt.X2("x2:Q"), tooltip=tips)]
