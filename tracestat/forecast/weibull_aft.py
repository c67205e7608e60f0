"""Weibull accelerated failure time on tool class and provider, by lifelines, as curves on the grid of a forecast.

Importing this file imports lifelines, which takes more than a second: import it inside the functions that use it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import lifelines
import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.baselines import cut_curves
from tracestat.forecast.forecasts import CurveForecast
from tracestat.forecast.grid import Grid
from tracestat.forecast.rows import PauseRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WeibullAFTFitter", "weibull_aft"]

Array = NDArray[np.float64]
Class: TypeAlias = "str | None"
_KEY = "tool_class"
_CELL = 0.04
_RARE = 10
_TINY = 1e-300
_MAX_STEPS, _SMALLEST, _GAIN = 100, 1e-12, 1e-14


class WeibullAFTFitter(lifelines.WeibullAFTFitter):  # type: ignore[misc]  # lifelines has no types
    """As lifelines' own, by Newton's method: a tenth of the time. One shape for all rows."""

    _FAST_MEDIAN_PREDICT = False

    def _fit_model(
        self,
        likelihood: Any,  # noqa: ARG002
        Ts: Any,
        Xs: Any,
        E: Any,
        weights: Any,
        entries: Any,
        **_: Any,
    ) -> tuple[dict[str, Array], float, Array]:
        X = Xs["lambda_"].to_numpy(dtype=np.float64)
        times, late = (np.log(np.maximum(np.asarray(t, dtype=np.float64), _TINY)) for t in (Ts[0], entries))
        seen, n = np.asarray(E, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        entered = np.asarray(entries, dtype=np.float64) > 0
        best, value, hessian = _newton(X, times, late, seen, n, n * entered)
        shape = best[-1]
        scales = -best[:-1] / shape
        # at a maximum second derivatives follow the change of parameters as squares do
        turn = np.eye(best.size) * -shape
        turn[:-1, -1], turn[-1, -1] = -shape * scales, shape
        return {"lambda_": scales, "rho_": np.array([np.log(shape)])}, value, -turn.T @ hessian @ turn


def _newton(X: Array, times: Array, late: Array, seen: Array, n: Array, entered: Array) -> tuple[Array, float, Array]:
    """Maximise the likelihood in the slopes of ln H on X and ln t, in which it is nearly quadratic."""
    start, end = np.column_stack([X, late]), np.column_stack([X, times])
    ended = n * seen

    def value(z: Array) -> float:
        log_hazard = np.log(z[-1]) + end @ z - times
        return float(ended @ log_hazard - n @ _exp(end @ z) + entered @ _exp(start @ z))

    root = np.sqrt(ended)
    line = np.linalg.lstsq(X * root[:, None], times * root, rcond=None)[0]
    spread = np.sqrt(np.sum(ended * (times - X @ line) ** 2) / ended.sum())
    z = np.append(-line, 1.0) / max(spread, _TINY)
    now = value(z)
    for _ in range(_MAX_STEPS):
        passed, before = n * _exp(end @ z), entered * _exp(start @ z)
        slope = end.T @ (ended - passed) + start.T @ before
        slope[-1] += ended.sum() / z[-1]
        bend = start.T @ (start * before[:, None]) - end.T @ (end * passed[:, None])
        bend[-1, -1] -= ended.sum() / z[-1] ** 2
        # columns that say the same share their effect: a class that only one provider has
        step = np.linalg.lstsq(bend, slope, rcond=1e-12)[0]
        if slope @ step > 0:  # bends up: straight uphill
            step = -slope / np.abs(np.diag(bend)).max()
        # a step is halved until the shape stays above 0 and the likelihood does not fall
        factor, following = 1.0, -np.inf
        while factor > _SMALLEST and not following >= now:
            after = z - factor * step
            following = value(after) if after[-1] > 0 else -np.inf
            factor /= 2
        if not following >= now:
            break
        gain, z, now = following - now, after, following
        if gain < _GAIN * max(1.0, abs(now)):
            return z, now, bend
    raise lifelines.exceptions.ConvergenceError("the likelihood has no maximum")


def _exp(x: Array) -> Array:
    return np.exp(np.minimum(x, 700.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Rows counted by class, provider, whether their end was seen, and cell of a 4 % grid; arrays of one length."""

    tool_class: NDArray[np.object_]
    provider: NDArray[np.object_]
    seconds: Array
    observed: Array
    rows: Array


def weibull_aft(
    train: PauseRows,
    test: PauseRows,
    grid: Grid,
    everything: Array,
    alpha: float,
    *,
    provider: str = "",
    others: Mapping[str, PauseRows] | None = None,
) -> CurveForecast:
    """Fit over all providers together, and give the curves of one.

    Parameters
    ----------
    train, test : PauseRows
        Of the provider, with the key ``tool_class``.
    grid : Grid
    everything : ndarray, shape (1, J)
        Hazards of all rows of the provider, for what the regression has nothing to say of.
    alpha : float
        Exponent beyond the last edge.
    provider : str
    others : mapping of str to PauseRows, optional
        Rows of the other providers to learn from.

    Returns
    -------
    CurveForecast
        Its ``note`` says what the global curve answers: classes with fewer than ten ends, or everything where the fit
        does not converge.

    Notes
    -----
    As in ``tracestat fit``, rows enter at the edge of the first bin, 5 ms, below which a clock of milliseconds tells
    nothing: what ended before, zeros among them, takes no part in the regression. Its mass is that of the class in
    the rows of this provider, (d + 1/2)/(r + 1), and the law holds from there on. Lengths are counted in cells of 4 %.
    """
    start = float(grid.edges[1])
    cells = _cells({provider: train, **(others or {})}, start)
    used = _frequent(cells)
    fitted = _fit(_take(cells, np.array([name in used for name in cells.tool_class], dtype=np.bool_)), provider, start)
    names = train.names[_KEY]
    hazards = np.repeat(everything, 1 + len(names), axis=0)
    note = "too few rows, or no convergence: the global curve answers"
    if fitted is not None:
        first = _first_bin(train, start)
        for code, name in enumerate(names):
            if name in used:
                hazards[1 + code] = _hazards(grid, fitted.scale(name, provider), fitted.shape, first[code])
        rare = sorted(str(name) for name in {names[code] for code in np.unique(test.codes[_KEY])} - used)
        note = f"the global curve answers for {', '.join(rare)}: fewer than {_RARE} ends" if rare else ""
    place = (test.codes[_KEY] + 1).astype(np.intp)
    return CurveForecast("weibull aft", cut_curves(grid, hazards, alpha), place, note or None)


def _cells(providers: Mapping[str, PauseRows], start: float) -> _Cells:
    parts = []
    for provider, rows in sorted(providers.items()):
        late = rows.seconds > start
        cell = np.floor(np.log(rows.seconds[late] / start) / _CELL).astype(np.int64)
        base = int(cell.max(initial=0)) + 1
        n = np.bincount((rows.codes[_KEY][late] * base + cell) * 2 + rows.observed[late])
        place = np.flatnonzero(n)
        names = np.array([*rows.names[_KEY], None], dtype=np.object_)[place // 2 // base]
        centres = start * np.exp(_CELL * (place // 2 % base + 0.5))
        providers_of = np.full(place.size, provider, dtype=np.object_)
        parts.append((names, providers_of, centres, (place % 2).astype(np.float64), n[place].astype(np.float64)))
    return _Cells(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _take(cells: _Cells, rows: NDArray[np.bool_]) -> _Cells:
    return _Cells(*(getattr(cells, f.name)[rows] for f in fields(cells)))


def _frequent(cells: _Cells) -> set[Class]:
    """Give the classes with enough ends to have an effect of their own."""
    ends: dict[Class, float] = {}
    for name, n in zip(cells.tool_class, cells.rows * cells.observed, strict=True):
        ends[name] = ends.get(name, 0.0) + n
    return {name for name, n in ends.items() if n >= _RARE}


def _first_bin(rows: PauseRows, start: float) -> Array:
    """Give the share of each class that ends in the first bin; that of all where a class has no rows here."""
    n = len(rows.names[_KEY])
    early = rows.observed & (rows.seconds < start)
    d = np.bincount(rows.codes[_KEY], weights=early, minlength=n)
    r = np.bincount(rows.codes[_KEY], minlength=n)
    return np.where(r > 0, (d + 0.5) / (r + 1), (early.sum() + 0.5) / (rows.size + 1))


def _hazards(grid: Grid, scale: float, shape: float, first: float) -> Array:
    passed = _exp(shape * (np.log(grid.edges[1:]) - np.log(scale)))
    return np.concatenate([[first], -np.expm1(-np.diff(passed))])


@dataclass(frozen=True, slots=True)
class _Fit:
    """Scale exp(intercept + class + provider), and one shape."""

    shape: float
    effects: Mapping[str, float]

    def scale(self, tool_class: Class, provider: str) -> float:
        names = ("Intercept", f"tool_class={tool_class}", f"provider={provider}")
        return float(np.exp(np.clip(sum(self.effects.get(name, 0.0) for name in names), -600, 600)))


def _fit(cells: _Cells, provider: str, start: float) -> _Fit | None:
    """Fit the regression against the commonest class and provider; None where that cannot be done."""
    own = cells.rows[cells.provider == provider].sum()
    if own < _RARE or np.unique(cells.seconds[cells.observed > 0]).size < 2:
        return None
    options = {"duration_col": "seconds", "event_col": "observed", "weights_col": "rows", "entry_col": "enters_at"}
    fitter = WeibullAFTFitter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fitter.fit(_design(cells, start), **options)
    except (lifelines.exceptions.ConvergenceError, ValueError, np.linalg.LinAlgError):
        return None
    shape = float(np.exp(fitter.params_["rho_"]["Intercept"]))
    effects = {str(name): float(value) for name, value in fitter.params_["lambda_"].items()}
    return _Fit(shape, effects) if np.isfinite([shape, *effects.values()]).all() else None


def _design(cells: _Cells, start: float) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {
        "seconds": cells.seconds,
        "observed": cells.observed,
        "rows": cells.rows,
        "enters_at": np.full(cells.rows.size, start),
    }
    for word, values in ((_KEY, cells.tool_class), ("provider", cells.provider)):
        n_rows = {value: cells.rows[values == value].sum() for value in sorted(set(values), key=str)}
        commonest = max(n_rows, key=lambda value: n_rows[value])
        for value in n_rows:
            if value != commonest:
                columns[f"{word}={value}"] = (values == value).astype(np.float64)
    return pd.DataFrame(columns)
