"""All laws of one group: parameters with clustered intervals, AIC, where each holds, and quantiles to compare.

The smooth families come from lifelines; the reference is a hazard that is constant within bins, in closed form, since
lifelines' own is wrong where an event falls on a breakpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import TracestatError
from tracestat.resample import ClusterInterval, jackknife_interval, student_interval, sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.results.fit import LawBin, LawFit, QuantilePair
from tracestat.survival.clustered import VARIANCE_AT, clustered_curve
from tracestat.survival.curve import kaplan_meier_counts
from tracestat.survival.headline import ENOUGH_CLUSTERS, headline
from tracestat.survival.intervals import bin_hazards
from tracestat.survival.law_clusters import cluster_contributions, leave_one_out, log_likelihood_by
from tracestat.survival.law_ranges import (
    BinRatios,
    HoldingRange,
    bin_ratios,
    expected_events,
    holding_range,
    observed_events,
)
from tracestat.survival.laws import Law, LawCounts, Maximum, law_quantiles

__all__ = ["MIN_EVENTS", "MIN_SESSIONS", "REFERENCE", "SMOOTH", "GroupLaws", "fit_group", "piecewise_law"]

Floats = NDArray[np.float64]
SMOOTH = ("weibull", "lognormal", "loglogistic", "gengamma")
REFERENCE = "piecewise"
MIN_EVENTS, MIN_SESSIONS = 100, 20
_PROBABILITIES = (
    *(0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999),
    *(0.9995, 0.9999),
)
_TAIL_EVENTS = 10
_WITHIN = {"gengamma": ("weibull", "lognormal")}
_WIDEST = 1e12  # bounds further off than this say nothing
# what each parameter of lifelines is called here, and how it is told: exp of the one worked with, or as it is
_EXP, _SAME = np.exp, np.asarray
_TOLD: dict[str, tuple[tuple[str, Callable[[Floats], Floats]], ...]] = {
    "weibull": (("scale_seconds", _EXP), ("shape", _EXP)),
    "lognormal": (("median_seconds", _EXP), ("sigma", _EXP)),
    "loglogistic": (("median_seconds", _EXP), ("shape", _EXP)),
    "gengamma": (("scale_seconds", _EXP), ("sigma", _EXP), ("lambda", _SAME)),
}


@dataclass(frozen=True, slots=True)
class GroupLaws:
    """The laws of one group, the reference last, with the quantiles to compare and the edges of the bins tested."""

    laws: tuple[LawFit, ...]
    quantiles: tuple[QuantilePair, ...]
    tested: tuple[float, float] | None
    clusters: str


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A law at its maximum."""

    family: str
    law: Law
    working: Floats
    parameters: dict[str, Interval]
    n_parameters: int
    penalty: float
    by_session: Floats
    notes: tuple[str, ...]

    @property
    def aic(self) -> float:
        return -2 * float(self.by_session.sum()) + 2 * self.n_parameters


def piecewise_law(edges: Sequence[float]) -> Law:
    """Make the law whose hazard is constant within bins; its parameters are the hazards.

    Parameters
    ----------
    edges : sequence of float, length J
        Lower edges, seconds; the last bin is open.

    Examples
    --------
    >>> law = piecewise_law([1.0, 3.0])
    >>> law.cumulative_hazard(np.array([0.5, 0.1]), np.array([2.0, 13.0]))
    array([0.5, 2. ])
    """
    lower = np.asarray(edges, dtype=np.float64)
    width = np.diff(lower)

    def place(times: Floats) -> NDArray[np.intp]:
        return np.maximum(np.searchsorted(lower, times, side="right") - 1, 0)

    def log_hazard(hazards: Floats, times: Floats) -> Floats:
        return np.log(hazards[place(times)])

    def cumulative_hazard(hazards: Floats, times: Floats) -> Floats:
        at_edge = np.concatenate([[0.0], np.cumsum(hazards[:-1] * width)])
        j = place(times)
        passed: Floats = at_edge[j] + hazards[j] * np.maximum(times - lower[j], 0.0)
        return passed

    return Law(REFERENCE, (True,) * lower.size, log_hazard, cumulative_hazard)


def fit_group(
    counts: LawCounts,
    edges: Sequence[float],
    families: Sequence[str] = SMOOTH,
    *,
    draws: int = 2_000,
    seed: int = 0,
    intervals: bool = True,
) -> GroupLaws:
    """Fit all laws to one group and hold each against the data.

    Parameters
    ----------
    counts : LawCounts
        The rows; all enter at or above the first edge.
    edges : sequence of float, length J
        Lower edges of the bins, seconds; the last bin is open.
    families : sequence of str
        Smooth families to fit.
    draws, seed : int
        Of the simultaneous bands.
    intervals : bool
        Whether the parameters of the smooth families get intervals, which takes half of the time.

    Returns
    -------
    GroupLaws

    Raises
    ------
    TracestatError
        Fewer than 100 events or 20 sessions: the message says which.

    Examples
    --------
    >>> from tracestat.survival.law_ranges import LAW_EDGES
    >>> from tracestat.survival.laws import law_counts
    >>> rng = np.random.default_rng(0)
    >>> t, session = 10 * rng.weibull(0.5, 4_000), np.arange(4_000) % 40
    >>> t, session = t[t > 0.0055], session[t > 0.0055]
    >>> one = np.ones(t.size)
    >>> made = fit_group(law_counts(t, one, 0 * one, 0.0055 * one, session, session), LAW_EDGES, ["weibull"])
    >>> [(law.family, law.holds) for law in made.laws]
    [('weibull', True), ('piecewise', True)]
    """
    short = []
    if counts.n_events < MIN_EVENTS:
        short.append(f"{counts.n_events:.0f} events above {edges[0]:g} s, {MIN_EVENTS} needed")
    if counts.n_sessions < MIN_SESSIONS:
        short.append(f"{counts.n_sessions} sessions, {MIN_SESSIONS} needed")
    if short:
        raise TracestatError("; ".join(short))
    by_developer = counts.n_developers >= ENOUGH_CLUSTERS
    fitted: list[_Fitted] = []
    failed: dict[str, str] = {}
    for family in families:
        try:
            fitted.append(_smooth(family, counts, by_developer, intervals=intervals))
        except TracestatError as error:
            failed[family] = str(error)
    best = min(fitted, key=lambda one: one.aic, default=None)
    reference = _reference(counts, edges, by_developer)
    observed = observed_events(counts, edges)
    laws, tested = [], None
    for one in [*fitted, reference]:
        expected = expected_events(one.law, one.working, counts, edges)
        D_g, E_g = observed, expected
        if by_developer:
            D_g, E_g = (sum_by(v, counts.developer, counts.n_developers) for v in (observed, expected))
        ratios = bin_ratios(D_g, E_g, draws=draws, seed=seed)
        found = holding_range(ratios, edges)
        tested = found.tested
        bins = _bins(
            edges, observed.sum(axis=0), expected.sum(axis=0), ratios, "developer" if by_developer else "session"
        )
        laws.append(_told(one, best, found, bins, counts))
    order = {family: place for place, family in enumerate((*families, REFERENCE))}
    laws += [_missing(family, why) for family, why in failed.items()]
    laws.sort(key=lambda law: order[law.family])
    quantiles = _quantiles(counts, [*fitted, reference], edges[0])
    return GroupLaws(tuple(laws), quantiles, tested, "developer" if by_developer else "session")


def _smooth(family: str, counts: LawCounts, by_developer: bool, *, intervals: bool) -> _Fitted:
    """Fit one family with lifelines; its intervals where they are asked for."""
    from tracestat.survival.law_families import fit_family, law_of

    fitter = fit_family(family, counts)
    law = law_of(fitter)
    working = law.working(fitter._fitted_parameters_)
    score, hessian = cluster_contributions(law, working, counts)
    maximum = Maximum(working, float(fitter.log_likelihood_), hessian.sum(axis=0))
    # lognormal and generalised gamma: mu is ln of the median or scale, and ln sigma may be a parameter itself
    parameters = {name: Interval(float(told(working[i]))) for i, (name, told) in enumerate(_TOLD[family])}
    notes: list[str] = []
    if intervals:
        without = [leave_one_out(law, maximum, counts, score, hessian, by_developer=flag) for flag in (False, True)]
        for i, (name, told) in enumerate(_TOLD[family]):
            both = [_transformed(jackknife_interval(float(working[i]), rows[:, i]), told) for rows in without]
            parameters[name] = headline(*both)
        for rows, what in zip(without, ("session", "developer"), strict=True):
            lost = int(np.count_nonzero(~np.all(np.isfinite(rows), axis=1)))
            if lost and rows.shape[0] > 1:
                notes.append(
                    f"no interval by {what}: without {'one' if lost == 1 else lost} of {rows.shape[0]} {what}s there "
                    "is no maximum"
                )
    sums = sum_by(score, counts.developer, counts.n_developers) if by_developer else score
    penalty = float(np.trace(np.linalg.solve(-maximum.hessian, sums.T @ sums)))
    by_session = log_likelihood_by(law, working, counts)
    return _Fitted(family, law, working, parameters, working.size, penalty, by_session, tuple(notes))


def _transformed(item: ClusterInterval, told: Callable[[Floats], Floats]) -> ClusterInterval:
    """Turn an interval of the parameter worked with into that of the one told; bounds far off all data are none."""

    def turn(bound: float | None) -> float | None:
        if bound is None or abs(bound) > np.log(_WIDEST):
            return None
        return float(told(np.array(bound)))

    value = float(told(np.array(item.value)))
    return ClusterInterval(value, None, turn(item.low), turn(item.high), item.n_clusters, item.level, item.method)


def _reference(counts: LawCounts, edges: Sequence[float], by_developer: bool) -> _Fitted:
    law = piecewise_law(edges)
    unit = np.zeros(len(edges))  # ln of a hazard of 1: what it expects is the exposure
    D, X = observed_events(counts, edges), expected_events(law, unit, counts, edges)
    used = X.sum(axis=0) > 0
    with np.errstate(divide="ignore"):
        working = np.log(np.divide(D.sum(axis=0), X.sum(axis=0), out=np.zeros(len(edges)), where=used))
    D_dev, X_dev = (sum_by(v, counts.developer, counts.n_developers) for v in (D, X))
    both = [bin_hazards(D, X), bin_hazards(D_dev, X_dev)]
    parameters = {}
    for j in np.flatnonzero(used):
        intervals = [
            ClusterInterval(
                float(h.hazard[j]),
                None,
                _finite(h.low[j]),
                _finite(h.high[j]),
                h.n_clusters,
                0.95,
                "clustered" if h.clustered[j] else "exact Poisson",
            )
            for h in both
        ]
        parameters[f"{edges[int(j)]:g}"] = headline(*intervals)
    D_g, X_g = (D_dev, X_dev) if by_developer else (D, X)
    seen = D_g.sum(axis=0) > 0
    residual = D_g[:, seen] - X_g[:, seen] * np.exp(working[seen])
    penalty = float((np.sum(residual**2, axis=0) / D_g[:, seen].sum(axis=0)).sum())
    by_session = log_likelihood_by(law, working, counts)
    return _Fitted(REFERENCE, law, working, parameters, int(np.count_nonzero(used)), penalty, by_session, ())


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _bins(
    edges: Sequence[float], events: Floats, expected: Floats, ratios: BinRatios, clusters: str
) -> tuple[LawBin, ...]:
    upper: list[float | None] = [*map(float, edges[1:]), None]
    made = []
    for j, hi in enumerate(upper):
        if expected[j] <= 0 and events[j] <= 0:
            continue
        ratio = NOT_AVAILABLE
        if ratios.testable[j]:
            ratio = Interval(
                float(ratios.ratio[j]), float(ratios.low[j]), float(ratios.high[j]), method=f"{clusters} max-T"
            )
        inside = bool(ratios.inside[j]) if ratios.testable[j] else None
        expects = float(expected[j])
        made.append(
            LawBin(
                lo=float(edges[j]), hi=hi, events=round(float(events[j])), expected=expects, ratio=ratio, inside=inside
            )
        )
    return tuple(made)


def _told(
    one: _Fitted, best: _Fitted | None, found: HoldingRange, bins: tuple[LawBin, ...], counts: LawCounts
) -> LawFit:
    behind = NOT_AVAILABLE
    if best is not None:
        behind = Interval(0.0) if one is best else _behind(one, best, counts)
    return LawFit(
        family=one.family,
        parameters=one.parameters,
        aic=one.aic,
        aic_clustered=-2 * float(one.by_session.sum()) + 2 * one.penalty,
        behind=behind,
        best=one is best,
        range=found.range,
        holds=found.everywhere,
        within_factor=found.factor,
        # the reference is off nowhere but by rounding
        worst=None if one.family == REFERENCE else found.worst,
        worst_at=None if one.family == REFERENCE else found.worst_at,
        n_parameters=one.n_parameters,
        bins=bins,
        notes=one.notes,
    )


def _behind(one: _Fitted, best: _Fitted, counts: LawCounts) -> Interval:
    """Give the AIC of a law less that of the best one; clusters tell how sure that is (Vuong's comparison).

    A law that lies within another never fits better, so that bounds which say it might are moved to what can be.
    """
    difference = best.by_session - one.by_session
    value = one.aic - best.aic
    both = []
    for by_developer in (False, True):
        rows = sum_by(difference, counts.developer, counts.n_developers) if by_developer else difference
        G = rows.size
        se = 2 * float(np.sqrt(G / (G - 1) * np.sum((rows - rows.mean()) ** 2))) if G > 1 else np.nan
        both.append(_possible(student_interval(value, se, G, 0.95, "clustered"), one, best))
    return headline(*both)


def _possible(item: ClusterInterval, one: _Fitted, best: _Fitted) -> ClusterInterval:
    """Move bounds of a difference in AIC that no data could give."""
    more = 2 * (one.n_parameters - best.n_parameters)
    low, high = item.low, item.high
    if low is not None and one.family in _WITHIN.get(best.family, ()):
        low = min(max(low, float(more)), item.value)
    if high is not None and best.family in _WITHIN.get(one.family, ()):
        high = max(min(high, float(more)), item.value)
    return replace(item, low=low, high=high)


def _missing(family: str, why: str) -> LawFit:
    return LawFit(
        family=family,
        parameters={},
        aic=None,
        aic_clustered=None,
        behind=NOT_AVAILABLE,
        best=False,
        range=None,
        holds=None,
        notes=(why,),
    )


def _quantiles(counts: LawCounts, fitted: Sequence[_Fitted], start: float) -> tuple[QuantilePair, ...]:
    """Compare quantiles of the durations above the first edge."""
    events, n, n_entry = counts.totals()
    curve = kaplan_meier_counts(counts.times, events, n - events, counts.entries, n_entry)
    sums = np.concatenate([[0.0], curve.influence_sum])
    V = sums[np.searchsorted(curve.time, counts.times, side="right")]
    V_entry = sums[np.searchsorted(curve.time, counts.entries, side="right")]
    at_risk = curve.at_risk[np.searchsorted(curve.time, counts.times)]
    width = len(VARIANCE_AT) + 1
    # an entry is an end that takes back what its row would have shown before
    ends = counts.session * width + np.searchsorted(VARIANCE_AT, counts.times)[counts.time]
    begins = counts.session * width + np.searchsorted(VARIANCE_AT, counts.entries)[counts.entry]
    size = counts.n_sessions * width
    rows = sum_by(counts.n, ends, size) - sum_by(counts.n, begins, size)
    score = sum_by(counts.n_event / at_risk[counts.time] - counts.n * V[counts.time], ends, size)
    score += sum_by(counts.n * V_entry[counts.entry], begins, size)
    shape = (counts.n_sessions, width)
    clustered = clustered_curve(curve, rows.reshape(shape), score.reshape(shape), counts.developer, VARIANCE_AT)
    shown = [q for q in _PROBABILITIES if (1 - q) * n.sum() >= _TAIL_EVENTS and q * n.sum() >= _TAIL_EVENTS]
    quantiles = {one.family: law_quantiles(one.law, one.working, shown, start) for one in fitted}
    pairs = []
    for i, q in enumerate(shown):
        observed = clustered.quantile(q)
        if observed is not None:
            pairs.append(QuantilePair(q=q, observed=observed, fitted={name: v[i] for name, v in quantiles.items()}))
    return tuple(pairs)
