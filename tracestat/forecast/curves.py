"""Survival curves on one grid: ln S is linear in ln t inside a bin, linear in t in the first, a power law in the last.

All that a forecast says follows from them: survival, quantiles and means of the remaining time, integrals for scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.forecast.grid import Grid
from tracestat.forecast.integrals import running_integral

__all__ = ["Curves", "curves_of", "tail_exponent"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_MOST = 1 - 1e-9
_TINY = 1e-300
_ALPHA = (0.3, 3.0)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Survival curves of n keys.

    Attributes
    ----------
    grid : Grid
    log_survival : ndarray, shape (n, J + 1)
        ln S at each edge; 0 at the first.
    alpha : float
        Exponent of the power law beyond the last edge.
    """

    grid: Grid
    log_survival: Array
    alpha: float

    @property
    def size(self) -> int:
        """Number of curves."""
        return int(self.log_survival.shape[0])

    def log_survival_at(self, place: ArrayLike, seconds: ArrayLike, bins: Rows | None = None) -> Array:
        """Give ln P(T > t), a curve and a time per row.

        Parameters
        ----------
        place : array_like of int, shape (N,)
            Which curve.
        seconds : array_like, shape (N,) or ()
            Times t, not negative.
        bins : ndarray of int, shape (N,), optional
            Their bins, from :meth:`Grid.place`, where they are known already.

        Returns
        -------
        ndarray, shape (N,)

        Examples
        --------
        >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
        >>> np.exp(curves.log_survival_at([0, 0, 0], [0.5, 2, 64])).round(9).tolist()
        [0.894427191, 0.565685425, 0.03]
        """
        rows = np.asarray(place, dtype=np.intp)
        t = np.broadcast_to(np.asarray(seconds, dtype=np.float64), rows.shape)
        last = self.grid.n_bins
        b = self.grid.place(t) if bins is None else bins
        inner = np.minimum(b, last - 1)
        flat, here = self.log_survival.ravel(), rows * (last + 1) + inner
        low = flat[here]
        value = low + self._fraction(inner, t) * (flat[here + 1] - low)
        beyond = b >= last
        if beyond.any():
            ratio = np.log(t[beyond] / self.grid.edges[last])
            value[beyond] = self.log_survival[rows[beyond], last] - self.alpha * ratio
        return np.asarray(value)

    def _fraction(self, bins: Rows, t: Array) -> Array:
        """Give how far t lies in its closed bin, in the scale in which ln S is linear."""
        e, ln = self.grid.edges, _logs(self.grid)
        width = ln[bins + 1] - ln[bins]
        inside = (np.log(np.maximum(t, _TINY)) - ln[bins]) / np.where(bins == 0, 1.0, width)
        return np.where(bins == 0, t / e[1], inside)

    def quantile(self, place: ArrayLike, p: ArrayLike, elapsed: ArrayLike = 0.0) -> Array:
        """Give Q_p(s), the time by which a share p of what has lasted s has ended: inf{t : S(t) <= (1 - p) S(s)}.

        Parameters
        ----------
        place : array_like of int, shape (N,)
            Which curve.
        p : array_like, shape (N,) or ()
            In [0, 1).
        elapsed : array_like, shape (N,) or ()
            Time already waited, the s, seconds.

        Returns
        -------
        ndarray, shape (N,)
            Seconds from the start of the pause, at least ``elapsed``; subtract it for the remaining time.

        Examples
        --------
        >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
        >>> curves.quantile([0, 0], [0.5, 0.99], 2.0).round(6).tolist()
        [10.245478, 194.630464]
        """
        rows = np.asarray(place, dtype=np.intp)
        start = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), rows.shape)
        share = np.broadcast_to(np.asarray(p, dtype=np.float64), rows.shape)
        target = self.log_survival_at(rows, start) + np.log1p(-share)
        last = self.grid.n_bins
        # the last edge at which the curve is still above the target
        low, high = np.zeros(rows.shape, dtype=np.intp), np.full(rows.shape, last + 1, dtype=np.intp)
        for _ in range(int(last + 1).bit_length()):
            middle = (low + high) // 2
            above = self.log_survival[rows, middle] > target
            low, high = np.where(above, middle, low), np.where(above, high, middle)
            high = np.maximum(high, low + 1)
        inner = np.minimum(low, last - 1)
        top, bottom = self.log_survival[rows, inner], self.log_survival[rows, inner + 1]
        falls = bottom < top
        share_of_bin = np.where(falls, np.minimum((target - top) / np.where(falls, bottom - top, 1.0), 1.0), 0.0)
        e, ln = self.grid.edges, _logs(self.grid)
        inside = np.exp(ln[inner] + share_of_bin * (ln[inner + 1] - ln[inner]))
        value = np.where(inner == 0, share_of_bin * e[1], inside)
        beyond = low >= last
        if beyond.any():
            fall = self.log_survival[rows[beyond], last] - target[beyond]
            value[beyond] = e[last] * np.exp(np.minimum(fall / self.alpha, 600.0))
        return np.asarray(np.maximum(value, start))

    def integral(
        self, place: ArrayLike, start: ArrayLike, end: ArrayLike, power: Literal[1, 2] = 1, *, log_time: bool = False
    ) -> Array:
        """Integrate S(t)^power over (start, end), by dt or by dt/t.

        Parameters
        ----------
        place : array_like of int, shape (N,)
            Which curve.
        start, end : array_like, shape (N,) or ()
            Seconds, start <= end; for ``log_time`` not below the first edge above 0.
        power : {1, 2}
        log_time : bool
            Whether time counts by its logarithm.

        Returns
        -------
        ndarray, shape (N,)
            Seconds, or without unit for ``log_time``.

        Examples
        --------
        >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.0, 0.0, 0.4]]), 1.5)
        >>> curves.integral([0], 0, 4).tolist()
        [4.0]
        """
        rows, a, b = np.broadcast_arrays(np.asarray(place, dtype=np.intp), start, end)
        used: Curves = self
        if rows.size < self.size:  # few questions do not pay for the tables of all curves
            which, rows = np.unique(rows, return_inverse=True)
            used = Curves(self.grid, self.log_survival[which], self.alpha)
        return running_integral(used, power, log_time=log_time).between(rows, a, b)

    def mean_remaining(self, place: ArrayLike, elapsed: ArrayLike, window: float) -> Array:
        """Give the mean remaining time within a window: int_s^(s + window) S / S(s).

        Parameters
        ----------
        place : array_like of int, shape (N,)
        elapsed : array_like, shape (N,) or ()
            Seconds.
        window : float
            Seconds.

        Returns
        -------
        ndarray, shape (N,)
            Seconds, at most ``window``.

        Examples
        --------
        >>> curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
        >>> curves.mean_remaining([0], 2.0, 3.0).round(6).tolist()
        [2.334634]
        """
        rows = np.asarray(place, dtype=np.intp)
        s = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), rows.shape)
        return self.integral(rows, s, s + window) / np.exp(self.log_survival_at(rows, s))


def _logs(grid: Grid) -> Array:
    return np.log(np.maximum(grid.edges, _TINY))


def curves_of(grid: Grid, hazards: ArrayLike, alpha: float) -> Curves:
    """Make survival curves from discrete hazards.

    Parameters
    ----------
    grid : Grid
    hazards : array_like, shape (n, J)
        P(T in bin j | T reaches bin j); cut at ``1 - 1e-9``.
    alpha : float
        Exponent beyond the last edge.

    Returns
    -------
    Curves
        S at an edge is the product of 1 - q over the bins before it.
    """
    q = np.minimum(np.atleast_2d(np.asarray(hazards, dtype=np.float64)), _MOST)
    logs = np.zeros((q.shape[0], q.shape[1] + 1))
    np.cumsum(np.log1p(-q), axis=1, out=logs[:, 1:])
    return Curves(grid, logs, alpha)


def tail_exponent(n_beyond: float, log_excess: float) -> float:
    """Give the exponent of the power law beyond the last edge: (n + 1)/(sum ln(T/e_J) + 1), between 0.3 and 3.

    Parameters
    ----------
    n_beyond : float
        Rows that end beyond the last edge.
    log_excess : float
        Sum over them of ln(T/e_J).

    Examples
    --------
    >>> tail_exponent(0, 0.0)
    1.0
    """
    return float(np.clip((n_beyond + 1) / (log_excess + 1), *_ALPHA))
