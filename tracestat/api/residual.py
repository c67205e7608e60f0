"""``residual``: having waited t, how much longer? Mean within a window, median and 90 % of the remaining time."""

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
from tracestat.durations import Clock, Definition, Rows, Unit, select
from tracestat.durations.residual import residual_cells, residual_counts
from tracestat.errors import UsageError
from tracestat.resample import ClusterInterval, sum_by
from tracestat.results import (
    NOT_AVAILABLE,
    Interval,
    ResidualGroup,
    ResidualPoint,
    ResidualResult,
)
from tracestat.survival.curve import Curve, kaplan_meier_counts
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS, headline
from tracestat.survival.landmark import LandmarkClusters, cells_of_exits, landmark_edges
from tracestat.survival.residual import (
    mean_residual,
    plug_in_mean,
    quantile_residual,
    rows_beyond,
    survival_beyond,
    window_beyond,
)
from tracestat.survival.tail_index import tail_index

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CURVE_AT", "ELAPSED", "ENOUGH_ROWS", "WINDOW", "points_of", "residual"]

ELAPSED = (0.0, 1.0, 4.0, 25.0, 146.0, 600.0)
WINDOW = 3600.0
ENOUGH_ROWS = 20
# six a decade, in round numbers
CURVE_AT = tuple(round(m * 10.0**k, 6) for k in range(-2, 5) for m in (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
_MEDIAN, _P90 = 0.5, 0.9
_ENOUGH_SESSIONS = 20
_MUCH_BEYOND = 0.05
_ROUNDING = 1e-12
_LONGEST = 1e8
_MOST_TIMES = 100
_MOST_NAMED = 6


def residual(
    trace: TraceLike,
    *,
    elapsed: Sequence[float] | None = None,
    window: float = WINDOW,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows | None = None,
    definition: Definition = "tracestat",
    curve: bool = True,
    min_n: int | None = None,
    seed: int = 0,
) -> ResidualResult:
    """Estimate the remaining time of what has already lasted t: its mean within a window, its median and 90 % point.

    Parameters
    ----------
    trace, by, where, since, until, tz, unit, clock, definition, min_n, seed
        As for :func:`tracestat.hazard`.
    elapsed : sequence of float, optional
        Times already waited, seconds; default 0, 1, 4, 25, 146 and 600.
    window : float, default 3600
        The mean counts no more than so many seconds from the elapsed time on, the same for every group and time.
    rows : {"tool", "human", "all"}, optional
        Default: tool rows, and all rows beside them.
    curve : bool
        Whether to give the log grid of times, too.

    Returns
    -------
    ResidualResult
        A group per key and kind of rows (``key["rows"]``), with the times asked for in ``at`` and a log grid of
        times in ``curve``. Median and 90 % point are the primary statements: under censoring a mean of heavy-tailed
        times cannot be checked.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist, or times that are none.

    References
    ----------
    .. [1] Hall and Wellner (1981), Mean residual life.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.residual(tracestat.open(), by="none", elapsed=[0, 10])
    >>> [(group.key["rows"], group.at[1].elapsed) for group in result.groups]
    [('tool', 10.0), ('all', 10.0)]
    """
    times = _checked(elapsed, window)
    opened = as_trace(trace)
    selection = select(
        opened,
        unit=unit,
        clock=clock,
        rows=rows or "all",
        definition=definition,
        by=by,
        where=where,
        since=since,
        until=until,
        tz=tz,
    )
    grid = CURVE_AT if curve else ()
    edges = landmark_edges({*times, *CURVE_AT}, [t + window for t in times])
    counts = split_by_key(residual_counts(opened, selection), selection)
    cells = split_by_key(residual_cells(opened, selection, edges), selection)
    both = rows is None and selection.definition == "tracestat"
    groups: list[ResidualGroup] = []
    for key in sorted_groups(counts):
        named = key_of(key, selection)
        asked = (edges, times, grid, window, min_n or 0)
        if not both:
            groups.append(_group({**named, "rows": selection.rows}, counts[key], cells[key], *asked))
            continue
        own, their = (frame.filter(frame["is_tool"]) for frame in (counts[key], cells[key]))
        groups.append(_group({**named, "rows": "tool"}, own, their, *asked))
        if own.height == counts[key].height:
            groups.append(replace(groups[-1], key={**named, "rows": "all"}))
        else:
            groups.append(_group({**named, "rows": "all"}, counts[key], cells[key], *asked))
    if selection.definition == "tracelab":
        groups = plain_groups(groups)
    told = replace(selection, rows="tool") if both else selection
    excluded = excluded_of(opened, told)
    notes = list(excluded.notes)
    apart = [f"{excluded.counts[kind]:,} {kind}" for kind in ("human", "background") if excluded.counts.get(kind)]
    if both and apart:
        notes.append(f"rows = all holds what tool rows leave out, too: {', '.join(apart)}")
    notes += between_notes(opened, told, "remaining times are too long from the first yield on")
    head = head_of(opened, told, "residual", seed=seed, excluded=excluded.counts, notes=notes)
    return ResidualResult(head, tuple(groups))


def _checked(elapsed: Sequence[float] | None, window: float) -> tuple[float, ...]:
    times = ELAPSED if elapsed is None else tuple(sorted({float(t) for t in elapsed}))
    if not 0 < len(times) <= _MOST_TIMES or not all(0 <= t <= _LONGEST for t in times):
        raise UsageError(f"--elapsed: give 1 to {_MOST_TIMES} times from 0 to {_LONGEST:g} s, as 4,25,146")
    if not 0 < window <= _LONGEST:
        raise UsageError(f"--window {window:g}: give seconds above 0, at most {_LONGEST:g}")
    return times


def _group(
    key: Mapping[str, Any],
    counts: pl.DataFrame,
    cells: pl.DataFrame,
    edges: Sequence[float],
    times: Sequence[float],
    curve_at: Sequence[float],
    window: float,
    min_n: int,
) -> ResidualGroup:
    n_events, n_censored = int(counts["n_event"].sum()), int(counts["n_censored"].sum())
    n = n_events + n_censored
    developers = cells["developer_id"].n_unique()
    notes: list[str] = []
    at: tuple[ResidualPoint, ...] = tuple(_empty(t, window) for t in times)
    curve: tuple[ResidualPoint, ...] = ()
    if n == 0:
        notes.append(f"no {key['rows']} rows")
    else:
        steps = kaplan_meier_counts(*(counts[c].to_numpy() for c in ("seconds", "n_event", "n_censored")))
        if n < min_n:
            notes.append(f"{n} rows, {min_n} asked for")
            at = tuple(replace(_empty(t, window), n_at_risk=rows_beyond(steps, t)) for t in times)
        else:
            grid = [t for t in curve_at if rows_beyond(steps, t) >= ENOUGH_ROWS]
            points = points_of(steps, cells, edges, sorted({*times, *grid}), window)
            at, curve = tuple(points[t] for t in times), tuple(points[t] for t in grid)
            notes += _notes(at, window, developers)
        if developers < ENOUGH_CLUSTERS:
            notes.append(FEW_DEVELOPERS.format(n=developers))
    return ResidualGroup(
        key=key,
        n=n,
        n_events=n_events,
        n_censored=n_censored,
        n_sessions=cells["session_pk"].n_unique(),
        n_developers=developers,
        total_seconds=float((counts["seconds"] * (counts["n_event"] + counts["n_censored"])).sum()),
        notes=tuple(notes),
        window=window,
        at=at,
        curve=curve,
    )


def _empty(t: float, window: float) -> ResidualPoint:
    return ResidualPoint(
        elapsed=t,
        n_at_risk=0,
        sessions_at_risk=0,
        developers_at_risk=0,
        window=window,
        mean=NOT_AVAILABLE,
        median=NOT_AVAILABLE,
        p90=NOT_AVAILABLE,
        beyond_window=None,
        unrestricted=None,
        censored_at_risk=0,
        hill=None,
        top_share=None,
        tail_flag=None,
        few_sessions=True,
    )


def points_of(
    curve: Curve, cells: pl.DataFrame, edges: Sequence[float], times: Sequence[float], window: float
) -> dict[float, ResidualPoint]:
    """Estimate everything at each elapsed time; where fewer than `ENOUGH_ROWS` are at risk only counts."""
    windows = [window_beyond(curve, t, window) for t in times]
    sessions, developers = (_clusters_beyond(cells, name, edges, times) for name in ("session_pk", "developer_id"))
    censored = np.append(np.cumsum(curve.n_censored[::-1])[::-1], 0.0)
    points = {
        t: replace(
            _empty(t, window),
            n_at_risk=rows_beyond(curve, t),
            sessions_at_risk=sessions[k],
            developers_at_risk=developers[k],
            window=windows[k].seconds,
            censored_at_risk=int(censored[int(curve.index(t)) + 1]),
            few_sessions=sessions[k] < _ENOUGH_SESSIONS,
        )
        for k, t in enumerate(times)
    }
    known = [k for k, t in enumerate(times) if points[t].n_at_risk >= ENOUGH_ROWS]
    if not known:
        return points
    ends = [times[k] + windows[k].seconds for k in known]
    session, developer = _clusters(cells, edges, [times[k] for k in known], ends)
    for place, k in enumerate(known):
        t, reach = times[k], windows[k].seconds
        mean = mean_residual(curve, t, reach)
        tail = tail_index(curve, t)
        points[t] = replace(
            points[t],
            mean=NOT_AVAILABLE if mean is None else headline(session.mean(place, mean), developer.mean(place, mean)),
            median=_quantile(curve, session, developer, place, t, _MEDIAN),
            p90=_quantile(curve, session, developer, place, t, _P90),
            beyond_window=survival_beyond(curve, t, reach),
            unrestricted=plug_in_mean(curve, t),
            hill=tail.hill,
            top_share=tail.top_share,
            tail_flag=tail.flag,
        )
    return points


def _clusters_beyond(cells: pl.DataFrame, name: str, edges: Sequence[float], times: Sequence[float]) -> list[int]:
    """Count the clusters that have a row longer than each elapsed time; cell k lies above edge k - 1."""
    codes = np.unique(cells[name].to_numpy(), return_inverse=True)[1]
    longest = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.intp)
    np.maximum.at(longest, codes, cells["cell"].to_numpy())
    longest.sort()
    found: list[int] = (longest.size - np.searchsorted(longest, np.searchsorted(edges, times), side="right")).tolist()
    return found


def _clusters(
    cells: pl.DataFrame, edges: Sequence[float], times: Sequence[float], ends: Sequence[float]
) -> tuple[LandmarkClusters, LandmarkClusters]:
    """Lay the sums of a group out by session and by developer."""
    session_ids, session = np.unique(cells["session_pk"].to_numpy(), return_inverse=True)
    code = np.unique(cells["developer_id"].to_numpy(), return_inverse=True)[1]
    developer: NDArray[np.intp] = np.zeros(session_ids.size, dtype=np.intp)
    developer[session] = code
    # cell 0 holds what ended at once, which was never at risk
    shape = (session_ids.size, len(edges))
    place = session * shape[1] + cells["cell"].to_numpy()

    def laid(name: str, unit: float) -> NDArray[np.float64]:
        values = cells[name].to_numpy().astype(np.float64) / unit
        return sum_by(values, place, shape[0] * shape[1]).reshape(shape)[:, 1:]

    by_session = cells_of_exits(
        edges, laid("n_event", 1), laid("micros_event", 1e6), laid("n_censored", 1), laid("micros_censored", 1e6)
    )
    by_developer = by_session.merged(developer, int(developer.max(initial=-1)) + 1)
    return LandmarkClusters(by_session, times, ends), LandmarkClusters(by_developer, times, ends)


def _quantile(
    curve: Curve, session: LandmarkClusters, developer: LandmarkClusters, k: int, t: float, q: float
) -> Interval:
    value = quantile_residual(curve, t, q)
    found: list[ClusterInterval] = [each.quantile(curve, k, q, value) for each in (session, developer)]
    return replace(headline(found[0], found[1]), value=value)


def _notes(points: Sequence[ResidualPoint], window: float, n_developers: int) -> list[str]:
    """Say what a reader must know of the elapsed times, once each."""
    enough = [p for p in points if p.n_at_risk >= ENOUGH_ROWS]
    notes = []
    # what is at risk only falls with elapsed time, so the first time says all
    few = next((p for p in points if p.n_at_risk < ENOUGH_ROWS), None)
    if few is not None:
        notes.append(f"from {few.elapsed:g} s on: fewer than {ENOUGH_ROWS} rows at risk ({few.n_at_risk})")
    few = next((p for p in enough if p.few_sessions), None)
    if few is not None:
        notes.append(
            f"from {few.elapsed:g} s on: fewer than {_ENOUGH_SESSIONS} sessions at risk ({few.sessions_at_risk}), "
            "so in brackets"
        )
    few = next((p for p in enough if p.developers_at_risk < ENOUGH_CLUSTERS), None)
    if few is not None and n_developers >= ENOUGH_CLUSTERS:
        notes.append(
            f"from {few.elapsed:g} s on: fewer than {ENOUGH_CLUSTERS} developers at risk ({few.developers_at_risk}), "
            "so intervals are by session"
        )

    def after(some: Sequence[ResidualPoint]) -> str:
        more = f" and {len(some) - _MOST_NAMED} more" if len(some) > _MOST_NAMED else ""
        return f"after {', '.join(f'{p.elapsed:g}' for p in some[:_MOST_NAMED])} s{more}"

    lowered = [p for p in enough if p.window < window]
    if lowered:
        last = lowered[0].elapsed + lowered[0].window
        notes.append(f"{after(lowered)}: the last row is lost from sight at {last:,.0f} s, and the window ends there")
    none = [p for p in enough if p.mean.value is not None and p.mean.value >= p.window * (1 - _ROUNDING)]
    if none:
        notes.append(
            f"{after(none)}: no end was seen within the window, so the mean is its length, without an interval"
        )
    beyond = [p for p in enough if (p.beyond_window or 0.0) > _MUCH_BEYOND and p not in none]
    if beyond:
        notes.append(f"{after(beyond)}: over 5 % outlast the window, so the mean hangs on its length")
    for name in ("median", "p90"):
        out = [p for p in enough if getattr(p, name).value is None]
        if out:
            words = "median" if name == "median" else "90 % point"
            notes.append(f"{after(out)}: the {words} lies beyond the last observed time")
    return notes
