"""Curves of nested keys, each shrunk towards the one above it, as a forecast does; with the weight of its own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.forecast_rows import coded, provider_grid
from tracestat.durations import Unit
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
    """P(T > t) of one key on ``LAW_GRID``, weight of its own rows, the level that carries half of it, its tail."""

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
    path = LEVELS[1:]
    pairs = {name: coded(frame[name]) for name in path}
    rows = PauseRows(
        {name: codes for name, (codes, _) in pairs.items()},
        {name: names for name, (_, names) in pairs.items()},
        session=coded(frame["session_pk"])[0].astype(np.intp),
        developer=coded(frame["developer_id"])[0].astype(np.intp),
        started=np.zeros(frame.height),  # what came before plays no part
        seconds=frame["seconds"].to_numpy(),
        observed=frame["observed"].to_numpy(),
    )
    tree = fit_tree(rows, path, provider_grid(provider or "", () if unit == "command" else None))
    curves, weights = tree.curves(), own_weights(tree)
    nodes, times = np.meshgrid(np.arange(curves.size), LAW_GRID, indexing="ij")
    survival = np.exp(curves.log_survival_at(nodes.ravel(), times.ravel())).reshape(nodes.shape)
    keys: list[Key] = [(provider,)]
    above = [(provider,)]
    for name, level in zip(path, tree.nesting.levels, strict=True):
        above = [
            (*above[parent], rows.names[name][code])
            for parent, code in zip(level.parents.tolist(), level.codes.tolist(), strict=True)
        ]
        keys += above
    return {
        key: Shrunk(tuple(survival[i].tolist()), float(weights.weight[i]), int(weights.used[i]), tree.alpha)
        for i, key in enumerate(keys)
    }
