"""Asked limits as the constants know them: how many calls end on one, and how long after it they are back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.constants import Constants
from tracestat.simulate.policies.lookup import workload_of
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["ended_share", "late_seconds"]

Floats = NDArray[np.float64]
# where no pause of the trace is known to end on a limit
_LATE: Final = 1.0


def late_seconds(view: SchedulerView, constants: Constants) -> Floats:
    """Give by when, after its asked limit, nine tenths of the pauses that end on it are back; NaN without a limit.

    That of the point mass of the key, else of its provider's at that limit, else 1 s [choice].
    """
    workload = workload_of(constants)

    def late(name: Key, limit: float) -> float:
        for key in (workload.find(*name), workload.find(*name[:1])):
            found = [atom.late for atom in key.atoms if atom.seconds == limit] if key else []
            if found:
                return max(found)
        return _LATE

    return _per_limit(view, late)


def ended_share(view: SchedulerView, constants: Constants) -> Floats:
    """Give the share of the calls of this tool with this limit that end on it; NaN where nothing is known."""
    known = {(a.provider, a.tool, a.seconds): a.ended.value for a in workload_of(constants).asked_limits}

    def share(name: Key, limit: float) -> float:
        provider, _, tool = name
        value = known.get((provider, tool, limit))
        return float("nan") if value is None else value

    return _per_limit(view, share)


def _per_limit(view: SchedulerView, function: Callable[[Key, float], float]) -> Floats:
    """Ask a function of each distinct key and limit."""
    values = np.full(view.context.size, np.nan)
    asked = np.flatnonzero(np.isfinite(view.asked_limit_s))
    if asked.size:
        pairs = np.stack([view.key[asked].astype(np.float64), view.asked_limit_s[asked]], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        values[asked] = np.array([function(view.keys[int(k)], s) for k, s in distinct.tolist()])[which.ravel()]
    return values
