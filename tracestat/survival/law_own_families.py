"""Two families of laws of our own as lifelines fitters: a power of time on a range, and a smooth hazard with atoms.

They give what the default estimators give, in an object that has all of lifelines' methods. Importing this file imports
lifelines, which takes more than a second: import it inside the functions that use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np
from lifelines.fitters import KnownModelParametricUnivariateFitter
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.bins import Window
from tracestat.survival.exposure import exposure_from_exits
from tracestat.survival.slope import power_law_slope

__all__ = ["PowerLawFitter", "SmoothAtomsFitter"]

Floats = NDArray[np.float64]


class PowerLawFitter(KnownModelParametricUnivariateFitter):  # type: ignore[misc]  # lifelines has no types
    """A hazard that is a power of time on a range: ``h(t) = exp(ln_hazard_) t^slope_`` on [t0, t1].

    Rows above t0 enter there, and are censored at t1; rows that end below are left out. It is the left-truncated
    Weibull law, but slopes below -1 are allowed. Survival is that beyond t0, given that t0 was reached; above t1 it
    is an extrapolation. With a slope below -1 some never end, and a percentile may be infinite.

    Parameters
    ----------
    t0, t1 : float
        Range, seconds, 0 < t0 < t1.
    alpha : float
        1 - level of the intervals.
    label : str, optional

    Attributes
    ----------
    ln_hazard_ : float
        ln of the hazard at 1 s, per second.
    slope_ : float
        Change of ln hazard per unit of ln t.

    Notes
    -----
    The maximum is that of `tracestat.survival.slope.power_law_slope`; its standard errors take rows as independent.

    Examples
    --------
    >>> t = (-np.log(1 - (np.arange(1, 1001) - 0.5) / 1000) / 0.3) ** 2.5
    >>> fitter = PowerLawFitter(0.1, 1000.0).fit(t)
    >>> round(float(fitter.slope_), 6)
    -0.599958
    """

    _fitted_parameter_names = ["ln_hazard_", "slope_"]  # noqa: RUF012  lifelines' own form
    _bounds = [(None, None), (None, None)]  # noqa: RUF012  as above
    _compare_to_values = np.array([0.0, 0.0])

    def __init__(self, t0: float, t1: float, alpha: float = 0.05, label: str | None = None) -> None:
        if not 0 < t0 < t1:
            raise TracestatError("power law: the range must begin above 0 and end above its beginning")
        self.t0, self.t1 = float(t0), float(t1)
        super().__init__(alpha=alpha, label=label)

    def fit(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None = None,
        timeline: ArrayLike | None = None,
        *,
        entry: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **options: Any,
    ) -> PowerLawFitter:
        """Fit to rows or counts; as lifelines' ``fit``.

        Raises
        ------
        TracestatError
            There is no maximum: no events in the range, or all at one time.
        """
        rows = _in_range(durations, event_observed, entry, weights, self.t0, self.t1)
        if timeline is None:
            timeline = np.geomspace(self.t0, self.t1, 200)
        return super().fit(*rows[:2], timeline=timeline, entry=rows[2], weights=rows[3], **options)  # type: ignore[no-any-return]

    def _fit_model(
        self,
        Ts: Any,
        E: Any,
        entry: Any,
        weights: Any,
        **_: Any,
    ) -> tuple[Floats, float, Floats]:
        times, seen = np.asarray(Ts[0], dtype=np.float64), np.asarray(E, dtype=np.float64)
        n = np.asarray(weights, dtype=np.float64)
        fit = power_law_slope(times, n * seen, n * (1 - seen), self.t0, self.t1, entry=entry)
        if fit is None:
            raise TracestatError(f"power law: no maximum on {self.t0:g} to {self.t1:g} s; are there events in it?")
        theta = np.array([fit.intercept, fit.slope])
        log_likelihood, hessian = self._curvature(theta, times, n * seen, n, np.asarray(entry, dtype=np.float64))
        return theta, log_likelihood, hessian

    @staticmethod
    def _curvature(theta: Floats, times: Floats, events: Floats, n: Floats, entry: Floats) -> tuple[float, Floats]:
        """Give the log-likelihood and minus its second derivatives, from integrals of v^m e^(kv) by Gauss's rule."""
        k = theta[1] + 1
        nodes, gauss = np.polynomial.legendre.leggauss(40)
        centre = float(events @ np.log(times) / events.sum())
        up, down = np.log(times) - centre, np.log(entry) - centre
        v = down[:, None] + (up - down)[:, None] * (nodes + 1) / 2
        area = np.exp(k * v) * gauss * ((up - down) / 2 * n)[:, None]
        level = np.exp(theta[0] + k * centre)
        moments = [float((area * v**m).sum()) * level for m in range(3)]
        # from v = ln t - centre back to ln t
        first = moments[1] + centre * moments[0]
        second = moments[2] + 2 * centre * moments[1] + centre**2 * moments[0]
        value = float(events.sum() * theta[0] + theta[1] * (events @ np.log(times)) - moments[0])
        return value, np.array([[moments[0], first], [first, second]])

    def _create_initial_point(self, *_: Any) -> Floats:
        return np.array([0.0, -0.5])

    def _cumulative_hazard(self, params: Any, times: Any) -> Any:
        ln_hazard, slope = params
        k = slope + 1
        length = anp.log(anp.maximum(times, self.t0) / self.t0)
        grown = length * (1 + k * length / 2) if abs(k) < 1e-8 else (anp.exp(k * length) - 1) / k
        return anp.exp(ln_hazard + k * np.log(self.t0)) * grown

    def _log_hazard(self, params: Any, times: Any) -> Any:
        ln_hazard, slope = params
        return ln_hazard + slope * anp.log(anp.maximum(times, self.t0))

    def _hazard(self, params: Any, times: Any) -> Any:
        return anp.where(times >= self.t0, anp.exp(self._log_hazard(params, times)), 0.0)

    def _density(self, params: Any, times: Any) -> Any:
        return self._hazard(params, times) * self._survival_function(params, times)

    def percentile(self, p: Any) -> Any:
        """Give the time at which S(t) = p, given that t0 was reached; infinite if it never is."""
        k = self.slope_ + 1
        goal = -np.log(np.asarray(p, dtype=np.float64)) * np.exp(-self.ln_hazard_ - k * np.log(self.t0))
        with np.errstate(divide="ignore", invalid="ignore"):
            length = goal if abs(k) < 1e-8 else np.where(k * goal > -1, np.log1p(np.maximum(k * goal, -1)) / k, np.inf)
        out = self.t0 * np.exp(length)
        return float(out) if np.ndim(p) == 0 else out


class SmoothAtomsFitter(KnownModelParametricUnivariateFitter):  # type: ignore[misc]  # lifelines has no types
    """A hazard that is constant within bins, and point masses at given deadlines.

    Within the window [a, b) of an atom the hazard of its bin goes on, and of those who reach a a share q ends by the
    deadline: S drops by the factor 1 - q at a. Rows enter at the first edge at the earliest and are censored at the
    last one; beyond it the last hazard goes on, which is an extrapolation.

    Parameters
    ----------
    edges : sequence of float
        Edges of the bins, seconds, the first above 0; each bin must hold events outside the windows.
    atoms : sequence of (float, float)
        Windows [a, b), which may not overlap.
    alpha : float
        1 - level of the intervals.
    label : str, optional

    Attributes
    ----------
    hazard_1_, ... : float
        Hazard of each bin, per second.
    atom_1_, ... : float
        Mass of each atom: the share that ends by it among those who reach it.

    Notes
    -----
    Both are maximum likelihood, in closed form: hazards are events over exposure with the windows cut out, as in
    `tracestat.survival.exposure`, and with O of n at risk at a ending in the window, ``q = 1 - (1 - O/n) e^E``, where E
    is the cumulative hazard of the bins over the window. To first order that is (O - n E)/n, observed less expected
    over those at risk. Where it would fall below 0 it is 0, and the window counts as part of its bins. Rows that are
    lost from sight within a window count as lost at a; rows that enter in one, as entering at b. The likelihood takes a
    window as one yes or no, so its AIC must not be compared with that of a law that has a density everywhere.
    Standard errors take rows as independent.

    Examples
    --------
    >>> fitter = SmoothAtomsFitter([1.0, 20.0], [(9.9, 10.1)]).fit([2.0, 4, 10, 10, 15, 18])
    >>> round(float(fitter.atom_1_), 4), round(float(fitter.hazard_1_), 4)
    (0.4923, 0.0763)
    """

    def __init__(
        self, edges: Sequence[float], atoms: Sequence[Window] = (), alpha: float = 0.05, label: str | None = None
    ) -> None:
        self.edges = np.asarray(edges, dtype=np.float64)
        self.windows = np.asarray(sorted(atoms), dtype=np.float64).reshape(-1, 2)
        if self.edges.size < 2 or not self.edges[0] > 0 or np.any(np.diff(self.edges) <= 0):
            raise TracestatError("smooth hazard with atoms: edges must begin above 0 and increase")
        flat = self.windows.ravel()
        if flat.size and (np.any(np.diff(flat) < 0) or np.any(self.windows[:, 0] >= self.windows[:, 1])):
            raise TracestatError("smooth hazard with atoms: windows must not be empty and must not overlap")
        if flat.size and not (self.edges[0] <= flat[0] and flat[-1] <= self.edges[-1]):
            raise TracestatError("smooth hazard with atoms: each window must lie between the first and the last edge")
        n_bins, n_atoms = self.edges.size - 1, self.windows.shape[0]
        self._fitted_parameter_names = [f"hazard_{i + 1}_" for i in range(n_bins)]
        self._fitted_parameter_names += [f"atom_{i + 1}_" for i in range(n_atoms)]
        self._bounds = [(0.0, None)] * n_bins + [(0.0, 1.0)] * n_atoms
        self._compare_to_values = np.zeros(n_bins + n_atoms)
        super().__init__(alpha=alpha, label=label)

    def fit(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None = None,
        timeline: ArrayLike | None = None,
        *,
        entry: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **options: Any,
    ) -> SmoothAtomsFitter:
        """Fit to rows or counts; as lifelines' ``fit``.

        Raises
        ------
        TracestatError
            A bin holds no events outside the windows.
        """
        rows = _in_range(durations, event_observed, entry, weights, self.edges[0], self.edges[-1])
        if timeline is None:
            points = [np.geomspace(self.edges[0], self.edges[-1], 200), self.windows.ravel(), self.edges]
            timeline = np.unique(np.concatenate(points))
        return super().fit(*rows[:2], timeline=timeline, entry=rows[2], weights=rows[3], **options)  # type: ignore[no-any-return]

    def _fit_model(
        self,
        Ts: Any,
        E: Any,
        entry: Any,
        weights: Any,
        **_: Any,
    ) -> tuple[Floats, float, Floats]:
        times, starts = np.asarray(Ts[0], dtype=np.float64), np.asarray(entry, dtype=np.float64)
        n = np.asarray(weights, dtype=np.float64)
        events = np.where(np.asarray(E, dtype=np.bool_), n, 0.0)
        ended, at_risk = np.zeros(self.windows.shape[0]), np.zeros(self.windows.shape[0])
        for i, (a, b) in enumerate(self.windows):
            reach = (times >= a) & (starts <= a)
            inside = reach & (times < b)
            ended[i] = events[inside].sum()
            at_risk[i] = n[reach & ((times >= b) | (events > 0))].sum()
        smooth = np.ones(self.windows.shape[0], dtype=np.bool_)
        while True:
            D, X = self._outside(times, events, n, starts, self.windows[smooth])
            if not np.all(D > 0):
                j = int(np.flatnonzero(D <= 0)[0])
                raise TracestatError(
                    f"smooth hazard with atoms: the bin {self.edges[j]:g} to {self.edges[j + 1]:g} s holds no event "
                    "outside the windows; join it with a neighbour"
                )
            hazard = D / X
            passed = np.exp(self._lengths @ hazard)
            share = np.divide(ended, at_risk, out=np.zeros_like(ended), where=at_risk > 0)
            q = 1 - (1 - share) * passed
            none = smooth & (q < 0)
            if not np.any(none):
                break
            smooth &= ~none
        q = np.where(smooth, np.minimum(q, 1 - 1e-12), 0.0)
        p = np.clip(1 - (1 - q) / passed, 1e-12, 1 - 1e-12)
        value = float(D @ np.log(hazard) - X @ hazard)
        used = smooth & (at_risk > 0)
        value += float((ended * np.log(p) + (at_risk - ended) * np.log1p(-p))[used].sum())
        # q depends on the hazards and on a share that is independent of them
        variance = np.concatenate([hazard**2 / D, p * (1 - p) / np.maximum(at_risk, 1)])
        turn = np.eye(variance.size)
        turn[hazard.size :, : hazard.size] = -(1 - q)[:, None] * self._lengths
        turn[np.arange(hazard.size, variance.size), np.arange(hazard.size, variance.size)] = passed
        covariance = turn @ (variance[:, None] * turn.T)
        precision: Floats = np.linalg.inv(covariance).astype(np.float64)
        return np.concatenate([hazard, q]), value, precision

    @property
    def _lengths(self) -> Floats:
        """Time that each window spends in each bin, shape (A, J)."""
        low, high = self.edges[:-1], self.edges[1:]
        out: Floats = np.clip(self.windows[:, 1:], low, high) - np.clip(self.windows[:, :1], low, high)
        return out

    def _outside(
        self, times: Floats, events: Floats, n: Floats, starts: Floats, windows: Floats
    ) -> tuple[Floats, Floats]:
        """Give events and exposure per bin, the windows cut out."""
        lower = np.unique(np.concatenate([self.edges, windows.ravel()]))
        ends, begins = (np.searchsorted(lower, t, side="right") - 1 for t in (times, starts))
        # rows censored at the last edge belong to the last bin; nothing is exposed above it
        last = lower.size - 1
        exits = sum_by(n, ends, lower.size) - sum_by(n, begins, lower.size)
        spent = sum_by(n * times, ends, lower.size) - sum_by(n * starts, begins, lower.size)
        exposure = exposure_from_exits(exits, spent, lower.tolist())[:last]
        counted = sum_by(events, ends, lower.size)[:last]
        middle = (lower[:-1] + lower[1:]) / 2
        kept = ~np.any((middle[:, None] > windows[:, 0]) & (middle[:, None] < windows[:, 1]), axis=1)
        place = np.searchsorted(self.edges, middle) - 1
        size = self.edges.size - 1
        return sum_by(counted * kept, place, size), sum_by(exposure * kept, place, size)

    def _create_initial_point(self, *_: Any) -> Floats:
        return np.full(len(self._fitted_parameter_names), 0.1)

    def _split(self, params: Any) -> tuple[Any, Any]:
        n_bins = self.edges.size - 1
        return params[:n_bins], params[n_bins:]

    def _cumulative_hazard(self, params: Any, times: Any) -> Any:
        hazard, q = self._split(params)
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))[:, None]
        upper = np.append(self.edges[1:-1], np.inf)
        out = anp.dot(np.clip(at, self.edges[:-1], upper) - self.edges[:-1], hazard)
        if self.windows.shape[0]:
            out = out - anp.dot((at >= self.windows[:, 0]).astype(np.float64), anp.log1p(-q))
        return out if np.ndim(times) else out[0]

    def _hazard(self, params: Any, times: Any) -> Any:
        hazard, _ = self._split(params)
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        place = np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, self.edges.size - 2)
        out = anp.where(at >= self.edges[0], hazard[place], 0.0)
        return out if np.ndim(times) else out[0]

    def _log_hazard(self, params: Any, times: Any) -> Any:
        return anp.log(anp.maximum(self._hazard(params, times), 1e-300))

    def _density(self, params: Any, times: Any) -> Any:
        return self._hazard(params, times) * self._survival_function(params, times)

    def percentile(self, p: Any) -> Any:
        """Give the smallest time at which S(t) <= p, given that the first edge was reached."""
        points = np.unique(np.concatenate([self.edges, self.windows[:, 0]]))
        hazard = self._hazard(self._fitted_parameters_, points)
        after = self._cumulative_hazard(self._fitted_parameters_, points)
        goal = np.atleast_1d(-np.log(np.asarray(p, dtype=np.float64)))
        place = np.clip(np.searchsorted(after, goal, side="right") - 1, 0, points.size - 1)
        found = points[place] + np.maximum(goal - after[place], 0.0) / hazard[place]
        # a goal that an atom steps over is reached at the atom
        found = np.minimum(found, np.append(points[1:], np.inf)[place])
        return float(found[0]) if np.ndim(p) == 0 else found


def _in_range(
    durations: ArrayLike,
    event_observed: ArrayLike | None,
    entry: ArrayLike | None,
    weights: ArrayLike | None,
    start: float,
    stop: float,
) -> tuple[Floats, NDArray[np.int64], Floats, Any]:
    """Let rows enter at ``start`` at the earliest and be censored at ``stop``."""
    times = np.asarray(durations, dtype=np.float64)
    seen = (
        np.ones(times.shape, dtype=np.int64) if event_observed is None else np.asarray(event_observed, dtype=np.int64)
    )
    starts = np.maximum(0.0 if entry is None else np.asarray(entry, dtype=np.float64), start) + np.zeros(times.shape)
    n = np.ones(times.shape, dtype=np.int64) if weights is None else np.asarray(weights)
    if not np.all(np.isfinite(times)):
        raise TracestatError("durations must be numbers of seconds; filter the others first")
    use = (times > starts) & (starts < stop) & (n > 0)
    if not np.any(use):
        raise TracestatError(f"no row lasts longer than {start:g} s and enters before {stop:g} s: nothing to fit")
    times, seen, starts, n = times[use], seen[use], starts[use], n[use]
    return np.minimum(times, stop), seen * (times <= stop), starts, n
