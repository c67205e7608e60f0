"""The command ``hazard``: is there a moment at which a return becomes likely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.between import Between, between_words, cells_and_ends
from tracestat.api.common import (
    TraceLike,
    as_trace,
    excluded_of,
    group_keys,
    head_of,
    key_of,
    plain_groups,
    sorted_groups,
    split_by_key,
)
from tracestat.api.hazard_plan import CUT_AT, UPPER_FROM, Plan, make_plan
from tracestat.durations import Clock, Definition, Rows, Selection, Unit, curve_counts, select
from tracestat.errors import UsageError
from tracestat.resample import sum_by
from tracestat.results import (
    DeadlinesCut,
    HazardGroup,
    HazardResult,
    Rise,
    UpperRange,
    WithinKey,
)
from tracestat.survival.between_polls import with_lost_information
from tracestat.survival.bins import Window, bin_centres
from tracestat.survival.hazard import (
    NO_FIT,
    Cells,
    RangeData,
    RangeFit,
    SessionCells,
    TimeCounts,
    fit_range,
    hazard_bins,
    range_data,
    session_cells,
    within_keys,
)
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS
from tracestat.survival.rises import NO_RISE, BinSets, RiseInput, rises
from tracestat.survival.slope import poisson_slope
from tracestat.survival.threads import two_at_a_time

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CUT_AT", "UPPER_FROM", "hazard"]

_ENDED = "completed"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Part:
    """The fits of one bin set of one group, with deadlines kept or cut."""

    data: RangeData
    moved: RangeData
    fit: RangeFit


@dataclass(frozen=True, slots=True)
class _Group:
    """One group on its way to a result."""

    key: tuple[Any, ...]
    frame: pl.DataFrame
    exposure: pl.DataFrame
    cells: Cells
    sessions: SessionCells
    cut: NDArray[np.bool_]
    holes: tuple[Window, ...]
    session_ids: NDArray[np.intp]
    developer_ids: NDArray[np.intp]
    parts: Mapping[str, _Part]
    between: Between | None


def _codes(values: pl.Series) -> NDArray[np.intp]:
    """Give the number of each value among the distinct ones in ascending order."""
    import polars as pl

    distinct = values.unique().sort()  # looking these up is quicker than ranking all
    return values.replace_strict(distinct, pl.int_range(distinct.len(), eager=True)).to_numpy().astype(np.intp)


def _group(
    plan: Plan,
    key: tuple[Any, ...],
    frame: pl.DataFrame,
    counts: TimeCounts,
    exposure: pl.DataFrame,
    between: Between | None,
) -> _Group:
    """Lay out one group; ``exposure`` holds the rows at risk, ``frame`` those whose events count."""
    row_session = exposure["session_pk"].to_numpy()
    is_first = np.diff(row_session, prepend=row_session[0] - 1) > 0  # rows come in the order of the sessions
    session = np.cumsum(is_first) - 1
    sessions_of = exposure.select("session_pk", "developer_id", "provider_of").filter(is_first)
    session_ids = sessions_of["session_pk"].to_numpy()
    developer_ids, developer = np.unique(sessions_of["developer_id"].to_numpy(), return_inverse=True)
    cells = Cells(
        session,
        developer[session],
        exposure["cell"].to_numpy().astype(np.intp),
        exposure["n_event"].to_numpy().astype(np.float64),
        exposure["n_net"].to_numpy().astype(np.float64),
        exposure["micros_net"].to_numpy().astype(np.float64),
    )
    sessions = session_cells(cells, plan.grid)
    if between is not None:
        sessions = with_lost_information(sessions, between.fit)
        counts = between.moved(counts)
    providers = sessions_of["provider_of"]
    holes: dict[str | None, tuple[Window, ...]] = {p: plan.cut_of(p) for p in providers.unique().to_list()}
    masks = {provider: plan.grid.in_holes(windows) for provider, windows in holes.items()}
    cut = np.array([masks[provider] for provider in providers.to_list()]).reshape(len(session_ids), plan.grid.n_cells)
    windows = sorted({window for each in holes.values() for window in each})
    # the exact power law cuts a hole out of all rows alike, so it needs one provider
    one = tuple(windows) if len(holes) == 1 else ()
    late = bool((exposure["n_net"] < 0).any())
    parts = {}
    for name, edges, moved in (("base", plan.edges, plan.moved), ("upper", plan.upper, plan.upper_moved)):
        if edges is None or moved is None:
            continue
        for kept, mask in (("kept", None), ("cut", cut)):
            data, other = (range_data(sessions, plan.grid, e, mask) for e in (edges, moved))
            # rows that enter late are not in the counts per duration
            exact = counts if (kept == "kept" or len(holes) == 1) and not late else None
            fit = fit_range(data, exact, one if kept == "cut" else ())
            parts[f"{name} {kept}"] = _Part(data, other, fit)
    return _Group(
        key,
        frame,
        exposure,
        cells,
        sessions,
        cut,
        tuple(windows),
        session_ids.astype(np.intp),
        developer_ids,
        parts,
        between,
    )


def hazard(
    trace: TraceLike,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    cut_at: Sequence[float] | None = None,
    first_edge: float | None = None,
    bins: int | None = None,
    draws: int = 2_000,
    within: bool = True,
    min_n: int | None = None,
    seed: int = 0,
) -> HazardResult:
    """Estimate the hazard of return per log bin, its slope, and whether it rises anywhere.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    by : str or sequence of str
        Keys to group by; ``"none"`` pools. With ``end_kind`` among them the hazards are cause-specific: the events of
        one cause over the exposure of all.
    where : str, optional
        Condition on keys and ``started_at``.
    since, until : str, optional
        ISO dates or times of ``started_at``.
    tz : str, optional
        Time zone of dates and of the keys day, week, hour, weekday; default the local one.
    unit : {"pause", "call", "command"}
    clock : {"wall", "internal", "effective"}
        Other clocks than wall only for calls.
    rows : {"tool", "human", "all"}
    definition : {"tracestat", "tracelab"}
        ``"tracelab"``: calls on the effective clock, positive only, copies kept, all rows, no intervals.
    cut_at : sequence of float, optional
        Deadlines (seconds) to cut out in place of those known per provider.
    first_edge : float, optional
        Where the search for the first edge begins, seconds.
    bins : int, optional
        Number of bins, default 18.
    draws : int
        Draws of the rise test.
    within : bool
        Whether to fit the slopes within single keys, too; they take as long as all else.
    min_n : int, optional
        Groups with fewer rows are shown without estimates.
    seed : int
        Seed of the draws.

    Returns
    -------
    HazardResult
        Hazards per second; ``to_frame()``, ``chart()``, ``to_dict()``.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist.

    References
    ----------
    .. [1] Holford (1980), The analysis of rates and of survivorship using log-linear models.
    .. [2] Laird and Olivier (1981), Covariance analysis of censored survival data using log-linear analysis.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.hazard(tracestat.open(), by="provider", draws=200)
    >>> [group.label for group in result.groups]
    ['claude', 'codex']
    """
    if draws < 0:
        raise UsageError(f"draws {draws}: give 0 or more")
    opened = as_trace(trace)
    selection = select(
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
        outcomes=True,
    )
    plan = make_plan(first_edge, bins, cut_at)
    ends = cells_and_ends(opened, selection, plan.grid, plan.edges)
    cells = ends.cells
    counts = curve_counts(opened, selection)
    groups = two_at_a_time(lambda parts: _group(plan, *parts), _parts(cells, counts, selection, ends.groups))
    plain = selection.definition == "tracelab"
    made = _with_rises(groups, plan, selection, draws=0 if plain else draws, seed=seed, min_n=min_n or 0, within=within)
    excluded = excluded_of(opened, selection)
    # rows of a coarse clock that ended before they could enter say nothing about any bin
    early = int(cells["n_early"].sum())
    lowest = np.flatnonzero(plan.grid.base_bins(plan.edges) == -1)
    below = cells.filter(cells["cell"].is_in(lowest.tolist()))
    below_first = int((below["n"] - below["n_early"]).sum())
    head = head_of(
        opened,
        selection,
        "hazard",
        seed=seed,
        excluded={**excluded.counts, "below_first_edge": below_first, **({"below_resolution": early} if early else {})},
        notes=excluded.notes,
    )
    return HazardResult(head, tuple(plain_groups(made) if plain else made))


def _time_counts(frame: pl.DataFrame | None) -> TimeCounts:
    if frame is None:
        return TimeCounts(*(np.empty(0) for _ in range(3)))
    return TimeCounts(*(frame[name].to_numpy().astype(np.float64) for name in ("seconds", "n_event", "n_censored")))


def _parts(
    cells: pl.DataFrame, counts: pl.DataFrame, selection: Selection, between: Mapping[tuple[Any, ...], Between]
) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame, TimeCounts, pl.DataFrame, Between | None]]:
    """Give the key of each group, its rows, its counts per duration, the rows at risk, and ends between polls."""
    import polars as pl

    if "end_kind" not in selection.keys:
        by_key, parts_of = split_by_key(counts, selection), split_by_key(cells, selection)
        for key in sorted_groups(parts_of):
            yield key, parts_of[key], _time_counts(by_key.get(key)), parts_of[key], between.get(key)
        return
    # cause-specific: the rows at risk are those of all causes, and other causes are no events
    others = [name for name in selection.keys if name != "end_kind"] or None
    parts = cells.partition_by(others, maintain_order=True) if others else [cells]
    for part in parts:
        for kind in sorted(part["end_kind"].unique().to_list()):
            own = part.filter(pl.col("end_kind") == kind)
            exposure = part.with_columns(
                n_event=pl.when(pl.col("end_kind") == kind).then(pl.col("n_event")).otherwise(0)
            )
            key = own.select(group_keys(selection)).row(0)
            # the exact power law would need the counts of all causes at each time; the binned slope suffices here
            # only what completed has an end between polls
            other = tuple(value for value, name in zip(key, selection.keys, strict=True) if name != "end_kind")
            yield key, own, _time_counts(None), exposure, between.get(other) if kind == _ENDED else None


def _with_rises(
    groups: Sequence[_Group], plan: Plan, selection: Selection, *, draws: int, seed: int, min_n: int, within: bool
) -> list[HazardGroup]:
    session_ids = np.unique(np.concatenate([g.session_ids for g in groups])) if groups else np.empty(0)
    developer_ids = np.unique(np.concatenate([g.developer_ids for g in groups])) if groups else np.empty(0)
    inputs = []
    for group in groups:
        enough = draws > 0 and group.frame["n"].sum() >= min_n
        usable = {name: BinSets(p.data, p.moved) for name, p in group.parts.items() if enough and p.fit.available}
        inputs.append(
            RiseInput(
                usable,
                np.searchsorted(session_ids, group.session_ids).astype(np.intp),
                np.searchsorted(developer_ids, group.developer_ids).astype(np.intp),
            )
        )
    tested = rises(inputs, draws=draws, seed=seed)

    def made(number: int) -> HazardGroup:
        group = groups[number]
        rise = {name: tested[number].get(name, NO_RISE) for name in group.parts}
        return _result(group, plan, selection, rise, min_n, within=within)

    return two_at_a_time(made, range(len(groups)))


def _result(
    group: _Group, plan: Plan, selection: Selection, rise: Mapping[str, Rise], min_n: int, *, within: bool
) -> HazardGroup:
    n = int(group.frame["n"].sum())
    events = int(group.frame["n_seen"].sum())
    n_developers = int(group.frame["developer_id"].n_unique())
    parts, too_few = group.parts, n < min_n
    if too_few:
        parts = {
            name: replace(part, fit=replace(NO_FIT, notes=(f"{n} rows, {min_n} asked for",)))
            for name, part in parts.items()
        }
    base, cut = parts["base kept"], parts["base cut"]
    notes = list(base.fit.notes)
    notes += [f"deadlines cut: {note}" for note in cut.fit.notes if note not in notes]
    in_range = _developers_in_range(base.data)
    if in_range < ENOUGH_CLUSTERS and base.fit.available:
        of = int(group.exposure["developer_id"].n_unique())
        told = f"{in_range}" if in_range == of else f"{in_range} of {of} in range"
        notes.append(FEW_DEVELOPERS.format(n=told))
    n_between = 0
    if group.between is not None:
        n_between = group.between.n
        notes.append(
            f"{between_words(n_between, n)}; their end is known to an interval, and shared out over its bins by the "
            "hazard, within keys by that of the key; intervals allow for this, but not those within keys"
        )
        if not group.between.fit.converged:
            notes.append("the ends between polls were not settled after all steps of the fit")
    bounds = _censoring_bounds(group, plan) if base.fit.available else None
    if bounds is not None and None not in bounds:
        lost = int(group.exposure["n_lost"].sum())
        notes.append(
            f"{lost:,} {'row is' if lost == 1 else 'rows are'} censored: had they all ended then, the slope "
            f"would be {bounds[0]:.3f}; had none ended in the range, {bounds[1]:.3f} (deadlines kept)"
        )
    bins, effect = hazard_bins(group.sessions, plan.grid, plan.edges)
    bins_cut, _ = hazard_bins(group.sessions, plan.grid, plan.edges, group.cut)
    if "end_kind" in selection.keys and not events:
        # lost and open rows are censored: there is no cause whose hazard they could show
        bins, bins_cut, effect = (), (), ()
        notes = ["no end of this kind was seen: these rows are censored, and at risk in the other kinds"]
    upper = None
    if "upper kept" in parts and plan.upper is not None:
        high, high_cut = parts["upper kept"], parts["upper cut"]
        notes += [f"from {high.data.edges[0]:g} s: {note}" for note in high.fit.notes if base.fit.available]
        upper = UpperRange(
            high.data.edges[0],
            high.fit.slope,
            high.fit.curvature,
            rise["upper kept"],
            DeadlinesCut(group.holes, high_cut.fit.slope, high_cut.fit.curvature, rise["upper cut"]),
        )
    return HazardGroup(
        key=key_of(group.key, selection),
        n=n,
        n_events=events,
        n_censored=n - events,
        n_sessions=int(group.frame["session_pk"].n_unique()),
        n_developers=n_developers,
        total_seconds=float(group.frame["micros"].sum()) / 1e6,
        notes=tuple(dict.fromkeys(notes)),
        bins=bins,
        range=base.data.range,
        n_bins=base.data.n_bins,
        n_in_range=base.data.n_events,
        slope=base.fit.slope,
        curvature=base.fit.curvature,
        local_slopes=base.fit.local_slopes,
        rise=rise["base kept"],
        upper_range=upper,
        deadlines_cut=DeadlinesCut(group.holes, cut.fit.slope, cut.fit.curvature, rise["base cut"], bins_cut),
        within=_within(group, plan) if within and not too_few else (),
        censoring_bounds=bounds,
        n_between=n_between,
        design_effect=effect,
    )


def _censoring_bounds(group: _Group, plan: Plan) -> tuple[float | None, float | None] | None:
    """Give the slope if all censored rows had ended when they were lost from sight, and if none had in the range."""
    frame, data = group.exposure, group.parts["base kept"].data
    lost = frame["n_lost"].to_numpy().astype(np.float64)
    if not lost.any() or data.n_bins == 0:
        return None
    J, n_cells = data.n_bins, plan.grid.n_cells
    x = bin_centres(data.edges)[:J]
    # a slope without interval needs sums over all sessions only
    n_event, n_net, micros_net, lost, micros_lost = (
        sum_by(values, group.cells.cell, n_cells)
        for values in (
            group.cells.n_event,
            group.cells.n_net,
            group.cells.micros_net,
            lost,
            frame["micros_lost"].to_numpy(),
        )
    )
    one = np.zeros(n_cells, dtype=np.intp)
    now = Cells(one, one, np.arange(n_cells), n_event + lost, n_net, micros_net)
    beyond = np.zeros(n_cells)
    beyond[-1] = lost.sum()
    top = plan.grid.edges[-1] * 1e6
    never = replace(
        now, n_event=n_event, n_net=n_net - lost + beyond, micros_net=micros_net - micros_lost + beyond * top
    )
    slopes = []
    for variant in (now, never):
        ranged = range_data(session_cells(variant, plan.grid), plan.grid, plan.edges)
        fit = poisson_slope(ranged.D.sum(axis=0)[:J], ranged.X.sum(axis=0)[:J], x)
        slopes.append(None if fit is None else fit.slope)
    return slopes[0], slopes[1]


def _developers_in_range(data: RangeData) -> int:
    """Count the developers with exposure in the bins that slope and rise test use."""
    _, X = data.by_developer()
    return int(np.count_nonzero(X[:, : data.n_bins].sum(axis=1) > 0))


def _within(group: _Group, plan: Plan) -> tuple[WithinKey, ...]:
    import polars as pl

    base = group.parts["base kept"]
    if not base.fit.available or group.frame.height != group.cells.cell.size:
        return ()
    session, developer = group.cells.session, group.cells.developer
    skeleton = group.frame["skeleton_id"].to_numpy().astype(np.intp)
    keys = {
        ("tool_class",): _codes(group.frame["class_id"]),
        ("command_skeleton",): skeleton,
        ("command_skeleton", "developer"): _codes(pl.Series(skeleton * (developer.max() + 1) + developer)),
        ("session",): session,
    }
    shared = None if group.between is None else group.between.parts_in(group.frame).shared
    return within_keys(group.cells, keys, plan.grid, base.data, base.fit, shared)
