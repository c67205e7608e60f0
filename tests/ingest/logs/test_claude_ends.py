"""How calls of Claude Code end: every rule in its place, and the same words where they are only output."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.logs.claude_driver import answers, asks, base, calls, microseconds, notice, queued, read
from tracestat.ingest.logs.model import Call

STARTED = "Command running in background with ID: b1f2e3d. Output is being written to: /tmp/o"
MOVED = "Command did not complete within its 120s timeout and was moved to the background (ID: b1f2e3d). More to come"


def ended(
    text: Any,
    *,
    tool: str = "Grep",
    error: bool | None = None,
    given: dict[str, Any] | None = None,
    **more: Any,
) -> Call:
    """Read a call with this result."""
    return read([calls(1, "m1", "c1", tool, given), answers(3, "c1", text, error=error, **more)]).call("c1")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", "refused"),
        ("Permission for this action was denied by the classifier", "refused"),
        ("PreToolUse:Grep hook error: [guard.sh]: not on a Sunday", "refused"),
        ("[Request interrupted by user for tool use]", "aborted"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "refused"),
        ("<tool_use_error>Cancelled: parallel tool call Bash(make) errored</tool_use_error>", "refused"),
        ("Cancelled: parallel tool call Bash(make) errored", "refused"),
        ("<tool_use_error>String to replace not found</tool_use_error>", "failed"),
        ("Command timed out after 2m 0s", "timeout"),
        ("Exit code 143\nCommand timed out after 2m 0s\nhalf of the output", "timeout"),
        ("Exit code 1\nno such orchard", None),
        ("no such orchard", None),
    ],
)
def test_the_harness_says_so_and_the_result_is_an_error(text: str, status: str | None) -> None:
    assert ended(text, error=True).status == status
    assert ended([{"type": "text", "text": text}], error=True).status == status
    # a tool that prints the same words has simply ended
    assert ended(text).status is None
    assert ended(f"line 1\nline 2\n{text}", error=True).status is None


def test_a_denial_kind_is_enough() -> None:
    assert ended("whatever it says", error=True, toolDenialKind="user-rejected").status == "refused"


@pytest.mark.parametrize(
    ("given", "text", "outcome", "status"),
    [
        ({"run_in_background": True}, STARTED, {"backgroundTaskId": "b1f2e3d"}, "background"),
        ({}, STARTED, {"backgroundTaskId": "b1f2e3d"}, "running"),
        (
            {"run_in_background": False},
            MOVED,
            {"backgroundTaskId": "b1f2e3d", "assistantAutoBackgrounded": True},
            "running",
        ),
        ({}, MOVED, None, "running"),
        ({"run_in_background": True}, STARTED, None, "background"),
        ({}, "all is well", {"stdout": "all is well", "interrupted": False}, None),
        ({}, f"log says: {MOVED}", {"stdout": ""}, None),
        ({}, f"one line\n{MOVED}", None, None),
    ],
)
def test_moved_to_the_background_at_the_limit_or_asked_for(
    given: dict[str, Any], text: str, outcome: dict[str, Any] | None, status: str | None
) -> None:
    more = {} if outcome is None else {"toolUseResult": outcome}
    assert ended(text, tool="PowerShell", given=given, **more).status == status


@pytest.mark.parametrize("status", ["async_launched", "teammate_spawned"])
def test_a_sub_agent_that_was_only_launched(status: str) -> None:
    assert ended("off it goes", tool="Task", toolUseResult={"status": status, "agentId": "a5"}).status == "background"
    assert ended("done", tool="Task", toolUseResult={"status": "completed", "agentId": "a5"}).status is None


def test_waiting_for_a_job_ends_at_its_limit() -> None:
    text = "<retrieval_status>timeout</retrieval_status>\n<task_id>b1</task_id>"
    assert ended(text, tool="TaskOutput").status == "running"
    assert ended("x", tool="TaskOutput", toolUseResult={"retrieval_status": "timeout"}).status == "running"
    assert ended(text.replace("timeout", "success"), tool="TaskOutput").status is None
    assert ended(text, tool="Grep").status is None  # found these words in a file


def test_no_result_has_no_end() -> None:
    call = read([calls(1, "m1", "c1")]).call("c1")
    assert (call.result_us, call.status, call.is_error, call.result_chars) == (None, None, None, None)


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("Exit code 143\nterminated", True, 143),
        ("Exit code -1", True, -1),
        ("Exit code 0x", True, None),
        ("Exit code 2", False, None),
        ("it ended with Exit code 2", True, None),
        ("fine", False, None),  # success is not stated, so 0 is not invented
        (f"Exit code {'9' * 40}", True, None),
    ],
)
def test_exit_code(text: str, error: bool, code: int | None) -> None:
    assert ended(text, error=error).exit_code == code


@pytest.mark.parametrize(
    ("outcome", "milliseconds"),
    [
        ({"durationMs": 120}, 120),
        ({"durationMs": 0}, 0),
        ({"durationSeconds": 1.2345}, 1234),
        ({"totalDurationMs": 97_000}, 97_000),
        ({"durationMs": True}, None),
        ({"durationMs": "soon", "durationSeconds": None}, None),
        ({"durationMs": -5}, None),
        ("an error told as text", None),
        ([{"type": "text", "text": "from a tool server"}], None),
        (None, None),
    ],
)
def test_reported_duration(outcome: Any, milliseconds: int | None) -> None:
    assert ended("fine", toolUseResult=outcome).reported_ms == milliseconds


def test_a_tool_server_reports_its_time_while_it_runs() -> None:
    data = {"type": "mcp_progress", "status": "completed", "serverName": "garden", "elapsedTimeMs": 1500}
    lines = [
        calls(1, "m1", "c1", "mcp__garden__water"),
        base("progress", 2.6, parentToolUseID="c1", data=data),
        answers(2.7, "c1"),
    ]
    assert read(lines).call("c1").reported_ms == 1500


BACKGROUND = [
    calls(1, "m1", "c1", "PowerShell", {"run_in_background": True}),
    answers(1.1, "c1", STARTED, toolUseResult={"backgroundTaskId": "b1f2e3d"}),
]


def test_the_job_ends_with_the_earliest_copy_of_its_notice() -> None:
    told = notice("b1f2e3d")
    attached = base("attachment", 42, attachment={"type": "queued_command", "prompt": told, "commandMode": "prompt"})
    lines = [*BACKGROUND, asks(45, told, origin={"kind": "task-notification"}), attached, queued(41, told)]
    call = read(lines).call("c1")
    assert call.result_us == microseconds(1.1)
    assert call.job_ended_us == microseconds(41)
    for left in (3, 2):
        assert read(lines[:left]).call("c1").job_ended_us == (microseconds(45) if left == 3 else None)


def test_an_event_of_a_job_is_not_its_end() -> None:
    lines = [*BACKGROUND, queued(20, notice("b1f2e3d", status=None)), queued(30, notice("b1f2e3d", status="running"))]
    assert read(lines).call("c1").job_ended_us is None
    assert read([*lines, queued(50, notice("b1f2e3d", status="killed"))]).call("c1").job_ended_us == microseconds(50)


def test_a_notice_is_linked_by_job_then_by_call_and_over_files() -> None:
    by_task, by_call = queued(60, notice("b1f2e3d")), queued(50, notice("renamed", call="c1"))
    assert read(BACKGROUND, [by_task, by_call]).call("c1").job_ended_us == microseconds(60)
    assert read(BACKGROUND, [by_call]).call("c1").job_ended_us == microseconds(50)


def test_a_short_job_id_of_another_session_or_an_earlier_time_is_another_job() -> None:
    other = queued(30, notice("b1f2e3d"), session="another session")
    earlier = queued(0.5, notice("b1f2e3d"))
    assert read([*BACKGROUND, other, earlier]).call("c1").job_ended_us is None


def test_a_command_that_fails_was_not_moved() -> None:
    assert ended(MOVED, tool="PowerShell", error=True).status is None


def test_what_a_job_said_is_not_read_as_a_notice() -> None:
    event = notice("b1f2e3d", status=None).replace("something grew", "<status>completed</status>")
    assert read([*BACKGROUND, queued(30, event)]).call("c1").job_ended_us is None
    said = notice("other").replace("the orchard", "<task-id>b1f2e3d</task-id><status>completed</status>")
    assert read([*BACKGROUND, queued(30, said)]).call("c1").job_ended_us is None
    assert read([*BACKGROUND, queued(30, f"please read {notice('b1f2e3d')}")]).call("c1").job_ended_us is None


def test_a_plain_call_has_no_job_that_could_end() -> None:
    lines = [
        calls(1, "m1", "c1", "Task"),
        answers(90, "c1", "done", toolUseResult={"status": "completed", "agentId": "a5"}),
        queued(120, notice("a5")),
    ]
    assert read(lines).call("c1").job_ended_us is None
