"""The constants of each round: what the file says of its key, looked up once per key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracestat.constants import Constants, KeyConstants, Workload
from tracestat.errors import UsageError
from tracestat.policy import PauseLaw
from tracestat.simulate.policies.views import Key, SchedulerView

__all__ = ["eta_of", "law_quantile", "per_key", "per_round", "workload_of"]

T = TypeVar("T")


def workload_of(constants: Constants) -> Workload:
    """Give the half of the constants that a trace made.

    Raises
    ------
    UsageError
        It is missing.
    """
    if constants.workload is None:
        raise UsageError(
            "constants: they hold no workload, which this policy reads; make them with "
            "`tracestat export constants TRACE`"
        )
    return constants.workload


def per_key(view: SchedulerView, function: Callable[[Key], T]) -> list[T]:
    """Ask a function of each distinct key of the view."""
    return [function(key) for key in view.keys]


def per_round(view: SchedulerView, function: Callable[[Key], float]) -> NDArray[np.float64]:
    """Ask a function of each distinct key, and give its number to each tool pause; NaN to all other pauses."""
    values = np.array(per_key(view, function), dtype=np.float64)
    given = values[view.key] if values.size else np.zeros(view.key.size)
    return np.where(view.waits_for_tool, given, np.nan)


def eta_of(workload: Workload, provider: str | None, unit: Literal["session", "request"]) -> float | None:
    """Give the memoryfulness that the constants estimate for a provider; None with too few finished programs."""
    for programs in workload.memoryfulness:
        if (programs.provider, programs.unit) == (provider, unit):
            return programs.eta.value
    return None


def law_quantile(law: PauseLaw, share: float, key: KeyConstants) -> float:
    """Give the seconds by which a share of the pauses is over; beyond the law by the power law of its key, or NaN.

    Parameters
    ----------
    law : PauseLaw
    share : float
        Above 0 and below 1.
    key : KeyConstants

    Raises
    ------
    UsageError
        A share that is none.
    """
    if not 0 < share < 1:
        raise UsageError(f"quantile {share}: give a share above 0 and below 1")
    left = 1 - share
    under = np.flatnonzero(law.survival <= left)
    if not under.size:
        last = float(law.survival[-1])
        return law.last * (last / left) ** (1 / key.tail_alpha) if key.tail_alpha else float("nan")
    i = int(under[0])
    # on a jump, or on the straight piece that leads to it
    if i == 0 or law.before[i] > left:
        return float(law.times[i])
    fall = float(law.survival[i - 1] - law.before[i])
    part = (float(law.survival[i - 1]) - left) / fall if fall > 0 else 1.0
    return float(law.times[i - 1] + part * (law.times[i] - law.times[i - 1]))
