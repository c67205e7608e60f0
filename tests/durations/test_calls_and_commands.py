"""The grains of calls and commands: clocks, marks of bad clocks, and processes stitched from launch and polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.traces import Row, call, round_

Make = Callable[[list[Row]], Any]


def table(trace: Any, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = trace.sql(
        f"SELECT d.*, c.tool_call_id AS call_id FROM {name} AS d JOIN tool_calls AS c ON c.rowid = d.call_pk - 1 "
        "ORDER BY d.call_pk"
    ).to_dicts()
    return rows


def codex(session: str, index: int, calls: list[Row]) -> Row:
    return round_(session, index, calls, provider="codex")


def chain(*, last_status: str = "finished", last_result: float | None = 41.3) -> list[Row]:
    # vector 30
    return [
        codex("s", 0, [call("L", 0, 1.2, "exec_command", command_status="running", tool_internal_latency_ms=1001)]),
        codex("s", 1, [call("P1", 5, 35, "write_stdin", command_status="running", continuation_of_tool_call_id="L")]),
        codex(
            "s",
            2,
            [call("P2", 38, last_result, "write_stdin", command_status=last_status, continuation_of_tool_call_id="L")],
        ),
    ]


def test_clocks_of_a_call(store_of: Make) -> None:
    rows = table(store_of([codex("s", 0, [call("a", 1, 2.5, "exec_command", tool_internal_latency_ms=1200)])]), "calls")
    assert [(r["seconds"], r["internal_seconds"], r["effective_seconds"]) for r in rows] == [(1.5, 1.2, 1.2)]
    rows = table(store_of([round_("s", 0, [call("a", 1, 2.5)])]), "calls")
    assert [(r["seconds"], r["internal_seconds"], r["effective_seconds"]) for r in rows] == [(1.5, None, 1.5)]


def test_negative_durations_stay_in_the_table(store_of: Make) -> None:
    rows = table(store_of([round_("s", 0, [call("a", 2, 1)])]), "calls")
    assert [(r["seconds"], r["observed"]) for r in rows] == [(-1.0, True)]


def test_zero_inflated_clock(store_of: Make) -> None:
    rows = [
        codex(
            "s", i, [call(f"c{i}", 10 * i, 10 * i + 0.2, "exec_command", tool_internal_latency_ms=0 if i < 3 else 150)]
        )
        for i in range(10)
    ]
    found = table(store_of(rows), "calls")
    assert {r["internal_zero_inflated"] for r in found} == {True}
    assert {r["wall_zero_inflated"] for r in found} == {False}


def test_a_call_without_result_ends_with_its_pause(store_of: Make) -> None:
    rows = [round_("s", 0, [call("a", 8, None, index=0), call("b", 10, 11, index=1)]), round_("s", 1, text=30)]
    found = table(store_of(rows), "calls")
    assert [(r["seconds"], r["observed"], r["end_kind"]) for r in found] == [
        (22.0, False, "lost"),
        (1.0, True, "completed"),
    ]


def test_the_asked_limit_of_a_yield(store_of: Make) -> None:
    found = table(store_of(chain()), "calls")
    assert [r["asked_limit_seconds"] for r in found] == [1.0, None, None]
    assert [r["end_kind"] for r in found] == ["deadline", "deadline", "completed"]


def test_launch_and_polls_are_one_command(store_of: Make) -> None:
    trace = store_of(chain())
    pauses = trace.sql("SELECT seconds, end_kind FROM pauses ORDER BY round_pk").rows()
    assert [(round(s, 6), k) for s, k in pauses] == [(1.2, "deadline"), (30.0, "deadline"), (3.3, "completed")]
    (row,) = table(trace, "commands")
    assert (row["seconds"], row["finished_after_seconds"], row["n_polls"]) == (41.3, 35.0, 2)
    assert (row["end_kind"], row["observed"], row["tool"]) == ("completed", True, "exec_command")


@pytest.mark.parametrize(
    ("status", "result", "expected"),
    [
        ("running", 68.0, (68.0, False, "deadline")),
        ("aborted", 41.3, (41.3, False, "interrupted")),
        ("session_error", 41.3, (41.3, True, "completed")),
        ("finished", None, (35.0, False, "open")),
    ],
)
def test_chains_that_do_not_finish(
    store_of: Make, status: str, result: float | None, expected: tuple[float, bool, str]
) -> None:
    (row,) = table(store_of(chain(last_status=status, last_result=result)), "commands")
    assert (row["seconds"], row["observed"], row["end_kind"]) == expected


def test_a_poll_continues_the_launch_of_its_own_session(store_of: Make) -> None:
    other = [{**row, "session_id": "codex:t"} for row in chain()[:1]]
    rows = table(store_of([*chain(), *other]), "commands")
    assert [(r["session"], r["n_polls"]) for r in rows] == [("codex:s", 2), ("codex:t", 0)]


def test_a_repeated_launch_id_takes_the_nearest_before_the_poll(store_of: Make) -> None:
    again = codex("s", 3, [call("L", 100, 101.2, "exec_command", command_status="running")])
    poll = codex(
        "s", 4, [call("P3", 110, 112, "write_stdin", command_status="finished", continuation_of_tool_call_id="L")]
    )
    rows = table(store_of([*chain(), again, poll]), "commands")
    assert [(r["n_polls"], round(r["seconds"], 6)) for r in rows] == [(2, 41.3), (1, 12.0)]


def test_other_shell_calls_are_commands_of_their_own(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 0, 3, index=0), call("b", 0, 1, "Read", index=1), call("c", 0, 2, "Bash", index=2)])
    ]
    found = table(store_of(rows), "commands")
    assert [(r["call_id"], r["seconds"], r["n_polls"]) for r in found] == [("a", 3.0, 0), ("c", 2.0, 0)]


def test_copied_commands_are_marked(store_of: Make) -> None:
    copies = [{**row, "session_id": "codex:t"} for row in chain()]
    assert [r["is_copy"] for r in table(store_of([*chain(), *copies]), "commands")] == [False, True]
