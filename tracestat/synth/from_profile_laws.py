"""Pauses of a profile's keys, drawn by the inverse of their survival; point masses sit where the profile puts them.

A key with a curve of its own rows is drawn from it. Keys too rare for one share what remains of the key above them
when those with a curve are taken out, so that all keys together have the law of the key above. Where that has no curve
of its own rows either, its shrunk one stands for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.results.profile import Profile, ProfileKey

__all__ = ["MOST_MS", "Drawn", "KeyDraws", "Law", "law_of"]

MOST_MS: Final = 30 * 86_400e3
"""No pause is drawn longer than 30 days."""
_LEVELS: Final = ("provider", "tool_class", "tool", "command_skeleton")
_TINY: Final = 1e-9
_BELOW_1: Final = 1.0 - 1e-12
_SLICES: Final = 2_000
_FEW_SLICES: Final = 4

Floats = NDArray[np.float64]
Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One pause: milliseconds, how it ended (None: by itself), and whether it lies beyond what was observed."""

    ms: float
    kind: str | None
    beyond: bool


class Law:
    """Cells of probability between two times each, point masses, and a tail.

    Parameters
    ----------
    times : sequence of float
        Ends of the cells, milliseconds, rising; the first cell begins at 0.
    masses : sequence of float
        Probability within each, point masses taken out.
    atoms : sequence of (float, float, str)
        Time, mass, kind.
    beyond : float
        Probability beyond the last time.
    alpha : float or None
        Exponent of the Pareto tail there; None puts that mass at the last time.
    """

    def __init__(
        self,
        times: Sequence[float],
        masses: Sequence[float],
        atoms: Sequence[tuple[float, float, str]],
        beyond: float,
        alpha: float | None,
    ) -> None:
        self._low = [0.0, *times[:-1]]
        self._high = list(times)
        self._atoms = list(atoms)
        self._alpha = alpha
        weights = [*masses, *(mass for _, mass, _ in atoms), beyond]
        total = sum(weights)
        # a curve that never falls has all its mass beyond its last time
        self._sums = [x / total if total > 0 else 0.0 for x in accumulate(weights)][:-1]
        self._starts = [0.0, *self._sums]
        self._sums_to = [*self._sums, 1.0]

    def draw(self, u: float) -> Drawn:
        """Draw by a uniform number in [0, 1).

        Examples
        --------
        >>> Law([1.0, 10.0], [0.0, 0.5], [(5000.0, 0.5, "deadline")], 0.0, None).draw(0.75)
        Drawn(ms=5000.0, kind='deadline', beyond=False)
        """
        cell = bisect_right(self._sums, u)
        n = len(self._high)
        if n <= cell < n + len(self._atoms):
            at, _, kind = self._atoms[cell - n]
            return Drawn(at, kind, False)
        width = self._sums_to[cell] - self._starts[cell]
        part = (u - self._starts[cell]) / width if width > 0 else 0.0
        if cell < n:
            low, high = self._low[cell], self._high[cell]
            # even in the logarithm; the first cell, from 0, is even
            return Drawn(low * (high / low) ** part if low > 0 else high * part, None, False)
        last = self._high[-1]
        if self._alpha is None:
            return Drawn(last, None, True)
        exponent = min(-np.log1p(-part) / self._alpha, 50.0)
        return Drawn(min(last * float(np.exp(exponent)), max(MOST_MS, last)), None, True)


def law_of(
    curve: Curve,
    atoms: Sequence[tuple[float, float, str]],
    *,
    last_ms: float,
    censored: float,
    alpha: float | None,
) -> Law:
    """Make a law of a whole survival curve: point masses are taken out where the curve falls for them.

    An atom at time a is what the curve loses from the cell that holds a on: a result is logged a little later than its
    limit. Of what is left at the last point, `censored` lies beyond the last observed time, and the rest before it.

    Parameters
    ----------
    curve : sequence of (float, float)
        Milliseconds and P(T > t), point masses included.
    atoms : sequence of (float, float, str)
    last_ms : float
        The longest observed time.
    censored : float
        Share of the rows whose end was not seen.
    alpha : float or None

    Returns
    -------
    Law

    Examples
    --------
    >>> law = law_of([(1.0, 1.0), (10.0, 0.0)], [], last_ms=10.0, censored=0.0, alpha=None)
    >>> round(law.draw(0.5).ms, 3)
    3.162
    """
    times = [t for t, _ in curve]
    left = [1.0, *(s for _, s in curve)]
    if last_ms > times[-1]:
        times.append(last_ms)
        left.append(left[-1] * censored)
    drops = [max(a - b, 0.0) for a, b in pairwise(left)]
    kept: list[tuple[float, float, str]] = []
    for at, mass, kind in sorted(atoms):
        rest, cell = mass, min(bisect_right(times, at * (1 - _TINY)), len(drops) - 1)
        while rest > _TINY and cell < len(drops):
            taken = min(rest, drops[cell])
            drops[cell] -= taken
            rest -= taken
            cell += 1
        if mass - rest > _TINY:
            kept.append((at, mass - rest, kind))
    return Law(times, drops, kept, left[-1], alpha)


@dataclass(frozen=True, slots=True)
class _Leaf:
    tool: str | None
    skeleton: str | None
    law: Law


@dataclass(frozen=True, slots=True)
class _Slice:
    """The part of a key's law from `begin` on, so much of it."""

    leaf: _Leaf
    begin: float
    width: float


def _sliced(leaves: Sequence[tuple[int, _Leaf]]) -> tuple[list[float], list[_Slice]]:
    """Cut the laws of keys into slices and order these by their pause: one number then draws both key and pause.

    Gives the cumulative shares of the slices, and them.
    """
    total = sum(n for n, _ in leaves)
    found: list[tuple[float, float, _Slice]] = []
    for n, leaf in leaves:
        pieces = max(round(_SLICES * n / total), _FEW_SLICES)
        for k in range(pieces):
            middle = leaf.law.draw((k + 0.5) / pieces).ms
            found.append((middle, n / total / pieces, _Slice(leaf, k / pieces, 1.0 / pieces)))
    found.sort(key=lambda of: of[0])
    return list(accumulate(share for _, share, _ in found)), [of for _, _, of in found]


class KeyDraws:
    """Draws key and pause of a tool class of a provider.

    Parameters
    ----------
    profile : Profile

    Attributes
    ----------
    lawless : set of str
        Provider and tool class of what was drawn without a law: 1 ms at most.
    """

    def __init__(self, profile: Profile) -> None:
        self.lawless: set[str] = set()
        self._nodes: dict[tuple[str | None, ...], ProfileKey] = {}
        self._below: dict[tuple[str | None, ...], list[tuple[str | None, ...]]] = {}
        for key in profile.keys:
            depth = _LEVELS.index(key.level) + 1 if key.level in _LEVELS else 0
            place = tuple(key.key.get(name) for name in _LEVELS[:depth])
            self._nodes[place] = key
            self._below.setdefault(place[:-1], []).append(place)
        self._classes: dict[tuple[str, str | None], tuple[list[float], list[_Slice]]] = {}

    def draw(self, provider: str, tool_class: str | None, u: float) -> tuple[str | None, str | None, Drawn]:
        """Give tool, command skeleton and pause.

        Parameters
        ----------
        provider : str
        tool_class : str or None
        u : float
            A uniform number: the higher, the longer the pause, whichever the key.
        """
        place = (provider, tool_class)
        if place not in self._classes:
            self._classes[place] = _sliced(self._leaves(place))
        sums, slices = self._classes[place]
        i = bisect_right(sums, u, hi=len(slices) - 1)
        begin = sums[i - 1] if i else 0.0
        of = slices[i]
        part = min(max((u - begin) / (sums[i] - begin), 0.0), 1.0) if sums[i] > begin else 0.0
        pause = of.leaf.law.draw(min(of.begin + part * of.width, _BELOW_1))
        return of.leaf.tool, of.leaf.skeleton, pause

    def _leaves(self, place: tuple[str | None, ...]) -> list[tuple[int, _Leaf]]:
        node = self._nodes.get(place)
        if node is None:  # calls without a pause that has a law, as those that were refused
            self.lawless.add(" ".join(name or "unknown" for name in place))
            return [(1, _Leaf(None, None, Law([1.0], [1.0], [], 0.0, None)))]
        return self._below_node(place, self._own(node) or self._shrunk(node))

    def _below_node(self, place: tuple[str | None, ...], law: Law) -> list[tuple[int, _Leaf]]:
        """Give the leaves under a node; `law` is for the node itself, and for what is below it without a curve."""
        node = self._nodes[place]
        children = [self._nodes[p] for p in self._below.get(place, [])]
        if len(place) == len(_LEVELS) or not children:
            tool, skeleton = ([*place, None, None, None, None][i] for i in (2, 3))
            return [(max(node.n, 1), _Leaf(tool, skeleton, law))]
        rest = law
        if node.own_survival:
            rest = self._rest(node, [child for child in children if child.own_survival]) or law
        out: list[tuple[int, _Leaf]] = []
        for p, child in zip(self._below[place], children, strict=True):
            out += self._below_node(p, self._own(child) or rest)
        return out

    @staticmethod
    def _own(key: ProfileKey) -> Law | None:
        if not key.own_survival or key.n == 0:
            return None
        share = key.n_censored / key.n
        return law_of(key.own_survival, key.atoms, last_ms=key.last_support_ms, censored=share, alpha=key.tail.alpha)

    @staticmethod
    def _shrunk(key: ProfileKey) -> Law:
        if not key.survival:
            return Law([max(key.last_support_ms, 1.0)], [1.0], [], 0.0, None)
        last = key.survival[-1][0]
        return law_of(key.survival, key.atoms, last_ms=last, censored=1.0, alpha=key.tail.alpha)

    @staticmethod
    def _rest(node: ProfileKey, known: Sequence[ProfileKey]) -> Law | None:
        """Give the law of what is below a node, but for the children that have a curve."""
        n = node.n - sum(child.n for child in known)
        if n <= 0:
            return None
        times = np.array([t for t, _ in node.own_survival])
        left = node.n * np.array([s for _, s in node.own_survival])
        masses = {(at, kind): node.n * mass for at, mass, kind in node.atoms}
        for child in known:
            left = left - child.n * _at(child, times)
            for at, mass, kind in child.atoms:
                masses[at, kind] = masses.get((at, kind), 0.0) - child.n * mass
        # counting errors of censored rows are smoothed away: a share, never rising
        curve = np.minimum.accumulate(np.clip(left / n, 0.0, 1.0))
        atoms = [(at, mass / n, kind) for (at, kind), mass in sorted(masses.items()) if mass / n > 1e-6]
        points = list(zip(times.tolist(), curve.tolist(), strict=True))
        share = node.n_censored / node.n
        return law_of(points, atoms, last_ms=node.last_support_ms, censored=share, alpha=node.tail.alpha)


def _at(key: ProfileKey, times: Floats) -> Floats:
    """Give the survival of a key at given times; beyond its last point what its censored rows leave."""
    own, s = (np.array(part) for part in zip(*key.own_survival, strict=True))
    found = np.interp(np.log(np.maximum(times, 1e-3)), np.log(np.maximum(own, 1e-3)), s, left=1.0)
    beyond = float(s[-1]) * key.n_censored / max(key.n, 1)
    return np.asarray(np.where(times >= key.last_support_ms, beyond, found), dtype=np.float64)
