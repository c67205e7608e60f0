"""Families of laws as lifelines fitters: four known ones that converge on counts.

Importing this file imports lifelines, which takes more than a second: import it inside the functions that use it. The
classes stand at the top of the file so that fitted objects can be pickled.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import autograd.numpy as anp
import lifelines
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.results.fit import FAMILY_WORDS
from tracestat.survival.law_functions import LAWS
from tracestat.survival.laws import Law, LawCounts, Totals, maximise

__all__ = [
    "FAMILIES",
    "GeneralizedGammaFitter",
    "LogLogisticFitter",
    "LogNormalFitter",
    "WeibullFitter",
    "fit_family",
    "law_of",
]

Floats = NDArray[np.float64]
_NEAR_LOGNORMAL = 0.02
_FURTHEST = 30.0  # a scale of e^-30 s is on its way to a limit: the hazard is a power of time


class _CountsFitter(ABC):
    """A lifelines fitter whose maximum is found by Newton's method.

    lifelines begins with a simplex, which takes up to seconds, and where the likelihood has no maximum ends anywhere.
    """

    _family: str
    _max_steps = 60

    @abstractmethod
    def _starts(self, times: Floats, entries: Floats, totals: Totals) -> list[Floats]:
        """Give parameters from which the search may begin, on the working scale."""

    def _fit_model(
        self,
        Ts: Any,
        E: Any,
        entry: Any,
        weights: Any,
        **_: Any,
    ) -> tuple[Floats, float, Floats]:
        law = law_of(self)
        times, n = np.asarray(Ts[0], dtype=np.float64), np.asarray(weights, dtype=np.float64)
        late = np.asarray(entry, dtype=np.float64) > 0
        entries, entered = np.unique(np.asarray(entry, dtype=np.float64)[late], return_inverse=True)
        totals = (np.where(np.asarray(E, dtype=np.bool_), n, 0.0), n, sum_by(n[late], entered, entries.size))
        for start in self._starts(times, entries, totals):
            best = maximise(law, start, times, entries, totals, max_steps=self._max_steps)
            if best is None:
                continue
            natural = law.natural(best.working)
            # at a maximum second derivatives change scale as squares do
            scale = np.where(law.positive, natural, 1.0)
            return natural, best.log_likelihood, -best.hessian / np.outer(scale, scale)
        raise lifelines.exceptions.ConvergenceError("the likelihood has no maximum")


def _moments(times: Floats, weights: Floats) -> tuple[float, float]:
    log_time = np.log(times)
    mean = float(weights @ log_time / weights.sum())
    sd = float(np.sqrt(weights @ (log_time - mean) ** 2 / weights.sum()))
    return mean, max(sd, 0.05)


class WeibullFitter(_CountsFitter, lifelines.WeibullFitter):  # type: ignore[misc]  # lifelines has no types
    """As lifelines' own, by Newton's method."""

    _family = "weibull"

    def _starts(self, times: Floats, entries: Floats, totals: Totals) -> list[Floats]:  # noqa: ARG002
        mean, sd = _moments(times, totals[1])
        return [np.array([mean + 0.577 * sd / 1.28, np.log(1.28 / sd)])]


class LogNormalFitter(_CountsFitter, lifelines.LogNormalFitter):  # type: ignore[misc]  # lifelines has no types
    """As lifelines' own, by Newton's method."""

    _family = "lognormal"

    def _starts(self, times: Floats, entries: Floats, totals: Totals) -> list[Floats]:  # noqa: ARG002
        mean, sd = _moments(times, totals[1])
        return [np.array([mean, np.log(sd)])]


class LogLogisticFitter(_CountsFitter, lifelines.LogLogisticFitter):  # type: ignore[misc]  # lifelines has no types
    """As lifelines' own, by Newton's method."""

    _family = "loglogistic"

    def _starts(self, times: Floats, entries: Floats, totals: Totals) -> list[Floats]:  # noqa: ARG002
        mean, sd = _moments(times, totals[1])
        return [np.array([mean, np.log(1.81 / sd)])]


class GeneralizedGammaFitter(_CountsFitter, lifelines.GeneralizedGammaFitter):  # type: ignore[misc]  # no types
    """As lifelines' own, by Newton's method, and smooth through lambda = 0, which is the lognormal law."""

    _family = "gengamma"
    _max_steps = 30  # on a ridge each step gains a little, without end

    def _starts(self, times: Floats, entries: Floats, totals: Totals) -> list[Floats]:
        mean, sd = _moments(times, totals[1])
        found: list[tuple[float, Floats]] = [(-np.inf, np.array([mean, np.log(sd), 0.1]))]
        # from the better of the two laws that lie within the family
        for inner in (WeibullFitter(), LogNormalFitter()):
            law = law_of(inner)
            best = maximise(law, inner._starts(times, entries, totals)[0], times, entries, totals)
            if best is not None:
                level, spread = best.working
                is_weibull = isinstance(inner, WeibullFitter)
                at = np.array([level, -spread, 1.0]) if is_weibull else np.array([level, spread, 0.05])
                found.append((best.log_likelihood, at))
        return [max(found, key=lambda item: item[0])[1]]

    def _cumulative_hazard(self, params: Any, times: Any) -> Any:
        return self._through_zero(super()._cumulative_hazard, LogNormalFitter._cumulative_hazard, params, times)

    def _log_hazard(self, params: Any, times: Any) -> Any:
        return self._through_zero(super()._log_hazard, LogNormalFitter._log_hazard, params, times)

    def _through_zero(self, function: Any, lognormal: Any, params: Any, times: Any) -> Any:
        mu, ln_sigma, shape = params
        if abs(shape) >= _NEAR_LOGNORMAL:
            return function(params, times)
        # the gamma functions lose all digits there: a parabola through three values of lambda
        c = _NEAR_LOGNORMAL
        below, above = (function([mu, ln_sigma, value], times) for value in (-c, c))
        at_zero = lognormal(self, [mu, anp.exp(ln_sigma)], times)
        part = shape / c
        return at_zero + part * (above - below) / 2 + part**2 * (above + below - 2 * at_zero) / 2


FAMILIES: dict[str, type[Any]] = {
    "weibull": WeibullFitter,
    "lognormal": LogNormalFitter,
    "loglogistic": LogLogisticFitter,
    "gengamma": GeneralizedGammaFitter,
}


def law_of(fitter: Any) -> Law:
    """Give the two functions of one of these fitters, without lifelines' detour through autograd.

    Examples
    --------
    >>> law_of(WeibullFitter()).cumulative_hazard(np.array([2.0, 1.0]), np.array([3.0]))
    array([1.5])
    """
    return LAWS[fitter._family]


def fit_family(name: str, counts: LawCounts, *, timeline: ArrayLike | None = None, label: str | None = None) -> Any:
    """Fit a family to counts with lifelines: ``weights=`` rows, ``entry=`` the time from which they were watched.

    Parameters
    ----------
    name : {"weibull", "lognormal", "loglogistic", "gengamma"}
    counts : LawCounts
        The rows.
    timeline : array_like, optional
        Times at which the fitter tabulates its curves, seconds.
    label : str, optional
        Name of its columns.

    Returns
    -------
    lifelines fitter

    Raises
    ------
    TracestatError
        The family has no maximum on these rows.

    Examples
    --------
    >>> from tracestat.survival.laws import law_counts
    >>> t = (-np.log(1 - (np.arange(1, 1001) - 0.5) / 1000) / 0.3) ** 2.5
    >>> n = np.ones(1000)
    >>> counts = law_counts(t, n, 0 * n, np.full(1000, 1e-9), np.arange(1000), n)
    >>> round(float(fit_family("weibull", counts).rho_), 3)
    0.4
    """
    kind, words = FAMILIES[name], FAMILY_WORDS[name]
    place = counts.time * counts.entries.size + counts.entry
    size = counts.times.size * counts.entries.size
    parts = []
    for rows, seen in ((counts.n_event, 1), (counts.n_censored, 0)):
        summed = sum_by(rows, place, size)
        used = np.flatnonzero(summed)
        parts.append((used, summed[used], np.full(used.size, seen)))
    cells, n, events = (np.concatenate(column) for column in zip(*parts, strict=True))
    durations = counts.times[cells // counts.entries.size]
    if np.unique(durations[events == 1]).size < 3:
        raise TracestatError(f"{words}: fewer than 3 different durations with an end: there is no law to fit")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", lifelines.exceptions.StatisticalWarning)
            warnings.simplefilter("error", lifelines.exceptions.ApproximationWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            fitter = kind().fit(
                durations,
                events,
                timeline=timeline,
                label=label,
                entry=counts.entries[cells % counts.entries.size],
                weights=n.astype(np.int64),
            )
    except (lifelines.exceptions.ConvergenceError, Warning, ValueError, FloatingPointError) as error:
        raise TracestatError(f"{words}: the likelihood has no maximum on these rows") from error
    working = law_of(fitter).working(fitter._fitted_parameters_)
    if not np.all(np.abs(working) < _FURTHEST):  # also what is no number
        raise TracestatError(f"{words}: the likelihood has no maximum on these rows")
    return fitter
