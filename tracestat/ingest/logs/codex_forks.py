"""What a Codex log repeats of others: the history of its parent, and copies of the same log.

A fork or a sub-agent may write its parent's history into its own log, with the old times or with new ones. What is the
parent's is known by ids: calls that the parent's log has, turns whose ids are older than the log's own, ordinals below
the one at which the own history starts; never by many lines in one moment alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from tracestat.ingest.logs.codex_kept import Answered, Asked, Fact, Opened, Spoke, Turn
from tracestat.ingest.logs.codex_rounds import Held
from tracestat.ingest.logs.format import Log
from tracestat.ingest.logs.model import Round

__all__ = ["Family", "Survey", "call_key", "family_of", "own_facts", "round_key", "survey"]

_PROMPT: Final = "user_message"


@dataclass(slots=True)
class Survey:
    """What a first look at a log gives.

    Attributes
    ----------
    session : str or None
        Of its first header.
    project, is_subagent
        What that header says.
    parents : set of str
        Sessions whose history it may repeat.
    history_start : int or None
        Ordinal at which its own lines start.
    own_turn : int or None
        Place of the first turn that is not older than the log.
    has_timed_turns : bool
        Turns and session have ids that sort by time.
    n_facts, n_calls, n_results : int
        How many; results by distinct call.
    """

    session: str | None = None
    project: str | None = None
    is_subagent: bool | None = None
    parents: set[str] = field(default_factory=set)
    history_start: int | None = None
    own_turn: int | None = None
    has_timed_turns: bool = False
    n_facts: int = 0
    n_calls: int = 0
    n_results: int = 0


def survey(log: Log) -> Survey:
    """Look through a log once."""
    found = Survey()
    began: int | None = None
    answered: set[str] = set()
    for place, fact in enumerate(log.facts()):
        found.n_facts += 1
        if isinstance(fact, Opened):
            if found.session is None:
                found.session, found.project, found.is_subagent = fact.session, fact.project, fact.is_subagent
                found.history_start, began = fact.history_start, fact.began_ms
                found.parents.update(fact.parents)
            elif fact.session != found.session:
                found.parents.add(fact.session)
        elif isinstance(fact, Turn):
            if began is not None and fact.began_ms is not None:
                found.has_timed_turns = True
                if found.own_turn is None and fact.began_ms >= began:
                    found.own_turn = place
        elif isinstance(fact, Asked):
            found.n_calls += 1
        elif isinstance(fact, Answered):
            answered.add(fact.id)
    found.n_results = len(answered)
    return found


@dataclass(slots=True)
class Family:
    """What must be known of other logs to tell what one log repeats.

    Attributes
    ----------
    mains : dict of str to int
        Of the sessions that several logs hold: the place of the one that holds most.
    calls : dict of str to set of int
        Of the sessions that others come from: their calls, by id.
    """

    mains: dict[str, int]
    calls: dict[str, set[int]]


def family_of(logs: Sequence[Log], surveys: Sequence[Survey]) -> Family:
    """Gather the calls of parents, and choose among logs of one session."""
    count = Counter(one.session for one in surveys if one.session is not None)
    mains: dict[str, int] = {}
    for place, one in enumerate(surveys):
        if one.session is not None and count[one.session] > 1:
            main = mains.setdefault(one.session, place)
            if one.n_facts > surveys[main].n_facts:
                mains[one.session] = place
    wanted = {parent for one in surveys for parent in one.parents}
    calls: dict[str, set[int]] = {}
    for log, one in zip(logs, surveys, strict=True):
        if one.session is not None and one.session in wanted:
            known = calls.setdefault(one.session, set())
            known.update(_number(fact.id) for fact in log.facts() if isinstance(fact, Asked))
    return Family(mains, calls)


def own_facts(log: Log, seen: Survey, family: Family, repeated: Counter[str]) -> Iterator[tuple[Fact, bool]]:
    """Give the facts of a log, each with whether it is its own.

    Parameters
    ----------
    log : Log
        The log.
    seen : Survey
        Of this log.
    family : Family
        Of all logs.
    repeated : Counter
        Told of the calls that are not its own, by ``history``.
    """
    parents = [family.calls[parent] for parent in sorted(seen.parents) if parent in family.calls]
    end = _history_end(log, seen, parents)
    theirs: set[str] = set()
    for place, fact in enumerate(log.facts()):
        own = place >= end
        if seen.history_start is not None and fact.ordinal is not None and fact.ordinal < seen.history_start:
            own = False
        if parents and isinstance(fact, Asked) and _is_known(fact.id, parents):
            own = False
        if isinstance(fact, Asked) and not own:
            repeated["history"] += 1
            theirs.add(fact.id)
        if isinstance(fact, Answered) and fact.id in theirs:
            own = False
        yield fact, own


def _history_end(log: Log, seen: Survey, parents: Sequence[set[int]]) -> int:
    """Give the place at which a repeated history has ended; 0 if there is none or none can be told."""
    if not seen.parents or seen.history_start is not None:
        return 0
    if seen.own_turn is not None:
        return seen.own_turn
    if parents:
        return _end_of_known(log, seen, parents)
    return seen.n_facts if seen.has_timed_turns else 0


def _end_of_known(log: Log, seen: Survey, parents: Sequence[set[int]]) -> int:
    """Give the place of the turn after the last call that a parent knows, or of its first prompt or call."""
    found = False
    end: int | None = None
    theirs: set[str] = set()
    for place, fact in enumerate(log.facts()):
        if isinstance(fact, Asked) and _is_known(fact.id, parents):
            theirs.add(fact.id)
            found, end = True, None
        elif isinstance(fact, Answered) and fact.id in theirs:
            end = None
        elif end is None and (isinstance(fact, Turn | Asked) or (isinstance(fact, Spoke) and fact.who == _PROMPT)):
            end = place
    if not found:
        return 0
    return seen.n_facts if end is None else end


def _is_known(call: str, parents: Sequence[set[int]]) -> bool:
    key = _number(call)
    return any(key in calls for calls in parents)


def call_key(held: Held) -> int:
    """Give what is equal for copies of a call and different for others: id and time of its line."""
    return _number(f"{held.call.id} {held.asked.time_us}")


def round_key(made: Round) -> int:
    """Give what is equal for copies of a round, whether its end was copied or not: turn and first output."""
    first = next((event for event in made.events if event.type not in ("user_message", "tool_result")), None)
    at = None if first is None else (first.type, first.time_us)
    return _number(f"{made.turn_id or made.session_id} {at}")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
