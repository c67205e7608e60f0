"""What a replay file must say, made of the store alone, and the comparison with what a reader found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.export.replay_readers.model import Session, Step
from tracestat.durations.sequence import HumanGap, session_sequence, with_pauses
from tracestat.store import Trace

Row = list[Any]


def sessions_of(
    trace: Trace, human_gap: HumanGap, block: int | None = None, *, context: str = "cut", where: str | None = None
) -> list[Session]:
    """Give the sessions whose tokens are all known, with whole durations and the human part by the rule.

    ``context`` is what a consumer makes of one that shrinks: ``cut`` (the prefix that the row names is kept), ``grows``
    (it cannot: a prompt is at least the prompt before, its output and one token), ``reset`` (the same, but where it
    shrinks by more than the prefix it could keep, all of it is new).
    """
    frame, _ = session_sequence(trace, by=None, where=where)
    columns = ("session_pk", "prefix_tokens", "append_tokens", "output_tokens", "tool_seconds", "human_after_seconds")
    by_session: dict[int, list[Row]] = defaultdict(list)
    for session, *row in with_pauses(frame, human_gap).select(columns).iter_rows():
        by_session[session].append(row)
    return [
        Session(str(session), _steps(rows, block, context))
        for session, rows in by_session.items()
        if not any(value is None for row in rows for value in row)
    ]


def _steps(rows: Sequence[Row], block: int | None, shrinking: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    before, recorded = 0.0, 0
    for prefix, append, output, tool, human in rows:
        earlier = steps[-1] if steps else None
        context = earlier.prompt + earlier.output if earlier else 0
        prompt = max(1, prefix + append)
        # a prefix that the session cannot have is prompt, but not cached: it is new to a server that replays the file
        cached = min(prefix, recorded, prompt)
        recorded = prompt + max(1, output)
        if earlier and shrinking == "reset" and context - prompt > cached:
            cached = 0
        elif earlier and shrinking != "cut":
            prompt, cached = max(prompt, context + 1), context
        shared = min(cached, earlier.prompt) // block if earlier and block else 0
        steps.append(
            Step(
                prompt=prompt,
                output=max(1, output),
                before=before,
                after=tool + human,
                new=prompt - cached,
                shared=shared if block else None,
                block=block,
                tool_after=tool,
                human_after=human,
            )
        )
        before = tool + human
    return tuple(steps)


def differences(due: Sequence[Session], found: Sequence[Session], within: float) -> list[str]:
    """Say where a file differs from the store; sessions are paired by their tokens, for a file has its own names.

    ``within`` are the seconds that the format's rounding may move a wait. What a reader leaves None is not compared.
    """
    if len(due) != len(found):
        return [f"{len(found)} sessions for {len(due)}"]
    waiting: dict[tuple[tuple[int, int], ...], list[Session]] = defaultdict(list)
    for session in found:
        waiting[session.tokens].append(session)
    said: list[str] = []
    for session in due:
        candidates = waiting[session.tokens]
        if not candidates:
            said.append(f"session {session.name}: no session of the file has its prompts and outputs")
            continue
        told = [_step_differences(session, other, within) for other in candidates]
        best = min(range(len(told)), key=lambda at: len(told[at]))
        candidates.pop(best)
        said.extend(told[best])
    return said


def _step_differences(due: Session, found: Session, within: float) -> list[str]:
    said: list[str] = []
    for place, (a, b) in enumerate(zip(due.steps, found.steps, strict=True), start=1):
        for name in ("before", "after", "tool_after", "human_after"):
            mine, theirs = getattr(a, name), getattr(b, name)
            if mine is not None and theirs is not None and abs(mine - theirs) > within:
                said.append(f"session {due.name} step {place}: {name} {theirs} s for {mine} s")
        for name in ("new", "shared"):
            mine, theirs = getattr(a, name), getattr(b, name)
            if mine is not None and theirs is not None and mine != theirs:
                said.append(f"session {due.name} step {place}: {name} {theirs} for {mine}")
    return said
