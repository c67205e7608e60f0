"""What each cluster adds to the fit of a law: scores, log-likelihood, and the fit without the cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import sum_by
from tracestat.survival.laws import (
    GRADIENT_STEP,
    HESSIAN_STEP,
    Law,
    LawCounts,
    Maximum,
    differences,
    maximise,
    second_differences,
)

__all__ = ["cluster_contributions", "leave_one_out", "log_likelihood_by"]

Floats = NDArray[np.float64]
_REFIT_STEPS = 20
_LARGE_SHARE = 0.05  # one step is not enough without such a cluster


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
    >>> from tracestat.survival.laws import law_counts
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
        first = [differences(f, working, GRADIENT_STEP) for f in (log_hazard, cumulative, before)]
        second = [second_differences(f, f(working), working, HESSIAN_STEP) for f in (log_hazard, cumulative, before)]
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
    >>> from tracestat.survival.laws import law_counts
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
    >>> from tracestat.survival.laws import law_counts
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
