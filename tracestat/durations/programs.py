"""Programs, that is sessions and requests, and how many rounds each has."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracestat.durations.selection import Selection, run_on
from tracestat.errors import UsageError
from tracestat.filters import check_keys, parse_where, time_range, zone_name
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["PROGRAM_KEYS", "Copies", "program_copies", "program_turns", "select_programs"]

PROGRAM_KEYS = ("provider", "developer", "project", "session", "model", "day", "week", "hour", "weekday")


@dataclass(frozen=True, slots=True)
class Copies:
    """Rounds of a trace that repeat an earlier one, and sessions that hold nothing else."""

    rounds: int
    sessions: int


def select_programs(
    trace: Trace,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
) -> Selection:
    """Check keys and filters, and lay the view ``programs`` over this trace.

    Raises
    ------
    UsageError
        A key, column or date that does not exist, or a key that belongs to single calls.
    """
    zone = zone_name(tz)
    zone_info = zoneinfo.ZoneInfo(zone)
    keys, condition = check_keys(by), parse_where(where, zone_info)
    _of_programs(keys, "--by")
    # values are bound, so that what stands in quotes is a column
    _of_programs([name for name in re.findall(r'"(\w+)"', condition.sql) if name != "started_at"], "--where")
    trace.run(query_text("set_zone"), {"zone": zone})
    trace.run(query_text("program_rows"))
    return Selection(
        rows="all",
        keys=keys,
        where=condition,
        period=time_range(since, until, zone_info),
        zone=zone,
        since=since,
        until=until,
    )


def _of_programs(names: Sequence[str], option: str) -> None:
    for name in names:
        if name not in PROGRAM_KEYS:
            raise UsageError(
                f"{option} {name}: a session or request has many of it; keys of programs are {', '.join(PROGRAM_KEYS)}"
            )


def program_turns(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count programs by their number of rounds, per key, unit and session: ``queries/program_turns.sql``."""
    return run_on(trace, "program_turns", selection)


def program_copies(trace: Trace) -> Copies:
    """Count the rounds of the whole trace that repeat an earlier one: ``queries/program_copies.sql``."""
    row = trace.run(query_text("program_copies")).row(0, named=True)
    return Copies(int(row["copied_rounds"]), int(row["copied_sessions"]))
