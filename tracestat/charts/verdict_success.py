"""The chart of the rule of success: each policy's p99 over the TTL rule's and over LRU's, per configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.charts.style import finished, heading, message
from tracestat.charts.verdict_panels import dot, lines_of, nothing, ratio_panel
from tracestat.charts.verdict_words import key_label, policy_words
from tracestat.charts.words import distinct
from tracestat.results.verdicts import SuccessVerdict

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_success"]

_MOST = 40
_WIDTH = 250
_LABEL = 46


def draw_success(verdict: SuccessVerdict) -> alt.TopLevelMixin:
    """Draw the ratios of the first configurations, with the 10 % that count as success."""
    import altair as alt

    title = "The rule of success: p99 of the wait for the first token after a tool"
    # stable ones first: they are what counts
    each = sorted(verdict.each, key=lambda cell: not cell.counted)[:_MOST]
    names = distinct((key_label(cell.key) for cell in each), _LABEL)
    kinds = list(
        dict.fromkeys(policy_words(p.policy, p.eta) for cell in each for p in cell.policies if p.policy != "P0")
    )
    panels: list[alt.LayerChart] = []
    for measure, words, text in (
        ("p99", "All requests after tools, over P2", "over P2, same seed (log scale)"),
        ("deadline_p99", "After a deadline only, over P2", "over P2, same seed (log scale)"),
        ("", "All requests after tools, over P1", "over P1, same seed (log scale)"),
    ):
        rows = [
            dot(name, policy_words(p.policy, p.eta), p.over_p2[measure] if measure else p.over_p1, sure=cell.counted)
            for cell, name in zip(each, names, strict=True)
            for p in cell.policies
            if p.policy != "P0" and (measure in p.over_p2 if measure else p.policy != "P1")
        ]
        rows = [row for row in rows if row["x"] is not None]
        if rows:
            # each policy keeps its colour and its place in all panels
            panels.append(ratio_panel(rows, names, kinds, words, text, width=_WIDTH, step=9, labels=not panels))
    head = verdict.head
    if not panels:
        why = nothing(verdict, "no policy has a ratio to P2 or P1")
        return finished(message(why), heading(title, lines_of(verdict), head, 560))
    more = [
        "dot: median over the seeds, hollow where the configuration is not counted; line: 95 % interval; dashed: a "
        "gain of 10 %; P0 is not drawn",
        *([f"{len(each)} of {len(verdict.each)} configurations are drawn"] if len(each) < len(verdict.each) else []),
    ]
    return finished(
        alt.hconcat(*panels, spacing=14), heading(title, lines_of(verdict, *more), head, len(panels) * _WIDTH + 150)
    )
