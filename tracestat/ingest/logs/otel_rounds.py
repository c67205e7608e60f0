"""The rounds of one trace of agent spans: model requests, each with the tools that ran because of it.

Spans name their parents, not the request that asked for a tool. A tool belongs to the last request that had begun
when it started, among those of the same agent and session; where an agent runs inside of a tool it is a sub-agent,
with a session of its own, since its requests go on while the tool does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec

from tracestat.ingest.logs.chain import COPIES, hand_on, number, set_approvals
from tracestat.ingest.logs.format import LogRounds
from tracestat.ingest.logs.gather import Gathered
from tracestat.ingest.logs.model import Call, CommandStatus, Event, Round, Shell

__all__ = ["OTHER_PROVIDER", "Chat", "Fact", "Link", "Tool", "Untimed", "began_us", "rounds_of"]

OTHER_PROVIDER: Final = "otel"
_UNTIMED: Final = "spans without a time"
_MAX_DEPTH: Final = 256  # parents of a span, in a file that may name them in a circle


class Chat(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """A request to a model."""

    trace: str
    span: str
    parent: str | None
    start_us: int
    end_us: int | None
    conversation: str | None
    agent: str | None
    provider: str
    model: str | None
    project: str | None
    input_tokens: int | None
    read_tokens: int | None
    written_tokens: int | None
    output_tokens: int | None


class Tool(msgspec.Struct, frozen=True, array_like=True, tag="t"):
    """A tool call."""

    trace: str
    span: str
    parent: str | None
    start_us: int
    end_us: int | None
    conversation: str | None
    agent: str | None
    call: str
    is_claude: bool
    tool: str | None
    failed: bool | None
    shell: Shell | None


class Link(msgspec.Struct, frozen=True, array_like=True, tag="l"):
    """Any other span: an agent, a part of a tool call, or one that only joins others."""

    trace: str
    span: str
    parent: str | None
    start_us: int
    end_us: int | None
    conversation: str | None
    kind: str
    failed: bool | None
    refused: bool | None
    chars: int | None


class Untimed(msgspec.Struct, frozen=True, array_like=True, tag="u"):
    """A request or a tool call whose span has no start."""

    trace: str


Span: TypeAlias = Chat | Tool | Link
Fact: TypeAlias = Span | Untimed


@dataclass(slots=True)
class _Lane:
    """The spans of one agent in one session, which work one after the other."""

    session: str
    is_subagent: bool | None
    chats: list[Chat] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    prompts: list[Link] = field(default_factory=list)


def began_us(trace: Gathered[Fact]) -> int:
    """Give the time of the first span of a trace."""
    return min((fact.start_us for fact in trace.facts if not isinstance(fact, Untimed)), default=0)


def rounds_of(trace: Gathered[Fact], made: LogRounds, numbers: dict[str, int]) -> None:
    """Make the rounds of a trace.

    Parameters
    ----------
    trace : Gathered
        All its spans, in any order.
    made : LogRounds
        Takes the rounds, and the counts of what was left out.
    numbers : dict of str to int
        How many rounds each session has so far; is counted on.
    """
    spans: dict[str, Span] = {}
    for fact in trace.facts:
        if isinstance(fact, Untimed):
            made.counts[_UNTIMED] = made.counts.get(_UNTIMED, 0) + 1
        elif fact.span in spans:  # an export that was tried again
            if isinstance(fact, Tool):
                made.left_out[COPIES] = made.left_out.get(COPIES, 0) + 1
        else:
            spans[fact.span] = fact
    tree = _Tree(trace.key, spans)
    for lane in tree.lanes():
        rounds = _Maker(trace.developer, lane, tree).rounds()
        number(rounds, numbers.get(lane.session, 0))
        numbers[lane.session] = numbers.get(lane.session, 0) + len(rounds)
        calls = [call for r in rounds for call in r.calls]
        if calls:
            made.counts["calls"] = made.counts.get("calls", 0) + len(calls)
            made.counts["results"] = made.counts.get("results", 0) + sum(c.result_us is not None for c in calls)
        made.rounds += rounds


class _Tree:
    """Spans and their parents."""

    def __init__(self, trace: str, spans: dict[str, Span]) -> None:
        self._trace = trace
        self._spans = spans
        self.parts: dict[tuple[str, str], Link] = {
            (fact.parent, fact.kind): fact for fact in spans.values() if isinstance(fact, Link) and fact.parent
        }
        told = {fact.conversation for fact in spans.values() if fact.conversation is not None}
        # most spans of a trace do not name the conversation; if there is but one, it is theirs
        self._only = told.pop() if len(told) == 1 else None

    def above(self, fact: Span) -> Iterator[Span]:
        """Give the spans around a span, from the inside."""
        for _ in range(_MAX_DEPTH):
            if fact.parent is None or fact.parent not in self._spans:
                return
            fact = self._spans[fact.parent]
            yield fact

    def agent_of(self, fact: Span) -> str | None:
        """Give the agent that a span is of."""
        return next((up.span for up in self.above(fact) if isinstance(up, Link) and up.kind == "agent"), None)

    def around(self, tool: Tool) -> Chat | None:
        """Give the request inside of which a tool ran, as some frameworks nest them."""
        up = next((up for up in self.above(tool) if not isinstance(up, Link)), None)
        return up if isinstance(up, Chat) else None

    def lanes(self) -> list[_Lane]:
        """Part the spans by session and sub-agent, in the order of their start."""
        lanes: dict[str, _Lane] = {}
        for fact in sorted(self._spans.values(), key=lambda fact: (fact.start_us, fact.span)):
            if isinstance(fact, Link) and fact.kind != "interaction":
                continue
            session, is_subagent = self._session(fact)
            lane = lanes.setdefault(session, _Lane(session, is_subagent))
            if isinstance(fact, Chat):
                lane.chats.append(fact)
            elif isinstance(fact, Tool):
                lane.tools.append(fact)
            else:
                lane.prompts.append(fact)
        return [lane for lane in lanes.values() if lane.chats or lane.tools]

    def _session(self, fact: Span) -> tuple[str, bool | None]:
        """Give the session of a span, and whether it is a sub-agent's; None where its parents are not all there."""
        if not isinstance(fact, Link) and fact.agent is not None:
            return fact.agent, True
        above = list(self.above(fact))
        tool = next((up for up in above if isinstance(up, Tool)), None)
        if tool is not None:
            return tool.span, True
        known = next((up.conversation for up in (fact, *above) if up.conversation is not None), self._only)
        top = above[-1] if above else fact
        return known or self._trace, False if top.parent is None else None


class _Maker:
    """Makes the rounds of one lane."""

    def __init__(self, developer: str | None, lane: _Lane, tree: _Tree) -> None:
        self._developer = developer
        self._lane = lane
        self._tree = tree
        self._provider = lane.chats[0].provider if lane.chats else OTHER_PROVIDER

    def rounds(self) -> list[Round]:
        """Give them in the order of their requests."""
        by_chat, alone = self._owners()
        placed = [(chat.start_us, self._round(chat, by_chat.get(chat.span, []))) for chat in self._lane.chats]
        placed += [(tool.start_us, self._alone(tool)) for tool in alone]
        placed.sort(key=lambda pair: (pair[0], pair[1].round_id))
        rounds = [made for _, made in placed]
        hand_on(rounds, "execute_tool")
        starts = [start for start, _ in placed]
        for prompt in self._lane.prompts:  # each before the outputs of the first round after it
            after = bisect_left(starts, prompt.start_us)
            if after < len(rounds):
                told = Event("user_message", "interaction", prompt.start_us, content_chars=prompt.chars)
                rounds[after].events.insert(0, told)
        return rounds

    def _owners(self) -> tuple[dict[str, list[Tool]], list[Tool]]:
        """Give each tool to a request; those that no request came before stand alone."""
        chats: dict[str | None, list[Chat]] = {}
        for chat in self._lane.chats:
            chats.setdefault(self._tree.agent_of(chat), []).append(chat)
        starts = {agent: [chat.start_us for chat in of] for agent, of in chats.items()}
        own = {chat.span for chat in self._lane.chats}
        by_chat: dict[str, list[Tool]] = {}
        alone: list[Tool] = []
        for tool in self._lane.tools:
            owner = self._tree.around(tool)
            if owner is None or owner.span not in own:  # inside of a request of another session
                agent = self._tree.agent_of(tool)
                before = bisect_right(starts.get(agent, []), tool.start_us) - 1
                owner = chats[agent][before] if before >= 0 else None
            if owner is None:
                alone.append(tool)
            else:
                by_chat.setdefault(owner.span, []).append(tool)
        return by_chat, alone

    def _round(self, chat: Chat, tools: Sequence[Tool]) -> Round:
        made = self._empty(chat.span, chat.provider)
        made.model, made.project, made.output_tokens = chat.model, chat.project, chat.output_tokens
        _set_input(made, chat)
        # a request that holds its tools goes on after them: when it had asked for them is not told
        holds_tools = any(self._tree.around(tool) is not None for tool in tools)
        asked_us = None if holds_tools else chat.end_us
        made.calls = self._calls(tools, asked_us)
        made.events = [
            Event(
                "tool_call",
                "chat",
                call.emitted_us if asked_us is None else asked_us,
                call_id=call.id,
                tool_index=index,
                tool=call.tool,
            )
            for index, call in enumerate(made.calls)
        ]
        if chat.end_us is not None and not tools:
            made.events.append(Event("text", "chat", chat.end_us))
        return made

    def _alone(self, tool: Tool) -> Round:
        made = self._empty(tool.span, "claude" if tool.is_claude else self._provider)
        made.calls = self._calls([tool], None)
        return made

    def _empty(self, span: str, provider: str) -> Round:
        return Round(provider, self._lane.session, 0, span, developer=self._developer)

    def _calls(self, tools: Sequence[Tool], asked_us: int | None) -> list[Call]:
        """Make the calls of one request, which was complete at a time, if that is known."""
        calls: list[Call] = []
        started: list[tuple[Call, int]] = []
        for tool in tools:
            run = self._tree.parts.get((tool.span, "execution"))
            start = tool.start_us if run is None else run.start_us
            calls.append(self._call(tool, run, tool.start_us if asked_us is None else min(asked_us, tool.start_us)))
            if calls[-1].start_kind == "real" and (asked_us is not None or run is not None):
                started.append((calls[-1], start))
        set_approvals(started)
        for tool, call in zip(tools, calls, strict=True):
            wait = self._tree.parts.get((tool.span, "blocked"))
            if wait is not None and wait.end_us is not None:
                call.approval_seconds = (wait.end_us - wait.start_us) / 1e6
        return calls

    def _call(self, tool: Tool, run: Link | None, emitted_us: int) -> Call:
        wait = self._tree.parts.get((tool.span, "blocked"))
        end = tool.end_us if run is None else run.end_us
        failed = tool.failed if run is None else run.failed
        status: CommandStatus | None = None
        if wait is not None and wait.refused:
            status, failed = "refused", None
        elif end is not None and failed is not None:
            status = "failed" if failed else "finished"
        return Call(
            id=tool.call,
            tool=tool.tool,
            emitted_us=emitted_us,
            result_us=end,
            # the span of a Claude Code tool holds the wait for a human as well
            start_kind="emission" if tool.is_claude and run is None else "real",
            is_error=failed if end is not None else None,
            status=status,
            shell=tool.shell,
            parallel_group=0,
            is_subagent=self._lane.is_subagent,
        )


def _set_input(made: Round, chat: Chat) -> None:
    """Set the tokens of a request: Claude Code counts cached ones apart, the conventions among the input."""
    fresh, read, written = chat.input_tokens, chat.read_tokens, chat.written_tokens
    made.prefix_tokens = read
    if fresh is None:
        return
    if chat.provider == "claude":
        made.claude_uncached_input_tokens = fresh
        made.claude_cache_creation_input_tokens = written
        made.claude_cache_read_input_tokens = read
    apart = chat.provider == "claude" or (read or 0) > fresh
    made.input_tokens_total = fresh + (read or 0) + (written or 0) if apart else fresh
    if read is not None:
        made.newly_append_tokens = made.input_tokens_total - read
