"""Dynamo's and AISimulate's ``agentic_mooncake``, version 2: a header and a JSON line per request.

A request begins when all that it depends on has happened and its delay has passed since. The step before is one such
thing; the step of another session that called a sub-agent, and the sub-agent's last step, are others. One delay stands
for the whole pause; its two parts stand in keys of their own, which the reader passes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tracestat.export.replay.hash_ids import BlockIds
from tracestat.export.replay.model import Family, ReplaySession
from tracestat.export.replay.settings import Settings, json_line, thousands

__all__ = ["agentic_lines"]

_NO_MODEL: Final = "unknown"  # the reader refuses an empty one


def agentic_lines(families: Iterable[Family], settings: Settings) -> Iterator[bytes]:
    """Give the lines of the file; every prompt has an id for each block and one for its rest."""
    yield json_line(_header(settings))
    ids = BlockIds(settings.block_size, partial=True)
    for family in families:
        by_number = {session.number: session for session in family.sessions}
        joins = _joins(family)
        for session in family.sessions:
            pauses, tools, people = (
                session.before(after).tolist() for after in (session.pause_after_us, session.tool_us, session.human_us)
            )
            for step, blocks in enumerate(ids.chain(session)):
                waits = [] if step else _spawned(session, by_number)
                if step:
                    waits = [_wait(_request(session, step - 1), pauses[step], "sequence")]
                waits += [_wait(last, 0, "join") for last in joins.get((session.number, step), ())]
                yield json_line(
                    {
                        "request_id": _request(session, step),
                        "play_id": family.root.name,
                        "session_id": session.name,
                        "model": session.models[step] or _NO_MODEL,
                        "input_length": int(session.prompt[step]),
                        "output_length": int(session.output[step]),
                        "hash_ids": blocks,
                        "not_before_ms": 0 if step or session.parent else thousands(session.start_us),
                        "dependencies": waits,
                        "tool_wait_ms": thousands(tools[step]),
                        "human_wait_ms": thousands(people[step]),
                    }
                )


def _header(settings: Settings) -> dict[str, Any]:
    about = settings.about
    return {
        "schema": "dynamo.agentic_mooncake",
        "version": 2,
        "block_size": settings.block_size,
        "hash_id_scope": "local",
        "source": {"format": "tracestat", "digest": about.fingerprint},
        "about": about.to_dict(),
    }


def _request(session: ReplaySession, step: int) -> str:
    return f"{session.name}-{step + 1}"


def _wait(request: str, delay_us: int, relation: str) -> dict[str, Any]:
    return {"request_id": request, "trigger": "completion", "delay_ms": thousands(delay_us), "relation": relation}


def _spawned(session: ReplaySession, by_number: dict[int, ReplaySession]) -> list[dict[str, Any]]:
    """Give what the first request of a sub-agent waits for: its caller's step, and as long as recorded after it."""
    if session.parent is None or session.parent_step is None:
        return []
    caller = by_number[session.parent]
    begin, end = int(session.submitted_us[0]), int(caller.last_output_us[session.parent_step])
    delay = max(0, begin - end) if begin >= 0 and end >= 0 else 0
    return [_wait(_request(caller, session.parent_step), delay, "spawn")]


def _joins(family: Family) -> dict[tuple[int, int], list[str]]:
    """Give the sub-agents that a step of their caller waits for: those that had ended when it began, as recorded."""
    by_number = {session.number: session for session in family.sessions}
    joins: dict[tuple[int, int], list[str]] = {}
    for session in family.sessions:
        if session.parent is None or session.parent_step is None:
            continue
        caller, following = by_number[session.parent], session.parent_step + 1
        if following < caller.steps and 0 <= session.last_output_us[-1] <= caller.submitted_us[following]:
            joins.setdefault((caller.number, following), []).append(_request(session, session.steps - 1))
    return joins
