"""P4-H, prefetch for every asked limit, honestly: for nothing where the call ends earlier or goes on."""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.policy import prefetch_pays
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.asked import ended_share, late_seconds
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.transfers import lead_seconds
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["p4_h"]


def p4_h(view: SchedulerView, constants: Constants, *, benefit: float | None = None) -> Plan:
    """Prefetch one lead before each asked limit.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
        Read only with a benefit, but for the hardware.
    benefit : float, optional
        Seconds of holding that a resident return is worth: only limits of which a prefetch pays, by the share of calls
        that end on them. A limit of which the constants know nothing does not.
    """
    limit = np.where(view.waits_for_tool, view.asked_limit_s, np.nan)
    if benefit is not None:
        share, late = ended_share(view, constants), late_seconds(view, constants)
        lead = lead_seconds(view, constants.hardware)
        pays = [
            bool(np.isfinite(q + before)) and prefetch_pays(q, benefit, before, after)
            for q, before, after in zip(share.tolist(), lead.tolist(), late.tolist(), strict=True)
        ]
        limit = np.where(pays, limit, np.nan)
    return plan_of(view, prefetch_at_s=ahead_of(view, constants.hardware, limit))
