"""Where a law holds: observed events against those it expects, bin by bin, within a clustered simultaneous band.

A fit over seven decades of time can be best of its kind and wrong everywhere. So each law is held against the data in
bins of log time: in each, the events seen over the events that its hazard would have given to those at risk. The range
in which it holds is the longest row of bins whose ratio does not differ from 1 by more than the data's own uncertainty.
That a law "holds" says no more than that; how far the hazard may still be off is stated beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tracestat.resample import sign_multipliers, sum_by
from tracestat.survival.bins import DEFAULT_EDGES, RATIO
from tracestat.survival.exposure import exposure_from_exits
from tracestat.survival.laws import Law, LawCounts

__all__ = [
    "LAW_EDGES",
    "MIN_BINS",
    "BinRatios",
    "HoldingRange",
    "LawGrid",
    "bin_ratios",
    "expected_events",
    "holding_range",
    "law_grid",
    "observed_events",
]

Floats = NDArray[np.float64]
MIN_BINS = 5
_MIN_EVENTS = 30
_CELLS = 64  # a bin of ratio 1.8957 in 64 parts: 1 % each
_LEAST_SPREAD = 0.05  # a draw in which all of a few clusters pull one way has next to no spread of its own
_LARGEST_SHARE = 0.9
_BELOW, _ABOVE = 5, 6


def _law_edges() -> tuple[float, ...]:
    edges = np.array(DEFAULT_EDGES)
    below = edges[0] / RATIO ** np.arange(_BELOW, 0, -1)
    above = edges[-1] * RATIO ** np.arange(1, _ABOVE + 1)
    # as the hazard bins, on the half-millisecond, where no duration lies
    moved = [((np.floor(e * 1000) + 0.5) / 1000).tolist() for e in (below, above)]
    return (*moved[0], *DEFAULT_EDGES, *moved[1])


LAW_EDGES: tuple[float, ...] = _law_edges()
"""The hazard bins, and five below and six above them: from 5.5 ms to a week, in seconds."""


@dataclass(frozen=True, slots=True)
class LawGrid:
    """Bins of log time, each divided in 64: a 1 % grid on which counts are kept.

    Attributes
    ----------
    edges : tuple of float
        Edges of the bins, seconds; the last bin, above the last edge, is open.
    lower : ndarray
        Lower bound of each cell, from the first edge; the last cell is open.
    centres : ndarray
        Geometric centre of each cell, which stands for the durations in it.
    """

    edges: tuple[float, ...]
    lower: Floats
    centres: Floats


def law_grid(start: float | None = None) -> LawGrid:
    """Make the grid from a first edge on.

    Parameters
    ----------
    start : float, optional
        Time from which durations count, seconds; default 5.5 ms, five ticks of a clock of milliseconds.

    Returns
    -------
    LawGrid

    Examples
    --------
    >>> law_grid().edges[:2], law_grid(1.0).edges[:2], law_grid().lower.size
    ((0.0055, 0.0095), (1.0, 1.6605), 1857)
    """
    edges = LAW_EDGES
    if start is not None:
        # a bin narrower than a fifth would hold next to nothing
        edges = (float(start), *(e for e in LAW_EDGES if e > 1.2 * start))
    logs = np.log(np.asarray(edges))
    lower = np.append((logs[:-1, None] + np.diff(logs)[:, None] * np.arange(_CELLS) / _CELLS).ravel(), logs[-1])
    centres = np.append((lower[1:] + lower[:-1]) / 2, lower[-1] + 0.005)
    bounds = np.exp(lower)
    bounds[::_CELLS] = edges  # not off by rounding
    return LawGrid(tuple(edges), bounds, np.exp(centres))


def observed_events(counts: LawCounts, edges: Sequence[float]) -> Floats:
    """Count the events of each session per bin.

    Parameters
    ----------
    counts : LawCounts
        The rows; none ends below the first edge.
    edges : sequence of float, length J
        Lower edges of the bins, seconds; the last is open.

    Returns
    -------
    ndarray, shape (S, J)
    """
    place = np.searchsorted(edges, counts.times, side="right") - 1
    flat = counts.session * len(edges) + place[counts.time]
    return sum_by(counts.n_event, flat, counts.n_sessions * len(edges)).reshape(counts.n_sessions, len(edges))


def expected_events(law: Law, working: Floats, counts: LawCounts, edges: Sequence[float]) -> Floats:
    """Give the events per session and bin that a law expects of those at risk.

    Parameters
    ----------
    law : Law
        The family.
    working : ndarray, shape (P,)
        Parameters as worked with.
    counts : LawCounts
        The rows.
    edges : sequence of float, length J
        Lower edges of the bins, seconds; the last is open.

    Returns
    -------
    ndarray, shape (S, J)
        Sum over rows of the cumulative hazard that they pass in the bin. With a constant hazard of 1 this is the
        exposure.

    Examples
    --------
    >>> from tracestat.survival.laws import law_counts
    >>> law = Law("unit", (True,), lambda p, t: 0 * t, lambda p, t: t)
    >>> counts = law_counts([1.5, 5.0], [1, 1], [0, 0], [0.5, 0.5], [0, 0], [0, 0])
    >>> expected_events(law, np.array([0.0]), counts, (0.5, 1.0, 4.0))
    array([[1. , 3.5, 1. ]])
    """
    parameters = law.natural(working)
    lower = np.asarray(edges, dtype=np.float64)
    passed, before, at_edges = (law.cumulative_hazard(parameters, t) for t in (counts.times, counts.entries, lower))
    size = counts.n_sessions * lower.size
    first = counts.session * lower.size
    ends = first + (np.searchsorted(lower, counts.times, side="right") - 1)[counts.time]
    begins = first + (np.searchsorted(lower, counts.entries, side="right") - 1)[counts.entry]
    n = counts.n
    exits = sum_by(n, ends, size) - sum_by(n, begins, size)
    spent = sum_by(n * passed[counts.time], ends, size) - sum_by(n * before[counts.entry], begins, size)
    shape = (counts.n_sessions, lower.size)
    return exposure_from_exits(exits.reshape(shape), spent.reshape(shape), at_edges.tolist())


@dataclass(frozen=True, slots=True)
class BinRatios:
    """Observed over expected events per bin with a simultaneous band; arrays of length J, NaN where untestable.

    Attributes
    ----------
    ratio, low, high : ndarray
        1 where hazard and law agree.
    testable : ndarray of bool
        At least 30 events, of at least two clusters.
    critical : float or None
        Half-width of the band in standard errors.
    n_clusters : int
    """

    ratio: Floats
    low: Floats
    high: Floats
    testable: NDArray[np.bool_]
    critical: float | None
    n_clusters: int

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether 1 lies within the band."""
        with np.errstate(invalid="ignore"):
            inside: NDArray[np.bool_] = self.testable & (self.low <= 1) & (self.high >= 1)
        return inside


def bin_ratios(D_g: Floats, E_g: Floats, *, draws: int = 2_000, seed: int = 0, level: float = 0.95) -> BinRatios:
    """Compare observed and expected events over all bins at once.

    Parameters
    ----------
    D_g, E_g : ndarray, shape (G, J)
        Events seen and expected per cluster and bin.
    draws : int, default 2,000
        Draws of the multipliers; 0 takes Bonferroni's limit.
    seed : int, default 0
        Seed of the draws.
    level : float, default 0.95
        Coverage of all bins together.

    Returns
    -------
    BinRatios
        ``ratio exp(-+ critical se)``: the standard error is clustered, or that of independent rows if it is larger.

    Notes
    -----
    Without cluster g, ln ratio changes by ``(D_g - ratio E_g)/(D (1 - E_g/E))``, from which the standard error is made
    as a jackknife; random signs of clusters give the distribution of the largest studentised deviation. In the studies
    the band covers a law known beforehand, over all bins together, in 95 % of runs with 80 even clusters and in 86 %
    with 26 uneven ones. A law fitted to the same rows lies closer to them: it stays within in 98 and 99 %.

    References
    ----------
    .. [1] Westfall and Young (1993), Resampling-Based Multiple Testing.
    .. [2] Webb (2014), Reworking wild bootstrap based inference for clustered errors.

    Examples
    --------
    >>> D = np.random.default_rng(0).poisson(4.0, (40, 3)).astype(float)
    >>> bin_ratios(D, np.full((40, 3), 4.0)).inside
    array([ True,  True,  True])
    """
    active = (E_g.sum(axis=1) > 0) | (D_g.sum(axis=1) > 0)
    observed, expected = _in_order(D_g[active], E_g[active])
    G, n_bins = observed.shape
    D, E = observed.sum(axis=0), expected.sum(axis=0)
    testable = (D >= _MIN_EVENTS) & (E > 0) & (np.count_nonzero(observed > 0, axis=0) >= 2) & (G >= 2)
    ratio, low, high = (np.full(n_bins, np.nan) for _ in range(3))
    if not np.any(testable):
        return BinRatios(ratio, low, high, testable, None, G)
    D, E = D[testable], E[testable]
    ratio[testable] = D / E
    influence = (observed[:, testable] - expected[:, testable] * (D / E)) / D
    # what leaving the cluster out would change: a large one pulls the ratio towards itself
    influence /= 1 - np.minimum(expected[:, testable] / E, _LARGEST_SHARE)
    squares = np.sum(influence**2, axis=0)
    se = np.maximum(np.sqrt((G - 1) / G * squares), 1 / np.sqrt(D))
    if draws > 0:
        drawn = sign_multipliers(G, draws, seed).astype(np.float64) @ influence / np.sqrt(np.maximum(squares, 1e-300))
        # each draw by its own standard error: with few clusters the tail is Student's, not normal
        drawn /= np.sqrt(np.maximum(1 - drawn**2 / G, _LEAST_SPREAD) * (G / (G - 1)))
        critical = float(np.quantile(np.abs(drawn).max(axis=1), level))
    else:
        critical = float(ndtri(1 - (1 - level) / (2 * D.size)))
    spread = np.exp(np.minimum(critical * se, 50.0))
    low[testable], high[testable] = ratio[testable] / spread, ratio[testable] * spread
    return BinRatios(ratio, low, high, testable, critical, G)


def _in_order(observed: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Put clusters in an order that is their own, so that their place in the trace does not choose their draws."""
    order = np.lexsort(np.hstack([expected, observed]).T)
    return observed[order], expected[order]


@dataclass(frozen=True, slots=True)
class HoldingRange:
    """Where a law holds.

    Attributes
    ----------
    range : (float, float) or None
        Seconds; None if no 5 neighbouring bins agree.
    everywhere : bool
        Whether it holds in every bin that can be tested.
    factor : float or None
        The hazard is nowhere in the range further from the law than by this factor (simultaneous limit).
    tested : (float, float) or None
        First and last edge of the bins that can be tested.
    worst : float or None
        Observed over expected where it is furthest from 1 among all that can be tested.
    worst_at : (float, float) or None
        That bin, seconds.
    """

    range: tuple[float, float] | None
    everywhere: bool
    factor: float | None
    tested: tuple[float, float] | None
    worst: float | None
    worst_at: tuple[float, float] | None


def holding_range(ratios: BinRatios, edges: Sequence[float], min_bins: int = MIN_BINS) -> HoldingRange:
    """Find the widest row of neighbouring bins in which a law agrees with the data.

    Parameters
    ----------
    ratios : BinRatios
        Observed over expected per bin; the last, open bin is not used.
    edges : sequence of float, length J
        Lower edges of the bins, seconds.
    min_bins : int, default 5
        Fewer agree by chance: a law of two parameters can always be made to cross the data twice.

    Returns
    -------
    HoldingRange
        Widest on a log scale; of equal ones the first.

    Examples
    --------
    >>> values = np.array([2.0, 1.0, 1.1, 1.0, np.nan])
    >>> ratios = BinRatios(values, values / 1.2, values * 1.2, np.isfinite(values), 2.5, 40)
    >>> holding_range(ratios, (1.0, 2.0, 4.0, 8.0, 16.0), min_bins=3).range
    (2.0, 16.0)
    """
    n_bins = len(edges) - 1
    testable, inside = ratios.testable[:n_bins], ratios.inside[:n_bins]
    where = np.flatnonzero(testable)
    if not where.size:
        return HoldingRange(None, False, None, None, None, None)
    best, start = (0, 0), None
    for j in range(n_bins + 1):
        if j < n_bins and inside[j]:
            start = j if start is None else start
        elif start is not None:
            if edges[j] / edges[start] > edges[best[1]] / edges[best[0]] * (1 + 1e-9):
                best = (start, j)
            start = None
    first, stop = best
    far = np.where(testable, np.abs(np.log(np.where(testable, ratios.ratio[:n_bins], 1.0))), -1.0)
    worst = int(far.argmax())
    factor = None
    if stop - first >= min_bins:
        some = slice(first, stop)
        factor = float(max(np.max(ratios.high[some]), 1 / np.min(ratios.low[some])))
    return HoldingRange(
        (float(edges[first]), float(edges[stop])) if stop - first >= min_bins else None,
        bool(np.all(inside[where])) and stop - first >= min_bins,
        factor,
        (float(edges[where[0]]), float(edges[where[-1] + 1])),
        float(ratios.ratio[worst]),
        (float(edges[worst]), float(edges[worst + 1])),
    )
