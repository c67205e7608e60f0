"""The rows of the article's figures: ours by the first definition of each published number, beside that number.

This file makes those on shares and on residual life; `redrawn_hazards` those on hazards.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.common import excluded_of, head_of
from tracestat.api.curves import curves_of
from tracestat.api.log_parts import share_of_sums
from tracestat.api.residual import residual
from tracestat.charts.captions import left_out
from tracestat.charts.figures import FigureRow, Redrawn
from tracestat.charts.figures_residual import MEAN, MEAN_AT, MEDIAN, MEDIAN_AT
from tracestat.charts.words import counted
from tracestat.durations import Selection, select, summary_shares
from tracestat.published import Figure, load_published
from tracestat.queries import data_path
from tracestat.results import NOT_AVAILABLE, Group, Head, Interval, ResidualPoint
from tracestat.survival.headline import complement

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["about", "command_of", "published", "residual_life", "shares", "size_of", "theirs"]

CLAUDE = "provider = 'claude'"
_MINUTE = 60.0
_PUBLISHED_MEANS = ("article.mrl.4", "article.mrl.25", "article.mrl.146")
_APPROVALS = ("AskUserQuestion", "ExitPlanMode")


def published(name: str) -> Figure:
    """Give a published number by its id."""
    return next(figure for figure in load_published().figures if figure.id == name)


def command_of(trace: Trace, command: str, *options: str) -> str:
    """Give the command that prints the numbers of a figure; the bundled sample needs no name."""
    sample = trace.synthetic and trace.shown == data_path("sample.jsonl.gz").name
    words = ["tracestat", command, *([] if sample else [trace.shown]), *options]
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
    pauses = select(trace, rows="all", by="none", where=CLAUDE)
    within, n_pauses = _share_of_rows(trace, pauses, 1.0)
    of_pauses = head_of(trace, pauses, "figures", excluded=excluded_of(trace, pauses).counts)
    calls = select(trace, definition="tracelab", by="none", where=CLAUDE)
    below, n_calls = _share_of_rows(trace, calls, _MINUTE)
    of_time = _share_of_time(trace, calls)
    head = head_of(trace, calls, "figures", excluded=excluded_of(trace, calls).counts)
    approvals = _share_of_approvals(trace, calls)
    wall, positive = "wall clock, all rows", "effective clock, positive, copies kept"
    rows = (
        _share("article.lt1s", "pauses that end within 1 s", wall, within, n_pauses),
        _share("article.gt1m.calls", "calls that last over a minute", positive, complement(below), n_calls),
        _share("article.gt1m.time", "time that these calls hold", positive, of_time, n_calls),
        _share("article.approval", f"time of {_APPROVALS[0]} and {_APPROVALS[1]}", positive, approvals, n_calls),
    )
    return Redrawn(
        name="shares",
        title="Claude: short waits, long waits and the time they hold",
        head=head,
        rows=rows,
        command=command_of(trace, "reproduce", "--source", "article"),
        lines=(
            f"{counted(n_pauses, 'pause')}; {left_out(of_pauses)}",
            f"{counted(n_calls, 'call')}; {left_out(head)}",
            about(head),
        ),
    )


def _share(name: str, quantity: str, definition: str, ours: Interval, n: int) -> FigureRow:
    figure = published(name)
    return FigureRow(
        panel="",
        quantity=quantity,
        unit=figure.unit,
        ours=ours,
        n=n,
        definition=definition,
        note="no rows of Claude" if ours.value is None else "",
        **theirs(figure),
    )


def theirs(figure: Figure) -> dict[str, Any]:
    """Give the part of a row that was published."""
    low_high = {"published_low": figure.low, "published_high": figure.high}
    return {"published": figure.value, "printed": figure.printed, **low_high}


def _share_of_rows(trace: Trace, selection: Selection, seconds: float) -> tuple[Interval, int]:
    """Give the share of rows that end within so many seconds, and the number of rows."""
    for curve in curves_of(trace, selection).values():
        n = curve.curve.n_event + curve.curve.n_censored
        return curve.within([seconds])[0], int(n.sum())
    return NOT_AVAILABLE, 0


def _share_of_time(trace: Trace, selection: Selection) -> Interval:
    sums = summary_shares(trace, selection, _MINUTE)
    return _ratio(sums["seconds"].to_numpy(), sums["seconds_over"].to_numpy(), sums["developer_id"].to_numpy())


def _share_of_approvals(trace: Trace, whole: Selection) -> Interval:
    """Give the share of the time of all rows that waits for a person to approve."""
    of_all = summary_shares(trace, whole, _MINUTE)
    part = select(trace, definition="tracelab", by="none", where=f"{CLAUDE} AND tool IN {_APPROVALS!r}")
    own = summary_shares(trace, part, _MINUTE).select("session_pk", approvals="seconds")
    both = of_all.join(own, on="session_pk", how="left").fill_null(0)
    return _ratio(both["seconds"].to_numpy(), both["approvals"].to_numpy(), both["developer_id"].to_numpy())


def _ratio(whole: np.ndarray, part: np.ndarray, developer: np.ndarray) -> Interval:
    if not whole.size or not whole.sum():
        return NOT_AVAILABLE
    codes = np.unique(developer, return_inverse=True)[1].astype(np.intp)
    return share_of_sums(whole.astype(np.float64), part.astype(np.float64), codes)


def residual_life(trace: Trace) -> Redrawn:
    """Compare the mean time that remains with the published means, and show it with the median over all times."""
    elapsed = {name: published(f"{name}.elapsed").value for name in _PUBLISHED_MEANS}
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
        mean = replace(mean, **theirs(figure))
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
    return replace(row, **theirs(figure))
