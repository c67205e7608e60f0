"""What ``timeline`` answers: one session, step by step, and as bars on lanes."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Result
from tracestat.results.interval import Json

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LANES", "STATES", "Bar", "SessionFacts", "StateTotal", "TimelineResult"]

# in the order in which one reads them
STATES = ("model", "tool", "poll", "agent", "background", "human", "refused")
LANES = ("model", "wait", "tool", "job", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A stretch of time in which one thing went on.

    Attributes
    ----------
    lane : str
        ``step`` for the steps of the session, else one of ``LANES``.
    track : int
        From 0; what overlaps on a lane lies on different tracks.
    state : str
        One of ``STATES``.
    started_at, ended_at : datetime
        Naive UTC.
    seconds, elapsed : float
        How long it lasted, and how long after the session's begin it started.
    start_known : bool
        False where a model's answer is drawn from its first output on, since no input before it has a time.
    observed : bool or None
        False where the end is not: it lasted at least as long. None where nothing ends by itself.
    session : str or None
        Whose it is, for the session of a sub-agent.
    """

    lane: str
    track: int = 0
    state: str
    started_at: dt.datetime
    ended_at: dt.datetime
    seconds: float
    elapsed: float
    start_known: bool = True
    round_index: int | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tool: str | None = None
    tool_class: str | None = None
    command_skeleton: str | None = None
    n_calls: int | None = None
    end_kind: str | None = None
    observed: bool | None = None
    asked_limit_seconds: float | None = None
    approval_seconds: float | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Which session, and the part of it that is shown; times are None where no stamp is left."""

    provider: str | None
    developer: str | None
    session: str
    project: str | None
    models: tuple[str, ...]
    rounds: int
    calls: int
    is_subagent: bool | None
    started_at: dt.datetime | None
    shown_from: dt.datetime | None
    shown_until: dt.datetime | None
    span_seconds: float


@dataclass(frozen=True, slots=True)
class StateTotal:
    """How often and how long the steps of a session were in one state; the share is of the time shown."""

    state: str
    n: int
    seconds: float
    share: float | None


@dataclass(frozen=True, slots=True, repr=False)
class TimelineResult(Result):
    """One session: its steps, which never overlap, and its bars, which never overlap on one track of a lane.

    Attributes
    ----------
    session : SessionFacts
    totals : tuple of StateTotal
        Of the steps. What is left of the span is known to nobody.
    steps : tuple of Bar
        In order of time: the model's answers, the pauses, and the waits for the next message.
    bars : tuple of Bar
        The same answers and waits, every single call, the jobs that outlived their calls, and the sessions of
        sub-agents.
    """

    session: SessionFacts
    totals: tuple[StateTotal, ...]
    steps: tuple[Bar, ...]
    bars: tuple[Bar, ...]
    command: ClassVar[str] = "timeline"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per step (lane ``step``), then a row per bar."""
        import polars as pl

        rows = [dataclasses.asdict(bar) for bar in (*self.steps, *self.bars)]
        return pl.DataFrame(rows, schema=_columns())

    def to_perfetto(self) -> dict[str, Json]:
        """Give the session as a trace that ui.perfetto.dev opens: JSON data for a file."""
        from tracestat.charts.perfetto import perfetto_trace

        return perfetto_trace(self)

    def tracks(self) -> Sequence[tuple[str, int]]:
        """Give the lanes and tracks that have bars, from top to bottom."""
        found = {(bar.lane, bar.track) for bar in self.bars}
        return sorted(found, key=lambda item: (LANES.index(item[0]), item[1]))


def _columns() -> dict[str, pl.DataType]:
    """Give the type of every column, so that a column of nothing but nulls has it too."""
    import polars as pl

    kinds = {"str": pl.String(), "int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean()}
    columns: dict[str, pl.DataType] = {}
    for field in dataclasses.fields(Bar):
        columns[field.name] = kinds.get(str(field.type).removesuffix(" | None"), pl.Datetime("us"))
    return columns
