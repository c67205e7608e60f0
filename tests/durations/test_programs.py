"""Programs: which rounds make a session and a request, which are copies, which are open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from tests.traces import Row, call, event, round_
from tracestat.durations.programs import PROGRAM_KEYS, program_copies, program_turns, select_programs
from tracestat.errors import UsageError
from tracestat.store import Trace

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]


def turn(session: str, index: int, at: float, *, asked: bool = False, **more: Any) -> Row:
    """A round that writes a text; with a message of the user before it if ``asked``."""
    events = [event("user_message", at - 1)] if asked else []
    return round_(session, index, text=at, events=events, current_user_message_count=int(asked), **more)


def tool_turn(session: str, index: int, at: float, result: float | None, *, asked: bool = False, **more: Any) -> Row:
    return round_(
        session, index, [call(f"{session}{index}", at, result)], current_user_message_count=int(asked), **more
    )


def counted(trace: Trace, **options: Any) -> dict[tuple[str, int], tuple[int, int, int]]:
    """(unit, rounds) -> programs, open ones, unanswered ones."""
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    selection = select_programs(trace, by=None, tz="UTC", **options)
    for row in program_turns(trace, selection).iter_rows(named=True):
        place = (row["unit"], row["turns"])
        before = found.get(place, (0, 0, 0))
        found[place] = (before[0] + row["n"], before[1] + row["n_open"], before[2] + row["n_unanswered"])
    return found


def test_a_request_starts_at_a_message_and_takes_what_stands_before_the_first(store_of: Make) -> None:
    trace = store_of(
        [
            turn("a", 0, 0),  # before the first message: part of the first request
            turn("a", 1, 10, asked=True),
            tool_turn("a", 2, 20, 25),
            turn("a", 3, 30),
            turn("a", 4, 40, asked=True),
            turn("b", 0, 50, asked=True),
        ]
    )
    assert counted(trace) == {
        ("session", 5): (1, 0, 0),
        ("session", 1): (1, 0, 0),
        ("request", 4): (1, 0, 0),
        ("request", 1): (2, 0, 0),
    }
    assert program_copies(trace).rounds == 0


def test_copied_rounds_count_once_and_keep_their_request_apart(store_of: Make) -> None:
    first = [turn("a", 0, 0, asked=True, round_id="r0"), turn("a", 1, 10, round_id="r1")]
    again = [turn("b", 0, 0, asked=True, round_id="r0"), turn("b", 1, 10, round_id="r1")]
    only = [turn("c", 0, 0, asked=True, round_id="r0")]
    trace = store_of([*first, *again, turn("b", 2, 20), turn("b", 3, 30, asked=True), *only])
    copies = program_copies(trace)
    assert (copies.rounds, copies.sessions) == (3, 1)
    # b goes on with the request of a: that rest is no part of the request that b's own message begins
    assert counted(trace) == {("session", 2): (2, 0, 0), ("request", 2): (1, 0, 0), ("request", 1): (2, 0, 0)}


def test_equal_round_ids_of_two_providers_are_no_copies(store_of: Make) -> None:
    trace = store_of(
        [
            turn("a", 0, 0, asked=True, round_id="r0"),
            turn("a", 0, 0, asked=True, round_id="r0", provider="codex"),
        ]
    )
    assert program_copies(trace).rounds == 0
    assert counted(trace)["session", 1] == (2, 0, 0)


def test_a_program_is_open_where_its_tool_runs_when_the_log_ends(store_of: Make) -> None:
    trace = store_of(
        [
            turn("a", 0, 0, asked=True),
            tool_turn("a", 1, 10, None, asked=True),  # nothing follows
            tool_turn("b", 0, 0, None, asked=True),  # lost, but the session goes on
            turn("b", 1, 30),
            tool_turn("c", 0, 0, 5, asked=True),  # a result, and then nothing
        ]
    )
    found = counted(trace)
    assert found["session", 2] == (2, 1, 0)
    assert found["session", 1] == (1, 0, 1)
    assert found["request", 1] == (3, 1, 1)  # both of a, the last one open, and that of c
    assert found["request", 2] == (1, 0, 0)


def test_sessions_of_one_id_by_two_developers_are_two(store_of: Make) -> None:
    trace = store_of([turn("a", 0, 0, user="user_1"), turn("a", 1, 9, user="user_2", round_id="other")])
    assert counted(trace)["session", 1] == (2, 0, 0)


def test_filters_choose_programs_by_their_first_round(store_of: Make) -> None:
    day = 86_400.0
    trace = store_of(
        [
            turn("a", 0, 0, asked=True, model="m1", project="p1"),
            turn("a", 1, day, asked=True, model="m2", project="p1"),
            turn("b", 0, 2 * day, asked=True, model="m2", project="p2"),
        ]
    )
    assert counted(trace, where="model = 'm1'") == {("session", 2): (1, 0, 0), ("request", 1): (1, 0, 0)}
    assert counted(trace, where="project = 'p2'")["session", 1] == (1, 0, 0)
    # base day is 2026-03-02; the session of two days is one that began before
    assert counted(trace, since="2026-03-03") == {("session", 1): (1, 0, 0), ("request", 1): (2, 0, 0)}
    assert counted(trace, until="2026-03-03") == {("session", 2): (1, 0, 0), ("request", 1): (1, 0, 0)}


def test_every_key_of_programs_groups(store_of: Make) -> None:
    trace = store_of([turn("a", 0, 0, asked=True), turn("b", 0, 50, asked=True)])
    for key in PROGRAM_KEYS:
        selection = select_programs(trace, by=key, tz="UTC")
        frame = program_turns(trace, selection)
        assert frame[key].null_count() < frame.height or key == "project", key
        assert frame["n"].sum() == 4, key


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": "tool"},
        {"by": "end_kind"},
        {"by": "context_band"},
        {"where": "tool_class = 'shell'"},
        {"where": "provider = 'claude' AND n_calls = 1"},
        {"where": "seconds > 3"},
        {"since": "soon"},
        {"tz": "Nowhere"},
    ],
)
def test_what_programs_do_not_have_is_a_usage_error(store_of: Make, wrong: dict[str, str]) -> None:
    trace = store_of([turn("a", 0, 0)])
    with pytest.raises(UsageError):
        select_programs(trace, **wrong)


def test_a_value_in_quotes_is_no_column(store_of: Make) -> None:
    trace = store_of([turn("a", 0, 0, project='"tool"')])
    assert counted(trace, where="project = '\"tool\"'")["session", 1] == (1, 0, 0)
