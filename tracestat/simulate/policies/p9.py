"""P9, offload at the call and upload for a point forecast.

References
----------
.. [1] TokenCake (2026), arXiv 2510.18586, v4.
"""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import per_round, workload_of
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.transfers import reload_seconds
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["p9"]

# what TokenCake's port takes for a call without an estimate
_UNKNOWN = 1.0


def p9(view: SchedulerView, constants: Constants) -> Plan:
    """Offload where the forecast leaves time beyond the transfers, and upload one lead before it.

    The point forecast of a pause is the mean of its key's pauses in the constants, as if the user had stated it; what a
    replay itself would teach is left out, as for all forecasts. Out and back take a reload each: the link carries both
    alike [choice].
    """
    workload = workload_of(constants)

    def forecast(name: Key) -> float:
        key = workload.find(*name)
        return _UNKNOWN if key is None or not key.n else key.total_seconds / key.n

    returns = per_round(view, forecast)
    with np.errstate(invalid="ignore"):
        leaves = returns - 2 * reload_seconds(view, constants.hardware) > 0
    at = ahead_of(view, constants.hardware, np.where(leaves, returns, np.nan))
    return plan_of(view, prefetch_at_s=at, demote_at_start=leaves)
