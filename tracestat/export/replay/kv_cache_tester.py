"""kv-cache-tester's traces (AIPerf's ``weka``): a JSON file per session, the pause before each request, in seconds.

A sub-agent stands among the requests of the session that called it, after the step that did, and its own requests
inside it: one level, so the sub-agents of sub-agents are sessions of their own. Readers refuse keys that they do not
know; ``totals`` is the only place for whose data it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tracestat.export.replay.hash_ids import BlockIds
from tracestat.export.replay.model import Family, Ints, ReplaySession
from tracestat.export.replay.settings import Settings

__all__ = ["weka_files"]

_NO_MODEL: Final = "unknown"


def weka_files(families: Iterable[Family], settings: Settings) -> Iterator[tuple[str, bytes]]:
    """Give the name and content of every file; only whole blocks have ids."""
    ids = BlockIds(settings.block_size, partial=False)
    for family in families:
        root, *agents = family.sessions
        body = {
            "id": root.name,
            "models": _models(*family.sessions),
            "block_size": settings.block_size,
            "hash_id_scope": "local",
            "requests": list(_with_agents(root, agents, ids)),
            "totals": settings.about.to_dict(),
        }
        yield f"{root.name}.json", json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _models(*sessions: ReplaySession) -> list[str]:
    return sorted({model or _NO_MODEL for session in sessions for model in session.models})


def _with_agents(root: ReplaySession, agents: list[ReplaySession], ids: BlockIds) -> Iterator[dict[str, Any]]:
    at = root.at_us
    for step, request in enumerate(_requests(root, at, ids)):
        yield request
        ended = int(at[step] + root.generation_us[step])
        for agent in agents:
            if agent.parent_step == step:
                yield _agent(agent, root, ended, ids)


def _agent(agent: ReplaySession, root: ReplaySession, ended: int, ids: BlockIds) -> dict[str, Any]:
    """Give a sub-agent: it begins as long after its caller's step as recorded."""
    begin, end = int(agent.submitted_us[0]), int(root.last_output_us[agent.parent_step or 0])
    began = ended + (max(0, begin - end) if begin >= 0 and end >= 0 else 0)
    at = agent.at_us + began
    return {
        "t": began / 1e6,
        "type": "subagent",
        "agent_id": agent.name,
        "subagent_type": "agent",
        "duration_ms": round((int(at[-1] + agent.generation_us[-1]) - began) / 1000),
        "total_tokens": int(agent.prompt.sum() + agent.output.sum()),
        "tool_use_count": int(agent.calls.sum()),
        "status": "completed",
        "requests": list(_requests(agent, at, ids)),
        "models": _models(agent),
    }


def _requests(session: ReplaySession, at: Ints, ids: BlockIds) -> Iterator[dict[str, Any]]:
    pauses = session.pause_before_us.tolist()
    for step, blocks in enumerate(ids.chain(session)):
        yield {
            "t": int(at[step]) / 1e6,
            "type": "s",
            "model": session.models[step] or _NO_MODEL,
            "in": int(session.prompt[step]),
            "out": int(session.output[step]),
            "hash_ids": blocks,
            "input_types": _input_types(session, step),
            "stop": "tool_use" if session.calls[step] else "end_turn",
            "api_time": int(session.generation_us[step]) / 1e6,
            "think_time": pauses[step] / 1e6,
        }


def _input_types(session: ReplaySession, step: int) -> list[str]:
    """Say what came in: results of calls, a message, or both."""
    if not step:
        return ["text"]
    came = ["tool_result"] if session.calls[step - 1] else []
    return [*came, "text"] if session.kind[step - 1] == "human" else came
