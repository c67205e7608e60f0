"""What a reader hands to the builder: some rounds with their calls and events, and what could not be a row.

One shape for every source, so that nothing after the readers knows which source it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute

from tracestat.ingest.columns import (
    CALL_COLUMNS,
    CALL_EXTRAS,
    EVENT_COLUMNS,
    INTEGER,
    ROUND_COLUMNS,
)

__all__ = ["CALLS", "EVENTS", "ROUNDS", "Batch", "Part", "Reject", "append", "gather", "moved", "rejected"]

Part: TypeAlias = Literal["round", "call", "event", "line"]

# `row` is the place of a round in its source, from 0; the builder makes round_pk of it.
_ROW: Final = pa.field("row", INTEGER)
ROUNDS: Final = pa.schema([_ROW, *ROUND_COLUMNS.items()])
CALLS: Final = pa.schema([_ROW, *CALL_COLUMNS.items(), *CALL_EXTRAS.items()])
EVENTS: Final = pa.schema([_ROW, *EVENT_COLUMNS.items()])


@dataclass(frozen=True, slots=True)
class Reject:
    """What was read and could not be a row.

    Attributes
    ----------
    line : int or None
        Line of a JSONL file, from 1, or round_pk of a table.
    part : {"round", "call", "event", "line"}
        What was left out; a line of a raw log is none of the others.
    row_index : int or None
        Place in the row's list of calls or events, or of the object in its line, from 0.
    reason : str
        What is wrong, in words; never the text.
    """

    line: int | None
    part: Part
    row_index: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Rounds in the order of the source, with their calls and events.

    Attributes
    ----------
    rounds, calls, events : pyarrow.Table
        Of the schemas ``ROUNDS``, ``CALLS`` and ``EVENTS``.
    rejects : tuple of Reject
        What could not be a row.
    repaired : int
        Rounds in which text that is no Unicode was replaced.
    """

    rounds: pa.Table
    calls: pa.Table
    events: pa.Table
    rejects: tuple[Reject, ...] = ()
    repaired: int = 0

    @property
    def read(self) -> int:
        """Rows read: kept and rejected."""
        return int(self.rounds.num_rows) + rejected(self.rejects, "round")


def rejected(rejects: Iterable[Reject], part: Part) -> int:
    """Count what was left out of one kind."""
    return sum(reject.part == part for reject in rejects)


def gather(batches: Sequence[Batch]) -> Batch:
    """Put batches of one source together; their rounds keep their places."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        rounds=pa.concat_tables([ROUNDS.empty_table(), *(batch.rounds for batch in batches)]),
        calls=pa.concat_tables([CALLS.empty_table(), *(batch.calls for batch in batches)]),
        events=pa.concat_tables([EVENTS.empty_table(), *(batch.events for batch in batches)]),
        rejects=tuple(reject for batch in batches for reject in batch.rejects),
        repaired=sum(batch.repaired for batch in batches),
    )


def append(batches: Sequence[Batch]) -> Batch:
    """Put batches one after the other, each with places from 0."""
    before = 0
    placed = []
    for batch in batches:
        placed.append(moved(batch, before))
        before += batch.rounds.num_rows
    return gather(placed)


def moved(batch: Batch, by: int) -> Batch:
    """Give the same batch with its rounds further on in the source."""
    if by == 0:
        return batch
    return replace(
        batch,
        rounds=_shift(batch.rounds, by),
        calls=_shift(batch.calls, by),
        events=_shift(batch.events, by),
    )


def _shift(table: pa.Table, by: int) -> pa.Table:
    """Shift the places of the rounds."""
    if by == 0 or table.num_rows == 0:
        return table
    return table.set_column(0, _ROW, pa.compute.add(table.column(0), by))
