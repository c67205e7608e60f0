"""P2, Continuum's time to live as the paper has it: per tool, from the 101st pause on; before that all tools.

References
----------
.. [1] Continuum (2025), arXiv 2511.02230, v6.
"""

from __future__ import annotations

from collections.abc import Callable

from tracestat.constants import Constants, paper_law
from tracestat.policy import PauseLaw
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import per_key, workload_of
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.ttl import Unit, hold_for_benefit, holds_of_rounds, settle
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["p2"]


def p2(
    view: SchedulerView,
    constants: Constants,
    *,
    queueing: float | Callable[[Plan], float] = 0.0,
    eta: float | None = None,
    unit: Unit = "session",
    benefit: float | None = None,
) -> Plan:
    """Pin each cache for ``argmax P(tau; tool) (T eta + R) - tau`` seconds.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
        Law and memoryfulness of a trace that is not the one replayed; R follows from the hardware.
    queueing : float or callable
        T, seconds, or what measures it in a run under a plan: two iterations from 0, as `settle`.
    eta : float, optional
        In place of the memoryfulness of the constants.
    unit : {"session", "request"}
        Programs of which that is.
    benefit : float, optional
        ``T eta + R`` of all rounds: the hold that the file of constants has for it.

    Notes
    -----
    A tool is a name within its provider. Answers that call no tool are not pinned.
    """
    workload = workload_of(constants)
    if benefit is not None:
        return plan_of(view, pin_s=hold_for_benefit(view, lambda k: workload.find_published(*k), "continuum", benefit))

    def law(name: Key) -> PauseLaw | None:
        key, everything = workload.find_published(*name), workload.find(*name[:1])
        return None if key is None or everything is None else paper_law(key, everything, workload.grid)

    laws = per_key(view, law)

    def plan_for(seconds: float) -> Plan:
        return plan_of(view, pin_s=holds_of_rounds(view, constants, laws, queueing=seconds, eta=eta, unit=unit))

    return settle(plan_for, queueing).plan if callable(queueing) else plan_for(queueing)
