"""How all charts look: colours that colour-blind readers can tell apart, axes of time, titles that say everything."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import titled
from tracestat.charts.words import drawn
from tracestat.results import Head

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "COLORS",
    "GREY",
    "INK",
    "column_width",
    "finished",
    "heading",
    "message",
    "panel_title",
    "rows_of",
    "time_axis",
    "wrapped",
]

# Okabe and Ito's palette without its yellow, which is too light on white
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK = "#222222"
GREY = "#888888"
# a blank after which no line may end: before a unit, in "a -> b", in "p < 0.001"
_STICKS = re.compile(
    r"(?<=\d) (?=%|->|s\b|min\b|h\b|d\b)|(?<=->) |(?<=p) (?=[<=] )|(?<=p [<=]) |(?<=\d) (?=to \d)|(?<=\d to) "
)
_TEXT = 12
_SMALL = 11
_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_PIXELS_PER_CHARACTER = 5.4
_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0, 259_200.0, 2_592_000.0)
_TIME_LABEL = (
    "datum.value < 60 ? format(datum.value, '~r') + ' s' : datum.value < 3600 ? datum.value / 60 + ' min'"
    " : datum.value < 172800 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'"
)


def column_width(pixels: float) -> int:
    """Give how many characters of small text stand on a line of so many pixels."""
    return max(int(pixels / _PIXELS_PER_CHARACTER), 12)


def wrapped(lines: Iterable[str], characters: int) -> list[str]:
    """Break lines at blanks, and words that are too long anywhere; a number keeps its unit."""
    kept = [_STICKS.sub("\u00a0", drawn(line)) for line in lines]
    return [part for line in kept for part in textwrap.wrap(line, characters, break_on_hyphens=False) or [""]]


def heading(title: str, lines: Iterable[str], head: Head, pixels: float) -> alt.TitleParams:
    """Give the title of a whole chart, with the lines that say how it was made.

    Parameters
    ----------
    title : str
    lines : iterable of str
    head : Head
        Whether the trace is synthetic.
    pixels : float
        Width of the chart, so that no line is cut.
    """
    import altair as alt

    return alt.TitleParams(
        text=wrapped([titled(title, head)], int(0.7 * column_width(pixels))),
        subtitle=wrapped(lines, column_width(pixels)),
        anchor="start",
        fontSize=16,
        subtitleFontSize=_SMALL,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=14,
    )


def panel_title(title: str, lines: Iterable[str], pixels: float, *, rows: int = 0) -> alt.TitleParams:
    """Give the title of one panel.

    Parameters
    ----------
    title : str
    lines : iterable of str
    pixels : float
        Width of the panel.
    rows : int
        Least number of lines below the title, so that the titles of a row of panels stand at one height.
    """
    import altair as alt

    small = wrapped(lines, column_width(pixels))
    small += [" "] * (rows - len(small))
    return alt.TitleParams(
        text=wrapped([title], int(0.85 * column_width(pixels))),
        # an empty subtitle would still take its place
        subtitle=small or alt.Undefined,
        subtitleFontSize=_SMALL if small else alt.Undefined,
        subtitleColor="#555555",
        anchor="start",
        frame="group",
        limit=pixels,
        fontSize=13,
        offset=8,
    )


@cache
def _shared() -> type[alt.InlineData]:
    """Give a kind of data that layers share: its rows never change, so that no copy of a chart needs its own."""
    import altair as alt

    class Shared(alt.InlineData):
        def __deepcopy__(self, _: object) -> Shared:
            return self

        def __reduce__(self) -> tuple[Any, ...]:
            return rows_of, (self._kwds["values"],)

    return Shared


def rows_of(values: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Give rows as the data of a chart; no frame is needed, and no limit on their number applies."""
    return _shared()(values=[dict(row) for row in values])


def time_axis(field: str, title: str, domain: tuple[float, float], *, bare: bool = False) -> alt.X:
    """Give a logarithmic axis of durations with the marks that people use.

    Parameters
    ----------
    field : str
    title : str
    domain : tuple of float
        In seconds, above zero.
    bare : bool
        Only the scale, for a strip below another chart.
    """
    import altair as alt

    low, high = domain
    decade = 10 ** math.floor(math.log10(low))
    low = decade if low < 2 * decade else low
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axis = None if bare else alt.Axis(values=ticks, labelExpr=_TIME_LABEL, labelOverlap="greedy")
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    return alt.X(f"{field}:Q", title=title, axis=axis, scale=scale)


def message(text: str, pixels: int = 560) -> alt.Chart:
    """Give a chart that says why there is nothing to draw."""
    import altair as alt

    lines = wrapped([text], column_width(pixels))
    chart: alt.Chart = (
        alt.Chart(rows_of([{"text": lines}]))
        .mark_text(fontSize=_TEXT, color=GREY, align="center", lineHeight=16)
        .encode(text=alt.Text("text:N"))
        .properties(width=pixels, height=60 + 16 * len(lines))
    )
    return chart


def finished(chart: Any, title: alt.TitleParams) -> alt.TopLevelMixin:
    """Put the title on a chart and give it the common look."""
    import altair as alt

    # in one go: each step of a chart of panels copies all of them
    config = alt.Config(
        font=_FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelFontSize=_SMALL,
            titleFontSize=_TEXT,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=INK,
            gridColor="#e8e8e8",
            domainColor="#999999",
            tickColor="#999999",
            labelLimit=400,
        ),
        legend=alt.LegendConfig(labelFontSize=_SMALL, titleFontSize=_SMALL, labelLimit=320, titleFontWeight="normal"),
    )
    done: alt.TopLevelMixin = chart.properties(title=title, background="white", padding=12, config=config)
    return done
