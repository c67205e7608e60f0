"""Invented lines of Claude Code logs, and the rounds that come of them by way of the engine's own line reader."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.format import Log, LogRounds
from tracestat.ingest.logs.lines import read_chunk
from tracestat.ingest.logs.model import Call, Event, Round
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk, LogState, StoredLog

Line = dict[str, Any]

START = datetime(2026, 2, 1, 10, tzinfo=UTC)
SESSION = "3d0f7a52-0000-4000-8000-000000000001"
KEY = b"a key of the tests"


def stamp(seconds: float) -> str:
    """Give a time stamp as the harness writes it."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def microseconds(seconds: float) -> int:
    """Give the same time as the model has it."""
    return round((START + timedelta(seconds=seconds)).timestamp() * 1_000_000)


def base(kind: str, at: float, session: str = SESSION, **more: Any) -> Line:
    """Make what every line of a conversation has."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/srv/orchard",
        "sessionId": session,
        "type": kind,
        "uuid": f"{kind}-{at}",
        "timestamp": stamp(at),
        **more,
    }


def usage(uncached: int = 3, creation: int = 900, read: int = 20_000, output: int = 40) -> dict[str, int]:
    """Make the token counts of a message."""
    return {
        "input_tokens": uncached,
        "cache_creation_input_tokens": creation,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def tool_use(call: str, name: str = "Read", **given: Any) -> dict[str, Any]:
    """Make a block with a call."""
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def says(at: float, message: str, *blocks: dict[str, Any], tokens: dict[str, int] | None = None, **more: Any) -> Line:
    """Make a line of the model."""
    return base(
        "assistant",
        at,
        **{
            "message": {
                "id": message,
                "role": "assistant",
                "model": "claude-opus-4-8",
                "content": list(blocks),
                "usage": tokens or usage(),
            },
            **more,
        },
    )


def calls(at: float, message: str, call: str, name: str = "Read", given: Line | None = None, **more: Any) -> Line:
    """Make a line with one call."""
    return says(at, message, tool_use(call, name, **(given or {})), **more)


def answers(at: float, call: str, content: Any = "fine", *, error: bool | None = None, **more: Any) -> Line:
    """Make a line with one result."""
    block: Line = {"type": "tool_result", "tool_use_id": call, "content": content}
    if error is not None:
        block["is_error"] = error
    return base("user", at, **{"message": {"role": "user", "content": [block]}, **more})


def asks(at: float, content: Any = "plant a tree", **more: Any) -> Line:
    """Make a line that a human, or the harness, wrote."""
    return base("user", at, **{"message": {"role": "user", "content": content}, **more})


def nested(at: float, line: Line, agent: str = "a77", parent: str = "toolu_task") -> Line:
    """Make the progress line that carries a line of a sub-agent."""
    inner = {key: line[key] for key in ("type", "message", "timestamp", "uuid")}
    return base(
        "progress", at, parentToolUseID=parent, data={"type": "agent_progress", "agentId": agent, "message": inner}
    )


def running(at: float, call: str, elapsed: float) -> Line:
    """Make the progress line of a command that goes on."""
    data = {"type": "bash_progress", "elapsedTimeSeconds": elapsed, "output": "", "timeoutMs": None}
    return base("progress", at, parentToolUseID=call, data=data)


def notice(task: str, *, status: str | None = "completed", call: str | None = None) -> str:
    """Make the text that tells the end of a job; without a status it is an event of one."""
    parts = ["<task-notification>", f"<task-id>{task}</task-id>"]
    parts += [f"<tool-use-id>{call}</tool-use-id>"] if call else []
    parts += [f"<status>{status}</status>"] if status else ["<event>something grew</event>"]
    return "\n".join([*parts, "<summary>the orchard</summary>", "</task-notification>"])


def queued(at: float, content: str, session: str = SESSION) -> Line:
    """Make the line of a prompt that the harness queued."""
    return {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": stamp(at),
        "sessionId": session,
        "content": content,
    }


def file_of(lines: Iterable[Line]) -> bytes:
    """Write lines as the harness does."""
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)


@dataclass
class Read:
    """What came of some logs."""

    logs: list[LogRounds]
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def rounds(self) -> list[Round]:
        return [made for log in self.logs for made in log.rounds]

    @property
    def calls(self) -> list[Call]:
        return [call for made in self.rounds for call in made.calls]

    @property
    def events(self) -> list[Event]:
        return [event for made in self.rounds for event in made.events]

    @property
    def left_out(self) -> Counter[str]:
        return sum((Counter(log.left_out) for log in self.logs), Counter())

    @property
    def counts(self) -> Counter[str]:
        return sum((Counter(log.counts) for log in self.logs), Counter())

    def call(self, name: str) -> Call:
        """Give the one call that had this id in the log."""
        (found,) = [call for call in self.calls if call.id == call_id(name)]
        return found


def call_id(name: str) -> str:
    return f"call_{Names(KEY).id('call', name)}"


def session_id(name: str) -> str:
    return f"claude:{Names(KEY).id('session', name)}"


def read(*files: Sequence[Line] | bytes, developer: str | None = None) -> Read:
    """Read files, each of lines or of bytes, as logs in this order."""
    names = Names(KEY)
    contents = [given if isinstance(given, bytes) else file_of(given) for given in files]
    chunks = [read_chunk(CLAUDE, names, data, 1, complete=data.endswith(b"\n")) for data in contents]
    stored = [StoredLog(LogState(CLAUDE.slug), pieces=(chunk.facts,)) for chunk in chunks]
    logs = [Log(f"log{i:04}", developer, partial(kept.facts, CLAUDE.fact)) for i, kept in enumerate(stored)]
    return Read(list(CLAUDE.rounds(logs)), chunks)
