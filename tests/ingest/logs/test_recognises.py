"""No format takes another's file: every example, and lines of harnesses that resemble them, before every format."""

from __future__ import annotations

from typing import Any

import pytest

from tracestat.ingest.logs.dynamo import DYNAMO
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.formats import FORMATS
from tracestat.ingest.logs.kvcache_tester import KVCACHE_TESTER
from tracestat.ingest.logs.llmservingsim import LLMSERVINGSIM
from tracestat.ingest.logs.opencode import OPENCODE
from tracestat.ingest.logs.otel import OTEL

EVERY: dict[str, Format] = {
    form.slug: form for form in (*FORMATS, KVCACHE_TESTER, DYNAMO, OTEL, OPENCODE, LLMSERVINGSIM)
}
Json = dict[str, Any]
REQUEST: Json = {"t": 0.0, "type": "s", "in": 9, "out": 1, "hash_ids": [1], "input_types": ["text"], "stop": ""}
UUID = "11111111-2222-3333-4444-555555555555"

EXAMPLES: list[tuple[str | None, Json]] = [
    ("kv-cache-tester", {"id": "trace_1", "models": ["m"], "block_size": 64, "tool_tokens": 1, "requests": [REQUEST]}),
    (
        "kv-cache-tester",
        {"id": "trace_1", "block_size": 64, "requests": [{"t": 9, "type": "subagent", "requests": [REQUEST]}]},
    ),
    ("dynamo", {"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": {"request_id": "r"}}),
    (
        "dynamo",
        {"timestamp": 5, "event": {"schema": "dynamo.request.trace.v1", "event_type": "tool_end", "tool": {}}},
    ),
    ("dynamo", {"schema": "dynamo.agent.trace.v1", "event_type": "tool_error", "session_id": "s", "tool": {}}),
    ("otel", {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": []}]}]}),
    ("otel", {"resourceSpans": [{"instrumentationLibrarySpans": []}]}),
    ("opencode", {"info": {"id": "ses_1", "directory": "/home"}, "messages": []}),
    ("opencode", {"info": {"id": "ses_1"}, "messages": [{"info": {"id": "msg_1", "role": "user"}, "parts": []}]}),
    ("llmservingsim", {"session_id": "s", "arrival_time_ns": 0, "sub_requests": [{"input_toks": 1, "output_toks": 1}]}),
    (
        "claude-code",
        {
            "type": "assistant",
            "message": {"id": "msg_1", "role": "assistant", "content": []},
            "sessionId": UUID,
            "uuid": UUID,
            "timestamp": "2026-03-01T10:00:00.000Z",
        },
    ),
    (
        "claude-code",
        {"type": "user", "message": {"role": "user", "content": "hello"}, "sessionId": UUID, "uuid": UUID},
    ),
    (
        "codex",
        {
            "timestamp": "2026-03-01T10:00:00.000Z",
            "type": "session_meta",
            "payload": {"id": UUID, "cwd": "/home", "originator": "codex_cli_rs", "cli_version": "0.120.0"},
        },
    ),
    # of nobody: flat requests, other signals, records of other harnesses, TraceLab's own rows
    (None, {"input_toks": 1, "output_toks": 1, "arrival_time_ns": 0}),
    (None, {"resourceLogs": [{"scopeLogs": []}]}),
    (None, {"resourceSpans": []}),
    (None, {"schema": "dynamo.other.v1", "event_type": "request_end"}),
    (None, {"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1]}),
    (None, {"info": {"id": "x"}, "messages": [{"role": "user", "content": "hello"}]}),
    (None, {"id": "x", "requests": [{"t": 0}]}),
    (None, {"session_id": "s", "sub_requests": []}),
    (None, {"type": "message", "id": "1", "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user"}}),
    (None, {"provider": "claude", "session_id": "s", "round_index": 0, "round_id": "r", "tools": []}),
    (None, {"requests": [], "id": "x", "block_size": 64}),
    (None, {}),
]


@pytest.mark.parametrize("form", EVERY.values(), ids=EVERY.keys())
@pytest.mark.parametrize(("slug", "example"), EXAMPLES)
def test_a_format_recognises_its_own_and_nothing_else(form: Format, slug: str | None, example: Json) -> None:
    assert form.recognises(example) == (form.slug == slug)


@pytest.mark.parametrize("form", EVERY.values(), ids=EVERY.keys())
def test_odd_values_are_recognised_as_nothing(form: Format) -> None:
    for key in sorted({key for _, example in EXAMPLES for key in example}):
        for odd in (None, 5, "text", [], [5], {}, {"schema": 5}, [{}], [[]], True):
            assert not form.recognises({key: odd})
            for _, example in EXAMPLES:
                assert form.recognises(example | {key: odd}) in (True, False)
