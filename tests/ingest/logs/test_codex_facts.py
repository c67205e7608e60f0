"""Facts of one line: what a call asks for under the harness's real caps, and that no word of a log is kept."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.codex_rollouts import (
    NAMES,
    START,
    Rollout,
    calls_of,
    chunk_of,
    exited,
    only,
    rounds_of,
    stamp,
    timed_id,
)
from tracestat.ingest.logs.batching import batch_of
from tracestat.ingest.logs.codex import CODEX
from tracestat.ingest.logs.codex_kept import Asked, Opened, Turn
from tracestat.ingest.logs.format import UnreadableError
from tracestat.ingest.logs.shell import shell_of


def fact_of(kind: str, payload: Any, **envelope: Any) -> Any:
    line = {"timestamp": stamp(1), **envelope, "type": kind, "payload": payload}
    (fact,) = CODEX.facts(json.dumps(line).encode(), NAMES).facts
    return fact


def asked(tool: str, **arguments: Any) -> Asked:
    call = {"type": "function_call", "name": tool, "arguments": json.dumps(arguments), "call_id": "c"}
    fact = fact_of("response_item", call)
    assert isinstance(fact, Asked)
    return fact


@pytest.mark.parametrize(
    ("asked_ms", "seconds"), [(None, 10), (1000, 1), (100, 0.25), (60_000, 30), (30_000, 30), ("5000", 5)]
)
def test_asked_yield_of_exec_command_is_clamped(asked_ms: Any, seconds: float) -> None:
    assert asked("exec_command", cmd="make", yield_time_ms=asked_ms).limit_seconds == seconds


@pytest.mark.parametrize(
    ("chars", "asked_ms", "seconds"),
    [("", None, 5), ("", 1000, 5), ("", 60_000, 60), ("", 900_000, 300), ("y\n", None, 0.25), ("y\n", 60_000, 30)],
)
def test_a_poll_waits_longer_than_input(chars: str, asked_ms: int | None, seconds: float) -> None:
    assert asked("write_stdin", session_id=4, chars=chars, yield_time_ms=asked_ms).limit_seconds == seconds


@pytest.mark.parametrize(
    ("tool", "arguments", "seconds"),
    [
        ("shell", {"command": ["bash", "-lc", "make"], "timeout_ms": 120_000}, 120),
        ("shell", {"command": ["make"]}, None),
        ("shell_command", {"command": "make", "timeout_ms": 2500}, 2.5),
        ("wait", {"cell_id": "7", "yield_time_ms": 20_000}, 20),
        ("wait", {"cell_id": 7}, 10),
        ("update_plan", {"plan": [], "timeout_ms": 3}, None),
    ],
)
def test_limits_of_other_tools(tool: str, arguments: dict[str, Any], seconds: float | None) -> None:
    assert asked(tool, **arguments).limit_seconds == seconds


@pytest.mark.parametrize(("command", "seconds"), [("sleep 4", 4), ("sleep 400", 10), ("make", 10)])
def test_a_command_that_only_sleeps_asks_for_its_sleep(command: str, seconds: float) -> None:
    assert asked("exec_command", cmd=command, yield_time_ms=10_000).limit_seconds == seconds


def test_arguments_that_cannot_be_read_say_nothing() -> None:
    call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls', "call_id": "c"}
    fact = fact_of("response_item", call)
    assert (fact.limit_seconds, fact.shell, fact.input_chars) == (None, None, 11)


def script(text: str) -> Asked:
    fact = fact_of("response_item", {"type": "custom_tool_call", "name": "exec", "input": text, "call_id": "c"})
    assert isinstance(fact, Asked)
    return fact


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('const r = await tools.exec_command({cmd: "git status"}); text(r.output);', "git status"),
        ("await tools.exec_command({ 'cmd': 'git log', workdir: '/w' })", "git log"),
        ("await tools.exec_command({cmd: `git diff \\u002d-stat`,\n yield_time_ms: 5})", "git diff --stat"),
        ('await tools.exec_command({cmd: "echo \\"a\\" \\x26\\u{26} ls \\n"})', 'echo "a" && ls \n'),
        ('await tools.exec_command({cmd: "echo \\ud83d\\ude00"})', "echo \U0001f600"),
        ('await tools.exec_command({cmd: "echo \\ud83d"})', "echo \ufffd"),
        ('await tools.exec_command({cmd: "git " + name})', None),
        ("await tools.exec_command({cmd: `git ${name}`})", None),
        ("await tools.exec_command({cmd: name})", None),
        ('for (const c of ["a"]) { await tools.exec_command({cmd: c}) }', None),
        ('await tools.exec_command({cmd: "ls"}); await tools.exec_command({cmd: "pwd"})', None),
        ('text("cmd: ls")', None),
    ],
)
def test_code_mode_has_a_command_only_where_there_is_one_literal(text: str, command: str | None) -> None:
    assert script(text).shell == (None if command is None else shell_of(command, NAMES))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("text(1)", 10),
        ('// @exec: {"yield_time_ms": 30000, "max_output_tokens": 9}\ntext(1)', 30),
        ('// @exec: {"max_output_tokens": 9}\ntext(1)', 10),
        ("// @exec: {broken\ntext(1)", None),
        ('text(1)\n// @exec: {"yield_time_ms": 30000}', 10),
    ],
)
def test_code_mode_yields_at_what_its_first_line_asks(text: str, seconds: float | None) -> None:
    assert script(text).limit_seconds == seconds


def test_a_header_names_its_thread_its_parents_and_its_kind() -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    fact = fact_of("session_meta", {"id": timed_id(0), "session_id": "p", "cwd": "/w", "source": spawned})
    assert isinstance(fact, Opened)
    assert (fact.parents, fact.is_subagent, fact.began_ms) == (
        (NAMES.id("session", "p"),),
        True,
        round(START.timestamp() * 1000),
    )
    assert fact.project == NAMES.project("/w")


@pytest.mark.parametrize(
    ("meta", "is_subagent"),
    [
        ({"source": "cli"}, False),
        ({"source": {"subagent": "review"}}, True),
        ({"thread_source": "subagent"}, True),
        ({"parent_thread_id": "p"}, True),
        ({"forked_from_id": "p"}, False),
    ],
)
def test_a_fork_is_no_subagent(meta: dict[str, Any], is_subagent: bool) -> None:
    assert fact_of("session_meta", {"id": "t", **meta}).is_subagent is is_subagent


def test_a_thread_is_no_parent_of_its_own() -> None:
    assert fact_of("session_meta", {"id": "t", "session_id": "t", "forked_from_id": "t"}).parents == ()


def test_a_repository_stands_for_a_missing_directory() -> None:
    fact = fact_of("session_meta", {"id": "t", "git": {"repository_url": "https://git.example/x"}})
    assert fact.project == NAMES.project("https://git.example/x")


@pytest.mark.parametrize(
    ("policy", "mode"),
    [
        ("never", "never"),
        ("on-request", "on-request"),
        ({"granular": {"rules": True}}, "granular"),
        ("ask ada@example.com", "other"),
        (None, None),
    ],
)
def test_permission_modes_are_of_a_closed_list(policy: Any, mode: str | None) -> None:
    fact = fact_of("turn_context", {"turn_id": "t", "approval_policy": policy})
    assert isinstance(fact, Turn)
    assert fact.permission_mode == mode


def test_tools_of_a_server_bear_its_name() -> None:
    bare = {"type": "function_call", "name": "_search", "namespace": "mcp__notes", "arguments": "{}", "call_id": "c"}
    assert fact_of("response_item", bare).tool == NAMES.tool("mcp__notes__search")


def test_lines_of_an_unknown_kind_are_told_by_name() -> None:
    line = {"timestamp": stamp(0), "type": "event_msg", "payload": {"type": "flux_capacitor_end"}}
    assert CODEX.facts(json.dumps(line).encode(), NAMES).unknown == "flux_capacitor_end"
    line["type"] = "my secret plan"
    assert CODEX.facts(json.dumps(line).encode(), NAMES).unknown == "unnamed"


@pytest.mark.parametrize("kind", ["compacted", "world_state", "token_usage_record"])
def test_lines_that_say_nothing_of_use_are_understood(kind: str) -> None:
    line = {"timestamp": stamp(0), "type": kind, "payload": {"message": "x", "replacement_history": [{}]}}
    found = CODEX.facts(json.dumps(line).encode(), NAMES)
    assert (found.facts, found.unknown) == ([], None)


@pytest.mark.parametrize(
    "line",
    [
        {"id": "t", "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    ],
)
def test_files_of_mid_2025_are_refused_with_a_reason(line: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError, match="mid 2025"):
        CODEX.facts(json.dumps(line).encode(), NAMES)


def test_files_of_mid_2025_are_recognised_so_that_the_reason_can_be_told() -> None:
    assert CODEX.recognises({"id": "t", "timestamp": "2025-06-01T10:00:00Z", "instructions": None})
    assert CODEX.recognises({"record_type": "state"})


@pytest.mark.parametrize(
    "other",
    [
        {"type": "user", "message": {}, "timestamp": stamp(0), "sessionId": "s"},
        {"type": "session", "payload": {}, "timestamp": stamp(0)},
        {"type": "session_meta", "payload": [], "timestamp": stamp(0)},
        {"type": ["session_meta"], "payload": {}, "timestamp": stamp(0)},
        {"provider": "codex", "session_id": "codex:x", "timestamp": stamp(0)},
    ],
)
def test_lines_of_other_formats_are_not_recognised(other: dict[str, Any]) -> None:
    assert not CODEX.recognises(other)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "event_msg", "payload": {"type": "user_message", "message": "no time"}},
        {"timestamp": "yesterday", "type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
        {"timestamp": "9999-12-31T23:59:59-12:00", "type": "turn_context", "payload": {}},
        {"timestamp": 5, "type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
        {"timestamp": stamp(0), "type": "response_item", "payload": {"type": "function_call", "call_id": 7}},
        {"timestamp": stamp(0), "type": "response_item", "payload": "secret"},
    ],
)
def test_a_line_that_cannot_be_one_is_refused_without_its_text(line: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError) as refused:
        CODEX.facts(json.dumps(line).encode(), NAMES)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_text_that_is_no_json_is_left_to_the_reader_of_lines() -> None:
    with pytest.raises(msgspec.DecodeError):
        CODEX.facts(b'{"timestamp":"2026-02-03T10:00:00Z","type":"event_msg","pay', NAMES)


def test_deep_nesting_is_refused() -> None:
    deep = b'{"timestamp":"2026-02-03T10:00:00Z","type":"event_msg","payload":{"type":"x","y":' + b"[" * 100_000
    with pytest.raises(UnreadableError, match="nested too deeply"):
        CODEX.facts(deep + b"]" * 100_000 + b"}}", NAMES)


@pytest.mark.parametrize("output", [7, {"content": 7}, [7], [{"text": 7}], True])
def test_an_output_of_a_shape_not_met_yet_is_still_a_result(output: Any) -> None:
    call = only(Rollout().turn(0).call(1, "c", "update_plan").out(2, "c", output).used(3))
    assert call.result_us is not None
    assert (call.result_chars, call.status, call.is_error) == (None, None, None)


def test_arguments_of_a_shape_not_met_yet_are_still_a_call() -> None:
    log = Rollout().turn(0).item(1, "function_call", name="update_plan", arguments={"plan": 1}, call_id="c")
    assert only(log.out(2, "c", "ok").used(3)).input_chars is None


def test_outputs_of_early_builds_are_objects() -> None:
    log = Rollout().turn(0).call(1, "c", "update_plan").out(2, "c", {"content": "broken", "success": False}).used(3)
    call = only(log)
    assert (call.result_chars, call.is_error) == (6, True)


def test_an_exit_code_outranks_what_early_builds_called_a_success() -> None:
    log = Rollout().turn(0).call(1, "c", cmd="x").out(2, "c", {"content": exited(0.5, 3), "success": True}).used(3)
    assert only(log).is_error is True


def test_the_built_in_shell_of_a_model_is_a_call() -> None:
    action = {"type": "exec", "command": ["git", "status"], "timeout_ms": 4000}
    log = Rollout().turn(0).item(1, "local_shell_call", call_id="c", status="completed", action=action)
    call = only(log.out(2, "c", '{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.9}}').used(3))
    assert (call.asked_limit_seconds, call.status, call.reported_ms) == (4.0, "finished", 900)
    assert call.shell is not None


SECRETS = ["sk-live-0123456789", "ada@example.com", "/home/ada/secret-project", "hunter2", "~/.ssh/id_rsa"]


def test_no_word_of_a_log_is_kept() -> None:
    key, mail, place, word, path = SECRETS
    log = Rollout(f"thread {key}", cwd=place, git={"repository_url": f"https://{word}@git.example"}, source=mail)
    log.turn(0, f"turn {word}", model=f"{word} model", approval_policy=mail).prompt(1, f"my key is {key}")
    log.says(2, mail).thinks(2).call(3, f"call {key}", cmd=f"curl -H '{key}' {mail} > {path}", workdir=place)
    log.event(4, "exec_command_end", call_id=f"call {key}", command=[key], cwd=place, aggregated_output=word)
    log.out(5, f"call {key}", f"exec_command failed for `{path}`: {word}").call(6, "d", f"{word}_tool", path=path)
    log.script(7, "e", f'await tools.exec_command({{cmd: "echo {key}"}})').script_out(8, "e", [{"text": word}])
    log.call(8, "f", "write_stdin", session_id=key, chars=word).out(9, "f", f"write_stdin failed: {key}")
    log.event(9, word, text=word).event(9, "turn_aborted", turn_id=word, reason=word).used(10)
    kept = b"".join(msgspec.json.encode(CODEX.facts(line, NAMES)) for line in log.data.splitlines())
    kept += repr(rounds_of(log)).encode() + repr(chunk_of(log.data[:-40], complete=False).lost).encode()
    for secret in SECRETS:
        assert secret.encode() not in kept


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
FIELDS = """
    id call_id output arguments input name info item duration exit_code message content turn_id source git result
    approval_policy action namespace role started_at_ms success
"""
KINDS = """
    function_call function_call_output custom_tool_call custom_tool_call_output message reasoning token_count
    user_message exec_command_end mcp_tool_call_end item_completed turn_aborted local_shell_call patch_apply_end
"""


@given(
    st.sampled_from(["session_meta", "turn_context", "response_item", "event_msg", "compacted"]),
    st.sampled_from(KINDS.split()),
    st.dictionaries(st.sampled_from(FIELDS.split()), JSON, max_size=5),
)
def test_whatever_a_payload_holds_it_is_understood_or_refused(kind: str, inner: str, fields: dict[str, Any]) -> None:
    line = {"timestamp": stamp(0), "type": kind, "payload": {"type": inner, **fields}}
    try:
        found = CODEX.facts(json.dumps(line).encode(), NAMES)
    except (UnreadableError, msgspec.DecodeError):
        return
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(found.facts), type=list[CODEX.fact])
    assert again == found.facts
    log = Rollout().turn(0).call(1, "c").line(2, kind, {"type": inner, **fields}).out(3, "c", "x").used(4)
    made = rounds_of(log)
    assert batch_of(made).rounds.num_rows == len(made)


def test_developer_comes_from_the_caller_alone() -> None:
    assert {made.developer for made in rounds_of(Rollout().turn(0).says(1).used(2))} == {None}
    assert calls_of(Rollout()) == []
