from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from tests.ingest.logs.rounds_from import NAMES, calls_of, kept, read, rounds_of, seconds
from tracestat.ingest.logs import opencode
from tracestat.ingest.logs.model import Call, Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.opencode import OPENCODE

Json = dict[str, Any]
T0 = 1_780_000_000_000
NOTE = "output\n\n<{0}_metadata>\n{1}\n</{0}_metadata>"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str | Sequence[str]]:
    """Commands that were handed to the parser."""
    commands: list[str | Sequence[str]] = []

    def shell_of(command: str | Sequence[str], _: Names) -> Shell:
        commands.append(command)
        return Shell(("make",), "success", None, "make")

    monkeypatch.setattr(opencode, "shell_of", shell_of)
    return commands


def document(*messages: Json, session: str = "ses_1", **info: Any) -> Json:
    return {"info": {"id": session, "projectID": "p1", "title": "secret", **info}, "messages": list(messages)}


def user(at: float, text: str = "hello", name: str = "", **part: Any) -> Json:
    parts = [{"id": "prt_u", "type": "text", "text": text, **part}]
    return {"info": {"id": name or f"msg_u{at}", "role": "user", "time": {"created": T0 + at}}, "parts": parts}


def assistant(at: float, *parts: Json, name: str = "", **info: Any) -> Json:
    made = {"id": name or f"msg_a{at}", "role": "assistant", "time": {"created": T0 + at, "completed": T0 + at + 9e6}}
    made |= {"modelID": "claude-opus-4-8", "providerID": "anthropic", "path": {"cwd": "/secret"}, "cost": 0.1}
    return {"info": made | info, "parts": list(parts)}


def tool(
    start: float | None, end: float | None, *, tool: str = "read", status: str = "completed", **state: Any
) -> Json:
    time = {key: T0 + at for key, at in (("start", start), ("end", end)) if at is not None}
    call = state.pop("call", f"call_{start}")
    made: Json = {"status": status, "input": {}, "time": time | state.pop("time", {})} | state
    if status == "completed":
        made = {"output": "four", "title": "secret", "metadata": {}} | made
    return {"id": "prt_1", "type": "tool", "callID": call, "tool": tool, "state": made}


def said(end: float, kind: str = "text") -> Json:
    return {"id": "prt_2", "type": kind, "text": "hello", "time": {"start": T0 + end - 500, "end": T0 + end}}


def finish(**tokens: Any) -> Json:
    return {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens}


STEP = {"type": "step-start"}
TOKENS = {"input": 100, "output": 40, "reasoning": 5, "cache": {"read": 800, "write": 10}}


def us(ms: float) -> int:
    return round((T0 + ms) * 1000)


def only(part: Json) -> Call:
    (call,) = calls_of(rounds_of(OPENCODE, [document(assistant(0, part))]))
    return call


def test_a_tool_part_is_a_call() -> None:
    call = only(tool(3_000, 5_500))
    assert (call.emitted_us, call.result_us, call.start_kind) == (us(3_000), us(5_500), "emission")
    assert (call.status, call.is_error, call.result_chars) == ("finished", False, 4)
    assert (call.tool, call.is_subagent, call.asked_limit_seconds) == (NAMES.tool("read"), False, None)
    assert call.approval_seconds is None


def test_a_clean_up_of_the_output_is_no_end() -> None:
    assert seconds(only(tool(3_000, 5_500, time={"compacted": T0 + 900_000}))) == 2.5


def test_a_step_is_a_round() -> None:
    first, second = rounds_of(
        OPENCODE,
        [
            document(
                user(0, "hello"),
                assistant(10, STEP, said(2_000, "reasoning"), said(2_900), tool(3_000, 5_500), finish(**TOKENS)),
                user(7_000, "again"),
                assistant(7_010, STEP, said(9_000), tokens=TOKENS),
            )
        ],
    )
    assert (first.provider, first.model, first.project) == ("opencode", "claude-opus-4-8", NAMES.project("p1"))
    for made in (first, second):
        assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (910, 800, 110)
        assert (made.output_tokens, made.reasoning_output_tokens) == (40, 5)
    assert [(e.type, e.time_us, e.content_chars) for e in first.events] == [
        ("user_message", us(0), 5),
        ("reasoning", us(2_000), 5),
        ("text", us(2_900), 5),
        ("tool_call", us(3_000), None),
    ]
    assert [(e.type, e.time_us) for e in second.events] == [
        ("tool_result", us(5_500)),
        ("user_message", us(7_000)),
        ("text", us(9_000)),
    ]


def test_an_old_message_has_several_steps() -> None:
    parts = [STEP, tool(1_000, 2_000), finish(input=1, output=2), STEP, said(3_000), finish(input=3, output=4)]
    rounds = rounds_of(OPENCODE, [document(assistant(0, *parts, tokens={"input": 99}))])
    assert [(len(r.calls), r.input_tokens_total, r.output_tokens) for r in rounds] == [(1, 1, 2), (0, 3, 4)]
    assert len({r.round_id for r in rounds}) == 2


def test_prompts_that_the_harness_wrote_are_no_human_messages() -> None:
    (made,) = rounds_of(OPENCODE, [document(user(0, synthetic=True), assistant(10, said(900)))])
    assert [e.type for e in made.events] == ["text"]


@pytest.mark.parametrize(
    ("part", "status", "is_error"),
    [
        (tool(1, 2, status="error", error="ENOENT: secret"), "failed", True),
        (tool(1, 2, status="error", error="Tool execution aborted"), "aborted", True),
        (tool(1, 2, status="error", error="aborted", metadata={"interrupted": True}), "aborted", True),
        (
            tool(1, 2, status="error", error="The user rejected permission to use this specific tool call."),
            "refused",
            True,
        ),
        (tool(1, 2, status="error", error="Rule prevents tool usage. Relevant rules: secret"), "refused", True),
        (tool(1, 2, tool="bash", output=NOTE.format("bash", "User aborted the command")), "aborted", False),
        (
            tool(
                1,
                2,
                tool="bash",
                output=NOTE.format("bash", "bash tool terminated command after exceeding timeout 9 ms"),
            ),
            "timeout",
            False,
        ),
        (
            tool(
                1,
                2,
                tool="bash",
                output=NOTE.format("shell", "shell tool terminated command after exceeding timeout 9 ms. If so"),
            ),
            "timeout",
            False,
        ),
        # a file that holds such a note is no note
        (tool(1, 2, output=NOTE.format("bash", "terminated command after exceeding timeout")), "finished", False),
        (
            tool(1, 2, tool="bash", output=NOTE.format("bash", "terminated command after exceeding timeout") + "\nx"),
            "finished",
            False,
        ),
    ],
)
def test_how_a_call_ended(part: Json, status: str, is_error: bool) -> None:
    call = only(part)
    assert (call.status, call.is_error, call.result_us) == (status, is_error, us(2))


def test_a_running_call_is_open_and_a_pending_one_has_no_time() -> None:
    running = only(tool(3_000, None, status="running"))
    assert (running.result_us, running.status, running.is_error) == (None, None, None)
    (log,) = read(OPENCODE, [document(assistant(0, tool(None, None, status="pending", raw="")))])
    assert (calls_of(log.rounds), log.left_out) == ([], {"calls without a time": 1})


@pytest.mark.parametrize(
    ("name", "limit", "ours"),
    [
        ("bash", 120_000, 120.0),
        ("bash", 1_500.5, 1.5005),
        ("webfetch", 30, 30.0),
        ("a_tool_of_ones_own", 30, None),
        ("bash", "60000", None),
        ("bash", -1, None),
        ("bash", True, None),
    ],
)
def test_the_limit_that_was_asked_for(name: str, limit: object, ours: float | None) -> None:
    assert only(tool(1, 2, tool=name, input={"timeout": limit})).asked_limit_seconds == ours


def test_the_command_of_a_shell_call(asked: list[str | Sequence[str]]) -> None:
    call = only(tool(1, 2, tool="bash", input={"command": "make test"}, metadata={"exit": 2, "output": "x"}))
    assert (asked, call.exit_code) == (["make test"], 2)
    assert call.shell == Shell(("make",), "success", None, "make")
    assert only(tool(1, 2, tool="read", input={"command": "make"})).shell is None
    assert only(tool(1, 2, tool="bash", input={"command": ["make"]})).shell is None


def test_a_child_session_is_a_sub_agent() -> None:
    parent = document(assistant(0, tool(1_000, 9_000, tool="task")), directory="/secret/place")
    child = document(assistant(2_000, tool(3_000, 4_000)), session="ses_2", parentID="ses_1", directory="/secret/place")
    first, second = rounds_of(OPENCODE, [parent], [child])
    assert [c.is_subagent for c in (*first.calls, *second.calls)] == [False, True]
    assert first.session_id != second.session_id
    assert first.project == second.project == NAMES.project("/secret/place")


def test_a_later_export_completes_an_earlier_one() -> None:
    early = document(user(0), assistant(10, tool(3_000, None, status="running"), name="msg_1"))
    late = document(
        user(0), assistant(10, tool(3_000, 5_500), name="msg_1"), assistant(6_000, said(7_000), name="msg_2")
    )
    for order in ([early], [late]), ([late], [early]):
        first, second = read(OPENCODE, *order)
        assert first.rounds == []
        assert [seconds(c) for c in calls_of(second.rounds)] == [2.5]
        assert len(second.rounds) == 2
        assert second.left_out == {"copies of calls in another log": 1}
        assert sum(e.type == "user_message" for r in second.rounds for e in r.events) == 1


def test_a_forked_session_repeats_calls() -> None:
    original = document(assistant(0, tool(1_000, 2_000)), assistant(3_000, tool(4_000, 5_000)))
    fork = copy.deepcopy(original)
    fork["info"]["id"] = "ses_fork"
    for message in fork["messages"]:
        message["info"]["id"] += "_f"
    fork["messages"].append(assistant(6_000, tool(7_000, 8_000)))
    first, second = read(OPENCODE, [original], [fork])
    assert [len(calls_of(log.rounds)) for log in (first, second)] == [2, 1]
    assert second.left_out == {"copies of calls in another log": 2}
    assert len(second.rounds) == 1


def test_an_unreadable_message_or_part_does_not_take_the_others_with_it() -> None:
    bad = tool(1_000, 2_000)
    bad["state"]["time"]["start"] = "noon"
    (log,) = read(OPENCODE, [document({"info": 5}, assistant(0, bad, tool(3_000, 4_000)), {"info": {"id": "m"}})])
    assert [seconds(c) for c in calls_of(log.rounds)] == [1.0]
    assert log.counts["messages that cannot be read"] == 2
    assert log.counts["parts that cannot be read"] == 1


def test_unknown_parts_and_roles_say_nothing() -> None:
    parts = [{"type": "patch", "hash": "x", "files": ["/secret"]}, {"type": "of the future", "time": 5.0}, said(900)]
    system = {"info": {"id": "m", "role": "system"}, "parts": []}
    (log,) = read(OPENCODE, [document(system, assistant(0, *parts))])
    assert [[e.type for e in r.events] for r in log.rounds] == [["text"]]


def test_nothing_of_the_text_is_kept() -> None:
    content = document(
        user(0, "secret"),
        assistant(
            10,
            tool(1, 2, tool="secret", call="secret", input={"filePath": "/secret"}, output="secret"),
            tool(1, 2, status="error", error="secret"),
            tool(1, 2, tool="bash", input={"command": "secret"}, metadata={"output": "secret"}),
            said(5),
            modelID="secret",
            name="secret",
        ),
        session="secret",
        directory="/secret",
    )
    assert b"secret" not in b"".join(kept(OPENCODE, [content]))
