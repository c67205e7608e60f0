"""Rounds of one Codex rollout: what lies between two reports of token counts, with every call and its result.

The report of a round stands before the outputs of its calls in some builds and after them in others; in both it closes
the calls that were made since the last one. Results are listed where their line is, so that a round's own results may
be among its input: that is TraceLab's event list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tracestat.ingest.logs.codex_kept import Answered, Asked, Cut, Ended, Fact, Ran, Spoke, Turn, Used
from tracestat.ingest.logs.model import Call, Event, EventType, Round

__all__ = ["Built", "Held", "build"]

_CALL_SOURCES: Final = {
    "function": "response_item.function_call",
    "custom": "response_item.custom_tool_call",
    "local_shell": "response_item.local_shell_call",
}
_RESULT_SOURCES: Final = {
    "function": "response_item.function_call_output",
    "custom": "response_item.custom_tool_call_output",
}
_SPOKEN: Final = {
    "user_message": "event_msg.user_message",
    "reasoning": "response_item.reasoning",
    "text": "response_item.message",
}
_ITEM: Final = "event_msg.item_completed"
_SAME_PROMPT_US: Final = 2_000_000


@dataclass(slots=True, eq=False)
class Held:
    """A call while its log is read.

    Attributes
    ----------
    call : Call
        What becomes of it.
    asked : Asked
        Its line.
    asked_event, result_event : Event or None
        Its events.
    sure : bool
        Its result is known: a cell may print notes before it completes or yields.
    cut : bool
        The turn was aborted before it had a result.
    ended : Ended or None
        The harness's notice of its end.
    ran : Ran or None
        The item of what it ran.
    root : Held or None
        The call that started the process that it goes on with.
    polls : list of Held
        Calls that went on with its process.
    finished_us : int or None
        When one of them was told that the process had ended.
    """

    call: Call
    asked: Asked
    asked_event: Event
    result_event: Event | None = None
    sure: bool = False
    cut: bool = False
    ended: Ended | None = None
    ran: Ran | None = None
    root: Held | None = None
    polls: list[Held] = field(default_factory=list)
    finished_us: int | None = None


@dataclass(slots=True)
class Built:
    """Rounds of one log, before what other logs know is taken out.

    Attributes
    ----------
    rounds : list of Round
        In the order of the file; ``round_index`` is not yet set.
    held : list of Held
        Their calls.
    loose : list of Ran
        Items of commands that no call has the id of: they ran inside code mode.
    n_repeated : int
        Calls that the log itself repeats.
    n_orphans : int
        Results without a call.
    n_unfollowed : int
        Inputs after the last round.
    """

    rounds: list[Round] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    loose: list[Ran] = field(default_factory=list)
    n_repeated: int = 0
    n_orphans: int = 0
    n_unfollowed: int = 0


def build(facts: Iterable[tuple[Fact, bool]], session: str, *, project: str | None, is_subagent: bool | None) -> Built:
    """Make rounds of the facts of one log.

    Parameters
    ----------
    facts : iterable of (Fact, bool)
        In the order of the file, with whether each belongs to this log rather than to a history that it repeats.
    session : str
        The session's id.
    project, is_subagent
        What its first header says.

    Returns
    -------
    Built
    """
    builder = _Builder(session, project, is_subagent)
    for fact, own in facts:
        builder.take(fact, own)
    return builder.finish()


class _Builder:
    def __init__(self, session: str, project: str | None, is_subagent: bool | None) -> None:
        self._session = session
        self._project = project
        self._is_subagent = is_subagent
        self._built = Built()
        self._turn: str | None = None
        self._model: str | None = None
        self._mode: str | None = None
        self._totals: tuple[int | None, ...] | None = None
        self._inputs: list[Event] = []
        self._outputs: list[Event] = []
        self._calls: list[Held] = []
        self._turn_rounds: Counter[str | None] = Counter()
        self._by_id: dict[str, Held] = {}
        self._unanswered: dict[str, Held] = {}
        self._roots: dict[str, Held] = {}
        self._group = 0
        self._group_open = False

    def take(self, fact: Fact, own: bool) -> None:
        """Take in a fact; of a repeated history only what goes on to hold."""
        if isinstance(fact, Turn):
            self._begin(fact)
        elif isinstance(fact, Used):
            if fact.totals != self._totals:
                self._totals = fact.totals
                if own:
                    self._close(fact)
        elif not own:
            pass
        elif isinstance(fact, Asked):
            self._ask(fact)
        elif isinstance(fact, Answered):
            self._answer(fact)
        elif isinstance(fact, Spoke):
            self._speak(fact)
        elif isinstance(fact, Ended):
            if (held := self._by_id.get(fact.id)) is not None:
                held.ended = fact
        elif isinstance(fact, Ran):
            self._run(fact)
        elif isinstance(fact, Cut):
            for held in self._unanswered.values():
                held.cut = True
        # a header says nothing here: it never begins a session anew

    def _begin(self, fact: Turn) -> None:
        # A response that was cut short has no report of its own; what the next turn's model says is another round.
        if fact.turn is not None and self._turn is not None and fact.turn != self._turn and self._outputs:
            self._close_open()
        self._turn = fact.turn or self._turn
        self._model = fact.model or self._model
        self._mode = fact.permission_mode or self._mode

    def _ask(self, fact: Asked) -> None:
        before = self._by_id.get(fact.id)
        if before is not None and before.asked.time_us == fact.time_us:
            self._built.n_repeated += 1
            return
        if not self._group_open:
            self._group += 1
            self._group_open = True
        index = len(self._calls)
        event = Event(
            "tool_call", _CALL_SOURCES[fact.line], fact.time_us, call_id=fact.id, tool_index=index, tool=fact.tool
        )
        root = self._roots.get(fact.process) if fact.process else None
        call = Call(
            id=fact.id,
            tool=fact.tool,
            emitted_us=fact.time_us,
            input_chars=fact.input_chars,
            continues=root.call.id if root else None,
            shell=fact.shell,
            asked_limit_seconds=fact.limit_seconds,
            permission_mode=self._mode,
            parallel_group=self._group - 1,
            is_subagent=self._is_subagent,
        )
        held = Held(call, fact, event, root=root)
        if root:
            root.polls.append(held)
        self._outputs.append(event)
        self._calls.append(held)
        self._by_id[fact.id] = self._unanswered[fact.id] = held
        self._built.held.append(held)

    def _answer(self, fact: Answered) -> None:
        self._group_open = False
        held = self._by_id.get(fact.id)
        if held is None:
            self._built.n_orphans += 1
            return
        sure = held.asked.runs != "cell" or fact.status is not None
        if held.sure or (held.result_event is not None and not sure):
            return  # only the first that says how the call ended counts
        if held.result_event is not None:
            self._forget(held.result_event)
        held.sure = sure
        self._unanswered.pop(fact.id, None)
        call = held.call
        is_command = held.asked.runs != "other"
        call.result_us = fact.time_us
        call.result_chars = fact.chars
        call.is_error = fact.is_error
        call.reported_ms = fact.reported_ms
        call.status = fact.status if is_command or fact.status != "finished" else None
        call.exit_code = fact.exit_code if is_command else None
        if fact.limit_seconds is not None:
            call.asked_limit_seconds = fact.limit_seconds
        held.result_event = Event(
            "tool_result",
            _RESULT_SOURCES[fact.line],
            fact.time_us,
            call_id=call.id,
            is_error=fact.is_error,
            result_chars=fact.chars,
        )
        self._inputs.append(held.result_event)
        self._follow(held, fact)

    def _follow(self, held: Held, fact: Answered) -> None:
        """Follow a process over the calls that go on with it."""
        if held.root is None:
            if fact.process is not None:
                self._roots[fact.process] = held
        elif fact.status == "finished":
            held.root.finished_us = held.root.finished_us or fact.time_us

    def _forget(self, event: Event) -> None:
        """Take a note of a cell, which looked like its result, out of the list that it went into."""
        for events in (self._inputs, *(r.events for r in reversed(self._built.rounds))):
            for place, other in enumerate(events):
                if other is event:
                    del events[place]
                    return

    def _speak(self, fact: Spoke) -> None:
        event = Event(fact.who, _ITEM if fact.item else _SPOKEN[fact.who], fact.time_us, content_chars=fact.chars)
        if fact.who != "user_message":
            self._outputs.append(event)
        elif not any(self._is_same_prompt(event, other) for other in self._inputs[-2:]):
            self._inputs.append(event)

    @staticmethod
    def _is_same_prompt(event: Event, other: Event) -> bool:
        """Tell whether a prompt is written twice, as the older and the newer kind of line."""
        return (
            other.type == "user_message"
            and other.source != event.source
            and other.content_chars == event.content_chars
            and abs(other.time_us - event.time_us) <= _SAME_PROMPT_US
        )

    def _run(self, fact: Ran) -> None:
        held = self._by_id.get(fact.id)
        if held is not None:
            held.ran = fact
        elif fact.is_command:
            self._built.loose.append(fact)

    def _close(self, fact: Used) -> None:
        usage = Event("usage_report", "event_msg.token_count", fact.time_us)
        made = self._round([*self._inputs, *self._outputs, usage])
        made.input_tokens_total = fact.input
        made.prefix_tokens = fact.cached
        if fact.input is not None:
            made.newly_append_tokens = max(0, fact.input - (fact.cached or 0))
        made.output_tokens = fact.output
        made.reasoning_output_tokens = fact.reasoning
        self._inputs = []

    def _close_open(self) -> None:
        """Close a round that has no report: its token counts are not known."""
        last = self._outputs[-1].time_us
        kept = len(self._inputs)
        while kept and _is_prompt(self._inputs[kept - 1].type) and self._inputs[kept - 1].time_us >= last:
            kept -= 1  # a prompt after the response is input of the next one
        self._round([*self._inputs[:kept], *self._outputs])
        self._inputs = self._inputs[kept:]

    def _round(self, events: list[Event]) -> Round:
        number = self._turn_rounds[self._turn]
        self._turn_rounds[self._turn] += 1
        made = Round(
            provider="codex",
            session_id=self._session,
            round_index=-1,
            round_id=f"{self._turn or self._session.removeprefix('codex:')}:{number}",
            project=self._project,
            model=self._model,
            turn_id=self._turn,
            events=events,
            calls=[held.call for held in self._calls],
        )
        self._built.rounds.append(made)
        self._outputs = []
        self._calls = []
        self._group = 0
        self._group_open = False
        return made

    def finish(self) -> Built:
        """Close what is open: calls after the last report are calls all the same."""
        if self._outputs:
            self._close_open()
        self._built.n_unfollowed = len(self._inputs)
        for held in self._unanswered.values():
            if held.cut:
                held.call.status = "aborted"
        return self._built


def _is_prompt(event: EventType) -> bool:
    return event == "user_message"
