"""P6, prefetch by what the tool itself reports of its progress.

References
----------
.. [1] Ask the Tool (2026), arXiv 2609.18849.
"""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.progress import ProgressView
from tracestat.simulate.policies.transfers import lead_seconds

__all__ = ["p6"]


def p6(view: ProgressView, constants: Constants) -> Plan:
    """Prefetch one lead before the return that the last report tells.

    At the half-way report a prefetch is planned. Where it has not begun when the late report comes, that one decides.
    No prefetch begins before its report.
    """
    lead = lead_seconds(view.scheduler, constants.hardware)[:, np.newaxis]
    half, late = np.maximum(view.total_s - lead, view.known_at_s).T
    with np.errstate(invalid="ignore"):
        at = np.where(half < view.known_at_s[:, 1], half, late)
    return plan_of(view.scheduler, prefetch_at_s=at)
