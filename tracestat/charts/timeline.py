"""The chart of ``timeline``: a lane for the model, the person, every parallel call, jobs and sub-agents."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.folding import Fold, Tick, fold, lines_of, ticks_of
from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message
from tracestat.charts.table_timeline import STATE_WORDS, about, local, nothing, what
from tracestat.charts.words import amount, drawn, percent, plain, seconds, shorten
from tracestat.results import Bar, Head, TimelineResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_timeline"]

Data = dict[str, list[dict[str, Any]]]  # rows by the name of the data
_WIDTH, _ROW = 880, 17
_LETTER, _NARROW_LETTER = 6.0, 4.5
_LANES = {"model": "model", "wait": "waits", "tool": "tools", "job": "jobs", "agent": "sub-agents"}
_COLORS = {
    "model": COLORS[0],
    "tool": COLORS[1],
    "poll": COLORS[4],
    "agent": COLORS[3],
    "background": COLORS[5],
    "human": COLORS[2],
    "refused": GREY,
}
_SHAPES = {
    "deadline": "triangle-left",
    "timeout": "triangle-down",
    "refused": "cross",
    "interrupted": "square",
    "superseded": "diamond",
    "lost": "circle",
    "open": "triangle-right",
    "background": "triangle-up",
}
_TIPS = (
    *(("what", "what"), ("lasted", "lasted"), ("when", "began"), ("since", "since the session began")),
    *(("end", "end"), ("round", "round"), ("tokens", "tokens in, out"), ("limit", "asked limit")),
)


def draw_timeline(result: TimelineResult) -> alt.TopLevelMixin:
    """Draw a session on one axis of time, or on several lines where it was long.

    Parameters
    ----------
    result : TimelineResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head, facts = result.head, result.session
    title = f"Session {plain(facts.session)}"
    lines = [*about(result), *head.notes]
    if not result.bars or facts.shown_from is None or facts.shown_until is None or facts.started_at is None:
        return finished(message(nothing(result)), heading(title, lines, head, 560))
    begin = (facts.shown_from - facts.started_at).total_seconds()
    busy = [(bar.elapsed, bar.elapsed + bar.seconds) for bar in result.bars if bar.lane != "wait"]
    end = max(begin + facts.span_seconds, *(bar.elapsed + bar.seconds for bar in result.bars))
    folded = fold(begin, end, busy)
    parts = [
        f"{STATE_WORDS[total.state]} {seconds(total.seconds)} ({percent(total.share)})"
        for total in result.totals
        if total.n
    ]
    lines.insert(2, f"steps: {', '.join(parts)}")
    if folded.quiet:
        shortest = min(b - a for a, b in folded.quiet)
        lines.append(f"grey: stretches of {seconds(shortest)} and more without work are drawn short, with their length")
    data: Data = {}
    panels = [_panel(result, folded, line, data) for line in lines_of(folded)]
    chart: Any = panels[0]
    if len(panels) > 1:
        chart = alt.vconcat(*panels, spacing=14).resolve_scale(color="shared", shape="shared")
    done: Any = finished(chart, heading(title, lines, head, _WIDTH + 60))
    # given by name, since every step of making a chart copies what is in it
    done.datasets = data
    drawing: alt.TopLevelMixin = done
    return drawing


def _named(rows: Sequence[Mapping[str, Any]], name: str, data: Data) -> alt.NamedData:
    import altair as alt

    name = f"{name} {len(data)}"
    data[name] = [dict(row) for row in rows]
    return alt.NamedData(name=name)


def _panel(result: TimelineResult, folded: Fold, line: tuple[float, float], data: Data) -> alt.LayerChart:
    import altair as alt

    low, high = line
    head, zero = result.head, result.session.started_at
    assert zero is not None  # noqa: S101  a session without a time is not drawn
    rows = [row for bar in result.bars for row in _row(bar, folded, line, head)]
    # a line of nothing but a shortened night still has its lanes
    names = [name for name in _names(result) if any(row["lane"] == name for row in rows)] or _names(result)[:1]
    ticks = ticks_of(folded, line, local(zero, head))
    axis = alt.Axis(
        values=[tick.place for tick in ticks],
        labelExpr=_labels(ticks, local(zero, head)),
        labelAlign="left",
        labelOffset=-2,
        labelPadding=3,
        labelOverlap=False,
        title=f"time of day ({drawn(head.zone)}), and time since the session began"
        if high > (1 - 1e-9) * folded.length
        else None,
        titleAnchor="start",
        titleFontSize=10,
        grid=True,
    )
    stretch = alt.Scale(domain=[low, high], nice=False, zero=False, clamp=True)
    x, x_end = (alt.X(f"{field}:Q", axis=axis, scale=stretch) for field in ("a", "b"))
    lanes = alt.Axis(title=None, ticks=False, domain=False, labelPadding=6)
    y = alt.Y("lane:N", sort=names, axis=lanes, scale=alt.Scale(domain=names, paddingInner=0.18, paddingOuter=0.1))
    layers: list[Any] = []
    grey = [
        _grey(max(folded.place(a), low), min(folded.place(b), high), seconds(b - a), names[0], high - low)
        for a, b in folded.quiet
        if folded.place(b) > low and folded.place(a) < high
    ]
    if grey:
        quiet = alt.Chart(_named(grey, "quiet", data))
        layers.append(quiet.mark_rect(color="#ececec").encode(x=x, x2=alt.X2("b:Q")))
    states = [state for state in _COLORS if any(bar.state == state for bar in result.bars)]
    paint = alt.Scale(domain=[STATE_WORDS[state] for state in states], range=[_COLORS[state] for state in states])
    color = alt.Color(
        "state:N",
        scale=paint,
        legend=alt.Legend(title=None, orient="top", symbolType="square", columns=len(states)),
    )
    base = alt.Chart(_named(rows, "bars", data))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    # the edge keeps what is shorter than a pixel in sight
    bars = base.mark_bar(strokeWidth=0.7).encode(
        x=x, x2=alt.X2("b:Q"), y=y, color=color, stroke=alt.Stroke("state:N", scale=paint, legend=None), tooltip=tips
    )
    names_in = base.transform_filter("datum.label != ''").mark_text(align="left", dx=3, fontSize=9, color="white")
    layers += [bars, names_in.encode(x=x, y=y, text=alt.Text("label:N"))]
    if grey:
        texts = quiet.mark_text(fontSize=9, color=INK, align="left", dx=2, fontStyle="italic")
        layers.append(texts.encode(x=x, y=y, text=alt.Text("label:N")))
    layers += _marks(result, rows, y, x_end, data)
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_ROW * max(len(names), 2))
    return chart


def _grey(left: float, right: float, label: str, lane: str, length: float) -> dict[str, Any]:
    """Give a shortened stretch, with its length where there is room for it."""
    fits = (right - left) / length * _WIDTH >= _NARROW_LETTER * len(label)
    return {"a": left, "b": right, "lane": lane, "label": label if fits else ""}


def _marks(result: TimelineResult, rows: Sequence[dict[str, Any]], y: alt.Y, x: alt.X, data: Data) -> list[alt.Chart]:
    """Mark the ends that are no plain return."""
    import altair as alt

    kinds = [kind for kind in _SHAPES if any(bar.end_kind == kind and bar.lane != "job" for bar in result.bars)]
    if not kinds:
        return []
    shape = alt.Shape(
        "end:N",
        scale=alt.Scale(domain=kinds, range=[_SHAPES[kind] for kind in kinds]),
        legend=alt.Legend(title="ended by", orient="top", titleOrient="left", columns=len(kinds)),
    )
    ends = [row for row in rows if row["end"] in kinds and row["ends"]]
    mark = alt.Chart(_named(ends, "ends", data)).mark_point(filled=True, size=24, color=INK, opacity=0.9)
    return [mark.encode(x=x, y=y, shape=shape)]


def _names(result: TimelineResult) -> list[str]:
    tracks = result.tracks()
    return [_name(lane, track) for lane, track in tracks]


def _name(lane: str, track: int) -> str:
    return f"{_LANES[lane]} {track + 1}" if track else _LANES[lane]


def _row(bar: Bar, folded: Fold, line: tuple[float, float], head: Head) -> list[dict[str, Any]]:
    """Give the part of a bar that lies on a line, if any."""
    low, high = line
    a, b = folded.place(bar.elapsed), folded.place(bar.elapsed + bar.seconds)
    if b < low or a > high or (a == high and high < folded.length) or (b == low and a < low):
        return []
    left, right = max(a, low), min(b, high)
    room = int((right - left) / (high - low) * _WIDTH / _LETTER) - 1
    name = drawn(bar.tool or bar.session or "") if bar.lane in ("tool", "job", "agent") else ""
    return [
        {
            "a": left,
            "b": right,
            "lane": _name(bar.lane, bar.track),
            "state": STATE_WORDS[bar.state],
            "label": name if len(name) <= room else shorten(name, room) if room >= 6 else "",
            "ends": b <= high and bar.lane != "job",
            "end": drawn(bar.end_kind or "-"),
            "what": shorten(drawn(f"{STATE_WORDS[bar.state]} {what(bar)}".removesuffix(" -")), 60),
            "lasted": seconds(bar.seconds) if bar.start_known else "-",
            "when": f"{local(bar.started_at, head):%Y-%m-%d %H:%M:%S}",
            "since": seconds(bar.elapsed),
            "round": "-" if bar.round_index is None else f"{bar.round_index:,}",
            "tokens": f"{amount(bar.input_tokens)}, {amount(bar.output_tokens)}",
            "limit": seconds(bar.asked_limit_seconds),
        }
    ]


def _labels(ticks: Sequence[Tick], zero: dt.datetime) -> str:
    """Give the expression that finds the two lines of a mark by its place."""
    places = ", ".join(repr(tick.place) for tick in ticks)
    texts: list[str] = []
    day = None
    for tick in ticks:
        moment = zero + dt.timedelta(seconds=tick.moment)
        # a date where the day is another than at the mark before
        date = "" if moment.date() == day else f"{moment:%b %d} "
        day = moment.date()
        texts.append(f"['{date}{moment:%H:%M:%S}', '+{_since(tick.moment)}']")
    return f"[{', '.join(texts)}][indexof([{places}], datum.value)]"


def _since(moment: float) -> str:
    whole = max(round(moment), 0)
    hours, rest = divmod(whole, 3600)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24}:{rest // 60:02d}"
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
