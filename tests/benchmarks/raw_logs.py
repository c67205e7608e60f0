"""Invented raw logs of a given size: Claude Code sessions and Codex rollouts whose lines are as long as real ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

__all__ = ["write_raw_logs"]

# Characters of a result's text; of one in a hundred, as a large file that was read. The mean line is about 2.5 kB.
_TEXT, _LARGE = (200, 4_000), 60_000
_COMMANDS = (
    "git status && pytest -q tests | tail -20",
    "rg -n name src | head",
    "cargo build 2>&1 | tail -5",
    "ls -la",
)


def write_raw_logs(folder: Path, *, megabytes: float, seed: int = 0) -> Path:
    """Write logs below a folder until they have so many megabytes; four fifths are Claude Code's."""
    random_ = random.Random(seed)
    words = ["".join(random_.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(500)]
    size = number = 0
    while size < megabytes * 1e6:
        number += 1
        claude = number % 5 != 0
        path = folder / ("claude" if claude else "codex") / f"{number:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        make = _claude if claude else _codex
        with path.open("w", encoding="utf-8") as file:
            for line in make(random_, words, number):
                file.write(json.dumps(line) + "\n")
        size += path.stat().st_size
    return folder


def _text(random_: random.Random, words: list[str]) -> str:
    length = _LARGE if random_.random() < 0.01 else random_.randint(*_TEXT)
    return " ".join(random_.choices(words, k=length // 8))


def _stamp(seconds: float) -> str:
    whole, ms = divmod(round(seconds * 1000), 1000)
    day, hour, minute, second = 1 + whole // 86400 % 28, whole // 3600 % 24, whole // 60 % 60, whole % 60
    return f"2026-03-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{ms:03d}Z"


def _claude(random_: random.Random, words: list[str], number: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    time = number * 1000.0
    for i in range(120):
        shell = random_.random() < 0.4
        given = {"command": random_.choice(_COMMANDS)} if shell else {"file_path": "/home/somebody/" + words[i]}
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": 40_000,
            "cache_creation_input_tokens": 900,
            "output_tokens": 90,
        }
        blocks = (
            {"type": "text", "text": _text(random_, words)},
            {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": "Bash" if shell else "Read", "input": given},
        )
        for block in blocks:
            time += random_.random() * 5
            message = {"id": f"msg_{number}_{i}", "role": "assistant", "model": "claude-opus-4-8", "usage": usage}
            lines.append(_line("assistant", number, time, {**message, "content": [block]}))
        time += random_.expovariate(0.3)
        text = _text(random_, words)
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}_{i}", "content": text}
        lines.append(
            _line("user", number, time, {"role": "user", "content": [result]}) | {"toolUseResult": {"stdout": text}}
        )
    return lines


def _line(kind: str, number: int, time: float, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "parentUuid": f"u{number}",
        "isSidechain": False,
        "cwd": "/home/somebody/plan",
        "sessionId": f"session-{number}",
        "version": "2.1.200",
        "type": kind,
        "message": message,
        "uuid": f"u-{number}-{time}",
        "timestamp": _stamp(time),
    }


def _codex(random_: random.Random, words: list[str], number: int) -> list[dict[str, Any]]:
    time = number * 1000.0
    lines = [_payload("session_meta", time, {"id": f"rollout-{number}", "cwd": "/home/somebody/plan"})]
    total = 0
    for i in range(120):
        time += random_.random() * 5
        arguments = json.dumps({"cmd": random_.choice(_COMMANDS), "yield_time_ms": 10_000})
        call = {
            "type": "function_call",
            "name": "exec_command",
            "arguments": arguments,
            "call_id": f"call_{number}_{i}",
        }
        lines.append(_payload("response_item", time, call))
        took = random_.expovariate(0.5)
        time += took
        output = (
            f"Chunk ID: a\nWall time: {took:.4f} seconds\nProcess exited with code 0\nOutput:\n{_text(random_, words)}"
        )
        lines.append(
            _payload(
                "response_item", time, {"type": "function_call_output", "call_id": call["call_id"], "output": output}
            )
        )
        total += 1000
        usage = {"input_tokens": 900, "cached_input_tokens": 800, "output_tokens": 100, "total_tokens": 1000}
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": usage}
        lines.append(_payload("event_msg", time + 0.01, {"type": "token_count", "info": info}))
    return lines


def _payload(kind: str, time: float, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": _stamp(time), "type": kind, "payload": payload}
