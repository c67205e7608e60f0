"""Forms of a forecast that a study compares, each fitted once per fold, and what they lose on the rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast import pool as pool_module
from tracestat.forecast.forecasts import CurveForecast
from tracestat.forecast.grid import Grid
from tracestat.forecast.keys import PATHS, POOL_BASE
from tracestat.forecast.methods import Path
from tracestat.forecast.pool import Pool, fit_pool, pooled_forecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import TAU, given, log_score, log_seconds, pinball
from tracestat.forecast.tree import ForecastTree, fit_tree
from tracestat.resample import sum_by

Array = NDArray[np.float64]
PINBALL = (0.5, 0.9, 0.95)
SPEC: Path = ("tool_class", "command_skeleton", "developer")


@dataclass(frozen=True, slots=True)
class Form:
    """One hierarchy, or a pool of several."""

    paths: tuple[Path, ...]
    pooled: bool = False
    weights: str = "fitted"  # or equal, or one: the same for developers seen and unseen
    later: bool = False  # learn from the later half of the sessions only


class Bench:
    """One fold: forms fitted on its training rows, each hierarchy and each pool once."""

    def __init__(self, train: PauseRows, test: PauseRows, grid: Grid) -> None:
        self.train, self.test, self.grid = train, test, grid
        self._trees: dict[Path, ForecastTree] = {}
        self._pools: dict[tuple[Path, ...], Pool] = {}
        self._fit = remembered((POOL_BASE, SPEC, *PATHS))

    def tree(self, path: Path) -> ForecastTree:
        """Fit a hierarchy."""
        if path not in self._trees:
            self._trees[path] = fit_tree(self.train, path, self.grid)
        return self._trees[path]

    def pool(self, form: Form) -> Pool:
        """Fit a pool."""
        if form.paths not in self._pools:
            trees = [self.tree(path) for path in form.paths]
            with patch.object(pool_module, "fit_tree", self._fit):
                self._pools[form.paths] = fit_pool(self.train, POOL_BASE, form.paths, self.grid, trees=trees)
        pool = self._pools[form.paths]
        if form.weights == "equal":
            equal = (1 / len(form.paths),) * len(form.paths)
            return replace(pool, seen=equal, unseen=equal)
        return replace(pool, unseen=pool.seen) if form.weights == "one" else pool

    def forecast(self, form: Form) -> CurveForecast:
        """Forecast the test rows."""
        if form.later:
            return Bench(later_half(self.train), self.test, self.grid).forecast(replace(form, later=False))
        if form.pooled:
            return pooled_forecast("", self.pool(form), self.test)
        tree = self.tree(form.paths[0])
        return CurveForecast("", tree.curves(), tree.place(self.test))


def remembered(paths: Iterable[Path]) -> Callable[..., ForecastTree]:
    """Give a `fit_tree` that keeps the hierarchies that most pools hold: the weights of each need them again."""
    kept: dict[object, ForecastTree] = {}
    often = set(paths)

    def fit(rows: PauseRows, keys: Path, grid: Grid, *, kappas: Sequence[float] | None = None) -> ForecastTree:
        if tuple(keys) not in often:
            return fit_tree(rows, keys, grid, kappas=kappas)
        which = (tuple(keys), tuple(kappas or ()), rows.session.tobytes(), rows.started.tobytes())
        if which not in kept:
            kept[which] = fit_tree(rows, keys, grid, kappas=kappas)
        return kept[which]

    return fit


def later_half(rows: PauseRows) -> PauseRows:
    """Keep of each developer the later half of the sessions, by their first pause; the one in the middle stays."""
    sessions, first = np.unique(rows.session, return_index=True)  # rows come by start
    owner = rows.developer[first]
    order = np.lexsort((rows.started[first], owner))
    kept = np.zeros(rows.n_sessions, dtype=np.bool_)
    for developer in np.unique(owner):
        own = sessions[order[owner[order] == developer]]
        kept[own[own.size // 2 :]] = True
    return rows.take(kept[rows.session])


def losses(forecast: CurveForecast, rows: PauseRows, n_sessions: int) -> tuple[Array, Array]:
    """Sum the losses of each of the `MEASURES` at elapsed time 0 by session, and count their rows: both (S, 4)."""
    lasting = rows.seconds > 0
    seconds, observed = rows.seconds[lasting], rows.observed[lasting]
    place, session = forecast.place[lasting], rows.session[lasting]
    known = observed | (seconds >= TAU)
    ln_seconds = log_seconds(np.minimum(seconds, TAU))
    each = [(-log_score(given(forecast.curves, 0.0), place, seconds, observed), np.ones(seconds.size))]
    for p in PINBALL:
        x = np.minimum(forecast.curves.quantile(np.arange(forecast.curves.size), p), TAU)
        each.append((pinball(ln_seconds, log_seconds(x)[place], p) * known, known.astype(np.float64)))
    sums, counts = (np.stack([sum_by(one[k], session, n_sessions) for one in each], axis=1) for k in (0, 1))
    return sums, counts
