"""The sessions that a run can reach: a run of an hour plays a few hundred, whatever the trace holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracestat.simulate.forms import END, Requests, Start, Workload

if TYPE_CHECKING:
    from tracestat.hardware import Hardware

__all__ = ["Reached", "reached", "sessions_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """A part of a workload that plays as the whole does.

    Attributes
    ----------
    workload : Workload
    start : Start
        Of the sessions of that part.
    sessions, rounds : ndarray of int, shape (S,) and (R,)
        Their numbers in the whole.
    """

    workload: Workload
    start: Start
    sessions: Ints
    rounds: Ints

    def in_whole(self, requests: Requests) -> Requests:
        """Give the requests with the numbers of the whole workload."""
        return replace(requests, session=self.sessions[requests.session], round=self.rounds[requests.round])


def reached(workload: Workload, start: Start, horizon: float, hardware: Hardware) -> Reached:
    """Keep the sessions that slots can reach before the horizon.

    Parameters
    ----------
    workload : Workload
    start : Start
    horizon : float
        Seconds.
    hardware : Hardware

    Notes
    -----
    A session lasts at least its pauses and an engine step per output token. One that outgrows the pool ends there, and
    is taken to last no longer than its rounds before. Each slot keeps its order; from the end of what is left it would
    go on at its beginning, but the horizon comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from tracestat.hardware import load_hardware
    >>> from tracestat.simulate.start import make_start
    >>> n = np.arange(100)
    >>> workload = Workload(
    ...     off=np.arange(101), prefix=n * 0, append=n + 16, out=n * 0 + 100, pause=n * 0.0,
    ...     kind=np.full(100, 2, np.int8), deadline=n * np.nan, klass=n.astype(np.int32) * 0,
    ...     tool=n.astype(np.int32) * 0, class_names=("shell",), tool_names=("Bash",), providers=("claude",) * 100)
    >>> part = reached(workload, make_start(workload, 2, 0), 10.0, load_hardware())
    >>> part.start.order.shape, part.sessions.size
    ((2, 12), 24)
    """
    n_each = _needed(workload, start, horizon, hardware)
    order = start.order[:, :n_each]
    sessions = np.unique(order)
    part, rounds = sessions_of(workload, sessions)
    return Reached(
        workload=part,
        start=Start(order=np.searchsorted(sessions, order), start_round=start.start_round.copy()),
        sessions=sessions,
        rounds=rounds,
    )


def sessions_of(workload: Workload, sessions: Ints) -> tuple[Workload, Ints]:
    """Give some sessions of a workload, in the order given, and their rounds in the whole."""
    lengths = np.diff(workload.off)[sessions]
    ends = np.cumsum(lengths)
    rounds = np.repeat(workload.off[sessions] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    names = ("prefix", "append", "out", "pause", "kind", "deadline", "klass", "tool")
    part = replace(
        workload,
        off=np.concatenate([[0], ends]),
        providers=tuple(workload.providers[session] for session in sessions.tolist()),
        **{name: getattr(workload, name)[rounds] for name in names},
    )
    return part, rounds


def _needed(workload: Workload, start: Start, horizon: float, hardware: Hardware) -> int:
    """Give how many sessions of each slot are enough for the horizon."""
    n = int(start.order.shape[1])
    if n == 1:
        return 1
    least = np.where(workload.kind == END, 0.0, np.nan_to_num(workload.pause)) + workload.out * hardware.step.base
    too_large = workload.context + hardware.block_tokens > hardware.pool_tokens
    before = np.concatenate([[0], np.cumsum(too_large)])[:-1]
    first = np.repeat(workload.off[:-1], np.diff(workload.off))
    # from the first round on that may not fit nothing is sure
    least[too_large | (before > before[first])] = 0.0
    sums = np.concatenate([[0.0], np.cumsum(least)])
    off = workload.off[start.order]
    seconds = sums[workload.off[start.order + 1]] - sums[off]
    seconds[:, 0] = sums[workload.off[start.order[:, 0] + 1]] - sums[off[:, 0] + start.start_round]
    # a little more than the horizon: sums round
    enough = np.cumsum(seconds, axis=1) > horizon * (1 + 1e-9)
    slots_done = enough.any(axis=1)
    return n if not slots_done.all() else min(n, int(enough.argmax(axis=1).max()) + 2)
