"""Rounds of Claude Code logs: one per message of the model, with what it was told before, what it wrote and its calls.

A log holds several conversations: the main one, and those of sub-agents. Each is read in the order of the file, which
decides what belongs to which round; times are only compared where intervals are made of them. What a request was told
is its input, also where that was copied from another log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracestat.ingest.logs.claude_calls import Draft, Emitted, Pairs
from tracestat.ingest.logs.claude_copies import (
    Across,
    Place,
    block_key,
    blocks_of,
    keep_earliest,
    read_across,
)
from tracestat.ingest.logs.claude_facts import (
    Began,
    Compacted,
    Heard,
    Output,
    Said,
    Stream,
    Took,
    Usage,
    Use,
)
from tracestat.ingest.logs.format import Log, LogRounds
from tracestat.ingest.logs.model import Event, EventType, Round

__all__ = ["rounds_of"]

ELSEWHERE: Final = "copies of calls in another log"
HERE: Final = "copies of calls in the same log"
NESTED: Final = "copies of calls of sub-agents, nested in their parent's log"

_OUTPUT_EVENTS: Final[dict[str, tuple[EventType, str]]] = {
    "reasoning": ("reasoning", "assistant.content.thinking"),
    "text": ("text", "assistant.content.text"),
}


def rounds_of(logs: Sequence[Log]) -> Iterator[LogRounds]:
    """Make the rounds of all logs.

    Parameters
    ----------
    logs : sequence of Log
        All Claude Code logs of the store, in their order.

    Yields
    ------
    LogRounds
        One per log: what no earlier or better copy has. ``round_index`` counts the rounds of a session over its logs.
    """
    across = read_across(logs)
    indexes: Counter[str] = Counter()
    for place, log in enumerate(logs):
        reader = _LogReader(place, log, across)
        for fact in log.facts():
            if isinstance(fact, Said):
                reader.said(fact)
            elif isinstance(fact, Heard):
                reader.heard(fact)
            elif isinstance(fact, Began):
                reader.began(fact)
            elif isinstance(fact, Took):
                reader.took(fact)
            elif isinstance(fact, Compacted):
                reader.compacted()
        yield reader.finish(indexes)


@dataclass(slots=True)
class _Conversation:
    """One stream of a log: the events that no round has taken yet, and its messages by id."""

    pending: list[Event] = field(default_factory=list)
    drafts: dict[str, Draft] = field(default_factory=dict)


class _LogReader:
    """Reads the facts of one log."""

    def __init__(self, place: int, log: Log, across: Across) -> None:
        self._place = place
        self._log = log
        self._across = across
        self._pairs = Pairs(across)
        self._left_out: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._conversations: dict[Stream, _Conversation] = {}
        self._drafts: list[Draft] = []
        self._seen: set[int] = set()
        self._calls: set[str] = set()
        self._heard: set[int] = set()
        self._projects: dict[str | None, str] = {}
        self._modes: dict[str | None, str] = {}

    def said(self, said: Said) -> None:
        """Add a line of the model to its message."""
        draft = self._draft(said)
        draft.model = draft.model or said.model
        draft.usage = _largest(draft.usage, said.usage)
        nested = said.stream.nested
        place = Place(self._place, hash(said.message), nested)
        kept = self._across.kept.get(place)
        for at, block in enumerate(blocks_of(said)):
            key = block_key(said, at, block)
            is_call = isinstance(block, Use)
            if isinstance(block, Use):
                self._counts["calls"] += 1
                self._calls.add(block.call)
            if kept is not None and key not in kept:
                self._left_out[NESTED if nested else ELSEWHERE] += is_call
                draft.partial = draft.partial or place in self._across.partial
            elif (here := ~key if nested else key) in self._seen:
                self._left_out[NESTED if nested else HERE] += is_call
            else:
                self._seen.add(here)
                self._write(draft, said, block)

    def _draft(self, said: Said) -> Draft:
        """Find the message of a line; under one id, fewer input tokens are another request (ids may be redacted)."""
        conversation = self._conversations.setdefault(said.stream, _Conversation())
        draft = conversation.drafts.get(said.message)
        if draft is None or _contradict(draft.usage, said.usage):
            draft = Draft(said.stream, said.message, conversation.pending)
            conversation.pending = []
            conversation.drafts[said.message] = draft
            self._drafts.append(draft)
        return draft

    def _write(self, draft: Draft, said: Said, block: Output | Use) -> None:
        draft.blocks += 1
        if isinstance(block, Use):
            event = Event("tool_call", "assistant.content.tool_use", said.time_us, tool=block.tool)
            event.call_id = self._pairs.call_id(block.call, said.time_us)
            event.tool_index = len(draft.uses)
            draft.outputs.append(event)
            draft.uses.append(Emitted(block, said.time_us, self._modes.get(said.stream.session)))
        elif block.kind in _OUTPUT_EVENTS:
            draft.outputs.append(Event(*_OUTPUT_EVENTS[block.kind], said.time_us, content_chars=block.chars))

    def heard(self, heard: Heard) -> None:
        """Add a user line to what the next round of its conversation is told."""
        session = heard.stream.session
        if heard.project is not None:
            self._projects.setdefault(session, heard.project)
        if heard.mode is not None:
            self._modes[session] = heard.mode
        self._counts["results"] += len(heard.results)
        for result in heard.results:
            keep_earliest(self._pairs.results, result, heard.time_us)
        # a branched session holds every line twice
        key = hash((heard.stream.nested, heard.time_us, heard.message_chars, *[r.call for r in heard.results]))
        if key in self._heard:
            return
        self._heard.add(key)
        self._counts["human prompts"] += heard.human
        conversation = self._conversations.setdefault(heard.stream, _Conversation())
        if heard.message_chars is not None:
            event = Event("user_message", "user.message", heard.time_us, content_chars=heard.message_chars)
            conversation.pending.append(event)
        for result in heard.results:
            event = Event("tool_result", "user.content.tool_result", heard.time_us, is_error=result.is_error)
            event.call_id = self._pairs.call_id(result.call, None)
            event.result_chars = result.chars
            conversation.pending.append(event)

    def began(self, began: Began) -> None:
        """Note an estimate of a start: the earliest of a call is the best one."""
        before = self._pairs.began.get(began.call, began.time_us)
        self._pairs.began[began.call] = min(before, began.time_us)

    def took(self, took: Took) -> None:
        """Note a duration that a tool server reported."""
        self._pairs.took[took.call] = took.reported_ms

    def compacted(self) -> None:
        """Count a compaction."""
        self._counts["compactions"] += 1

    def finish(self, indexes: Counter[str]) -> LogRounds:
        """Give the rounds of the log; ``indexes`` counts the rounds of each session so far."""
        made = LogRounds()
        for draft in self._drafts:
            if not draft.blocks:
                self._counts["rounds left out as copies"] += 1
                continue
            session = _session(draft.stream, self._log)
            made.rounds.append(self._round(draft, session, indexes[session]))
            indexes[session] += 1
        for call in self._pairs.results:
            if call not in self._calls:
                joined = call in self._across.joined
                self._counts["results of calls in another log" if joined else "results without a call"] += 1
        made.left_out = {reason: n for reason, n in self._left_out.items() if n}
        made.counts = {"calls": 0, "results": 0} | {name: n for name, n in self._counts.items() if n}
        return made

    def _round(self, draft: Draft, session: str, index: int) -> Round:
        made = Round(
            "claude",
            session,
            index,
            f"round_{draft.message[:16]}",
            project=self._projects.get(draft.stream.session),
            model=draft.model,
            developer=self._log.developer,
            events=[*draft.inputs, *draft.outputs],
            calls=self._pairs.calls(draft, index),
        )
        if not draft.partial:
            _tell_tokens(made, draft.usage)
        return made


def _session(stream: Stream, log: Log) -> str:
    """Name a session; lines that do not say theirs are of the session of their log."""
    return f"claude:{stream.agent or stream.session or log.key}"


def _largest(first: Usage | None, second: Usage | None) -> Usage | None:
    """Give the larger counts: early lines of a streamed message have partial ones."""
    if first is None or second is None or first == second:
        return second if first is None else first
    a, b, c, d = (x if y is None else y if x is None else max(x, y) for x, y in zip(first, second, strict=True))
    return a, b, c, d


def _contradict(first: Usage | None, second: Usage | None) -> bool:
    """Tell whether two lines cannot be of one request: what it was given never shrinks while it is answered."""
    if first is None or second is None or first == second:
        return False
    return any(x and y and y < x for x, y in zip(first[:3], second[:3], strict=True))


def _tell_tokens(made: Round, usage: Usage | None) -> None:
    if usage is None:
        return
    uncached, creation, read, made.output_tokens = usage
    if uncached is None and creation is None and read is None:
        return
    made.claude_uncached_input_tokens = uncached
    made.claude_cache_creation_input_tokens = creation
    made.claude_cache_read_input_tokens = read
    made.newly_append_tokens = (uncached or 0) + (creation or 0)  # a count that is left out is none
    made.prefix_tokens = read or 0
    made.input_tokens_total = made.newly_append_tokens + made.prefix_tokens
