"""How far apart the children of a level are: the precision kappa of the beta law that their hazards are drawn from.

Fitted by marginal likelihood. The likelihood is not concave in general, so a grid finds the peak to climb.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaln

from tracestat.forecast.rising import RisingSum

__all__ = ["LOG_KAPPAS", "KappaFit", "clipped", "fit_kappa", "marginal_log_likelihood", "nearby_kappa"]

Array = NDArray[np.float64]
LOG_KAPPAS: Array = np.arange(-3.0, 12.01, 0.5)
_EDGE = 1e-9
_XATOL = 1e-6
_NEAR_XATOL = 1e-4
_STRIDE = 3  # over the grid, where there is no start


@dataclass(frozen=True, slots=True)
class KappaFit:
    """Precision of one level.

    Attributes
    ----------
    kappa : float
        A child with r rows in a bin has weight r/(r + kappa) of its own.
    log_likelihood : float
        Marginal, at ``kappa``; nan where kappa was given and not fitted.
    profile : tuple of (float, float)
        (ln kappa, log likelihood) over the grid.
    note : str or None
        Set where the best value is an end of the grid: "no pooling" at the lower one, "no difference between keys" at
        the upper one, "nothing to learn from" without a bin that two rows reach; "given" where it was not fitted.
    """

    kappa: float
    log_likelihood: float
    profile: tuple[tuple[float, float], ...]
    note: str | None = None

    @property
    def alike(self) -> bool:
        """Whether nothing tells the keys apart: they have the curve of the key above."""
        return bool(self.kappa >= np.exp(LOG_KAPPAS[-1]))


def clipped(hazard: Array) -> Array:
    """Cut hazards to [1e-9, 1 - 1e-9], so that no event is impossible."""
    return np.clip(hazard, _EDGE, 1 - _EDGE)


def marginal_log_likelihood(kappa: float, prior: Array, ended: Array, reached: Array) -> float:
    """Give sum ln B(kappa q + d, kappa (1 - q) + r - d) - ln B(kappa q, kappa (1 - q)).

    Parameters
    ----------
    kappa : float
        Above 0.
    prior : ndarray, shape (N,)
        Hazard of the parent, the q, cut to [1e-9, 1 - 1e-9].
    ended, reached : ndarray, shape (N,)
        d and r of each (child, bin); may be fractional.

    Returns
    -------
    float

    Examples
    --------
    >>> q, d, r = np.array([0.5]), np.array([1.0]), np.array([1.0])
    >>> round(marginal_log_likelihood(7.0, q, d, r), 6) == round(float(np.log(0.5)), 6)
    True
    """
    q = clipped(prior)
    a, b = kappa * q, kappa * (1 - q)
    return float(np.sum(betaln(a + ended, b + reached - ended) - betaln(a, b)))


def fit_kappa(prior: Array, ended: Array, reached: Array, *, constant: float = 0.0) -> KappaFit:
    """Fit the precision of one level by marginal likelihood.

    Parameters
    ----------
    prior, ended, reached : ndarray, shape (N,)
        As for :func:`marginal_log_likelihood`, one entry per (child, bin) that the child reaches.
    constant : float
        Added to every log likelihood: what entries say that were left out because they do not depend on kappa.

    Returns
    -------
    KappaFit
        From 7,000 entries on, small counts are summed on a grid (`tracestat.forecast.rising`): kappa then moves by
        less than 1e-4 of itself.

    References
    ----------
    .. [1] Walker and Muliere (1997), Beta-Stacy processes; Rigat and Muliere (2007).

    Examples
    --------
    Children that agree with their parent need no pooling apart:

    >>> q, d, r = np.full(50, 0.5), np.full(50, 50.0), np.full(50, 100.0)
    >>> fit_kappa(q, d, r).note
    'no difference between keys'
    """
    loss = _loss(prior, ended, reached)
    values = np.array([loss(x) for x in LOG_KAPPAS])
    profile = tuple((float(x), float(constant - v)) for x, v in zip(LOG_KAPPAS, values, strict=True))
    best = int(np.argmin(values))
    last = LOG_KAPPAS.size - 1
    if not (reached > 1).any():
        return KappaFit(float(np.exp(LOG_KAPPAS[-1])), profile[-1][1], profile, "nothing to learn from")
    if best in (0, last):
        note = "no pooling" if best == 0 else "no difference between keys"
        return KappaFit(float(np.exp(LOG_KAPPAS[best])), profile[best][1], profile, note)
    x, value = _climb(loss, best, _XATOL)
    return KappaFit(float(np.exp(x)), float(constant - value), profile)


def nearby_kappa(prior: Array, ended: Array, reached: Array, start: float | None) -> float:
    """Find the peak of the likelihood next to ``start``, walking on the grid of :func:`fit_kappa`.

    For the rounds before the last one, which begin where the round before ended and need no profile. Without a start
    every third point of the grid is looked at first.
    """
    if not (reached > 1).any():
        return float(np.exp(LOG_KAPPAS[-1]))
    loss = _loss(prior, ended, reached)
    known: dict[int, float] = {}

    def at(place: int) -> float:
        if not 0 <= place < LOG_KAPPAS.size:
            return np.inf
        if place not in known:
            known[place] = loss(LOG_KAPPAS[place])
        return known[place]

    if start is None:
        best = min(range(0, LOG_KAPPAS.size, _STRIDE), key=at)
    else:
        best = int(np.argmin(np.abs(LOG_KAPPAS - np.log(start))))
    while (step := min((0, -1, 1), key=lambda s: at(best + s))) != 0:
        best += step
    if best in (0, LOG_KAPPAS.size - 1):
        return float(np.exp(LOG_KAPPAS[best]))
    return float(np.exp(_climb(loss, best, _NEAR_XATOL)[0]))


def _loss(prior: Array, ended: Array, reached: Array) -> Callable[[float], float]:
    """Give the negative log likelihood as a function of ln kappa."""
    q = clipped(prior)
    total = RisingSum([(q, ended, 1.0), (1 - q, reached - ended, 1.0), (None, reached, -1.0)])
    return lambda log_kappa: -total(float(np.exp(log_kappa)))


def _climb(loss: Callable[[float], float], best: int, xatol: float) -> tuple[float, float]:
    """Find the lowest loss between the neighbours of the best place of the grid."""
    bounds = (LOG_KAPPAS[best - 1], LOG_KAPPAS[best + 1])
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": xatol})
    return float(found.x), float(found.fun)
