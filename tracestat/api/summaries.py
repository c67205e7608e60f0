"""``summary``: how many, how long, where time and token-seconds go, what waits for a human."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.between import between_notes
from tracestat.api.common import (
    TraceLike,
    as_trace,
    excluded_of,
    head_of,
    key_of,
    plain_groups,
    sorted_groups,
    split_by_key,
)
from tracestat.api.curves import QUANTILES, curves_of, quantiles_of
from tracestat.api.log_parts import SELECTED_STARTS, LogParts, log_parts, share_of_sums
from tracestat.api.tracelab import tracelab_figures
from tracestat.charts.captions import reasons
from tracestat.charts.words import seconds as in_seconds
from tracestat.durations import (
    Clock,
    Definition,
    Rows,
    Selection,
    Unit,
    edit_over_minute,
    hazard_cells,
    select,
    summary_counts,
    summary_shares,
)
from tracestat.resample import sum_by
from tracestat.results import (
    NOT_AVAILABLE,
    Bounds,
    HumanShare,
    Interval,
    Over,
    SummaryGroup,
    SummaryResult,
)
from tracestat.survival.bins import FINE_EDGES, Grid
from tracestat.survival.clustered import ClusteredCurve
from tracestat.survival.hazard import Cells, session_cells
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS, complement, headline
from tracestat.survival.shares import (
    share_of_time_curve,
    share_of_time_grid,
    share_of_time_without_top,
    top_rows,
)

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["summary"]

_WITHIN = (1.0, 10.0, 60.0)
_OVER = 60.0
_FEW_CENSORED = 0.01
_UP_TO = "shares of time count up to the longest completed duration, {}, since rows are censored"
Floats = NDArray[np.float64]


def summary(
    trace: TraceLike,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    min_n: int | None = None,
    seed: int = 0,
) -> SummaryResult:
    """Summarise durations: quantiles, shares of count, time and token-seconds, and what waits for a human.

    Parameters
    ----------
    trace, by, where, since, until, tz, rows, definition, min_n, seed
        As for :func:`tracestat.hazard`.
    unit : {"pause", "call", "command"}, optional
        Default: pauses (what an engine sees) and calls (what tools take) beside each other.
    clock : {"wall", "internal", "effective"}
        Of the calls.

    Returns
    -------
    SummaryResult
        A group per key and unit. Where the trace knows them (raw logs do), the groups of calls also tell the limits
        that calls asked for and how many ended on them, and what calls waited before they started. With
        ``definition="tracelab"`` also the tables that TraceLab publishes.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.summary(tracestat.open(), by="none")
    >>> [group.key["unit"] for group in result.groups]
    ['pause', 'call']
    """
    opened = as_trace(trace)
    plain = definition == "tracelab"
    units: tuple[Unit, ...] = ("call",) if plain else (unit,) if unit else ("pause", "call")
    groups: list[SummaryGroup] = []
    excluded: dict[str, int] = {}
    notes: list[str] = []
    selection = Selection()

    def chosen(unit: Unit, clock: Clock) -> Selection:
        return select(
            opened,
            unit=unit,
            clock=clock,
            rows=rows,
            definition=definition,
            by=by,
            where=where,
            since=since,
            until=until,
            tz=tz,
        )

    for one in units:
        timed = clock if one == "call" or len(units) == 1 else "wall"
        selection = chosen(one, timed)
        made = _groups(opened, selection, min_n or 0)
        left = excluded_of(opened, selection)
        if one == "call" and not plain:
            by_wall = selection if timed == "wall" else chosen(one, "wall")
            made = _with_log_parts(made, log_parts(opened, by_wall, min_n or 0))
            if any(group.start_waits for group in made.values()):
                notes.append(SELECTED_STARTS)
        groups += made.values()
        if not excluded:  # of the first unit, the one in front; the others' stand in the notes
            excluded = dict(left.counts)
        elif left.counts:
            notes.append(f"left out of the {one}s: {reasons(left.counts)}")
        notes += [f"{one}s: {note}" for note in left.notes]
        notes += between_notes(opened, selection, "their durations are too long")
    figures: Mapping[str, Any] | None = None
    if plain:
        if where or since or until:
            notes.append("TraceLab's tables cover the whole trace: they are left out under a condition or a period")
        else:
            figures = tracelab_figures(opened)
        groups = plain_groups(groups)
    head = head_of(opened, selection, "summary", seed=seed, excluded=excluded, notes=notes)
    if len(units) > 1:
        head = replace(head, unit=None)
    return SummaryResult(head, tuple(groups), figures)


def _groups(trace: Trace, selection: Selection, min_n: int) -> dict[tuple[Any, ...], SummaryGroup]:
    curves = curves_of(trace, selection)
    counts = split_by_key(summary_counts(trace, selection), selection)
    shares = split_by_key(summary_shares(trace, selection, _OVER), selection)
    edits = split_by_key(edit_over_minute(trace, selection), selection)
    censored = any(bool(curve.curve.n_censored.any()) for curve in curves.values())
    cells = {}
    if censored:
        cells = split_by_key(hazard_cells(trace, selection, FINE_EDGES, FINE_EDGES), selection)
    return {
        key: _group(
            key, curves.get(key), counts[key], shares.get(key), edits.get(key), cells.get(key), selection, min_n
        )
        for key in sorted_groups(counts)
    }


def _with_log_parts(
    groups: Mapping[tuple[Any, ...], SummaryGroup], parts: Mapping[tuple[Any, ...], LogParts]
) -> dict[tuple[Any, ...], SummaryGroup]:
    return {
        key: replace(group, limits=found.limits, start_waits=found.start_waits, notes=(*group.notes, *found.notes))
        for key, group in groups.items()
        for found in [parts.get(key, LogParts())]
    }


def _group(
    key: tuple[Any, ...],
    curve: ClusteredCurve | None,
    counts: pl.DataFrame,
    shares: pl.DataFrame | None,
    edits: pl.DataFrame | None,
    cells: pl.DataFrame | None,
    selection: Selection,
    min_n: int,
) -> SummaryGroup:
    own = counts if selection.rows == "all" else counts.filter(counts["row_kind"] == selection.rows)
    n = int(own["rows"].sum())
    named: dict[str, Any] = {"unit": selection.unit, **key_of(key, selection)}
    notes: list[str] = []
    quantiles = {f"{q:g}": NOT_AVAILABLE for q in QUANTILES}
    within = {f"{x:g}": NOT_AVAILABLE for x in _WITHIN}
    over = Over(NOT_AVAILABLE, NOT_AVAILABLE, NOT_AVAILABLE)
    events = sessions = developers = 0
    if curve is None or shares is None:
        notes.append(f"no {selection.rows} rows")
    else:
        events, sessions, developers = int(curve.curve.n_event.sum()), curve.n_sessions, curve.n_developers
        if n < min_n:
            notes.append(f"{n} rows, {min_n} asked for")
        else:
            quantiles, beyond = quantiles_of(curve)
            notes += beyond
            within = dict(zip(within, curve.within(_WITHIN), strict=True))
            over, more = _over(curve, shares, cells)
            notes += more
        if developers < ENOUGH_CLUSTERS:
            notes.append(FEW_DEVELOPERS.format(n=developers))
    edit = None
    if edits is not None and float(edits["seconds"].sum()) > 0:
        edit = float(edits["seconds_over"].sum()) / float(edits["seconds"].sum())
    return SummaryGroup(
        key=named,
        n=n,
        n_events=events,
        n_censored=n - events,
        n_sessions=sessions,
        n_developers=developers,
        total_seconds=float(own["seconds"].sum()),
        notes=tuple(notes),
        quantiles=quantiles,
        share_within=within,
        over={f"{_OVER:g}": over},
        token_seconds=float(own["token_seconds"].sum()),
        human=_human(counts),
        mixed_key=int(own["mixed"].sum()),
        by_end_kind={kind: int(part["rows"].sum()) for (kind,), part in sorted(own.group_by("end_kind"))},
        edit_over_minute=edit,
    )


def _human(counts: pl.DataFrame) -> HumanShare:
    part = counts.filter(counts["row_kind"] == "human")

    def share(column: str) -> float | None:
        whole = float(counts[column].sum())
        return float(part[column].sum()) / whole if whole > 0 else None

    return HumanShare(share("rows"), share("seconds"), share("token_seconds"))


def _over(curve: ClusteredCurve, shares: pl.DataFrame, cells: pl.DataFrame | None) -> tuple[Over, list[str]]:
    """Give the shares above the threshold: of rows, of time, of token-seconds."""
    notes: list[str] = []
    sums = {
        name: shares[name].to_numpy().astype(np.float64)
        for name in ("seconds", "seconds_over", "token_seconds", "token_seconds_over")
    }
    developer = np.unique(shares["developer_id"].to_numpy(), return_inverse=True)[1].astype(np.intp)
    steps = curve.curve
    (within,) = curve.within([_OVER])
    of_count = complement(within)
    tokens = share_of_sums(sums["token_seconds"], sums["token_seconds_over"], developer)
    has_censored = bool(steps.n_censored.any())
    last_event = float(steps.time[steps.n_event > 0].max(initial=0.0))
    if not has_censored:
        of_time = share_of_sums(sums["seconds"], sums["seconds_over"], developer)
    elif last_event > _OVER and steps.n_censored.sum() < _FEW_CENSORED * (steps.n_censored + steps.n_event).sum():
        # with hardly any row censored the ratio of sums knows the tail better than a grid of bins does
        value = share_of_time_curve(steps, _OVER, last_event)
        ratio = share_of_sums(sums["seconds"], sums["seconds_over"], developer)
        of_time = ratio if value is None else _shifted(ratio, value)
        notes.append(_UP_TO.format(in_seconds(last_event)))
    elif last_event > _OVER and cells is not None:
        of_time = _censored_share(curve, cells, last_event)
        notes.append(_UP_TO.format(in_seconds(last_event)))
    else:
        of_time = Interval(0.0 if last_event <= _OVER and float(sums["seconds_over"].sum()) == 0 else None)
    n = steps.n_event + steps.n_censored
    rows = int(n.sum())
    top = np.repeat(steps.time[::-1], n[::-1].astype(int))[: top_rows(rows)]
    without = share_of_time_without_top(
        float(sums["seconds"].sum()), float(sums["seconds_over"].sum()), rows, top, _OVER
    )
    return Over(of_count, of_time, tokens, without), notes


def _censored_share(curve: ClusteredCurve, frame: pl.DataFrame, tau: float) -> Interval:
    """Give the share of time above the threshold when rows are censored: exact value, bounds from 256 bins."""
    codes = [
        np.unique(frame[name].to_numpy(), return_inverse=True)[1].astype(np.intp)
        for name in ("session_pk", "developer_id")
    ]
    data = session_cells(
        Cells(
            codes[0],
            codes[1],
            frame["cell"].to_numpy().astype(np.intp),
            *(frame[name].to_numpy().astype(np.float64) for name in ("n_event", "n_net", "micros_net")),
        ),
        Grid(FINE_EDGES),
    )
    D, X = data.events[:, :-1], data.exposure[:, :-1]
    value = share_of_time_curve(curve.curve, _OVER, tau)
    if tau > FINE_EDGES[-1]:  # somebody came back after weeks: the bins do not go so far
        return Interval(value)
    found = [
        share_of_time_grid(a, b, _OVER, tau)
        for a, b in ((D, X), tuple(sum_by(v, data.developer, data.n_developers) for v in (D, X)))
    ]
    if value is None or found[0] is None or found[1] is None:
        return NOT_AVAILABLE
    return _shifted(headline(found[0], found[1]), value)


def _shifted(interval: Interval, value: float) -> Interval:
    """Move a share with its bounds to a better estimate of the same, within [0, 1]."""
    by = value - (interval.value or 0.0)

    def moved(bounds: Bounds) -> Bounds:
        low, high = (None if b is None else min(1.0, max(0.0, b + by)) for b in bounds)
        return low, high

    low, high = moved((interval.low, interval.high))
    return replace(
        interval,
        value=value,
        low=low,
        high=high,
        session=interval.session and moved(interval.session),
        developer=interval.developer and moved(interval.developer),
    )
