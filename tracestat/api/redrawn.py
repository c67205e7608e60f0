"""The rows of the article's figures: ours by the first definition of each published number, beside that number.

This file makes those on shares and on residual life; `redrawn_hazards` those on hazards.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tracestat.api.common import excluded_of, head_of
from tracestat.api.reproduce import reproduce
from tracestat.api.residual import residual
from tracestat.charts.captions import left_out
from tracestat.charts.figures import FigureRow, Redrawn
from tracestat.charts.figures_residual import MEAN, MEAN_AT, MEDIAN, MEDIAN_AT
from tracestat.charts.words import counted
from tracestat.durations import Selection, select, summary_shares
from tracestat.errors import TracestatError
from tracestat.published import Figure, load_published
from tracestat.queries import data_path
from tracestat.results import Group, Head, ReproducedFigure, ResidualPoint

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = [
    "about",
    "answers",
    "command_of",
    "published",
    "published_value",
    "reproduced",
    "residual_life",
    "shares",
    "size_of",
]

CLAUDE = "provider = 'claude'"
_PUBLISHED_MEANS = ("article.mrl.4", "article.mrl.25", "article.mrl.146")


def published(name: str) -> Figure:
    """Give a published number by its id."""
    for figure in load_published().figures:
        if figure.id == name:
            return figure
    raise TracestatError(f"published.json: no figure {name}; the file is of another version, install tracestat anew")


def published_value(name: str) -> float:
    """Give the value of a published number by its id."""
    value = published(name).value
    if value is None:
        raise TracestatError(f"published.json: no value of {name}; the file is of another version")
    return value


def command_of(trace: Trace, command: str, *options: str) -> str:
    """Give the command that prints the numbers of a figure; the bundled sample needs no name."""
    sample = trace.synthetic and trace.shown == data_path("sample.jsonl.gz").name
    # a folder of logs is not named: it could tell what somebody works on
    named = [] if sample else ["--mine"] if trace.shown.startswith("logs/") else [trace.shown]
    words = ["tracestat", command, *named, *options]
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Quote a word for a shell, with double quotes around single ones where that is the same."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def about(head: Head) -> str:
    """Say which trace a figure is made of."""
    return f"trace {head.trace.path}: {counted(head.trace.rounds, 'round')}, {counted(head.trace.tool_calls, 'call')}"


def size_of(group: Group) -> str:
    """Say how many rows, sessions and developers a group has."""
    sizes = (counted(group.n, "row"), counted(group.n_sessions, "session"), counted(group.n_developers, "developer"))
    return f"{f'{group.label}: ' if group.key else ''}{', '.join(sizes)}"


def shares(trace: Trace) -> Redrawn:
    """Compare the shares of short and of long waits, the time that these hold, and the time of approvals."""
    asked = (
        ("article.lt1s", "pauses that end within 1 s"),
        ("article.gt1m.calls", "calls that last over a minute"),
        ("article.gt1m.time", "time that these calls hold"),
        ("article.approval", "time of calls that wait for approval"),
    )
    ours = answers(trace, "article.lt1s", "article.gt1m.", "article.approval")
    rows = tuple(reproduced(ours[name], quantity=quantity) for name, quantity in asked)
    pauses = select(trace, rows="all", by="none", where=CLAUDE)
    lines = [_counts(trace, pauses)]
    calls = select(trace, definition="tracelab", by="none", where=CLAUDE)
    lines.append(_counts(trace, calls))
    head = head_of(trace, calls, "figures")
    return Redrawn(
        name="shares",
        title="Claude: short waits, long waits and the time they hold",
        head=head,
        rows=rows,
        command=command_of(trace, "reproduce", "--source", "article"),
        lines=(*lines, about(head)),
    )


def _counts(trace: Trace, selection: Selection) -> str:
    """Say how many rows there are and which were left out; the selection is the one made last."""
    head = head_of(trace, selection, "figures", excluded=excluded_of(trace, selection).counts)
    n = int(summary_shares(trace, selection, 0.0)["n"].sum())
    return f"{counted(n, selection.unit)} of Claude; {left_out(head)}"


def answers(trace: Trace, *only: str, seed: int = 0) -> dict[str, ReproducedFigure]:
    """Give published numbers beside ours by their ids, which begin so; those that begin alike share their work."""
    return {row.id: row for name in only for row in reproduce(trace, only=name, seed=seed).rows}


def reproduced(row: ReproducedFigure, *, quantity: str, panel: str = "") -> FigureRow:
    """Give a published number beside ours, as ``reproduce`` has them."""
    # the provider stands in the title
    definition = (row.definition or "").partition("; ")[2] or row.definition or ""
    return FigureRow(
        panel=panel,
        quantity=quantity,
        unit=row.unit,
        ours=row.ours,
        definition=definition,
        note=row.why or row.verdict,
        **_theirs(published(row.id)),
    )


def _theirs(figure: Figure) -> dict[str, Any]:
    """Give the part of a row that was published."""
    low_high = {"published_low": figure.low, "published_high": figure.high}
    return {"published": figure.value, "printed": figure.printed, **low_high}


def residual_life(trace: Trace) -> Redrawn:
    """Compare the mean time that remains with the published means, and show it with the median over all times."""
    elapsed = {name: published_value(f"{name}.elapsed") for name in _PUBLISHED_MEANS}
    result = residual(trace, elapsed=list(elapsed.values()), by="none", where=CLAUDE, rows="tool")
    head = result.head
    rows: list[FigureRow] = []
    lines = [
        f"{head.unit}, {head.clock} clock, {head.rows} rows; {left_out(head)}",
        "mean within 3,600 s from the elapsed time on; diamonds: the means of the article's figure 2",
    ]
    for group in result.groups:
        points = {point.elapsed: point for point in group.at}
        for name, at in elapsed.items():
            rows += _remaining(points[at], published(name))
        # of fewer than 20 sessions the numbers say little about others
        rows += [row for point in group.curve if not point.few_sessions for row in _remaining(point)]
        told = replace(group, key={})  # there is one group
        lines.append(f"{size_of(told)}; at risk: {_at_risk(group.at)}")
        if any(point.few_sessions for point in (*group.at, *group.curve)):
            lines.append("curves end where fewer than 20 sessions are at risk; numbers beyond stand in ( )")
    if not result.groups:
        rows = [_given(published(name), at) for name, at in elapsed.items()]
    times = ",".join(f"{at:g}" for at in elapsed.values())
    return Redrawn(
        name="residual_life",
        title="Claude: what remains of a pause, by how long it has lasted",
        head=head,
        rows=tuple(rows),
        command=command_of(trace, "residual", "--where", CLAUDE, "--by", "none", "--rows", "tool", "--elapsed", times),
        lines=(*lines, about(head)),
    )


def _at_risk(points: Sequence[ResidualPoint]) -> str:
    return ", ".join(f"{point.n_at_risk:,} after {point.elapsed:g} s" for point in points)


def _remaining(point: ResidualPoint, figure: Figure | None = None) -> list[FigureRow]:
    """Give mean and median of what remains at one elapsed time."""
    note = f"{counted(point.sessions_at_risk, 'session')} at risk, 20 needed" if point.few_sessions else ""
    if point.mean.value is None:
        note = f"{counted(point.n_at_risk, 'row')} at risk, 20 needed"
    mean = FigureRow(
        panel="Claude",
        quantity=MEAN if figure is None else MEAN_AT,
        unit="s",
        at=point.elapsed,
        ours=point.mean,
        n=point.n_at_risk,
        definition=f"tool pauses, wall clock, mean within {point.window:,.0f} s",
        note=note,
    )
    if figure is not None:
        mean = replace(mean, **_theirs(figure))
    median = replace(
        mean,
        quantity=MEDIAN if figure is None else MEDIAN_AT,
        ours=point.median,
        definition="tool pauses, wall clock, median",
        published=None,
        published_low=None,
        published_high=None,
        printed="",
    )
    return [mean, median]


def _given(figure: Figure, at: float) -> FigureRow:
    """Give a published number that this trace has nothing to compare with."""
    row = FigureRow(panel="Claude", quantity=MEAN_AT, unit="s", at=at, note="no pauses of Claude", n=0)
    return replace(row, **_theirs(figure))
