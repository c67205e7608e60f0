"""The panels of the chart of ``forecast evaluate``: skill, coverage, tenths of the forecast distribution, horizons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.forecast_words import cut_interval
from tracestat.charts.style import COLORS, GREY, INK, panel_title, rows_of, time_axis
from tracestat.charts.words import count
from tracestat.results import ForecastEvaluation, Interval, MethodEvaluation

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "calibration_panel",
    "horizon_panel",
    "main_methods",
    "pit_panel",
    "skill_by_landmark",
    "skill_by_quantile",
]

# baselines that stand beside ours in the chart; the tables have all
_MAIN = ("tool", "continuum-paper", "effective counts", "mixing k=20", "weibull aft")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDE, _HIGH = 450, 240
_COVERAGE, _PIT, _HORIZONS = 260, 250, 350
_QUANTILE = "0.9"
_LEAST = -40.0
_ENOUGH_ROWS = 20
_MEASURED = (("who", "method"), ("at", "at"), ("text", "cut, percent"), ("n", "rows"))


def main_methods(result: ForecastEvaluation, provider: str, split: str) -> list[MethodEvaluation]:
    """Give the methods that are drawn: the main baselines, then ours."""
    found = {m.name: m for m in result.of(provider, split) if m.kind == "distribution"}
    names = [name for name in (*_MAIN, result.ours) if name in found]
    return [found[name] for name in dict.fromkeys(names)]


def _color(names: Sequence[str], words: Sequence[str], *, legend: bool = True) -> alt.Color:
    """Give the colours of the methods; ours, the last, stands out."""
    import altair as alt

    colors = [*COLORS[1 : len(names)], COLORS[0]]
    return alt.Color("who:N", scale=alt.Scale(domain=list(words), range=colors), legend=_legend() if legend else None)


def _legend() -> alt.Legend:
    import altair as alt

    return alt.Legend(title=None, orient="top", direction="horizontal", columns=6, symbolOpacity=1)


def _shape(names: Sequence[str], words: Sequence[str], *, legend: bool = True) -> alt.Shape:
    import altair as alt

    shapes = [*_SHAPES[1 : len(names)], _SHAPES[0]]
    return alt.Shape("who:N", scale=alt.Scale(domain=list(words), range=shapes), legend=_legend() if legend else None)


def _cell(who: str, x: str, at: str, item: Interval | None, n: int, *, own: bool) -> Mapping[str, Any] | None:
    if item is None or item.value is None or n < _ENOUGH_ROWS:
        return None
    low, high = (None, None) if not own else (item.low, item.high)
    return {
        "who": who,
        "x": x,
        "at": at,
        "y": item.value,
        "low": None if low is None else max(low, _LEAST),
        "high": high,
        "text": cut_interval(item),
        "n": count(n),
    }


def _skill(
    cells: Sequence[Mapping[str, Any]],
    marks: Sequence[str],
    axis: str,
    title: alt.TitleParams,
    encodings: tuple[alt.Color, alt.Shape],
) -> alt.LayerChart:
    import altair as alt

    color, shape = encodings
    x = alt.X("x:N", sort=list(marks), title=axis, axis=alt.Axis(labelAngle=0), scale=alt.Scale(paddingOuter=0.2))
    values = [v for cell in cells for v in (cell["y"], cell["low"], cell["high"]) if v is not None]
    # one method that fails badly must not flatten the others
    low, high = max(min([0.0, *values]) - 3, _LEAST), max([5.0, *values]) + 3
    scale = alt.Scale(domain=[low, high], clamp=True, nice=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="skill, percent", scale=scale)

    # the rows stand once, at the panel: a chart of charts copies what its parts hold many times over
    base = alt.Chart()
    zero = alt.Chart(rows_of([{"y": 0.0}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y("y"))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _MEASURED]
    layers = [
        zero,
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.4)
        .encode(x=x, y=y("low"), y2=alt.Y2("high:Q"), color=color),
        base.mark_line(strokeWidth=1.6).encode(x=x, y=y("y"), color=color),
        base.mark_point(filled=True, size=44, opacity=1).encode(x=x, y=y("y"), color=color, shape=shape, tooltip=tips),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers, data=rows_of(cells)).properties(
        width=_WIDE, height=_HIGH, title=title
    )
    return chart


def skill_by_quantile(
    methods: Sequence[MethodEvaluation], own: MethodEvaluation, names: Sequence[str], words: Sequence[str]
) -> alt.LayerChart:
    """Draw the skill when the pause starts, by quantile."""
    shown = dict(zip(names, words, strict=True))
    marks: dict[str, None] = {}
    cells = []
    for m in methods:
        start = m.at(0.0)
        for p, item in start.skill.items() if start else ():
            marks[p] = None
            cell = _cell(shown[m.name], p, "after 0 s", item, start.n_pinball if start else 0, own=m is own)
            cells += [cell] if cell else []
    title = panel_title("Skill when the pause starts, by quantile", [], _WIDE)
    return _skill(cells, list(marks), "quantile of the forecast", title, (_color(names, words), _shape(names, words)))


def skill_by_landmark(
    methods: Sequence[MethodEvaluation], own: MethodEvaluation, names: Sequence[str], words: Sequence[str]
) -> alt.LayerChart:
    """Draw the skill of the upper quantile, by the time already waited."""
    shown = dict(zip(names, words, strict=True))
    marks: dict[str, None] = {}
    cells = []
    for m in methods:
        for at in m.landmarks:
            x = f"{at.elapsed:g} s"
            if at.n_pinball >= _ENOUGH_ROWS:
                marks[x] = None
            cell = _cell(shown[m.name], x, f"after {x}", at.skill.get(_QUANTILE), at.n_pinball, own=m is own)
            cells += [cell] if cell else []
    title = panel_title("Skill of the 0.9 quantile, by the time already waited", [], _WIDE)
    return _skill(cells, list(marks), "time already waited", title, (_color(names, words), _shape(names, words)))


def calibration_panel(own: MethodEvaluation) -> alt.LayerChart | None:
    """Draw how far coverage is from nominal, a line per landmark."""
    import altair as alt

    if own.calibration is None:
        return None
    n = {f"{at.elapsed:g}": at.n for at in own.landmarks}
    cells: list[dict[str, Any]] = [
        {"at": f"{float(elapsed):g} s", "x": p, "y": 100 * (share - float(p)), "share": f"{share:.3f}"}
        for elapsed, shares in own.calibration.coverage.items()
        for p, share in shares.items()
        if share is not None and n.get(elapsed, 0) >= _ENOUGH_ROWS
    ]
    if not cells:
        return None
    marks, levels = (list(dict.fromkeys(str(cell[name]) for cell in cells)) for name in ("at", "x"))
    far = max(5.0, *(1.1 * abs(cell["y"]) for cell in cells))
    x = alt.X("x:N", sort=levels, title="quantile forecast", axis=alt.Axis(labelAngle=0))
    y = alt.Y("y:Q", title="points above nominal", scale=alt.Scale(domain=[-far, far], nice=False))
    color = alt.Color(
        "at:N",
        sort=marks,
        scale=alt.Scale(domain=marks, range=[*COLORS, GREY][: len(marks)]),
        legend=alt.Legend(title="after", orient="right", symbolOpacity=1),
    )
    base = alt.Chart()
    tips = [alt.Tooltip(f"{name}:N", title=text) for name, text in (("at", "after"), ("x", "p"), ("share", "ended"))]
    layers = [
        alt.Chart(rows_of([{"y": 0.0}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y),
        base.mark_line(strokeWidth=1.2, opacity=0.7).encode(x=x, y=y, color=color),
        base.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y, color=color, tooltip=tips),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers, data=rows_of(cells)).properties(
        width=_COVERAGE - 40, height=_HIGH, title=panel_title("Coverage of ours less nominal", [], _COVERAGE)
    )
    return chart


def pit_panel(own: MethodEvaluation) -> alt.LayerChart | None:
    """Draw the share of the rows in each tenth of the forecast distribution."""
    import altair as alt

    if own.calibration is None or not own.calibration.pit:
        return None
    n = len(own.calibration.pit)
    cells = [{"x": k / n, "x2": (k + 1) / n, "y": share} for k, share in enumerate(own.calibration.pit)]
    x = alt.X("x:Q", title="tenth of the forecast distribution", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", title="share of rows", scale=alt.Scale(domainMin=0), axis=alt.Axis(format=".0%", tickCount=5))
    bars = (
        alt.Chart(rows_of(cells))
        .mark_rect(color=COLORS[5], stroke="white")
        .encode(
            x=x,
            x2=alt.X2("x2:Q"),
            y=y,
            y2=alt.datum(0),
            tooltip=[alt.Tooltip("y:Q", format=".3f", title="share of rows")],
        )
    )
    even = alt.Chart(rows_of([{"y": 1 / n}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(y=y)
    chart: alt.LayerChart = alt.LayerChart(layer=[bars, even]).properties(
        width=_PIT - 30, height=_HIGH, title=panel_title("Where rows fall in ours", [], _PIT)
    )
    return chart


def horizon_panel(
    methods: Sequence[MethodEvaluation], names: Sequence[str], words: Sequence[str]
) -> alt.LayerChart | None:
    """Draw the Brier skill of the share still paused, by horizon."""
    import altair as alt

    shown = dict(zip(names, words, strict=True))
    cells: list[dict[str, Any]] = [
        {"who": shown[m.name], "x": float(h), "y": max(score.skill, _LEAST)}
        for m in methods
        for h, score in m.horizons.items()
        if score.skill is not None and (score.observed or 0.0) * m.landmarks[0].n >= _ENOUGH_ROWS
    ]
    if not cells:
        return None
    times = [cell["x"] for cell in cells]
    x = time_axis("x", "time since the pause began", (min(times), max(times)))
    y = alt.Y("y:Q", title="Brier skill, percent")
    color, shape = _color(names, words, legend=False), _shape(names, words, legend=False)
    base = alt.Chart()
    zero = alt.Chart(rows_of([{"y": 0.0}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y)
    layers = [
        zero,
        base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=color),
        base.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y, color=color, shape=shape),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers, data=rows_of(cells)).properties(
        width=_HORIZONS, height=_HIGH, title=panel_title("Still paused or not, by horizon", [], _HORIZONS)
    )
    return chart
