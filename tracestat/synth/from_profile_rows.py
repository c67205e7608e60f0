"""Drawn steps as rows of TraceLab v0.0.2; names come from a file, so that an encoder escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from tracestat.results import Json
from tracestat.synth.rows import STORE

__all__ = ["DrawnCall", "DrawnSession", "DrawnStep", "drawn_row"]

_COMMANDS: Final = {"deadline": "running", "timeout": "timeout"}
_SEPARATORS: Final = frozenset({"|", "&&", "||", ";", "&", "!"})


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """One call: Unix milliseconds; no result where ``result`` is None; ``kind`` is the deadline's that ended it."""

    tool: str
    skeleton: str | None
    emitted: int
    result: int | None
    kind: str | None = None
    limit_ms: float | None = None


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """One step: when its input was complete, its first and last output, what came in, what it called, its tokens."""

    index: int
    message_at: int | None
    results: Sequence[tuple[int, int, DrawnCall]]  # step and number of the call, and the call
    first_output: int
    last_output: int
    calls: Sequence[DrawnCall]
    prefix: int
    append: int
    output: int


@dataclass(frozen=True, slots=True)
class DrawnSession:
    """Whose steps they are."""

    provider: str
    session: str
    project: str
    developer: str
    model: str | None
    key: str


def drawn_row(whose: DrawnSession, step: DrawnStep) -> bytes:
    """Write one step as a line, without the newline.

    Parameters
    ----------
    whose : DrawnSession
    step : DrawnStep
    """
    claude = whose.provider == "claude"
    events: list[dict[str, Json]] = [
        {
            "event_type": "tool_result",
            "timestamp": _iso(call.result or 0),
            "source": "user.content.tool_result",
            "tool_call_id": _call_id(whose, index, number),
        }
        for index, number, call in step.results
    ]
    if step.message_at is not None:
        events.append({"event_type": "user_message", "timestamp": _iso(step.message_at), "source": "user.message"})
    events.sort(key=lambda event: str(event["timestamp"]))
    n_inputs = len(events)
    first_kind = events[0]["event_type"] if events else None
    if step.first_output < step.last_output or not step.calls:
        events.append(_text(step.first_output))
    if not step.calls and step.first_output < step.last_output:
        events.append(_text(step.last_output))
    events += [
        {
            "event_type": "tool_call",
            "timestamp": _iso(call.emitted),
            "source": "assistant.content.tool_use",
            "tool_call_id": _call_id(whose, step.index, number),
            "tool_name": call.tool,
            "tool_index": number,
        }
        for number, call in enumerate(step.calls)
    ]
    round_id = f"round_{whose.key}{step.index:06x}"
    row: dict[str, Json] = {
        "provider": whose.provider,
        "project": whose.project,
        "session_id": whose.session,
        "round_index": step.index,
        "round_id": round_id,
        "turn_id": None,
        "model": whose.model,
        "input_tokens_total": step.prefix + step.append,
        "prefix_tokens": step.prefix,
        "newly_append_tokens": step.append,
        "claude_uncached_input_tokens": 0 if claude else None,
        "claude_cache_creation_input_tokens": step.append if claude else None,
        "claude_cache_read_input_tokens": step.prefix if claude else None,
        "output_tokens": step.output,
        "reasoning_output_tokens": None,
        "timing_events": list(events),
        "tools": [_tool(whose, step.index, number, call) for number, call in enumerate(step.calls)],
        "current_input_event_count": n_inputs,
        "current_user_message_count": int(step.message_at is not None),
        "current_tool_result_count": len(step.results),
        "first_input_event_type": first_kind,
        "trace_key": f"{whose.provider}:{whose.session}:{round_id}",
        "user": whose.developer,
        "store": STORE,
    }
    return msgspec.json.encode(row)


def _tool(whose: DrawnSession, index: int, number: int, call: DrawnCall) -> dict[str, Json]:
    tool: dict[str, Json] = {
        "tool_index": number,
        "tool_name": call.tool,
        "tool_call_id": _call_id(whose, index, number),
        "emitted_at": _iso(call.emitted),
        "result_at": None if call.result is None else _iso(call.result),
        "tool_wall_latency_ms": None if call.result is None else call.result - call.emitted,
        "tool_internal_latency_ms": None,
        "is_error": None if call.result is None else False,
    }
    if call.skeleton is not None:
        words = [w for w in call.skeleton.split() if w not in _SEPARATORS and not w.startswith("<")]
        tool |= {
            "executables": list(words),
            "executable_parse_status": "success" if words else "failed",
            "command_skeleton": call.skeleton,
        }
    if call.kind in _COMMANDS:
        tool["command_status"] = _COMMANDS[call.kind]
        tool["asked_limit_seconds"] = None if call.limit_ms is None else call.limit_ms / 1000
    return tool


def _call_id(whose: DrawnSession, index: int, number: int) -> str:
    return f"{'toolu_' if whose.provider == 'claude' else 'call_'}{whose.key}{index:06x}{number:03x}"


def _text(at: int) -> dict[str, Json]:
    return {"event_type": "text", "timestamp": _iso(at), "source": "assistant.content.text"}


@lru_cache(maxsize=4096)
def _minute(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M:")


def _iso(ms: int) -> str:
    minute, rest = divmod(ms, 60_000)
    return f"{_minute(minute)}{rest // 1000:02d}.{rest % 1000:03d}Z"
