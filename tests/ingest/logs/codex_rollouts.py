"""Invented Codex rollouts, and what is made of them: written line by line, read as the ingest reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tracestat.ingest.logs.codex import CODEX, rounds
from tracestat.ingest.logs.format import Log, LogRounds
from tracestat.ingest.logs.lines import read_chunk
from tracestat.ingest.logs.model import Call, Event, Round
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk, unpack

NAMES = Names(b"a key of the tests")
START = datetime(2026, 2, 3, 10, tzinfo=UTC)
_FACTS = msgspec.msgpack.Decoder(list[CODEX.fact])


def stamp(seconds: float) -> str:
    """Write a time as a rollout does."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def us(seconds: float) -> int:
    """Give a time as facts hold it."""
    return round((START + timedelta(seconds=seconds)).timestamp() * 1_000_000)


def timed_id(seconds: float, tail: int = 0) -> str:
    """Make an id that sorts by time."""
    digits = f"{us(seconds) // 1000:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-{tail:012x}"


def exited(wall: float | str, code: int = 0, body: str = "") -> str:
    """Write the output of a command that ended."""
    shown = wall if isinstance(wall, str) else f"{wall:.4f}"
    return (
        f"Chunk ID: 0a1b2c\nWall time: {shown} seconds\nProcess exited with code {code}\n"
        f"Original token count: 1\nOutput:\n{body}"
    )


def running(wall: float, session: int, body: str = "") -> str:
    """Write the output of a command that goes on."""
    return (
        f"Chunk ID: 0a1b2c\nWall time: {wall:.4f} seconds\nProcess running with session ID {session}\n"
        f"Original token count: 1\nOutput:\n{body}"
    )


class Rollout:
    """A rollout being written; every method adds one line and gives the rollout."""

    def __init__(self, session: str = "thread-a", *, at: float = 0, **meta: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self._total = 0
        self.header(session, at=at, **meta)

    def header(self, session: str, *, at: float = 0, **meta: Any) -> Rollout:
        fields = {"id": session, "timestamp": stamp(at), "cwd": "/home/ada/work", "cli_version": "0.142.3", **meta}
        return self.line(at, "session_meta", fields)

    def line(self, at: float, kind: str, payload: Any, **envelope: Any) -> Rollout:
        self.lines.append({"timestamp": stamp(at), **envelope, "type": kind, "payload": payload})
        return self

    def item(self, at: float, kind: str, **fields: Any) -> Rollout:
        return self.line(at, "response_item", {"type": kind, **fields})

    def event(self, at: float, kind: str, **fields: Any) -> Rollout:
        return self.line(at, "event_msg", {"type": kind, **fields})

    def turn(self, at: float, turn: str = "turn-1", **fields: Any) -> Rollout:
        context = {"turn_id": turn, "model": "gpt-5.5", "approval_policy": "never", **fields}
        return self.line(at, "turn_context", context)

    def prompt(self, at: float, text: str = "go on") -> Rollout:
        return self.event(at, "user_message", message=text)

    def thinks(self, at: float) -> Rollout:
        return self.item(at, "reasoning", summary=[])

    def says(self, at: float, text: str = "done") -> Rollout:
        return self.item(at, "message", role="assistant", content=[{"type": "output_text", "text": text}])

    def call(self, at: float, call: str, tool: str = "exec_command", **arguments: Any) -> Rollout:
        return self.item(at, "function_call", name=tool, arguments=json.dumps(arguments), call_id=call)

    def script(self, at: float, call: str, text: str, tool: str = "exec") -> Rollout:
        return self.item(at, "custom_tool_call", name=tool, input=text, call_id=call)

    def out(self, at: float, call: str, output: Any) -> Rollout:
        return self.item(at, "function_call_output", call_id=call, output=output)

    def script_out(self, at: float, call: str, output: Any) -> Rollout:
        return self.item(at, "custom_tool_call_output", call_id=call, output=output)

    def used(self, at: float, *, again: bool = False, **last: int) -> Rollout:
        self._total += 0 if again else 1000
        usage = {"input_tokens": 900, "cached_input_tokens": 600, "output_tokens": 90, "reasoning_output_tokens": 40}
        total = {"input_tokens": self._total, "total_tokens": self._total + 7}
        return self.event(at, "token_count", info={"total_token_usage": total, "last_token_usage": {**usage, **last}})

    def add(self, other: Rollout) -> Rollout:
        self.lines += other.lines
        return self

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)


def chunk_of(data: bytes | Rollout, *, complete: bool = True) -> Chunk:
    """Read lines as the ingest does."""
    raw = data if isinstance(data, bytes) else data.data
    return read_chunk(CODEX, NAMES, raw, 1, complete=complete)


def log_of(data: bytes | Rollout | list[bytes], key: str = "log", developer: str | None = None) -> Log:
    """Make a log of its lines, perhaps read in pieces."""
    pieces = [chunk_of(piece).facts for piece in (data if isinstance(data, list) else [data])]

    def facts() -> Iterator[Any]:
        for piece in pieces:
            yield from _FACTS.decode(unpack(piece))

    return Log(key, developer, facts)


def read(*logs: bytes | Rollout | list[bytes]) -> list[LogRounds]:
    """Give what is made of rollouts."""
    return list(rounds([log_of(data, f"log{i}") for i, data in enumerate(logs)]))


def rounds_of(*logs: bytes | Rollout | list[bytes]) -> list[Round]:
    """Give the rounds of rollouts."""
    return [made for log in read(*logs) for made in log.rounds]


def calls_of(*logs: bytes | Rollout | list[bytes]) -> list[Call]:
    """Give the calls of rollouts."""
    return [call for made in rounds_of(*logs) for call in made.calls]


def only(*logs: bytes | Rollout | list[bytes]) -> Call:
    """Give the one call of rollouts."""
    (call,) = calls_of(*logs)
    return call


def named(call: str) -> str:
    """Give the pseudonym of a call."""
    return NAMES.id("call", call)


def kinds(events: list[Event]) -> list[str]:
    """Give the types of events."""
    return [event.type for event in events]
