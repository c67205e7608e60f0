"""Which state follows which, given how many rounds a request has: a first-order chain that ends where it must."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.results.profile import Band, Chain, Grid

__all__ = ["Quantiles", "StateChain", "banded"]

Floats = NDArray[np.float64]
_ENDS: Final = ("start", "message", "end")


class Quantiles:
    """Draws from a quantile grid, even between two levels on a logarithmic scale that knows signs and 0.

    Parameters
    ----------
    grid : Grid
    levels : sequence of float
    """

    def __init__(self, grid: Grid, levels: Sequence[float]) -> None:
        self._levels = list(levels)
        self._values = list(grid.values)
        self._scaled: list[float] = np.arcsinh(np.array(grid.values)).tolist()

    def __bool__(self) -> bool:
        """Tell whether there is anything to draw from."""
        return bool(self._values)

    def draw(self, u: float) -> float:
        """Draw by a uniform number in [0, 1).

        Examples
        --------
        >>> Quantiles(Grid(3, [2.0, 2.0, 8.0]), [0.0, 0.5, 1.0]).draw(0.25)
        2.0
        """
        i = min(bisect_right(self._levels, u), len(self._levels) - 1)
        low, high = self._values[i - 1], self._values[i]
        if low == high:
            return low
        part = (u - self._levels[i - 1]) / (self._levels[i] - self._levels[i - 1])
        return float(np.sinh(self._scaled[i - 1] + part * (self._scaled[i] - self._scaled[i - 1])))


def banded(bands: Sequence[Band], levels: Sequence[float]) -> Callable[[float], Quantiles]:
    """Give the function that finds the quantiles for a value of what the bands are of: the first band that holds it.

    Bands without values are not in a profile: then the next higher one serves, above the last the last.
    """
    ends = [band.to for band in bands]
    all_quantiles = [Quantiles(band.grid, levels) for band in bands]
    finite = [end for end in ends if end is not None]

    def find(value: float) -> Quantiles:
        if not all_quantiles:
            return Quantiles(Grid(0, []), levels)
        place = next((i for i, end in enumerate(finite) if value <= end), len(finite))
        return all_quantiles[min(place, len(all_quantiles) - 1)]

    return find


class StateChain:
    """Draws the states of one request of a given number of rounds, by the recorded transitions.

    The path is drawn from the chain's law given that the request is over after exactly so many rounds, and not before
    (weights backward from the end, then forward).

    Parameters
    ----------
    chain : Chain
    """

    def __init__(self, chain: Chain) -> None:
        counts = np.array(chain.counts, dtype=np.float64)
        place = {name: i for i, name in enumerate(chain.states)}
        self.states = [name for name in chain.states if name not in _ENDS]
        own = [place[name] for name in self.states]
        inner = counts[np.ix_(own, own)]
        row = inner.sum(axis=1) + counts[own, place["message"]] + counts[own, place["end"]]
        row[row == 0] = 1.0
        self._inner = inner / row[:, None]
        self._first = {name: counts[place[name], own] for name in ("start", "message")}
        if not self._first["message"].any():
            self._first["message"] = self._first["start"]
        self._over = {name: counts[own, place[name]] / row for name in ("message", "end")}
        if not self._over["message"].any():
            self._over["message"] = self._over["end"]
        if not self._over["end"].any():
            self._over["end"] = self._over["message"]
        self._back: dict[str, list[Floats]] = {name: [_scaled(over)] for name, over in self._over.items()}
        self._steps: dict[tuple[str, int, int], list[float]] = {}

    def draw(self, rounds: int, begin: str, end: str, u: Callable[[], float]) -> list[str]:
        """Draw the states of one request.

        Parameters
        ----------
        rounds : int
            At least 1.
        begin : {"start", "message"}
        end : {"message", "end"}
        u : callable
            Gives uniform numbers.
        """
        back = self._back[end]
        while len(back) < rounds:
            back.append(_scaled(self._inner @ back[-1]))
        at = _choose((self._first[begin] * back[rounds - 1]), self._first[begin], u())
        path = [at]
        for left in range(rounds - 2, -1, -1):
            step = (end, left, at)
            if step not in self._steps:
                self._steps[step] = _sums(self._inner[at] * back[left], self._inner[at])
            at = bisect_right(self._steps[step], u())
            path.append(at)
        return [self.states[i] for i in path]


def _scaled(weights: Floats) -> Floats:
    """Keep weights in the range of floats; what cannot happen at all is treated as equally likely."""
    most = weights.max(initial=0.0)
    return weights / most if most > 0 else np.ones_like(weights)


def _sums(weights: Floats, otherwise: Floats) -> list[float]:
    for some in (weights, otherwise, np.ones_like(weights)):
        total = some.sum()
        if total > 0:
            sums: list[float] = (np.cumsum(some) / total).tolist()
            return sums[:-1]
    return []


def _choose(weights: Floats, otherwise: Floats, u: float) -> int:
    return bisect_right(_sums(weights, otherwise), u)
