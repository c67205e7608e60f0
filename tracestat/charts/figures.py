"""The figures of an article re-drawn: rows that hold ours beside what was published, and the pairs of bars.

A chart shows what its rows hold and nothing else, so that the table beside a drawing is the drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import clustered
from tracestat.charts.style import COLORS, GREY, finished, heading, message, panel_title, rows_of
from tracestat.charts.words import drawn, percent_interval
from tracestat.results import NOT_AVAILABLE, Head, Interval

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["OURS", "THEIRS", "FigureRow", "Redrawn", "bar_pairs", "captions", "draw_shares", "figure_frame"]

OURS, THEIRS = "this trace", "the article"
_BAR = 15
_WIDTH = 420


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One mark of a figure.

    Attributes
    ----------
    panel, quantity : str
        Where it stands and what it is.
    unit : str
        Of ours and of the published number.
    at, at_low, at_high : float or None
        Where it stands on an axis of time, seconds: a point, or a bin.
    ours : Interval
    published, published_low, published_high : float or None
        The number that was published and the interval of its rounding.
    printed : str
        The number as it was printed.
    n : int or None
        Rows (events, for a hazard) behind ours.
    definition : str
        What ours is, in words.
    note : str
        Why ours is not available.
    """

    panel: str
    quantity: str
    unit: str
    at: float | None = None
    at_low: float | None = None
    at_high: float | None = None
    ours: Interval = NOT_AVAILABLE
    published: float | None = None
    published_low: float | None = None
    published_high: float | None = None
    printed: str = ""
    n: int | None = None
    definition: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrawn:
    """A figure of the article made anew from a trace.

    ``command`` prints the numbers; ``lines`` say what is drawn and how it was made.
    """

    name: str
    title: str
    head: Head
    rows: tuple[FigureRow, ...]
    command: str
    lines: tuple[str, ...] = ()

    def of(self, quantity: str, panel: str | None = None) -> list[FigureRow]:
        """Give the rows of one quantity, in all panels or in one."""
        return [row for row in self.rows if row.quantity == quantity and panel in (None, row.panel)]

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in their order."""
        return list(dict.fromkeys(row.panel for row in self.rows))


def figure_frame(figure: Redrawn) -> pl.DataFrame:
    """Give the numbers of a figure, a row per mark."""
    import polars as pl

    texts, numbers = pl.String(), pl.Float64()
    schema: dict[str, pl.DataType] = {
        **dict.fromkeys(("panel", "quantity", "unit"), texts),
        **dict.fromkeys(("at", "at_low", "at_high", "ours", "low", "high", "level"), numbers),
        "method": texts,
        **dict.fromkeys(("published", "published_low", "published_high"), numbers),
        "printed": texts,
        "n": pl.Int64(),
        **dict.fromkeys(("definition", "note"), texts),
        "synthetic": pl.Boolean(),
    }
    rows = [
        {
            **{name: getattr(row, name) for name in schema if hasattr(row, name)},
            "ours": row.ours.value,
            "low": row.ours.low,
            "high": row.ours.high,
            "level": None if row.ours.low is None and row.ours.high is None else row.ours.level,
            "method": row.ours.method,
            "synthetic": figure.head.synthetic,
        }
        for row in figure.rows
    ]
    return pl.DataFrame(rows, schema=schema)


def captions(figure: Redrawn, rows: Iterable[FigureRow], what: str = "whiskers") -> list[str]:
    """Say what is drawn, how the intervals were made, and which command prints the numbers."""
    shown = list(rows)
    kinds = {row.ours.method.partition(" ")[0] for row in shown if row.ours.method}
    one = len({row.panel for row in shown}) == 1
    made = clustered((row.panel, row.ours) for row in shown)
    if one and kinds == {"developer", "session"}:
        made = "95 % intervals clustered by developer, by session where fewer than 20 developers are left"
    return [*figure.lines, *([f"{what}: {made}"] if made else []), f"numbers: {figure.command}"]


def draw_shares(figure: Redrawn) -> alt.TopLevelMixin:
    """Draw shares of this trace beside those that were published."""
    import altair as alt

    title = heading(figure.title, captions(figure, figure.rows), figure.head, _WIDTH + 230)
    panels = [bar_pairs(panel, [row for row in figure.rows if row.panel == panel]) for panel in figure.panels]
    if not panels:
        return finished(message("nothing to draw: no rows"), title)
    return finished(alt.vconcat(*panels, spacing=24), title)


def bar_pairs(panel: str, rows: Sequence[FigureRow], width: int = _WIDTH) -> alt.LayerChart:
    """Draw a pair of bars per row: ours with its interval, and the published share."""
    import altair as alt

    names = [f"{drawn(row.quantity)}\n{drawn(row.definition)}" for row in rows]
    bars = [bar for name, row in zip(names, rows, strict=True) for bar in _pair(name, row)]
    color = alt.Color(
        "who:N",
        scale=alt.Scale(domain=[OURS, THEIRS], range=[COLORS[0], GREY]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal"),
    )
    # a line of words, then a line that says which rows
    label = alt.Axis(title=None, ticks=False, labelLimit=400, labelExpr="split(datum.label, '\\n')")
    y = alt.Y("row:N", sort=names, axis=label, scale=alt.Scale(paddingInner=0.3))
    offset = alt.YOffset("who:N", scale=alt.Scale(domain=[OURS, THEIRS]))
    scale = alt.Scale(domain=[0, 1.3], nice=False)
    axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    base = alt.Chart(rows_of(bars))
    tips = [alt.Tooltip("who:N", title="from"), alt.Tooltip("share:N"), alt.Tooltip("told:N", title="of")]
    marks = base.mark_bar().encode(
        x=alt.X("y:Q", title="share", axis=axis, scale=scale), y=y, yOffset=offset, color=color, tooltip=tips
    )
    whiskers = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.4)
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y, yOffset=offset)
    )
    texts = base.mark_text(fontSize=10, align="left", dx=5).encode(
        x=alt.X("end:Q", scale=scale), y=y, yOffset=offset, text=alt.Text("share:N")
    )
    height = max(len(rows), 1) * (2 * _BAR + 14)
    chart: alt.LayerChart = alt.LayerChart(layer=[marks, whiskers, texts]).properties(width=width, height=height)
    if panel:
        chart = chart.properties(title=panel_title(drawn(panel), [], width))
    return chart


def _pair(name: str, row: FigureRow) -> list[Mapping[str, Any]]:
    ours, theirs = row.ours, row.published
    told = percent_interval(ours) if ours.value is not None else f"not available: {drawn(row.note or 'no rows')}"
    return [
        {
            "row": name,
            "who": OURS,
            "y": ours.value,
            "low": ours.low,
            "high": ours.high,
            "end": max(ours.value or 0.0, ours.high or 0.0),
            "share": told,
            "told": drawn(row.definition),
        },
        {
            "row": name,
            "who": THEIRS,
            "y": theirs,
            "low": None,
            "high": None,
            "end": theirs or 0.0,
            "share": row.printed,
            "told": drawn(row.definition),
        },
    ]
