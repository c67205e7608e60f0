"""The chart of ``simulate calibrate``: how far the model is off each timing, and the band within which it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, rows_of
from tracestat.charts.table_calibration import met_words
from tracestat.charts.words import plain
from tracestat.results import CalibrationResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_calibration"]

_WIDTH, _LINE = 420, 22


def draw_calibration(result: CalibrationResult) -> alt.TopLevelMixin:
    """Draw the relative difference of model and timing, a line per timing.

    Parameters
    ----------
    result : CalibrationResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    title = f"Model of {plain(result.hardware)} against its timings"
    lines = [met_words(result), f"{result.card}, {result.model}; one request on an idle machine"]
    if not result.timings:
        lines += result.head.notes
        return finished(message("no timings: nothing was measured"), heading(title, lines, result.head, 560))
    lines += ["grey: within 3 % or 4 ms, whichever is more", *result.head.notes]
    names = [f"{t.kind}, {t.tokens:,}" for t in result.timings]
    data = [
        {
            "name": name,
            "off": 100 * t.off_share,
            "low": -100 * max(0.03, 0.004 / t.measured),
            "high": 100 * max(0.03, 0.004 / t.measured),
            "within": "within" if t.within else "beyond",
            "measured": f"{1e3 * t.measured:.5g} ms",
            "model": f"{1e3 * t.model:.2f} ms",
        }
        for name, t in zip(names, result.timings, strict=True)
    ]
    most = 1.15 * max(5.0, *(abs(row["off"]) for row in data))  # type: ignore[arg-type]  # numbers by construction
    scale = alt.Scale(domain=[-most, most], nice=False, clamp=True)
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=260))
    words = "model over measured less one, %"
    base = alt.Chart(rows_of(data)).encode(y=y)
    band = base.mark_bar(color=GREY, opacity=0.25, height=_LINE - 6).encode(
        x=alt.X("low:Q", title=words, scale=scale), x2="high:Q"
    )
    zero = alt.Chart(rows_of([{"zero": 0.0}])).mark_rule(color=INK).encode(x=alt.X("zero:Q", title=words, scale=scale))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("off:Q", title=words, scale=scale),
        color=alt.Color(
            "within:N", scale=alt.Scale(domain=["within", "beyond"], range=[COLORS[0], COLORS[1]]), legend=None
        ),
        tooltip=["name:N", "measured:N", "model:N", alt.Tooltip("off:Q", title="off, %", format="+.1f")],
    )
    chart: alt.LayerChart = alt.LayerChart(layer=[band, zero, dots]).properties(width=_WIDTH, height=_LINE * len(names))
    return finished(chart, heading(title, lines, result.head, _WIDTH + 160))
