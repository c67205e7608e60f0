"""Every method that forecasts the test rows of a fold, on one grid and with one tail.

Curves of shrunk hazards are cut as those of raw ones are, see :mod:`tracestat.forecast.baselines`, so that all methods
pay the same for what they hold to be impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.baselines import (
    cut_curves,
    key_counts,
    mixed_curves,
    raw_hazards,
    rule_of_a_hundred,
    value_places,
)
from tracestat.forecast.curves import Curves
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.grid import Grid
from tracestat.forecast.keys import PATHS, POOL_BASE
from tracestat.forecast.pool import fit_pool, pooled_forecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.running import running_means
from tracestat.forecast.shrinkage import root_hazards
from tracestat.forecast.tree import ForecastTree, fit_tree

__all__ = ["BASELINES", "OURS", "Forecast", "Path", "forecast_all", "join_rows", "method_keys", "method_names"]

Forecast: TypeAlias = "CurveForecast | PointForecast"
Path: TypeAlias = "tuple[str, ...]"
OURS = "ours"
BASELINES = (
    "global",
    "tool",
    "skeleton",
    "continuum-paper",
    "raw counts",
    "effective counts",
    "mixing k=20",
    "mixing k=100",
    "weibull aft",
    "running mean",
    "ewma",
    "elapsed",
)
"""Methods to beat, in the order in which they are shown; the last three give one number and no law."""

_ONE_KEY = {"tool": "tool", "skeleton": "command_skeleton"}
_MIXED = (20.0, 100.0)


def method_keys(paths: Sequence[Path] = PATHS) -> Path:
    """Give the keys that the methods need codes of, each once."""
    keys = (*_ONE_KEY.values(), "tool_class", "developer", *PATHS[0], *(key for path in paths for key in path))
    return tuple(dict.fromkeys(keys))


def method_names(paths: Sequence[Path] = PATHS) -> tuple[str, ...]:
    """Name the methods in the order in which they are shown and forecast.

    Parameters
    ----------
    paths : sequence of tuple of str
        Hierarchies to forecast by at every depth. "ours" pools those of ``PATHS``; of any others it is the last one in
        full. A prefix that several share is shown once, from the last of them, and the first of ``PATHS`` in full is
        "effective counts".

    Examples
    --------
    >>> method_names([("tool_class", "developer")])[-3:]
    ('elapsed', 'tool_class', 'ours')
    """
    return (*BASELINES, *(name for name, _, _ in _depths(paths)), OURS)


def _pooled(paths: Sequence[Path]) -> bool:
    return tuple(paths) == PATHS


def _depths(paths: Sequence[Path]) -> list[tuple[str, Path, int]]:
    """Give name, hierarchy and depth of everything that is neither a baseline nor ours."""
    made: list[tuple[str, Path, int]] = []
    ours = () if _pooled(paths) else paths[-1]
    for number, path in enumerate(paths):
        for depth in range(1, len(path) + 1):
            prefix = path[:depth]
            if prefix in (PATHS[0], ours) or any(later[:depth] == prefix for later in paths[number + 1 :]):
                continue
            made.append((" > ".join(prefix), path, depth))
    return made


def join_rows(first: PauseRows, second: PauseRows) -> PauseRows:
    """Put rows of one provider together; their numbers have the same meaning."""

    def both(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(first, name), getattr(second, name)])

    codes = {key: np.concatenate([code, second.codes[key]]) for key, code in first.codes.items()}
    arrays = {name: both(name) for name in ("session", "developer", "started", "seconds", "observed")}
    return PauseRows(codes, first.names, **arrays)


def forecast_all(
    train: PauseRows,
    test: PauseRows,
    grid: Grid,
    *,
    paths: Sequence[Path] = PATHS,
    provider: str = "",
    others: Mapping[str, PauseRows] | None = None,
) -> list[Forecast]:
    """Forecast the test rows of one fold of one provider by every method.

    Parameters
    ----------
    train, test : PauseRows
        Sides of the fold, with the keys of :func:`method_keys`; neither is empty. Of the test rows' lengths only the
        running forecasts know something, and only of pauses that had ended before.
    grid : Grid
        For all methods.
    paths : sequence of tuple of str
        As for :func:`method_names`.
    provider : str
    others : mapping of str to PauseRows, optional
        Rows of the other providers, from which the Weibull regression learns too.

    Returns
    -------
    list of CurveForecast or PointForecast
        One per name of :func:`method_names`, in that order. Those of one hierarchy share their curves.
    """
    return list(_forecasts(train, test, grid, tuple(paths), provider, others or {}))


def _forecasts(
    train: PauseRows, test: PauseRows, grid: Grid, paths: Sequence[Path], provider: str, others: Mapping[str, PauseRows]
) -> Iterator[Forecast]:
    raw = fit_tree(train, PATHS[0], grid, effective=False)
    everything, alpha = root_hazards(raw.shrinkage.counts[0]), raw.alpha
    yield CurveForecast("global", cut_curves(grid, everything, alpha), np.zeros(test.size, dtype=np.intp))
    for name, key in _ONE_KEY.items():
        counts = key_counts(train, key, grid)
        hazards = np.concatenate([everything, raw_hazards(counts, everything)])
        yield CurveForecast(name, cut_curves(grid, hazards, alpha), value_places(counts, test.codes[key]))
    tools = key_counts(train, "tool", grid)
    hazards, place = rule_of_a_hundred(tools, everything, test.codes["tool"], grid)
    yield CurveForecast("continuum-paper", cut_curves(grid, hazards, alpha), place)
    raw_place = raw.place(test)
    yield CurveForecast("raw counts", _tree_curves(raw), raw_place)
    effective = fit_tree(train, PATHS[0], grid)
    effective_curves = _tree_curves(effective)
    yield CurveForecast("effective counts", effective_curves, effective.place(test))
    parents = [level.parents for level in raw.nesting.levels]
    for k in _MIXED:
        mixed = mixed_curves(parents, raw.shrinkage.counts[: len(parents) + 1], everything, grid, k, alpha)
        yield CurveForecast(f"mixing k={k:g}", mixed, raw_place)
    # its import takes more than a second
    from tracestat.forecast.weibull_aft import weibull_aft

    yield weibull_aft(train, test, grid, everything, alpha, provider=provider, others=others)
    mean, moving = running_means(join_rows(train, test), test)
    yield PointForecast("running mean", mean)
    yield PointForecast("ewma", moving)
    yield PointForecast("elapsed", np.zeros(test.size), factor=2.0)
    trees: dict[Path, tuple[ForecastTree, Curves]] = {PATHS[0]: (effective, effective_curves)}
    for path in paths:
        if path not in trees:
            tree = fit_tree(train, path, grid)
            trees[path] = (tree, _tree_curves(tree))
    places = {path: tree.places(test) for path, (tree, _) in trees.items()}
    for name, path, depth in _depths(paths):
        yield CurveForecast(name, trees[path][1], places[path][depth])
    if _pooled(paths):
        pool = fit_pool(train, POOL_BASE, paths, grid, trees=[trees[path][0] for path in paths])
        yield pooled_forecast(OURS, pool, test)
    else:
        tree, curves = trees[paths[-1]]
        yield CurveForecast(OURS, curves, tree.place(test))


def _tree_curves(tree: ForecastTree) -> Curves:
    levels = tree.shrinkage.hazards[: len(tree.keys) + 1]
    return cut_curves(tree.grid, np.concatenate(levels), tree.alpha)
