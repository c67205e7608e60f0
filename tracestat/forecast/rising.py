"""Sums of ln Gamma(kappa p + n)/Gamma(kappa p) over many entries, for one kappa after another.

The likelihood of a precision is made of three such sums. Small counts come in hundreds of thousands, and what each
one adds is smooth in ln p and in n: their weights are dealt to the nodes of a fixed grid by Lagrange polynomials of
third degree, once, and every kappa then costs as much as the grid has nodes. Polynomials in n come through unchanged,
so what the three sums have in common still cancels for a large kappa. Whole counts need no grid in n, and no Gamma:
theirs are sums of ln(kappa p + i), i < n. Large counts are few and are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["RisingSum"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Part = tuple[Array | None, Array, float]
_LARGE = 300
_RATIO = 1.05  # of neighbouring nodes by n
_PER_E = 32  # nodes by ln p
_NONE = 1e-9  # a difference of fractional counts that should be 0 may not be
_WORTH = 20_000  # counts of all parts; fewer are summed as they are
_BLOCK = 8192  # entries at a time, so that the work stays in the processor's cache
_LINE = (-1.0, 0.0, 1.0, 2.0)
_POWERS = (1 / _RATIO, 1.0, _RATIO, _RATIO**2)


class RisingSum:
    """``sum_i w_i [ln Gamma(kappa p_i + n_i) - ln Gamma(kappa p_i)]`` as a function of kappa.

    Parameters
    ----------
    parts : sequence of (ndarray or None, ndarray, float)
        p in (0, 1], None for 1 everywhere, and n, not negative, both of shape (N,); then the weight of the part.
    worth : int
        With fewer counts in all, nothing is put on a grid.

    Examples
    --------
    >>> total = RisingSum([(np.array([0.5]), np.array([2.0]), 1.0)])
    >>> round(total(4.0), 9) == round(float(np.log(2 * 3)), 9)
    True
    """

    def __init__(self, parts: Sequence[Part], *, worth: int = _WORTH) -> None:
        limit = _LARGE if sum(n.size for _, n, _ in parts) >= worth else 0
        large, whole, other = [], [], []
        for part in parts:
            n = np.where(part[1] < _NONE, 0.0, part[1])
            is_small, is_whole = n <= limit, n == np.rint(n)
            large.append(_where(part, ~is_small))
            whole.append(_where(part, is_small & is_whole & (n > 0)))
            other.append(_where(part, is_small & ~is_whole))
        self._p = np.concatenate([np.ones(n.size) if p is None else p for p, n, _ in large])
        self._n = np.concatenate([n for _, n, _ in large])
        self._weight = np.concatenate([np.full(n.size, weight) for _, n, weight in large])
        self._whole = _whole_grid(whole)
        self._grid = _grid(other)

    def __call__(self, kappa: float) -> float:
        """Give the sum for one kappa."""
        a = kappa * self._p
        total = float(np.sum(self._weight * (gammaln(a + self._n) - gammaln(a))))
        p, n, weight = self._whole
        total += float(np.sum(weight * np.log(kappa * p + n)))
        p, n, weight = self._grid
        a = kappa * p
        return total + float(np.sum(weight * (gammaln(a + n) - gammaln(a))))


def _where(part: Part, mask: NDArray[np.bool_]) -> Part:
    p, n, weight = part
    return (None if p is None else p[mask]), n[mask], weight


def _first_column(parts: Sequence[Part]) -> int:
    least = min((float(p.min(initial=1.0)) for p, _, _ in parts if p is not None), default=1.0)
    return int(np.floor(np.log(least) * _PER_E)) - 1


def _blocks(parts: Sequence[Part], first: int) -> Iterator[tuple[Places, Array, Array]]:
    """Give block by block the columns of the nodes by ln p and their weights, shape (4, n) or (1, n), and the n."""
    step = np.arange(4)[:, None]
    for p, n, weight in parts:
        for start in range(0, n.size, _BLOCK):
            block = n[start : start + _BLOCK]
            if p is None:
                yield np.full((1, block.size), -first), np.full((1, block.size), weight), block
                continue
            u = np.log(p[start : start + _BLOCK]) * _PER_E
            below = np.minimum(np.floor(u), -1.0)
            yield below.astype(np.intp) - (first + 1) + step, weight * _lagrange(u - below, _LINE), block


def _whole_grid(parts: Sequence[Part]) -> tuple[Array, Array, Array]:
    """Give p, i and weight of the terms ln(kappa p + i) that whole counts come to."""
    first = _first_column(parts)
    width = 2 - first
    most = max(float(n.max(initial=0.0)) for _, n, _ in parts)
    table = np.zeros((int(most) + 1) * width)
    for column, weights, n in _blocks(parts, first):
        place = n.astype(np.intp) * width + column
        table += np.bincount(place.ravel(), weights=weights.ravel(), minlength=table.size)
    # a count of n has the terms 0 to n - 1
    terms = table.reshape(-1, width)[::-1].cumsum(axis=0)[::-1][1:]
    i, column = np.nonzero(terms)
    return np.exp((column + first) / _PER_E), i.astype(np.float64), terms[i, column]


def _grid(parts: Sequence[Part]) -> tuple[Array, Array, Array]:
    """Give p, n and weight of the nodes that counts of any kind are dealt to."""
    least = min(float(n.min(initial=_LARGE)) for _, n, _ in parts)
    first = _first_column(parts)
    width = 2 - first
    most = max(float(n.max(initial=least)) for _, n, _ in parts)
    table = np.zeros((int(np.log(most / least) / np.log(_RATIO)) + 5) * width)
    step = np.arange(4)[:, None, None] * width
    for column, weights, n in _blocks(parts, first):
        power = np.floor(np.log(n / least) / np.log(_RATIO))
        by_n = _lagrange(n / (least * _RATIO**power), _POWERS)
        place = power.astype(np.intp) * width + column + step
        both = by_n[:, None, :] * weights
        table += np.bincount(place.ravel(), weights=both.ravel(), minlength=table.size)
    used = np.flatnonzero(table)
    nodes: Array = least * np.power(_RATIO, used // width - 1.0)
    return np.exp((used % width + first) / _PER_E), nodes, table[used]


def _lagrange(t: Array, nodes: tuple[float, float, float, float]) -> Array:
    """Give the weights of four nodes for points t, shape (4, N): exact for polynomials of third degree."""
    a, b, c, d = (t - node for node in nodes)
    low, high = a * b, c * d
    na, nb, nc, nd = nodes
    return np.stack(
        [
            b * high / ((na - nb) * (na - nc) * (na - nd)),
            a * high / ((nb - na) * (nb - nc) * (nb - nd)),
            low * d / ((nc - na) * (nc - nb) * (nc - nd)),
            low * c / ((nd - na) * (nd - nb) * (nd - nc)),
        ]
    )
