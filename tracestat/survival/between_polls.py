"""Ends that nobody saw: a process ended between two looks at it, somewhere in (lo, hi].

Timed at the look that found it ended, such a process would have lived too long, and the hazard would be too low.
Here the end is shared out over the cells of the interval as the hazard of all rows has it, and that hazard is the one
under which what was seen is most likely: Newton's steps, and where one fails a step that shares out and fits in turn
(EM). What comes out is a row that ends in several cells, by parts, so that everything built on events and exposure
takes it like any other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.end_shares import Intervals, cell_centres, overlap, shares
from tracestat.survival.exposure import exposure_from_exits
from tracestat.survival.hazard import SessionCells
from tracestat.survival.slope import poisson_slope

__all__ = ["BetweenFit", "fit_between", "fit_falling", "with_lost_information"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_TOLERANCE = 1e-7  # events: done when no hazard leaves more than this between events and what it expects
_MAX_STEPS = 2_000
_STEP_LIMIT = 1.0
_HIGHEST = 1e12  # per second: that of a bin whose rows all end at its very beginning has no limit
_FEWEST = 0.01  # expected events below which a bin has none; an interval brings more to one of its bins
_ENOUGH_ENDS = 10  # bins are joined from the right until so many ends lie in the last one
_ROUNDS = 2  # a third moves the exponent within bins by a millionth


@dataclass(frozen=True, slots=True)
class BetweenFit:
    """The hazard that exact ends and ends known to an interval have in common.

    Attributes
    ----------
    edges : tuple of float, length C
        Lower edges of the cells, seconds, from 0; the last cell is open.
    bin : ndarray of int, shape (C,)
        Bin of each cell, from 0; the hazard has one free level per bin.
    hazard : ndarray, shape (C,)
        Events per second.
    events, exposure : ndarray, shape (C,)
        Events, those between two looks as expected numbers, and seconds at risk.
    information : ndarray, shape (J, J)
        Minus the second derivative of the log likelihood in the logarithms of the levels of the bins. With exact ends
        alone it is diagonal and holds the events; what intervals hide is missing from it.
    loglik : float
        Log likelihood at the maximum.
    steps : int
    converged : bool
        Whether in every bin events and what the hazard expects agree to 1e-7.
    """

    edges: tuple[float, ...]
    bin: Codes
    hazard: Floats
    events: Floats
    exposure: Floats
    information: Floats
    loglik: float
    steps: int
    converged: bool


def fit_between(
    data: Intervals,
    n_event: ArrayLike,
    n_net: ArrayLike,
    time_net: ArrayLike,
    edges: Sequence[float],
    *,
    bins: ArrayLike | None = None,
    shape: ArrayLike | None = None,
) -> BetweenFit:
    """Fit a hazard to exact ends and to ends known to an interval, with one free level per bin.

    Parameters
    ----------
    data : Intervals
        Rows whose end nobody saw, watched from 0 on.
    n_event, n_net, time_net : array_like, shape (C,)
        The other rows: events, and rows and seconds that end in each cell less those that enter in it.
    edges : sequence of float, length C
        Lower edges of the cells, seconds, from 0; the last cell is open.
    bins : array_like of int, shape (C,), optional
        Bin of each cell, from 0 without gaps; default: each cell is one.
    shape : array_like, shape (C,), optional
        Hazard of each cell over the level of its bin; default 1.

    Returns
    -------
    BetweenFit

    Raises
    ------
    TracestatError
        The columns do not belong together.

    Notes
    -----
    The likelihood is ``prod_c h_c^D_c exp(-h_c X_c) prod_i [S(lo_i) - S(hi_i)]``, X the time that rows were seen alive;
    it is concave in the levels, so it has one top. An EM step (events over exposure, with each end shared out) never
    goes down; near the top Newton's step is quicker and replaces it. A bin without exact ends may get the hazard 0.
    When looks come without regard to what is about to happen, as polls of a running process do, the hazard is that of
    all rows together, also where rows differ in their hazards.

    References
    ----------
    .. [1] Turnbull (1976), The empirical distribution function with arbitrarily grouped, censored and truncated data.
    .. [2] Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
    .. [3] Lindsey and Ryan (1998), Methods for interval-censored data.

    Examples
    --------
    One row ended in (0, 2], one is censored at 4; a single bin: S(2) = exp(-2 h), and 2 / (e^2h - 1) = 4.

    >>> fit = fit_between(Intervals.of([0.0], [2.0]), [0.0], [1.0], [4.0], (0.0,))
    >>> round(float(fit.hazard[0]), 6), fit.converged
    (0.202733, True)
    """
    lower = np.asarray(edges, dtype=np.float64)
    event, exits, time = (np.asarray(v, dtype=np.float64) for v in (n_event, n_net, time_net))
    of_cell = np.arange(lower.size) if bins is None else np.asarray(bins, dtype=np.intp)
    form = np.ones(lower.size) if shape is None else np.asarray(shape, dtype=np.float64)
    if any(v.shape != lower.shape for v in (event, exits, time, of_cell, form)):
        raise TracestatError("ends between looks: one number of events, exits, seconds and so on is needed per cell")
    problem = _Problem(data, event, exits, time, lower, of_cell, form)
    return _fitted(problem, problem.begin())


def _fitted(problem: _Problem, level: Floats) -> BetweenFit:
    state = problem.at(level)
    steps = 0
    while np.abs(state.score).max(initial=0.0) > _TOLERANCE and steps < _MAX_STEPS:
        step = np.exp(np.clip(_newton(state), -_STEP_LIMIT, _STEP_LIMIT))
        ahead = problem.at(np.minimum(state.level * step, _HIGHEST))
        noise = 1e-12 * (abs(state.loglik) + 1)
        is_up = ahead.loglik >= state.loglik - noise
        state = ahead if is_up else problem.at(problem.em_step(state.events, state.exposure))
        steps += 1
    converged = bool(np.abs(state.score).max(initial=0.0) <= _TOLERANCE)
    # a bin that no row is likely to reach holds two numbers near 0, whose ratio is no hazard
    state = problem.at(np.where(problem.by_bin(state.events) < _FEWEST, 0.0, state.level))
    return BetweenFit(
        edges=tuple(problem.lower.tolist()),
        bin=problem.of_cell,
        hazard=problem.hazard(state.level),
        events=state.events,
        exposure=state.exposure,
        information=state.information,
        loglik=state.loglik,
        steps=steps,
        converged=converged,
    )


@dataclass(frozen=True, slots=True)
class _State:
    """What the likelihood is made of at one level per bin; ``score`` is its slope in their logarithms."""

    level: Floats
    events: Floats
    exposure: Floats
    score: Floats
    information: Floats
    loglik: float


class _Problem:
    """Exact ends and intervals on one set of cells and bins."""

    def __init__(
        self, data: Intervals, event: Floats, exits: Floats, time: Floats, lower: Floats, of_cell: Codes, form: Floats
    ) -> None:
        self.n, self.event, self.exits, self.time, self.lower = data.n, event, exits, time, lower
        self.of_cell, self.form, self.n_bins = of_cell, form, int(of_cell.max(initial=-1)) + 1
        self.start, self.width = overlap(data, lower)
        at = _cell_of(data.lo, lower)
        alive, spent = (np.bincount(at, w, lower.size) for w in (data.n, data.n * data.lo))
        self.seen_alive = exposure_from_exits(exits + alive, time + spent, lower.tolist())
        self.exact = self.by_bin(event)
        # rows that end in a bin without having spent time there leave its level open
        touched = np.any(self.width > 0, axis=0).astype(np.float64)
        self.touched, self.bounded = self.by_bin(touched) > 0, self.by_bin(self.seen_alive + touched) > 0
        self.first = np.flatnonzero(np.diff(of_cell, prepend=-1))

    def by_bin(self, values: Floats) -> Floats:
        return sum_by(values, self.of_cell, self.n_bins)

    def hazard(self, level: Floats) -> Floats:
        found: Floats = level[self.of_cell] * self.form
        return found

    def begin(self) -> Floats:
        """Give one level for all bins that hold ends or parts of intervals: none of them is ruled out."""
        held = (self.exact > 0) | self.touched
        spent = float(self.form @ self.seen_alive)
        return np.where(held, (self.event.sum() + self.n.sum()) / spent if spent > 0 else 1.0, 0.0)

    def em_step(self, events: Floats, exposure: Floats) -> Floats:
        expected = self.by_bin(self.form * exposure)
        return np.divide(self.by_bin(events), expected, out=np.ones_like(expected), where=expected > 0)

    def at(self, level: Floats) -> _State:
        hazard = self.hazard(level)
        share, moment, summed = shares(hazard, self.start, self.width)
        ends, late = (np.einsum("k,kc->c", self.n, v) for v in (share, moment))
        events = self.event + ends
        exposure = exposure_from_exits(self.exits + ends, self.time + late, self.lower.tolist())
        total = summed.sum(axis=1)
        steep = np.add.reduceat(summed, self.first, axis=1)
        weight = self.n * np.exp(-total) / np.expm1(-total) ** 2
        # einsum, not @: BLAS would start threads, for which a busy machine waits longer than they compute
        information = np.diag(self.exact) + np.einsum("kj,kl->jl", steep * weight[:, None], steep)
        used = self.event > 0
        loglik = float(self.event[used] @ np.log(hazard[used]) - hazard @ self.seen_alive)
        loglik += float(self.n @ np.log(-np.expm1(-total)))
        score = np.where(self.bounded, self.by_bin(events - hazard * exposure), 0.0)
        return _State(level, events, exposure, score, information, loglik)


def _newton(state: _State) -> Floats:
    """Give the step to the top of the parabola; a bin about which nothing is known stays where it is."""
    size = np.sqrt(np.diag(state.information))
    known = size > 0
    step = np.zeros(size.size)
    scale = size[known]
    scaled = state.information[np.ix_(known, known)] / np.outer(scale, scale)
    step[known] = np.linalg.lstsq(scaled, state.score[known] / scale, rcond=1e-10)[0] / scale
    return step


def _cell_of(at: Floats, lower: Floats) -> Codes:
    return np.searchsorted(lower, at, side="right") - 1


def fit_falling(
    data: Intervals, n_event: ArrayLike, n_net: ArrayLike, time_net: ArrayLike, edges: Sequence[float], bins: ArrayLike
) -> BetweenFit:
    """Fit a hazard with one level per bin that changes within bins as it does from bin to bin.

    Parameters
    ----------
    data, n_event, n_net, time_net, edges
        As for `fit_between`.
    bins : array_like of int, shape (C,)
        Bin of each cell, from 0, where the first lies below the first edge and the last is open.

    Returns
    -------
    BetweenFit

    Notes
    -----
    Ends that nobody saw lie in the later part of the bin in which processes are first left alone, and a hazard that is
    constant in it would put too many there. Within a bin it is therefore t^b, with b the Poisson slope of the bins,
    fitted in turn with their levels. From the right, bins are joined until 10 ends lie in the last one (an interval
    counts at its geometric middle): a lone interval at the end of the data would put all of its end where no other row
    is at risk, at an arbitrarily high hazard.

    Examples
    --------
    >>> lo, hi = np.array([1.0, 2.0]), np.array([2.0, 5.0])
    >>> exact = ([0.0, 3.0, 0.0], [0.0, 3.0, 0.0], [0.0, 4.5, 0.0])
    >>> fit = fit_falling(Intervals.of(lo, hi), *exact, (0.0, 1.0, 4.0), [0, 1, 2])
    >>> fit.bin, round(float(fit.events.sum()), 6)
    (array([0, 1, 1]), 5.0)
    """
    lower = np.asarray(edges, dtype=np.float64)
    event, exits, time = (np.asarray(v, dtype=np.float64) for v in (n_event, n_net, time_net))
    of_cell = np.asarray(bins, dtype=np.intp)
    ends = event + np.bincount(_cell_of(np.sqrt(data.lo * data.hi), lower), data.n, lower.size)
    beyond = np.cumsum(sum_by(ends, of_cell, int(of_cell.max(initial=0)) + 1)[::-1])[::-1]
    # bin 0 stays apart: what lies below the first edge follows no slope
    last = max(int(np.count_nonzero(beyond[1:] >= _ENOUGH_ENDS)), 1)
    joined = np.minimum(of_cell, last)
    centres = cell_centres(edges)
    middle = sum_by(centres, joined, last + 1) / np.bincount(joined, minlength=last + 1)
    fit = fit_between(data, event, exits, time, edges, bins=joined)
    for _ in range(_ROUNDS):
        closed = (joined >= 1) & (np.arange(lower.size) < lower.size - 1)
        slope = poisson_slope(fit.events[closed], fit.exposure[closed], centres[closed])
        if slope is None:
            break
        shape = np.where(joined > 0, np.exp(slope.slope * (centres - middle[joined])), 1.0)
        problem = _Problem(data, event, exits, time, lower, joined, shape)
        fit = _fitted(problem, problem.em_step(fit.events, fit.exposure))
    return fit


def with_lost_information(data: SessionCells, fit: BetweenFit) -> SessionCells:
    """Let the sessions differ as much as they do when it is not seen where their processes ended.

    Parameters
    ----------
    data : SessionCells
        Events and exposure per session and cell, ends between looks as shares.
    fit : BetweenFit
        The fit that the shares come from, on the same cells.

    Returns
    -------
    SessionCells
        The same events and exposure in all, and per session the events moved so that leaving a session out moves the
        hazards as far as a new fit without it would, to first order.

    Notes
    -----
    Shares are made with the hazard of all rows, so a session without exact ends seems to confirm that hazard: intervals
    from shares alone are too narrow. Its score ``r_g = D_g - h X_g`` is right (Fisher's identity); what it moves is
    ``I^-1 r_g`` with the observed information I, not ``r_g / D``. Events ``D_g + (diag(D) I^-1 - 1) r_g`` over the same
    exposure turn every estimate made of sessions, linear or log-linear, into one that knows this. Single ones may be
    negative; their sum over sessions is unchanged.

    References
    ----------
    .. [1] Louis (1982), Finding the observed information matrix when using the EM algorithm.

    Examples
    --------
    >>> data = SessionCells(np.array([[0.6], [0.4]]), np.array([[1.0], [2.0]]), np.array([0, 1]))
    >>> one = np.ones(1)
    >>> fit = BetweenFit((0.0,), np.array([0]), one / 3, one, 3 * one, np.array([[0.5]]), 0.0, 1, True)
    >>> with_lost_information(data, fit).events.round(6).tolist()
    [[0.866667], [0.133333]]
    """
    n_bins = fit.information.shape[0]
    member = np.zeros((fit.bin.size, n_bins))
    member[np.arange(fit.bin.size), fit.bin] = 1.0
    in_all = data.events.sum(axis=0)
    per_bin = in_all @ member
    residual = (data.events - data.exposure * fit.hazard) @ member
    used = np.flatnonzero((fit.hazard @ member > 0) & (per_bin > 0))
    scale = np.sqrt(per_bin[used])
    # in units of the standard error of exact ends the matrix has the diagonal 1 or below
    scaled = fit.information[np.ix_(used, used)] / np.outer(scale, scale)
    moved = np.zeros_like(residual)
    moved[:, used] = (residual[:, used] / scale) @ np.linalg.pinv(scaled, rcond=1e-6, hermitian=True) * scale
    moved[:, used] -= residual[:, used]
    part = in_all / np.maximum(per_bin, 1e-300)[fit.bin]
    return replace(data, events=data.events + moved[:, fit.bin] * part)
