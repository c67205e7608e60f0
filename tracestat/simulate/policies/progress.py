"""The signal of a tool that reports how far it is: what "Ask the Tool" reads.

Made of the true pauses, as a tool would make it; a policy gets the signal and not the pause.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.simulate.forms import Workload
from tracestat.simulate.policies.views import SchedulerView

__all__ = ["ProgressView", "log_spread", "progress_view"]

_CLASSES: Final = ("shell", "poll", "agent")
_SHORTEST: Final = 2.0
_CARRIES: Final = 0.5
# share of the pause at which an estimate of all of it is there, and the median of its absolute relative error
_POINTS: Final = ((0.5, 0.218), (0.9, 0.090))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgressView:
    """What a scheduler sees whose tools report progress.

    Attributes
    ----------
    scheduler : SchedulerView
    known_at_s : ndarray of float, shape (R, 2)
        Seconds from the start of the pause at which the half-way and the late report come; NaN without a signal.
    total_s : ndarray of float, shape (R, 2)
        Length of the pause by that report, seconds; not below the time that has passed.
    """

    scheduler: SchedulerView
    known_at_s: NDArray[np.float64]
    total_s: NDArray[np.float64]


def progress_view(workload: Workload, view: SchedulerView, *, seed: int) -> ProgressView:
    """Draw the signal: half of the tool pauses over 2 s of classes shell, poll and agent carry one.

    Parameters
    ----------
    workload : Workload
    view : SchedulerView
        Of that workload.
    seed : int
        A round draws by its place, whatever the others are.

    Notes
    -----
    The two errors of a pause are independent [choice].

    References
    ----------
    .. [1] Ask the Tool (2026), arXiv 2609.18849: errors at half and at nine tenths of a call.
    """
    rng = np.random.default_rng(seed)
    n = workload.pause.size
    carries = rng.random(n) < _CARRIES
    error = rng.standard_normal((n, len(_POINTS)))
    of_class = np.array([key[1] in _CLASSES for key in view.keys], dtype=bool)
    with np.errstate(invalid="ignore"):
        carries &= of_class[view.key] & view.waits_for_tool & (workload.pause > _SHORTEST)
    pause = np.where(carries, workload.pause, np.nan)[:, np.newaxis]
    known_at = pause * np.array([share for share, _ in _POINTS])
    total = pause * np.exp(error * np.array([log_spread(median) for _, median in _POINTS]))
    known_at.flags.writeable = False
    total = np.maximum(total, known_at)
    total.flags.writeable = False
    return ProgressView(scheduler=view, known_at_s=known_at, total_s=total)


def log_spread(median_error: float) -> float:
    """Give the sigma of a log-normal factor around 1 whose absolute relative error has this median.

    Parameters
    ----------
    median_error : float
        m, above 0 and below 1.

    Notes
    -----
    Solves ``Phi(ln(1 + m) / sigma) - Phi(ln(1 - m) / sigma) = 1/2``.

    Examples
    --------
    >>> round(log_spread(0.218), 3)
    0.328
    """
    low, high = 1e-6, 10.0
    for _ in range(100):
        sigma = (low + high) / 2
        inside = _normal(math.log1p(median_error) / sigma) - _normal(math.log1p(-median_error) / sigma)
        low, high = (sigma, high) if inside > 1 / 2 else (low, sigma)
    return (low + high) / 2


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2
