"""What an ingest did, source by source: the numbers that nothing was lost in silence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracestat.results import Json

__all__ = ["IngestReport", "SourceReport", "State"]

State: TypeAlias = Literal["new", "refreshed", "unchanged", "duplicate", "kept"]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source.

    Attributes
    ----------
    path : str
        Its base name.
    format : str
        What it is.
    state : str
        ``new``; ``refreshed`` (it was in the store and has changed); ``unchanged`` (it was and has not);
        ``duplicate`` (another source holds the same rows: left out); ``kept`` (in the store, not named this time).
    rows, kept, rejected : int
        Rounds read, or JSON objects of a raw log; rows = kept + rejected.
    calls_rejected, events_rejected : int
        Calls and events left out of rounds that were kept.
    repaired : int
        Rounds kept in which text that is no Unicode was replaced.
    new, duplicates : int
        Of the rounds kept: those that the store did not have before, and those that it had.
    note : str or None
        What else to know, for example that the file ends early.
    left_out : dict of str to int
        Calls of a raw log that were left out, by reason.
    understood : dict of str to int
        What was understood of a raw log: calls, results and the like, copies with them.
    told : tuple of str
        How a plain table was read: which column serves for what, units, times.
    """

    path: str
    format: str
    state: State
    rows: int
    kept: int
    rejected: int
    calls_rejected: int
    events_rejected: int
    repaired: int
    new: int
    duplicates: int
    note: str | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    understood: dict[str, int] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    @property
    def is_log(self) -> bool:
        """Whether it is a raw log: only these are named by a format and a hash."""
        return "/" in self.path

    def to_dict(self) -> dict[str, Json]:
        """Give the JSON form."""
        made: dict[str, Json] = {name: getattr(self, name) for name in self.__slots__}
        made["told"] = list(self.told)
        for name in ("left_out", "understood", "told"):
            if not made[name]:
                del made[name]  # of raw logs, and of plain tables
        return made


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did.

    Attributes
    ----------
    sources : tuple of SourceReport
        Every source named or already in the store, in the order of the store; duplicates last.
    tables : dict of str to int
        Rows of ``rounds``, ``tool_calls`` and ``timing_events``.
    rejected : int
        Rows of the table ``rejects``.
    changed : bool
        Whether the store was written; false when it already held all of it.
    """

    sources: tuple[SourceReport, ...]
    tables: dict[str, int]
    rejected: int
    changed: bool

    def to_dict(self) -> dict[str, Json]:
        """Give the JSON form."""
        tables: dict[str, Json] = dict(self.tables)
        return {"sources": [source.to_dict() for source in self.sources], "tables": tables}
