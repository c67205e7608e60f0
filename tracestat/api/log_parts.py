"""The parts of ``summary`` that only raw logs fill: asked limits, and the waits before calls really started.

Both are about calls by the wall clock. Where no call knows them, one small query is all that they cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import split_by_key
from tracestat.api.curves import curves_of
from tracestat.durations import (
    Selection,
    select_start_waits,
    summary_known,
    summary_limits,
    summary_start_waits,
)
from tracestat.resample import sum_by
from tracestat.results import NOT_AVAILABLE, AskedLimit, Interval, StartWait
from tracestat.survival.headline import headline
from tracestat.survival.proportion import clustered_share
from tracestat.survival.shares import share_of_time

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace
    from tracestat.survival.clustered import ClusteredCurve

__all__ = ["SELECTED_STARTS", "LogParts", "log_parts", "share_of_sums"]

SELECTED_STARTS = (
    "waits before the start are known only where a log shows the start (Claude Code: in some versions, for calls that "
    "ran about 2 s or more, to about 0.5 s): a selected sample, and its figures hold for these calls alone"
)

Key = tuple[Any, ...]
Floats = NDArray[np.float64]
_ONLY_ENDED = "{n:,} calls of {tools} ended on a limit known only because they did: no share of those that asked for it"
_ONE_SESSION = "one session: no interval"
_NONE_ENDED = "no call ended on it: no interval"
_ALL_ENDED = "every call ended on it: no interval"
_NO_RESULT = "no call has a result"
_NO_START = "no start is known"
_MIN_N = "{n} rows, {min_n} asked for"


@dataclass(frozen=True, slots=True)
class LogParts:
    """Both parts of one group; empty where its calls do not know them."""

    limits: tuple[AskedLimit, ...] = ()
    start_waits: tuple[StartWait, ...] = ()
    notes: tuple[str, ...] = ()


def log_parts(trace: Trace, selection: Selection, min_n: int) -> Mapping[Key, LogParts]:
    """Make both parts of every group that knows any.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        Calls by the wall clock, as :func:`tracestat.durations.select` has just set them.
    min_n : int
        Rows below which nothing is estimated.

    Returns
    -------
    mapping
        By the key of the group. The view ``durations`` stands for the waits afterwards: select again.
    """
    known = summary_known(trace)
    parts: dict[Key, LogParts] = {}
    if known.n_limits:
        for key, frame in split_by_key(summary_limits(trace, selection), selection).items():
            complete = frame.filter(frame["complete"])
            limits = tuple(_limits(complete, min_n)) if complete.height else ()
            parts[key] = LogParts(limits, notes=_not_estimable(frame.filter(~frame["complete"])))
    if known.n_starts:
        for key, waits in _start_waits(trace, selection, min_n).items():
            parts[key] = replace(parts.get(key, LogParts()), start_waits=waits)
    return parts


def _not_estimable(frame: pl.DataFrame) -> tuple[str, ...]:
    ended = int(frame["n_ended"].sum())
    if not ended:
        return ()
    tools = sorted({str(tool) for tool in frame["limit_tool"].to_list()})
    return (_ONLY_ENDED.format(n=ended, tools=", ".join(tools)),)


def _limits(frame: pl.DataFrame, min_n: int) -> Iterator[AskedLimit]:
    """Give a row per tool and limit, the most asked for first."""
    names = ["limit_provider", "limit_tool", "limit_seconds"]
    found = []
    for (provider, tool, limit), part in frame.group_by(names, maintain_order=True):
        seen = (part["n"] - part["n_unseen"]).to_numpy().astype(np.float64)
        ended = part["n_ended"].to_numpy().astype(np.float64)
        developer, n_developers = _codes(part["developer_id"].filter(part["n"] > part["n_unseen"]))
        share, note = _share(ended[seen > 0], seen[seen > 0], developer, n_developers, min_n)
        found.append(
            AskedLimit(
                provider=provider,
                tool=tool,
                asked_limit_seconds=float(limit),
                n_asked=int(part["n"].sum()),
                n_ended=int(ended.sum()),
                n_unseen=int(part["n_unseen"].sum()),
                share=share,
                seconds_ended=float(part["seconds_ended"].sum()),
                n_sessions=int((seen > 0).sum()),
                n_developers=n_developers,
                notes=(note,) if note else (),
            )
        )
    return iter(sorted(found, key=lambda r: (-r.n_asked, str(r.provider), str(r.tool), r.asked_limit_seconds)))


def _share(
    ended: Floats, seen: Floats, developer: NDArray[np.intp], n_developers: int, min_n: int
) -> tuple[Interval, str | None]:
    session = clustered_share(ended, seen)
    by_developer = clustered_share(sum_by(ended, developer, n_developers), sum_by(seen, developer, n_developers))
    if session is None or by_developer is None:
        return NOT_AVAILABLE, _NO_RESULT
    if seen.sum() < min_n:
        return NOT_AVAILABLE, _MIN_N.format(n=int(seen.sum()), min_n=min_n)
    note = None
    if session.value in (0.0, 1.0):
        note = _ALL_ENDED if session.value else _NONE_ENDED
    elif session.low is None:
        note = _ONE_SESSION
    return headline(session, by_developer), note


def _codes(ids: pl.Series) -> tuple[NDArray[np.intp], int]:
    values, codes = np.unique(ids.to_numpy(), return_inverse=True)
    return codes.astype(np.intp), values.size


def _start_waits(trace: Trace, selection: Selection, min_n: int) -> Mapping[Key, tuple[StartWait, ...]]:
    sums = summary_start_waits(trace, selection)
    # the keys of a curve are checked names; a mode that is a key already splits nothing further
    modes = selection.keys if "permission_mode" in selection.keys else (*selection.keys, "permission_mode")
    by_mode = replace(selection, keys=modes)
    place = modes.index("permission_mode")
    select_start_waits(trace)
    curves = curves_of(trace, by_mode)
    whole = len(selection.keys)
    found: dict[Key, dict[str | None, ClusteredCurve]] = {}
    for values, curve in curves.items():
        key = values[:whole] if selection.keys else (True,)
        mode: Any = values[place]
        found.setdefault(key, {})[mode] = curve
    out = {}
    for key, frame in split_by_key(sums, selection).items():
        if key in found:
            parts = []
            for part in frame.partition_by("wait_mode", maintain_order=True):
                mode = part["wait_mode"][0]
                parts.append(_start_wait(mode, part, found[key].get(mode), min_n))
            out[key] = tuple(sorted(parts, key=lambda w: (-w.n_known, -w.n, str(w.permission_mode))))
    return out


def _start_wait(mode: str | None, frame: pl.DataFrame, curve: ClusteredCurve | None, min_n: int) -> StartWait:
    own = frame.filter(frame["n_known"] > 0)
    developer, n_developers = _codes(own["developer_id"])
    n_known, seconds, waited = (float(own[name].sum()) for name in ("n_known", "seconds", "wait_seconds"))
    median = p90 = of_time = NOT_AVAILABLE
    notes: list[str] = []
    if curve is None:
        notes.append(_NO_START)
    elif n_known < min_n:
        notes.append(_MIN_N.format(n=int(n_known), min_n=min_n))
    else:
        # every wait was seen to its end, so that no quantile lies beyond the last one
        median, p90 = (curve.quantile(q) or NOT_AVAILABLE for q in (0.5, 0.9))
        of_time = share_of_sums(own["seconds"].to_numpy(), own["wait_seconds"].to_numpy(), developer)
        if own.height < 2:
            notes.append(_ONE_SESSION)
    return StartWait(
        permission_mode=mode,
        n=int(frame["n"].sum()),
        n_known=int(n_known),
        median=median,
        p90=p90,
        of_time=of_time,
        wait_seconds=waited,
        seconds=seconds,
        n_sessions=own.height,
        n_developers=n_developers,
        notes=tuple(notes),
    )


def share_of_sums(whole: Floats, part: Floats, developer: NDArray[np.intp]) -> Interval:
    """Give a share of sums by session and by developer.

    Parameters
    ----------
    whole, part : ndarray, shape (S,)
        Sums of each session.
    developer : ndarray of int, shape (S,)
        Developer of each session, from 0 without gaps.

    Examples
    --------
    >>> share_of_sums(np.array([2.0, 4.0]), np.array([1.0, 2.0]), np.array([0, 1])).value
    0.5
    """
    n = int(developer.max(initial=-1)) + 1
    session = share_of_time(whole, part)
    by_developer = share_of_time(sum_by(whole, developer, n), sum_by(part, developer, n))
    if session is None or by_developer is None:
        return NOT_AVAILABLE
    return headline(session, by_developer)
