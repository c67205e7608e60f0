"""The chart of ``fit``: quantiles of each law against those observed, and where each law's hazard is off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import arrange, by_words, group_notes, in_words, made, units_of
from tracestat.charts.style import COLORS, GREY, finished, heading, message, panel_title, rows_of, time_axis
from tracestat.charts.table_fit import law_range, law_time
from tracestat.charts.words import count, counted, per_second, percent, seconds, span
from tracestat.results import FitGroup, FitResult, LawFit
from tracestat.results.fit import FAMILY_WORDS

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_fit"]

_MOST = 4
_WIDTH, _HEIGHT = 330, 300
_RATIOS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 5, 10)


def draw_fit(result: FitResult) -> alt.TopLevelMixin:
    """Draw the largest groups: left quantile against quantile, right events seen over expected along time.

    Parameters
    ----------
    result : FitResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    usable = [group for group in result.groups if group.best is not None and group.quantiles]
    groups, _ = arrange(usable, "n", _MOST)
    title = f"Laws of {units_of(head)}, {by_words(head)}"
    lines = made(head)
    if len(groups) < len(usable):
        lines.append(f"the {len(groups)} groups with most rows, of {count(len(usable))}")
    notes = [*group_notes([g for g in result.groups if g in groups or g not in usable]), *head.notes]
    if not groups:
        text = f"no law to draw: {'; '.join(notes) or 'nothing is left to count'}"
        return finished(message(text), heading(title, lines, head, 560))
    families = [name for name in FAMILY_WORDS if name != "piecewise" and any(_fitted(g, name) for g in groups)]
    colors = _colors([FAMILY_WORDS[name] for name in families])
    unit = head.unit or "wait"
    panels = [
        alt.hconcat(_quantiles(g, families, colors), _ratios(g, families, colors, unit), spacing=40) for g in groups
    ]
    lines += [
        "left: a law that describes the data follows the diagonal, and cannot be told from them within the grey 95 % "
        "band of the observed quantile",
        "right: 1 where hazard and law agree; grey: 95 % band over all bins together, of the piecewise hazard; bins "
        "with fewer than 30 events are not shown; deadlines are kept",
    ]
    chart = alt.vconcat(*panels, spacing=30).resolve_scale(color="shared")
    return finished(chart, heading(title, [*lines, *notes], head, 2 * _WIDTH + 180))


def _fitted(group: FitGroup, family: str) -> LawFit | None:
    return next((law for law in group.laws if law.family == family and law.aic is not None), None)


def _colors(names: Sequence[str]) -> Any:
    import altair as alt

    legend = alt.Legend(title=None, orient="right", symbolOpacity=1)
    return alt.Color(
        "law:N", scale=alt.Scale(domain=list(names), range=list(COLORS[: len(names)])), sort=None, legend=legend
    )


def _shapes(names: Sequence[str]) -> Any:
    import altair as alt

    return alt.Shape("law:N", scale=alt.Scale(domain=list(names)), sort=None, legend=None)


def _title(group: FitGroup) -> list[str]:
    best = group.best
    what = [f"{counted(group.n_fitted, 'row')} above {law_time(group.above)}"]
    what.append(f"{counted(group.n_sessions, 'session')}, {counted(group.n_developers, 'developer')}")
    if best is not None:
        holds = f"holds {law_range(best.range)}" if best.range else "no 5 neighbouring bins agree"
        what.append(f"best: {FAMILY_WORDS[best.family]}, {holds}")
    return what


def _quantiles(group: FitGroup, families: Sequence[str], colors: Any) -> alt.LayerChart:
    import altair as alt

    observed: list[Mapping[str, Any]] = []
    fitted: list[Mapping[str, Any]] = []
    places: list[float] = []
    for pair in group.quantiles:
        x = pair.observed.value
        if x is None:
            continue
        places.append(x)
        observed.append({"x": x, "low": pair.observed.low, "high": pair.observed.high})
        for family in families:
            value = pair.fitted.get(family)
            if value is not None:
                told = {"q": percent(pair.q), "observed": seconds(x), "fitted": seconds(value)}
                fitted.append({"x": x, "y": value, "law": FAMILY_WORDS[family], **told})
    longest = max(places)
    places += [row["y"] for row in fitted]
    # a law far off at the top would squeeze all else; its line leaves the panel
    domain = (min(places), min(max(places), 10 * longest))
    across = time_axis("x", "observed quantile", domain)
    along = time_axis("y", "", domain)
    words = "quantile of the law"
    y = alt.Y("y:Q", title=words, axis=along["axis"], scale=along["scale"])
    bottom = alt.Y("low:Q", title=words, axis=along["axis"], scale=along["scale"])
    band = (
        alt.Chart(rows_of(observed))
        .transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(color=GREY, opacity=0.25)
        .encode(x=across, y=bottom, y2=alt.Y2("high:Q"))
    )
    ends = [{"x": value, "y": value} for value in domain]
    diagonal = alt.Chart(rows_of(ends)).mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1).encode(x=across, y=y)
    tips = [alt.Tooltip(f"{name}:N") for name in ("law", "q", "observed", "fitted")]
    base = alt.Chart(rows_of(fitted)).encode(x=across, y=y, color=colors)
    line = base.mark_line(strokeWidth=1.6, clip=True)
    names = [FAMILY_WORDS[name] for name in families]
    dots = base.mark_point(filled=True, size=26, opacity=1, clip=True).encode(shape=_shapes(names), tooltip=tips)
    chart: alt.LayerChart = alt.LayerChart(layer=[band, diagonal, line, dots]).properties(
        width=_WIDTH, height=_HEIGHT, title=panel_title(in_words(group), _title(group), _WIDTH, rows=3)
    )
    return chart


def _ratios(group: FitGroup, families: Sequence[str], colors: Any, unit: str) -> alt.LayerChart:
    import altair as alt

    reference = next(law for law in group.laws if law.family == "piecewise")
    bands: list[dict[str, Any]] = [
        {"x": b.lo, "x2": b.hi, "low": b.ratio.low, "high": b.ratio.high}
        for b in reference.bins
        if b.hi is not None and b.ratio.low is not None
    ]
    rows: list[Mapping[str, Any]] = []
    for family in families:
        law = _fitted(group, family)
        for b in law.bins if law else ():
            if b.hi is None or b.ratio.value is None:
                continue
            rows.append(
                {
                    "x": (b.lo * b.hi) ** 0.5,
                    "y": b.ratio.value,
                    "law": FAMILY_WORDS[family],
                    "bin": span(b.lo, b.hi),
                    "seen": count(b.events),
                    "expected": f"{b.expected:,.1f}",
                    "agrees": "yes" if b.inside else "no",
                }
            )
    if not rows or not bands:
        return alt.LayerChart(layer=[message("no bin with 30 events", _WIDTH)])
    domain = (min(b["x"] for b in bands), max(b["x2"] for b in bands))
    values = [row["y"] for row in rows] + [b[k] for b in bands for k in ("low", "high")]
    reach = (max(min(values), 0.1), min(max(values), 10))
    # what lies beyond leaves the panel: drawn on its border it would pass for that value
    scale = alt.Scale(type="log", domain=list(reach), nice=False)
    axis = alt.Axis(values=[v for v in _RATIOS if reach[0] <= v <= reach[1]], format="~r")
    words = "events seen / expected"
    x = time_axis("x", f"time since the {unit} began", domain)
    y = alt.Y("y:Q", title=words, axis=axis, scale=scale)
    band = (
        alt.Chart(rows_of(bands))
        .mark_rect(color=GREY, opacity=0.25, clip=True)
        .encode(x=x, x2=alt.X2("x2:Q"), y=alt.Y("low:Q", title=words, axis=axis, scale=scale), y2=alt.Y2("high:Q"))
    )
    one = alt.Chart(rows_of([{"y": 1}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y)
    tips = [alt.Tooltip(f"{name}:N") for name in ("law", "bin", "seen", "expected", "agrees")]
    base = alt.Chart(rows_of(rows)).encode(x=x, y=y, color=colors)
    names = [FAMILY_WORDS[name] for name in families]
    dots = base.mark_point(filled=True, size=26, opacity=1, clip=True).encode(shape=_shapes(names), tooltip=tips)
    best = group.best
    told = []
    if best is not None and best.worst is not None:
        told = [f"{FAMILY_WORDS[best.family]} furthest off: {per_second(best.worst, 2)} at {law_range(best.worst_at)}"]
    chart: alt.LayerChart = alt.LayerChart(
        layer=[band, one, base.mark_line(strokeWidth=1.6, clip=True), dots]
    ).properties(
        width=_WIDTH, height=_HEIGHT, title=panel_title("where each law's hazard is off", told, _WIDTH, rows=3)
    )
    return chart
