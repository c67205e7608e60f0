"""The charts of memoryfulness and open questions: shares pinned, and ratios as dots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracestat.charts.style import COLORS, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_verdict_rows import against_words, option_words
from tracestat.charts.verdict_panels import dot, lines_of, nothing, ratio_panel
from tracestat.charts.verdict_words import eta_words, key_label
from tracestat.charts.words import distinct
from tracestat.results.verdicts import EtaVerdict, NoVerdict, QuestionsVerdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_eta", "draw_no_verdict", "draw_questions"]

_WIDTH = 380
_MOST = 30
_LABEL = 50
_PINNED, _FORCED = "article.ttl_pin", "article.ttl_pin_forced"


def draw_eta(verdict: EtaVerdict) -> alt.TopLevelMixin:
    """Draw what the TTL rule pins and its p99 over LRU's, per memoryfulness."""
    import altair as alt

    title = "The TTL rule under each memoryfulness"
    head = verdict.head
    rows = verdict.rows
    labels = list(dict.fromkeys(key_label(row.key) for row in rows))[:_MOST]
    names = dict(zip(labels, distinct(labels, _LABEL), strict=True))
    kinds = [eta_words(e) for e in sorted({r.eta for r in rows}, key=lambda e: (e is not None, e or 0.0))]
    drawn = [row for row in rows if key_label(row.key) in names]
    dots = [
        dot(names[key_label(r.key)], eta_words(r.eta), r.over_p1["p99"], sure=r.stable is not False)
        for r in drawn
        if r.over_p1 and r.over_p1["p99"].value is not None
    ]
    pins: list[dict[str, Any]] = [
        {
            "name": names[key_label(r.key)],
            "of": eta_words(r.eta),
            "x": r.pinned.value,
            "low": r.pinned.low,
            "high": r.pinned.high,
        }
        for r in drawn
        if r.pinned.value is not None
    ]
    if not dots and not pins:
        return finished(message(nothing(verdict, "no runs of P2")), heading(title, lines_of(verdict), head, 560))
    panels: list[Any] = []
    if pins:
        panels.append(_pins(pins, list(names.values()), kinds, verdict))
    if dots:
        text = "p99 over that of P1 in the same seed (log scale)"
        panels.append(
            ratio_panel(dots, list(names.values()), kinds, "Wait, over LRU", text, width=_WIDTH, legend=not pins)
        )
    more = (
        "colour: eta; dot: median over the seeds, hollow where not stable; line: 95 % interval; dashed: a gain of 10 %"
    )
    return finished(alt.vconcat(*panels, spacing=20), heading(title, lines_of(verdict, more), head, _WIDTH + 220))


def _pins(pins: list[dict[str, Any]], names: list[str], kinds: list[str], verdict: EtaVerdict) -> alt.LayerChart:
    import altair as alt

    def x(field: str) -> alt.X:
        return alt.X(
            f"{field}:Q", title="share of tool pauses", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])
        )

    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=330))
    color = alt.Color(
        "of:N",
        scale=alt.Scale(domain=kinds, range=[COLORS[i % len(COLORS)] for i in range(len(kinds))]),
        legend=alt.Legend(title=None, orient="top"),
    )
    base = alt.Chart(rows_of(pins)).encode(y=y, yOffset=alt.YOffset("of:N", sort=kinds, scale=alt.Scale(domain=kinds)))
    bars = base.mark_bar(opacity=0.8).encode(x=x("x"), color=color)
    ranged = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    intervals = ranged.mark_rule(color=INK, strokeWidth=1.2).encode(x=x("low"), x2="high:Q")
    lines = [{"at": f.value, "text": f.printed} for f in verdict.published if f.id in (_PINNED, _FORCED)]
    marks = alt.Chart(rows_of(lines))
    rules = marks.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x("at"))
    texts = marks.mark_text(align="left", dx=3, dy=-6, fontSize=10, clip=False).encode(
        x=x("at"), y=alt.value(0), text="text:N"
    )
    made: alt.LayerChart = alt.LayerChart(layer=[bars, intervals, rules, texts]).properties(
        width=_WIDTH,
        height=max(len(names) * (10 * len(kinds) + 8), 60),
        title=panel_title(
            "Pinned by the plan", ("dashed: the article, eta as estimated and forced positive", " "), _WIDTH
        ),
    )
    return made


def draw_questions(verdict: QuestionsVerdict) -> alt.TopLevelMixin:
    """Draw each option over its base: waits, recomputes and bytes."""
    import altair as alt

    title = "Open questions: each option over the same without it"
    head = verdict.head
    rows = verdict.rows[:_MOST]
    names = distinct((f"{key_label(row.key)}: {option_words(row)}, {against_words(row)}" for row in rows), _LABEL + 14)
    panels = []
    for text, measures in (
        ("Wait for the first token after a tool", ("p50", "p95", "p99", "tail mean")),
        ("Recomputes, and bytes to and from the tier", ("recompute", "stored", "reloaded")),
    ):
        dots = [
            dot(name, measure, row.ratios[measure.replace(" ", "_")], sure=row.stable is not False)
            for row, name in zip(rows, names, strict=True)
            for measure in measures
        ]
        dots = [item for item in dots if item["x"] is not None]
        if dots:
            own = [name for name in names if any(item["name"] == name for item in dots)]
            panels.append(
                ratio_panel(
                    dots, own, measures, text, "with over without, same seed (log scale)", width=_WIDTH, gain=False
                )
            )
    if not panels:
        why = nothing(verdict, "no option has a base to compare with")
        return finished(message(why), heading(title, lines_of(verdict), head, 560))
    more = [
        "dot: median over the seeds, hollow where the base is not stable; line: 95 % interval",
        *([f"{len(rows)} of {len(verdict.rows)} options are drawn"] if len(rows) < len(verdict.rows) else []),
    ]
    chart = alt.vconcat(*panels, spacing=20).resolve_scale(color="independent", yOffset="independent")
    return finished(chart, heading(title, lines_of(verdict, *more), head, _WIDTH + 260))


def draw_no_verdict(verdict: NoVerdict) -> alt.TopLevelMixin:
    """Say that nothing was asked."""
    why = nothing(verdict, "this grid asks for no verdict")
    return finished(message(why), heading("Runs without a verdict", lines_of(verdict), verdict.head, 560))
