"""The chart of ``simulate run``: each policy over LRU, seed by seed, with the 10 % that count as a gain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_simulation import how_run, ratio_words, seconds_words
from tracestat.charts.words import distinct
from tracestat.results import SimulatedPolicy, SimulationResult

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw_simulation"]

_WIDTH, _LINE = 400, 34
_LABEL = 40
_MOST = 30
_PANELS = {"p99": "99 % point", "tail_mean": "Mean of the slowest 5 %", "p95": "95 % point"}
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_GAIN = 0.9  # a gain of 10 %
_FARTHEST = 100.0


def draw_simulation(result: SimulationResult) -> alt.TopLevelMixin:
    """Draw the wait for the first token after a tool over that under P1, a panel per measure.

    Parameters
    ----------
    result : SimulationResult

    Returns
    -------
    altair chart
        Dot: median over the seeds; thick line: its interval; small marks: the seeds.
    """
    import altair as alt

    head = result.head
    title = "Wait for the first token after a tool, over that under LRU (P1)"
    lines = how_run(result)
    groups = [group for group in result.groups if group.ratio and group.ratio["p99"].value is not None][:_MOST]
    if not groups:
        why = sorted({note for group in result.groups for note in group.notes})
        text = f"nothing to draw: {'; '.join(why) or 'no seed has a ratio'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    lines += [
        "dot: median over the seeds; thick line: its 95 % interval over seeds; grey marks: the single seeds; below 1 "
        "is better, and from the dashed line on a gain of 10 %",
        *head.notes,
    ]
    names = distinct((group.policy for group in groups), _LABEL)
    panels = [_panel(groups, names, result.runs, measure, words) for measure, words in _PANELS.items()]
    return finished(alt.vconcat(*panels, spacing=18), heading(title, lines, head, _WIDTH + 220))


def _seeds(runs: pl.DataFrame, policy: str, measure: str) -> list[float]:
    """Give the ratio of each seed that has one."""
    import polars as pl

    name = f"post_tool_{measure}"
    base = runs.filter(pl.col("policy") == "P1").select("seed", base=name)
    own = runs.filter(pl.col("policy") == policy).select("seed", own=name).join(base, on="seed").sort("seed")
    pairs = own.select("own", "base").drop_nulls().rows()
    return [ours / theirs for ours, theirs in pairs if theirs > 0 and ours > 0]


def _clipped(value: float | None) -> float | None:
    return None if value is None or value <= 0 else min(max(value, 1 / _FARTHEST), _FARTHEST)


def _panel(
    groups: list[SimulatedPolicy], names: list[str], runs: pl.DataFrame, measure: str, words: str
) -> alt.LayerChart:
    import altair as alt

    data: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for group, name in zip(groups, names, strict=True):
        ratio = group.ratio[measure]
        data.append(
            {
                "policy": name,
                "x": _clipped(ratio.value),
                "low": _clipped(ratio.low),
                "high": _clipped(ratio.high),
                "said": ratio_words(ratio),
                "wait": f"{seconds_words(group.ttft[measure])} s",
            }
        )
        marks += [{"policy": name, "x": _clipped(x)} for x in _seeds(runs, group.policy, measure)]
    known = [x for row in (*data, *marks) for x in (row["x"], row.get("low"), row.get("high")) if x is not None]
    low, high = min([0.8, *known]) / 1.05, max([1.25, *known]) * 1.05
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    if math.log(high / low) > math.log(4):
        ticks = [tick for tick in ticks if tick not in (0.7, 0.9, 1.1, 1.5)]
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    axis = alt.Axis(values=ticks, labelExpr="'×' + format(datum.value, '~g')", labelOverlap="greedy")
    text = "over P1 in the same seed (log scale)"

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=text, axis=axis, scale=scale)

    y = alt.Y("policy:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True, labelLimit=260))
    rules = alt.Chart(rows_of([{"at": 1.0}])).mark_rule(color=INK).encode(x=x("at"))
    gain = alt.Chart(rows_of([{"at": _GAIN}])).mark_rule(color=COLORS[2], strokeDash=[4, 3]).encode(x=x("at"))
    seeds = alt.Chart(rows_of(marks)).mark_tick(color=GREY, opacity=0.6, thickness=1, size=14).encode(x=x("x"), y=y)
    base = alt.Chart(rows_of(data)).encode(y=y)
    line = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    interval = line.mark_rule(strokeWidth=4, opacity=0.7, color=COLORS[0]).encode(x=x("low"), x2="high:Q")
    tips = ["policy:N", alt.Tooltip("said:N", title="over P1"), alt.Tooltip("wait:N", title="wait")]
    dots = base.transform_filter("isValid(datum.x)").mark_point(filled=True, size=80, opacity=1, color=COLORS[0])
    dots = dots.encode(x=x("x"), tooltip=tips)
    layers: alt.LayerChart = alt.LayerChart(layer=[rules, gain, seeds, interval, dots]).properties(
        width=_WIDTH, height=_LINE * len(names), title=panel_title(words, (), _WIDTH)
    )
    return layers
