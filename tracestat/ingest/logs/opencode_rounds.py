"""The rounds of one OpenCode session, of all its exports: a later export of a session repeats and completes it."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from tracestat.ingest.logs.chain import COPIES, NO_START, hand_on, number
from tracestat.ingest.logs.format import LogRounds
from tracestat.ingest.logs.gather import Gathered
from tracestat.ingest.logs.model import Call, CommandStatus, Event, EventType, Round, Shell

__all__ = ["Fact", "Lost", "Prompt", "Said", "Step", "Tool", "rounds_of"]

_PROVIDER: Final = "opencode"


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A text or a thought of the model, when it was complete."""

    type: EventType
    at_us: int
    chars: int


class Tool(msgspec.Struct, frozen=True, array_like=True):
    """A tool part."""

    id: str
    tool: str | None
    start_us: int | None
    end_us: int | None
    status: CommandStatus | None
    is_error: bool | None
    exit_code: int | None
    limit_seconds: float | None
    result_chars: int | None
    shell: Shell | None


class Step(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """One request to the model."""

    session: str
    id: str
    is_subagent: bool
    project: str | None
    created_us: int | None
    model: str | None
    input_tokens: int | None
    read_tokens: int | None
    written_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    said: tuple[Said, ...]
    tools: tuple[Tool, ...]


class Prompt(msgspec.Struct, frozen=True, array_like=True, tag="p"):
    """What a person wrote."""

    session: str
    id: str
    at_us: int
    chars: int


class Lost(msgspec.Struct, frozen=True, array_like=True, tag="x"):
    """A message or a part that cannot be read."""

    session: str
    what: str


Fact: TypeAlias = Step | Prompt | Lost


def rounds_of(session: Gathered[Fact], made: LogRounds, known: set[tuple[str, int]]) -> None:
    """Make the rounds of a session.

    Parameters
    ----------
    session : Gathered
        All its facts.
    made : LogRounds
        Takes the rounds, and the counts of what was left out.
    known : set of (str, int)
        Ids and start times of the calls of earlier sessions, which a forked session repeats; is added to.
    """
    kept: dict[str, Step | Prompt] = {}
    for fact in session.facts:
        if isinstance(fact, Lost):
            _count(made.counts, f"{fact.what} that cannot be read", 1)
            continue
        before = kept.get(fact.id)
        if isinstance(before, Step) and isinstance(fact, Step):
            _count(made.left_out, COPIES, min(len(before.tools), len(fact.tools)))
        if before is None or _knows_more(fact, before):
            kept[fact.id] = fact
    rounds: list[Round] = []
    prompts: list[Prompt] = []
    new: set[tuple[str, int]] = set()
    for fact in kept.values():
        if isinstance(fact, Prompt):
            prompts.append(fact)
            continue
        r = _round(fact, session.developer)
        if _add_calls(r, fact, made, known, new):
            r.events[:0] = [Event("user_message", "message", p.at_us, content_chars=p.chars) for p in prompts]
            prompts = []
            rounds.append(r)
    known |= new
    number(rounds)
    hand_on(rounds, "tool")
    calls = [call for r in rounds for call in r.calls]
    _count(made.counts, "calls", len(calls))
    _count(made.counts, "results", sum(call.result_us is not None for call in calls))
    made.rounds += rounds


def _count(counts: dict[str, int], what: str, n: int) -> None:
    if n:
        counts[what] = counts.get(what, 0) + n


def _knows_more(new: Step | Prompt, old: Step | Prompt) -> bool:
    """Tell whether a copy of a step was written later: more of its calls have begun, or ended."""
    if not isinstance(new, Step) or not isinstance(old, Step):
        return False
    return _progress(new) > _progress(old)


def _progress(step: Step) -> tuple[int, int, int]:
    ended = sum(tool.end_us is not None for tool in step.tools)
    return ended, sum(tool.start_us is not None for tool in step.tools), len(step.tools) + len(step.said)


def _round(step: Step, developer: str | None) -> Round:
    parts = (step.input_tokens, step.read_tokens, step.written_tokens)
    total = None if step.input_tokens is None else sum(part or 0 for part in parts)
    fresh = None if total is None or step.read_tokens is None else total - step.read_tokens
    return Round(
        provider=_PROVIDER,
        session_id=step.session,
        round_index=0,
        round_id=step.id,
        project=step.project,
        model=step.model,
        developer=developer,
        input_tokens_total=total,
        prefix_tokens=step.read_tokens,
        newly_append_tokens=fresh,
        output_tokens=step.output_tokens,
        reasoning_output_tokens=step.reasoning_tokens,
        events=[Event(said.type, "part", said.at_us, content_chars=said.chars) for said in step.said],
    )


def _add_calls(r: Round, step: Step, made: LogRounds, known: set[tuple[str, int]], new: set[tuple[str, int]]) -> bool:
    """Add the calls of a step; tell whether it is one of its own, rather than the copy that a fork begins with."""
    copies = 0
    for tool in step.tools:
        if tool.start_us is None:
            _count(made.left_out, NO_START, 1)
        elif (tool.id, tool.start_us) in known:
            copies += 1
        else:
            new.add((tool.id, tool.start_us))
            call = _call(tool, tool.start_us, step.is_subagent)
            r.events.append(
                Event("tool_call", "part", tool.start_us, call_id=tool.id, tool_index=len(r.calls), tool=tool.tool)
            )
            r.calls.append(call)
    _count(made.left_out, COPIES, copies)
    return not copies or bool(r.calls)


def _call(tool: Tool, start_us: int, is_subagent: bool) -> Call:
    return Call(
        id=tool.id,
        tool=tool.tool,
        emitted_us=start_us,
        result_us=tool.end_us,
        is_error=tool.is_error,
        result_chars=tool.result_chars,
        status=tool.status,
        exit_code=tool.exit_code,
        shell=tool.shell,
        asked_limit_seconds=tool.limit_seconds,
        parallel_group=0,
        is_subagent=is_subagent,
    )
