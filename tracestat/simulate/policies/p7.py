"""P7, evict first what is expected to stay away longest.

References
----------
.. [1] CacheWise (2026), arXiv 2606.16824.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tracestat.constants import Constants, KeyConstants
from tracestat.policy import UNKNOWN_TOOL_SECONDS, remaining_score
from tracestat.simulate.forms import LONGEST_EXPECTED, Plan
from tracestat.simulate.policies.lookup import per_round, workload_of
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["p7"]


def p7(
    view: SchedulerView,
    constants: Constants,
    *,
    beyond: Literal["tail", "published"] = "tail",
    window: float = 3600.0,
) -> Plan:
    """Rank by the expected remaining time of the key's own pauses at the start of the pause.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
    beyond : {"tail", "published"}
        What lasts longer than all that was seen, as `tracestat.policy.remaining_score`.
    window : float
        Seconds that count; only for ``tail``.

    Notes
    -----
    What has no curve, and who waits for a person, is expected after 60 s, as CacheWise has it for unknown tools.
    """
    workload = workload_of(constants)

    def expected(name: Key) -> float:
        key = workload.find(*name)
        if key is None or not key.survival:
            return UNKNOWN_TOOL_SECONDS
        return _expected(key, workload.grid, beyond, window)

    remaining = per_round(view, expected)
    remaining = np.where(np.isnan(remaining), UNKNOWN_TOOL_SECONDS, remaining)
    return plan_of(view, rank=LONGEST_EXPECTED, expected_remaining_s=remaining)


def _expected(key: KeyConstants, grid: tuple[float, ...], beyond: Literal["tail", "published"], window: float) -> float:
    points = [(0.0, 1.0), *zip(grid, key.survival, strict=False)]
    if key.tail_alpha:
        return remaining_score(points, 0.0, beyond=beyond, alpha=key.tail_alpha, window=window)
    return remaining_score(points, 0.0, beyond=beyond, window=window)
