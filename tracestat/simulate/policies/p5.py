"""P5, an oracle that knows every return: pins what is back before a reload would be, prefetches the rest in time."""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.transfers import restore_seconds
from tracestat.simulate.policies.views import OracleView

__all__ = ["p5"]


def p5(view: OracleView, constants: Constants) -> Plan:
    """Pin pauses that are shorter than the reload for as long as they last; prefetch one lead before all others.

    Waits for a person are returns, too. Without a host tier a reload is a prefill, and nothing is prefetched.
    """
    seen = view.scheduler
    with np.errstate(invalid="ignore"):
        short = view.pause_s < restore_seconds(seen, constants.hardware)
    at = ahead_of(seen, constants.hardware, np.where(short, np.nan, view.pause_s))
    return plan_of(seen, pin_s=np.where(short, view.pause_s, 0.0), prefetch_at_s=at)
