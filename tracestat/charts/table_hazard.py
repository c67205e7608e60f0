"""The tables of ``hazard``: first what it says, then the slopes, then everything needed to audit them."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import (
    both_clusterings,
    by_words,
    group_notes,
    headline_method,
    in_words,
    made,
    name_of,
    titled,
    units_of,
)
from tracestat.charts.rises import FAMILIES, Variant, headline_sentence, variants, verdict
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    MISSING,
    bounds,
    count,
    counted,
    joined,
    plain,
    rate_interval,
    slope,
    slope_interval,
    span,
)
from tracestat.results import HazardGroup, HazardResult, Interval

__all__ = ["FEW", "hazard_tables"]

FEW = 3
_WITHIN = {"tool_class": "tool class", "command_skeleton": "skeleton"}


def hazard_tables(result: HazardResult, groups: Sequence[HazardGroup], cut: str | None) -> list[Table]:
    """Give the tables of the chosen groups.

    Parameters
    ----------
    result : HazardResult
    groups : sequence of HazardGroup
        Those to show, in order.
    cut : str or None
        The line that says how to see the others.
    """
    head = result.head
    title = titled(f"Hazard of {units_of(head)}, {by_words(head)}", head)
    if not groups:
        return [Table(title, caption=(*made(head), "no groups: nothing is left to count"), notes=head.notes)]
    few = len(groups) <= FEW
    tables = [
        _support(groups, title, (*made(head), *([cut] if cut else []))),
        Table(titled("In short", head), caption=tuple(headline_sentence(group) for group in groups)),
        _slopes(groups, titled("Slope of ln hazard on ln time", head)),
    ]
    if not few:
        tables.append(_checks(groups, titled("Checks of the slope", head), first_only=True))
    else:
        tables.append(_rises(groups, titled("Rise test", head), len(result.groups)))
        tables += [
            _bins(group, titled(f"Hazard per second, {in_words(group)}", head)) for group in groups if group.bins
        ]
        tables.append(_checks(groups, titled("Checks of the slope", head)))
        tables += [
            _within(group, titled(f"Slope within keys, {in_words(group)}", head)) for group in groups if group.within
        ]
    rest = () if few else (f"bins, rise tests, all checks and slopes within keys: --top {FEW} (or --where, --json)",)
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *rest, *head.notes))
    return tables


def _support(groups: Sequence[HazardGroup], title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("rows"),
        Column("censored"),
        Column("range", "left"),
        Column("bins"),
        Column("events"),
        Column("sessions"),
        Column("developers"),
    )
    rows = tuple(
        (
            name_of(g),
            count(g.n),
            count(g.n_censored),
            MISSING if g.range is None else span(*g.range),
            count(g.n_bins),
            count(g.n_in_range),
            count(g.n_sessions),
            count(g.n_developers),
        )
        for g in groups
    )
    notes = ("range: the leading bins with 30 events or more from their lower edge on; events: those in it",)
    return Table(title, columns, rows, tuple(caption), notes)


def _rows_of(groups: Sequence[HazardGroup]) -> list[tuple[str, Variant]]:
    """Give every variant of every group; the name of a group stands on its first line only."""
    return [
        ("" if number else name_of(group), variant)
        for group in groups
        for number, variant in enumerate(_shown_variants(group))
    ]


def _shown_variants(group: HazardGroup) -> list[Variant]:
    """Give the variants of a group; one line is enough where none has an estimate."""
    found = variants(group)
    known = [v for v in found if v.slope.poisson.value is not None or v.rise.adjacent.significant is not None]
    return found if known else found[:1]


def _slopes(groups: Sequence[HazardGroup], title: str) -> Table:
    columns = (
        label_column(),
        Column("from", "right"),
        Column("deadlines", "left"),
        Column("slope"),
        Column("by session"),
        Column("by developer"),
    )
    rows = tuple(
        (label, v.start, v.deadlines, slope(v.slope.poisson.value), *_both(v.slope.poisson))
        for label, v in _rows_of(groups)
    )
    return Table(title, columns, rows, (), tuple(_slope_notes(groups)))


def _both(item: Interval) -> tuple[str, str]:
    """Give the bounds by session and by developer; an interval of one kind stands where its method belongs."""
    if item.session is None and item.developer is None:
        only = bounds((item.low, item.high), lambda x: slope(x, 2))
        return (MISSING, only) if item.method.startswith("developer") else (only, MISSING)
    session, developer = (bounds(pair, lambda x: slope(x, 2)) for pair in (item.session, item.developer))
    return session, developer


def _slope_notes(groups: Sequence[HazardGroup]) -> list[str]:
    notes = ["Poisson slope; 0 is a constant hazard, below -1 a return gets ever less likely even on a log clock"]
    items = [v.slope.poisson for group in groups for v in variants(group)]
    method = both_clusterings(items)
    if method is not None:
        notes.append(method)
    windows: dict[str, list[str]] = {}
    for group in groups:
        text = ", ".join(f"{a:g} to {b:g} s" for a, b in group.deadlines_cut.windows)
        windows.setdefault(text or "none", []).append(in_words(group))
    for text, names in windows.items():
        whose = "" if len(windows) == 1 else f" ({joined(names, 4)})"
        notes.append(f"deadlines cut{whose}: {text}")
    return notes + group_notes(groups)


def _rises(groups: Sequence[HazardGroup], title: str, total: int) -> Table:
    columns = (
        label_column(),
        Column("from,\ndeadlines", "left"),
        Column("bins", "left"),
        Column("result", "left", "wrap"),
        Column("over a\nfit"),
    )
    rows = []
    for group in groups:
        first = True
        for variant in _shown_variants(group):
            # the two further families are shown from the first edge; those of the upper range stand in the JSON
            tested = any(getattr(variant.rise, name).significant is not None for name, _ in FAMILIES)
            shown = FAMILIES if variant.from_first_edge and tested else FAMILIES[:1]
            for place, (name, words) in enumerate(shown):
                rows.append(
                    (
                        name_of(group) if first else "",
                        "" if place else f"{variant.start}, {variant.deadlines}",
                        words,
                        verdict(getattr(variant.rise, name)),
                        MISSING if place or variant.rise.pava_ratio is None else f"x {variant.rise.pava_ratio:.2f}",
                    )
                )
                first = False
    clusters = sorted({f.clusters for g in groups for v in variants(g) for f in (v.rise.adjacent,) if f.clusters})
    # the groups of one answer are tested together, those that are not shown too
    over = " and over all groups" if total > 1 else ""
    notes = [
        f"limits and p are simultaneous over the bins of a line{over} (95 %, max-T"
        + (f", clusters: {', '.join(map(plain, clusters))})" if clusters else ")")
        + "; ( ) where the limit is largest",
        "neighbours: bins joined until each holds 30 events, each against the one before; a -> b: their middles; "
        "moved: the same with the bins moved by half a bin",
        "over a fit: largest ratio of a bin to the fitted hazard that never rises",
    ]
    return Table(title, columns, tuple(rows), (), tuple(notes))


def _bins(group: HazardGroup, title: str) -> Table:
    cuts = {item.lo: item for item in group.deadlines_cut.bins}
    columns = [Column("bin"), Column("events"), Column("deadlines kept", "left")]
    if cuts:
        columns.append(Column("deadlines cut", "left"))
    rows = []
    for number, item in enumerate(group.bins):
        place = span(item.lo, item.hi) if number < group.n_bins else f"({span(item.lo, item.hi)})"
        cells = (place, count(item.events), rate_interval(item.hazard))
        other = cuts.get(item.lo)
        rows.append((*cells, rate_interval(other.hazard if other else None)) if cuts else cells)
    notes = [] if group.n_bins >= len(group.bins) else ["( ) too few events; not in the slope and the rise test"]
    if group.n_between:
        ended = counted(group.n_between, "command")
        notes.append(f"events: of the {ended} that ended between two polls, those expected in the bin, rounded")
    method = headline_method([item.hazard for item in group.bins])
    return Table(title, tuple(columns), tuple(rows), (), (*([method] if method else []), *notes))


def _checks(groups: Sequence[HazardGroup], title: str, *, first_only: bool = False) -> Table:
    columns = (
        label_column(),
        Column("from,\ndeadlines", "left"),
        Column("least\nsquares"),
        Column("exact power law", "left"),
        Column("curvature", "left"),
    )
    rows = tuple(
        (
            label,
            f"{v.start}, {v.deadlines}",
            slope(v.slope.ols.value),
            slope_interval(v.slope.weibull),
            slope_interval(v.curvature),
        )
        for label, v in _rows_of(groups)
        if label or not first_only
    )
    notes = ["least squares has no interval: its residual error is no standard error; for comparison only"]
    for group in groups:
        local = [f"{slope(value)} at {at:g} s" for at, value in group.local_slopes if value is not None]
        if local and not first_only:
            notes.append(f"{in_words(group)}: local slope {', '.join(local)} (deadlines kept)")
    shown = [v for group in groups for v in variants(group)]
    exact = headline_method([v.slope.weibull for v in shown])
    bent = headline_method([v.curvature for v in shown])
    # the exact law has no clusters behind its interval, and must not seem to have
    methods = (
        [bent] if bent == exact else [f"{n}: {m}" for n, m in (("exact power law", exact), ("curvature", bent)) if m]
    )
    return Table(title, columns, rows, (), (*(m for m in methods if m), *notes))


def _within(group: HazardGroup, title: str) -> Table:
    columns = (
        Column("key", "left", "wrap"),
        Column("keys"),
        Column("pooled"),
        Column("within a key", "left"),
        Column("theta"),
        Column("due to\nmixing"),
        Column("stratified"),
    )
    rows = tuple(
        (
            " x ".join(_WITHIN.get(name, plain(name).replace("_", " ")) for name in item.keys),
            count(item.n_keys),
            slope(item.pooled),
            slope_interval(item.slope),
            slope(item.theta, 2),
            MISSING if item.share_mixing is None else f"{100 * item.share_mixing:.0f} %",
            slope(item.stratified),
        )
        for item in group.within
    )
    notes = ["shared gamma frailty; theta: variance between keys; stratified: keys with 50 events or more"]
    method = headline_method([item.slope for item in group.within])
    own = [plain(note) for item in group.within for note in item.notes]
    return Table(title, columns, rows, (), (*([method] if method else []), *notes, *dict.fromkeys(own)))
