"""A synthetic trace beside the laws it was drawn from: curves that should be found, and pauses to be covered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.forecasts import CurveForecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.tree import ForecastTree

Array = NDArray[np.float64]
Truth = Mapping[str, Any]
LEVELS = (0.1, 0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class KnownCurve:
    """One key's survival at edges of the grid, as fitted and as it is."""

    name: tuple[str, str | None, str]
    n: int
    fitted: Array
    true: Array

    def distance(self) -> Array:
        """Give (fitted - true) in standard errors of a share of n."""
        return (self.fitted - self.true) / np.sqrt(self.true * (1 - self.true) / self.n)


def single_calls(rows: PauseRows) -> PauseRows:
    """Give the rounds with one call: only for them the truth names a law."""
    return rows.take(rows.codes["n_calls"] == rows.names["n_calls"].index("1"))


def known_curves(
    tree: ForecastTree, rows: PauseRows, truth: Truth, provider: str, least: int, until: float
) -> Iterator[KnownCurve]:
    """Give the curves of (tool, skeleton, developer) with at least so many rows, from 0.05 s to ``until``.

    ``tree`` has these three keys. The hazard of a tool is ``z exp(log_a) t^slope`` from t0 on, z being the effect of
    the developer, times that of the skeleton where the tool has one.
    """
    laws = {law["tool"]: law for law in truth["laws"] if law["provider"] == provider}
    effects = {e["kind"]: e["values"] for e in truth["effects"] if e["provider"] in (provider, None)}
    place = tree.place(rows)
    places, first, n = np.unique(place, return_index=True, return_counts=True)
    edges = tree.grid.edges
    used = np.flatnonzero((edges >= 0.05) & (edges <= until))
    log_survival = tree.curves().log_survival
    for curve, row, count in zip(places, first, n, strict=True):
        tool, skeleton, developer = (rows.names[key][rows.codes[key][row]] for key in tree.keys)
        law = laws.get(tool)
        if count < least or law is None or (law["by_skeleton"] and skeleton not in effects["skeleton"]):
            continue
        z = effects["developer"][developer] * (effects["skeleton"][skeleton] if law["by_skeleton"] else 1.0)
        power = 1 + law["slope"]
        total = z * np.exp(law["log_a"]) / power * np.maximum(edges[used] ** power - law["t0"] ** power, 0)
        true = np.exp(-total)
        # a share near 0 or 1 is not normal
        some = count * true * (1 - true) > 5
        if some.any():
            yield KnownCurve(
                (tool, skeleton, developer), int(count), np.exp(log_survival[curve, used[some]]), true[some]
            )


def coverage_with_error(forecast: CurveForecast, rows: PauseRows) -> tuple[Array, Array]:
    """Give the share of the rows whose PIT is at most each of `LEVELS`, and its standard error by developer."""
    seen = rows.take(rows.observed)
    below = -np.expm1(forecast.curves.log_survival_at(forecast.place[rows.observed], seen.seconds))
    inside = below[:, None] <= np.array(LEVELS)
    share = inside.mean(axis=0)
    who, developer = np.unique(seen.developer, return_inverse=True)
    off = np.stack([np.bincount(developer, weights=column) for column in (inside - share).T], axis=1)
    return share, np.sqrt((off**2).sum(axis=0) * who.size / (who.size - 1)) / seen.size
