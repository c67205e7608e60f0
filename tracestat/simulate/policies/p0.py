"""P0, least recently used and no host tier: what is evicted is computed again."""

from __future__ import annotations

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["p0"]


def p0(view: SchedulerView, constants: Constants) -> Plan:
    """Give P0's plan, that of P1: what differs is the host tier, of 0 tokens."""
    del constants
    return plan_of(view)
