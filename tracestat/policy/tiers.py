"""GPU, then host, then nothing: when to move a paused cache down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracestat.errors import UsageError
from tracestat.policy.law import PauseLaw

__all__ = ["TierCosts", "Tiers", "best_tiers", "tier_cost"]


@dataclass(frozen=True, slots=True)
class TierCosts:
    """What holding and returning cost, in one unit of cost; for a cache of a given size byte-seconds will do.

    Attributes
    ----------
    gpu, host : float
        a1 and a2, cost per second held; the GPU is not cheaper than the host.
    from_host, from_nothing : float
        b2 and b3, cost of a return from the host (reload) and from nothing (prefill).
    """

    gpu: float
    host: float
    from_host: float
    from_nothing: float

    def __post_init__(self) -> None:
        """Refuse what is no cost."""
        for name in ("gpu", "host", "from_host", "from_nothing"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} {getattr(self, name)}: give a finite cost of 0 or more")
        if self.gpu < self.host:
            raise UsageError(f"gpu {self.gpu:g} below host {self.host:g}: a tier that costs less per second comes last")


@dataclass(frozen=True, slots=True)
class Tiers:
    """On the GPU until ``to_host`` seconds, on the host until ``drop`` seconds; the cost per pause of doing so."""

    to_host: float
    drop: float
    cost: float


def tier_cost(law: PauseLaw, costs: TierCosts, to_host: float, drop: float) -> float:
    """Give C(t1, t2), the mean cost of a pause.

    ``a1 int_0^t1 S + a2 int_t1^t2 S + b2 (S(t1) - S(t2)) + b3 S(t2)``.

    Raises
    ------
    UsageError
        ``drop`` before ``to_host``, or a time about which the law says nothing.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> tier_cost(law_of_durations([1.0, 5.0]), TierCosts(1.0, 0.1, 2.0, 10.0), 1.0, 5.0)
    2.2
    """
    if drop < to_host:
        raise UsageError(f"drop {drop:g} s before to_host {to_host:g} s: a cache leaves the GPU first")
    (s1, s2), (h1, h2) = ([at(t) for t in (to_host, drop)] for at in (law.survival_at, law.held_at))
    return costs.gpu * h1 + costs.host * (h2 - h1) + costs.from_host * (s1 - s2) + costs.from_nothing * s2


def best_tiers(law: PauseLaw, costs: TierCosts) -> Tiers:
    """Give the two times of least cost, among those that the law knows.

    For a smooth law with a falling hazard h they solve ``h(t1) = (a1 - a2) / b2`` and ``h(t2) = a2 / (b3 - b2)``.

    Parameters
    ----------
    law : PauseLaw
    costs : TierCosts

    Returns
    -------
    Tiers
        Ties go to the shorter times. A ``drop`` at ``law.last`` with pauses still under way means "not before that":
        the law says nothing of later.

    Examples
    --------
    >>> from tracestat.policy import law_of_durations
    >>> best_tiers(law_of_durations([0.1, 0.2, 30.0]), TierCosts(1.0, 0.01, 0.5, 2.0))
    Tiers(to_host=0.2, drop=30.0, cost=0.43266666666666664)
    """
    to_host = (costs.gpu - costs.host) * law.held + costs.from_host * law.survival
    drop = costs.host * law.held + (costs.from_nothing - costs.from_host) * law.survival
    # the best first time up to each second time
    best = np.minimum.accumulate(to_host)
    last = int(np.argmin(best + drop))
    first = int(np.argmin(to_host[: last + 1]))
    times = float(law.times[first]), float(law.times[last])
    return Tiers(*times, float(to_host[first] + drop[last]))
