"""The law of pauses as decisions read it: how many return by then, and how long a hold to then lasts on average.

A sample is a staircase, a curve on a grid is straight between its points, and point masses are jumps in either: one
form holds all three. On each stretch the objectives of this package are straight or bend so that their best place is an
end of it, hence looking at the ends is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import UsageError

__all__ = ["PauseLaw", "law_of_curve", "law_of_durations"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PauseLaw:
    """P(T > t), straight between its points.

    Attributes
    ----------
    times : ndarray of float, shape (k,)
        Seconds, rising, the first 0; the places at which a hold may end best.
    survival : ndarray of float, shape (k,)
        P(T > t) at ``times``.
    before : ndarray of float, shape (k,)
        P(T >= t) at ``times``: what ``survival`` was just before a jump.
    held : ndarray of float, shape (k,)
        Integral of the survival from 0, seconds: how long a hold that ends there lasts on average.
    """

    times: Floats
    survival: Floats
    before: Floats
    held: Floats

    @property
    def last(self) -> float:
        """The last place about which something is known, seconds."""
        return float(self.times[-1])

    def survival_at(self, seconds: float) -> float:
        """Give P(T > seconds), up to the last place.

        Raises
        ------
        UsageError
            Negative, or beyond the last place with part of the pauses still under way: nothing is known there.
        """
        return self._at(seconds)[0]

    def held_at(self, seconds: float) -> float:
        """Give the mean seconds of a hold that ends at ``seconds``; errors as `survival_at`."""
        return self._at(seconds)[1]

    def _at(self, seconds: float) -> tuple[float, float]:
        if not seconds >= 0:
            raise UsageError(f"{seconds} s: give 0 or more seconds")
        if seconds >= self.last:
            if seconds > self.last and self.survival[-1] > 0:
                raise UsageError(f"{seconds:g} s: nothing is known of pauses beyond {self.last:g} s")
            return float(self.survival[-1]), float(self.held[-1])
        i = int(np.searchsorted(self.times, seconds, side="right")) - 1
        step = seconds - self.times[i]
        drop = (self.survival[i] - self.before[i + 1]) / (self.times[i + 1] - self.times[i])
        there = self.survival[i] - drop * step
        return float(there), float(self.held[i] + step * (self.survival[i] + there) / 2)

    def given(self, elapsed: float) -> PauseLaw:
        """Give the law of what is left of pauses that have lasted ``elapsed`` seconds.

        Raises
        ------
        UsageError
            No pause is known to last so long.

        Examples
        --------
        >>> left = law_of_durations([1.0, 2.0, 5.0, 9.0]).given(2.0)
        >>> left.times.tolist(), left.survival.tolist()
        ([0.0, 3.0, 7.0], [1.0, 0.5, 0.0])
        """
        share, held = self._at(elapsed)
        if share <= 0 or elapsed >= self.last:
            raise UsageError(f"elapsed {elapsed:g} s: no pause is known to last longer")
        later = self.times > elapsed
        return PauseLaw(
            np.append(0.0, self.times[later] - elapsed),
            np.append(1.0, self.survival[later] / share),
            np.append(1.0, self.before[later] / share),
            np.append(0.0, (self.held[later] - held) / share),
        )


def law_of_durations(durations: ArrayLike, weights: ArrayLike | None = None) -> PauseLaw:
    """Give the empirical law of durations, or of distinct values and how often each occurred.

    Parameters
    ----------
    durations : array_like of float, shape (n,)
        Seconds, 0 or more, in any order.
    weights : array_like of float, shape (n,), optional
        Counts or weights, 0 or more, not all 0; default 1 each.

    Raises
    ------
    UsageError
        No duration, a negative or not finite one, or weights that do not fit.

    Examples
    --------
    >>> law = law_of_durations([0.1, 0.2, 0.5, 1, 3, 30])
    >>> law.survival_at(0.5), round(law.held_at(1.0), 6)
    (0.5, 0.633333)
    """
    values = np.asarray(durations, dtype=np.float64).ravel()
    counts = np.ones(values.size) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if not values.size or not np.all(np.isfinite(values)) or values.min() < 0:
        raise UsageError("durations: give at least one, each of 0 or more finite seconds")
    if counts.size != values.size or not np.all(np.isfinite(counts)) or counts.min() < 0 or not counts.sum() > 0:
        raise UsageError("weights: give one of 0 or more per duration, not all 0")
    used = counts > 0
    times, place = np.unique(np.append(0.0, values[used]), return_inverse=True)
    mass = np.bincount(place, weights=np.append(0.0, counts[used]), minlength=times.size)
    # from the longest down, so that whole counts stay whole
    left = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
    total = left[0] + mass[0]
    return _law(times, left / total, (left + mass) / total)


def law_of_curve(
    times: ArrayLike, survival: ArrayLike, atoms: Sequence[tuple[float, float]] = (), *, at_zero: float = 1.0
) -> PauseLaw:
    """Give the law of a survival curve on a grid, whose drop between two points is even but for its point masses.

    Parameters
    ----------
    times : array_like of float, shape (k,)
        Seconds above 0, rising.
    survival : array_like of float, shape (k,)
        P(T > t) there, not rising, point masses included.
    atoms : sequence of (seconds, mass)
        Point masses; of a stretch no more than it drops. What lies beyond the last point is left out.
    at_zero : float
        P(T > 0).

    Raises
    ------
    UsageError
        Times that do not rise, or a survival that rises or leaves [0, 1].

    Examples
    --------
    >>> law = law_of_curve([10.0, 40.0], [0.8, 0.2], [(30.0, 0.5)])
    >>> law.times.tolist(), law.survival.round(3).tolist()
    ([0.0, 10.0, 30.0, 40.0], [1.0, 0.8, 0.233, 0.2])
    """
    grid = np.append(0.0, np.asarray(times, dtype=np.float64).ravel())
    curve = np.append(at_zero, np.asarray(survival, dtype=np.float64).ravel())
    if curve.size != grid.size or grid.size < 2:
        raise UsageError("curve: give as many values of the survival as times, at least one")
    if not np.all(np.isfinite(grid)) or np.any(np.diff(grid) <= 0):
        raise UsageError("curve: times must rise from above 0")
    if not np.all(np.isfinite(curve)) or np.any(np.diff(curve) > 0) or curve[0] > 1 or curve[-1] < 0:
        raise UsageError("curve: the survival must fall, or stay, within 1 and 0")
    at, mass = _fitting(grid, curve, atoms)
    drops = -np.diff(curve)
    cell = np.searchsorted(grid, at, side="left") - 1
    smooth = np.append(0.0, np.cumsum(drops - np.bincount(cell, weights=mass, minlength=drops.size)))
    points = np.union1d(grid, at)
    jump = np.zeros(points.size)
    np.add.at(jump, np.searchsorted(points, at), mass)
    after = curve[0] - np.interp(points, grid, smooth) - np.cumsum(jump)
    # within the ends of its stretch, which are as given and not as summed
    end = np.searchsorted(grid, points, side="left")
    start = np.maximum(end - 1, 0)
    after = np.where(grid[end] == points, curve[end], np.clip(after, curve[end], curve[start]))
    after = np.minimum.accumulate(after)
    # a jump never leads above what was there before
    before = np.minimum(after + jump, np.append(1.0, after[:-1]))
    return _law(points, after, before)


def _fitting(grid: Floats, curve: Floats, atoms: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Give place and mass of the atoms within the grid, of each stretch no more than it drops."""
    inside = sorted((at, mass) for at, mass in atoms if 0 < at <= grid[-1] and mass > 0)
    at = np.array([place for place, _ in inside])
    mass = np.array([size for _, size in inside])
    if not at.size:
        return at, mass
    cell = np.searchsorted(grid, at, side="left") - 1
    asked = np.bincount(cell, weights=mass, minlength=grid.size - 1)
    room = -np.diff(curve)
    part = np.minimum(1.0, np.divide(room, asked, out=np.ones_like(room), where=asked > 0))
    mass = mass * part[cell]
    return at[mass > _ROUNDING], mass[mass > _ROUNDING]


def _law(times: Floats, survival: Floats, before: Floats) -> PauseLaw:
    held = np.append(0.0, np.cumsum(np.diff(times) * (survival[:-1] + before[1:]) / 2))
    return PauseLaw(times, survival, before, held)
