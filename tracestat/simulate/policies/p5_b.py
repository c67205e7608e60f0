"""P5-B, Belady's rule: evict first what returns last, never pin, prefetch in time.

References
----------
.. [1] Belady (1966), A study of replacement algorithms for a virtual-storage computer.
"""

from __future__ import annotations

from tracestat.constants import Constants
from tracestat.simulate.forms import LATEST_RETURN, Plan
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.views import OracleView

__all__ = ["p5_b"]


def p5_b(view: OracleView, constants: Constants) -> Plan:
    """Rank by the latest return, and prefetch one lead before each."""
    seen = view.scheduler
    return plan_of(seen, rank=LATEST_RETURN, prefetch_at_s=ahead_of(seen, constants.hardware, view.pause_s))
