"""Rounds of Claude Code logs: tokens, events, limits, starts and marks, by known answers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ingest.logs.claude_driver import (
    SESSION,
    Read,
    answers,
    asks,
    base,
    call_id,
    calls,
    file_of,
    microseconds,
    nested,
    read,
    running,
    says,
    session_id,
    tool_use,
    usage,
)
from tracestat.ingest.logs.batching import batch_of
from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.state import unpack

TEXT = {"type": "text", "text": "a pear"}
THOUGHT = {"type": "thinking", "thinking": "which tree?", "signature": "c2ln"}


def test_a_session_of_two_rounds() -> None:
    lines = [
        asks(0, "plant a tree", permissionMode="acceptEdits"),
        says(1.0, "m1", THOUGHT),
        says(1.5, "m1", TEXT),
        calls(2.0, "m1", "c1", "Grep", {"pattern": "pear"}),
        answers(2.25, "c1", "one\ntwo"),
        says(4.0, "m2", TEXT, tokens=usage(5, 10, 20_903, 7)),
    ]
    made = read(lines, developer="ada")
    first, second = made.rounds
    assert (first.provider, first.session_id, first.round_index, first.developer) == (
        "claude",
        session_id(SESSION),
        0,
        "ada",
    )
    assert re.fullmatch(r"round_[0-9a-f]{16}", first.round_id)
    assert re.fullmatch(r"project_[0-9a-f]{8}", first.project or "")
    assert (first.model, first.turn_id, first.reasoning_output_tokens) == ("claude-opus-4-8", None, None)
    assert [(e.type, e.source, e.time_us, e.content_chars) for e in first.events] == [
        ("user_message", "user.message", microseconds(0), 12),
        ("reasoning", "assistant.content.thinking", microseconds(1), 11),
        ("text", "assistant.content.text", microseconds(1.5), 6),
        ("tool_call", "assistant.content.tool_use", microseconds(2), None),
    ]
    (call,) = first.calls
    assert (call.id, call.emitted_us, call.result_us) == (call_id("c1"), microseconds(2), microseconds(2.25))
    assert (call.is_error, call.result_chars, call.input_chars) == (False, 7, len('{"pattern":"pear"}'))
    assert (call.start_kind, call.approval_seconds, call.permission_mode) == ("emission", None, "acceptEdits")
    assert (call.status, call.exit_code, call.is_subagent, call.parallel_group) == (None, None, False, 0)
    assert (first.events[3].call_id, first.events[3].tool_index) == (call.id, 0)
    (result, text) = second.events
    assert (result.type, result.source, result.call_id) == ("tool_result", "user.content.tool_result", call.id)
    assert (result.is_error, result.result_chars, result.time_us) == (False, 7, microseconds(2.25))
    assert text.type == "text"
    assert second.round_index == 1
    assert made.logs[0].counts == {"calls": 1, "results": 1, "human prompts": 1}
    assert made.logs[0].left_out == {}


def test_tokens() -> None:
    (made,) = read([says(1, "m1", TEXT, tokens=usage(3, 900, 20_000, 40))]).rounds
    assert made.input_tokens_total == 20_903
    assert (made.prefix_tokens, made.newly_append_tokens, made.output_tokens) == (20_000, 903, 40)
    assert made.claude_uncached_input_tokens == 3
    assert made.claude_cache_creation_input_tokens == 900
    assert made.claude_cache_read_input_tokens == 20_000


def test_tokens_that_the_log_does_not_have_are_none() -> None:
    line = says(1, "m1", TEXT)
    del line["message"]["usage"]
    (made,) = read([line]).rounds
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (None, None, None)
    assert (made.output_tokens, made.claude_uncached_input_tokens) == (None, None)
    line["message"]["usage"] = {"input_tokens": 12, "output_tokens": "many", "cache_read_input_tokens": True}
    (made,) = read([line]).rounds
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (12, 0, 12)
    assert (made.output_tokens, made.claude_cache_read_input_tokens) == (None, None)


@pytest.mark.parametrize("count", [-1, 2.5, 1 << 62, 1 << 70, "12", None, [], True])
def test_what_is_no_count_of_tokens_is_none(count: Any) -> None:
    line = says(1, "m1", TEXT)
    line["message"]["usage"] = dict.fromkeys(usage(), count)
    (made,) = read([line]).rounds
    assert (made.input_tokens_total, made.output_tokens) == (None, None)
    assert batch_of([made]).rounds.num_rows == 1


def test_what_the_harness_says_for_the_model_is_no_round() -> None:
    synthetic = says(2, "m2", TEXT)
    synthetic["message"]["model"] = "<synthetic>"
    failed = says(3, "m3", TEXT, isApiErrorMessage=True)
    (made,) = read([asks(1), synthetic, failed, says(4, "m4", TEXT)]).rounds
    assert [event.type for event in made.events] == ["user_message", "text"]


@pytest.mark.parametrize(
    ("tool", "given", "limit"),
    [
        ("PowerShell", {"command": "make"}, 120.0),
        ("PowerShell", {"command": "make", "timeout": 300_000}, 300.0),
        ("PowerShell", {"command": "make", "timeout": "5000"}, 5.0),
        ("PowerShell", {"command": "make", "timeout": 0}, 120.0),
        ("PowerShell", {"command": "make", "timeout": 300_000, "run_in_background": True}, None),
        ("TaskOutput", {"task_id": "b1", "block": True, "timeout": 30_000}, 30.0),
        ("TaskOutput", {"task_id": "b1", "block": False, "timeout": 30_000}, None),
        ("TaskOutput", {"task_id": "b1"}, None),
        ("Monitor", {"command": "tail -f log", "timeout_ms": 90_000}, 90.0),
        ("Monitor", {"command": "tail -f log", "timeout_ms": 90_000, "persistent": True}, None),
        ("Read", {"timeout": 5}, None),
    ],
)
def test_asked_limit(tool: str, given: dict[str, Any], limit: float | None) -> None:
    assert read([calls(1, "m1", "c1", tool, given)]).call("c1").asked_limit_seconds == limit


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"command": "make"}, 120.0),
        ({"command": "make", "timeout": 300_000}, 300.0),
        ({"command": "sleep 30", "timeout": 300_000}, 30.0),
        ({"command": "sleep 300"}, 120.0),
        ({"command": "sleep 300", "run_in_background": True}, None),
        ({"timeout": 7000}, 7.0),
    ],
)
def test_asked_limit_of_a_command_is_the_smaller_of_its_sleep_and_its_timeout(
    given: dict[str, Any], limit: float | None
) -> None:
    assert read([calls(1, "m1", "c1", "Bash", given)]).call("c1").asked_limit_seconds == limit


def test_only_bash_has_a_skeleton() -> None:
    made = read(
        [calls(1, "m1", "c1", "Bash", {"command": "make"}), calls(2, "m2", "c2", "PowerShell", {"command": "make"})]
    )
    shell = made.call("c1").shell
    assert shell is not None
    assert shell.status == "success"
    assert len(shell.executables) == 1
    assert made.call("c2").shell is None


def test_the_start_is_the_earliest_that_progress_tells() -> None:
    lines = [
        calls(1, "m1", "c1", "Bash", {"command": "make"}),
        running(9.1, "c1", 2),
        running(10.0, "c1", 3),
        running(11.3, "c1", 4),
        answers(12, "c1"),
    ]
    call = read(lines).call("c1")
    assert (call.start_kind, call.approval_seconds) == ("rebuilt", 6.0)  # 10.0 - 3 is the earliest start
    assert (call.emitted_us, call.result_us) == (microseconds(1), microseconds(12))


def test_a_start_before_the_call_leaves_no_wait() -> None:
    lines = [calls(1, "m1", "c1", "Bash", {"command": "make"}), running(3.0, "c1", 2.5), answers(4, "c1")]
    assert read(lines).call("c1").approval_seconds == 0.0


def test_permission_mode_is_the_last_one_before_the_call() -> None:
    lines = [
        calls(1, "m1", "c1"),
        asks(2, permissionMode="plan"),
        calls(3, "m2", "c2"),
        nested(3.5, calls(3.4, "n1", "c3")),
        asks(4, permissionMode="default"),
        asks(5, permissionMode="a mode of tomorrow"),
        calls(6, "m3", "c4"),
    ]
    made = read(lines)
    assert [made.call(c).permission_mode for c in ("c1", "c2", "c3", "c4")] == [None, "plan", "plan", "other"]


def test_calls_of_a_message_are_a_group() -> None:
    lines = [
        says(1, "m1", tool_use("c1"), tool_use("c2")),
        calls(2, "m1", "c3"),
        answers(3, "c1"),
        calls(4, "m2", "c4"),
    ]
    made = read(lines)
    assert [call.parallel_group for call in made.calls] == [0, 0, 0, 1]
    assert [event.tool_index for event in made.events if event.type == "tool_call"] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("content", "chars"),
    [
        ("häuser", 6),
        ([{"type": "text", "text": "ä"}], len('[{"type":"text","text":"ä"}]')),
        ([], 2),
        ([{"type": "text"}, {"type": "text"}], len('[{"type":"text"},{"type":"text"}]')),
        (None, 0),
    ],
)
def test_characters_are_those_of_the_text_or_of_the_json(content: Any, chars: int) -> None:
    made = read([calls(1, "m1", "c1", "Read", {"file_path": "ä\n"}), answers(2, "c1", content), says(3, "m2")])
    assert made.call("c1").result_chars == chars
    assert made.call("c1").input_chars == len('{"file_path":"ä\\n"}')
    assert [event.result_chars for event in made.events if event.type == "tool_result"] == [chars]


def test_a_message_of_blocks_is_one_event() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "AAAA"}}]
    (made,) = read([asks(1, blocks), says(2, "m1", TEXT)]).rounds
    first = made.events[0]
    assert first.type == "user_message"
    assert first.content_chars == len('[{"type":"text","text":"see"},{"type":"image","source":{"data":"AAAA"}}]')


def test_compactions_are_counted_and_break_nothing() -> None:
    lines = [
        calls(1, "m1", "c1"),
        base("system", 2, subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 155_000}),
        asks(3, "the story so far", isCompactSummary=True),
        answers(4, "c1"),
        says(5, "m2", TEXT),
    ]
    made = read(lines)
    assert made.counts["compactions"] == 1
    assert made.counts["human prompts"] == 0
    assert made.call("c1").result_us == microseconds(4)


def test_lines_that_do_not_name_their_session_are_of_their_file() -> None:
    lines = [calls(1, "m1", "c1"), answers(2, "c1")]
    for line in lines:
        del line["sessionId"]
    made = read(lines, [calls(1, "m2", "c2")])
    assert [r.session_id for r in made.rounds] == ["claude:log0000", session_id(SESSION)]


def test_a_session_in_two_files_is_counted_through() -> None:
    made = read([calls(1, "m1", "c1"), answers(2, "c1")], [calls(5, "m2", "c2"), answers(6, "c2")])
    assert [(r.session_id, r.round_index) for r in made.rounds] == [(session_id(SESSION), 0), (session_id(SESSION), 1)]


def test_names_that_are_not_public_are_tokens() -> None:
    line = calls(1, "m1", "c1", "mcp__secretgarden__water")
    line["message"]["model"] = "our-own-model"
    made = read([line])
    assert re.fullmatch(r"\?[0-9a-f]{12}", made.call("c1").tool or "")
    assert re.fullmatch(r"\?[0-9a-f]{12}", made.rounds[0].model or "")


def test_no_line_and_no_log() -> None:
    assert read().logs == []
    (empty,) = read(b"").logs
    assert (empty.rounds, empty.counts) == ([], {"calls": 0, "results": 0})


@pytest.mark.parametrize(
    "line",
    [
        says(1, "m1"),
        asks(1),
        running(1, "c1", 2),
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "summary", "summary": "a tree", "leafUuid": "u"},
        {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION, "timestamp": "2026-02-01T10:00:00Z"},
    ],
)
def test_recognised(line: dict[str, Any]) -> None:
    assert CLAUDE.recognises(line)


@pytest.mark.parametrize(
    "line",
    [
        {"timestamp": "2026-02-01T10:00:00.000Z", "type": "response_item", "payload": {"type": "message"}},
        {"type": "session", "id": "x", "cwd": "/srv"},
        {"type": "message", "id": "x", "message": {"role": "assistant"}},
        {"type": "assistant", "message": {}, "session_id": "x"},  # the stream of the command line has no times
        {"type": ["user"], "message": {}},
        {"provider": "claude", "session_id": "claude:x"},
        {},
    ],
)
def test_not_recognised(line: dict[str, Any]) -> None:
    assert not CLAUDE.recognises(line)


def test_lines_of_unknown_types_are_named_and_cost_nothing() -> None:
    lines = [{"type": "pr-link", "sessionId": SESSION}, {"type": "no such thing!"}, {"kind": 1}, calls(1, "m1", "c1")]
    made = read(lines)
    assert made.chunks[0].unknown == {"pr-link": 1, "unnamed": 2}
    assert len(made.calls) == 1


@pytest.mark.parametrize(
    "stamp", ["yesterday", None, 1_769_940_001, "0001-01-01T00:00:00+23:59", "2026-02-30T10:00:00Z"]
)
def test_a_line_of_the_conversation_without_a_time_is_lost_and_said_so(stamp: Any) -> None:
    line = calls(1, "m1", "c1")
    line["timestamp"] = stamp
    made = read([line, calls(2, "m2", "c2")])
    assert [(lost.line, lost.reason) for lost in made.chunks[0].lost] == [(1, "no time stamp")]
    assert [call.id for call in made.calls] == [call_id("c2")]


def test_odd_values_do_not_cost_the_line() -> None:
    call = calls(1, "m1", "c1", "Bash", {"command": ["make"], "timeout": {"s": 5}, "run_in_background": "perhaps"})
    call["message"]["content"].append("a bare text")
    result = answers(
        2, "c1", permissionMode=7, toolUseResult={"durationMs": [1], "status": {}, "agentId": 5}, origin=None
    )
    made = read([call, result, running(3, "c1", "long"), base("progress", 4, data=None), base("attachment", 5)])  # type: ignore[arg-type]
    assert made.chunks[0].lost == []
    found = made.call("c1")
    assert (found.asked_limit_seconds, found.reported_ms, found.status, found.shell) == (120.0, None, None, None)


def test_facts_hold_none_of_the_text() -> None:
    secret = "hunter2"
    lines = [
        asks(0, f"my password is {secret}", cwd=f"/home/{secret}", permissionMode=secret),
        says(1, f"msg_{secret}", {"type": "text", "text": secret}, {"type": "thinking", "thinking": secret}),
        calls(2, "m1", f"toolu_{secret}", f"mcp__{secret}", {"command": secret, secret: secret}, agentId=secret),
        calls(2, "m1", "c2", "Task", {"description": secret, "prompt": secret}),
        answers(3, f"toolu_{secret}", f"<tool_use_error>{secret}", error=True, toolUseResult={"agentId": secret}),
        answers(4, "c2", f"Command running in background with ID: {secret}", toolUseResult=None),
        {"type": f"{secret}!", "sessionId": secret},
        base("system", 5, subtype=secret, content=secret),
        nested(6, calls(6, "m3", f"c_{secret}"), agent=secret),
    ]
    made = read(lines)
    kept = [*kept_of(made), repr(made.logs)]
    assert all(secret not in text for text in kept)
    assert len(made.calls) == 3


def kept_of(made: Read) -> list[str]:
    """Give all that is kept of the lines, as text."""
    return [unpack(chunk.facts).decode("latin-1") for chunk in made.chunks]


def test_a_line_is_read_alike_wherever_the_file_is_cut() -> None:
    lines = [asks(0), calls(1, "m1", "c1"), answers(2, "c1"), says(3, "m2", TEXT)]
    whole = read(lines)
    assert read(file_of(lines)).rounds == whole.rounds
    assert read(file_of(lines)[:-1]).rounds == whole.rounds  # no newline at the end
