"""P2-S, the time to live of P2 on the shrunken law of each key: few pauses lean on the keys beside them."""

from __future__ import annotations

from collections.abc import Callable

from tracestat.constants import Constants, shrunken_law
from tracestat.policy import PauseLaw
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import per_key, workload_of
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.ttl import Unit, hold_for_benefit, holds_of_rounds, settle
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["p2_s"]


def p2_s(
    view: SchedulerView,
    constants: Constants,
    *,
    queueing: float | Callable[[Plan], float] = 0.0,
    eta: float | None = None,
    unit: Unit = "session",
    benefit: float | None = None,
) -> Plan:
    """Pin each cache as P2 does, by the shrunken law; parameters as `tracestat.simulate.policies.p2`.

    Without a rule of a hundred only a provider that the constants do not know starts cold.
    """
    workload = workload_of(constants)
    if benefit is not None:
        return plan_of(view, pin_s=hold_for_benefit(view, lambda k: workload.find(*k), "continuum_shrunken", benefit))

    def law(name: Key) -> PauseLaw | None:
        key = workload.find(*name)
        return None if key is None else shrunken_law(key, workload.grid)

    laws = per_key(view, law)

    def plan_for(seconds: float) -> Plan:
        return plan_of(view, pin_s=holds_of_rounds(view, constants, laws, queueing=seconds, eta=eta, unit=unit))

    return settle(plan_for, queueing).plan if callable(queueing) else plan_for(queueing)
