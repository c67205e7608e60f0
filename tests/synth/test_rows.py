"""Every row is a TraceLab v0.0.2 row: its fields, ids, order of events, and the sums that must agree."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synth.reading import Row, ms, sessions_of
from tracestat.synth import synth_trace
from tracestat.synth.catalogue import CLAUDE, CODEX, PROVIDERS

COMMON = {
    "provider", "session_id", "round_index", "round_id", "model", "input_tokens_total", "prefix_tokens",
    "newly_append_tokens", "claude_uncached_input_tokens", "claude_cache_creation_input_tokens",
    "claude_cache_read_input_tokens", "output_tokens", "reasoning_output_tokens", "timing_events", "tools",
    "current_input_event_count", "current_user_message_count", "current_tool_result_count",
    "current_user_message_chars", "current_tool_result_chars", "current_input_chars", "first_input_event_type",
    "trace_key", "user", "store",
}  # fmt: skip
FIELDS = {"claude": COMMON | {"project"}, "codex": COMMON | {"turn_id"}}
CALL = {
    "tool_index", "tool_name", "tool_call_id", "emitted_at", "result_at", "input_chars", "result_chars",
    "tool_wall_latency_ms", "tool_internal_latency_ms", "is_error",
}  # fmt: skip
COMMAND = {"executables", "executable_parse_status", "executable_parse_reason", "command_skeleton"}
SOURCES = {
    "claude": {
        "user_message": {"user.message"},
        "tool_result": {"user.content.tool_result"},
        "reasoning": {"assistant.content.thinking"},
        "text": {"assistant.content.text"},
        "tool_call": {"assistant.content.tool_use"},
    },
    "codex": {
        "user_message": {"event_msg.user_message"},
        "tool_result": {
            "response_item.function_call_output", "response_item.custom_tool_call_output", "event_msg.patch_apply_end",
        },
        "reasoning": {"response_item.reasoning"},
        "text": {"response_item.message"},
        "tool_call": {"response_item.function_call", "response_item.custom_tool_call"},
        "usage_report": {"event_msg.token_count"},
    },
}  # fmt: skip
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
STAMP = re.compile(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
WORD = re.compile(r"[a-z_0-9-]+")
HIDING = {"<substitution>", "<loops>", "<conditional>", "<subshell>", "<function>", "<unknown>"}


def check_row(row: Row) -> None:
    provider = row["provider"]
    assert set(row) == FIELDS[provider]
    assert re.fullmatch(rf"{provider}:{UUID}", row["session_id"])
    assert row["trace_key"] == f"{provider}:{row['session_id']}:{row['round_id']}"
    assert re.fullmatch(r"user_[0-9a-f]{8}", row["user"])
    assert row["store"] == ".synthetic"
    split = [row[f"claude_{part}_input_tokens"] for part in ("uncached", "cache_creation", "cache_read")]
    if provider == "claude":
        assert re.fullmatch(r"round_[0-9a-f]{16}", row["round_id"])
        assert re.fullmatch(r"project_[0-9a-f]{8}", row["project"])
        assert sum(split[:2]) == row["newly_append_tokens"]
        assert split[2] == row["prefix_tokens"]
        assert row["reasoning_output_tokens"] is None
    else:
        assert re.fullmatch(UUID, row["turn_id"])
        assert re.fullmatch(rf"{row['turn_id']}:\d+", row["round_id"])
        assert split == [None] * 3
        assert 0 <= row["reasoning_output_tokens"] <= row["output_tokens"]
    assert row["input_tokens_total"] == row["prefix_tokens"] + row["newly_append_tokens"]
    assert row["prefix_tokens"] >= 0
    assert row["newly_append_tokens"] > 0
    assert row["output_tokens"] > 0


def check_events(row: Row) -> None:
    provider, events = row["provider"], row["timing_events"]
    kinds = [e["event_type"] for e in events]
    for e in events:
        assert e["source"] in SOURCES[provider][e["event_type"]]
        assert STAMP.fullmatch(e["timestamp"])
    inputs = [e for e in events if e["event_type"] in ("user_message", "tool_result")]
    assert kinds[: len(inputs)] == [e["event_type"] for e in inputs], "inputs come first"
    outputs = [e for e in events[len(inputs) :] if e["event_type"] != "usage_report"]
    assert outputs, "a round writes something"
    stamps = [ms(e["timestamp"]) for e in outputs]
    assert stamps == sorted(stamps)
    if provider == "codex":
        assert kinds.count("usage_report") == 1
        assert kinds[-1] == "usage_report"
        own = {c["tool_call_id"] for c in row["tools"] if c["result_at"] is not None}
        assert {e["tool_call_id"] for e in inputs if e["event_type"] == "tool_result"} == own
        reported = ms(events[-1]["timestamp"])
        assert reported > max([stamps[-1]] + [ms(c["result_at"]) for c in row["tools"] if c["result_at"]])
    else:
        assert "usage_report" not in kinds
        last = [ms(e["timestamp"]) for e in inputs]
        assert last == sorted(last)
        assert not last or last[-1] < stamps[0], "Claude's input precedes its output"
    users = [e for e in inputs if e["event_type"] == "user_message"]
    results = [e for e in inputs if e["event_type"] == "tool_result"]
    assert row["current_input_event_count"] == len(inputs)
    assert row["current_user_message_count"] == len(users)
    assert row["current_tool_result_count"] == len(results)
    assert row["current_user_message_chars"] == sum(e["content_chars"] for e in users)
    assert row["current_tool_result_chars"] == sum(e["result_chars"] for e in results)
    assert row["current_input_chars"] == row["current_user_message_chars"] + row["current_tool_result_chars"]
    assert row["first_input_event_type"] == (inputs[0]["event_type"] if inputs else None)
    called = [e for e in events if e["event_type"] == "tool_call"]
    assert [(e["tool_call_id"], e["tool_name"], e["tool_index"], e["timestamp"]) for e in called] == [
        (c["tool_call_id"], c["tool_name"], c["tool_index"], c["emitted_at"]) for c in row["tools"]
    ]
    if called:
        assert outputs[-1]["event_type"] == "tool_call", "the last output is a call: a single call's wait is the pause"


def check_call(call: Row, provider: str, index: int) -> None:
    assert set(call) >= CALL
    assert call["tool_index"] == index
    assert re.fullmatch(r"(toolu|call)_[0-9a-f]{16}", call["tool_call_id"])
    assert call["input_chars"] > 0
    if call["result_at"] is None:
        gone = ("tool_wall_latency_ms", "tool_internal_latency_ms", "is_error", "result_chars")
        assert [call[name] for name in gone] == [None] * 4
        assert "command_status" not in call
    else:
        wall = ms(call["result_at"]) - ms(call["emitted_at"])
        assert call["tool_wall_latency_ms"] == wall >= 0
        assert call["tool_internal_latency_ms"] is None or 0 <= call["tool_internal_latency_ms"] <= wall
        assert provider == "codex" or call["is_error"] is not None
    shell = call["tool_name"] in ("Bash", "exec_command", "shell_command")
    assert (set(call) >= COMMAND) == shell
    if shell:
        check_command(call)
    if "command_status" in call:
        assert call["tool_name"] in ("exec_command", "write_stdin")
        assert call["command_status"] in ("running", "finished", "aborted")
        assert ("command_exit_code" in call) == (call["command_status"] == "finished")
        if call["command_status"] == "running":
            assert call["is_error"] is None
    else:
        assert "command_exit_code" not in call
    assert ("continuation_of_tool_call_id" in call) == (call["tool_name"] == "write_stdin")


def check_command(call: Row) -> None:
    skeleton, names = call["command_skeleton"], call["executables"]
    assert (call["executable_parse_reason"] is None) == (call["executable_parse_status"] == "success")
    tokens = skeleton.split()
    assert " ".join(tokens) == skeleton
    written = [t for t in tokens if t not in ("|", "&&", "||", ";", "&", "!") and not t.startswith("<")]
    assert all(WORD.fullmatch(name) for name in written)
    if HIDING & set(tokens):
        assert set(written) <= set(names)
    else:
        assert written == names


def check_session(rows: list[Row], seen: dict[str, Row]) -> int:
    """Check one session; give the number of copied rounds."""
    assert [row["round_index"] for row in rows] == list(range(len(rows)))
    assert len({(row["user"], row["provider"], row.get("project")) for row in rows}) == 1
    copied, before = 0, 0
    waiting: dict[str, int] = {}
    launches: dict[str, str] = {}
    for row in rows:
        if row["round_id"] in seen:
            original = seen[row["round_id"]]
            same = set(row) - {"session_id", "trace_key"}
            assert {k: row[k] for k in same} == {k: original[k] for k in same}
            assert copied == row["round_index"], "the past comes first"
            copied += 1
        seen[row["round_id"]] = row
        outputs = [e for e in row["timing_events"] if e["event_type"] in ("reasoning", "text", "tool_call")]
        assert ms(outputs[0]["timestamp"]) >= before
        before = ms(outputs[-1]["timestamp"])
        results = {
            e["tool_call_id"]: ms(e["timestamp"]) for e in row["timing_events"] if e["event_type"] == "tool_result"
        }
        if row["provider"] == "codex":
            waiting |= {c["tool_call_id"]: ms(c["result_at"]) for c in row["tools"] if c["result_at"]}
        for name, at in results.items():
            assert waiting.pop(name) == at, "a result event belongs to a call made before, and comes once"
        if row["provider"] == "claude":
            waiting |= {c["tool_call_id"]: ms(c["result_at"]) for c in row["tools"] if c["result_at"]}
        for call in row["tools"]:
            root = call.get("continuation_of_tool_call_id")
            if root is not None:
                assert launches[root] == "running", "a poll names the launch, which has not been seen to end"
                launches[root] = call["command_status"]
            elif call["tool_name"] == "exec_command":
                launches[call["tool_call_id"]] = call.get("command_status", "")
    return copied


def check_trace(path: Path) -> None:
    seen: dict[str, Row] = {}
    calls: set[str] = set()
    for rows in sessions_of(path):
        fresh = [row for row in rows if row["round_id"] not in seen]
        for row in rows:
            check_row(row)
            check_events(row)
            for index, call in enumerate(row["tools"]):
                check_call(call, row["provider"], index)
        assert check_session(rows, seen) == len(rows) - len(fresh)
        ids = [c["tool_call_id"] for row in fresh for c in row["tools"]]
        assert len(set(ids)) == len(ids)
        assert not calls & set(ids)
        calls |= set(ids)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**63), sessions=st.integers(1, 8), share=st.floats(0.0, 1.0))
def test_rows_of_any_seed(seed: int, sessions: int, share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        synth_trace(path, sessions=sessions, seed=seed, codex_share=share)
        check_trace(path)


@pytest.mark.full
def test_rows_of_a_trace_with_copies(tmp_path: Path) -> None:
    truth = synth_trace(tmp_path / "t.jsonl.gz", sessions=150, seed=1, codex_share=0.2)
    assert truth.written["claude"].copied_rounds > 0
    check_trace(tmp_path / "t.jsonl.gz")


def test_rows_of_impatient_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every request is cut, in calls that last: results that are lost, aborted, or come rounds later."""
    for name, provider in (("claude", CLAUDE), ("codex", CODEX)):
        slow = tuple(replace(tool, median=30.0 * max(tool.median, 0.5)) for tool in provider.tools)
        monkeypatch.setitem(PROVIDERS, name, replace(provider, tools=slow, interrupted=0.9))
    truth = synth_trace(tmp_path / "t.jsonl", sessions=60, seed=1)
    claude, codex = truth.written["claude"], truth.written["codex"]
    assert claude.superseded > 20
    assert min(claude.calls_without_result, codex.calls_without_result, codex.interrupted) >= 10
    check_trace(tmp_path / "t.jsonl")


def test_providers_come_one_after_the_other(tmp_path: Path) -> None:
    synth_trace(tmp_path / "t.jsonl", sessions=10)
    order = [rows[0]["provider"] for rows in sessions_of(tmp_path / "t.jsonl")]
    assert order == ["claude"] * 7 + ["codex"] * 3
