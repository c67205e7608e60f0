"""Codex rollouts: one JSON object per line, outputs joined to calls by id, rounds closed by reports of token counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tracestat.ingest.logs.codex_facts import facts, recognises
from tracestat.ingest.logs.codex_forks import Family, Survey, call_key, family_of, own_facts, round_key, survey
from tracestat.ingest.logs.codex_kept import Fact
from tracestat.ingest.logs.codex_rounds import Built, build
from tracestat.ingest.logs.codex_starts import settle
from tracestat.ingest.logs.format import Format, Log, LogRounds
from tracestat.ingest.logs.model import Round

__all__ = ["CODEX", "rounds"]

HISTORY: Final = "calls of a history that a fork or sub-agent repeats"
COPIES: Final = "copies of calls in another log"
REPEATED: Final = "copies of calls in the same log"


def rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    """Make rounds of all rollouts.

    Parameters
    ----------
    logs : sequence of Log
        All of them.

    Yields
    ------
    LogRounds
        One per log, in their order.
    """
    surveys = [survey(log) for log in logs]
    family = family_of(logs, surveys)
    taken = _Taken()
    for session, place in sorted(family.mains.items()):
        taken.reserve(session, _build(logs[place], surveys[place], family, Counter()))
    for place, (log, seen) in enumerate(zip(logs, surveys, strict=True)):
        repeated: Counter[str] = Counter()
        built = _build(log, seen, family, repeated)
        is_main = seen.session is None or family.mains.get(seen.session, place) == place
        n_copies, n_rounds = taken.take_out(built, None if is_main else seen.session)
        left_out = {HISTORY: repeated["history"], COPIES: n_copies, REPEATED: built.n_repeated}
        counts = {
            "results without a call": built.n_orphans,
            "rounds that another log has": n_rounds,
            "inputs that no round follows": built.n_unfollowed,
        }
        for made in built.rounds:
            made.developer = log.developer
        yield LogRounds(
            built.rounds,
            left_out={reason: n for reason, n in left_out.items() if n},
            counts={"calls": seen.n_calls, "results": seen.n_results, **{name: n for name, n in counts.items() if n}},
        )


def _build(log: Log, seen: Survey, family: Family, repeated: Counter[str]) -> Built:
    built = build(
        own_facts(log, seen, family, repeated),
        f"codex:{seen.session or log.key}",
        project=seen.project,
        is_subagent=seen.is_subagent,
    )
    settle(built.held, built.loose)
    return built


class _Taken:
    """What earlier logs have, and what the fuller log of the same session has."""

    def __init__(self) -> None:
        self._calls: set[int] = set()
        self._rounds: set[int] = set()
        self._reserved: dict[str, tuple[set[int], set[int]]] = {}
        self._next_index: Counter[str] = Counter()

    def reserve(self, session: str, built: Built) -> None:
        """Keep calls and rounds for the fuller log of a session, wherever in the order it stands."""
        self._reserved[session] = {call_key(one) for one in built.held}, {round_key(made) for made in built.rounds}

    def take_out(self, built: Built, reserved: str | None) -> tuple[int, int]:
        """Take out what another log has, and number the rounds; tell how many calls and rounds were taken out."""
        calls, rounds_ = self._reserved[reserved] if reserved is not None else (set(), set())
        copies: set[int] = set()
        events: set[int] = set()
        for one in built.held:
            key = call_key(one)
            if key in calls or key in self._calls:
                copies.add(id(one.call))
                events.update((id(one.asked_event), id(one.result_event)))
        # only now: a log is no copy of itself; what is reserved is still to come
        self._calls |= set(map(call_key, built.held)) - calls
        mine = set()
        kept = []
        for made in built.rounds:
            key = round_key(made)
            left = [call for call in made.calls if id(call) not in copies]
            is_copy = key in rounds_ or key in self._rounds
            mine.add(key)
            if not left and (made.calls or is_copy):
                continue
            made.calls = left
            if events:
                _without(made, events)
            made.round_index = self._next_index[made.session_id]
            self._next_index[made.session_id] += 1
            kept.append(made)
        self._rounds |= mine - rounds_
        n_rounds = len(built.rounds) - len(kept)
        built.rounds = kept
        return len(copies), n_rounds


def _without(made: Round, events: set[int]) -> None:
    """Take events out of a round, and number the calls that are left."""
    made.events = [event for event in made.events if id(event) not in events]
    for index, event in enumerate(event for event in made.events if event.type == "tool_call"):
        event.tool_index = index


CODEX: Final = Format(
    kind="Codex rollout",
    slug="codex",
    document=False,
    fact=Fact,
    recognises=recognises,
    facts=facts,
    rounds=rounds,
)
