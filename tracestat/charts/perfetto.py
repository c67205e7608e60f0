"""A session as a trace for ui.perfetto.dev: JSON of trace events, a thread per track.

Perfetto drops slices of one thread that overlap without lying in one another, so every track of a lane is a thread of
its own.
"""

from __future__ import annotations

import datetime as dt

from tracestat.charts.captions import SYNTHETIC
from tracestat.charts.words import drawn
from tracestat.results import Bar, Json, TimelineResult, as_json

__all__ = ["perfetto_trace"]

_PROCESS = 1
_LANES = {"step": "steps", "model": "model", "wait": "waits", "tool": "tools", "job": "jobs", "agent": "sub-agents"}
_ARGUMENTS = (
    *("tool", "tool_class", "command_skeleton", "n_calls", "end_kind", "observed", "asked_limit_seconds"),
    *("approval_seconds", "model", "input_tokens", "output_tokens", "round_index", "session", "start_known"),
)


def perfetto_trace(result: TimelineResult) -> dict[str, Json]:
    """Give a session as JSON data in the Trace Event Format.

    Parameters
    ----------
    result : TimelineResult

    Returns
    -------
    dict
        One object: ``traceEvents`` (``X`` events with times in microseconds since the session's begin, ``M`` events
        with the names of tracks), ``displayTimeUnit``, ``otherData`` (how it was made).
    """
    head, facts = result.head, result.session
    mark = f"{SYNTHETIC}: " if head.synthetic else ""
    threads: dict[tuple[str, int], int] = {}
    for lane, track in [*([("step", 0)] if result.steps else []), *result.tracks()]:
        threads[lane, track] = len(threads) + 1
    events: list[Json] = [_named("process_name", f"{mark}session {drawn(facts.session)}")]
    for (lane, track), thread in threads.items():
        more = f" {track + 1}" if (lane, 1) in threads else ""
        events.append(_named("thread_name", f"{_LANES[lane]}{more}", thread))
        events.append({**_named("thread_sort_index", "", thread), "args": {"sort_index": thread}})
    zero = facts.started_at
    events += [_slice(bar, threads[bar.lane, bar.track], zero) for bar in (*result.steps, *result.bars)]
    made = {name: as_json(getattr(head, name)) for name in ("schema", "tracestat", "synthetic", "trace")}
    other = {**made, "session": facts.session, "started_at": None if zero is None else f"{zero.isoformat()}Z"}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}


def _named(what: str, name: str, thread: int = _PROCESS) -> dict[str, Json]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": thread, "args": {"name": name}}


def _slice(bar: Bar, thread: int, zero: dt.datetime | None) -> dict[str, Json]:
    arguments: dict[str, Json] = {
        name: getattr(bar, name)
        for name in _ARGUMENTS
        if getattr(bar, name) is not None and (name != "start_known" or not bar.start_known)
    }
    microsecond = dt.timedelta(microseconds=1)
    return {
        "ph": "X",
        "name": _name(bar),
        "cat": bar.state,
        "pid": _PROCESS,
        "tid": thread,
        "ts": 0 if zero is None else (bar.started_at - zero) // microsecond,
        "dur": (bar.ended_at - bar.started_at) // microsecond,
        "args": arguments,
    }


def _name(bar: Bar) -> str:
    if bar.lane == "agent":
        return drawn(bar.session or "sub-agent")
    return drawn(bar.tool or bar.model or bar.state) if bar.state != "model" else drawn(bar.model or "model")
