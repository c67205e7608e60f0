"""Rounds of one rollout: where reports of tokens stand, batches, results, processes, real starts."""

from __future__ import annotations

import pytest

from tests.ingest.logs.codex_rollouts import (
    NAMES,
    Rollout,
    calls_of,
    exited,
    kinds,
    log_of,
    named,
    only,
    read,
    rounds_of,
    running,
    us,
)
from tracestat.ingest.logs.codex import rounds


def test_a_round_with_everything() -> None:
    log = Rollout().turn(0).prompt(0.5, "hello").thinks(2).says(3, "looking").call(4, "a", cmd="ls", yield_time_ms=1000)
    log.out(4.25, "a", exited(0.1, body="x")).used(4.3)
    (made,) = rounds_of(log)
    assert (made.provider, made.session_id) == ("codex", f"codex:{NAMES.id('session', 'thread-a')}")
    assert (made.turn_id, made.round_id) == (NAMES.id("turn", "turn-1"), f"{NAMES.id('turn', 'turn-1')}:0")
    assert (made.round_index, made.model, made.project) == (0, "gpt-5.5", NAMES.project("/home/ada/work"))
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (900, 600, 300)
    assert (made.output_tokens, made.reasoning_output_tokens) == (90, 40)
    assert [(event.type, event.source, event.time_us) for event in made.events] == [
        ("user_message", "event_msg.user_message", us(0.5)),
        ("tool_result", "response_item.function_call_output", us(4.25)),
        ("reasoning", "response_item.reasoning", us(2)),
        ("text", "response_item.message", us(3)),
        ("tool_call", "response_item.function_call", us(4)),
        ("usage_report", "event_msg.token_count", us(4.3)),
    ]
    (call,) = made.calls
    assert (call.id, call.emitted_us, call.result_us) == (named("a"), us(4), us(4.25))
    assert (call.status, call.exit_code, call.is_error, call.reported_ms) == ("finished", 0, False, 100)
    assert (call.start_kind, call.permission_mode, call.is_subagent, call.parallel_group) == (
        "emission",
        "never",
        False,
        0,
    )
    assert (call.asked_limit_seconds, call.result_chars) == (1.0, len(exited(0.1, body="x")))


def test_a_report_before_the_outputs_closes_the_calls_before_it() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="ls").used(1.1).out(2, "a", exited(0.9)).says(5).used(6)
    first, second = rounds_of(log)
    assert [call.id for call in first.calls] == [named("a")]
    assert kinds(first.events) == ["tool_call", "usage_report"]
    assert kinds(second.events) == ["tool_result", "text", "usage_report"]


def test_numbers_count_within_turns() -> None:
    log = (
        Rollout()
        .turn(0, "t")
        .says(1)
        .used(2)
        .says(3)
        .used(4)
        .turn(5, "u")
        .says(6)
        .used(7)
        .turn(8, "t")
        .says(9)
        .used(10)
    )
    made = rounds_of(log)
    t, u = NAMES.id("turn", "t"), NAMES.id("turn", "u")
    assert [one.round_id for one in made] == [f"{t}:0", f"{t}:1", f"{u}:0", f"{t}:2"]
    assert [one.round_index for one in made] == [0, 1, 2, 3]


def test_a_log_without_turn_ids_numbers_its_session() -> None:
    log = Rollout().line(0, "turn_context", {"model": "gpt-5"}).says(1).used(2).says(3).used(4)
    session = NAMES.id("session", "thread-a")
    assert [(one.round_id, one.turn_id) for one in rounds_of(log)] == [(f"{session}:0", None), (f"{session}:1", None)]


def test_calls_are_handed_out_together_until_an_output_comes() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").call(1.1, "b", cmd="x").out(2, "a", exited(1)).out(2, "b", exited(1))
    log.call(3, "c", cmd="x").out(4, "c", exited(1)).used(5).call(6, "d", cmd="x").out(7, "d", exited(1)).used(8)
    assert [[call.parallel_group for call in made.calls] for made in rounds_of(log)] == [[0, 0, 1], [0]]


def test_end_events_of_a_process_do_not_part_a_batch() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").event(1.05, "exec_command_end", call_id="a", exit_code=0)
    log.call(1.1, "b", cmd="x").out(2, "a", exited(1)).out(2, "b", exited(1)).used(3)
    assert [call.parallel_group for call in calls_of(log)] == [0, 0]


def test_a_response_cut_short_is_a_round_of_its_own_without_tokens() -> None:
    log = Rollout().turn(0, "t").prompt(0.1).says(1).used(2).thinks(3).event(4, "turn_aborted", turn_id="t")
    log.turn(60, "u").prompt(60.1).says(61).used(62)
    made = rounds_of(log)
    assert [kinds(one.events) for one in made] == [
        ["user_message", "text", "usage_report"],
        ["reasoning"],
        ["user_message", "text", "usage_report"],
    ]
    assert [one.input_tokens_total for one in made] == [900, None, 900]
    assert [one.turn_id for one in made] == [NAMES.id("turn", turn) for turn in "ttu"]


def test_a_prompt_before_the_next_turn_belongs_to_it() -> None:
    log = (
        Rollout()
        .turn(0, "t")
        .thinks(3)
        .event(4, "turn_aborted", turn_id="t")
        .prompt(59)
        .turn(60, "u")
        .says(61)
        .used(62)
    )
    assert [kinds(one.events) for one in rounds_of(log)] == [["reasoning"], ["user_message", "text", "usage_report"]]


def test_a_prompt_before_a_response_that_was_cut_short_is_its_input() -> None:
    log = (
        Rollout().turn(0, "t").prompt(1).thinks(3).event(4, "turn_aborted", turn_id="t").turn(60, "u").says(61).used(62)
    )
    assert [kinds(one.events) for one in rounds_of(log)] == [["user_message", "reasoning"], ["text", "usage_report"]]


def test_inputs_that_nothing_follows_are_counted() -> None:
    (log,) = read(Rollout().turn(0).says(1).used(2).prompt(9))
    assert len(log.rounds) == 1
    assert log.counts["inputs that no round follows"] == 1


def test_a_request_that_only_reports_its_tokens_is_a_round() -> None:
    log = Rollout().turn(0).item(1, "tool_search_call", call_id="s", arguments={"query": "x"}).used(2)
    assert [kinds(made.events) for made in rounds_of(log)] == [["usage_report"]]


def test_an_exit_code_of_something_that_is_no_command_is_no_status() -> None:
    log = Rollout().turn(0).script(1, "p", "*** Begin Patch", "apply_patch")
    log.script_out(2, "p", '{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.4}}').used(3)
    call = only(log)
    assert (call.status, call.exit_code, call.is_error, call.reported_ms) == (None, None, True, 400)


def test_notices_tell_what_the_output_does_not() -> None:
    log = Rollout().turn(0).script(1, "p", "*** Begin Patch", "apply_patch").call(1, "m", "notes__search")
    log.event(2, "patch_apply_end", call_id="p", success=False).script_out(2.1, "p", "no such line")
    duration = {"secs": 1, "nanos": 500_000_000}
    log.event(3, "mcp_tool_call_end", call_id="m", duration=duration, result={"Ok": {"isError": False, "content": []}})
    log.out(3.1, "m", [{"type": "text", "text": "found"}]).used(4)
    patch, search = calls_of(log)
    assert (patch.is_error, patch.reported_ms) == (True, None)
    assert (search.is_error, search.reported_ms, search.result_us) == (False, 1500, us(3.1))


def test_a_failed_tool_of_a_server() -> None:
    log = (
        Rollout().turn(0).call(1, "m", "notes__search").event(2, "mcp_tool_call_end", call_id="m", result={"Err": "x"})
    )
    assert only(log.out(2.1, "m", "x").used(3)).is_error is True


def test_a_process_is_followed_over_its_polls_to_its_end() -> None:
    log = Rollout().turn(0).call(1, "root", cmd="make").out(11.2, "root", running(10.0, 4242)).used(11.3)
    log.call(20, "one", "write_stdin", session_id=4242, chars="", yield_time_ms=1000)
    log.out(25.1, "one", running(5.0, 4242)).used(25.2)
    log.call(30, "two", "write_stdin", session_id=4242, chars="").out(32, "two", exited(2.0)).used(32.1)
    root, one, two = calls_of(log)
    assert (root.status, root.asked_limit_seconds, root.continues) == ("running", 10.0, None)
    assert (one.status, one.asked_limit_seconds, one.continues) == ("running", 5.0, root.id)
    assert (two.status, two.continues, two.exit_code) == ("finished", root.id, 0)
    assert [call.job_ended_us for call in (root, one, two)] == [us(32), us(32), None]


def test_the_first_word_of_the_end_of_a_process_counts() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").out(2, "a", running(1, 5)).used(3)
    log.call(4, "p", "write_stdin", session_id=5).out(5, "p", exited(1)).used(6)
    log.call(7, "q", "write_stdin", session_id=5).out(8, "q", exited(1)).used(9)
    assert calls_of(log)[0].job_ended_us == us(5)


def test_the_first_output_of_a_call_is_its_result() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").out(2, "a", exited(1)).out(3, "a", exited(2, 1)).used(4)
    (made,) = rounds_of(log)
    assert (made.calls[0].result_us, made.calls[0].exit_code) == (us(2), 0)
    assert kinds(made.events) == ["tool_result", "tool_call", "usage_report"]


def test_more_tokens_from_the_cache_than_there_were_are_no_negative_rest() -> None:
    (made,) = rounds_of(Rollout().turn(0).says(1).used(2, input_tokens=10, cached_input_tokens=12))
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (10, 12, 0)


def test_counts_that_are_missing_are_not_known() -> None:
    info = {"total_token_usage": {"total_tokens": 5}, "last_token_usage": {"output_tokens": 5}}
    (made,) = rounds_of(Rollout().turn(0).says(1).event(2, "token_count", info=info))
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (None, None, None)
    assert (made.output_tokens, made.reasoning_output_tokens) == (5, None)


def test_the_end_event_of_a_process_is_its_end_and_not_the_result_of_its_call() -> None:
    log = Rollout().turn(0).call(1, "root", cmd="make").out(11.2, "root", running(10.0, 7)).used(11.3)
    log.event(50, "exec_command_end", call_id="root", exit_code=1, duration={"secs": 49, "nanos": 0})
    log.call(60, "poll", "write_stdin", session_id=7, chars="").out(60.1, "poll", exited(0.0, 1)).used(61)
    root, poll = calls_of(log)
    assert (root.result_us, root.job_ended_us, root.is_error, root.reported_ms) == (us(11.2), us(50), None, 10_000)
    assert poll.result_us == us(60.1)


def test_a_process_that_ended_without_an_output_is_known_to_have_ended() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="make").event(9, "exec_command_end", call_id="a", exit_code=0).used(10)
    call = only(log)
    assert (call.result_us, call.status, call.is_error, call.job_ended_us) == (None, None, None, us(9))


def test_numbers_of_processes_are_used_again() -> None:
    log = Rollout().turn(0).call(1, "old", cmd="x").out(2, "old", running(1, 5)).used(3)
    log.call(4, "p1", "write_stdin", session_id=5).out(5, "p1", exited(1)).used(6)
    log.call(7, "new", cmd="x").out(8, "new", running(1, 5)).used(9)
    log.call(10, "p2", "write_stdin", session_id=5).out(11, "p2", running(1, 5)).used(12)
    old, p1, new, p2 = calls_of(log)
    assert (p1.continues, p2.continues) == (old.id, new.id)
    assert (old.job_ended_us, new.job_ended_us, p2.job_ended_us) == (us(5), None, None)


def test_a_poll_of_an_unknown_process_has_no_root() -> None:
    log = Rollout().turn(0).call(1, "p", "write_stdin", session_id=5, chars="x")
    call = only(log.out(2, "p", "write_stdin failed: Unknown process id 5").used(3))
    assert (call.continues, call.status, call.is_error) == (None, "session_error", True)


def test_cells_of_code_mode_are_followed_like_processes() -> None:
    running_cell = [{"type": "input_text", "text": "Script running with cell ID 3\nWall time 10.0 seconds\nOutput:\n"}]
    completed = [{"type": "input_text", "text": "Script completed\nWall time 4.0 seconds\nOutput:\n"}]
    log = Rollout().turn(0).script(1, "cell", "await work()").script_out(11, "cell", running_cell).used(11.1)
    log.call(12, "w", "wait", cell_id="3", yield_time_ms=20_000).out(16, "w", completed).used(16.1)
    cell, wait = calls_of(log)
    assert (cell.status, cell.reported_ms, cell.job_ended_us) == ("running", 10_000, us(16))
    assert (wait.continues, wait.status, wait.asked_limit_seconds) == (cell.id, "finished", 20.0)


def test_numbers_of_cells_and_of_processes_do_not_meet() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").out(2, "a", running(1, 3)).used(3)
    log.call(4, "w", "wait", cell_id=3).out(5, "w", "Script completed\nWall time 0.1 seconds\nOutput:\n").used(6)
    assert [call.continues for call in calls_of(log)] == [None, None]


COMMAND = {"type": "CommandExecution", "command": ["/bin/sh", "-lc", "true"], "status": "completed", "exit_code": 0}


def completed(log: Rollout, at: float, item: str, started: float | None, ended: float) -> Rollout:
    return log.event(
        at,
        "item_completed",
        turn_id="turn-1",
        item={**COMMAND, "id": item, "duration": {"secs": 0, "nanos": 120_000_000}},
        started_at_ms=None if started is None else us(started) // 1000,
        completed_at_ms=us(ended) // 1000,
    )


def test_items_give_the_real_start_and_so_the_wait_for_approval() -> None:
    log = completed(Rollout().turn(0).call(1, "a", cmd="x"), 8.7, "a", 8.5, 8.62)
    call = only(log.out(8.8, "a", exited(0.12)).used(9))
    assert (call.start_kind, call.approval_seconds, call.emitted_us) == ("real", 7.5, us(1))
    assert (call.reported_ms, call.job_ended_us) == (120, None)


def test_an_item_without_a_start_gives_none() -> None:
    log = completed(Rollout().turn(0).call(1, "a", cmd="x"), 8.7, "a", None, 8.62)
    call = only(log.out(8.8, "a", exited(0.12)).used(9))
    assert (call.start_kind, call.approval_seconds) == ("emission", None)


def test_a_start_just_before_the_line_of_the_call_is_no_negative_wait() -> None:
    log = completed(Rollout().turn(0).call(1, "a", cmd="x"), 2, "a", 0.995, 1.9)
    assert only(log.out(2, "a", exited(0.9)).used(3)).approval_seconds == 0


def test_the_item_of_a_process_that_was_left_running_is_its_end() -> None:
    log = Rollout().turn(0).call(1, "a", cmd="x").out(11, "a", running(10, 4)).used(11.1)
    call = only(completed(log, 70, "a", 1.1, 69.5))
    assert (call.job_ended_us, call.reported_ms, call.start_kind) == (us(69.5), 10_000, "real")


def test_commands_within_code_mode_are_joined_by_time() -> None:
    log = Rollout().turn(0).script(1, "one", "a()")
    completed(completed(log, 4, "exec-2", 3, 4), 3, "exec-1", 2.5, 2.9)
    log.script_out(5, "one", "Script completed\nWall time 4.0 seconds\nOutput:\n").used(6)
    log.script(7, "two", "b()").script_out(8, "two", "Script completed\nWall time 1.0 seconds\nOutput:\n").used(9)
    one, two = calls_of(log)
    assert (one.start_kind, one.approval_seconds) == ("real", 1.5)
    assert (two.start_kind, two.approval_seconds) == ("emission", None)


def test_a_command_is_joined_to_the_cell_that_was_open_then() -> None:
    done = "Script completed\nWall time 1.0 seconds\nOutput:\n"
    log = Rollout().turn(0).script(1, "one", "a()").script_out(5, "one", done).used(5.1)
    completed(log, 5.8, "exec-1", 5.5, 5.7)  # between the two
    log.script(6, "two", "b()")
    completed(log, 8, "exec-2", 7, 8)
    log.script_out(9, "two", done).used(9.1)
    assert [(call.start_kind, call.approval_seconds) for call in calls_of(log)] == [("emission", None), ("real", 1.0)]


def test_a_cell_that_went_on_is_open_while_it_is_waited_for() -> None:
    log = Rollout().turn(0).script(1, "cell", "a()")
    log.script_out(11, "cell", "Script running with cell ID 3\nWall time 10.0 seconds\nOutput:\n").used(11.1)
    log.call(12, "w", "wait", cell_id=3)
    completed(log, 15, "exec-1", 14, 15)
    log.out(16, "w", "Script completed\nWall time 4.0 seconds\nOutput:\n").used(16.1)
    assert [(call.start_kind, call.approval_seconds) for call in calls_of(log)] == [("real", 13.0), ("emission", None)]


def test_a_command_that_two_cells_could_have_run_is_joined_to_neither() -> None:
    log = Rollout().turn(0).script(1, "one", "a()").script(1, "two", "b()")
    completed(log, 4, "exec-1", 2, 3)
    done = "Script completed\nWall time 4.0 seconds\nOutput:\n"
    log.script_out(5, "one", done).script_out(5, "two", done).used(6)
    assert [call.start_kind for call in calls_of(log)] == ["emission", "emission"]


def test_items_of_people_are_prompts_and_are_not_counted_twice() -> None:
    said = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "go on"}]}
    log = Rollout().turn(0).event(1, "item_completed", item=said).says(2).used(3)
    log.prompt(9, "go on").event(9.001, "item_completed", item=said).says(10).used(11)
    assert [[(event.source, event.content_chars) for event in made.events[:1]] for made in rounds_of(log)] == [
        [("event_msg.item_completed", 5)],
        [("event_msg.user_message", 5)],
    ]
    assert [len(made.events) for made in rounds_of(log)] == [3, 3]


def test_prompts_that_are_alike_are_prompts_all_the_same() -> None:
    said = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "go on"}]}
    log = (
        Rollout().turn(0).prompt(1, "go on").prompt(2, "go on").event(30, "item_completed", item=said).says(31).used(32)
    )
    (made,) = rounds_of(log)
    assert kinds(made.events).count("user_message") == 3


def test_an_item_tells_whether_it_failed_where_the_output_does_not() -> None:
    item = {"type": "McpToolCall", "id": "m", "status": "failed", "duration": {"secs": 2, "nanos": 0}}
    log = (
        Rollout()
        .turn(0)
        .call(1, "m", "notes__search")
        .event(4, "item_completed", item=item, started_at_ms=us(2) // 1000)
    )
    call = only(log.out(4, "m", "it did not work").used(5))
    assert (call.is_error, call.reported_ms, call.approval_seconds) == (True, 2000, 1.0)


def test_calls_of_an_aborted_turn_without_an_output_were_aborted() -> None:
    log = Rollout().turn(0, "t").call(1, "a", cmd="x").call(1, "b", cmd="x").out(2, "a", exited(1))
    log.event(5, "turn_aborted", turn_id="t", reason="interrupted").turn(9, "u").call(10, "c", cmd="x")
    assert [(call.status, call.result_us) for call in calls_of(log)] == [
        ("finished", us(2)),
        ("aborted", None),
        (None, None),
    ]


def test_the_developer_is_the_caller_s() -> None:
    (log,) = rounds([log_of(Rollout().turn(0).says(1).used(2), developer="ada")])
    assert [made.developer for made in log.rounds] == ["ada"]


def early(*gaps_and_times: tuple[float, str | None]) -> Rollout:
    """Write a log whose calls are written with their outputs."""
    log = Rollout().turn(0)
    for place, (gap, seconds) in enumerate(gaps_and_times):
        at = 100.0 * (place + 1)
        wrapped = f'{{"output":"x","metadata":{{"exit_code":0,"duration_seconds":{seconds}}}}}'
        log.call(at, f"c{place}", "shell", command=["ls"])
        log.out(at + gap, f"c{place}", "Plan updated" if seconds is None else wrapped).used(at + gap + 1)
    return log


def test_calls_written_with_their_outputs_start_their_duration_before_them() -> None:
    log = early((0, "3.5"), (0.001, "0.0"), (0, None), (0.001, "0.2"), (0, "61.7"))
    made = rounds_of(log)
    calls = [call for one in made for call in one.calls]
    assert [call.start_kind for call in calls] == ["end-minus-reported"] * 2 + ["false"] + ["end-minus-reported"] * 2
    assert [(call.result_us or 0) - call.emitted_us for call in calls] == [3_500_000, 0, 0, 200_000, 61_700_000]
    assert [next(e for e in one.events if e.type == "tool_call").time_us for one in made] == [
        call.emitted_us for call in calls
    ]


def test_a_share_decides_over_the_whole_log() -> None:
    log = early(*[(0.0, "1.0")] * 3, *[(0.9, "0.8")] * 3)
    assert {call.start_kind for call in calls_of(log)} == {"emission"}
    log = early(*[(0.0, "1.0")] * 4, *[(0.9, "0.8")] * 3)
    assert {call.start_kind for call in calls_of(log)} == {"end-minus-reported"}


@pytest.mark.parametrize(("seconds", "kind"), [("0.0", "emission"), ("2.0", "end-minus-reported")])
def test_of_few_calls_one_must_prove_that_its_gap_is_false(seconds: str, kind: str) -> None:
    assert {call.start_kind for call in calls_of(early((0, "0.0"), (0, seconds)))} == {kind}


def test_the_cut_of_a_log_into_readings_changes_nothing() -> None:
    log = early((0, "3.5"), (0.001, "0.0"), (0, None), (0.001, "0.2"), (0, "61.7"))
    log.turn(900, "t2").call(901, "x", cmd="make").out(903, "x", running(2, 1)).used(904)
    log.call(905, "y", "write_stdin", session_id=1).out(906, "y", exited(1)).used(907)
    lines = log.data.splitlines(keepends=True)
    whole = read(log)
    for cut in range(len(lines) + 1):
        assert read([b"".join(lines[:cut]), b"".join(lines[cut:])]) == whole
