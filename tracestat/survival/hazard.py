"""The hazard of one group: bins, slopes, curvature, within-key slopes, each with deadlines kept and cut.

Everything comes from one table of sufficient statistics per (session, cell of a common grid). The rise tests of the
groups of one table are adjusted together, so they are made in a second step (:mod:`tracestat.survival.rises`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import ClusterInterval, sum_by
from tracestat.results import NOT_AVAILABLE, Bin, Interval, Slopes, WithinKey
from tracestat.survival.bins import Grid, Window, bin_centres
from tracestat.survival.blocks import Block, block_centres, block_sums, merge_blocks, support
from tracestat.survival.exposure import exposure_from_exits, group_cells
from tracestat.survival.frailty import FrailtyFit, frailty_cells
from tracestat.survival.headline import headline
from tracestat.survival.intervals import bin_hazards, curvature_jackknife, slope_jackknife
from tracestat.survival.slope import curvature, ols_slope, power_law_slope, slope_note
from tracestat.survival.stratified import stratified_slope

__all__ = [
    "NO_FIT",
    "Cells",
    "RangeData",
    "RangeFit",
    "SessionCells",
    "TimeCounts",
    "bin_totals",
    "fit_range",
    "hazard_bins",
    "range_data",
    "session_cells",
    "within_keys",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
LOCAL_AT = (1.0, 10.0, 100.0)
_SHARED_AGAIN = 3


@dataclass(frozen=True, slots=True)
class Cells:
    """Sufficient statistics of one group: a row per (session, developer, keys, cell), arrays of one length.

    Attributes
    ----------
    session, developer : ndarray of int
        Codes from 0 without gaps.
    cell : ndarray of int
        Cell of the grid.
    n_event, n_net, micros_net : ndarray
        Events; rows and microseconds that end in the cell less those that enter in it. Microseconds are whole
        numbers, so that sums do not depend on the order of the rows.
    """

    session: Codes
    developer: Codes
    cell: Codes
    n_event: Floats
    n_net: Floats
    micros_net: Floats


@dataclass(frozen=True, slots=True)
class SessionCells:
    """Events and exposure (seconds) per session and cell, and the developer of each session."""

    events: Floats
    exposure: Floats
    developer: Codes

    @property
    def n_developers(self) -> int:
        """Number of developers."""
        return int(self.developer.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True)
class TimeCounts:
    """Ends at each distinct duration, for the fit without bins."""

    time: Floats
    n_event: Floats
    n_censored: Floats


@dataclass(frozen=True, slots=True)
class RangeData:
    """Events and exposure on one set of bins.

    Attributes
    ----------
    D, X : ndarray, shape (S, J)
        Per session and bin.
    developer : ndarray of int, shape (S,)
        Developer of each session.
    edges : tuple of float, length J + 1
        Bin edges, seconds.
    n_bins : int
        Leading bins with support; slope and rise test use these.
    blocks : tuple of (int, int)
        Those bins, merged until each block has enough events.
    """

    D: Floats
    X: Floats
    developer: Codes
    edges: tuple[float, ...]
    n_bins: int
    blocks: tuple[Block, ...]

    @property
    def n_events(self) -> int:
        """Events in the bins with support."""
        return round(float(self.D[:, : self.n_bins].sum()))

    @property
    def range(self) -> tuple[float, float] | None:
        """First and last edge of the bins with support."""
        return (self.edges[0], self.edges[self.n_bins]) if self.n_bins else None

    def by_developer(self) -> tuple[Floats, Floats]:
        """Events and exposure per developer."""
        n = int(self.developer.max(initial=-1)) + 1
        return sum_by(self.D, self.developer, n), sum_by(self.X, self.developer, n)


@dataclass(frozen=True, slots=True)
class RangeFit:
    """Slopes and curvature on one set of bins; ``local_slopes`` at 1, 10 and 100 s where they lie in the range."""

    slope: Slopes
    curvature: Interval
    local_slopes: tuple[tuple[float, float | None], ...]
    notes: tuple[str, ...]

    @property
    def available(self) -> bool:
        """Whether there was enough for a slope."""
        return self.slope.poisson.value is not None


Shared: TypeAlias = Callable[[Cells, Codes, FrailtyFit, Floats, Floats, Sequence[float]], Cells]
"""Cells, code of the key, its fit, events and exposure per key and bin, edges of the bins: the cells anew."""

NO_FIT = RangeFit(Slopes(), NOT_AVAILABLE, tuple((at, None) for at in LOCAL_AT), ())


def _totals(cells: Cells, code: Codes, n: int, grid: Grid) -> tuple[Floats, Floats]:
    """Add up rows per (code, cell) and turn them into events and exposure."""
    flat = code * grid.n_cells + cells.cell
    size = n * grid.n_cells
    events, exits, micros = (
        sum_by(values, flat, size).reshape(n, grid.n_cells) for values in (cells.n_event, cells.n_net, cells.micros_net)
    )
    return events, exposure_from_exits(exits, micros / 1e6, grid.edges)


def session_cells(cells: Cells, grid: Grid) -> SessionCells:
    """Lay a group's statistics out per session.

    Parameters
    ----------
    cells : Cells
        The group.
    grid : Grid
        The grid its cells belong to.

    Returns
    -------
    SessionCells
        Arrays of shape (S, C).

    Examples
    --------
    >>> grid = Grid((0.0, 1.0, 4.0))
    >>> one = np.zeros(1, dtype=np.intp)
    >>> rows = Cells(one, one, one + 1, np.ones(1), np.ones(1), np.array([3e6]))
    >>> session_cells(rows, grid).exposure
    array([[1., 2., 0.]])
    """
    n = int(cells.session.max(initial=-1)) + 1
    events, exposure = _totals(cells, cells.session, n, grid)
    developer = np.zeros(n, dtype=np.intp)
    developer[cells.session] = cells.developer
    return SessionCells(events, exposure, developer)


def bin_totals(data: SessionCells, grid: Grid, edges: Sequence[float]) -> tuple[tuple[int, float], ...]:
    """Give events and exposure (seconds) of every bin and of the open one at the end, over all sessions.

    Parameters
    ----------
    data : SessionCells
        Events and exposure per session and cell.
    grid : Grid
        The grid of the cells.
    edges : sequence of float, length J + 1
        Bin edges, seconds.

    Returns
    -------
    tuple of (int, float), length J + 1
        As `hazard_bins` has them, without its intervals.
    """
    D, X = _bins(data, grid, edges, len(edges), None)
    return tuple(_total(D, X, j) for j in range(len(edges)))


def _total(D: Floats, X: Floats, j: int) -> tuple[int, float]:
    return round(float(D[:, j].sum())), float(X[:, j].sum())


def hazard_bins(
    data: SessionCells, grid: Grid, edges: Sequence[float], cut: NDArray[np.bool_] | None = None
) -> tuple[tuple[Bin, ...], tuple[float | None, ...]]:
    """Give the hazard of every bin, and of the open one at the end, with clustered intervals.

    Parameters
    ----------
    data : SessionCells
        Events and exposure per session and cell.
    grid : Grid
        The grid of the cells.
    edges : sequence of float, length J + 1
        Bin edges, seconds.
    cut : ndarray of bool, shape (S, C), optional
        Cells to leave out.

    Returns
    -------
    bins : tuple of Bin, length J + 1
    design_effect : tuple of (float or None), length J + 1
        By session.
    """
    D, X = _bins(data, grid, edges, len(edges), cut)
    by_session = bin_hazards(D, X)
    by_developer = bin_hazards(
        sum_by(D, data.developer, data.n_developers), sum_by(X, data.developer, data.n_developers)
    )
    upper: list[float | None] = [*map(float, edges[1:]), None]
    bins = []
    for j, hi in enumerate(upper):
        events, exposure = _total(D, X, j)
        if exposure <= 0:
            hazard = NOT_AVAILABLE
        else:
            first, second = (
                ClusterInterval(
                    float(h.hazard[j]),
                    None,
                    _finite(h.low[j]),
                    _finite(h.high[j]),
                    h.n_clusters,
                    0.95,
                    "clustered" if h.clustered[j] else "exact Poisson",
                )
                for h in (by_session, by_developer)
            )
            hazard = headline(first, second)
        bins.append(Bin(float(edges[j]), hi, events, exposure, hazard))
    return tuple(bins), tuple(_finite(v) for v in by_session.design_effect)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _bins(
    data: SessionCells, grid: Grid, edges: Sequence[float], n_bins: int, cut: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    events, exposure = data.events, data.exposure
    if cut is not None:
        events, exposure = np.where(cut, 0.0, events), np.where(cut, 0.0, exposure)
    return group_cells(events, exposure, grid.base_bins(edges), n_bins)


def range_data(
    data: SessionCells, grid: Grid, edges: Sequence[float], cut: NDArray[np.bool_] | None = None
) -> RangeData:
    """Add cells up to bins and find how far they have support.

    Parameters
    ----------
    data : SessionCells
        Events and exposure per session and cell.
    grid : Grid
        The grid of the cells.
    edges : sequence of float, length J + 1
        Bin edges, seconds; the first is where the range begins.
    cut : ndarray of bool, shape (S, C), optional
        Cells to leave out: the windows of the deadlines.
    """
    D, X = _bins(data, grid, edges, len(edges) - 1, cut)
    # a clock too coarse for the first bins leaves them without exposure: the range begins where there is some
    seen = np.flatnonzero(X.sum(axis=0) > 0)
    first = min(int(seen[0]), len(edges) - 2) if seen.size else 0
    D, X = D[:, first:], X[:, first:]
    total = D.sum(axis=0)
    blocks, _ = merge_blocks(total)
    return RangeData(D, X, data.developer, tuple(map(float, edges[first:])), support(total), tuple(blocks))


def fit_range(data: RangeData, counts: TimeCounts | None = None, holes: Sequence[Window] = ()) -> RangeFit:
    """Fit slope and curvature to the bins that have support.

    Parameters
    ----------
    data : RangeData
        Events and exposure on the bins.
    counts : TimeCounts, optional
        Distinct durations, for the exact power law.
    holes : sequence of (float, float)
        Windows that were cut, for the exact power law.

    Returns
    -------
    RangeFit
        Slopes are not available below 100 events, 5 bins or 20 sessions, and the notes say so.
    """
    J = data.n_bins
    D, X = data.D[:, :J], data.X[:, :J]
    n_clusters = int(np.count_nonzero((X.sum(axis=1) > 0) | (D.sum(axis=1) > 0)))
    short = slope_note(data.n_events, J, n_clusters)
    if short is not None:
        return replace(NO_FIT, notes=(f"no slope: {short}",))
    start, stop = data.edges[0], data.edges[J]
    x = bin_centres(data.edges)[:J]
    D_dev, X_dev = (v[:, :J] for v in data.by_developer())
    poisson = _both(slope_jackknife(D, X, x), slope_jackknife(D_dev, X_dev, x))
    if poisson.value is None:
        return replace(NO_FIT, notes=("no slope: the events lie in a single bin, or the fit has no maximum",))
    bend = _both(curvature_jackknife(D, X, x), curvature_jackknife(D_dev, X_dev, x))
    inside = [at for at in LOCAL_AT if start <= at <= stop]
    curved = curvature(D.sum(axis=0), X.sum(axis=0), x)
    local_at = {at: curved.local_slope(float(np.log(at))) for at in inside} if curved is not None else {}
    D_b, X_b = (block_sums(v.sum(axis=0), data.blocks) for v in (data.D, data.X))
    ols = Interval(ols_slope(D_b, X_b, block_centres(data.edges, data.blocks)))
    exact = _power_law(counts, start, stop, holes) if counts is not None else NOT_AVAILABLE
    notes: tuple[str, ...] = ()
    if exact.value is not None and poisson.value is not None and abs(exact.value - poisson.value) > 0.05:
        notes = (
            f"the exact power law ({exact.value:.3f}) and the binned slope ({poisson.value:.3f}) differ by > 0.05",
        )
    return RangeFit(Slopes(poisson, ols, exact), bend, tuple((at, local_at.get(at)) for at in LOCAL_AT), notes)


def _both(session: ClusterInterval | None, developer: ClusterInterval | None) -> Interval:
    if session is None:
        return NOT_AVAILABLE
    return headline(session, developer or ClusterInterval(session.value, None, None, None, 0, session.level, "CV3"))


def _power_law(counts: TimeCounts, start: float, stop: float, holes: Sequence[Window]) -> Interval:
    """Fit h(t) = e^a t^slope without bins; a hole splits a row into a part censored at it and one entering after it."""
    time, event, censored = counts.time, counts.n_event, counts.n_censored
    entry = np.full(time.size, start)
    for low, high in sorted(holes):
        if high <= start or low >= stop:
            continue
        # rows that reach the hole stop there unseen; those that survive it come back at its end
        reaches = time >= low
        beyond = (time > high) & (entry < high)
        weight = event + censored
        time, event, censored, entry = (
            np.concatenate([np.where(reaches & (entry < low), low, time), time[beyond]]),
            np.concatenate([np.where(reaches & (entry < high), 0.0, event), event[beyond]]),
            np.concatenate(
                [np.where(reaches & (entry < high), np.where(entry < low, weight, 0.0), censored), censored[beyond]]
            ),
            np.concatenate([entry, np.full(int(beyond.sum()), high)]),
        )
    fit = power_law_slope(time, event, censored, start, stop, entry=entry)
    if fit is None:
        return NOT_AVAILABLE
    half = 1.959963984540054 * fit.se_naive
    return Interval(fit.slope, fit.slope - half, fit.slope + half, method="observed information, not clustered")


def within_keys(
    cells: Cells,
    keys: Mapping[tuple[str, ...], Codes],
    grid: Grid,
    data: RangeData,
    fit: RangeFit,
    shared: Shared | None = None,
) -> tuple[WithinKey, ...]:
    """Compare the pooled slope with the one inside single keys (shared gamma frailty), deadlines kept.

    Parameters
    ----------
    cells : Cells
        The group.
    keys : mapping
        Columns that make a key, to the code of each row of ``cells``, from 0 without gaps.
    grid : Grid
        The grid of the cells.
    data : RangeData
        The bins.
    fit : RangeFit
        The pooled fit to the same bins.
    shared : callable, optional
        Shares ends that are known to an interval out anew, given the cells, the code of the key, its fit, its events
        and exposure per key and bin, and the edges of these; the fit is then made again, three times.

    Returns
    -------
    tuple of WithinKey
        One per key with at least two values; empty when there is no pooled slope.
    """
    pooled = fit.slope.poisson.value
    if pooled is None:
        return ()
    J = data.n_bins
    edges = data.edges[: J + 1]
    # the bins in use suffice here: 0 is what lies below them, J + 1 what lies above
    cell = np.clip(grid.base_bins(data.edges) + 1, 0, J + 1)[cells.cell]
    seen = np.flatnonzero(cell)  # what ends or enters below the bins adds nothing to them
    cell, session, developer = cell[seen], cells.session[seen], cells.developer[seen]

    def fitted(own: Cells, code: Codes) -> tuple[FrailtyFit | None, Floats, Floats]:
        n_event, n_net, time_net = own.n_event[seen], own.n_net[seen], own.micros_net[seen] / 1e6
        return frailty_cells(code[seen], session, cell, n_event, n_net, time_net, edges, coarser=developer)

    found = []
    for columns, code in keys.items():
        fit_of_key, D, X = fitted(cells, code)
        for _ in range(_SHARED_AGAIN if shared is not None else 0):
            if shared is not None and fit_of_key is not None:
                fit_of_key, D, X = fitted(shared(cells, code, fit_of_key, D, X, edges), code)
        n_keys = int(np.count_nonzero(X.sum(axis=1) > 0))
        if n_keys < 2 or fit_of_key is None or fit_of_key.interval is None or fit_of_key.coarser is None:
            note = "only one key" if n_keys < 2 else "no fit"
            found.append(WithinKey(columns, n_keys, pooled, NOT_AVAILABLE, None, None, notes=(note,)))
            continue
        notes = ("theta at the end of its range",) if fit_of_key.at_bound else ()
        slope = headline(fit_of_key.interval, fit_of_key.coarser)
        stratified = stratified_slope(D, X, bin_centres(edges))
        found.append(
            WithinKey(columns, n_keys, pooled, slope, fit_of_key.theta, fit_of_key.mixing_share, stratified, notes)
        )
    return tuple(found)
