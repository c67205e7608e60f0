"""LLMServingSim (AgentServeSim): JSON lines, a session per line, ``tool_duration_ns`` after the call it stands with.

Written from casys-kaist/LLMServingSim ``serving/core/router.py`` as of @5daddb2 and its forks (for example
horser1/LLMServingSim @9dd16ca): ``load_requests`` queues the first of ``sub_requests``; when a request completes, the
next is released ``tool_duration_ns`` later; the last one's is ignored. ``input_tok_ids`` are the ids of the whole
prompt.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from tests.export.replay_readers.model import ReplayError, Session, Step, json_rows, keys, text, waits_after, whole

_SUB = {"input_toks", "output_toks", "tool_duration_ns"}
_SUB_MORE = {"input_tok_ids", "output_tok_ids", "tool"}


def read(path: Path) -> list[Session]:
    """Read a file."""
    sessions: list[Session] = []
    owners: dict[int, str] = {}
    for row in json_rows(path):
        keys(row, {"session_id", "arrival_time_ns", "sub_requests"})
        name = text(row["session_id"])
        if any(session.name == name for session in sessions):
            raise ReplayError(f"two sessions are called {name}")
        if not isinstance(row["sub_requests"], list) or not row["sub_requests"]:
            raise ReplayError(f"{name} has no request: the consumer skips it silently")
        arrival = whole(row["arrival_time_ns"]) / 1e9
        sessions.append(Session(name, _steps(name, row["sub_requests"], owners), arrival))
    return sessions


def _steps(name: str, rows: list[dict[str, Any]], owners: dict[int, str]) -> tuple[Step, ...]:
    ids_of: list[list[int] | None] = []
    for row in rows:
        keys(row, _SUB, _SUB_MORE)
        prompt = whole(row["input_toks"], 1)
        whole(row["output_toks"], 1)
        ids = row.get("input_tok_ids")
        if ids is not None and len(ids) != prompt:
            raise ReplayError(f"{name}: {len(ids)} token ids for a prompt of {prompt}")
        for item in set(ids or ()):
            if owners.setdefault(whole(item), name) != name:
                raise ReplayError(f"token id {item} is in {owners[item]} and in {name}: their caches would be shared")
        ids_of.append(ids)
    afters = waits_after([whole(row["tool_duration_ns"]) / 1e9 for row in rows])
    news = [rows[0]["input_toks"] if ids_of[0] is not None else None]
    for earlier, ids in itertools.pairwise(ids_of):
        if earlier is None or ids is None:
            news.append(None)
            continue
        same = next(
            (at for at, (a, b) in enumerate(zip(earlier, ids, strict=False)) if a != b), min(len(earlier), len(ids))
        )
        news.append(len(ids) - same)
    return tuple(
        Step(row["input_toks"], row["output_toks"], before, after, new=new)
        for row, new, (before, after) in zip(rows, news, afters, strict=True)
    )
