"""How far apart the children of a level are: the precision kappa of the beta law that their hazards are drawn from.

Fitted by marginal likelihood. The likelihood is not concave in general, so a grid finds the peak to climb.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaln

__all__ = ["LOG_KAPPAS", "KappaFit", "fit_kappa", "marginal_log_likelihood"]

Array = NDArray[np.float64]
LOG_KAPPAS: Array = np.arange(-3.0, 12.01, 0.5)
_EDGE = 1e-9
_XATOL = 1e-6


@dataclass(frozen=True, slots=True)
class KappaFit:
    """Precision of one level.

    Attributes
    ----------
    kappa : float
        A child with r rows in a bin has weight r/(r + kappa) of its own.
    log_likelihood : float
        Marginal, at ``kappa``.
    profile : tuple of (float, float)
        (ln kappa, log likelihood) over the grid.
    note : str or None
        Set where the best value is an end of the grid: "no pooling" at the lower one, "no difference between keys" at
        the upper one, "nothing to learn from" without a bin that two rows reach.
    """

    kappa: float
    log_likelihood: float
    profile: tuple[tuple[float, float], ...]
    note: str | None = None


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
    q = np.clip(prior, _EDGE, 1 - _EDGE)
    a, b = kappa * q, kappa * (1 - q)
    return float(np.sum(betaln(a + ended, b + reached - ended) - betaln(a, b)))


def fit_kappa(prior: Array, ended: Array, reached: Array) -> KappaFit:
    """Fit the precision of one level by marginal likelihood.

    Parameters
    ----------
    prior, ended, reached : ndarray, shape (N,)
        As for :func:`marginal_log_likelihood`, one entry per (child, bin) that the child reaches.

    Returns
    -------
    KappaFit

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
    used = reached > 0
    q, d, r = prior[used], ended[used], reached[used]

    def loss(log_kappa: float) -> float:
        return -marginal_log_likelihood(float(np.exp(log_kappa)), q, d, r)

    values = np.array([loss(x) for x in LOG_KAPPAS])
    profile = tuple((float(x), float(-v)) for x, v in zip(LOG_KAPPAS, values, strict=True))
    best = int(np.argmin(values))
    if not (r > 1).any():
        return KappaFit(float(np.exp(LOG_KAPPAS[-1])), float(-values[-1]), profile, "nothing to learn from")
    if best in (0, LOG_KAPPAS.size - 1):
        note = "no pooling" if best == 0 else "no difference between keys"
        return KappaFit(float(np.exp(LOG_KAPPAS[best])), float(-values[best]), profile, note)
    found = minimize_scalar(
        loss, bounds=(LOG_KAPPAS[best - 1], LOG_KAPPAS[best + 1]), method="bounded", options={"xatol": _XATOL}
    )
    return KappaFit(float(np.exp(found.x)), float(-found.fun), profile)
