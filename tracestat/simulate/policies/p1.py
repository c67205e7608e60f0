"""P1, least recently used with a host tier: vLLM with LMCache as delivered, the baseline of all others."""

from __future__ import annotations

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["p1"]


def p1(view: SchedulerView, constants: Constants) -> Plan:
    """Give P1's plan: no pin, no prefetch."""
    del constants
    return plan_of(view)
