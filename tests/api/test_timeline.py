"""One session laid out in time: known steps, order, sub-agents, jobs, and what is promised of every session."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracestat
from tests.traces import BASE, Row, call, event, round_
from tracestat.errors import UsageError
from tracestat.results import Bar, TimelineResult

Make = Callable[[Iterable[Row]], Any]


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


def at(moment: dt.datetime) -> float:
    return (moment - BASE).total_seconds()


def told(bars: Iterable[Bar]) -> list[tuple[str, float, float]]:
    return [(bar.state, at(bar.started_at), at(bar.ended_at)) for bar in bars]


def on(result: TimelineResult, lane: str) -> list[tuple[int, str, float, float]]:
    return [(b.track, b.state, at(b.started_at), at(b.ended_at)) for b in result.bars if b.lane == lane]


def promised(result: TimelineResult) -> None:
    """Check what is true of every session."""
    steps = list(result.steps)
    for step, following in itertools.pairwise(steps):
        assert step.started_at <= step.ended_at <= following.started_at
    span = dt.timedelta(seconds=result.session.span_seconds)
    assert sum((step.ended_at - step.started_at for step in steps), dt.timedelta()) <= span
    assert sum(total.seconds for total in result.totals) <= result.session.span_seconds + 1e-6
    assert sum(total.n for total in result.totals) == len(steps)
    tracks: dict[tuple[str, int], list[Bar]] = {}
    for bar in result.bars:
        tracks.setdefault((bar.lane, bar.track), []).append(bar)
    for bars in tracks.values():
        for bar, following in itertools.pairwise(bars):
            assert bar.ended_at <= following.started_at
    for bar in (*steps, *result.bars):
        assert bar.seconds == (bar.ended_at - bar.started_at) / dt.timedelta(seconds=1) >= 0
        assert result.session.started_at is not None
        assert bar.elapsed == pytest.approx((bar.started_at - result.session.started_at).total_seconds())


# a user asks at 0, is answered at 5, asks again at 60; two tools run side by side from 64 and 65
PLAIN = [
    round_("s", 0, text=5, events=[event("user_message", 0)]),
    round_(
        "s",
        1,
        [call("a", 64, 70), call("b", 65, 90, "Read", index=1)],
        text=62,
        events=[event("user_message", 60)],
    ),
    round_("s", 2, text=95, events=[event("tool_result", 90), event("tool_result", 70)]),
]


def test_the_steps_of_a_known_session(store_of: Make) -> None:
    result = tracestat.session_timeline(store_of(PLAIN), "claude:s")
    assert told(result.steps) == [
        ("model", 0, 5), ("human", 5, 60), ("model", 60, 65), ("tool", 65, 90), ("model", 90, 95),
    ]  # fmt: skip
    assert on(result, "tool") == [(0, "tool", 64, 70), (1, "tool", 65, 90)]
    assert on(result, "model") == [(0, "model", 0, 5), (0, "model", 60, 65), (0, "model", 90, 95)]
    assert on(result, "wait") == [(0, "human", 5, 60)]
    assert {total.state: (total.n, total.seconds) for total in result.totals if total.n} == {
        "model": (3, 15.0), "tool": (1, 25.0), "human": (1, 55.0),
    }  # fmt: skip
    assert result.session.span_seconds == 95
    assert (result.session.rounds, result.session.calls) == (3, 2)
    pause = result.steps[3]
    assert (pause.tool, pause.n_calls, pause.end_kind, pause.round_index) == ("Bash", 2, "completed", 1)
    assert (result.steps[0].input_tokens, result.steps[0].output_tokens) == (1000, 24)
    promised(result)


def test_the_order_of_lists_means_nothing(store_of: Make) -> None:
    mixed = [{**row, "timing_events": row["timing_events"][::-1]} for row in PLAIN]
    one, other = (tracestat.session_timeline(store_of(rows), "claude:s") for rows in (PLAIN, mixed))
    assert (one.steps, one.bars) == (other.steps, other.bars)


def test_results_that_a_round_lists_as_its_own_input_begin_no_earlier_answer(store_of: Make) -> None:
    rows = [
        # as some Codex versions write: the round's own result stands before its call
        round_("x", 0, [call("a", 4, 30, "exec_command")], provider="codex", events=[
            event("user_message", 0), event("tool_result", 30), event("usage_report", 31)]),
        round_("x", 1, text=40, provider="codex"),
    ]  # fmt: skip
    result = tracestat.session_timeline(store_of(rows), "codex:x")
    assert told(result.steps) == [("model", 0, 4), ("tool", 4, 30), ("model", 30, 40)]


def test_an_answer_without_an_input_of_its_own_is_drawn_from_its_first_output(store_of: Make) -> None:
    rows = [round_("s", 0, text=5, events=[event("user_message", 0)]), round_("s", 1, text=50)]
    result = tracestat.session_timeline(store_of(rows), "claude:s")
    assert told(result.steps) == [("model", 0, 5), ("model", 50, 50)]
    assert [step.start_known for step in result.steps] == [True, False]
    assert "not known" in repr(result)


def test_polls_people_and_agents_are_told_apart(store_of: Make) -> None:
    tools = ["write_stdin", "AskUserQuestion", "Task", "Bash"]
    rows = [
        round_(
            "s", n, [call(f"c{n}", 10 * n + 2, 10 * n + 9, tool)], events=[event("user_message", 0)] if n == 0 else ()
        )
        for n, tool in enumerate(tools)
    ]
    result = tracestat.session_timeline(store_of(rows), "claude:s")
    assert [step.state for step in result.steps if step.tool] == ["poll", "human", "agent", "tool"]
    assert on(result, "wait") == [(0, "human", 12, 19)]


def test_a_call_without_a_result_lasts_until_the_next_stamp_and_says_so(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 5, None)], events=[event("user_message", 0)]),
        round_("s", 1, text=40, events=[event("user_message", 30)]),
    ]
    result = tracestat.session_timeline(store_of(rows), "claude:s")
    assert told(result.steps) == [("model", 0, 5), ("tool", 5, 30), ("model", 30, 40)]
    assert (result.steps[1].end_kind, result.steps[1].observed) == ("lost", False)
    assert "no result came" in repr(result)


def test_a_process_that_outlives_its_call_is_a_job(store_of: Make) -> None:
    launch = call("a", 4, 14, "exec_command", command_status="running")
    poll = call("b", 20, 26, "write_stdin", command_status="finished", continuation_of_tool_call_id="a")
    rows = [
        round_("x", 0, [launch], provider="codex", events=[event("user_message", 0)]),
        round_("x", 1, [poll], provider="codex"),
    ]
    result = tracestat.session_timeline(store_of(rows), "codex:x")
    assert on(result, "job") == [(0, "background", 14, 26)]
    assert told(result.steps)[1] == ("tool", 4, 14)
    assert result.steps[1].end_kind == "deadline"


def agent(session: str, begin: float, end: float, **more: Any) -> Row:
    return round_(session, 0, text=end, events=[event("user_message", begin)], project="p", **more)


def test_a_session_within_a_call_for_an_agent_belongs_to_it(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 5, 50, "Task")], events=[event("user_message", 0)], project="p"),
        agent("inside", 6, 49),
        agent("beside", 30, 70),
        agent("other", 10, 40, user="user_00000002"),
        {**agent("elsewhere", 10, 40), "project": "q"},
    ]
    result = tracestat.session_timeline(store_of(rows), "claude:s")
    bars = [bar for bar in result.bars if bar.lane == "agent"]
    assert [(bar.session, at(bar.started_at), at(bar.ended_at)) for bar in bars] == [("claude:inside", 6, 49)]


def test_a_sub_agent_of_two_possible_parents_is_not_drawn_but_told(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 5, 50, "Task")], events=[event("user_message", 0)], project="p"),
        round_("t", 0, [call("b", 4, 60, "Agent")], events=[event("user_message", 1)], project="p"),
        agent("inside", 6, 49),
    ]
    result = tracestat.session_timeline(store_of(rows), "claude:s")
    assert not [bar for bar in result.bars if bar.lane == "agent"]
    assert any("may belong to another session" in note for note in result.head.notes)


def test_only_what_began_in_the_chosen_time_is_shown(store_of: Make) -> None:
    trace = store_of(PLAIN)
    result = tracestat.session_timeline(trace, "s", since="2026-03-02T12:01", until="2026-03-02T12:01:30", tz="UTC")
    assert told(result.steps) == [("model", 60, 65), ("tool", 65, 90)]
    assert (result.session.span_seconds, result.steps[0].elapsed) == (30, 60)
    promised(result)
    nothing = tracestat.session_timeline(trace, "s", since="2027-01-01", tz="UTC")
    assert (nothing.steps, nothing.bars, nothing.session.shown_from) == ((), (), None)
    assert "none began in this time" in repr(nothing)
    assert nothing.to_frame().height == 0


def test_a_session_is_named_by_its_id_a_begin_of_it_or_a_word(store_of: Make) -> None:
    rows = [
        round_("abc1", 0, text=1, events=[event("user_message", 0)]),
        round_("abc2", 0, text=900, events=[event("user_message", 800)]),
        round_("b", 0, text=500, events=[event("user_message", 0)]),
        round_("b", 0, text=7, user="user_00000002", events=[event("user_message", 0)]),
    ]
    trace = store_of(rows)

    def named(words: str) -> tuple[str | None, str]:
        facts = tracestat.session_timeline(trace, words).session
        return facts.developer, facts.session

    for words in ("claude:abc1", "abc1", "user_00000001/claude:abc1"):
        assert named(words)[1] == "claude:abc1"
    assert named("latest")[1] == "claude:abc2"
    assert named("longest") == ("user_00000001", "claude:b")
    assert named("user_00000002/claude:b") == ("user_00000002", "claude:b")
    with pytest.raises(UsageError, match=r"2 sessions begin so \(claude:abc1, claude:abc2\).*tracestat keys"):
        named("abc")
    with pytest.raises(UsageError, match="2 developers have it; write one of user_00000001/claude:b"):
        named("claude:b")
    for words in ("nowhere", "", "ABC1", "%", "abc1'"):
        with pytest.raises(UsageError, match=r"not in this trace; `tracestat keys` lists sessions"):
            named(words)


def test_an_id_that_is_the_begin_of_another_one_is_meant_itself(store_of: Make) -> None:
    rows = [round_(name, 0, text=1, events=[event("user_message", 0)]) for name in ("ab", "abc")]
    assert tracestat.session_timeline(store_of(rows), "ab").session.session == "claude:ab"


def test_copies_within_a_session_count_once(store_of: Make) -> None:
    rows = [
        round_("s", 0, [call("a", 5, 20)], events=[event("user_message", 0)]),
        round_("s", 1, [call("a", 5, 20)], events=[event("user_message", 0)], round_id="again"),
    ]
    result = tracestat.session_timeline(store_of(rows), "s")
    assert on(result, "tool") == [(0, "tool", 5, 20)]
    assert [step for step in told(result.steps) if step[1] < step[2]] == [("model", 0, 5), ("tool", 5, 20)]
    assert (result.head.excluded["copies"], result.head.excluded["covered"]) == (1, 1)
    assert "1 copy, 1 step within another" in repr(result)
    promised(result)


@pytest.mark.full
def test_every_session_of_the_sample_keeps_its_promises(sample: tracestat.Trace) -> None:
    found = sample.sql('SELECT DISTINCT "user" AS d, session_id AS s FROM rounds ORDER BY s').rows()
    for developer, session in found[::5]:
        result = tracestat.session_timeline(sample, f"{developer}/{session}")
        promised(result)
        assert result.head.synthetic
        # in the sample somebody is at work or waits all the time
        assert sum(total.seconds for total in result.totals) > 0.5 * result.session.span_seconds


@pytest.mark.full
def test_sessions_of_the_real_trace_keep_their_promises(real_trace: Any) -> None:
    with tracestat.open(real_trace) as trace:
        found = trace.sql('SELECT DISTINCT "user" AS d, session_id AS s FROM rounds ORDER BY s').rows()
        for developer, session in found[::25]:
            promised(tracestat.session_timeline(trace, f"{developer}/{session}"))


moments = st.integers(0, 40).map(float)
calls = st.lists(
    st.tuples(moments, st.none() | moments, st.sampled_from(["Bash", "Task", "AskUserQuestion"])), max_size=3
)
wild = st.lists(st.tuples(calls, st.none() | moments, st.lists(moments, max_size=2)), min_size=1, max_size=6)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wild)
@pytest.mark.full
def test_no_order_of_stamps_breaks_a_promise(store_of: Make, rows: list[Any]) -> None:
    made = [
        round_(
            "s",
            index,
            [call(f"{index}-{n}", a, b, tool, index=n) for n, (a, b, tool) in enumerate(some)],
            text=text if some or messages or text is not None else 0.0,
            events=[event("user_message", moment) for moment in messages],
        )
        for index, (some, text, messages) in enumerate(rows)
    ]
    promised(tracestat.session_timeline(store_of(made), "claude:s"))
