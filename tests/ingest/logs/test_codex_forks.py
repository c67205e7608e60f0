"""Forks, sub-agents and copies: what a log repeats of others is left out, once, and counted."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.ingest.logs.codex_rollouts import NAMES, Rollout, exited, kinds, named, read, timed_id
from tracestat.ingest.logs.codex import COPIES, HISTORY, REPEATED
from tracestat.ingest.logs.format import LogRounds

PARENT = timed_id(0)
CHILD = timed_id(1000)
OLD_TURN, OLD_TURN_2, NEW_TURN = timed_id(1, 1), timed_id(50, 1), timed_id(1001, 1)


def parent(turn: str = OLD_TURN) -> Rollout:
    log = (
        Rollout(PARENT, at=0).turn(1, turn).prompt(1.1, "first").call(2, "p1", cmd="ls").out(3, "p1", exited(1)).used(4)
    )
    return log.says(5).used(6)


def history(log: Rollout, shift: float, turn: str = OLD_TURN) -> Rollout:
    """Repeat the parent's lines, with its times or with all of them at one moment."""
    for line in parent(turn).lines:
        log.lines.append(dict(line))
        if shift:
            log.lines[-1]["timestamp"] = Rollout(at=shift).lines[0]["timestamp"]
    log._total += 2000
    return log


def own(log: Rollout, turn: str = NEW_TURN) -> Rollout:
    log.turn(1001, turn).prompt(1001.1, "second").call(1002, "c1", cmd="ls").out(1003, "c1", exited(1)).used(1004)
    return log


def ids(log: LogRounds) -> list[str]:
    return [call.id for made in log.rounds for call in made.calls]


FORKED: list[dict[str, Any]] = [
    {"forked_from_id": PARENT},
    {"parent_thread_id": PARENT, "thread_source": "subagent"},
    {"session_id": PARENT, "source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}},
]


@pytest.mark.parametrize("meta", FORKED)
@pytest.mark.parametrize("shift", [0, 1000])
@pytest.mark.parametrize("with_parent", [True, False])
@pytest.mark.parametrize("child_first", [True, False])
def test_a_repeated_history_is_the_parent_s(
    meta: dict[str, Any], shift: float, with_parent: bool, child_first: bool
) -> None:
    child = own(history(Rollout(CHILD, at=1000, **meta), shift))
    logs = [child, parent()] if with_parent else [child]
    order = logs if child_first else logs[::-1]
    found = dict(zip(map(id, order), read(*order), strict=True))
    made = found[id(child)]
    assert ids(made) == [named("c1")]
    assert made.left_out == {HISTORY: 1}
    assert [kinds(one.events) for one in made.rounds] == [["user_message", "tool_result", "tool_call", "usage_report"]]
    assert {one.session_id for one in made.rounds} == {f"codex:{NAMES.id('session', CHILD)}"}
    assert [one.round_index for one in made.rounds] == [0]
    if with_parent:
        assert ids(found[id(logs[1])]) == [named("p1")]
        assert len(found[id(logs[1])].rounds) == 2


def test_subagents_are_marked_and_keyed_by_themselves() -> None:
    made = read(parent(), own(history(Rollout(CHILD, at=1000, **FORKED[2]), 1000)))
    assert [[call.is_subagent for one in log.rounds for call in one.calls] for log in made] == [[False], [True]]
    assert len({one.session_id for log in made for one in log.rounds}) == 2


def test_a_subagent_without_a_history_keeps_its_first_turn() -> None:
    made = read(parent(), own(Rollout(CHILD, at=1000, **FORKED[1])))[1]
    assert (ids(made), made.left_out) == ([named("c1")], {})


def test_a_turn_as_old_as_its_log_is_its_own() -> None:
    made = read(own(history(Rollout(CHILD, at=1000, forked_from_id=PARENT), 1000), timed_id(1000, 9)))[0]
    assert (ids(made), made.left_out) == ([named("c1")], {HISTORY: 1})


def test_a_call_that_the_parent_has_is_the_parent_s_even_in_an_own_turn() -> None:
    child = Rollout(CHILD, at=1000, forked_from_id=PARENT).turn(1001, NEW_TURN).call(1001, "p1", cmd="ls")
    child.out(1001, "p1", exited(1)).call(1002, "c1", cmd="ls").out(1003, "c1", exited(1)).used(1004)
    made = read(parent(), child)[1]
    assert (ids(made), made.left_out, made.counts) == ([named("c1")], {HISTORY: 1}, {"calls": 2, "results": 2})


def test_the_parent_s_header_behind_the_own_one_tells_a_fork_too() -> None:
    made = read(own(history(Rollout(CHILD, at=1000), 1000)))[0]
    assert (ids(made), made.left_out) == ([named("c1")], {HISTORY: 1})


def test_what_stands_before_the_first_turn_of_a_log_that_is_no_fork_is_its_own() -> None:
    log = (
        Rollout(CHILD, at=1000).prompt(1000.5).call(1000.6, "c0", cmd="ls").out(1000.7, "c0", exited(0.1)).used(1000.8)
    )
    assert ids(read(own(log))[0]) == [named("c0"), named("c1")]


def test_ids_without_times_need_the_parent_s_log() -> None:
    for line in (child := own(history(Rollout("child", at=1000, forked_from_id="parent"), 1000, "old"), "new")).lines:
        if line["payload"].get("id") == PARENT:
            line["payload"]["id"] = "parent"
    old = parent("old")
    old.lines[0]["payload"]["id"] = "parent"
    made = read(child, old)
    assert (ids(made[0]), ids(made[1])) == ([named("c1")], [named("p1")])
    assert [kinds(one.events)[0] for one in made[0].rounds] == ["user_message"]
    alone = read(child)[0]
    assert ids(alone) == [named("p1"), named("c1")]  # nothing tells the two apart: nothing is thrown away


def test_many_lines_at_one_moment_alone_are_no_history() -> None:
    log = Rollout("thread-b", at=1000).turn(1000, "t")
    for place in range(20):
        log.call(1000, f"c{place}", cmd="ls").out(1000, f"c{place}", exited(0)).used(1000)
    assert len(ids(read(log)[0])) == 20


def test_a_fork_that_did_nothing_has_nothing() -> None:
    child = history(Rollout(CHILD, at=1000, forked_from_id=PARENT), 1000)
    for order in ([child], [child, parent()]):
        made = read(*order)[0]
        assert (made.rounds, made.left_out) == ([], {HISTORY: 1})


def test_a_history_with_two_turns_and_a_fork_of_a_fork() -> None:
    second = timed_id(2000)
    turn = timed_id(2001, 1)
    grandchild = history(Rollout(second, at=2000, forked_from_id=CHILD), 0)
    grandchild.add(own(Rollout(CHILD, at=1000, forked_from_id=PARENT)))
    grandchild.turn(2001, turn).call(2002, "g1", cmd="ls").out(2003, "g1", exited(1)).used(2004)
    child = own(history(Rollout(CHILD, at=1000, forked_from_id=PARENT), 0))
    for order in permutations([(0, parent()), (1, child), (2, grandchild)]):
        made = dict(zip([place for place, _ in order], read(*[log for _, log in order]), strict=True))
        assert [ids(made[place]) for place in range(3)] == [[named("p1")], [named("c1")], [named("g1")]]


def test_ordinals_tell_where_the_own_history_starts() -> None:
    log = Rollout(CHILD, at=1000, parent_thread_id=PARENT, subagent_history_start_ordinal=5)
    history(log, 1000, NEW_TURN)  # turns with new ids: only the ordinals tell
    own(log)
    first_own = next(
        i for i, line in enumerate(log.lines) if line["timestamp"] == Rollout(at=1001).lines[0]["timestamp"]
    )
    for place, line in enumerate(log.lines):
        line["ordinal"] = 5 + place - first_own if place >= first_own else min(place, 4)
    made = read(log)[0]
    assert (ids(made), made.left_out) == ([named("c1")], {HISTORY: 1})


def test_the_first_ordinal_of_the_own_history_is_its_own() -> None:
    log = Rollout(CHILD, at=1000, parent_thread_id=PARENT, subagent_history_start_ordinal=7)
    log.call(1000, "p8", cmd="ls").call(1001, "c1", cmd="ls").used(1002)
    for line, ordinal in zip(log.lines, (0, 6, 7, 8), strict=True):
        line["ordinal"] = ordinal
    assert ids(read(log)[0]) == [named("c1")]


def test_a_history_that_is_only_referred_to_takes_nothing_away() -> None:
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 40}
    log = own(Rollout(CHILD, at=1000, history_mode="paginated", history_base=base))
    for place, line in enumerate(log.lines):
        line["ordinal"] = place
    assert ids(read(log, parent())[0]) == [named("c1")]


def test_a_header_repeated_at_every_resume_opens_no_session() -> None:
    log = parent()
    log.header(PARENT, at=5000).turn(5001, timed_id(5001)).call(5002, "p2", cmd="ls").out(5003, "p2", exited(1)).used(
        5004
    )
    log.header(PARENT, at=9000).says(9001).used(9002)
    made = read(log)[0]
    assert len({one.session_id for one in made.rounds}) == 1
    assert [one.round_index for one in made.rounds] == [0, 1, 2, 3]
    assert made.left_out == {}


def test_a_log_without_a_header_is_its_own_session() -> None:
    log = parent()
    del log.lines[0]
    assert {one.session_id for one in read(log)[0].rounds} == {"codex:log0"}


def test_a_copied_log_counts_once() -> None:
    made = read(parent(), parent())
    assert [len(log.rounds) for log in made] == [2, 0]
    assert made[1].left_out == {COPIES: 1}
    assert made[1].counts == {"calls": 1, "results": 1, "rounds that another log has": 2}


@pytest.mark.parametrize("n_lines", range(1, 8))
@pytest.mark.parametrize("whole_first", [True, False])
def test_a_shorter_copy_takes_nothing_from_the_whole_log(n_lines: int, whole_first: bool) -> None:
    short = b"".join(parent().data.splitlines(keepends=True)[:n_lines])
    (expected,) = read(parent())
    made = read(*([parent(), short] if whole_first else [short, parent()]))
    whole, copy = made if whole_first else made[::-1]
    assert whole.rounds == expected.rounds
    assert copy.rounds == []


def test_a_session_that_goes_on_in_a_second_log_is_numbered_on() -> None:
    more = Rollout(PARENT, at=0).turn(600, timed_id(600)).call(601, "p9", cmd="ls").out(602, "p9", exited(1)).used(603)
    made = read(parent(), more)
    assert [[one.round_index for one in log.rounds] for log in made] == [[0, 1], [2]]


def test_copies_in_a_log_that_names_no_parent_are_told_by_id_and_time() -> None:
    other = own(Rollout("thread-z", at=0).add(Rollout().add(parent())), "new")
    del other.lines[1:3]  # the headers of the copy
    made = read(parent(), other)
    assert ids(made[1]) == [named("c1")]
    assert made[1].left_out == {COPIES: 1}
    assert [len(log.rounds) for log in made] == [2, 1]


def test_a_round_of_which_every_call_is_a_copy_is_one() -> None:
    other = Rollout("thread-z").turn(0, "new").thinks(1).call(2, "p1", cmd="ls").out(3, "p1", exited(1)).used(4)
    made = read(parent(), other)[1]
    assert (made.rounds, made.left_out) == ([], {COPIES: 1})


def test_calls_that_are_left_in_a_round_are_numbered_anew() -> None:
    other = Rollout("thread-z").turn(0, "new").call(1, "x", cmd="ls").call(2, "p1", cmd="ls").call(2.5, "y", cmd="ls")
    other.out(3, "x", exited(1)).out(3, "p1", exited(1)).out(3, "y", exited(1)).used(4)
    (made,) = read(parent(), other)[1].rounds
    assert [call.id for call in made.calls] == [named("x"), named("y")]
    called = [(event.call_id, event.tool_index) for event in made.events if event.type == "tool_call"]
    assert called == [(named("x"), 0), (named("y"), 1)]
    assert [event.call_id for event in made.events if event.type == "tool_result"] == [named("x"), named("y")]


def test_a_call_repeated_in_its_own_log_counts_once() -> None:
    log = parent()
    log.lines.insert(5, log.lines[3])
    made = read(log)[0]
    assert (ids(made), made.left_out) == ([named("p1")], {REPEATED: 1})


def test_an_id_that_was_replaced_by_one_for_all_is_no_key() -> None:
    log = Rollout().turn(0).call(1, "REDACTED", cmd="ls").out(2, "REDACTED", exited(1)).used(3)
    log.call(4, "REDACTED", cmd="ls").out(9, "REDACTED", exited(5)).used(10)
    other = Rollout("thread-b").turn(20).call(21, "REDACTED", cmd="ls").out(23, "REDACTED", exited(2)).used(24)
    made = read(log, other)
    calls = [call for one in made for r in one.rounds for call in r.calls]
    assert [((call.result_us or 0) - call.emitted_us) / 1e6 for call in calls] == [1, 5, 2]


def test_a_false_start_is_not_decided_by_a_repeated_history() -> None:
    child = Rollout(CHILD, at=1000, forked_from_id=PARENT).turn(1000, OLD_TURN)
    for place in range(9):
        child.call(1000, f"h{place}", cmd="ls").out(1000, f"h{place}", exited(4)).used(1000)
    (call,) = (call for made in read(own(child))[0].rounds for call in made.calls)
    assert call.start_kind == "emission"
