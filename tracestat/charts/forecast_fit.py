"""The chart of ``forecast fit``: how likely each precision makes the data, level by level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import key_words, made
from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_forecast_fit import kappa_words, path_words, provider_words, weight_words
from tracestat.charts.words import count, counted
from tracestat.results import ForecastFit, ForecastPath, ForecastProvider

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_forecast_fit"]

_MOST = 12
_WIDTH, _HEIGHT = 380, 240
_COLORS = (*COLORS, INK, GREY, "#8C564B", "#000080")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
# below, one cannot be told from another
_DEEPEST = -2000.0


def draw_forecast_fit(result: ForecastFit) -> alt.TopLevelMixin:
    """Draw the profile of the log likelihood over kappa, a panel per provider and hierarchy, the maximum marked.

    Parameters
    ----------
    result : ForecastFit

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = "How far keys differ: log likelihood over the precision kappa"
    every = [(p, path) for p in result.providers for path in p.paths]
    shown = every[:_MOST]
    lines = made(head)
    if len(shown) < len(every):
        lines.append(f"the first {len(shown)} of {count(len(every))} hierarchies")
    lines += [
        "distance below the maximum, on a scale that is linear near 0 and logarithmic far from it; dots: the maximum",
        "left: every key stands for itself; right: the keys of a level do not differ",
        *(f"{provider_words(p)}: {'; '.join(p.notes)}" for p in result.providers if p.notes),
        *head.notes,
    ]
    if not any(level.profile for _, path in shown for level in path.levels):
        return finished(message("no profile to draw"), heading(title, lines, head, 560))
    names = list(dict.fromkeys(key_words(level.key) for _, path in shown for level in path.levels))
    panels = [_panel(provider, path, names) for provider, path in shown]
    rows = [alt.hconcat(*panels[i : i + 2], spacing=40) for i in range(0, len(panels), 2)]
    chart = alt.vconcat(*rows, spacing=28).resolve_scale(color="shared", shape="shared")
    width = _WIDTH * min(len(panels), 2) + 150
    return finished(chart, heading(title, lines, head, width))


def _panel(provider: ForecastProvider, path: ForecastPath, names: Sequence[str]) -> alt.LayerChart:
    import altair as alt

    curves, peaks = _rows(path)
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1)
    colors = [_COLORS[i % len(_COLORS)] for i in range(len(names))]
    color = alt.Color("level:N", scale=alt.Scale(domain=list(names), range=colors), sort=None, legend=legend)
    shapes = [_SHAPES[(i + i // len(_SHAPES)) % len(_SHAPES)] for i in range(len(names))]
    shape = alt.Shape("level:N", scale=alt.Scale(domain=list(names), range=shapes), sort=None, legend=legend)
    x = alt.X(
        "kappa:Q",
        title="kappa",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.1, 1, 10, 100, 1000, 1e4, 1e5], format=",~g"),
    )
    y = alt.Y(
        "below:Q",
        title="log likelihood - maximum",
        scale=alt.Scale(type="symlog", domain=[_DEEPEST, 0], clamp=True),
        axis=alt.Axis(values=[-1000, -100, -10, -1, 0]),
    )
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS]
    line = alt.Chart(rows_of(curves)).mark_line(strokeWidth=1.6, clip=True).encode(x=x, y=y, color=color)
    dots = (
        alt.Chart(rows_of(peaks))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=color, shape=shape, tooltip=tips)
    )
    told = [path_words(path), counted(path.n_rows, "row"), *_weights(provider, path)]
    title = panel_title(provider_words(provider), told, _WIDTH, rows=4 if provider.pool is not None else 3)
    chart: alt.LayerChart = alt.LayerChart(layer=[line, dots]).properties(width=_WIDTH, height=_HEIGHT, title=title)
    return chart


def _weights(provider: ForecastProvider, path: ForecastPath) -> Iterator[str]:
    """Say how far a hierarchy is believed in the pool."""
    for each in provider.pool.weights[:-1] if provider.pool is not None and path.rounds == "all" else ():
        if each.keys == path.keys:
            seen, unseen = weight_words(each.seen), weight_words(each.unseen)
            yield f"weight in the pool {seen}; {unseen} for a developer not seen"


_TIPS = (("level", "level"), ("at", "kappa"), ("keys", "keys seen"), ("note", "note"))


def _rows(path: ForecastPath) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Give the points of the curves, and the maximum of each."""
    curves: list[Mapping[str, Any]] = []
    peaks: list[Mapping[str, Any]] = []
    for level in path.levels:
        name = key_words(level.key)
        points = sorted([*level.profile, (math.log(level.kappa), level.log_likelihood)])
        curves += [
            {"level": name, "kappa": math.exp(x), "below": max(min(y - level.log_likelihood, 0.0), _DEEPEST)}
            for x, y in points
        ]
        told = {"at": kappa_words(level.kappa), "keys": count(level.n_keys), "note": level.note or "-"}
        peaks.append({"level": name, "kappa": level.kappa, "below": 0.0, **told})
    return curves, peaks
