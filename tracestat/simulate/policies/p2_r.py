"""P2-R, Continuum as its code was released: 2 s where the tool's running mean is at most 2 s, else no pin.

References
----------
.. [1] Continuum's public code, ``estimate_with_func.py`` (2026): threshold and pin of 2 s.
"""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.policy import continuum_public_code
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["p2_r"]


def p2_r(view: SchedulerView, constants: Constants) -> Plan:
    """Pin each cache by the mean of its tool so far; a tool not seen yet gets 2 s, an answer without one gets none.

    The server starts knowing nothing. The mean is over the pauses before this one in the order of the replay, which
    `scheduler_view` states; nothing of the constants enters.
    """
    del constants
    seen = view.tool_seen > 0
    mean = np.divide(view.tool_seen_s, view.tool_seen, out=np.zeros(seen.size), where=seen)
    # the rule knows a mean only by its side of the threshold
    distinct, which = np.unique(mean, return_inverse=True)
    pins = np.array([continuum_public_code(m) for m in distinct.tolist()])
    known = pins[which.ravel()] if pins.size else np.zeros(0)
    pin = np.where(seen, known, continuum_public_code(None))
    return plan_of(view, pin_s=np.where(view.waits_for_tool, pin, continuum_public_code(None, parsed=False)))
