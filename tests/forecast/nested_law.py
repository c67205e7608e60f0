"""Pauses whose hazards are nested beta draws, as the shrinkage of a forecast supposes, with known precisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.forecast.drawn_rows import rows_with
from tracestat.forecast.curves import curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.rows import PauseRows

Array = NDArray[np.float64]
KEYS = ("class", "developer")
GRID = Grid(np.concatenate([[0.0], np.geomspace(0.1, 200.0, 9)]))


@dataclass(frozen=True)
class NestedLaw:
    """True hazards, of shape (classes, J) and (classes, developers, J)."""

    classes: Array
    developers: Array


def draw_law(
    rng: np.random.Generator, n_classes: int, n_developers: int, class_kappa: float, kappa: float
) -> NestedLaw:
    """Draw classes around a root, and in each class developers around it."""
    root = np.linspace(0.35, 0.15, GRID.n_bins)
    classes = _around(rng, np.broadcast_to(root, (n_classes, root.size)), class_kappa)
    above = np.broadcast_to(classes[:, None, :], (n_classes, n_developers, root.size))
    return NestedLaw(classes, _around(rng, above, kappa))


def _around(rng: np.random.Generator, mean: Array, kappa: float) -> Array:
    q = np.clip(mean, 1e-3, 1 - 1e-3)
    return rng.beta(kappa * q, kappa * (1 - q))


def law_of(hazards: Array) -> Array:
    """Give the probability of each bin, the open one last."""
    lasting = np.concatenate([np.ones((*hazards.shape[:-1], 1)), np.cumprod(1 - hazards, axis=-1)], axis=-1)
    ends = np.concatenate([hazards, np.ones((*hazards.shape[:-1], 1))], axis=-1)
    return np.asarray(lasting * ends)


def draw_rows(rng: np.random.Generator, law: NestedLaw, n: NDArray[np.int64]) -> PauseRows:
    """Draw n pauses of each class and developer, shape (classes, developers), each in a session of its own."""
    what, who = np.indices(n.shape)
    what, who = np.repeat(what.ravel(), n.ravel()), np.repeat(who.ravel(), n.ravel())
    # the law of a bin goes on inside it as the curves of a forecast do
    place = what * n.shape[1] + who
    true = curves_of(GRID, law.developers.reshape(-1, GRID.n_bins), 1.0)
    seconds = true.quantile(place, rng.random(place.size))
    return rows_with({"class": what, "developer": who}, np.arange(what.size), seconds)
