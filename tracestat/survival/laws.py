"""A law of durations fitted to counts: its maximum and its quantiles.

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
    "GRADIENT_STEP",
    "HESSIAN_STEP",
    "Law",
    "LawCounts",
    "Maximum",
    "Totals",
    "differences",
    "law_counts",
    "law_quantiles",
    "maximise",
    "second_differences",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Function = Callable[[Floats, Floats], Floats]

GRADIENT_STEP, HESSIAN_STEP = 1e-4, 1e-3  # errors of about 1e-9 and 1e-7
_MAX_STEPS, _LONGEST_STEP = 60, 2.0
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
    log_density : callable, optional
        ln hazard less cumulative hazard, where that costs less than the two.
    """

    name: str
    positive: tuple[bool, ...]
    log_hazard: Function
    cumulative_hazard: Function
    log_density: Function | None = None

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
    value = _likelihood(law, times, entries, totals)

    with np.errstate(all="ignore"):
        here = value(theta)
        if not np.isfinite(here):
            return None
        known, before = hessian is not None, np.inf
        for _ in range(max_steps):
            gradient = differences(value, theta, GRADIENT_STEP)
            if hessian is None or not known:
                hessian = second_differences(value, here, theta, HESSIAN_STEP)
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
                    hessian = second_differences(value, here, theta, HESSIAN_STEP)
                bent = np.linalg.eigvalsh(-hessian)
                # a ridge has no maximum: it runs off to a limit
                return Maximum(theta, here, hessian) if bent[0] > 1e-9 * bent[-1] else None
    return None


def _likelihood(law: Law, times: Floats, entries: Floats, totals: Totals) -> Callable[[Floats], float]:
    """Give the log-likelihood as a function of the parameters worked with."""
    events, n, n_entry = totals
    ended = np.flatnonzero(events)
    event_times, event_rows = times[ended], events[ended]
    # with a density, what ended needs no survival
    outlived = n - events if law.log_density else n
    left = np.flatnonzero(outlived)
    left_times, left_rows = times[left], outlived[left]
    at_events = law.log_density or law.log_hazard

    def value(working: Floats) -> float:
        parameters = law.natural(working)
        return float(
            event_rows @ at_events(parameters, event_times)
            - left_rows @ law.cumulative_hazard(parameters, left_times)
            + n_entry @ law.cumulative_hazard(parameters, entries)
        )

    return value


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


def differences(function: Callable[[Floats], float | Floats], at: Floats, step: float) -> Floats:
    """Give first derivatives by central differences, a row per parameter."""
    moves = [_unit(at.size, i, step) for i in range(at.size)]
    return np.array([(function(at + m) - function(at - m)) / (2 * step) for m in moves])


def second_differences(
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
