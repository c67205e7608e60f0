"""``timeline``: one session, found by its id and laid out in time."""

from __future__ import annotations

import dataclasses
import zoneinfo
from collections.abc import Iterable
from typing import Any

from tracestat.api.common import TraceLike, as_trace, head_of
from tracestat.api.session_layout import Layout
from tracestat.durations import Selection
from tracestat.errors import UsageError
from tracestat.filters import parse_time, zone_name
from tracestat.queries import query_text
from tracestat.results.timeline import TimelineResult
from tracestat.store import Trace

__all__ = ["session_timeline"]

_MOST_NAMED = 3


def session_timeline(
    trace: TraceLike, session: str, *, since: str | None = None, until: str | None = None, tz: str | None = None
) -> TimelineResult:
    """Lay one session out in time: the model's answers, tools, polls, waits for a person, sub-agents, jobs.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    session : str
        The id of a session or its unambiguous begin, with or without the provider before it; ``developer/id`` where
        several developers have it; ``longest`` (by time) or ``latest``.
    since, until : str, optional
        Only what started at or after, and before, these times.
    tz : str, optional
        Time zone of these and of the result's texts; that of this machine by default.

    Returns
    -------
    TimelineResult

    Raises
    ------
    UsageError
        No session, or more than one, is meant.

    Examples
    --------
    >>> import tracestat
    >>> shown = tracestat.session_timeline(tracestat.open(), "longest")
    >>> sum(total.seconds for total in shown.totals) <= shown.session.span_seconds
    True
    """
    zone = zone_name(tz)
    info = zoneinfo.ZoneInfo(zone)
    since_at = None if since is None else parse_time(since, info, option="--since")
    until_at = None if until is None else parse_time(until, info, option="--until")
    opened = as_trace(trace)
    found = _find(opened, session)
    layout = Layout(opened, found, since_at, until_at)
    selection = Selection(rows="all", zone=zone, since=since, until=until)
    head = head_of(opened, selection, "timeline", excluded=layout.excluded, notes=layout.notes)
    return TimelineResult(dataclasses.replace(head, unit=None), layout.facts, layout.totals, layout.steps, layout.bars)


def _find(trace: Trace, words: str) -> dict[str, Any]:
    """Give the one session that is meant."""
    wanted = words.strip()
    if wanted in ("longest", "latest"):
        rows = list(trace.run(query_text("timeline_extreme"), {"longest": wanted == "longest"}).iter_rows(named=True))
        if not rows:
            raise UsageError(f"session {wanted}: no session of this trace has a time; `tracestat keys` lists sessions")
        return rows[0]
    rows = []
    if wanted:
        rows = list(trace.run(query_text("timeline_sessions"), {"words": wanted}).iter_rows(named=True))
    exact = [row for row in rows if row["exact"]]
    rows = exact or rows
    if not rows:
        raise UsageError(
            f"session {wanted or '(empty)'}: not in this trace; `tracestat keys` lists sessions, longest and latest "
            "name one"
        )
    if len(rows) == 1:
        return rows[0]
    if len({row["session"] for row in rows}) == 1:
        whose = _listed(f"{row['developer']}/{row['session']}" for row in rows)
        raise UsageError(f"session {wanted}: {len(rows)} developers have it; write one of {whose}")
    names = _listed(str(row["session"]) for row in rows)
    raise UsageError(
        f"session {wanted}: {len(rows):,} sessions begin so ({names}); write more of it; `tracestat keys` "
        "lists sessions"
    )


def _listed(names: Iterable[str]) -> str:
    some = list(names)
    return ", ".join(some[:_MOST_NAMED]) + (", ..." if len(some) > _MOST_NAMED else "")
