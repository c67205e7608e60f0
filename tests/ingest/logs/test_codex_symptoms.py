"""What public tools got wrong with Codex logs, each with a small input that shows it and the right result.

Numbers in the names are those of the rows of the list of public reports that the readers are checked against.
"""

from __future__ import annotations

import json

import pytest

from tests.ingest.logs.codex_rollouts import (
    NAMES,
    Rollout,
    calls_of,
    chunk_of,
    exited,
    kinds,
    named,
    only,
    read,
    rounds_of,
    running,
    us,
)

DONE = [{"type": "input_text", "text": "Script completed\nWall time 2.0 seconds\nOutput:\n"}]


def plain() -> Rollout:
    return Rollout().turn(0).prompt(0.5).call(1, "a", cmd="make").out(3, "a", exited(1.9)).used(4)


def test_01_two_records_on_one_line_and_a_cut_one() -> None:
    lines = plain().data.splitlines()
    joined = b"\n".join([*lines[:3], lines[3] + lines[4], lines[5][:60], lines[5], b""])
    chunk = chunk_of(joined)
    assert (chunk.objects, [lost.line for lost in chunk.lost]) == (6, [5])
    assert rounds_of(joined) == rounds_of(plain())


def test_01_a_cut_record_with_a_whole_one_behind_it() -> None:
    lines = plain().data.splitlines()
    joined = b"\n".join([*lines[:3], lines[2][:50] + lines[3], *lines[4:], b""])
    assert len(chunk_of(joined).lost) == 1
    assert calls_of(joined) == calls_of(plain())


def test_02_an_unfinished_last_line_is_not_an_error() -> None:
    data = plain().data
    chunk = chunk_of(data[: data.rindex(b'"payload"') + 5], complete=False)
    assert (chunk.lost, chunk.objects) == ([], 5)


def test_03_only_a_newline_ends_a_line() -> None:
    log = Rollout().turn(0).prompt(0.5, "one\u2028two\u2029three\x85").says(1).used(2)
    raw = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in log.lines)
    (made,) = rounds_of(raw)
    assert made.events[0].content_chars == 14


@pytest.mark.parametrize("bad", [b"\\ud83d", b"\xff\xfe"])
def test_04_text_that_is_no_unicode_is_replaced(bad: bytes) -> None:
    raw = plain().data.replace(b"go on", b"go " + bad).replace(b"Original token", bad + b" token")
    chunk = chunk_of(raw)
    assert (chunk.lost, chunk.objects) == ([], 6)
    assert only(raw).status == "finished"


def test_05_a_long_line_is_a_line() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="make").out(3, "a", exited(1.9, body="x" * (20 << 20))).used(4)
    assert (only(log).result_chars or 0) > 20 << 20


def test_11_results_read_in_a_later_piece_find_their_calls() -> None:
    lines = plain().data.splitlines(keepends=True)
    assert only([b"".join(lines[:4]), b"".join(lines[4:])]).result_us == us(3)


def test_14_16_subagents_are_sessions_of_their_own_and_marked() -> None:
    child = Rollout(
        "child", session_id="thread-a", source={"subagent": {"thread_spawn": {"parent_thread_id": "thread-a"}}}
    )
    child.turn(2, "turn-2").call(2, "b", cmd="ls").out(3, "b", exited(1)).used(4)
    made = rounds_of(plain(), child)
    assert len({one.session_id for one in made}) == 2
    assert [call.is_subagent for call in calls_of(plain(), child)] == [False, True]


def test_20_repeated_token_counts_open_no_round() -> None:
    log = plain().used(5, again=True).event(6, "token_count", info=None).says(7).used(8).used(9, again=True)
    assert [kinds(made.events) for made in rounds_of(log)] == [
        ["user_message", "tool_result", "tool_call", "usage_report"],
        ["text", "usage_report"],
    ]


@pytest.mark.parametrize("before", [True, False])
def test_20_a_report_before_or_after_the_outputs_closes_the_same_calls(before: bool) -> None:
    log = Rollout().turn(0)
    for place in range(3):
        at = 10.0 * place + 1
        log.call(at, f"a{place}", cmd="x").call(at, f"b{place}", cmd="x")
        if before:
            log.used(at + 0.01)
        log.out(at + 1, f"a{place}", exited(1)).out(at + 1, f"b{place}", exited(1))
        if not before:
            log.used(at + 1.01)
    assert [[call.id for call in made.calls] for made in rounds_of(log)] == [
        [named(f"a{place}"), named(f"b{place}")] for place in range(3)
    ]


def test_20_calls_after_the_last_report_are_kept() -> None:
    log = plain().thinks(5).call(6, "late", cmd="x").out(7, "late", exited(1))
    first, last = rounds_of(log)
    assert (first.input_tokens_total, last.input_tokens_total, last.output_tokens) == (900, None, None)
    assert [call.id for call in last.calls] == [named("late")]
    assert kinds(last.events) == ["tool_result", "reasoning", "tool_call"]


def test_21_all_four_kinds_of_calls_and_outputs_and_lists() -> None:
    log = (
        Rollout().turn(0).call(1, "f", cmd="ls").script(1, "p", "*** Begin Patch", "apply_patch").script(1, "x", "go()")
    )
    log.out(2, "f", exited(0.9)).script_out(2, "p", "Exit code: 0\nWall time: 0.2 seconds\nOutput:\nSuccess")
    log.script_out(3, "x", DONE).used(4)
    assert [(call.reported_ms, call.result_us) for call in calls_of(log)] == [
        (900, us(2)),
        (200, us(2)),
        (2000, us(3)),
    ]


def test_21_notes_of_a_script_are_not_its_result() -> None:
    note = [{"type": "input_text", "text": "half of it"}]
    log = Rollout().turn(0).script(1, "x", "notify('half')").script_out(2, "x", note).script_out(3, "x", note)
    log.script_out(5, "x", DONE).script_out(6, "x", note).used(7)
    (made,) = rounds_of(log)
    assert (made.calls[0].result_us, made.calls[0].status) == (us(5), "finished")
    assert [event.time_us for event in made.events if event.type == "tool_result"] == [us(5)]


def test_21_a_note_in_an_earlier_round_makes_way_for_the_result() -> None:
    note = [{"type": "input_text", "text": "half of it"}]
    log = Rollout().turn(0).script(1, "x", "notify('half')").script_out(2, "x", note).used(3)
    log.script_out(5, "x", DONE).says(6).used(7)
    assert [kinds(made.events) for made in rounds_of(log)] == [
        ["tool_call", "usage_report"],
        ["tool_result", "text", "usage_report"],
    ]


def test_21_a_script_that_only_left_notes_ended_with_the_first() -> None:
    log = Rollout().turn(0).script(1, "x", "go()").script_out(2, "x", "half").script_out(3, "x", "more").used(4)
    assert only(log).result_us == us(2)


def test_22_outputs_are_paired_by_id_and_a_missing_one_is_none() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").call(1, "b", cmd="x").call(1, "c", cmd="x")
    log.out(2, "c", exited(1)).out(3, "a", exited(1)).out(3, "lost", exited(1)).used(4)
    (made,) = read(log)
    calls = [call for one in made.rounds for call in one.calls]
    assert [call.result_us for call in calls] == [us(3), None, us(2)]
    assert made.counts["results without a call"] == 1


def test_23_lines_of_a_new_vocabulary_are_counted_by_name() -> None:
    log = plain().event(9, "token_budget", info={}).item(9, "handoff", call_id="x").line(9, "alice_was_here", {})
    assert chunk_of(log).unknown == {"token_budget": 1, "handoff": 1, "unnamed": 1}
    assert rounds_of(log) == rounds_of(plain())


def test_23_calls_and_results_that_were_understood_are_counted() -> None:
    (made,) = read(plain())
    assert made.counts == {"calls": 1, "results": 1}
    log = Rollout().turn(0).call(1, "a", cmd="x")
    log.lines.append({**log.lines[-1], "payload": {"type": "function_call_renamed", "call_id": "a"}})
    (made,) = read(log)
    assert made.counts == {"calls": 1, "results": 0}


def test_24_without_a_structured_outcome_the_output_line_decides() -> None:
    log = plain()
    assert only(log).result_us == us(3)
    failed = Rollout().turn(0).call(1, "a", cmd="x").out(1.5, "a", "exec_command failed for `x`: not found").used(2)
    call = only(failed)
    assert (call.status, call.is_error, call.result_us, call.exit_code) == ("failed", True, us(1.5), None)


def test_25_sixty_seconds_asked_are_thirty_and_only_the_text_tells_a_yield() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x", yield_time_ms=60_000).out(31.2, "a", running(30.0, 1)).used(32)
    log.call(40, "b", cmd="x", yield_time_ms=60_000).out(70.2, "b", exited(30.0)).used(71)
    first, second = calls_of(log)
    assert (first.asked_limit_seconds, first.status) == (30.0, "running")
    assert (second.asked_limit_seconds, second.status) == (30.0, "finished")


def test_26_a_wait_for_approval_is_never_a_run_time() -> None:
    log = Rollout().turn(0, approval_policy="on-request").call(1, "a", cmd="x", sandbox_permissions="require_escalated")
    call = only(log.out(310, "a", exited(2.0)).used(311))
    assert (call.start_kind, call.approval_seconds, call.permission_mode) == ("emission", None, "on-request")
    assert call.reported_ms == 2000


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("exec command rejected by user", "refused"),
        ("aborted by user after 12.3s", "aborted"),
        ("aborted by user", "aborted"),
    ],
)
def test_26_34_refused_and_aborted_calls_are_no_durations_of_tools(output: str, status: str) -> None:
    call = only(Rollout().turn(0).call(1, "a", cmd="x").out(54, "a", output).used(55))
    assert (call.status, call.is_error, call.result_us) == (status, True, us(54))


def test_28_outputs_held_back_in_call_order_keep_their_batch() -> None:
    log = Rollout().turn(0).call(1, "slow", cmd="x").call(1, "fast", cmd="x")
    log.out(31, "slow", exited(29.9)).out(31, "fast", exited(0.0)).used(32)
    slow, fast = calls_of(log)
    assert slow.parallel_group == fast.parallel_group
    assert (fast.result_us, fast.reported_ms) == (us(31), 0)


def test_29_a_printed_zero_is_kept_beside_the_gap() -> None:
    call = only(Rollout().turn(0).call(1, "a", cmd="x").out(1.106, "a", exited("0.0000")).used(2))
    assert (call.reported_ms, (call.result_us or 0) - call.emitted_us) == (0, 106_000)


def test_30_calls_that_share_their_time_with_their_outputs_are_not_zero() -> None:
    log = Rollout().turn(0)
    for place in range(6):
        output = "Plan updated" if place == 5 else '{"output":"","metadata":{"exit_code":0,"duration_seconds":4.5}}'
        log.call(10 * place, f"c{place}", "shell", command=["x"]).out(10 * place, f"c{place}", output).used(
            10 * place + 1
        )
    assert [(call.start_kind, (call.result_us or 0) - call.emitted_us) for call in calls_of(log)] == [
        *[("end-minus-reported", 4_500_000)] * 5,
        ("false", 0),
    ]


def test_31_a_process_that_never_ends_has_no_end() -> None:
    call = only(Rollout().turn(0).call(1, "a", cmd="x").out(11.1, "a", running(10, 1)).used(12).says(20).used(21))
    assert (call.status, call.job_ended_us) == ("running", None)


def test_33_killed_at_its_limit_is_told_by_text_and_code() -> None:
    killed = "Exit code: 124\nWall time: 60 seconds\nOutput:\ncommand timed out after 60000 milliseconds\n"
    log = Rollout().turn(0).call(1, "a", "shell_command", command="x").out(61.1, "a", killed).used(62)
    log.call(70, "b", "shell_command", command="x", timeout_ms=1000)
    log.out(150, "b", "Exit code: 0\nWall time: 79.9 seconds\nOutput:\n").used(151)
    first, second = calls_of(log)
    assert (first.status, first.asked_limit_seconds, first.exit_code) == ("timeout", 60.0, 124)
    assert (second.status, second.asked_limit_seconds) == ("finished", 1.0)


@pytest.mark.parametrize(
    "zone", ["2026-02-03T23:59:59.500-02:00", "2026-02-04T01:59:59.500Z", "2026-02-04T01:59:59.500"]
)
def test_35_times_are_utc_whatever_zone_they_are_written_in(zone: str) -> None:
    log = Rollout().turn(0).says(1).used(2)
    log.lines[2]["timestamp"] = zone
    assert rounds_of(log)[0].events[0].time_us == 1_770_170_399_500_000


def test_40_waiting_for_a_person_is_told_by_the_name_of_the_tool() -> None:
    log = Rollout().turn(0).call(1, "q", "request_user_input", questions=[]).out(400, "q", '{"answers":{}}').used(401)
    assert only(log).tool == NAMES.tool("request_user_input")
