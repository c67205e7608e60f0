"""Logs of every format with a secret in each of their places, one place at a time, whole and damaged.

Every secret holds ``MARK`` and the number of its place in letters, so that one search finds any of them and tells
where it stood.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

__all__ = ["MARK", "TEMPLATES", "damaged", "number_of", "poisoned", "wholly"]

Json: TypeAlias = Any
Path: TypeAlias = tuple[str | int, ...]

MARK = "zqx"
STAMP = "2026-03-01T10:00:{:02d}.000Z"
T0_MS = 1_780_000_000_000

# What secrets look like: a reader may let one through for its form, so each place has each.
SHAPES: tuple[str, ...] = (
    "{}",
    "sk-ant-api03-{}-0aB9",
    "/home/{}/plan/notes.txt",
    "{}@example.org",
    "the-{}_key",
    "claude-{}-5",
    "mcp__{}__query",
    "{} --token {} <<E\nhello {}\nE",
    "custom_7 {}",
    "11111111-2222-7333-4444-{}",
    'Exit code {}\n{{"{}": 1}}',
    "Script running with cell ID {}",
    "Command running in background with ID: {}",
    "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<status>completed</status>",
    '{{"cmd": "{} && export K={}", "command": ["{}", "x"], "cell_id": "{}", "session_id": "{}"}}',
    "2026-03-01T10:00:{}",
)
ODD: tuple[Callable[[str], Json], ...] = (
    lambda _: None,
    lambda _: -1,
    lambda _: 10**30,
    lambda _: 1e308,
    lambda _: True,
    lambda secret: [secret],
    lambda secret: {secret: secret},
    lambda secret: [[{secret: [secret]}]],
    lambda secret: {"type": secret, "text": secret, "content": secret, "id": secret},
    lambda secret: f"\ud83d{secret}",
)


def _claude(kind: str, at: int, **more: Json) -> Json:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/w",
        "sessionId": "s1",
        "version": "2.1.2",
        "gitBranch": "main",
        "type": kind,
        "uuid": f"u{at}",
        "timestamp": STAMP.format(at),
        **more,
    }


def _nested_claude(at: int) -> Json:
    inner = _claude("user", at, message={"role": "user", "content": "go"})
    data = {"type": "agent_progress", "agentId": "a1", "message": inner, "prompt": "go"}
    return _claude("progress", at, parentToolUseID="c1", toolUseID="x", data=data)


def _use(call: str, tool: str, **given: Json) -> Json:
    return {"type": "tool_use", "id": call, "name": tool, "input": given}


CLAUDE: list[Json] = [
    {"type": "summary", "summary": "the plan", "leafUuid": "x"},
    _claude("user", 1, message={"role": "user", "content": "go"}, permissionMode="default", origin={"kind": "human"}),
    _claude("user", 2, message={"role": "user", "content": [{"type": "text", "text": "go"}]}, isMeta=False),
    _claude(
        "assistant",
        3,
        requestId="r1",
        message={
            "id": "msg_1",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "so"},
                _use("c1", "Bash", command="make all | tail", timeout=1000, description="make", run_in_background=True),
                _use("c2", "Read", file_path="/w/x"),
                _use("c3", "TaskOutput", task_id="b1", block=True, timeout=5),
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 2, "service_tier": "standard"},
        },
    ),
    _claude(
        "user",
        5,
        message={
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "fine", "is_error": True}],
        },
        toolUseResult={"stdout": "fine", "durationMs": 5, "backgroundTaskId": "b1", "agentId": "a1", "status": "ok"},
        toolDenialKind=None,
    ),
    _claude(
        "user",
        6,
        message={
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "file"}]},
            ],
        },
        toolUseResult="Error: fine",
    ),
    _claude("progress", 7, parentToolUseID="c1", data={"type": "bash_progress", "elapsedTimeSeconds": 2, "output": ""}),
    _nested_claude(8),
    _claude("attachment", 9, attachment={"type": "queued_command", "prompt": "go"}),
    {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": STAMP.format(10),
        "sessionId": "s1",
        "content": "go",
    },
    _claude("system", 11, subtype="compact_boundary", content="x"),
    _claude(
        "assistant", 12, isSidechain=True, agentId="a1", message={"id": "m2", "model": "claude-opus-4-8", "content": []}
    ),
]


def _codex(at: int, kind: str, **payload: Json) -> Json:
    return {"timestamp": STAMP.format(at), "type": kind, "payload": payload, "ordinal": at}


CODEX: list[Json] = [
    _codex(
        0,
        "session_meta",
        id="t1",
        cwd="/w",
        cli_version="0.142.3",
        originator="codex_cli_rs",
        instructions="be good",
        git={"repository_url": "https://x/y", "branch": "main", "commit_hash": "0"},
        source={"subagent": {"thread_spawn": {"parent_thread_id": "t0"}}},
        forked_from_id="t0",
    ),
    _codex(
        1,
        "turn_context",
        turn_id="u1",
        model="gpt-5.5",
        approval_policy="never",
        cwd="/w",
        sandbox_policy={"mode": "x"},
    ),
    _codex(2, "event_msg", type="user_message", message="go"),
    _codex(3, "response_item", type="reasoning", summary=[], encrypted_content="x"),
    _codex(4, "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "so"}]),
    _codex(
        5, "response_item", type="function_call", name="exec_command", arguments='{"cmd":"make | tail"}', call_id="c1"
    ),
    _codex(6, "response_item", type="function_call", name="find", namespace="mcp__acme", arguments="{}", call_id="c2"),
    _codex(
        7,
        "response_item",
        type="custom_tool_call",
        name="exec",
        input="await x.exec_command({cmd: 'make'})",
        call_id="c3",
    ),
    _codex(
        8,
        "response_item",
        type="local_shell_call",
        call_id="c4",
        action={"type": "exec", "command": ["make"], "env": {"A": "b"}},
    ),
    _codex(
        9, "response_item", type="function_call_output", call_id="c1", output="Process exited with code 1\nOutput:\nno"
    ),
    _codex(10, "response_item", type="function_call_output", call_id="c2", output=[{"type": "x", "text": "yes"}]),
    _codex(
        11,
        "response_item",
        type="custom_tool_call_output",
        call_id="c3",
        output='{"output":"x","metadata":{"exit_code":0}}',
    ),
    _codex(
        12,
        "event_msg",
        type="exec_command_end",
        call_id="c1",
        exit_code=0,
        duration={"secs": 1, "nanos": 5},
        stdout="x",
    ),
    _codex(13, "event_msg", type="mcp_tool_call_end", call_id="c2", result={"Ok": {"isError": False}}, duration="1s"),
    _codex(
        14,
        "event_msg",
        type="item_completed",
        item={"type": "CommandExecution", "id": "c4", "status": "failed", "command": "x"},
        started_at_ms=5,
    ),
    _codex(
        15,
        "event_msg",
        type="token_count",
        info={"total_token_usage": {"input_tokens": 5}, "last_token_usage": {"input_tokens": 5}},
    ),
    _codex(16, "event_msg", type="turn_aborted", turn_id="u1", reason="interrupted"),
    _codex(17, "compacted", message="the plan"),
]


def _dynamo(kind: str, at: int, **more: Json) -> Json:
    context = {"session_id": "s1", "trajectory_id": "x", "parent_session_id": "p"}
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": kind,
        "event_time_unix_ms": T0_MS + 1000 * at,
        "event_source": "dynamo",
        "agent_context": context,
        **more,
    }


DYNAMO: list[Json] = [
    _dynamo(
        "request_end",
        5,
        request={
            "request_id": "r1",
            "model": "qwen3-coder",
            "input_tokens": 5,
            "request_received_ms": T0_MS,
            "finish_reason_metadata": {"finish_reason": "x", "tool_calls": [{"id": "c1", "name": "grep"}]},
            "worker": {"host": "h"},
        },
    ),
    _dynamo(
        "tool_end",
        7,
        tool={"tool_call_id": "c1", "tool_class": "grep", "status": "succeeded", "started_at_unix_ms": T0_MS + 5500},
    ),
    _dynamo("tool_error", 8, tool={"tool_call_id": "c2", "tool_class": "grep", "status": "error", "error_type": "x"}),
    _dynamo("request_payload", 9, payload={"messages": [{"role": "user", "content": "go"}]}),
    {
        "timestamp": 5,
        "event": _dynamo("request_end", 12, request={"request_id": "r2", "request_received_ms": T0_MS + 9000}),
    },
]


def _span(name: str, start: int, end: int, parent: str, **attributes: Json) -> Json:
    told = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    return {
        "traceId": "t1",
        "spanId": f"{name}{start}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str((T0_MS + 1000 * start) * 10**6),
        "endTimeUnixNano": str((T0_MS + 1000 * end) * 10**6),
        "attributes": told,
        "status": {"code": 2, "message": "no"},
        "events": [{"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "no"}}]}],
    }


def _export(*spans: Json) -> Json:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "x"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


OTEL: list[Json] = [
    _export(
        _span(
            "chat m",
            0,
            2,
            "a",
            gen_ai__operation__name="chat",
            gen_ai__provider__name="openai",
            gen_ai__request__model="gpt-5.5",
        ),
        _span(
            "execute_tool x",
            2,
            4,
            "a",
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="bash",
            gen_ai__tool__call__id="c1",
            gen_ai__tool__call__arguments='{"command": "make | tail"}',
            gen_ai__tool__call__result="fine",
            error__type="x",
        ),
        _span("chat m", 5, 6, "a", gen_ai__operation__name="chat", gen_ai__conversation__id="x", gen_ai__prompt="go"),
    ),
    _export(
        _span("claude_code.interaction", 10, 20, "", session__id="s", user_prompt="go", user_prompt_length="2"),
        _span(
            "claude_code.llm_request",
            11,
            12,
            "claude_code.interaction10",
            session__id="s",
            model="claude-opus-4-8",
            agent_id="x",
        ),
        _span(
            "claude_code.tool",
            12,
            15,
            "claude_code.interaction10",
            session__id="s",
            tool_name="Bash",
            full_command="make x",
            tool_use_id="c9",
        ),
        _span("claude_code.tool.blocked_on_user", 12, 13, "claude_code.tool12", decision="accept", source="config"),
        _span("claude_code.tool.execution", 13, 15, "claude_code.tool12", success="true", error="x"),
    ),
]

OPENCODE: list[Json] = [
    {
        "info": {"id": "ses_1", "projectID": "p1", "directory": "/w", "title": "the plan", "version": "1.0.0"},
        "messages": [
            {
                "info": {"id": "m1", "role": "user", "time": {"created": T0_MS}, "agent": "build"},
                "parts": [{"id": "p1", "type": "text", "text": "go", "synthetic": False}],
            },
            {
                "info": {
                    "id": "m2",
                    "role": "assistant",
                    "time": {"created": T0_MS + 1000, "completed": T0_MS + 9000},
                    "modelID": "claude-opus-4-8",
                    "providerID": "anthropic",
                    "path": {"cwd": "/w", "root": "/"},
                    "tokens": {"input": 5, "output": 6, "reasoning": 0, "cache": {"read": 1, "write": 2}},
                },
                "parts": [
                    {"type": "step-start"},
                    {"type": "text", "text": "so", "time": {"start": T0_MS + 1500, "end": T0_MS + 2000}},
                    {
                        "type": "tool",
                        "callID": "c1",
                        "tool": "bash",
                        "state": {
                            "status": "completed",
                            "input": {"command": "make | tail", "timeout": 1000},
                            "time": {"start": T0_MS + 2000, "end": T0_MS + 5000},
                            "output": "fine",
                            "title": "make",
                            "metadata": {"exit": 0},
                        },
                    },
                    {
                        "type": "tool",
                        "callID": "c2",
                        "tool": "read",
                        "state": {
                            "status": "error",
                            "error": "no",
                            "time": {"start": T0_MS + 2000, "end": T0_MS + 3000},
                        },
                    },
                    {"type": "step-finish", "reason": "stop", "tokens": {"input": 5, "output": 6}},
                ],
            },
        ],
    }
]
KVCACHE_TESTER: list[Json] = [
    {
        "id": "trace_1",
        "models": ["m"],
        "block_size": 64,
        "requests": [
            {
                "t": 0,
                "type": "n",
                "model": "claude-opus-4-8",
                "in": 5,
                "out": 6,
                "hash_ids": [1],
                "input_types": ["text"],
                "api_time": 1,
            },
            {
                "t": 9,
                "type": "n",
                "input_types": ["tool_result"],
                "output_types": ["text"],
                "stop": "tool_use",
                "api_time": 1,
            },
            {
                "t": 20,
                "type": "subagent",
                "agent_id": "a",
                "status": "completed",
                "duration_ms": 8,
                "requests": [{"t": 0, "type": "n", "in": 1}],
            },
        ],
    }
]
LLMSERVINGSIM: list[Json] = [
    {
        "session_id": "s1",
        "arrival_time_ns": 5,
        "sub_requests": [
            {"input_toks": 5, "output_toks": 6, "tool_duration_ns": 10**9, "tool": "grep"},
            {"input_toks": 5, "output_toks": 6, "tool_duration_ns": 10**9, "tool": "grep"},
        ],
    }
]
TEMPLATES: dict[str, list[Json]] = {
    "claude-code": CLAUDE,
    "codex": CODEX,
    "dynamo": DYNAMO,
    "otel": OTEL,
    "opencode": OPENCODE,
    "kv-cache-tester": KVCACHE_TESTER,
    "llmservingsim": LLMSERVINGSIM,
}


def number_of(text: str) -> str:
    """Give the letters that number the place of the first secret in a text."""
    at = text.index(MARK)
    return text[at : at + len(MARK) + 4]


def _secret(n: int) -> str:
    letters = "".join(chr(ord("a") + n // 26**i % 26) for i in (3, 2, 1, 0))
    return MARK + letters


def _places(value: Json, path: Path = ()) -> Iterator[Path]:
    """Give the place of every value within another."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from _places(part, (*path, key))


def _changed(value: Json, path: Path, change: Callable[[Json, str | int], Json]) -> Json:
    """Copy a value with one of its containers changed."""
    if len(path) == 1:
        return change(value, path[0])
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    made = [(key, _changed(part, path[1:], change) if key == path[0] else part) for key, part in parts]
    return dict(made) if isinstance(value, dict) else [part for _, part in made]


def _with(value: Json, path: Path, new: Json) -> Json:
    def change(inner: Json, key: str | int) -> Json:
        if isinstance(inner, dict):
            return {**inner, key: new}
        return [new if place == key else part for place, part in enumerate(inner)]

    return _changed(value, path, change)


def _renamed(value: Json, path: Path, new: str) -> Json:
    def change(inner: Json, key: str | int) -> Json:
        return (
            {new if name == key else name: part for name, part in inner.items()} if isinstance(inner, dict) else inner
        )

    return _changed(value, path, change)


def poisoned(objects: list[Json], *, every: int = 1) -> Iterator[tuple[str, Json]]:
    """Give every object with a secret in one of its places, in every shape and with every odd type around it.

    Parameters
    ----------
    objects : list
        What stands in the lines of a log.
    every : int, optional
        Only every so many of them; what divides the number of shapes would leave some out.

    Yields
    ------
    (str, object)
        Which place of which object, and the object.
    """
    n = 0
    for number, value in enumerate(objects):
        for path in _places(value):
            where = f"object {number}: {'.'.join(map(str, path))}"
            for shape in SHAPES:
                n += 1
                if n % every == 0:
                    text = shape.replace("{}", _secret(n)).replace("{{", "{").replace("}}", "}")
                    yield f"{where} = {shape!r} {_secret(n)}", _with(value, path, text)
            for odd in ODD:
                n += 1
                if n % every == 0:
                    yield f"{where} = odd {_secret(n)}", _with(value, path, odd(_secret(n)))
            n += 1
            if n % every == 0:
                yield f"{where} renamed {_secret(n)}", _renamed(value, path, _secret(n))


def wholly(objects: list[Json], *, shape: str = "{}") -> list[Json]:
    """Give the objects with a secret in the place of every text that no format needs to be what it is."""
    return [_all_texts(value, shape.replace("{}", f"{MARK}all")) for value in objects]


_WORDS = frozenset({"type", "event_type", "schema", "timestamp", "role", "name", "key", "tool", "status", "tool_class"})


def _all_texts(value: Json, secret: str, key: str = "") -> Json:
    if isinstance(value, dict):
        return {name: _all_texts(part, secret, name) for name, part in value.items()} | {f"{MARK}key": secret}
    if isinstance(value, list):
        return [_all_texts(part, secret, key) for part in value]
    is_time = key.endswith("UnixNano")
    return value if not isinstance(value, str) or key in _WORDS or is_time else f"{secret} {value}"


def damaged(objects: list[Json]) -> Iterator[bytes]:
    """Give lines with secrets in every usual damage: cut, glued, no Unicode, nested too deeply, no objects."""
    for value in wholly(objects):
        text = json.dumps(value)
        raw = text.encode()
        for cut in range(7, len(raw), max(1, len(raw) // 23)):
            yield raw[:cut]
            yield raw[cut:]
        yield raw + raw
        yield raw[: len(raw) // 2] + raw
        yield raw[: len(raw) // 2] + raw + raw[len(raw) // 2 :]
        yield raw.replace(MARK.encode(), b"\xff" + MARK.encode() + b"\xc3")
        yield raw.replace(MARK.encode(), b"\\ud800" + MARK.encode())
        yield raw.replace(b"\\n", b"\x00").replace(b" ", b"\x00")
        yield b"\xef\xbb\xbf" + raw
        yield text.encode("utf-16")
        yield b"\0" * 40 + raw
        yield b"[" * 2000 + raw + b"]" * 2000
        yield b'{"' + MARK.encode() + b'":' * 1 + b'{"a":' * 3000 + raw + b"}" * 3001
        yield json.dumps([value]).encode()
        yield json.dumps(text).encode()
        yield MARK.encode() + b" = " + raw
        yield raw.replace(b":", b": NaN, " + b'"x":', 1)
