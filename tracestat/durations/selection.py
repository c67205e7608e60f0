"""Which durations an answer is about: the three stated choices (unit, clock, what is left out), keys and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tracestat.errors import UsageError
from tracestat.filters import EVERYTHING, Filter, Value, check_keys, parse_where, render_keys, time_range, zone_name
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["Clock", "Definition", "Rows", "Selection", "Unit", "run_on", "select"]

Unit = Literal["pause", "call", "command"]
Clock = Literal["wall", "internal", "effective"]
Rows = Literal["tool", "human", "all"]
Definition = Literal["tracestat", "tracelab"]
_OF_ZONE = ("day", "week", "hour", "weekday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which durations an answer is about.

    Attributes
    ----------
    unit, clock, rows, definition : str
        The stated choices; under definition ``tracelab`` they are call, effective and all.
    keys : tuple of str
        What to group by; empty pools everything.
    where, period : Filter
        The user's condition, and the one on ``started_at``.
    zone : str
        Time zone of the keys day, week, hour and weekday.
    since, until : str or None
        The period as the user wrote it.
    """

    unit: Unit = "pause"
    clock: Clock = "wall"
    rows: Rows = "tool"
    definition: Definition = "tracestat"
    keys: tuple[str, ...] = ()
    where: Filter = EVERYTHING
    period: Filter = EVERYTHING
    zone: str = "UTC"
    since: str | None = None
    until: str | None = None

    @property
    def condition(self) -> str:
        """What stands in the ``{where}`` slot."""
        return f"({self.where.sql}) AND ({self.period.sql})"

    @property
    def depends_on_zone(self) -> bool:
        """Whether in another time zone other rows could take part, or stand under another key."""
        timed = any(f'"{name}"' in self.where.sql for name in (*_OF_ZONE, "started_at"))
        return timed or bool(self.since or self.until or set(_OF_ZONE) & set(self.keys))

    @property
    def parameters(self) -> dict[str, Value]:
        """The values that the condition binds."""
        return {**self.where.parameters, **self.period.parameters}


def _one_of(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {value}: not known; it is one of {', '.join(allowed)}")


def select(
    trace: Trace,
    *,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    outcomes: bool = False,
) -> Selection:
    """Check the choices and point the view ``durations`` of this trace at them.

    Raises
    ------
    UsageError
        A choice, key, column or date that does not exist, or a clock that the unit does not have.
    """
    import zoneinfo

    _one_of(unit, get_args(Unit), "--unit")
    _one_of(clock, get_args(Clock), "--clock")
    _one_of(rows, get_args(Rows), "--rows")
    _one_of(definition, get_args(Definition), "--definition")
    if definition == "tracelab":
        unit, clock, rows = "call", "effective", "all"
    if clock != "wall" and unit != "call":
        raise UsageError(f"--clock {clock}: only calls have it (--unit call); a {unit} is timed by the wall clock")
    zone = zone_name(tz)
    zone_info = zoneinfo.ZoneInfo(zone)
    selection = Selection(
        unit=unit,
        clock=clock,
        rows=rows,
        definition=definition,
        keys=check_keys(by, outcomes=outcomes),
        where=parse_where(where, zone_info),
        period=time_range(since, until, zone_info),
        zone=zone,
        since=since,
        until=until,
    )
    trace.run(query_text("set_zone"), {"zone": zone})
    trace.run(query_text("set_clock"), {"clock": clock})
    trace.run(query_text("set_definition"), {"definition": definition})
    trace.run(query_text(f"unit_{unit}"))
    trace.run(query_text("durations"))
    return selection


def run_on(trace: Trace, name: str, selection: Selection, **parameters: object) -> pl.DataFrame:
    """Run a query of ``queries/`` on the selected durations, its slots filled and its values bound."""
    text = query_text(name, keys=render_keys(selection.keys), where=selection.condition)
    return trace.run(text, {**selection.parameters, **parameters})
