"""The chart of ``deadlines``: the hazard around the atoms against the smooth hazard, and what each limit holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import (
    arrange,
    by_words,
    clustered,
    group_notes,
    in_words,
    made,
    name_of,
    titled,
    units_of,
)
from tracestat.charts.style import (
    COLORS,
    INK,
    finished,
    heading,
    message,
    panel_title,
    rows_of,
    time_axis,
)
from tracestat.charts.table_deadlines import HOW, once, place_words
from tracestat.charts.words import count, counted, distinct, drawn, percent, percent_interval, rate_interval, span
from tracestat.results import DeadlineAtom, DeadlinesGroup, DeadlinesResult, HazardPiece, Head

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_deadlines"]

_MOST_PANELS, _MOST_BARS = 4, 16
_WIDTH, _HEIGHT, _LINE = 680, 250, 22
_LONGEST = 44
_TEXT_LINE, _MOST_LINES = 15, 6
_FAR = 0.6  # of the width of the axis: labels of atoms beyond it stand to the left
_COLOR_OF = {"scan": COLORS[1], "status": COLORS[0], "asked": COLORS[2]}
_SMOOTH, _PIECE, _ATOM = "smooth hazard of the flanks", "hazard", "atom"
_TIPS = (("stretch", "from"), ("events", "ends"), ("hazard", "hazard, per second"), ("smooth", "smooth hazard"))


def draw_deadlines(result: DeadlinesResult) -> alt.TopLevelMixin:
    """Draw a panel of hazards per scanned group, and below what share each limit holds by each way of knowing.

    Parameters
    ----------
    result : DeadlinesResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = f"Deadlines of {units_of(head)}, {by_words(head)}"
    lines = made(head)
    scans = [group for group in result.groups if any(piece.hazard.value for piece in group.hazard)]
    shown, _ = arrange(scans, "n", _MOST_PANELS)
    if len(shown) < len(scans):
        lines.append(f"hazards of the {len(shown)} groups with most rows, of {count(len(scans))}")
    parts: list[Any] = []
    if shown:
        domains = _domains(shown)
        parts += [_panel(group, head, *domains) for group in shown]
        bands = clustered((in_words(group), piece.hazard) for group in shown for piece in group.hazard)
        lines.append(
            f"dots: hazard on stretches of time, an atom on its own{f', {bands}' if bands else ''}; "
            f"line: {_SMOOTH}, atoms left out"
        )
    bars, cut = _bars(result.groups)
    if bars:
        parts.append(_shares(bars, head))
        lines += [cut] if cut else []
    notes = [*group_notes(once(result.groups)), *head.notes]
    if not parts:
        text = f"no deadline to draw: {'; '.join(notes) or 'nothing is left to count'}"
        return finished(message(text), heading(title, lines, head, 560))
    chart = alt.vconcat(*parts, spacing=26).resolve_scale(color="independent", size="independent")
    return finished(chart, heading(title, [*lines, *notes], head, _WIDTH + 60))


Domain = tuple[float, float]


def _domains(groups: Sequence[DeadlinesGroup]) -> tuple[Domain, Domain]:
    """Give the axes that all panels share: the stretches that hold ends, and their hazards."""
    pieces = [piece for group in groups for piece in group.hazard if piece.hazard.value]
    values = [piece.hazard.value or 0.0 for piece in pieces]
    smooth = [piece.smooth for piece in pieces if piece.smooth]
    ends = [bound for piece in pieces for bound in (piece.hazard.low, piece.hazard.high) if bound]
    # an interval that reaches very far must not press the points into a corner
    low = max(min([*values, *smooth, *ends]), min([*values, *smooth]) / 10)
    high = min(max([*values, *ends]), 10 * max(values))
    low, high = low / 1.3, 1.3 * high
    # the labels of the atoms stand above everything
    lines = min(max(len(group.atoms) for group in groups), _MOST_LINES)
    room = (lines + 0.5) * _TEXT_LINE / _HEIGHT if lines else 0.0
    return (min(p.lo for p in pieces), max(p.hi for p in pieces)), (low, high * (high / low) ** (room / (1 - room)))


def _panel(group: DeadlinesGroup, head: Head, times: Domain, rates: Domain) -> alt.LayerChart:
    import altair as alt

    found = counted(len(group.atoms), "spike") if group.atoms else "no spike"
    lines = [
        f"{counted(group.n, 'row')}, {counted(group.n_sessions, 'session')}, "
        f"{counted(group.n_developers, 'developer')}; {counted(group.n_tested, 'window')} tested, {found} found"
    ]
    if group.atoms:
        lines.append(f"spikes hold {percent_interval(group.share_on_deadline)} of all")
    if group.share_exact is not None:
        lines.append(f"{percent_interval(group.share_exact)} of all say that they ended on a limit")
    x, y = time_axis("x", f"time since the {group.unit} began", times), _rate_axis("y", rates)
    pieces = alt.Chart(rows_of([_point(piece, rates) for piece in group.hazard if piece.hazard.value]))
    smooth = alt.Chart(rows_of(_smooth(group.hazard, times, rates)))
    color = alt.Color("kind:N", scale=alt.Scale(domain=[_PIECE, _ATOM], range=[COLORS[0], COLORS[1]]), legend=None)
    size = alt.condition("datum.kind == 'atom'", alt.value(70), alt.value(22))
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _TIPS]
    stretch = time_axis("lo", f"time since the {group.unit} began", times)
    layers = [
        smooth.mark_line(color=INK, strokeWidth=1.4).encode(x=x, y=y),
        pieces.mark_rule(strokeWidth=1, opacity=0.6).encode(x=stretch, x2=alt.X2("hi"), y=y, color=color),
        pieces.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
            x=x, y=_rate_axis("low", rates), y2=alt.Y2("high"), color=color
        ),
        pieces.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=color, size=size, tooltip=tips),
        *_labels(group, times, rates),
    ]
    title = panel_title(titled(name_of(group), head), lines, _WIDTH)
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title)
    return chart


def _rate_axis(field: str, rates: Domain) -> alt.Y:
    import altair as alt

    low, high = rates
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # parsed, so that a mark is the number that its label says
    marks = [value for k in powers if low <= (value := float(f"1e{k}")) <= high]
    axis = alt.Axis(values=marks, labelExpr="format(datum.value, '~g')")
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    return alt.Y(f"{field}:Q", title="hazard, per second", axis=axis, scale=scale)


def _point(piece: HazardPiece, rates: Domain) -> Mapping[str, Any]:
    value = piece.hazard.value or rates[0]
    return {
        "x": math.sqrt(piece.lo * piece.hi),
        "lo": piece.lo,
        "hi": piece.hi,
        "y": value,
        # bounds stay on the page: a log axis knows no zero
        "low": max(piece.hazard.low or rates[0], rates[0]),
        "high": min(piece.hazard.high or value, rates[1]),
        "kind": _ATOM if piece.in_atom else _PIECE,
        "stretch": span(piece.lo, piece.hi),
        "events": count(piece.events),
        "hazard": rate_interval(piece.hazard),
        "smooth": "-" if piece.smooth is None else f"{piece.smooth:.3g}",
    }


def _smooth(pieces: Sequence[HazardPiece], times: Domain, rates: Domain) -> list[Mapping[str, float]]:
    return [
        {"x": x, "y": piece.smooth}
        for piece in pieces
        for x in (math.sqrt(piece.lo * piece.hi),)
        if piece.smooth and rates[0] <= piece.smooth <= rates[1] and times[0] <= x <= times[1]
    ]


def _labels(group: DeadlinesGroup, times: Domain, rates: Domain) -> list[alt.Chart]:
    """Write above each atom its place, its share of all rows and whose it is; each on a line of its own."""
    import altair as alt

    pieces = {(piece.lo, piece.hi): piece for piece in group.hazard if piece.in_atom}
    charts = []
    for line, atom in enumerate(group.atoms):
        low, high = atom.window
        if low is None or high is None:
            continue
        piece = pieces.get((low, high))
        x = math.sqrt(low * high)
        far = math.log(x / times[0]) > _FAR * math.log(times[1] / times[0])
        text = f"{place_words(atom.seconds)}: {percent(atom.share.value)} of all, {atom.label}"
        top = piece.hazard.high or piece.hazard.value if piece is not None else None
        height = _TEXT_LINE * (line % _MOST_LINES) + _TEXT_LINE / 2
        data = alt.Chart(rows_of([{"x": x, "y": min(top or rates[0], rates[1]), "text": text}]))
        place, level = time_axis("x", f"time since the {group.unit} began", times), alt.value(height)
        rule = data.mark_rule(strokeDash=[2, 2], color=COLORS[1], opacity=0.7)
        words = data.mark_text(
            align="right" if far else "left",
            dx=-4 if far else 4,
            baseline="middle",
            fontSize=11,
            fontWeight="bold",
            color=COLORS[1],
        )
        charts += [
            rule.encode(x=place, y=_rate_axis("y", rates), y2=level),
            words.encode(x=place, y=level, text=alt.Text("text:N")),
        ]
    return charts


def _bars(groups: Sequence[DeadlinesGroup]) -> tuple[list[tuple[DeadlinesGroup, DeadlineAtom]], str | None]:
    """Choose the limits and atoms that hold most, in the order in which they stand."""
    everything = [
        (group, atom) for group in groups for atom in group.atoms if atom.share.value is not None and atom.events
    ]
    chosen = set(sorted(range(len(everything)), key=lambda i: -(everything[i][1].share.value or 0.0))[:_MOST_BARS])
    bars = [item for i, item in enumerate(everything) if i in chosen]
    cut = f"shares of the {len(bars)} largest, of {count(len(everything))}" if len(bars) < len(everything) else None
    return bars, cut


def _shares(bars: Sequence[tuple[DeadlinesGroup, DeadlineAtom]], head: Head) -> alt.LayerChart:
    import altair as alt

    names = distinct(
        (
            f"{name_of(group)}, {place_words(atom.seconds) if group.mode == 'scan' else f'{atom.seconds:g} s'}"
            f"{f' {atom.tool}' if group.mode == 'asked' and atom.tool else ''}, {HOW[group.mode]}"
            for group, atom in bars
        ),
        _LONGEST,
    )
    rows = [
        {
            "name": name,
            "x": atom.share.value,
            "low": atom.share.low,
            "high": atom.share.high,
            "how": HOW[group.mode],
            "share": percent_interval(atom.share),
            "events": count(atom.events),
            "whose": drawn(atom.label or ""),
        }
        for name, (group, atom) in zip(names, bars, strict=True)
    ]
    data = alt.Chart(rows_of(rows))
    y = alt.Y("name:N", sort=names, title=None)
    axis = alt.Axis(format=".2~%")
    tips = [alt.Tooltip(f"{name}:N", title=words) for name, words in _SHARE_TIPS]
    # a bound far away, as of few sessions, must not press the others into a corner
    shares = [(atom.share.value or 0.0, atom.share.high or 0.0) for _, atom in bars]
    largest = max(value for value, _ in shares)
    top = min(max(largest, *(high for _, high in shares)), 4 * largest, 1.0)
    scale = alt.Scale(domain=[0, top], clamp=True)
    x = alt.X("x:Q", title=f"share of all {units_of(head)} (as asked: of all calls)", axis=axis, scale=scale)
    modes = [mode for mode in HOW if any(group.mode == mode for group, _ in bars)]
    how = alt.Color(
        "how:N",
        scale=alt.Scale(domain=[HOW[mode] for mode in modes], range=[_COLOR_OF[mode] for mode in modes]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    bands = clustered((in_words(group), atom.share) for group, atom in bars)
    layers = [
        data.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.4)
        .encode(y=y, x=alt.X("low:Q", axis=axis, scale=scale), x2=alt.X2("high:Q"), color=how),
        data.mark_point(filled=True, size=55, opacity=1).encode(y=y, x=x, color=how, tooltip=tips),
    ]
    title = panel_title(titled("What each limit holds", head), [bands] if bands else [], _WIDTH)
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=_WIDTH - 240, height=_LINE * len(rows), title=title
    )
    return chart


_SHARE_TIPS = (("name", "limit"), ("share", "share of all"), ("events", "ends"), ("whose", "whose"))
