"""P8, keep a paused cache while that wastes less than giving it away.

References
----------
.. [1] InferCept (2024), arXiv 2402.01869, equations (1) to (5).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.constants import Constants, shrunken_law
from tracestat.hardware import Hardware
from tracestat.policy import PauseLaw, chunked_discard_waste, swap_waste
from tracestat.simulate.forms import Plan
from tracestat.simulate.policies.lookup import per_key, workload_of
from tracestat.simulate.policies.plans import plan_of
from tracestat.simulate.policies.transfers import prefill_of, reload_seconds
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["p8"]

Floats = NDArray[np.float64]


def p8(
    view: SchedulerView,
    constants: Constants,
    *,
    remaining: Literal["law", "elapsed"] = "law",
    batch_tokens: float | None = None,
    window: float = 3600.0,
) -> Plan:
    """Pin each cache until what is left of its pause is expected to waste more than a swap or a discard.

    Parameters
    ----------
    view : SchedulerView
    constants : Constants
    remaining : {"law", "elapsed"}
        What is left: the mean residual life by the key's shrunken law, within ``window``; or, as InferCept has it
        where it knows nothing, as much as has passed.
    batch_tokens : float, optional
        C_batch, context of all requests in memory; C_other is what is left of it. Default: the pool is full.
    window : float
        Seconds.

    Notes
    -----
    Keeping wastes ``remaining C M``, so a cache is kept while what is left is below ``min(swap, discard) / (C M)``.
    Swap and discard are one thing to the plan: the host has a copy already, and eviction takes what is not pinned.
    Keys that the constants do not know fall back on ``elapsed``; nobody who waits for a person is pinned [choice].
    """
    bearable = _bearable(view, constants.hardware, batch_tokens)
    pin = bearable.copy()
    if remaining == "law":
        workload = workload_of(constants)
        for place, key in enumerate(per_key(view, lambda name: workload.find(*name))):
            if key is not None:
                mine = view.key == place
                pin[mine] = _until(shrunken_law(key, workload.grid), window, bearable[mine])
    return plan_of(view, pin_s=np.where(view.waits_for_tool, pin, 0.0))


def _bearable(view: SchedulerView, hardware: Hardware, batch_tokens: float | None) -> Floats:
    """Give the remaining seconds at which keeping wastes as much as the better of swap and discard."""
    batch = float(hardware.pool_tokens) if batch_tokens is None else batch_tokens
    size = hardware.kv_bytes_per_token
    reload = reload_seconds(view, hardware)
    contexts, first, which = np.unique(view.context, return_index=True, return_inverse=True)

    def forward(tokens: float) -> float:
        return float(prefill_of(hardware, np.array([round(tokens)]))[0])

    limits = []
    for context, at in zip(contexts.tolist(), first.tolist(), strict=True):
        others = max(0.0, batch - context)
        chunks = math.ceil(context / hardware.max_batched_tokens)
        waste = chunked_discard_waste(forward, context, others, size, chunks)
        if not np.isnan(reload[at]):
            waste = min(waste, swap_waste(float(reload[at]), context + others, size))
        limits.append(waste / (context * size))
    return np.array(limits, dtype=np.float64)[which.ravel()]


def _until(law: PauseLaw, window: float, bearable: Floats) -> Floats:
    """Give the first place of the law at which more than is bearable is left, else the last."""
    times = law.times[law.survival > 0]
    if not times.size:
        return np.zeros(bearable.size)
    end = np.interp(times + window, law.times, law.held)
    left = (end - law.held[: times.size]) / law.survival[: times.size]
    place = np.searchsorted(np.maximum.accumulate(left), bearable, side="right")
    return np.asarray(times[np.minimum(place, times.size - 1)], dtype=np.float64)
