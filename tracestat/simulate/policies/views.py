"""What a policy may know when a pause starts: one type per kind of knowledge, so that its argument says what it reads.

A row is a round, and stands for the pause after it. Of pauses a scheduler sees only those that are over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import UsageError
from tracestat.simulate.forms import END, TOOL, Workload

__all__ = ["Key", "OracleView", "SchedulerView", "oracle_view", "replayed_rounds", "scheduler_view"]

Key: TypeAlias = tuple[str | None, ...]
_Item = TypeVar("_Item", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SchedulerView:
    """What any scheduler can see at the start of each pause.

    Attributes
    ----------
    keys : tuple of tuple of (str or None)
        Provider, tool class, tool of the distinct kinds of pauses.
    key : ndarray of int, shape (R,)
        Place in ``keys``.
    waits_for_tool : ndarray of bool, shape (R,)
        Whether the answer called a tool; else a person is awaited, or nobody: that looks the same.
    context : ndarray of int, shape (R,)
        Tokens of the session's cache.
    asked_limit_s : ndarray of float, shape (R,)
        Seconds that the call was given, from the start of the pause; NaN where none was asked for.
    rounds_before : ndarray of int, shape (R,)
        Rounds of this session that are over.
    waited_before_s : ndarray of float, shape (R,)
        Seconds of all its pauses so far.
    tool_seen : ndarray of int, shape (R,)
        Tool pauses of the same tool so far, of all sessions in the order in which the view was made.
    tool_seen_s : ndarray of float, shape (R,)
        Seconds of those.
    store_path : {"lmcache", "native"} or None
        Way to the host tier; None where there is none.
    """

    keys: tuple[Key, ...]
    key: NDArray[np.int64]
    waits_for_tool: NDArray[np.bool_]
    context: NDArray[np.int64]
    asked_limit_s: NDArray[np.float64]
    rounds_before: NDArray[np.int64]
    waited_before_s: NDArray[np.float64]
    tool_seen: NDArray[np.int64]
    tool_seen_s: NDArray[np.float64]
    store_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OracleView:
    """What nobody knows: when each pause ends.

    Attributes
    ----------
    scheduler : SchedulerView
    pause_s : ndarray of float, shape (R,)
        Seconds; NaN after the last round of a session.
    """

    scheduler: SchedulerView
    pause_s: NDArray[np.float64]


def scheduler_view(workload: Workload, order: ArrayLike, *, store_path: str | None) -> SchedulerView:
    """Make what a scheduler sees of a workload.

    Parameters
    ----------
    workload : Workload
    order : array_like of int
        Sessions in the order in which they are replayed, as ``Start.order.T``: each counts where it comes first, and
        those that do not come at all are last.
    store_path : {"lmcache", "native"} or None

    Raises
    ------
    UsageError
        A session that the workload does not have.

    Notes
    -----
    A scheduler of many sessions has seen some pauses of each that runs. Which ones hangs on the run, and a plan is made
    before it: here sessions follow each other in the order given, each seen to its end before the next starts.
    """
    replayed = replayed_rounds(workload, order)
    start = np.repeat(workload.off[:-1], np.diff(workload.off))
    rounds_before = np.arange(workload.pause.size) - start
    ended = np.where(workload.kind == END, 0.0, np.nan_to_num(workload.pause))
    keys, key = _keys(workload)
    seen, seen_s = _seen(workload, replayed)
    return SchedulerView(
        keys=keys,
        key=_fixed(key),
        waits_for_tool=_fixed(workload.kind == TOOL),
        context=_fixed(workload.context),
        asked_limit_s=_fixed(workload.deadline),
        rounds_before=_fixed(rounds_before),
        waited_before_s=_fixed(_before(ended, workload.off[1:])),
        tool_seen=_fixed(seen),
        tool_seen_s=_fixed(seen_s),
        store_path=store_path,
    )


def replayed_rounds(workload: Workload, order: ArrayLike) -> NDArray[np.int64]:
    """Give the rounds in the order of the replay; parameters and errors as `scheduler_view`."""
    sessions = np.asarray(order, dtype=np.int64).ravel()
    n_sessions = workload.off.size - 1
    if sessions.size and not 0 <= sessions.min() <= sessions.max() < n_sessions:
        raise UsageError(f"order: the sessions of this workload are 0 to {n_sessions - 1}")
    distinct, first = np.unique(np.concatenate((sessions, np.arange(n_sessions))), return_index=True)
    sessions = distinct[np.argsort(first)]
    lengths = np.diff(workload.off)[sessions]
    before = np.cumsum(lengths) - lengths
    return np.repeat(workload.off[:-1][sessions] - before, lengths) + np.arange(workload.pause.size)


def oracle_view(workload: Workload, view: SchedulerView) -> OracleView:
    """Add to what a scheduler sees when each pause ends."""
    return OracleView(
        scheduler=view, pause_s=_fixed(np.where(workload.kind == END, np.nan, workload.pause.astype(np.float64)))
    )


def _keys(workload: Workload) -> tuple[tuple[Key, ...], NDArray[np.int64]]:
    names = (tuple(sorted(set(workload.providers))), workload.class_names, workload.tool_names)
    places = {provider: place for place, provider in enumerate(names[0])}
    of_session = np.array([places[provider] for provider in workload.providers], dtype=np.int64)
    provider = np.repeat(of_session, np.diff(workload.off))
    codes = np.stack([provider, workload.klass.astype(np.int64), workload.tool.astype(np.int64)], axis=1)
    distinct, key = np.unique(codes, axis=0, return_inverse=True)
    keys = tuple(
        tuple(of[code] if code >= 0 else None for of, code in zip(names, row, strict=True)) for row in distinct.tolist()
    )
    return keys, key.ravel().astype(np.int64)


def _seen(workload: Workload, replayed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the tool pauses of the same tool before each round as they are replayed, and add them up."""
    # by tool, within it as replayed
    place = replayed[np.argsort(workload.tool[replayed], kind="stable")]
    counts = (workload.kind[place] == TOOL).astype(np.float64)
    seconds = np.where(counts > 0, workload.pause[place], 0.0)
    ends = np.append(np.flatnonzero(np.diff(workload.tool[place])) + 1, place.size)
    seen, seen_s = np.zeros(place.size, dtype=np.int64), np.zeros(place.size)
    seen[place] = _before(counts, ends)
    seen_s[place] = _before(seconds, ends)
    return seen, seen_s


def _before(values: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up the values before each place, by group: differences of sums would know later ones by rounding."""
    sums = np.zeros(values.size)
    start = 0
    for end in ends.tolist():
        sums[start + 1 : end] = np.cumsum(values[start : end - 1])
        start = end
    return sums


def _fixed(values: NDArray[_Item]) -> NDArray[_Item]:
    copy = values.copy()
    copy.flags.writeable = False
    return copy
