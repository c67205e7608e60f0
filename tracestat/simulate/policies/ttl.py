"""What P2 and P2-S share: the benefit of each round, its best hold by a law per key, and T where a run tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.constants import Constants, KeyConstants
from tracestat.errors import UsageError
from tracestat.policy import PauseLaw, benefit_of, continuum_hold, exponential_hold
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import eta_of, per_key, workload_of
from tracestat.simulate.policies.transfers import restore_seconds
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["ITERATIONS", "Settled", "Unit", "hold_for_benefit", "holds_of_rounds", "settle"]

Unit = Literal["session", "request"]
Floats = NDArray[np.float64]
# of the fixed point of T
ITERATIONS = 2
_COLD_MEAN, _COLD_ETA = 1.0, 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The last plan of a fixed point, and the T, seconds, of each iteration: the first is 0, the last is the plan's."""

    plan: Plan
    queueing: tuple[float, ...]


def settle(
    plan_for: Callable[[float], Plan], measure: Callable[[Plan], float], *, iterations: int = ITERATIONS
) -> Settled:
    """Iterate T, the mean queueing delay of requests whose cache was evicted: it follows from the plan that it makes.

    Parameters
    ----------
    plan_for : callable
        Gives the plan for a T, seconds.
    measure : callable
        Gives the T of a run under a plan; NaN where none was evicted, which is a T of 0.
    iterations : int
        Runs, 1 or more.

    Raises
    ------
    UsageError
        No run, or a T below 0 or without end.
    """
    if iterations < 1:
        raise UsageError(f"iterations {iterations}: give 1 or more")
    told = [0.0]
    for _ in range(iterations):
        queueing = float(measure(plan_for(told[-1])))
        told.append(0.0 if np.isnan(queueing) else _checked(queueing))
    return Settled(plan_for(told[-1]), tuple(told))


def _checked(queueing: float) -> float:
    if not 0 <= queueing < float("inf"):
        raise UsageError(f"queueing {queueing}: give 0 or more finite seconds")
    return queueing


def holds_of_rounds(
    view: SchedulerView,
    constants: Constants,
    laws: Sequence[PauseLaw | None],
    *,
    queueing: float,
    eta: float | None,
    unit: Unit,
) -> Floats:
    """Give the hold of each round by Continuum's rule, seconds; 0 where no tool is awaited.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
    laws : sequence of (PauseLaw or None)
        Of each key of the view; None starts cold: 1 s on average, exponential, and eta = 1.
    queueing : float
        T, seconds.
    eta : float or None
        Memoryfulness; None for what the constants estimate of the provider, and the cold start's where they do not.
    unit : {"session", "request"}
        Of that estimate.
    """
    _checked(queueing)
    restore = restore_seconds(view, constants.hardware)
    holds = np.zeros(view.context.size)
    for place, law in enumerate(laws):
        mine = np.flatnonzero((view.key == place) & view.waits_for_tool)
        if not mine.size:
            continue
        known = eta_of(workload_of(constants), view.keys[place][0], unit) if eta is None else eta
        memory = _COLD_ETA if law is None or known is None else known
        # rounds of one context have one benefit
        distinct, which = np.unique(restore[mine], return_inverse=True)
        best = [_hold(law, benefit_of(queueing, memory, r)) for r in distinct.tolist()]
        holds[mine] = np.array(best)[which.ravel()]
    return holds


def _hold(law: PauseLaw | None, benefit: float) -> float:
    if benefit <= 0:
        return 0.0
    return exponential_hold(_COLD_MEAN, benefit) if law is None else continuum_hold(law, benefit).tau


def hold_for_benefit(
    view: SchedulerView, find: Callable[[Key], KeyConstants | None], rule: str, benefit: float
) -> Floats:
    """Give the hold that the file of constants has for one benefit, for each round; 0 where it knows no such key.

    Raises
    ------
    UsageError
        The file has no hold for that benefit.
    """

    def of(name: Key) -> float:
        key = find(name)
        if key is None:
            return 0.0
        hold = key.hold(rule, benefit)
        if hold is None:
            known = ", ".join(f"{h.benefit:g}" for h in key.holds if h.rule == rule) or "none"
            raise UsageError(f"benefit {benefit:g}: the constants have holds for {known} s")
        return hold.tau

    tau = np.array(per_key(view, of), dtype=np.float64)
    return np.where(view.waits_for_tool, tau[view.key], 0.0) if tau.size else np.zeros(view.context.size)
