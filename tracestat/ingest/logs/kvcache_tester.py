"""kv-cache-tester traces: what a proxy saw of one Claude Code conversation, one JSON document each.

A proxy sees requests and no tools: a request that brings tool results ends the wait that began when the answer to the
request before it was complete. That wait is the one call of the earlier round, without a name.

There is no absolute time. Stamps count from the start of a conversation, and are kept as times from 1 January 1970 on:
a date that nobody takes for a real one. A sub-agent's clock starts anew; it is put on the clock of its parent where
the entry says how long the sub-agent took (its stamp is the end), else it starts in 1970 as well.

Stamps are whole seconds, request times hundredths: a wait is right to within a second either way.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.chain import COPIES
from tracestat.ingest.logs.format import Facts, Format, Log, LogRounds, UnreadableError
from tracestat.ingest.logs.model import Call, Event, EventType, Round
from tracestat.ingest.logs.names import Names

__all__ = ["KVCACHE_TESTER"]

# Two whole-second stamps, each up to a second early or late: earlier than this the request was not waiting at all.
_CLOCK_US: Final = 1_000_000
_MAX_DEPTH: Final = 32
_OUTPUTS: Final[dict[str, EventType]] = {"thinking": "reasoning", "text": "text", "tool_use": "tool_call"}
_SOURCE: Final = "request"
_MIXED: Final = "tool waits that ended with a person's message"
_FIRST: Final = "tool waits that began before the trace"
_UNKNOWN_END: Final = "tool waits after a request whose end is not known"
_OVERLAP: Final = "tool waits after a request that was still running"


class _Document(msgspec.Struct):
    id: str | int
    requests: list[msgspec.Raw]


class _Entry(msgspec.Struct):
    """A request, or (``type`` is ``subagent``) all requests of a sub-agent."""

    t: float
    type: str = ""
    model: str | None = None
    input_tokens: float | None = msgspec.field(name="in", default=None)
    output_tokens: float | None = msgspec.field(name="out", default=None)
    input_types: list[str] | None = None
    output_types: list[str] | None = None
    stop: str | None = None
    api_time: float | None = None
    think_time: float | None = None
    status: str | None = None
    duration_ms: float | None = None
    requests: list[msgspec.Raw] | None = None


class _Request(msgspec.Struct, frozen=True, array_like=True, tag="r"):
    """A request; ``outputs`` are of the keys of ``_OUTPUTS``."""

    session: str
    id: str
    index: int
    is_subagent: bool
    at_us: int
    took_us: int | None
    think_ms: int | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    has_text: bool
    has_result: bool
    outputs: tuple[str, ...]


class _Lost(msgspec.Struct, frozen=True, array_like=True, tag="x"):
    """A request that cannot be read: when the next one's wait began is not known either."""

    session: str


_Fact = _Request | _Lost
_DOCUMENT: Final = msgspec.json.Decoder(_Document)
_ENTRY: Final = msgspec.json.Decoder(_Entry)


def _recognises(value: dict[str, Any]) -> bool:
    requests = value.get("requests")
    if not isinstance(requests, list) or not {"id", "block_size"} <= value.keys():
        return False
    first = next(iter(requests), None)
    return isinstance(first, dict) and "t" in first and ("hash_ids" in first or first.get("type") == "subagent")


def _facts(content: bytes, names: Names) -> Facts:
    document = _DOCUMENT.decode(content)
    reader = _Reader(names)
    own = reader.entries(document.requests)
    # An id like `trace_0001` is used by every collection: the same conversation has the same requests as well.
    digest = hashlib.sha256(repr([(e.t, e.input_tokens, e.output_tokens) for e in own if e]).encode()).hexdigest()
    reader.session(f"{document.id}\0{digest}", own, 0, depth=0)
    return Facts(reader.facts)


class _Reader:
    """Gathers the requests of a conversation, then those of its sub-agents, each a session of its own."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.facts: list[msgspec.Struct] = []

    @staticmethod
    def entries(raws: Sequence[msgspec.Raw]) -> list[_Entry | None]:
        """Read the entries of a list; None for one that is none."""
        entries: list[_Entry | None] = []
        for raw in raws:
            try:
                entry = _ENTRY.decode(raw)
            except msgspec.ValidationError:
                entries.append(None)
            else:
                entries.append(entry if _us(entry.t) is not None else None)
        return entries

    def session(self, key: str, entries: Sequence[_Entry | None], start_us: int, *, depth: int) -> None:
        """Take in the requests of one session, whose clock starts at a time."""
        if depth > _MAX_DEPTH:
            raise UnreadableError("sub-agents nested too deeply")
        session = self._names.id("session", key)
        agents: list[tuple[int, _Entry]] = []
        for index, entry in enumerate(entries):
            if entry is None:
                self.facts.append(_Lost(session))
            elif entry.requests is not None:
                agents.append((index, entry))
            else:
                self.facts.append(self._request(key, session, index, entry, start_us, depth > 0))
        for index, agent in agents:
            ended_us, took_us = _us(agent.t), micros_of(agent.duration_ms, per_second=1000)
            known = agent.status == "completed" and ended_us is not None and took_us is not None
            began_us = start_us + (ended_us or 0) - (took_us or 0) if known else 0
            self.session(f"{key}\0{index}", self.entries(agent.requests or ()), began_us, depth=depth + 1)

    def _request(self, key: str, session: str, index: int, e: _Entry, start_us: int, is_subagent: bool) -> _Request:
        outputs = [kind for kind in _OUTPUTS if kind in (e.output_types or ())]
        if e.stop == "tool_use" and "tool_use" not in outputs:  # a streamed answer lists its text only
            outputs.append("tool_use")
        return _Request(
            session=session,
            id=self._names.id("round", f"{key}\0{index}"),
            index=index,
            is_subagent=is_subagent,
            at_us=start_us + (_us(e.t) or 0),
            took_us=_us(e.api_time),
            think_ms=None if e.think_time is None else count_of(e.think_time * 1000),
            model=self._names.model(e.model) if e.model else None,
            input_tokens=count_of(e.input_tokens),
            output_tokens=count_of(e.output_tokens),
            has_text="text" in (e.input_types or ()),
            has_result="tool_result" in (e.input_types or ()),
            outputs=tuple(outputs),
        )


def _us(seconds: float | None) -> int | None:
    return micros_of(seconds, per_second=1)


def _rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    known: set[str] = set()
    for log in logs:
        made = LogRounds()
        counts: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        new: set[str] = set()
        for session, facts in groupby(log.facts(), key=_session_of):
            chain = _Chain(log.developer, counts, left_out)
            for fact in facts:
                chain.add(fact)
            if session in known:
                left_out[COPIES] += sum(len(r.calls) for r in chain.rounds)
            else:
                new.add(session)
                made.rounds += chain.rounds
        known |= new
        made.counts, made.left_out = dict(counts), dict(left_out)
        yield made


def _session_of(fact: _Fact) -> str:
    return fact.session


class _Chain:
    """Makes the rounds of one session, each with the wait that the next request ends."""

    def __init__(self, developer: str | None, counts: Counter[str], left_out: Counter[str]) -> None:
        self._developer = developer
        self._counts = counts
        self._left_out = left_out
        self._before: _Request | _Lost | None = None
        self.rounds: list[Round] = []

    def add(self, fact: _Fact) -> None:
        """Take in the next request."""
        if isinstance(fact, _Request):
            made = self._round(fact)
            if fact.has_text:
                self._counts["user messages"] += 1
                made.events.insert(0, Event("user_message", _SOURCE, fact.at_us))
            if fact.has_result:
                self._counts["results"] += 1
                made.events.insert(0, self._waited(fact))
            self.rounds.append(made)
        else:
            self._counts["requests that cannot be read"] += 1
        self._before = fact

    def _round(self, r: _Request) -> Round:
        ended_us = None if r.took_us is None else r.at_us + r.took_us
        outputs = () if ended_us is None else tuple(Event(_OUTPUTS[kind], _SOURCE, ended_us) for kind in r.outputs)
        return Round(
            provider="claude",
            session_id=r.session,
            round_index=r.index,
            round_id=r.id,
            model=r.model,
            developer=self._developer,
            input_tokens_total=r.input_tokens,
            output_tokens=r.output_tokens,
            events=list(outputs),
        )

    def _waited(self, r: _Request) -> Event:
        """Give the result event of a request, and the wait before it to the round before, if its start is known."""
        result = Event("tool_result", _SOURCE, r.at_us)
        began = self._began(r)
        if isinstance(began, str):
            self._left_out[began] += 1
            return result
        self._counts["calls"] += 1
        earlier = self.rounds[-1]
        earlier.calls.append(
            Call(
                id=r.id,
                tool=None,
                emitted_us=began,
                result_us=r.at_us,
                reported_ms=r.think_ms,
                is_subagent=r.is_subagent,
            )
        )
        asked = next((event for event in earlier.events if event.type == "tool_call"), None)
        if asked is None:  # results came back, so they were asked for
            asked = Event("tool_call", _SOURCE, began)
            earlier.events.append(asked)
        asked.call_id = result.call_id = r.id
        asked.tool_index = result.tool_index = 0
        return result

    def _began(self, r: _Request) -> int | str:
        """Give the time when the wait before a request began, or why that is not known."""
        before = self._before
        if r.has_text:
            return _MIXED
        if before is None:
            return _FIRST
        if isinstance(before, _Lost) or before.took_us is None:
            return _UNKNOWN_END
        began = before.at_us + before.took_us
        return began if r.at_us - began > -_CLOCK_US else _OVERLAP


KVCACHE_TESTER: Final = Format(
    kind="kv-cache-tester trace",
    slug="kv-cache-tester",
    document=True,
    fact=_Fact,
    recognises=_recognises,
    facts=_facts,
    rounds=_rounds,
)
