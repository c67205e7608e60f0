"""Copies in Claude Code logs: every call, message and token count once, whatever was copied where."""

from __future__ import annotations

import copy
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.logs.claude_driver import (
    SESSION,
    Line,
    Read,
    answers,
    asks,
    call_id,
    calls,
    microseconds,
    nested,
    read,
    says,
    session_id,
    tool_use,
    usage,
)
from tracestat.ingest.logs.claude_rounds import ELSEWHERE, HERE, NESTED

FORK = "3d0f7a52-0000-4000-8000-00000000f04c"
TEXT = {"type": "text", "text": "a pear"}


def moved(lines: list[Line], session: str = FORK) -> list[Line]:
    """Give the same lines as another session has them."""
    made = copy.deepcopy(lines)
    for line in made:
        line["sessionId"] = session
    return made


def ids(made: Read) -> list[str]:
    return sorted(call.id for call in made.calls)


OLD = [
    asks(0),
    says(1, "m1", TEXT),
    calls(2, "m1", "c1"),
    answers(3, "c1"),
    says(4, "m2", TEXT, tokens=usage(1, 2, 21_000, 5)),
]


def test_a_resumed_session_has_only_what_is_new() -> None:
    new = [asks(10), calls(11, "m3", "c2"), answers(12, "c2")]
    made = read(OLD, [*moved(OLD), *moved(new)])
    assert ids(made) == sorted([call_id("c1"), call_id("c2")])
    assert made.left_out == {ELSEWHERE: 1}
    assert made.logs[1].counts["rounds left out as copies"] == 2
    assert made.logs[1].counts["calls"] == 2  # copies are understood too
    assert [(r.session_id, r.round_index) for r in made.rounds] == [
        (session_id(SESSION), 0),
        (session_id(SESSION), 1),
        (session_id(FORK), 0),
    ]
    assert [event.type for event in made.rounds[2].events] == ["user_message", "tool_call"]


def test_messages_without_calls_are_copies_too() -> None:
    made = read(OLD, OLD, OLD)
    assert [len(log.rounds) for log in made.logs] == [2, 0, 0]
    assert sum(r.output_tokens or 0 for r in made.rounds) == 45


def test_a_branched_session_has_every_message_twice() -> None:
    twice = [line for old, new in zip(OLD, moved(OLD), strict=True) for line in (old, {**new, "forkedFrom": {}})]
    made = read(twice)
    assert made.left_out == {HERE: 1}
    once = read(OLD)
    assert [r.events for r in made.rounds] == [r.events for r in once.rounds]
    assert read([*OLD, *OLD]).rounds == once.rounds


def test_a_branched_session_that_goes_on_is_not_told_everything_again() -> None:
    new = [answers(10, "c1"), asks(11), says(12, "m3", TEXT, tokens=usage(1, 2, 22_000, 5))]
    made = read([*OLD, *OLD, *moved(OLD), *new])
    assert [event.time_us for event in made.rounds[-1].events] == [microseconds(at) for at in (10, 11, 12)]


def test_of_several_results_the_earliest_counts() -> None:
    for order in ([3, 9], [9, 3]):
        made = read([calls(2, "m1", "c1"), *(answers(at, "c1") for at in order)])
        assert made.call("c1").result_us == microseconds(3)
    made = read([calls(2, "m1", "c1")], [answers(9, "c1")], [answers(3, "c1")])
    assert made.call("c1").result_us == microseconds(3)


def test_the_copy_with_a_result_is_kept() -> None:
    cut = OLD[:3]
    for files in ([cut, moved(OLD)], [moved(OLD), cut]):
        made = read(*files)
        assert made.call("c1").result_us == microseconds(3)
        assert made.left_out == {ELSEWHERE: 1}
        assert len(made.rounds) == 2


def test_of_two_calls_each_copy_has_one_result() -> None:
    both = says(1, "m1", tool_use("c1"), tool_use("c2"))
    first, second = [both, answers(2, "c1")], [both, answers(3, "c2")]
    made = read(first, second)
    assert made.call("c1").result_us == microseconds(2)
    assert made.call("c2").result_us == microseconds(3)
    assert made.left_out == {ELSEWHERE: 2}
    assert [r.output_tokens for r in made.rounds] == [40, None]  # the tokens of one message are told once


def test_a_result_in_another_file_joins_its_call() -> None:
    made = read([calls(1, "m1", "c1")], [answers(5, "c1"), answers(6, "nobody")])
    assert made.call("c1").result_us == microseconds(5)
    assert made.logs[1].counts == {
        "calls": 0,
        "results": 2,
        "results of calls in another log": 1,
        "results without a call": 1,
    }


AGENT = [calls(21, "n1", "k1", "Grep"), answers(22, "k1"), calls(23, "n2", "k2", "Read"), answers(24, "k2")]
OWN_FILE = [{**line, "isSidechain": True, "agentId": "a77"} for line in AGENT]


def test_nested_steps_and_the_file_of_the_sub_agent_are_one() -> None:
    parent = [calls(20, "m1", "toolu_task", "Task"), *(nested(30, line) for line in AGENT), answers(40, "toolu_task")]
    for files in ([parent, OWN_FILE], [OWN_FILE, parent]):
        made = read(*files)
        assert ids(made) == sorted(map(call_id, ("toolu_task", "k1", "k2")))
        assert made.left_out == {NESTED: 2}
        assert made.call("k1").is_subagent
        assert not made.call("toolu_task").is_subagent


def test_nested_steps_stamped_by_another_clock_are_copies_still() -> None:
    late = [nested(30, {**line, "timestamp": "2026-02-01T10:00:29.500Z"}) for line in AGENT]
    made = read([calls(20, "m1", "toolu_task", "Task"), *late], OWN_FILE)
    assert made.call("k1").emitted_us == microseconds(21)
    assert made.left_out == {NESTED: 2}


def test_steps_that_only_the_parent_has_are_kept() -> None:
    made = read([nested(30, line) for line in AGENT], OWN_FILE[:2])
    assert ids(made) == sorted(map(call_id, ("k1", "k2")))
    assert made.call("k2").result_us == microseconds(24)
    assert made.left_out == {NESTED: 1}
    assert len({r.session_id for r in made.rounds}) == 1


def test_ids_replaced_by_a_word_are_no_key() -> None:
    lines = [
        calls(1, "REDACTED", "REDACTED", "Read", tokens=usage(1, 100, 1000)),
        answers(2, "REDACTED"),
        calls(3, "REDACTED", "REDACTED", "Edit", tokens=usage(1, 200, 1100)),
        answers(9, "REDACTED"),
        says(10, "REDACTED", TEXT, tokens=usage(1, 50, 1300)),
    ]
    made = read(lines)
    assert len(made.rounds) == 3
    assert len(made.calls) == len(set(ids(made))) == 2
    assert [call.result_us for call in made.calls] == [None, None]  # which is whose cannot be told
    assert sum(r.newly_append_tokens or 0 for r in made.rounds) == 353
    assert read(lines, lines).rounds == made.rounds


def test_a_word_for_an_id_is_told_apart_by_what_the_model_was_given() -> None:
    growing = [says(i, "REDACTED", TEXT, tokens=usage(1, 100, 1000 * (i + 1))) for i in range(3)]
    made = read(growing, moved(growing, "another session"))
    assert [r.prefix_tokens for r in made.rounds] == [1000, 2000, 3000] * 2
    # an id that is one may be given more while it answers, as with tools that run on the server
    (whole,) = read([{**line, "message": {**line["message"], "id": "msg_1"}} for line in growing]).rounds
    assert whole.prefix_tokens == 3000


def test_nested_calls_under_a_word_are_not_taken_for_copies() -> None:
    own = [
        {**calls(at, "n1", "REDACTED", tool), "isSidechain": True, "agentId": "a77"}
        for at, tool in ((1, "Read"), (2, "Edit"))
    ]
    made = read([nested(4, calls(3, "n1", "REDACTED", "Grep"))], own)
    assert len(made.calls) == 3


def test_one_id_under_two_names_is_no_key() -> None:
    made = read([calls(1, "m1", "x", "Read"), answers(2, "x")], [calls(1, "m2", "x", "Edit"), answers(4, "x")])
    assert len(made.calls) == 2
    assert [call.result_us for call in made.calls] == [None, None]


# --- whatever is copied, cut and reordered ------------------------------------------------------------------------


@st.composite
def sessions(draw: st.DrawFn) -> list[Line]:
    """Make a session: messages of several calls, some without a result, results in any order."""
    lines: list[Line] = []
    at = 0.0
    for message in range(draw(st.integers(1, 5))):
        names = [f"c{message}.{i}" for i in range(draw(st.integers(0, 3)))]
        lines.append(asks(at, "go on"))
        lines.append(says(at + 1, f"m{message}", TEXT))
        lines += [calls(at + 2 + i / 8, f"m{message}", name) for i, name in enumerate(names)]
        answered = draw(st.permutations(draw(st.lists(st.sampled_from(names), unique=True)) if names else []))
        lines += [answers(at + 4 + i / 8, name) for i, name in enumerate(answered)]
        at += 10
    return lines


def facts(made: Read) -> set[tuple[str, int, int | None]]:
    return {(call.id, call.emitted_us, call.result_us) for call in made.calls}


@settings(deadline=None, max_examples=20)
@given(sessions(), st.data())
def test_forks_of_a_session_add_nothing(session: list[Line], data: st.DataObject) -> None:
    once = read(session)
    cuts = data.draw(st.lists(st.integers(0, len(session)), max_size=3))
    files = data.draw(st.permutations([session, *(moved(session[:cut], f"fork {i}") for i, cut in enumerate(cuts))]))
    made = read(*files)
    assert facts(made) == facts(once)
    assert len(made.calls) == len(once.calls)
    assert sum(made.left_out.values()) == made.counts["calls"] - len(made.calls)
    tokens = Counter(r.round_id for r in made.rounds if r.output_tokens is not None)
    assert set(tokens.values()) == {1}
    assert set(tokens) == {r.round_id for r in once.rounds}
    for r in made.rounds:
        assert [e.call_id for e in r.events if e.type == "tool_call"] == [call.id for call in r.calls]


@settings(deadline=None, max_examples=20)
@given(sessions(), st.data())
def test_a_session_cut_into_files_loses_no_result(session: list[Line], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(session)))
    assert facts(read(session[:cut], session[cut:])) == facts(read(session))


@settings(deadline=None, max_examples=20)
@given(sessions(), st.data())
def test_results_pair_by_id_whatever_the_order_of_lines(session: list[Line], data: st.DataObject) -> None:
    assert facts(read(data.draw(st.permutations(session)))) == facts(read(session))


@settings(deadline=None, max_examples=13)
@given(st.lists(sessions(), min_size=1, max_size=3))
def test_sessions_that_share_nothing_do_not_touch_each_other(several: list[list[Line]]) -> None:
    apart = [
        [
            *moved(
                [{**line, "message": _renamed(line["message"], str(i))} for line in session],
                f"session {i}",
            )
        ]
        for i, session in enumerate(several)
    ]
    made = read(*apart)
    assert made.left_out == {}
    assert [log.rounds for log in made.logs] == [read(session).rounds for session in apart]


def _renamed(message: Line, mark: str) -> Line:
    """Give a message with ids of its own."""
    made = copy.deepcopy(message)
    if "id" in made:
        made["id"] += mark
    for block in made["content"] if isinstance(made["content"], list) else ():
        for key in ("id", "tool_use_id"):
            if key in block:
                block[key] += mark
    return made
