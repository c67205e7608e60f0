"""How the rounds of a session are divided into requests."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.results.profile import Band
from tracestat.synth.from_profile_chain import Quantiles, banded

__all__ = ["RequestSizes"]

Floats = NDArray[np.float64]
_POINTS: Final = 4_000  # at which a grid of quantiles is turned into a law of whole numbers
_LONGEST: Final = 100_000
_LARGEST: Final = 4_000_000  # rounds times requests up to which sizes are drawn given their sum


class RequestSizes:
    """Draws how many requests a session has, and their sizes: independent, but that they add up to its rounds.

    With p the law of a size and P_r its r-fold convolution, the first of r requests with n rounds in all has k rounds
    with probability p(k) P_{r-1}(n - k) / P_r(n), and so on with what is left.

    Parameters
    ----------
    numbers : sequence of Band
        Quantiles of the number of requests, by the rounds of the session.
    sizes : sequence of Band
        Quantiles of the rounds of a request, by their mean in the session.
    levels : sequence of float
    """

    def __init__(self, numbers: Sequence[Band], sizes: Sequence[Band], levels: Sequence[float]) -> None:
        self._number = banded(numbers, levels)
        self._ends = [band.to for band in sizes if band.to is not None]
        self._laws = [_law(Quantiles(band.grid, levels)) for band in sizes] or [np.array([0.0, 1.0])]
        self._sums: dict[tuple[int, int], list[Floats]] = {}

    def draw(self, rounds: int, u: Callable[[], float]) -> list[int]:
        """Draw the sizes of the requests of a session.

        Parameters
        ----------
        rounds : int
            At least 1.
        u : callable
            Gives uniform numbers.

        Returns
        -------
        list of int
            At least 1 each, their sum is `rounds`.
        """
        quantiles = self._number(rounds)
        number = min(max(round(quantiles.draw(u())), 1), rounds) if quantiles else 1
        band = min(bisect_left(self._ends, rounds / number), len(self._laws) - 1)
        sums = self._convolved(band, rounds, number) if rounds * number <= _LARGEST else None
        out: list[int] = []
        left = rounds
        for more in range(number - 1, 0, -1):  # requests after this one, of one round at least
            size = left // (more + 1) if sums is None else self._size(self._laws[band], sums[more], left, u())
            out.append(min(max(size, 1), left - more))
            left -= out[-1]
        return [*out, left]

    @staticmethod
    def _size(law: Floats, others: Floats, left: int, u: float) -> int:
        most = min(left, len(law) - 1)
        weights = law[1 : most + 1] * others[left - most : left][::-1]
        total = weights.sum()
        if total <= 0:  # no such sizes add up to this
            return 1
        return 1 + bisect_right((np.cumsum(weights) / total).tolist()[:-1], u)

    def _convolved(self, band: int, rounds: int, number: int) -> list[Floats]:
        """Give the laws of the sum of 0, 1, 2 ... sizes, scaled to a maximum of 1."""
        length = 1 << (rounds + 1).bit_length()
        sums = self._sums.setdefault((band, length), [np.eye(1, length)[0]])
        while len(sums) < number:
            more = np.convolve(sums[-1], self._laws[band][:length])[:length]
            most = more.max()
            sums.append(more / most if most > 0 else more)
        return sums


def _law(quantiles: Quantiles) -> Floats:
    """Give the probability of each whole number, from 0 on."""
    if not quantiles:
        return np.array([0.0, 1.0])
    drawn = [min(max(round(quantiles.draw((i + 0.5) / _POINTS)), 1), _LONGEST) for i in range(_POINTS)]
    return np.bincount(drawn).astype(np.float64) / _POINTS
