"""The grain of pauses: when one begins and ends, whose key it has, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.traces import Row, call, event, round_

Make = Callable[[list[Row]], Any]


def pauses(trace: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = trace.sql("SELECT * FROM pauses ORDER BY round_pk").to_dicts()
    return rows


def one(trace: Any) -> dict[str, Any]:
    (row,) = pauses(trace)
    return row


def test_parallel_calls_and_one_that_returned_before_the_last_output(store_of: Make) -> None:
    # vector 29: last output at 10; the first call costs nothing
    calls = [
        call("a", 9.2, 9.8, index=0),
        call("b", 9.9, 12, index=1),
        call("c", 10, 11, index=2),
        call("d", 10, 17.5, index=3),
    ]
    row = one(store_of([round_("s", 0, calls)]))
    assert (row["seconds"], row["busy_seconds"]) == (7.5, 7.5)
    assert row["n_calls"] == 4


def test_serial_calls_leave_time_in_which_nothing_ran(store_of: Make) -> None:
    # vector 29, second round: both calls emitted at 10, the second started at 14
    calls = [call("a", 10, 11, index=0), call("b", 14, 17.5, index=1)]
    events = [event("tool_call", 10, tool_call_id=c["tool_call_id"]) for c in calls]
    row = one(store_of([round_("s", 0, calls, timing_events=events)]))
    assert (row["seconds"], row["busy_seconds"]) == (7.5, 4.5)
    assert (row["longest_seconds"], row["sum_seconds"]) == (3.5, 4.5)


def test_busy_time_is_the_union_of_the_calls_after_the_last_output(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 8, 11, index=0), call("b", 9, 10.5, index=1)], text=10)]))
    assert (row["seconds"], row["busy_seconds"]) == (1.0, 1.0)


def test_text_after_the_call_shortens_the_pause(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 10, 15)], text=12)]))
    assert row["seconds"] == 3.0


def test_all_results_before_the_last_output_is_a_pause_of_zero(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 10, 11)], text=12)]))
    assert (row["seconds"], row["observed"], row["end_kind"]) == (0.0, True, "completed")


def test_the_key_is_known_at_the_start(store_of: Make) -> None:
    calls = [
        call("a", 10, 60, "Read", index=0),
        call("b", 10, 11, "Bash", index=1, command_skeleton="ls", executables=["ls"]),
        call("c", 10, 12, "WebFetch", index=2),
    ]
    row = one(store_of([round_("s", 0, calls)]))
    assert (row["tool"], row["tool_class"], row["mixed_key"]) == ("WebFetch", "web", True)
    assert row["last_returned_tool"] == "Read"


def test_equal_calls_are_no_mixed_key(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2, "Read", index=0), call("b", 1, 3, "Read", index=1)])]))
    assert row["mixed_key"] is False


def test_a_repeated_index_gives_one_pause(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2), call("b", 1, 3)])]))
    assert row["n_calls"] == 2


def test_a_tool_without_a_name(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2, tool_name=None)])]))
    assert (row["tool"], row["tool_class"]) == (None, "other")


def test_a_round_without_calls_is_no_pause(store_of: Make) -> None:
    assert pauses(store_of([round_("s", 0, text=1)])) == []


def test_context_is_prompt_and_output(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2)], input_tokens_total=5000, output_tokens=70)]))
    assert row["context_tokens"] == 5070


def test_absurd_token_counts_are_no_context(store_of: Make) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2)], input_tokens_total=2**63 - 1, output_tokens=9)]))
    assert row["context_tokens"] is None


@pytest.mark.parametrize(
    ("status", "kind"), [("running", "deadline"), ("aborted", "interrupted"), ("finished", "completed")]
)
def test_end_kinds_of_codex(store_of: Make, status: str, kind: str) -> None:
    row = one(store_of([round_("s", 0, [call("a", 1, 2, "exec_command", command_status=status)], provider="codex")]))
    assert (row["end_kind"], row["observed"]) == (kind, True)


def test_results_with_one_stamp_were_held_back_by_the_yield(store_of: Make) -> None:
    calls = [
        call("a", 1, 31, "write_stdin", index=0, command_status="running"),
        call("b", 1, 31, "exec_command", index=1, command_status="finished"),
    ]
    assert one(store_of([round_("s", 0, calls, provider="codex")]))["end_kind"] == "deadline"


def test_superseded_ends_at_the_next_output(store_of: Make) -> None:
    rows = [round_("s", 0, [call("a", 10, 50)]), round_("s", 1, text=20)]
    row = one(store_of(rows))
    assert (row["seconds"], row["end_kind"], row["observed"]) == (10.0, "superseded", True)


def test_the_next_round_is_found_by_index_and_not_by_file_order(store_of: Make) -> None:
    rows = [round_("s", 1, text=20), round_("s", 0, [call("a", 10, 50)]), round_("other", 1, text=11)]
    assert one(store_of(rows))["seconds"] == 10.0


def test_a_result_listed_in_the_next_round_does_not_supersede(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 10, 50)]),
        round_("s", 1, text=52, events=[event("tool_result", 50, tool_call_id="a")]),
    ]
    row = one(store_of(rows))
    assert (row["seconds"], row["end_kind"]) == (40.0, "completed")


def test_lost_is_censored_at_the_next_stamp_that_is_no_result(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 10, None, index=0), call("b", 10, 11, index=1)]),
        round_("s", 1, text=30, events=[event("tool_result", 11, tool_call_id="b"), event("user_message", 25)]),
    ]
    row = one(store_of(rows))
    assert (row["seconds"], row["end_kind"], row["observed"]) == (15.0, "lost", False)


def test_open_is_censored_at_the_last_stamp_of_the_session(store_of: Make) -> None:
    row = one(
        store_of(
            [
                round_(
                    "s",
                    0,
                    [call("a", 10, None, index=0), call("b", 10, 14, index=1)],
                    events=[event("tool_result", 14, tool_call_id="b")],
                )
            ]
        )
    )
    assert (row["seconds"], row["end_kind"], row["observed"]) == (4.0, "open", False)


def test_a_session_is_provider_user_and_id(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 10, 50)]),
        round_("s", 1, text=20, user="user_00000002"),
        round_("s", 2, text=20, provider="codex"),
        round_("s", 3, text=20, user=None),
    ]
    row = one(store_of(rows))
    assert (row["seconds"], row["end_kind"]) == (40.0, "completed")


def test_copies_of_a_resumed_session_are_marked_and_kept(store_of: Make) -> None:
    original = round_("s1", 0, [call("a", 10, 20), call("b", 10, 21, index=1)], round_id="r")
    copy = round_("s2", 0, [call("a", 10, 20), call("b", 10, 21, index=1)], round_id="r")
    other = round_("s3", 0, [call("a", 10, 20)], round_id="r")
    rows = pauses(store_of([original, copy, other]))
    assert [row["is_copy"] for row in rows] == [False, True, False]


def test_copies_dropped_twice_is_once(store_of: Make) -> None:
    originals = [round_("s1", i, [call(f"c{i}", 10 * i, 10 * i + 5)], round_id=f"r{i}") for i in range(4)]
    copies = [round_("s2", i, [call(f"c{i}", 10 * i, 10 * i + 5)], round_id=f"r{i}") for i in range(4)]
    kept = [row for row in pauses(store_of([*originals, *copies])) if not row["is_copy"]]
    assert len(kept) == 4
    assert not any(row["is_copy"] for row in pauses(store_of(originals)))


def test_whole_seconds_are_seen(store_of: Make) -> None:
    coarse = [round_("s", i, [call(f"c{i}", 10 * i, 10 * i + 1 + i)]) for i in range(4)]
    fine = [round_("t", i, [call(f"d{i}", 10 * i, 10 * i + 1.001, "Read")]) for i in range(4)]
    found = {row["tool"]: row["resolution_seconds"] for row in pauses(store_of([*coarse, *fine]))}
    assert found == {"Bash": 1.0, "Read": 0.001}


def test_absurd_and_reversed_times_stay(store_of: Make) -> None:
    rows = pauses(store_of([round_("s", 0, [call("a", 10, 5)]), round_("s", 1, [call("b", 10, 10 + 9e8)])]))
    assert [row["seconds"] for row in rows] == [0.0, 9e8]
