"""WEKA's kv-cache-tester: a folder, a JSON file per session, ``think_time`` in seconds before the request.

Written from callanjfox/kv-cache-tester ``docs/trace_replay_tester.md`` @19c263b (fields, timing strategies, sub-agents)
and ai-dynamo/aiperf 0.13.0 ``aiperf/dataset/loader/weka_trace_models.py`` (which keys there are; any other is refused)
and ``weka_trace.py`` (it replays ``t[k] - (t[k-1] + api_time[k-1])``, so the three times must agree).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.export.replay_readers.model import (
    BlockSizes,
    ReplayError,
    Session,
    Step,
    block_ids,
    json_of,
    keys,
    number,
    shared_blocks,
    text,
    waits,
    whole,
)

_TRACE = {"id", "models", "block_size", "hash_id_scope", "requests"}
_TRACE_MORE = {"tool_tokens", "system_tokens", "totals"}
_REQUEST = {"t", "type", "model", "in", "out", "hash_ids", "api_time", "think_time"}
_REQUEST_MORE = {"input_types", "output_types", "stop"}
_AGENT = {"t", "type", "agent_id", "subagent_type", "status", "requests", "models"}
_AGENT_MORE = {"duration_ms", "total_tokens", "tool_use_count", "tool_tokens", "system_tokens"}
_SAME = 1e-6  # seconds: what adding up times as large as a month leaves


def read(path: Path) -> list[Session]:
    """Read a folder; every ``*.json`` in it is a session, which is how its consumers read one."""
    files = sorted(path.glob("*.json"))
    if not files:
        raise ReplayError("the folder holds no session")
    if others := sorted(item.name for item in path.iterdir() if item not in files):
        raise ReplayError(f"the folder holds what no consumer reads: {others}")
    sessions = [session for file in files for session in _file(file)]
    if len({session.name for session in sessions}) < len(sessions):
        raise ReplayError("two sessions have one id")
    return sessions


def _file(file: Path) -> list[Session]:
    trace = json_of(file.read_bytes())
    keys(trace, _TRACE, _TRACE_MORE)
    if trace["hash_id_scope"] != "local":
        raise ReplayError(f"{file.name}: ids are {trace['hash_id_scope']}, not local")
    name, block = text(trace["id"]), whole(trace["block_size"], 1)
    sizes = BlockSizes()
    own = [item for item in trace["requests"] if item.get("type") != "subagent"]
    agents: list[Session] = []
    done, names = 0, set()
    for item in trace["requests"]:
        if item.get("type") != "subagent":
            done += 1
            continue
        keys(item, _AGENT, _AGENT_MORE)
        number(item["t"])
        if not done:
            raise ReplayError(f"{file.name}: a sub-agent starts before any request of its parent")
        if item["agent_id"] in names:
            raise ReplayError(f"{file.name}: two sub-agents are called {item['agent_id']}")
        names.add(item["agent_id"])
        inner = f"{name}/{text(item['agent_id'])}"
        agents.append(Session(inner, _steps(inner, item["requests"], block, sizes), parent=(name, done)))
    steps = _steps(name, own, block, sizes)
    sizes.check()
    models = {item["model"] for item in own} | {m for item in trace["requests"] for m in item.get("models", ())}
    if models - set(trace["models"]):
        raise ReplayError(f"{file.name}: the head does not name the models {sorted(models - set(trace['models']))}")
    return [Session(name, steps), *agents]


def _steps(name: str, rows: list[dict[str, Any]], block: int, sizes: BlockSizes) -> tuple[Step, ...]:
    if not rows:
        raise ReplayError(f"{name} has no request")
    befores: list[float] = []
    free = 0.0
    for place, row in enumerate(rows):
        keys(row, _REQUEST, _REQUEST_MORE)
        if row["type"] not in ("n", "s"):
            raise ReplayError(f"{name}: a request of type {row['type']!r} among requests (one level of sub-agents)")
        text(row["model"])
        at, api = number(row["t"]), number(row["api_time"])
        prompt = whole(row["in"], 1)
        whole(row["out"], 1)
        sizes.add(name, block_ids(row["hash_ids"], prompt, block, partial=False), prompt, block)
        befores.append(number(row["think_time"]) if place else 0.0)
        if place and abs(at - free - befores[-1]) > _SAME:
            raise ReplayError(
                f"{name}: request {place + 1} is sent at {at} s, but {free} + think_time is {free + befores[-1]}"
            )
        free = at + api
    earlier = [[], *(row["hash_ids"] for row in rows[:-1])]
    return tuple(
        Step(row["in"], row["out"], before, after, shared=shared_blocks(ids, row["hash_ids"]), block=block)
        for row, ids, (before, after) in zip(rows, earlier, waits(befores), strict=True)
    )
