"""The laws durations are drawn from, and what follows from them exactly.

One law for every tool that runs: within one (tool, skeleton, developer) the hazard is a power of the time,
``h(t) = z exp(log_a) t^(k - 1)`` for ``t >= t0``, so that its slope on log-log paper is ``k - 1`` at every time.
``z`` is the product of a skeleton's and a developer's multiplier, both gamma with mean 1. Pooling over keys makes
the slope steeper; this is the difference that the frailty estimate has to find.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

__all__ = [
    "PowerLaw",
    "TurnLaw",
    "WaitLaw",
    "calibrate",
    "compound_moments",
    "eta_of_moments",
    "gamma_strata",
    "pooled_slope",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """Left-truncated power-law hazard: ``h(t) = z exp(log_a) t^(k - 1)`` for t >= t0, none before.

    Attributes
    ----------
    k : float
        Shape; the log-log slope of the hazard is ``k - 1``.
    log_a : float
        Log of the hazard at one second for z = 1, in 1/s.
    t0 : float
        Shortest duration, seconds.
    """

    k: float
    log_a: float
    t0: float

    def cumulative(self, seconds: float | Array) -> Array:
        """Give the cumulative hazard of z = 1 at each time.

        Parameters
        ----------
        seconds : float or array of float, shape (n,)

        Returns
        -------
        array of float, same shape

        Examples
        --------
        >>> float(PowerLaw(0.5, 0.0, 0.01).cumulative(1.0))
        1.8
        """
        t = np.maximum(np.asarray(seconds, dtype=float), self.t0)
        return np.asarray(math.exp(self.log_a) / self.k * (t**self.k - self.t0**self.k))

    def inverse(self, hazard: float) -> float:
        """Give the duration at which the cumulative hazard of z = 1 reaches a value.

        Parameters
        ----------
        hazard : float
            A unit exponential divided by z gives a draw from the law.

        Returns
        -------
        float
            Seconds.

        Examples
        --------
        >>> PowerLaw(0.5, 0.0, 0.01).inverse(1.8)
        1.0
        """
        return float((self.t0**self.k + self.k * math.exp(-self.log_a) * hazard) ** (1.0 / self.k))


@dataclass(frozen=True, slots=True)
class WaitLaw:
    """A lognormal time: humans and generation, where no power law is claimed.

    Attributes
    ----------
    median : float
        Seconds.
    sigma : float
        Standard deviation of the log.
    low, high : float
        Draws are moved into these bounds, seconds.
    """

    median: float
    sigma: float
    low: float
    high: float

    def draw(self, u: float) -> float:
        """Give the quantile of one uniform number in seconds.

        Parameters
        ----------
        u : float
            In [0, 1); 0 counts as the lower bound.

        Returns
        -------
        float

        Examples
        --------
        >>> WaitLaw(60.0, 2.0, 1.0, 86400.0).draw(0.5)
        60.0
        """
        if u <= 0.0:
            return self.low
        return min(max(self.median * math.exp(self.sigma * _NORMAL.inv_cdf(u)), self.low), self.high)


_NORMAL = NormalDist()


def gamma_strata(theta: float, weights: Array, least: float = 0.0) -> Array:
    """Cut a gamma law of mean 1 and variance theta into strata of given weight; give each one's mean.

    The weighted mean is exactly 1, and the weighted variance a little below theta (what varies inside a stratum is
    lost). Drawing the effects this way instead of at random keeps the medians of a trace where they were designed,
    for every seed.

    Parameters
    ----------
    theta : float
        Variance, > 0.
    weights : array of float, shape (n,)
        Shares, smallest effect first; sum 1.
    least : float
        Neighbours are joined until their stratum weighs as much. A single rare key would otherwise get a multiplier
        so close to 0 that its calls last for months.

    Returns
    -------
    array of float, shape (n,)
        Multipliers, not decreasing.

    Examples
    --------
    >>> z = gamma_strata(0.6, np.full(4, 0.25))
    >>> z.round(3).tolist(), round(float(z.mean()), 12)
    ([0.25, 0.614, 1.059, 2.077], 1.0)
    >>> gamma_strata(0.6, np.full(4, 0.25), least=0.5).round(3).tolist()
    [0.432, 0.432, 1.568, 1.568]
    """
    stratum, filled = [0], float(weights[0])
    for weight in weights[1:]:
        full = filled >= least
        stratum.append(stratum[-1] + full)
        filled = float(weight) if full else filled + float(weight)
    joined = np.bincount(stratum, weights)
    shape = 1.0 / theta
    edges = gammaincinv(shape, np.concatenate([[0.0], np.minimum(np.cumsum(joined), 1.0)[:-1], [1.0]]))
    return np.asarray((np.diff(gammainc(shape + 1.0, edges)) / joined)[stratum])


def _laplace(hazard: float, z: Array, weights: Array, theta: float) -> float:
    """E exp(-z_s z_d H) over skeletons (z, weights) and a gamma developer effect of variance theta."""
    return float(np.sum(weights * (1.0 + theta * z * hazard) ** (-1.0 / theta)))


def calibrate(median: float, k: float, t0: float, z: Array, weights: Array, theta: float) -> PowerLaw:
    """Find the law whose pooled median, over skeletons and developers, is the given one.

    Parameters
    ----------
    median : float
        Seconds, > t0.
    k, t0 : float
        Shape and shortest duration of the law.
    z, weights : array of float, shape (n,)
        Multipliers of the skeletons and their shares ([1.] and [1.] for a tool without skeletons).
    theta : float
        Variance of the gamma developer effect.

    Returns
    -------
    PowerLaw

    Examples
    --------
    >>> law = calibrate(0.3, 0.5, 0.01, np.ones(1), np.ones(1), 0.1)
    >>> round(float((1 + 0.1 * law.cumulative(0.3)) ** -10), 9)
    0.5
    """
    low, high = 0.0, 1.0
    while _laplace(high, z, weights, theta) > 0.5:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _laplace(middle, z, weights, theta) > 0.5 else (low, middle)
    # rounded, so that the truth file states exactly what was drawn from
    return PowerLaw(k, round(math.log(low * k / (median**k - t0**k)), 9), t0)


def pooled_slope(seconds: float, k: Array, rate: Array, t0: Array, weights: Array) -> float:
    """Give the local log-log slope of the hazard of many keys together.

    With ``h_i = rate_i t^(k_i - 1)`` and survivor weights ``p = w exp(-H_i(t))`` the pooled hazard is ``E_p h`` and
    its slope ``(E_p[h (k - 1)] - t Var_p h) / E_p h``: the second term is what heterogeneity adds.

    Parameters
    ----------
    seconds : float
        Above every t0.
    k, rate, t0 : array of float, shape (n,)
        Shape, hazard at one second (1/s) and shortest duration of each key.
    weights : array of float, shape (n,)
        Shares of the calls.

    Returns
    -------
    float

    Examples
    --------
    >>> one = np.ones(1)
    >>> pooled_slope(10.0, 0.5 * one, one, 0.01 * one, one)
    -0.5
    """
    hazard = rate * seconds ** (k - 1.0)
    p = weights * np.exp(-rate / k * (seconds**k - t0**k))
    p = p / np.sum(p)
    mean = float(np.sum(p * hazard))
    variance = float(np.sum(p * (hazard - mean) ** 2))
    return (float(np.sum(p * hazard * (k - 1.0))) - seconds * variance) / mean


@dataclass(frozen=True, slots=True)
class TurnLaw:
    """Number of rounds of a request, or of requests of a session: the ceiling of a lognormal, cut at a maximum.

    Attributes
    ----------
    mu, sigma : float
        Mean and standard deviation of the log.
    maximum : int
        Largest value; the law is that of ``ceil(lognormal)`` given that it is at most this.
    """

    mu: float
    sigma: float
    maximum: int

    @property
    def cdf(self) -> tuple[float, ...]:
        """P(N <= 1), ..., P(N <= maximum) = 1."""
        return _turn_cdf(self)

    def draw(self, u: float) -> int:
        """Give the quantile of one uniform number in [0, 1).

        Examples
        --------
        >>> TurnLaw(0.0, 1.0, 50).draw(0.2)
        1
        """
        return bisect_right(self.cdf, u) + 1

    def moments(self) -> tuple[float, float, float]:
        """Give E N, E N^2, E N^3.

        Examples
        --------
        >>> TurnLaw(0.0, 1.0, 1).moments()
        (1.0, 1.0, 1.0)
        """
        p = np.diff(np.concatenate([[0.0], np.asarray(self.cdf)]))
        n = np.arange(1.0, self.maximum + 1.0)
        return float(np.sum(p * n)), float(np.sum(p * n**2)), float(np.sum(p * n**3))


@lru_cache(maxsize=16)
def _turn_cdf(law: TurnLaw) -> tuple[float, ...]:
    values = [_NORMAL.cdf((math.log(n) - law.mu) / law.sigma) for n in range(1, law.maximum + 1)]
    return tuple(v / values[-1] for v in values)


def eta_of_moments(first: float, second: float, third: float) -> float | None:
    """Give the memoryfulness ``(A - 3V) / (A + 3V)`` of a turn count from its raw moments.

    With ``p_n`` proportional to ``n P(N = n)``: ``m = E N^2 / E N``, ``V = E N^3 / E N - m^2``,
    ``A = E N^3 / E N - 1``.

    Parameters
    ----------
    first, second, third : float
        E N, E N^2, E N^3.

    Returns
    -------
    float or None
        None when every N is 1.

    Examples
    --------
    >>> round(eta_of_moments(10.5, 143.5, 2205.0), 12)  # uniform on 1..20
    0.5
    """
    mean_square = third / first
    spread = mean_square - (second / first) ** 2
    bottom = mean_square - 1.0 + 3.0 * spread
    return None if bottom <= 0.0 else (mean_square - 1.0 - 3.0 * spread) / bottom


def compound_moments(
    outer: tuple[float, float, float], inner: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Give the raw moments of a sum of ``outer`` many independent ``inner`` counts (rounds of a session).

    Parameters
    ----------
    outer, inner : tuple of three floats
        First three raw moments of the number of terms and of one term.

    Returns
    -------
    tuple of three floats

    Examples
    --------
    >>> compound_moments((2.0, 4.0, 8.0), (3.0, 9.0, 27.0))  # always two terms of three
    (6.0, 36.0, 216.0)
    """
    (r1, rv, r3), (n1, nv, n3) = _central(*outer), _central(*inner)
    mean = r1 * n1
    variance = r1 * nv + rv * n1**2
    third = r1 * n3 + 3.0 * rv * n1 * nv + r3 * n1**3
    return mean, variance + mean**2, third + 3.0 * variance * mean + mean**3


def _central(first: float, second: float, third: float) -> tuple[float, float, float]:
    variance = second - first**2
    return first, variance, third - 3.0 * first * variance - first**3
