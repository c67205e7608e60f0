"""Curves of nested keys, shrunk towards what the keys beside them have in common, with the weight of their own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.forecast_rows import coded, provider_grid
from tracestat.durations import Unit
from tracestat.forecast.counts import count_exits
from tracestat.forecast.curves import curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.nesting import nest
from tracestat.forecast.own_weight import own_weights
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.tree import fit_tree
from tracestat.results.key_laws import LAW_GRID, LEVELS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Shrunk", "shrunk_curves"]

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """P(T > t) of one key on ``LAW_GRID``, weight of its own rows, the level that carries half of it, its tail.

    Weight 0 with the curve of the key above, where nothing tells the keys of a level apart.
    """

    curve: tuple[float, ...]
    weight: float
    level: int
    alpha: float


def shrunk_curves(frame: pl.DataFrame, unit: Unit) -> dict[Key, Shrunk]:
    """Shrink the curves of every key of every level, each provider by itself.

    Parameters
    ----------
    frame : polars.DataFrame
        A row per duration, as `tracestat.durations.key_laws.key_rows` gives it.
    unit : {"pause", "call", "command"}
        The bins of pauses and calls have windows at the known deadlines of the provider; commands outlive those.

    Returns
    -------
    dict of tuple to Shrunk
        By the values of the first of ``LEVELS``, of the first two, and so on.
    """
    made: dict[Key, Shrunk] = {}
    for (provider,), part in frame.partition_by("provider", maintain_order=True, as_dict=True).items():
        made |= _of_provider(provider, part, unit)
    return made


def _of_provider(provider: str | None, frame: pl.DataFrame, unit: Unit) -> dict[Key, Shrunk]:
    pairs = {name: coded(frame[name]) for name in LEVELS[1:]}
    rows = PauseRows(
        {name: codes for name, (codes, _) in pairs.items()},
        {name: names for name, (_, names) in pairs.items()},
        session=coded(frame["session_pk"])[0].astype(np.intp),
        developer=coded(frame["developer_id"])[0].astype(np.intp),
        started=np.zeros(frame.height),  # what came before plays no part
        seconds=frame["seconds"].to_numpy(),
        observed=frame["observed"].to_numpy(),
    )
    grid = provider_grid(provider or "", () if unit == "command" else None)
    keys: list[Key] = [(provider,)]
    made = dict(zip(keys, _lowest(rows, (), grid), strict=True))
    # a tree per level: only its lowest keys have curves of their own rows, those above say what keys have in common
    for depth, name in enumerate(LEVELS[1:], start=1):
        path = LEVELS[1 : depth + 1]
        nesting, _ = nest([rows.codes[each] for each in path])
        level = nesting.levels[-1]
        keys = [
            (*keys[parent], rows.names[name][code])
            for parent, code in zip(level.parents.tolist(), level.codes.tolist(), strict=True)
        ]
        found = _lowest(rows, path, grid)
        made |= zip(keys, found, strict=True) if found else {key: replace(made[key[:-1]], weight=0.0) for key in keys}
    return made


def _lowest(rows: PauseRows, path: Sequence[str], grid: Grid) -> list[Shrunk]:
    """Shrink the curves of the keys at the end of a path, in the order of their nesting; none where all are alike."""
    tree = fit_tree(rows, path, grid)
    if path and tree.shrinkage.kappas[len(path) - 1].alike:
        return []
    size = tree.nesting.levels[-1].size if path else 1
    node = tree.place(rows) - tree.starts[-1]
    own = count_exits(node, size, grid.place(rows.seconds), grid.n_bins, rows.observed, np.ones(rows.size))
    found = own_weights(tree, own)
    curves = curves_of(grid, found.hazards, tree.alpha)
    nodes, times = np.meshgrid(np.arange(size), LAW_GRID, indexing="ij")
    survival = np.exp(curves.log_survival_at(nodes.ravel(), times.ravel())).reshape(nodes.shape)
    return [
        Shrunk(tuple(curve), weight, used, tree.alpha)
        for curve, weight, used in zip(survival.tolist(), found.weight.tolist(), found.used.tolist(), strict=True)
    ]
