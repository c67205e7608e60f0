"""P3, demote at the start of the pause and prefetch at a quantile of the forecast: the idea that the article tests."""

from __future__ import annotations

import numpy as np

from tracestat.constants import Constants, shrunken_law
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import law_quantile, per_round, workload_of
from tracestat.simulate.policies.plans import ahead_of, plan_of
from tracestat.simulate.policies.transfers import lead_seconds
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["p3"]


def p3(view: SchedulerView, constants: Constants, *, quantile: float = 0.5) -> Plan:
    """Demote, and prefetch one lead before the quantile of the pause's forecast.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
        The forecast of a pause that starts is the shrunken law of its key.
    quantile : float
        Share of the pauses that are over when the cache is back, above 0 and below 1.

    Notes
    -----
    What would have to come back before it has left stays, as do caches of unknown keys and those that wait for no
    tool [choice].
    """
    workload = workload_of(constants)

    def forecast(name: Key) -> float:
        key = workload.find(*name)
        return float("nan") if key is None else law_quantile(shrunken_law(key, workload.grid), quantile, key)

    returns = per_round(view, forecast)
    leaves = returns > lead_seconds(view, constants.hardware)
    at = ahead_of(view, constants.hardware, np.where(leaves, returns, np.nan))
    return plan_of(view, prefetch_at_s=at, demote_at_start=leaves)
