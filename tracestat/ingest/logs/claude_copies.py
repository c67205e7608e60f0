"""What must be known of all Claude Code logs before rounds can be made of one.

That is: which copy of a message counts, results whose call stands in another log, and the ends of jobs. Resuming,
forking and branching copy lines into new files with their times, and a sub-agent's lines may also stand within its
parent's log. A message that occurs in one place only, as nearly all do, leaves nothing behind here but a few numbers in
arrays: 64-bit hashes, which are Python's own, since they are compared within one process only.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracestat.ingest.logs.claude_facts import Ended, Heard, Output, Result, Said, Use
from tracestat.ingest.logs.format import Log

__all__ = ["Across", "Place", "block_key", "blocks_of", "keep_earliest", "read_across"]

_NESTED: Final = 1
_ANSWERED: Final = 2


class Place(NamedTuple):
    """Where a copy of a message is: the log, the message, and whether it is within a progress line."""

    log: int
    message: int
    nested: bool


@dataclass(slots=True)
class Across:
    """What is known of all logs.

    Attributes
    ----------
    kept : dict of Place to frozenset of int
        The blocks to keep of copies that do not count whole; usually none.
    partial : set of Place
        Copies of which only blocks are kept that a better copy lacks, and that tells the tokens.
    shared_ids : set of int
        Hashes of ids that stand for several different calls, as after redaction: no result can be told theirs.
    orphans : dict of str to (int, Result)
        Time and result of calls that stand in another log than their result.
    joined : set of str
        Those of ``orphans`` whose call is somewhere.
    ended_tasks, ended_calls : dict to list of int
        Times of the notices of a job, by (session, task) and by the call that started it.
    """

    kept: dict[Place, frozenset[int]] = field(default_factory=dict)
    partial: set[Place] = field(default_factory=set)
    shared_ids: set[int] = field(default_factory=set)
    orphans: dict[str, tuple[int, Result]] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    ended_tasks: dict[tuple[str | None, str], list[int]] = field(default_factory=dict)
    ended_calls: dict[str, list[int]] = field(default_factory=dict)


def block_key(said: Said, place: int, block: Output | Use) -> int:
    """Give what equal copies of a block have in common: of a call its id and time, else message, time and kind."""
    if isinstance(block, Use):
        return hash((block.call, said.time_us))
    return hash((said.message, said.time_us, place, block.kind))


def read_across(logs: Sequence[Log]) -> Across:
    """Read all logs once.

    Parameters
    ----------
    logs : sequence of Log
        In the order in which copies are preferred, all else being equal.

    Returns
    -------
    Across
    """
    across = Across()
    rows = _Rows()
    for index, log in enumerate(logs):
        _read(index, log, rows, across)
    table = rows.table()
    across.shared_ids = _shared(table)
    calls = np.unique(table["call"])
    across.joined = {call for call in across.orphans if _contains(calls, hash(call))}
    _decide(table, across)
    return across


class _Rows:
    """The blocks of all logs, in columns."""

    def __init__(self) -> None:
        self.message, self.key, self.call, self.tool = array("q"), array("q"), array("q"), array("q")
        self.log, self.flags = array("I"), array("B")

    def __len__(self) -> int:
        return len(self.key)

    def add(self, log: int, said: Said, place: int, block: Output | Use) -> None:
        """Add a block."""
        flags = _NESTED if said.stream.nested else 0
        if isinstance(block, Use):
            self.call.append(hash(block.call))
            self.tool.append(hash(block.tool))
        else:
            flags |= _ANSWERED
            self.call.append(0)
            self.tool.append(0)
        self.message.append(hash(said.message))
        self.key.append(block_key(said, place, block))
        self.log.append(log)
        self.flags.append(flags)

    def table(self) -> npt.NDArray[Any]:
        """Give the rows as a structured array."""
        columns = {name: np.frombuffer(getattr(self, name), dtype=kind) for name, kind in _COLUMNS} if self.key else {}
        table = np.zeros(len(self.key), dtype=list(_COLUMNS))
        for name, column in columns.items():
            table[name] = column
        return table


_COLUMNS: Final = (("message", "i8"), ("key", "i8"), ("call", "i8"), ("tool", "i8"), ("log", "u4"), ("flags", "u1"))


def blocks_of(said: Said) -> tuple[Output | Use, ...]:
    """Give the blocks of a line; a line without any counts as one that says nothing."""
    return said.blocks or (Output("other", None),)


def _read(index: int, log: Log, rows: _Rows, across: Across) -> None:
    first = len(rows)
    results: dict[str, tuple[int, Result]] = {}
    for fact in log.facts():
        if isinstance(fact, Said):
            for place, block in enumerate(blocks_of(fact)):
                rows.add(index, fact, place, block)
        elif isinstance(fact, Heard):
            for result in fact.results:
                keep_earliest(results, result, fact.time_us)
        elif isinstance(fact, Ended):
            across.ended_tasks.setdefault((fact.session, fact.task), []).append(fact.time_us)
            if fact.call is not None:
                across.ended_calls.setdefault(fact.call, []).append(fact.time_us)
    answered = {hash(call) for call in results}
    here = set()
    for row in range(first, len(rows)):
        call = rows.call[row]
        if call:
            here.add(call)
            if call in answered:
                rows.flags[row] |= _ANSWERED
    for call_id, (time_us, result) in results.items():
        if hash(call_id) not in here:
            keep_earliest(across.orphans, result, time_us)


def keep_earliest(results: dict[str, tuple[int, Result]], result: Result, time_us: int) -> None:
    """Note a result unless there is an earlier one of its call: later ones are copies."""
    before = results.get(result.call)
    if before is None or time_us < before[0]:
        results[result.call] = (time_us, result)


def _contains(values: npt.NDArray[np.int64], value: int) -> bool:
    place = int(np.searchsorted(values, value))
    return place < len(values) and int(values[place]) == value


def _shared(table: npt.NDArray[Any]) -> set[int]:
    """Find ids with several tools, or with several times in logs of one layout."""
    calls = table[table["call"] != 0]
    found: set[int] = set()
    nested = (calls["flags"] & _NESTED) != 0
    for part, what in ((calls[~nested], "key"), (calls[nested], "key"), (calls, "tool")):
        pairs = np.unique(part[["call", what]])
        ids, counts = np.unique(pairs["call"], return_counts=True)
        found.update(ids[counts > 1].tolist())
    return found


def _several(table: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Give the rows of each message that is in more than one place, in the order of the messages' numbers."""
    where = table["log"].astype(np.uint64) * 2 + (table["flags"] & _NESTED)
    order = np.lexsort((np.arange(len(table)), where, table["message"]))
    message, where = table["message"][order], where[order]
    if not len(order):
        return
    begins = np.flatnonzero(np.r_[True, message[1:] != message[:-1]])
    ends = np.r_[begins[1:], len(order)]
    several = where[begins] != where[ends - 1]
    for begin, end in zip(begins[several], ends[several], strict=True):
        yield table[order[begin:end]]


@dataclass(slots=True)
class _Copy:
    """A copy of a message: its blocks, which of them are calls, and which calls have no result here."""

    place: Place
    keys: dict[int, int] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """A copy in a log of its own is better than a nested one, then one with more results, then a longer one."""
        answered = sum(call != 0 and key not in self.open for key, call in self.keys.items())
        return self.place.nested, -answered, -len(self.keys), self.place.log


def _decide(table: npt.NDArray[Any], across: Across) -> None:
    for rows in _several(table):
        copies: dict[Place, _Copy] = {}
        for message, key, call, _, log, flags in rows.tolist():
            place = Place(log, message, bool(flags & _NESTED))
            copy = copies.setdefault(place, _Copy(place))
            copy.keys[key] = call
            if not flags & _ANSWERED:
                copy.open.add(key)
        _choose(sorted(copies.values(), key=lambda copy: copy.rank), across)


def _choose(copies: Iterable[_Copy], across: Across) -> None:
    """Keep each block in the best copy that has it; a call without a result there where it has one."""
    copies = list(copies)
    answered = {key for copy in copies for key in copy.keys if key not in copy.open}
    taken: set[int] = set()
    taken_calls: set[int] = set()
    has_own_log = False
    for copy in copies:
        rest = {
            key: call
            for key, call in copy.keys.items()
            if key not in taken and not (key in copy.open and key in answered)
        }
        if copy.place.nested and has_own_log:  # the same blocks, perhaps stamped by another clock
            known = taken_calls - across.shared_ids
            rest = {key: call for key, call in rest.items() if call and call not in known}
        overlaps = len(rest) < len(copy.keys)
        if overlaps:
            across.kept[copy.place] = frozenset(rest)
            if taken and rest:
                across.partial.add(copy.place)
        taken.update(rest)
        taken_calls.update(call for call in rest.values() if call)
        has_own_log = has_own_log or not copy.place.nested
