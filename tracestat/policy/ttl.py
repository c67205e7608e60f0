"""How long to hold a paused cache on the GPU: Continuum's rule, and the rule that charges only the time really held.

Both weigh the share of pauses that return during the hold, worth ``benefit`` seconds of holding each, against the
price of the hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.policy.law import PauseLaw

__all__ = ["Hold", "benefit_of", "continuum_hold", "exponential_hold", "hazard_hold", "hold_of", "least_benefit"]

# of two holds whose worth differs by rounding alone the shorter is meant
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Hold:
    """The best hold.

    Attributes
    ----------
    tau : float
        At most so many seconds.
    value : float
        What it is worth, seconds of holding per pause.
    pin_share : float
        Share of the pauses that return during it: F(tau).
    mean_hold : float
        Seconds that it lasts on average: the integral of the survival up to ``tau``.
    """

    tau: float
    value: float
    pin_share: float
    mean_hold: float


def benefit_of(queueing: float, eta: float, restore: float) -> float:
    """Give Continuum's B = T eta + R, seconds of holding that a resident return is worth.

    Parameters
    ----------
    queueing : float
        T, mean seconds in the queue of requests whose cache was evicted.
    eta : float
        Memoryfulness, -1 to 1.
    restore : float
        R, seconds of a reload where there is a host tier, else of a prefill.

    Examples
    --------
    >>> round(benefit_of(0.6, -0.35, 0.21), 12)
    0.0
    """
    return queueing * eta + restore


def continuum_hold(law: PauseLaw, benefit: float, *, elapsed: float = 0.0) -> Hold:
    """Give the hold that maximises ``benefit F(tau) - tau`` (Continuum): the whole tau is charged.

    Parameters
    ----------
    law : PauseLaw
    benefit : float
        B, seconds of holding that a resident return is worth; any finite number.
    elapsed : float
        Seconds that the pause has lasted; tau counts from there.

    Returns
    -------
    Hold
        Ties go to the shorter; ``tau`` never exceeds ``benefit`` (or 0).

    Raises
    ------
    UsageError
        A benefit that is not finite, or an elapsed time that no pause is known to outlast.

    References
    ----------
    .. [1] Continuum (2025), arXiv 2511.02230, v6.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> continuum_hold(law_of_durations([0.1, 0.2, 0.5, 1, 3, 30]), 40.0).tau
    3.0
    """
    given = law if elapsed == 0 else law.given(elapsed)
    return _best(given, benefit, given.times)


def hazard_hold(law: PauseLaw, benefit: float, *, elapsed: float = 0.0) -> Hold:
    """Give the hold that maximises ``benefit F(tau) - integral of S up to tau``: only time really held is charged.

    Where the hazard falls this is "hold while the hazard exceeds 1 / benefit", and gives the same end when asked again
    later. Parameters, errors and ties as `continuum_hold`; the value is never below its.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> hazard_hold(law_of_durations([0.1, 0.2, 0.5, 1, 3, 30]), 40.0).tau
    30.0
    """
    given = law if elapsed == 0 else law.given(elapsed)
    return _best(given, benefit, given.held)


def hold_of(law: PauseLaw, tau: float, *, benefit: float, whole: bool) -> Hold:
    """Give what a hold of a given length does: worth as the first rule counts (``whole``), or as the second.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> hold_of(law_of_durations([1.0, 3.0]), 2.0, benefit=4.0, whole=False)
    Hold(tau=2.0, value=0.5, pin_share=0.5, mean_hold=1.5)
    """
    share, held = 1.0 - law.survival_at(tau), law.held_at(tau)
    return Hold(tau, benefit * share - (tau if whole else held), share, held)


def least_benefit(law: PauseLaw, *, whole: bool) -> float | None:
    """Give the benefit above which any hold pays at all.

    Parameters
    ----------
    law : PauseLaw
    whole : bool
        Whether the whole tau is charged (`continuum_hold`) or the time really held (`hazard_hold`).

    Returns
    -------
    float or None
        Seconds of holding; None where no pause is known to return.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> round(least_benefit(law_of_durations([0.1, 0.2, 0.5, 1, 3, 30]), whole=True), 9)
    0.6
    """
    share = law.survival[0] - law.survival
    some = share > 0
    price = law.times if whole else law.held
    return float(np.min(price[some] / share[some])) if some.any() else None


def exponential_hold(mean: float, benefit: float) -> float:
    """Give tau* of `continuum_hold` for an exponential law in closed form: m ln(B / m) where B > m, else 0.

    Examples
    --------
    >>> round(exponential_hold(1.0, 7.38905609893), 9)
    2.0
    """
    if not 0 < mean < math.inf:
        raise UsageError(f"mean {mean}: give finite seconds above 0")
    return mean * math.log(_finite(benefit) / mean) if benefit > mean else 0.0


def _finite(benefit: float) -> float:
    if not math.isfinite(benefit):
        raise UsageError(f"benefit {benefit}: give finite seconds of holding")
    return benefit


def _best(law: PauseLaw, benefit: float, price: NDArray[np.float64]) -> Hold:
    worth = _finite(benefit) * (1.0 - law.survival) - price
    place = int(np.argmax(worth >= worth.max() - _TIE * (abs(benefit) + abs(worth.max()))))
    return Hold(float(law.times[place]), float(worth[place]), float(1.0 - law.survival[place]), float(law.held[place]))
