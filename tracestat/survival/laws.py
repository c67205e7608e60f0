"""A law of durations fitted to counts: its maximum, and what each cluster adds to it.

A law is two functions of parameters and time, ln hazard and cumulative hazard; everything else (the maximum, scores,
the jackknife over clusters, quantiles) follows from these by differences. The families themselves are in
`tracestat.survival.law_families`, which imports lifelines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by

__all__ = [
    "Law",
    "LawCounts",
    "Maximum",
    "Totals",
    "cluster_contributions",
    "law_counts",
    "law_quantiles",
    "leave_one_out",
    "log_likelihood_by",
    "maximise",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Function = Callable[[Floats, Floats], Floats]

_GRADIENT_STEP, _HESSIAN_STEP = 1e-4, 1e-3  # errors of about 1e-9 and 1e-7
_MAX_STEPS, _LONGEST_STEP = 60, 2.0
_REFIT_STEPS = 20
_LARGE_SHARE = 0.05  # one step is not enough without such a cluster
_FURTHEST = 1e12  # seconds; a quantile beyond is none


@dataclass(frozen=True, slots=True)
class Law:
    """A family of laws.

    Attributes
    ----------
    name : str
    positive : tuple of bool
        Which parameters are above 0; these are worked with as logarithms.
    log_hazard, cumulative_hazard : callable
        Of (parameters, times).
    """

    name: str
    positive: tuple[bool, ...]
    log_hazard: Function
    cumulative_hazard: Function

    def natural(self, working: ArrayLike) -> Floats:
        """Give the parameters of the family from those that are worked with."""
        values = np.asarray(working, dtype=np.float64)
        return np.where(self.positive, np.exp(np.where(self.positive, values, 0.0)), values)

    def working(self, natural: ArrayLike) -> Floats:
        """Give the parameters that are worked with."""
        values = np.asarray(natural, dtype=np.float64)
        return np.where(self.positive, np.log(np.where(self.positive, values, 1.0)), values)


@dataclass(frozen=True, slots=True)
class LawCounts:
    """Rows of one group as counts.

    Attributes
    ----------
    times, entries : ndarray
        Distinct durations and distinct times of entry, seconds, ascending.
    time, entry : ndarray of int, shape (R,)
        Which of them.
    n_event, n_censored : ndarray, shape (R,)
        Rows that end there, by whether their end was seen.
    session : ndarray of int, shape (R,)
        Code from 0 without gaps.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps.
    """

    times: Floats
    entries: Floats
    time: Codes
    entry: Codes
    n_event: Floats
    n_censored: Floats
    session: Codes
    developer: Codes

    @property
    def n(self) -> Floats:
        """Rows, shape (R,)."""
        return self.n_event + self.n_censored

    @property
    def n_events(self) -> float:
        """Ends that were seen."""
        return float(self.n_event.sum())

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return int(self.developer.size)

    @property
    def n_developers(self) -> int:
        """Number of developers."""
        return int(self.developer.max(initial=-1)) + 1

    def totals(self, keep: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats, Floats]:
        """Give events and rows per distinct duration, and rows per entry; of the rows to keep."""
        event, n = self.n_event, self.n
        if keep is not None:
            event, n = np.where(keep, event, 0.0), np.where(keep, n, 0.0)
        return (
            sum_by(event, self.time, self.times.size),
            sum_by(n, self.time, self.times.size),
            sum_by(n, self.entry, self.entries.size),
        )


def law_counts(
    time: ArrayLike,
    n_event: ArrayLike,
    n_censored: ArrayLike,
    entry: ArrayLike,
    session: ArrayLike,
    developer: ArrayLike,
) -> LawCounts:
    """Lay out the counts of one group.

    Parameters
    ----------
    time, entry : array_like, shape (R,)
        Durations, and the times from which these rows were watched, seconds; 0 < entry < time.
    n_event, n_censored : array_like, shape (R,)
        Rows, by whether their end was seen.
    session, developer : array_like, shape (R,)
        Any ids.

    Returns
    -------
    LawCounts

    Raises
    ------
    TracestatError
        If a row ends at or before its entry, or an entry is not above 0.

    Examples
    --------
    >>> law_counts([2.0, 3.0], [1, 0], [0, 4], [1.0, 1.0], ["a", "b"], ["x", "x"]).totals()[1]
    array([1., 4.])
    """
    ends, starts = np.asarray(time, dtype=np.float64), np.asarray(entry, dtype=np.float64)
    if not (np.all(starts > 0) and np.all(ends > starts) and np.all(np.isfinite(ends))):
        raise TracestatError("law: each row must enter above 0 and end after its entry; leave the others out")
    times, at = np.unique(ends, return_inverse=True)
    entries, entered = np.unique(starts, return_inverse=True)
    sessions, code = np.unique(np.asarray(session), return_inverse=True)
    developers = np.unique(np.asarray(developer), return_inverse=True)[1]
    of_session = np.zeros(sessions.size, dtype=np.intp)
    of_session[code] = developers
    return LawCounts(
        times,
        entries,
        at.astype(np.intp),
        entered.astype(np.intp),
        np.asarray(n_event, dtype=np.float64),
        np.asarray(n_censored, dtype=np.float64),
        code.astype(np.intp),
        of_session,
    )


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where the likelihood of a law is largest.

    Attributes
    ----------
    working : ndarray, shape (P,)
        Parameters as they are worked with.
    log_likelihood : float
    hessian : ndarray, shape (P, P)
        Second derivatives of the log-likelihood there.
    """

    working: Floats
    log_likelihood: float
    hessian: Floats


Totals = tuple[Floats, Floats, Floats]


def maximise(
    law: Law,
    start: ArrayLike,
    times: Floats,
    entries: Floats,
    totals: Totals,
    *,
    max_steps: int = _MAX_STEPS,
    hessian: Floats | None = None,
) -> Maximum | None:
    """Find the maximum of the likelihood by Newton's method, on differences of the law's two functions.

    Parameters
    ----------
    law : Law
        The family.
    start : array_like, shape (P,)
        Where to begin, as worked with.
    times, entries : ndarray
        Distinct durations and entries, seconds.
    totals : (ndarray, ndarray, ndarray)
        Events and rows per duration, rows per entry.
    max_steps : int, default 60
        Steps after which there counts as being no maximum.
    hessian : ndarray, shape (P, P), optional
        Second derivatives near the maximum: used as long as each step is at most a third of the one before.

    Returns
    -------
    Maximum or None
        None if the steps lead nowhere, or off to a limit.

    Notes
    -----
    ``sum d ln h(t) - sum n H(t) + sum n H(entry)``. A step is halved until the likelihood does not fall; where the
    second derivatives do not bend down, they are bent.

    Examples
    --------
    >>> def log_hazard(p, t):
    ...     return np.full(t.shape, -np.log(p[0]))
    >>> law = Law("exponential", (True,), log_hazard, lambda p, t: t / p[0])
    >>> t, one = np.array([1.0, 3.0]), np.ones(2)
    >>> found = maximise(law, [0.0], t, np.array([0.0]), (one, one, np.array([2.0])))
    >>> law.natural(found.working).round(6)
    array([2.])
    """
    theta = np.asarray(start, dtype=np.float64).copy()

    def value(working: Floats) -> float:
        return _total(law, working, times, entries, totals)

    with np.errstate(all="ignore"):
        here = value(theta)
        if not np.isfinite(here):
            return None
        known, before = hessian is not None, np.inf
        for _ in range(max_steps):
            gradient = _differences(value, theta, _GRADIENT_STEP)
            if hessian is None or not known:
                hessian = _second_differences(value, here, theta, _HESSIAN_STEP)
            if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
                return None
            step = _ascent(hessian, gradient)
            longest = float(np.abs(step).max())
            if known and longest > before / 3:
                known, before = False, np.inf
                continue
            before = longest
            step *= min(1.0, _LONGEST_STEP / max(longest, 1e-300))
            gain = 0.0
            for _ in range(40):
                there = value(theta + step)
                if np.isfinite(there) and there >= here - 1e-11 * abs(here):
                    gain, theta, here = there - here, theta + step, there
                    break
                step /= 2
            else:
                step = np.zeros_like(step)
            small = float(np.abs(step).max())
            if np.abs(theta).max() > 500:
                return None
            if small < (1e-7 if known else 1e-8) or (not known and small < 1e-5 and abs(gain) < 1e-12 * abs(here)):
                if not known:
                    hessian = _second_differences(value, here, theta, _HESSIAN_STEP)
                bent = np.linalg.eigvalsh(-hessian)
                # a ridge has no maximum: it runs off to a limit
                return Maximum(theta, here, hessian) if bent[0] > 1e-9 * bent[-1] else None
    return None


def _total(law: Law, working: Floats, times: Floats, entries: Floats, totals: Totals) -> float:
    events, n, n_entry = totals
    parameters = law.natural(working)
    seen = events > 0
    before = law.cumulative_hazard(parameters, entries)
    return float(
        events[seen] @ law.log_hazard(parameters, times[seen])
        - n @ law.cumulative_hazard(parameters, times)
        + n_entry @ before
    )


def _ascent(hessian: Floats, gradient: Floats) -> Floats:
    """Give Newton's step, with directions that do not bend down bent."""
    values, vectors = np.linalg.eigh(-hessian)
    floor = max(1e-8 * float(np.abs(values).max()), 1e-300)
    step: Floats = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), floor))
    return step


def _unit(size: int, i: int, step: float) -> Floats:
    out = np.zeros(size)
    out[i] = step
    return out


def _differences(function: Callable[[Floats], float | Floats], at: Floats, step: float) -> Floats:
    """Give first derivatives by central differences, a row per parameter."""
    moves = [_unit(at.size, i, step) for i in range(at.size)]
    return np.array([(function(at + m) - function(at - m)) / (2 * step) for m in moves])


def _second_differences(
    function: Callable[[Floats], float | Floats], here: float | Floats, at: Floats, step: float
) -> Floats:
    """Give second derivatives by central differences, shape (P, P, ...)."""
    size = at.size
    out = np.empty((size, size, *np.shape(here)))
    for i in range(size):
        a = _unit(size, i, step)
        out[i, i] = (function(at + a) - 2 * np.asarray(here) + function(at - a)) / step**2
        for j in range(i):
            b = _unit(size, j, step)
            mixed = function(at + a + b) - function(at + a - b) - function(at - a + b) + function(at - a - b)
            out[i, j] = out[j, i] = mixed / (4 * step**2)
    return out


def cluster_contributions(law: Law, working: Floats, counts: LawCounts) -> tuple[Floats, Floats]:
    """Give score and second derivatives of each session at some parameters.

    Parameters
    ----------
    law : Law
        The family.
    working : ndarray, shape (P,)
        Parameters as worked with.
    counts : LawCounts
        The rows.

    Returns
    -------
    score : ndarray, shape (S, P)
        First derivatives of the log-likelihood of each session; at the maximum they add up to 0.
    hessian : ndarray, shape (S, P, P)
        Second derivatives.

    Examples
    --------
    >>> law = Law("exponential", (True,), lambda p, t: np.full(t.shape, -np.log(p[0])), lambda p, t: t / p[0])
    >>> counts = law_counts([1.5, 3.5], [1, 1], [0, 0], [0.5, 0.5], [0, 1], [0, 1])
    >>> cluster_contributions(law, np.log([2.0]), counts)[0].round(6).tolist()
    [[-0.5], [0.5]]
    """
    seen = sum_by(counts.n_event, counts.time, counts.times.size) > 0

    def log_hazard(at: Floats) -> Floats:
        out = np.zeros(counts.times.size)
        out[seen] = law.log_hazard(law.natural(at), counts.times[seen])
        return out

    def cumulative(at: Floats) -> Floats:
        return law.cumulative_hazard(law.natural(at), counts.times)

    def before(at: Floats) -> Floats:
        return law.cumulative_hazard(law.natural(at), counts.entries)

    size = working.size
    with np.errstate(all="ignore"):
        first = [_differences(f, working, _GRADIENT_STEP) for f in (log_hazard, cumulative, before)]
        second = [_second_differences(f, f(working), working, _HESSIAN_STEP) for f in (log_hazard, cumulative, before)]
    score = np.stack([_by_session(counts, *(d[i] for d in first)) for i in range(size)], axis=1)
    hessian = np.empty((counts.n_sessions, size, size))
    for i in range(size):
        for j in range(i + 1):
            hessian[:, i, j] = hessian[:, j, i] = _by_session(counts, *(d[i, j] for d in second))
    return score, hessian


def _by_session(counts: LawCounts, log_hazard: Floats, cumulative: Floats, before: Floats) -> Floats:
    rows = counts.n_event * log_hazard[counts.time] + counts.n * (before[counts.entry] - cumulative[counts.time])
    return sum_by(rows, counts.session, counts.n_sessions)


def log_likelihood_by(law: Law, working: Floats, counts: LawCounts) -> Floats:
    """Give the log-likelihood of each session.

    Returns
    -------
    ndarray, shape (S,)

    Examples
    --------
    >>> law = Law("exponential", (True,), lambda p, t: np.full(t.shape, -np.log(p[0])), lambda p, t: t / p[0])
    >>> counts = law_counts([1.5, 3.5], [1, 1], [0, 0], [0.5, 0.5], [0, 1], [0, 1])
    >>> log_likelihood_by(law, np.array([0.0]), counts).tolist()
    [-1.0, -3.0]
    """
    parameters = law.natural(working)
    seen = sum_by(counts.n_event, counts.time, counts.times.size) > 0
    log_hazard = np.zeros(counts.times.size)
    log_hazard[seen] = law.log_hazard(parameters, counts.times[seen])
    return _by_session(
        counts,
        log_hazard,
        law.cumulative_hazard(parameters, counts.times),
        law.cumulative_hazard(parameters, counts.entries),
    )


def leave_one_out(
    law: Law, maximum: Maximum, counts: LawCounts, score: Floats, hessian: Floats, *, by_developer: bool
) -> Floats:
    """Give the maximum without one cluster each: one Newton step, and a full refit without a large cluster.

    Parameters
    ----------
    law : Law
        The family.
    maximum : Maximum
        That of all rows.
    counts : LawCounts
        The rows.
    score, hessian : ndarray, shapes (S, P) and (S, P, P)
        From `cluster_contributions` at the maximum.
    by_developer : bool
        Leave out developers, not sessions.

    Returns
    -------
    ndarray, shape (G, P)
        Parameters as worked with; NaN where there is no maximum without the cluster.

    Notes
    -----
    The step uses the second derivatives without the cluster too. A cluster with more than 5 % of the events, or
    without which the likelihood does not bend down, is left out in full.

    Examples
    --------
    >>> law = Law("exponential", (True,), lambda p, t: np.full(t.shape, -np.log(p[0])), lambda p, t: t / p[0])
    >>> counts = law_counts([1.5, 3.5], [1, 1], [0, 0], [0.5, 0.5], [0, 1], [0, 1])
    >>> found = maximise(law, [0.0], counts.times, counts.entries, counts.totals())
    >>> pieces = cluster_contributions(law, found.working, counts)
    >>> np.exp(leave_one_out(law, found, counts, *pieces, by_developer=False)).round(6).ravel().tolist()
    [3.0, 1.0]
    """
    events = sum_by(counts.n_event, counts.session, counts.n_sessions)
    cluster = counts.session
    if by_developer:
        n = counts.n_developers
        events, score = sum_by(events, counts.developer, n), sum_by(score, counts.developer, n)
        flat = hessian.reshape(hessian.shape[0], -1)
        hessian = sum_by(flat, counts.developer, n).reshape(n, *hessian.shape[1:])
        cluster = counts.developer[counts.session]
    rest = hessian.sum(axis=0) - hessian
    bends = np.linalg.eigvalsh(-rest)
    usable = bends[:, 0] > 1e-9 * np.abs(bends[:, -1])
    out = np.full(score.shape, np.nan)
    out[usable] = maximum.working + np.linalg.solve(rest[usable], score[usable][..., None])[..., 0]
    for g in np.flatnonzero((events > _LARGE_SHARE * events.sum()) | ~usable):
        totals = counts.totals(cluster != g)
        begin = out[g] if usable[g] and np.abs(out[g] - maximum.working).max() < 1 else maximum.working
        again = None
        if totals[0].sum() > 0:
            near = rest[g] if usable[g] else None
            again = maximise(law, begin, counts.times, counts.entries, totals, max_steps=_REFIT_STEPS, hessian=near)
        out[g] = np.nan if again is None else again.working
    return out


def law_quantiles(law: Law, working: Floats, probabilities: Sequence[float], entry: float) -> list[float | None]:
    """Give quantiles of a law among the durations above some time.

    Parameters
    ----------
    law : Law
        The family.
    working : ndarray, shape (P,)
        Parameters as worked with.
    probabilities : sequence of float
        In (0, 1).
    entry : float
        Time from which durations count, seconds, above 0.

    Returns
    -------
    list of (float or None)
        Smallest t with ``P(T <= t | T > entry) >= q``, seconds; None beyond 1e12 s.

    Examples
    --------
    >>> law = Law("exponential", (True,), lambda p, t: np.full(t.shape, -np.log(p[0])), lambda p, t: t / p[0])
    >>> [round(t, 4) for t in law_quantiles(law, np.log([2.0]), [0.5], 1.0)]
    [2.3863]
    """
    parameters = law.natural(working)
    place = np.linspace(np.log(entry), np.log(_FURTHEST), 2_000)

    def passed(log_time: Floats) -> Floats:
        return law.cumulative_hazard(parameters, np.exp(log_time))

    with np.errstate(all="ignore"):
        begin = passed(place[:1])[0]
        on_grid = np.maximum.accumulate(passed(place) - begin)
        targets = -np.log1p(-np.asarray(probabilities, dtype=np.float64))
        number = np.searchsorted(on_grid, targets)
        reached = number < place.size
        high = place[np.minimum(number, place.size - 1)]
        low = place[np.maximum(np.minimum(number, place.size - 1) - 1, 0)]
        for _ in range(45):
            middle = (low + high) / 2
            above = passed(middle) - begin >= targets
            low, high = np.where(above, low, middle), np.where(above, middle, high)
    return [float(np.exp(t)) if is_reached else None for t, is_reached in zip(high, reached, strict=True)]
