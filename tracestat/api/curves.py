"""``survival``: the curve itself, with interval and numbers at risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

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
from tracestat.durations import Clock, Definition, Rows, Selection, Unit, curve_counts, curve_influence, select
from tracestat.results import NOT_AVAILABLE, CurvePoint, Interval, SurvivalGroup, SurvivalResult
from tracestat.survival.clustered import VARIANCE_AT, ClusteredCurve, clustered_curve
from tracestat.survival.curve import kaplan_meier_counts
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["QUANTILES", "curve_of", "curves_of", "quantiles_of", "survival_curve"]

QUANTILES = (0.5, 0.9, 0.95, 0.99)


def curve_of(counts: pl.DataFrame, influence: pl.DataFrame) -> ClusteredCurve:
    """Make the curve of one group from its two frames of sufficient statistics."""
    session_ids, session = np.unique(influence["session_pk"].to_numpy(), return_inverse=True)
    developer_code = np.unique(influence["developer_id"].to_numpy(), return_inverse=True)[1]
    developer = np.zeros(session_ids.size, dtype=np.intp)
    developer[session] = developer_code
    shape = (session_ids.size, len(VARIANCE_AT) + 1)
    n, score = np.zeros(shape), np.zeros(shape)
    place = (session, influence["step"].to_numpy())
    np.add.at(n, place, influence["n"].to_numpy())
    np.add.at(score, place, influence["score"].to_numpy())
    curve = kaplan_meier_counts(*(counts[c].to_numpy() for c in ("seconds", "n_event", "n_censored")))
    return clustered_curve(curve, n, score, developer, VARIANCE_AT)


def curves_of(trace: Trace, selection: Selection) -> dict[tuple[object, ...], ClusteredCurve]:
    """Make the curve of every group of a selection."""
    counts = split_by_key(curve_counts(trace, selection), selection)
    influence = split_by_key(curve_influence(trace, selection, VARIANCE_AT), selection)
    return {key: curve_of(counts[key], influence[key]) for key in sorted_groups(counts)}


def quantiles_of(curve: ClusteredCurve) -> tuple[dict[str, Interval], list[str]]:
    """Give the quantiles of a curve, and a note for each that it does not reach."""
    found, notes = {}, []
    for q in QUANTILES:
        interval = curve.quantile(q)
        if interval is None:
            last = float(curve.curve.time[-1])
            notes.append(f"quantile {q:g} lies beyond the last observed time, {last:g} s")
        found[f"{q:g}"] = interval or Interval(None)
    return found, notes


def survival_curve(
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
    min_n: int | None = None,
    seed: int = 0,
) -> SurvivalResult:
    """Estimate P(T > t) by Kaplan and Meier's product limit, with intervals clustered by session and developer.

    Parameters
    ----------
    trace, by, where, since, until, tz, unit, clock, rows, definition, min_n, seed
        As for :func:`tracestat.hazard`.

    Returns
    -------
    SurvivalResult
        Curves on a grid of 12 times a decade from 1 ms, and quantiles.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist.

    References
    ----------
    .. [1] Kaplan and Meier (1958), Nonparametric estimation from incomplete observations.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.survival_curve(tracestat.open())
    >>> result.groups[0].curve[0].S.value <= 1
    True
    """
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
    )
    groups = [_group(key, curve, selection, min_n or 0) for key, curve in curves_of(opened, selection).items()]
    if selection.definition == "tracelab":
        groups = plain_groups(groups)
    excluded = excluded_of(opened, selection)
    late = between_notes(opened, selection, "from when they were last seen running, the curve is too high")
    head = head_of(opened, selection, "survival", seed=seed, excluded=excluded.counts, notes=(*excluded.notes, *late))
    return SurvivalResult(head, tuple(groups))


def _group(key: tuple[object, ...], curve: ClusteredCurve, selection: Selection, min_n: int) -> SurvivalGroup:
    steps = curve.curve
    n = int((steps.n_event + steps.n_censored).sum())
    events = int(steps.n_event.sum())
    last = float(steps.time[-1])
    points: tuple[CurvePoint, ...] = ()
    quantiles: dict[str, Interval] = {f"{q:g}": NOT_AVAILABLE for q in QUANTILES}
    notes: list[str] = []
    if n < min_n:
        notes.append(f"{n} rows, {min_n} asked for")
    else:
        times = [t for t in VARIANCE_AT if t <= last] or [last]
        beyond = n - np.concatenate([[0.0], np.cumsum(steps.n_event + steps.n_censored)])
        at_risk = beyond[np.searchsorted(steps.time, times, side="right")]
        points = tuple(CurvePoint(t, s, int(r)) for t, s, r in zip(times, curve.survival(times), at_risk, strict=True))
        quantiles, notes = quantiles_of(curve)
    if curve.n_developers < ENOUGH_CLUSTERS:
        notes.append(FEW_DEVELOPERS.format(n=curve.n_developers))
    return SurvivalGroup(
        key=key_of(key, selection),
        n=n,
        n_events=events,
        n_censored=n - events,
        n_sessions=curve.n_sessions,
        n_developers=curve.n_developers,
        total_seconds=float(steps.time @ (steps.n_event + steps.n_censored)),
        notes=tuple(notes),
        curve=points,
        quantiles=quantiles,
        last_observed=last,
    )
