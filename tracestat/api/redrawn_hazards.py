"""The rows of the article's figures on hazards: the slope of each tool class, and the deadlines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tracestat.api.deadlines import deadlines
from tracestat.api.hazards import hazard
from tracestat.api.redrawn import about, answers, command_of, published_value, reproduced, size_of
from tracestat.charts.captions import left_out
from tracestat.charts.figures import FigureRow, Redrawn
from tracestat.charts.figures_deadlines import AROUND, ATOM, ON_LIMIT, PLACE, SHARE, SMOOTH
from tracestat.charts.figures_hazard import FIT, HAZARD, SLOPE
from tracestat.charts.hazard import fitted_line
from tracestat.charts.rises import verdict
from tracestat.charts.words import counted, p_value
from tracestat.published import load_published
from tracestat.results import NOT_AVAILABLE, DeadlinesGroup, HazardGroup, Interval, NamedLimit

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["deadline_hazards", "hazards"]


def hazards(trace: Trace, *, seed: int = 0) -> Redrawn:
    """Compare the log-log slope of every tool class with the published range, and show the hazards."""
    result = hazard(trace, by="tool_class", seed=seed)
    groups = sorted(result.groups, key=lambda group: (group.deadlines_cut.slope.poisson.value is None, -group.n))
    steepest, flattest = (published_value(f"article.hazard_slope.{end}") for end in ("steepest", "flattest"))
    rows = [row for group in groups for row in _class_rows(group, steepest, flattest)]
    n_bins = round(published_value("article.hazard_bins"))
    head = result.head
    return Redrawn(
        name="hazard",
        title="Hazard of pauses and its slope, by tool class",
        head=head,
        rows=tuple(rows),
        command=command_of(trace, "hazard", "--by", "tool_class"),
        lines=(
            f"{head.unit}, {head.clock} clock, {head.rows} rows; {left_out(head)}",
            f"{n_bins} log bins, deadlines cut; article, section 1: every class between {steepest:g} and "
            f"{flattest:g} (grey), no significant rise",
            "dashed: the fitted power law on its range; grey around it: what slopes of the article's range would give",
            about(head),
        ),
    )


def _class_rows(group: HazardGroup, steepest: float, flattest: float) -> list[FigureRow]:
    """Give the hazard per bin of one class, its fitted law, and its slope with what the rise test says."""
    cut = group.deadlines_cut
    bins = (cut.bins or group.bins)[: group.n_bins]
    slope = (cut.slope if cut.windows else group.slope).poisson
    rise = (cut.rise if cut.windows else group.rise).adjacent
    name = group.label
    note = verdict(rise) if rise.significant is not None else "the rise test is not available"
    if slope.value is None:
        note = _missing(group)
    definition = "tool pauses, wall clock, deadlines cut"
    rows = [
        FigureRow(
            panel=name,
            quantity=SLOPE,
            unit="slope",
            ours=slope,
            published_low=steepest,
            published_high=flattest,
            n=sum(item.events for item in bins),
            definition=f"{definition}, Poisson law",
            note=note,
        )
    ]
    rows += [
        FigureRow(
            panel=name,
            quantity=HAZARD,
            unit="per second",
            at=math.sqrt(item.lo * item.hi),
            at_low=item.lo,
            at_high=item.hi,
            ours=item.hazard,
            n=item.events,
            definition=definition,
        )
        for item in bins
        if item.hi is not None
    ]
    return [*rows, *_law_rows(name, group, (steepest, flattest))]


def _missing(group: HazardGroup) -> str:
    notes = [note for note in group.notes if "needed" in note]
    # what deadlines cut away leaves fewer still
    cut = [note.removeprefix("deadlines cut: ") for note in notes if note.startswith("deadlines cut: ")]
    return next(iter([*cut, *notes]), "no slope: too few events")


def _law_rows(name: str, group: HazardGroup, slopes: Sequence[float]) -> list[FigureRow]:
    """Give the fitted law at both ends and in the middle of its range, and what other slopes through it would give.

    The laws cross where the events of the class lie on average, since there the data know the level best.
    """
    ends = fitted_line(group)
    if not ends:
        return []
    (t0, h0), (t1, h1) = ((end["x"], end["y"]) for end in ends)
    own = math.log(h1 / h0) / math.log(t1 / t0)
    bins = [item for item in (group.deadlines_cut.bins or group.bins)[: group.n_bins] if item.hi is not None]
    events = sum(item.events for item in bins)
    middle = math.exp(sum(item.events * math.log(item.lo * (item.hi or item.lo)) / 2 for item in bins) / events)
    level = h0 * (middle / t0) ** own
    rows = []
    for t in sorted({t0, middle, t1}):
        others = sorted(level * (t / middle) ** b for b in slopes)
        rows.append(
            FigureRow(
                panel=name,
                quantity=FIT,
                unit="per second",
                at=t,
                ours=Interval(h0 * (t / t0) ** own),
                published_low=others[0],
                published_high=others[-1],
            )
        )
    return rows


def deadline_hazards(trace: Trace, *, seed: int = 0) -> Redrawn:
    """Show the hazard around the published deadlines, and compare the share of Codex pauses that end on one."""
    result = deadlines(trace, by="provider", seed=seed)
    head = result.head
    scans = {str(group.key["provider"]): group for group in result.groups if group.mode == "scan"}
    ours = answers(trace, "article.deadline", seed=seed)
    rows: list[FigureRow] = []
    for provider, name in (("codex", "Codex"), ("claude", "Claude")):
        figures = load_published().select(only=f"article.deadlines.{provider}.")
        if provider in scans:
            rows += _around(name, scans[provider], [published_value(figure.id) for figure in figures])
        rows += [reproduced(ours[figure.id], quantity=PLACE, panel=name) for figure in figures]
    codex = scans.get("codex")
    scanned = FigureRow(
        panel="Codex",
        quantity=SHARE,
        unit="fraction",
        ours=codex.share_on_deadline if codex is not None else NOT_AVAILABLE,
        definition="tool pauses beyond a smooth hazard, by the scan",
        note="" if codex is not None else "no pauses of Codex",
    )
    rows += [reproduced(ours["article.deadline_share.codex"], quantity=SHARE, panel="Codex"), scanned]
    return Redrawn(
        name="deadlines",
        title="Hazard of pauses around the deadlines of the harnesses",
        head=head,
        rows=tuple(rows),
        command=command_of(trace, "deadlines", "--by", "provider"),
        lines=(
            f"{head.unit}, {head.clock} clock, {head.rows} rows; {left_out(head)}",
            "grey: the article's deadlines; beside them the share of pauses that ends there beyond the dashed hazard",
            *(size_of(group) for group in scans.values()),
            about(head),
        ),
    )


def _around(name: str, group: DeadlinesGroup, places: Sequence[float]) -> list[FigureRow]:
    """Give the hazard on each stretch of the scan, the smooth one, and the limits that were published."""
    rows = []
    for piece in group.hazard:
        row = FigureRow(
            panel=name,
            quantity=AROUND,
            unit="per second",
            at=math.sqrt(piece.lo * piece.hi),
            at_low=piece.lo,
            at_high=piece.hi,
            ours=piece.hazard,
            n=piece.events,
            definition="tool pauses, wall clock",
            note=ATOM if piece.in_atom else "",
        )
        rows.append(row)
        if piece.smooth is not None:
            rows.append(replace(row, quantity=SMOOTH, ours=Interval(piece.smooth), n=None, note=""))
    for limit in group.named:
        if limit.seconds not in places:
            continue
        rows.append(
            FigureRow(
                panel=name,
                quantity=ON_LIMIT,
                unit="fraction",
                at=limit.seconds,
                at_low=limit.window[0],
                at_high=limit.window[1],
                ours=limit.share,
                n=limit.events,
                definition="tool pauses, wall clock; beyond a smooth hazard",
                note=_tested(limit),
            )
        )
    return rows


def _tested(limit: NamedLimit) -> str:
    """Say what the test of a limit named beforehand found."""
    where = f"{limit.seconds:g} s: {counted(limit.events, 'end')}"
    if limit.expected is not None:
        where += f", {limit.expected:,.1f} expected"
    return f"{where}, {p_value(limit.p_adjusted)} (Holm)" if limit.p_adjusted is not None else f"{where}, not testable"
