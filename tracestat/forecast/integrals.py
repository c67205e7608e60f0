"""Integrals of a survival curve or its square, by time or by its logarithm: what means and scores are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from tracestat.forecast.curves import Curves

__all__ = ["RunningIntegral", "running_integral"]

Array = NDArray[np.float64]
_FLAT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RunningIntegral:
    """Integral of S^power from any time up to the last edge, for n curves.

    It is added up from the far end: what is left of a curve that has fallen to 1e-20 keeps its digits, which the
    difference of two integrals from the start would not.

    Attributes
    ----------
    curves : Curves
    power : {1, 2}
    log_time : bool
        Whether time counts by its logarithm; the first bin then has no part in it.
    rest : ndarray, shape (n, J + 1)
        Integral from each edge to the last.
    """

    curves: Curves
    power: int
    log_time: bool
    rest: Array

    def between(self, place: ArrayLike, start: ArrayLike, end: ArrayLike) -> Array:
        """Integrate over (start, end).

        Parameters
        ----------
        place : array_like of int, shape (N,)
            Which curve.
        start, end : array_like, shape (N,) or ()
            Seconds, start <= end; by log time neither below the first edge above 0.

        Returns
        -------
        ndarray, shape (N,)
            Seconds, or without unit by log time.
        """
        return np.asarray(self.after(place, start) - self.after(place, end))

    def after(self, place: ArrayLike, seconds: ArrayLike, bins: NDArray[np.intp] | None = None) -> Array:
        """Integrate from a time to the last edge, below 0 for one beyond it, shape of ``place``.

        Parameters
        ----------
        place, seconds : array_like
            As of :meth:`between`.
        bins : ndarray of int, shape (N,), optional
            The bins of the times, from `Grid.place`, where they are known already.
        """
        rows = np.asarray(place, dtype=np.intp)
        t = np.broadcast_to(np.asarray(seconds, dtype=np.float64), rows.shape)
        grid, logs = self.curves.grid, self.curves.log_survival
        e, last = grid.edges, grid.n_bins
        b = np.maximum(grid.place(t) if bins is None else bins, 1 if self.log_time else 0)
        following = np.minimum(b + 1, last)
        n_edges = last + 1
        at, after = rows * n_edges + b, rows * n_edges + following
        flat = logs.ravel()
        top = flat[at]
        fall = top - flat[after]
        low = e[np.maximum(b, 1)]
        ratio = np.log(np.maximum(t, low) / low)  # none in the first bin, which goes by its own rule
        widths = np.append(_widths(e), 1.0)
        slope = fall / widths[b]
        beyond = b >= last
        if beyond.any():
            slope[beyond] = self.curves.alpha
        scale = np.exp(self.power * top)
        value = _by_power(scale, 1.0 if self.log_time else low, slope, ratio, self.power, self.log_time)
        if not self.log_time:
            first = b == 0
            if first.any():
                value[first] = _by_rate(scale[first], self.power * fall[first] / e[1], t[first])
        return np.asarray(self.rest.ravel()[at] - value)


def running_integral(curves: Curves, power: Literal[1, 2] = 1, *, log_time: bool = False) -> RunningIntegral:
    """Prepare the integrals of S^power of all curves.

    Parameters
    ----------
    curves : Curves
    power : {1, 2}
    log_time : bool
        dt/t in place of dt.

    Returns
    -------
    RunningIntegral
    """
    e, logs = curves.grid.edges, curves.log_survival
    widths = _widths(e)
    fall = logs[:, :-1] - logs[:, 1:]
    scale = np.exp(power * logs[:, :-1])
    whole = _by_power(scale, 1.0 if log_time else e[:-1], fall / widths, widths, power, log_time)
    whole[:, 0] = 0.0 if log_time else _by_rate(scale[:, 0], power * fall[:, 0] / e[1], e[1])
    rest = np.zeros(logs.shape)
    rest[:, :-1] = whole[:, ::-1].cumsum(axis=1)[:, ::-1]
    return RunningIntegral(curves, power, log_time, rest)


def _widths(edges: Array) -> Array:
    """Give the width of each closed bin in ln t; the first has none and gets 1."""
    return np.asarray(np.concatenate([[1.0], np.diff(np.log(edges[1:]))]))


def _by_power(scale: Array, low: Array | float, slope: Array, ratio: Array, power: int, log_time: bool) -> Array:
    """Integrate scale (t/low)^(-power slope) from low to low exp(ratio)."""
    c = (0.0 if log_time else 1.0) - power * slope
    near = np.abs(c) < _FLAT
    if near.any():
        grown = np.where(near, ratio, np.expm1(c * ratio) / np.where(near, 1.0, c))
    else:
        grown = np.expm1(c * ratio) / c
    return np.asarray(scale * low * grown)


def _by_rate(scale: Array, rate: Array, t: Array | float) -> Array:
    """Integrate scale exp(-rate u) from 0 to t."""
    still = rate < _FLAT
    return np.asarray(scale * np.where(still, t, -np.expm1(-rate * t) / np.where(still, 1.0, rate)))
