"""The charts of ``summary --section``: figures as dots with intervals, and the time-out sweep as curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, clustered, group_notes, in_words
from tracestat.charts.style import COLORS, finished, heading, message, panel_title, rows_of, time_axis
from tracestat.charts.table_sections import MORE, section_caption, written
from tracestat.charts.words import count, counted, distinct, drawn, seconds
from tracestat.results import Interval, SectionFigure, SectionGroup, SectionResult, TimeoutSweep

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_cache", "draw_commands", "draw_sessions"]

_MOST = 3
_WIDTH, _ROW, _HEIGHT = 560, 17, 150
_RULES = (("tracelab", "TraceLab's rules"), ("tracestat", "ours"))
_TIMES = (
    *("session_seconds.p50", "session_seconds.p99", "request_seconds.p50", "request_seconds.p90"),
    *("generation_seconds.p50", "generation_seconds.p90", "tool_call_seconds.p50", "tool_call_seconds.p90"),
    *("human_wait_seconds.p50", "human_wait_seconds.p90", "human_wait_seconds.p99"),
)
_SHARES = (
    *("time_share.human", "time_share.generation", "time_share.tools", "time_share.asked"),
    *("time_share_cap1h.human", "time_share_cap1h.generation", "time_share_cap1h.tools"),
    *("request_share.generation", "request_share.tools", "sessions.compacted"),
)
_HITS = ("hit_rate", "hit_rate.after_user", "hit_rate.after_tool", "fresh_share", "saved_append_share")
_MOST_EXECUTABLES = 15
_BEYOND = 1.5  # how far behind the largest bound the edge lies that stands for none


def draw_sessions(result: SectionResult) -> alt.TopLevelMixin:
    """Draw shares of time and durations of sessions, by TraceLab's rules and by ours."""
    return _drawn(result, "Sessions: where the time goes, and how long things last", _session_panels)


def draw_cache(result: SectionResult) -> alt.TopLevelMixin:
    """Draw hit rates, and hit rate, storage and prefill over the time-out."""
    return _drawn(result, "Prefix cache: hits, and what a time-out would do", _cache_panels)


def draw_commands(result: SectionResult) -> alt.TopLevelMixin:
    """Draw how long the calls and the commands of single executables last."""
    return _drawn(result, "Commands: how long calls and whole processes of one executable last", _command_panels)


def _drawn(result: SectionResult, title: str, panels: Any) -> alt.TopLevelMixin:
    import altair as alt

    head = result.head
    usable = [group for group in result.groups if group.n_sessions]
    groups, _ = arrange(usable, "n", _MOST)
    lines = section_caption(head)
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most steps, of {count(len(usable))}")
    drawn_panels = [panel for group in groups for panel in panels(group)]
    notes = [*group_notes(groups), *head.notes]
    if not drawn_panels:
        return finished(message("nothing to draw: no session is left"), heading(title, [*lines, *notes], head, 560))
    bands = _bands(groups)
    chart = alt.vconcat(*drawn_panels, spacing=24).resolve_scale(color="independent", y="independent", x="independent")
    return finished(chart, heading(title, [*lines, *bands, *notes], head, _WIDTH + 250))


def _bands(groups: Sequence[SectionGroup]) -> list[str]:
    """Say by what the intervals are clustered, for both rules where they differ."""
    lab, own = (
        clustered((in_words(group), getattr(figure, rule)) for group in groups for figure in group.figures)
        for rule, _ in _RULES
    )
    if lab is None or lab == own:
        return [own] if own else []
    return [f"ours: {own}"] * (own is not None) + [f"by TraceLab's rules: {lab}"]


def _size(group: SectionGroup) -> str:
    return f"{counted(group.n_sessions, 'session')}, {counted(group.n_developers, 'developer')}"


def _session_panels(group: SectionGroup) -> list[alt.LayerChart]:
    name = in_words(group)
    return [
        *_dots(_chosen(group, _SHARES), f"Shares, {name}", [_size(group)], share=True),
        *_dots(_chosen(group, _TIMES), f"Durations, {name}", [], share=False),
    ]


def _chosen(group: SectionGroup, names: Iterable[str]) -> list[SectionFigure]:
    by_name = {figure.name: figure for figure in group.figures if figure.item is None}
    return [by_name[name] for name in names if name in by_name]


def _rows_of_figure(figure: SectionFigure, label: str, values: Mapping[str, Interval]) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "rule": rule,
            "x": item.value,
            "low": item.low,
            "high": item.high,
            "text": written(item, figure.unit),
        }
        for rule, item in values.items()
        if item.value is not None
    ]


def _dots(figures: Sequence[SectionFigure], title: str, lines: Sequence[str], *, share: bool) -> list[alt.LayerChart]:
    labels = distinct((figure.what.strip() for figure in figures), 44)
    rows = [
        row
        for figure, label in zip(figures, labels, strict=True)
        for row in _rows_of_figure(figure, label, {words: getattr(figure, rule) for rule, words in _RULES})
    ]
    return _dot_panel(rows, labels, [words for _, words in _RULES], title, lines, share=share)


def _dot_panel(
    rows: Sequence[dict[str, Any]],
    labels: Sequence[str],
    series: Sequence[str],
    title: str,
    lines: Sequence[str],
    *,
    share: bool,
) -> list[alt.LayerChart]:
    import altair as alt

    kept = [row for row in rows if share or row["x"] > 0]
    shown = [label for label in labels if any(row["label"] == label for row in kept)]
    if not kept:
        return []
    if share:
        most = max([1.0, *(1.02 * (row["high"] or row["x"]) for row in kept)])
        if any(row["x"] > 1.0 for row in kept):
            lines = [*lines, MORE]
        kept = [{**row, **{end: _clipped(row[end], most) for end in ("low", "high")}} for row in kept]
        axis = alt.Axis(format=".0%", title="share")
        x: Any = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[0, most], nice=False))
    else:
        low = min(min(row["x"], row["low"] or row["x"]) for row in kept)
        high = max(max(row["x"], row["high"] or row["x"]) for row in kept)
        if any(row["low"] is not None and row["high"] is None for row in kept):
            lines = [*lines, "a bar that ends at the right edge has no upper bound"]
            high *= _BEYOND
        x = time_axis("x", "time", (max(low, 1e-3), max(high, 2 * max(low, 1e-3))))
        kept = [_ended(row, low, high) for row in kept]
    color = alt.Color(
        "rule:N",
        scale=alt.Scale(domain=list(series), range=list(COLORS[: len(series)])),
        legend=alt.Legend(title=None, orient="right"),
        sort=None,
    )
    y = alt.Y("label:N", sort=shown, title=None, axis=alt.Axis(labelLimit=330, ticks=False, domain=False))
    offset = alt.YOffset("rule:N", sort=list(series))
    tips = [
        alt.Tooltip("label:N", title="figure"),
        alt.Tooltip("rule:N", title="by"),
        alt.Tooltip("text:N", title="is"),
    ]
    base = alt.Chart(rows_of(kept))
    bars = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.6, opacity=0.7)
        .encode(x=_at(x, "low"), x2=alt.X2("high:Q"), y=y, yOffset=offset, color=color)
    )
    shape = alt.Shape("rule:N", scale=alt.Scale(domain=list(series)), sort=None, legend=None)
    points = base.mark_point(filled=True, size=38, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=color, shape=shape, tooltip=tips
    )
    height = 2 * _ROW * len(shown) if len(series) > 1 else _ROW * len(shown)
    chart = alt.LayerChart(layer=[bars, points]).properties(
        width=_WIDTH, height=height, title=panel_title(title, lines, _WIDTH)
    )
    return [chart]


def _ended(row: dict[str, Any], low: float, high: float) -> dict[str, Any]:
    """Let an interval without an upper bound reach the edge, and none begin at zero."""
    if row["low"] is None:
        return row
    return {**row, "low": max(row["low"], low), "high": high if row["high"] is None else row["high"]}


def _at(x: Any, field: str) -> Any:
    """Give the same axis for another field."""
    other = x.copy()
    other.shorthand = f"{field}:Q"
    return other


def _clipped(value: float | None, most: float) -> float | None:
    return None if value is None else min(max(value, 0.0), most)


def _cache_panels(group: SectionGroup) -> list[Any]:
    import altair as alt

    name = in_words(group)
    panels: list[Any] = list(_dots(_chosen(group, _HITS), f"Shares of tokens, {name}", [_size(group)], share=True))
    sweeps = [sweep for sweep in group.sweeps if sweep.n_steps]
    if not sweeps:
        return panels
    lines = [
        f"{dict(_RULES)[sweep.rule]}: {counted(sweep.n_steps, 'step')}; the deployed cache is worth a time-out of "
        f"{'-' if sweep.effective_timeout.value is None else seconds(sweep.effective_timeout.value)}"
        for sweep in sweeps
    ]
    parts = [
        *_sweep_panel(sweeps, "hit_rate", "hit rate", "deployed_hit_rate"),
        *_sweep_panel(sweeps, "storage_ratio", "storage ratio", None),
        *_sweep_panel(sweeps, "amplification", "prefilled per fresh", "deployed_amplification"),
    ]
    title = panel_title(f"An ideal cache that evicts after a time-out, {name}", [*lines, _DASHES], _WIDTH)
    panels.append(alt.vconcat(*parts, spacing=10).properties(title=title))
    return panels


_DASHES = "dashed: the deployed cache on the same steps; bands and bars are intervals"


def _sweep_panel(sweeps: Sequence[TimeoutSweep], name: str, words: str, deployed: str | None) -> list[alt.LayerChart]:
    """Draw a number of the sweep over the time-out; nothing where no time-out has it."""
    import altair as alt

    rows = [
        {
            "rule": dict(_RULES)[sweep.rule],
            "x": point.timeout_seconds,
            "y": item.value,
            "low": item.low if item.low is None or item.low > 0 or name != "amplification" else 1.0,
            "high": item.high,
            "at": seconds(point.timeout_seconds),
            "text": written(item, "share" if name == "hit_rate" else "ratio"),
        }
        for sweep in sweeps
        for point in sweep.points
        for item in [getattr(point, name)]
        if item.value is not None
    ]
    if not rows:
        return []
    series = [words_of for rule, words_of in _RULES if any(sweep.rule == rule for sweep in sweeps)]
    color = alt.Color(
        "rule:N",
        scale=alt.Scale(domain=series, range=list(COLORS[: len(series)])),
        legend=alt.Legend(title=None, orient="right"),
        sort=None,
    )
    times = [row["x"] for row in rows]
    x = time_axis("x", "time-out", (min(times), max(times)))
    axis = alt.Axis(format=".0%") if name == "hit_rate" else alt.Axis(tickCount=5)
    scale = alt.Scale(zero=name != "hit_rate", nice=True)
    if name == "amplification":
        scale = alt.Scale(type="log", domain=[1, max(2.0, *(row["high"] or row["y"] for row in rows))], nice=False)
    y = alt.Y("y:Q", title=words, axis=axis, scale=scale)
    base = alt.Chart(rows_of(rows))
    tips = [
        alt.Tooltip("rule:N", title="by"),
        alt.Tooltip("at:N", title="time-out"),
        alt.Tooltip("text:N", title=words),
    ]
    band = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(opacity=0.18)
        .encode(x=x, y=_at(y, "low"), y2=alt.Y2("high:Q"), color=color)
    )
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=color)
    shape = alt.Shape("rule:N", scale=alt.Scale(domain=series), sort=None, legend=None)
    dots = base.mark_point(filled=True, size=32, opacity=1).encode(x=x, y=y, color=color, shape=shape, tooltip=tips)
    layers: list[Any] = [band, line, dots]
    if deployed is not None:
        level = [
            {"rule": dict(_RULES)[sweep.rule], "y": getattr(sweep, deployed).value}
            for sweep in sweeps
            if getattr(sweep, deployed).value is not None
        ]
        layers.append(alt.Chart(rows_of(level)).mark_rule(strokeDash=[5, 4], strokeWidth=1.2).encode(y=y, color=color))
    return [alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT)]


def _command_panels(group: SectionGroup) -> list[alt.LayerChart]:
    found = {(figure.name, figure.item): figure for figure in group.figures}
    items = [figure.item for figure in group.figures if figure.name == "command_seconds.p50"][:_MOST_EXECUTABLES]
    labels = distinct((item or "all" for item in items), 34)
    series = [
        ("call_seconds.p50", "call, half"),
        ("command_seconds.p50", "command, half"),
        ("command_seconds.p90", "command, 90 %"),
    ]
    rows = []
    for item, label in zip(items, labels, strict=True):
        for name, words in series:
            figure = found.get((name, item))
            if figure is not None:
                rows += _rows_of_figure(figure, label, {words: figure.tracestat})
    lines = [f"our rules; {_size(group)}; by the wall clock, the most frequent first"]
    return _dot_panel(
        rows, labels, [words for _, words in series], drawn(f"Executables, {in_words(group)}"), lines, share=False
    )
