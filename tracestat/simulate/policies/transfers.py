"""How long a paused cache takes to come back: what leads and benefits are made of. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracestat.hardware import Hardware
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["lead_seconds", "prefill_of", "reload_seconds", "restore_seconds"]

Floats = NDArray[np.float64]


def reload_seconds(view: SchedulerView, hardware: Hardware) -> Floats:
    """Give the seconds in which the whole context comes from the host; NaN where there is no host tier.

    Upper bound: what is still on the GPU is not loaded.
    """
    if view.store_path is None:
        return np.full(view.context.size, np.nan)
    store = hardware.stores[view.store_path]
    return np.asarray(store.load_fixed + store.load_per_token * view.context, dtype=np.float64)


def lead_seconds(view: SchedulerView, hardware: Hardware) -> Floats:
    """Give how long before a return its prefetch has to start: `reload_seconds` and the step under way.

    That step is an empty one [choice]: what else it computes is not known beforehand.
    """
    return reload_seconds(view, hardware) + hardware.step.base


def restore_seconds(view: SchedulerView, hardware: Hardware) -> Floats:
    """Give Continuum's R: the reload where there is a host tier, else the prefill of the whole context."""
    if view.store_path is None:
        return prefill_of(hardware, view.context)
    return reload_seconds(view, hardware)


def prefill_of(hardware: Hardware, tokens: NDArray[np.int64]) -> Floats:
    """Give the seconds of a cold prefill, as `tracestat.hardware.timing.prefill_seconds` for each of an array."""
    step, budget = hardware.step, hardware.max_batched_tokens
    whole, rest = np.divmod(tokens, budget)
    dense = whole * _dense(hardware, np.asarray(budget)) + np.where(rest > 0, _dense(hardware, rest), 0.0)
    # chunks telescope
    return np.asarray(dense + step.attention * tokens.astype(np.float64) ** 2 / 2, dtype=np.float64)


def _dense(hardware: Hardware, tokens: NDArray[np.int64]) -> Floats:
    step = hardware.step
    linear = step.per_token * tokens
    whole = step.base + linear if step.form == "additive" else np.maximum(step.base, step.floor + linear)
    return np.asarray(whole, dtype=np.float64)
