"""Whether a policy knows what it cannot: the plan for a pause must not hang on that pause, or on a later one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.constants import Constants
from tracestat.simulate.forms import END, Plan, Workload
from tracestat.simulate.policies.loading import Policy
from tracestat.simulate.policies.views import replayed_rounds, scheduler_view

__all__ = ["find_leak"]


def find_leak(
    policy: Policy, workload: Workload, constants: Constants, order: ArrayLike, *, store_path: str | None, seed: int = 0
) -> int | None:
    """Look for a round whose plan changes when its own pause and all that follow it are others.

    Parameters
    ----------
    policy : callable
        Of a `SchedulerView`.
    workload : Workload
    constants : Constants
    order, store_path
        As `scheduler_view`.
    seed : int
        Of the other pauses, and of up to 32 places of the replay from which on they are others.

    Returns
    -------
    int or None
        The round; None where none was found.
    """
    replayed = replayed_rounds(workload, order)
    if not replayed.size:
        return None
    rng = np.random.default_rng(seed)
    plan = policy(scheduler_view(workload, order, store_path=store_path), constants)
    for place in np.unique(np.append(0, rng.integers(0, replayed.size, size=31))).tolist():
        later = replayed[place:]
        pause = workload.pause.copy()
        pause[later] = np.where(workload.kind[later] == END, pause[later], rng.lognormal(1.0, 3.0, later.size))
        other = policy(scheduler_view(replace(workload, pause=pause), order, store_path=store_path), constants)
        # the first of those whose pause is another, and all before it, know nothing of it
        rows = replayed[: place + 1]
        different = np.flatnonzero(_different(plan, other, rows))
        if different.size:
            return int(rows[different[0]])
    return None


def _different(plan: Plan, other: Plan, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell of which rounds two plans differ."""
    found = np.full(rows.size, plan.rank != other.rank)
    for name in ("pin_s", "prefetch_at_s", "demote_at_start", "expected_remaining_s"):
        one, two = getattr(plan, name), getattr(other, name)
        if (one is None) != (two is None):
            found[:] = True
        elif one is not None:
            # NaN is NaN
            found |= (one[rows] != two[rows]) & ~((one[rows] != one[rows]) & (two[rows] != two[rows]))
    return found
