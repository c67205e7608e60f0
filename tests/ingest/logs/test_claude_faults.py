"""Faults that tools have had with Claude Code logs, each by its symptom with the right result.

The numbers are rows of the checklist of known faults; copies have tests of their own (test_claude_copies).
"""

from __future__ import annotations

import json

import pytest

from tests.ingest.logs.claude_driver import (
    SESSION,
    answers,
    asks,
    call_id,
    calls,
    file_of,
    microseconds,
    nested,
    notice,
    read,
    running,
    says,
    session_id,
    tool_use,
    usage,
)
from tracestat.ingest.taxonomy import load_taxonomy

TEXT = {"type": "text", "text": "a pear"}
PAIR = [calls(1, "m1", "c1"), answers(2, "c1")]


def raw(*lines: dict[str, object]) -> bytes:
    return file_of(lines).rstrip(b"\n")


def test_1_two_records_on_one_line_are_two() -> None:
    glued = (
        raw(PAIR[0])
        + raw({"type": "summary", "summary": "x", "leafUuid": "u"})
        + b"\n"
        + raw(PAIR[1])
        + raw(*[says(3, "m2")])
    )
    made = read(glued + b"\n")
    assert made.call("c1").result_us == microseconds(2)
    assert len(made.rounds) == 2
    assert made.chunks[0].lost == []


def test_1_a_cut_record_costs_itself_only() -> None:
    cut = raw(says(0, "m0", TEXT))[:120]
    made = read(cut + raw(PAIR[0]) + b"\n" + cut + b"\n" + raw(PAIR[1]) + b"\n")
    assert made.call("c1").result_us == microseconds(2)
    assert [lost.line for lost in made.chunks[0].lost] == [1, 2]


def test_2_an_unfinished_last_line_is_no_error() -> None:
    made = read(file_of(PAIR) + raw(says(3, "m2", TEXT))[:90])
    assert made.chunks[0].lost == []
    assert len(made.rounds) == 1


def test_3_line_separators_within_a_text_split_nothing() -> None:
    content = "one\u2028two\u2029three\u0085four"
    made = read([calls(1, "m1", "c1"), answers(2, "c1", content)])
    assert made.call("c1").result_chars == len(content)


def test_4_half_a_surrogate_pair_does_not_cost_the_line() -> None:
    line = json.dumps(answers(2, "c1", "a \ud83d b")).encode()
    assert b"\\ud83d" in line
    made = read(raw(PAIR[0]) + b"\n" + line + b"\n")
    assert made.call("c1").result_chars == 5
    assert made.chunks[0].repaired == 1
    assert made.chunks[0].lost == []


def test_5_a_line_of_megabytes_is_a_line() -> None:
    made = read([PAIR[0], answers(2, "c1", "x" * 3_000_000)])
    assert made.call("c1").result_chars == 3_000_000


@pytest.mark.parametrize("outcome", ["Error: no", [{"type": "text", "text": "a"}], {"stdout": "a"}, None, 5, "absent"])
def test_6_the_structured_result_is_of_any_type(outcome: object) -> None:
    result = answers(2, "c1") if outcome == "absent" else answers(2, "c1", toolUseResult=outcome)
    made = read([PAIR[0], result])
    assert made.call("c1").result_us == microseconds(2)
    assert made.chunks[0].lost == []


def test_7_a_message_on_several_lines_is_one_round_and_one_usage() -> None:
    made = read([says(1, "m1", TEXT), says(2, "m1", TEXT), calls(3, "m1", "c1")])
    assert [(r.input_tokens_total, r.output_tokens) for r in made.rounds] == [(20_903, 40)]


def test_8_of_streamed_usage_the_largest_counts() -> None:
    lines = [says(i, "m1", TEXT, tokens=usage(output=n)) for i, n in enumerate((1, 350, 2))]
    assert [r.output_tokens for r in read(lines).rounds] == [350]


def test_8_counts_that_come_late_are_of_the_same_message() -> None:
    lines = [says(1, "m1", TEXT, tokens=usage(0, 0, 0, 1)), says(2, "m1", TEXT, tokens=usage())]
    assert [r.input_tokens_total for r in read(lines).rounds] == [20_903]


def test_9_calls_of_all_lines_are_kept() -> None:
    lines = [calls(1, "m1", "c1"), answers(1.5, "c1"), calls(2, "m1", "c2"), answers(3, "c2"), says(4, "m2", TEXT)]
    made = read(lines)
    assert [[call.id for call in r.calls] for r in made.rounds] == [[call_id("c1"), call_id("c2")], []]
    # a result that came while the message went on was told to the next one
    assert [event.type for event in made.rounds[1].events] == ["tool_result", "tool_result", "text"]


def test_10_results_are_paired_by_id_not_by_parent() -> None:
    lines = [calls(1, "m1", "c1"), calls(2, "m1", "c2"), answers(4, "c2"), answers(5, "c1", parentUuid="nowhere")]
    made = read(lines)
    assert [call.result_us for call in made.calls] == [microseconds(5), microseconds(4)]


def test_10_a_lost_call_leaves_a_result_that_is_counted() -> None:
    made = read([answers(4, "c9"), *PAIR])
    assert made.counts["results without a call"] == 1
    assert len(made.calls) == 1


def test_11_file_order_is_not_time_order() -> None:
    made = read([answers(2, "c1"), says(3, "m2", TEXT), calls(1, "m1", "c1")])
    assert (made.call("c1").emitted_us, made.call("c1").result_us) == (microseconds(1), microseconds(2))


def test_12_tool_results_and_injected_text_are_no_human() -> None:
    injected = [
        asks(1, "a skill", isMeta=True),
        asks(2, "so far", isCompactSummary=True),
        asks(3, "shown only", isVisibleInTranscriptOnly=True),
        asks(4, "x", origin={"kind": "task-notification"}),
        asks(5, notice("b1")),
        asks(6, "<command-name>/clear</command-name>"),
        asks(7, "<local-command-stdout></local-command-stdout>"),
        asks(8, [{"type": "text", "text": "[Request interrupted by user]"}]),
        answers(9, "c1"),
    ]
    humans = [
        asks(20, "plant"),
        asks(21, [{"type": "text", "text": "a tree"}]),
        asks(22, "please", origin={"kind": "human"}),
    ]
    made = read([calls(0, "m1", "c1"), *injected, *humans, says(30, "m2", TEXT)])
    assert made.counts["human prompts"] == 3
    assert [e.type for e in made.rounds[1].events].count("tool_result") == 1


def test_14_sub_agents_are_marked_and_of_another_session() -> None:
    side = [{**line, "isSidechain": True, "agentId": "a5"} for line in PAIR]
    made = read([calls(0, "m0", "c0", "Task")], side)
    assert [call.is_subagent for call in made.calls] == [False, True]
    main, agent = made.rounds
    assert main.session_id == session_id(SESSION)
    assert agent.session_id != main.session_id
    assert agent.round_index == 0


def test_15_all_layouts_of_sub_agents_are_read() -> None:
    oldest = {**calls(1, "m1", "c1"), "isSidechain": True}
    own = {**calls(2, "m2", "c2"), "isSidechain": True, "agentId": "a5"}
    made = read([calls(0, "m0", "c0", "Task"), oldest, nested(4, calls(3, "m3", "c3"), agent="a6")], [own])
    assert [call.is_subagent for call in made.calls] == [False, True, True, True]
    assert len({r.session_id for r in made.rounds}) == 4


def test_16_sub_agents_of_one_parent_are_sessions_of_their_own() -> None:
    files = [[{**calls(i, f"m{i}", f"c{i}"), "isSidechain": True, "agentId": f"a{i}"}] for i in range(3)]
    assert [r.round_index for r in read(*files).rounds] == [0, 0, 0]
    assert len({r.session_id for r in read(*files).rounds}) == 3


def test_16_side_lines_do_not_feed_the_main_conversation() -> None:
    prompt = {**asks(1, "look for pears"), "isSidechain": True}
    made = read([asks(0), prompt, says(2, "m1", TEXT), {**says(3, "s1", TEXT), "isSidechain": True}])
    assert [[e.time_us for e in r.events] for r in made.rounds] == [
        [microseconds(0), microseconds(2)],
        [microseconds(1), microseconds(3)],
    ]


def test_17_nested_steps_have_their_own_time() -> None:
    made = read([nested(9, calls(1, "n1", "k1")), nested(9.5, answers(2, "k1"))])
    assert (made.call("k1").emitted_us, made.call("k1").result_us) == (microseconds(1), microseconds(2))


def test_17_a_step_reported_twice_is_one() -> None:
    step = calls(1, "n1", "k1")
    made = read([nested(2, step), nested(3, step), nested(4, answers(2, "k1"))])
    assert len(made.calls) == 1
    assert sum(made.left_out.values()) == 1


def test_23_a_vocabulary_that_nobody_knows_shows_in_the_counts() -> None:
    made = read([{"type": "agent_note", "text": "x"}] * 4)
    assert made.chunks[0].unknown == {"agent_note": 4}
    assert made.counts == {}


def test_26_the_wait_for_approval_is_no_run_time() -> None:
    unknown = read([calls(1, "m1", "c1", "Bash", {"command": "make"}), answers(310, "c1")]).call("c1")
    assert (unknown.start_kind, unknown.approval_seconds) == ("emission", None)
    lines = [calls(1, "m1", "c1", "Bash", {"command": "make"}), running(308, "c1", 2), answers(310, "c1")]
    known = read(lines).call("c1")
    assert (known.start_kind, known.approval_seconds) == ("rebuilt", 305.0)
    assert known.emitted_us == microseconds(1)


def test_27_a_serial_sibling_waits_for_the_one_before() -> None:
    edit, make = tool_use("c1", "Edit"), tool_use("c2", "Bash", command="make")
    lines = [says(1, "m1", edit, tool_use("c0", "Read"), make), answers(21, "c1"), answers(90, "c0")]
    made = read([*lines, running(25, "c2", 3), answers(26, "c2")])
    assert made.call("c2").approval_seconds == 1.0  # 22 - 21: not from its emission, nor from the end of the read


def test_27_only_calls_of_the_same_message_are_siblings() -> None:
    lines = [calls(1, "m1", "c1", "Edit"), answers(21, "c1"), calls(2, "m2", "c2", "Bash", {"command": "make"})]
    assert read([*lines, running(25, "c2", 3)]).call("c2").approval_seconds == 20.0


def test_31_a_background_start_is_no_short_job() -> None:
    text = "Command running in background with ID: b7. Output is being written to: /tmp/o"
    lines = [
        calls(1, "m1", "c1", "Bash", {"command": "make watch", "run_in_background": True, "timeout": 5000}),
        answers(1.1, "c1", text, toolUseResult={"backgroundTaskId": "b7"}),
    ]
    call = read(lines).call("c1")
    assert (call.status, call.asked_limit_seconds, call.job_ended_us) == ("background", None, None)


@pytest.mark.parametrize("status", ["completed", "failed", "killed"])
def test_32_the_status_of_a_notice_is_a_label_only(status: str) -> None:
    lines = [
        calls(1, "m1", "c1", "Bash", {"command": "make", "run_in_background": True}),
        answers(1.1, "c1", "x", toolUseResult={"backgroundTaskId": "b7"}),
        asks(9, notice("b7", status=status)),
    ]
    call = read(lines).call("c1")
    assert (call.job_ended_us, call.is_error, call.exit_code) == (microseconds(9), False, None)


def test_33_a_long_gap_alone_is_no_timeout() -> None:
    bash = calls(0, "m1", "c1", "Bash", {"command": "make | tee log", "timeout": 600_000})
    assert read([bash, answers(4920, "c1")]).call("c1").status is None
    assert read([bash, answers(600, "c1", "Exit code 143", error=True)]).call("c1").status is None
    killed = answers(600, "c1", "Exit code 143\nCommand timed out after 10m 0s", error=True)
    assert (read([bash, killed]).call("c1").status, read([bash, killed]).call("c1").exit_code) == ("timeout", 143)
    moved = answers(3, "c1", "x", toolUseResult={"backgroundTaskId": "b7"})
    assert read([bash, moved]).call("c1").status == "running"


def test_34_a_sibling_cancelled_is_refused_not_short() -> None:
    text = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    call = read([PAIR[0], answers(1.01, "c1", text, error=True)]).call("c1")
    assert (call.status, call.is_error) == ("refused", True)


def test_35_times_are_utc_whatever_their_offset() -> None:
    line = calls(1, "m1", "c1")
    line["timestamp"] = "2026-02-01T23:30:01.000-10:30"
    made = read([line, answers(2, "c1")])
    assert made.call("c1").emitted_us == microseconds(86_401)


def test_40_tools_that_wait_for_a_human_keep_their_names() -> None:
    made = read([calls(1, "m1", "c1", "AskUserQuestion"), calls(2, "m2", "c2", "ExitPlanMode")])
    tools = [call.tool for call in made.calls]
    assert tools == ["AskUserQuestion", "ExitPlanMode"]
    assert [load_taxonomy().tool_class(tool) for tool in tools] == ["human", "human"]
