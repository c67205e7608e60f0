"""P4-D, prefetch for deadlines that are known to be met: an upper bound of what asked limits can give."""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.asked import late_seconds
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.transfers import lead_seconds
from tracestat.simulate.policies.views import OracleView

__all__ = ["p4_d"]


def p4_d(view: OracleView, constants: Constants) -> Plan:
    """Prefetch one lead before each asked limit on which the pause ends.

    Parameters
    ----------
    view : OracleView
        Tells which those are: pauses that last until the load starts, and are over when nine tenths of those that end
        on such a limit are back.
    constants : Constants
        How long after a limit that is, as `late_seconds`.
    """
    seen = view.scheduler
    limit = seen.asked_limit_s
    with np.errstate(invalid="ignore"):
        lasts = view.pause_s > limit - lead_seconds(seen, constants.hardware)
        ends = seen.waits_for_tool & lasts & (view.pause_s <= limit + late_seconds(seen, constants))
    return plan_of(seen, prefetch_at_s=ahead_of(seen, constants.hardware, np.where(ends, limit, np.nan)))
