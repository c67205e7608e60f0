"""Plans from arrays: what policies leave out is LRU, no pin, no prefetch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracestat.hardware import Hardware
from tracestat.simulate.forms import LRU, Plan
from tracestat.simulate.policies.transfers import lead_seconds
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["ahead_of", "plan_of"]

Floats = NDArray[np.float64]


def plan_of(
    view: SchedulerView,
    *,
    rank: int = LRU,
    pin_s: Floats | None = None,
    prefetch_at_s: Floats | None = None,
    demote_at_start: NDArray[np.bool_] | None = None,
    expected_remaining_s: Floats | None = None,
) -> Plan:
    """Give a plan for all rounds of a view."""
    n = view.context.size
    return Plan(
        rank=rank,
        pin_s=np.zeros(n) if pin_s is None else pin_s,
        prefetch_at_s=np.full(n, np.nan) if prefetch_at_s is None else prefetch_at_s,
        demote_at_start=demote_at_start,
        expected_remaining_s=expected_remaining_s,
    )


def ahead_of(view: SchedulerView, hardware: Hardware, return_s: Floats) -> Floats:
    """Give when to prefetch for returns at these seconds of the pause: one lead before, from its start on; NaN: never.

    Without a host tier there is nothing to load.
    """
    early = return_s - lead_seconds(view, hardware)
    return np.where(np.isnan(early), np.nan, np.maximum(early, 0.0))
