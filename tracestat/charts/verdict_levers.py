"""The chart of engine settings, as the article's figures 4, 6 and 7: effects, ratios in the band, and what it resolves.

Below them the map of the prefill cap by the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_verdict_levers import effect_label, size_words
from tracestat.charts.verdict_panels import lines_of, nothing
from tracestat.charts.verdict_where import borders
from tracestat.charts.verdict_words import key_label
from tracestat.charts.words import distinct
from tracestat.results.verdicts import CapMap, LeverEffect, LeversVerdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_levers"]

_WIDTH, _LINE = 190, 20
_MOST, _MAPS = 40, 6
_LABEL = 48
_BAND = 0.15
_FARTHEST = 4.0
_NUDGE = "article.sim_vs_engine.sensitivity"


def draw_levers(verdict: LeversVerdict) -> alt.TopLevelMixin:
    """Draw the first effects: change, ratio with the article's band, and the width of both; then the maps."""
    import altair as alt

    title = "Levers: the wait for the first token after a tool, on against off"
    head = verdict.head
    known = [effect for effect in verdict.effects if effect.ratios["tail_mean"].median.value is not None]
    # what the article ran comes first; a lever on top of another one last
    effects = sorted(known, key=lambda e: (bool(e.key), not e.checks, e.lever, e.load, e.shrink, e.times_pool))[:_MOST]
    # levers of one kind stand together
    effects.sort(key=lambda e: (bool(e.key), e.lever, e.load, e.shrink, e.times_pool))
    if not effects:
        why = nothing(verdict, "no two runs differ in one lever alone")
        return finished(message(why), heading(title, lines_of(verdict), head, 560))
    names = distinct((effect_label(effect) for effect in effects), _LABEL)
    more = [
        "dot: median over our seeds; thick line: 10 to 90 % of the seeds; thin line: all seeds; diamond: the article's "
        "engine; grey: 0.15 either side of it; scatter beside the width of that band and beside what a nudge of the "
        "article's constants moves a ratio by",
        *(
            [f"{len(effects)} of {len(verdict.effects)} effects are drawn"]
            if len(effects) < len(verdict.effects)
            else []
        ),
    ]
    panels: list[Any] = [
        _changes(effects, names),
        *(_ratios(effects, names, measure) for measure in ("tail_mean", "p95", "p50")),
        _widths(effects, names, verdict),
    ]
    chart = alt.hconcat(*panels, spacing=12)
    maps = [_map(drawn) for drawn in verdict.maps[:_MAPS]]
    rows = [chart, alt.concat(*maps, columns=3, spacing=24)] if maps else [chart]
    return finished(alt.vconcat(*rows, spacing=24), heading(title, lines_of(verdict, *more), head, 5 * _WIDTH + 220))


def _y(names: list[str], *, labels: bool = False) -> alt.Y:
    """Give the lines of a panel; one layer of it says so for all, the others name the field."""
    import altair as alt

    axis = alt.Axis(ticks=False, domain=False, grid=True, labelLimit=330, labels=labels)
    return alt.Y("name:N", sort=tuple(names), scale=alt.Scale(domain=tuple(names)), title=None, axis=axis)


def _titled(layers: list[Any], names: list[str], title: str, *lines: str) -> alt.LayerChart:
    import altair as alt

    made: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=_WIDTH, height=max(_LINE * len(names), 60), title=panel_title(title, lines, _WIDTH, rows=2)
    )
    return made


def _changes(effects: list[LeverEffect], names: list[str]) -> alt.LayerChart:
    """Draw changes in percent, as figure 4: of the tail mean, or of what the article printed for the lever."""
    import altair as alt

    bars, marks = [], []
    for effect, name in zip(effects, names, strict=True):
        measures = [check.measure for check in effect.checks]
        measure = measures[0] if measures else "tail_mean"
        ours = effect.ratios[measure].median
        if ours.value is None:
            continue
        bars.append({"name": name, "x": min(ours.value, _FARTHEST) - 1, "of": measure.replace("_", " ")})
        marks += [
            {"name": name, "x": check.ratio - 1, "said": f"{check.figure.says} {check.figure.printed}"}
            for check in effect.checks
            if check.measure == measure
        ]
    axis = alt.Axis(format="+.0%", labelOverlap="greedy")

    x = alt.X("x:Q", title="left is better", axis=axis)

    color = alt.Color(
        "of:N",
        scale=alt.Scale(domain=["tail mean", "p95", "p50"], range=list(COLORS[:3])),
        legend=alt.Legend(title=None, orient="top"),
    )
    base = alt.Chart(rows_of(bars)).mark_bar(height=9, opacity=0.85).encode(x=x, y=_y(names, labels=True), color=color)
    zero = alt.Chart(rows_of([{"at": 0.0}])).mark_rule(color=INK).encode(x=alt.X("at:Q"))
    layers: list[Any] = [base, zero]
    if marks:
        layers.append(_diamonds(marks))
    return _titled(layers, names, "Change (figure 4)", "bar: our median")


def _diamonds(marks: list[dict[str, Any]]) -> alt.Chart:
    import altair as alt

    drawn = alt.Chart(rows_of(marks)).mark_point(shape="diamond", size=60, color=INK, opacity=1, strokeWidth=1.5)
    made: alt.Chart = drawn.encode(x=alt.X("x:Q"), y=alt.Y("name:N"), tooltip=["name:N", "said:N"])
    return made


def _ratios(effects: list[LeverEffect], names: list[str], measure: str) -> alt.LayerChart:
    """Draw our seeds and the published ratio with its band, as figure 6."""
    import altair as alt

    rows, marks = [], []
    for effect, name in zip(effects, names, strict=True):
        item = effect.ratios[measure]
        if item.median.value is None or item.median.least is None or item.median.most is None:
            continue
        ends = {
            "low": item.quantiles["0.1"],
            "high": item.quantiles["0.9"],
            "least": item.median.least,
            "most": item.median.most,
        }
        rows.append(
            {"name": name, "x": min(item.median.value, _FARTHEST), **{k: min(v, _FARTHEST) for k, v in ends.items()}}
        )
        marks += [
            {
                "name": name,
                "x": check.ratio,
                "from": check.ratio - _BAND,
                "to": check.ratio + _BAND,
                "said": f"{check.figure.says} {check.figure.printed}",
            }
            for check in effect.checks
            if check.measure == measure
        ]
    axis = alt.Axis(labelExpr="'×' + format(datum.value, '~g')", labelOverlap="greedy")
    scale = alt.Scale(zero=False, clamp=True)

    first = alt.X("x:Q", title="on over off, same seed", axis=axis, scale=scale)
    base = alt.Chart(rows_of(rows)).encode(y=alt.Y("name:N"))
    layers: list[Any] = []
    if marks and measure != "p50":
        band = alt.Chart(rows_of(marks)).mark_bar(color=GREY, opacity=0.28, height=16)
        layers.append(band.encode(x=alt.X("from:Q"), x2="to:Q", y=alt.Y("name:N")))
    layers += [
        base.mark_rule(color=COLORS[0], strokeWidth=1).encode(x=alt.X("least:Q"), x2="most:Q"),
        base.mark_rule(color=COLORS[0], strokeWidth=4, opacity=0.6).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1, color=COLORS[0]).encode(x=first, y=_y(names)),
        alt.Chart(rows_of([{"at": 1.0}])).mark_rule(color=INK).encode(x=alt.X("at:Q")),
    ]
    if marks:
        layers.append(_diamonds(marks))
    figure = " (figure 6)" if measure == "tail_mean" else ""
    return _titled(layers, names, f"{measure.replace('_', ' ')}{figure}")


def _widths(effects: list[LeverEffect], names: list[str], verdict: LeversVerdict) -> alt.LayerChart:
    """Draw how wide our seeds scatter beside the band, as figure 7."""
    import altair as alt

    rows = []
    for effect, name in zip(effects, names, strict=True):
        told = effect.ratios["tail_mean"].quantiles
        rows.append({"name": name, "x": min(told["0.9"] - told["0.1"], _FARTHEST)})
    lines = [{"at": 2 * _BAND, "text": "band"}]
    lines += [{"at": f.value, "text": "nudge"} for f in verdict.published if f.id == _NUDGE]

    x = alt.X("x:Q", title="width, ratio of tail mean")
    bars = alt.Chart(rows_of(rows)).mark_bar(height=9, color=COLORS[0], opacity=0.8).encode(x=x, y=_y(names))
    marks = alt.Chart(rows_of(lines))
    rules = marks.mark_rule(color=COLORS[1], strokeDash=[4, 3], strokeWidth=1.5).encode(x=alt.X("at:Q"))
    texts = marks.mark_text(align="left", dx=4, dy=-6, color=COLORS[1], fontSize=10, clip=False)
    texts = texts.encode(x=alt.X("at:Q"), y=alt.value(0), text="text:N")
    return _titled([bars, rules, texts], names, "Scatter (figure 7)", "middle 80 % of our seeds")


def _map(drawn: CapMap) -> alt.LayerChart:
    """Draw the ratio by cap and pool, with the line between help and harm."""
    import altair as alt

    factors = sorted({cell.pool_factor for cell in drawn.cells})
    caps = sorted({cell.threshold for cell in drawn.cells})
    place = {(cell.threshold, cell.pool_factor): cell for cell in drawn.cells}
    rows, harms = [], []
    for r, cap in enumerate(caps):
        line: list[bool | None] = []
        for c, factor in enumerate(factors):
            cell = place.get((cap, factor))
            value = None if cell is None else cell.ratio.value
            line.append(None if value is None else value > 1)
            if cell is None or value is None:
                continue
            text = f"{'~' if cell.stable is False else ''}{value:.2f}"
            box = {"x": c, "x2": c + 1, "y": r, "y2": r + 1, "mid": c + 0.5, "center": r + 0.5}
            rows.append({**box, "ratio": value, "text": text, "strong": abs(value - 1) > 0.21})
        harms.append(line)

    def axis(values: list[str]) -> alt.Axis:
        names = "[" + ", ".join(f"'{value}'" for value in values) + "]"
        at = [i + 0.5 for i in range(len(values))]
        return alt.Axis(values=at, labelExpr=f"{names}[floor(datum.value)]", grid=False, ticks=False)

    x_axis, y_axis = axis([f"{factor:g}" for factor in factors]), axis([f"{cap:,}" for cap in caps])
    x_scale, y_scale = (alt.Scale(domain=[0, len(some)], nice=False) for some in (factors, caps))

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="pool, times its size", axis=x_axis, scale=x_scale)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="cap, tokens", axis=y_axis, scale=y_scale)

    color = alt.Color(
        "ratio:Q",
        scale=alt.Scale(domain=[0.7, 1, 1.3], range=["#0072B2", "#f7f7f7", "#D55E00"], clamp=True),
        legend=alt.Legend(title="ratio", values=[0.7, 1, 1.3], gradientLength=60),
    )
    base = alt.Chart(rows_of(rows))
    ink = alt.condition("datum.strong", alt.value("white"), alt.value(INK))
    boxes = base.mark_rect(stroke="white", strokeWidth=0.5)
    layers: list[Any] = [
        boxes.encode(x=x("x"), x2="x2:Q", y=y("y"), y2="y2:Q", color=color),
        base.mark_text(fontSize=11).encode(x=x("mid"), y=y("center"), text="text:N", color=ink),
    ]
    lines = borders(harms, [float(i) for i in range(len(factors) + 1)])
    if lines:
        rule = alt.Chart(rows_of(lines)).mark_rule(color="black", strokeWidth=2.5, strokeCap="round")
        layers.append(rule.encode(x=x("x"), x2="x2:Q", y=y("y"), y2="y2:Q"))
    said = f"x{drawn.load:g}, {size_words(drawn.shrink)}, {key_label(drawn.key)}; tail mean over that without"
    words = "line: between help and harm" if lines else "no line between help and harm"
    width = max(48 * len(factors), 2 * _WIDTH // 3)
    made: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=width,
        height=28 * len(caps),
        title=panel_title("Prefill cap by pool", (said, words), width, rows=3),
    )
    return made
