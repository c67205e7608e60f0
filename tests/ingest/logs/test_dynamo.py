from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.rounds_from import NAMES, Objects, calls_of, kept, read, rounds_of, seconds
from tracestat.ingest.logs.dynamo import DYNAMO
from tracestat.ingest.logs.format import UnreadableError
from tracestat.ingest.logs.model import Call

Json = dict[str, Any]
T0 = 1_780_000_000_000


def row(kind: str, at: float | None, *, session: str | None = "run-1", parent: str | None = None, **more: Any) -> Json:
    made: Json = {"schema": "dynamo.request.trace.v1", "event_type": kind, "event_source": "dynamo"}
    if at is not None:
        made["event_time_unix_ms"] = T0 + at
    if session is not None:
        made["agent_context"] = {"session_id": session} | ({} if parent is None else {"parent_session_id": parent})
    return made | more


def request(name: str, received: float, ended: float | None, *asked: str, listed: bool = True, **more: Any) -> Json:
    told: Json = {"request_id": name, "request_received_ms": T0 + received, "model": "qwen3-coder"}
    told |= {"input_tokens": 900, "cached_tokens": 700, "output_tokens": 40}
    if listed:
        calls = [{"choice_index": 0, "tool_call_index": i, "id": a, "name": "grep"} for i, a in enumerate(asked)]
        told["finish_reason_metadata"] = {"finish_reason": "stop"} | ({"tool_calls": calls} if calls else {})
    return row("request_end", ended, request=told, **more)


def tool(name: str, at: float | None, kind: str = "tool_end", *, session: str = "run-1", **told: Any) -> Json:
    for key in ("started_at_unix_ms", "ended_at_unix_ms"):
        if key in told:
            told[key] += T0
    return row(kind, at, session=session, tool={"tool_call_id": name, "tool_class": "grep", **told})


def us(ms: float) -> int:
    return round((T0 + ms) * 1000)


def only(*objects: Json) -> Call:
    (call,) = calls_of(rounds_of(DYNAMO, objects))
    return call


def test_a_listed_call_is_timed_by_its_tool_event() -> None:
    call = only(
        request("r1", 0, 5_000, "c1"),
        tool("c1", 5_912, started_at_unix_ms=5_100, ended_at_unix_ms=5_912, duration_ms=811.6, status="succeeded"),
        request("r2", 6_000, 9_000),
    )
    # emitted when the answer was complete, started 0.1 s later; the duration is finer than the stamps
    assert (call.emitted_us, call.result_us, call.approval_seconds) == (us(5_000), us(5_911.6), 0.1)
    assert (call.start_kind, call.status, call.is_error, call.reported_ms) == ("real", "finished", False, 812)
    assert call.tool == NAMES.tool("grep")
    assert call.is_subagent is False


def test_a_request_is_a_round() -> None:
    first, second = rounds_of(DYNAMO, [request("r1", 0, 5_000, "c1"), request("r2", 6_000, 9_000)])
    assert (first.provider, first.model, first.round_index, second.round_index) == ("dynamo", "qwen3-coder", 0, 1)
    assert (first.input_tokens_total, first.prefix_tokens, first.newly_append_tokens) == (900, 700, 200)
    assert first.output_tokens == 40
    assert [(e.type, e.time_us, e.call_id) for e in first.events] == [("tool_call", us(5_000), first.calls[0].id)]
    assert [(e.type, e.time_us) for e in second.events] == [("tool_result", us(6_000)), ("text", us(9_000))]


def test_without_tool_events_a_wait_lasts_until_the_next_request_of_the_session() -> None:
    first, *_ = rounds_of(
        DYNAMO,
        [
            request("r1", 0, 5_000, "c1", "c2"),
            request("x1", 5_500, 5_600, session="another"),
            request("r0", 4_000, 8_000),  # was there before the wait began: what came back is not in it
            request("r2", 7_250, 9_000),
        ],
    )
    assert [(c.start_kind, c.status, c.reported_ms, c.approval_seconds) for c in first.calls] == [
        ("emission", None, None, None)
    ] * 2
    assert [seconds(c) for c in first.calls] == [2.25, 2.25]
    assert {c.parallel_group for c in first.calls} == {0}


def test_a_request_of_no_length_does_not_end_its_own_wait() -> None:
    assert only(request("r1", 5_000, 5_000, "c1")).result_us is None


def test_a_wait_that_nothing_ends_is_open() -> None:
    assert only(request("r1", 0, 5_000, "c1")).result_us is None


@pytest.mark.parametrize(
    ("told", "start", "end", "kind"),
    [
        ({"started_at_unix_ms": 5_100, "ended_at_unix_ms": 5_900}, 5_100, 5_900, "real"),
        ({"started_at_unix_ms": 5_100}, 5_100, 6_000, "real"),
        ({"duration_ms": 250.25, "ended_at_unix_ms": 5_900}, 5_649.75, 5_900, "end-minus-reported"),
        ({"duration_ms": 250.25}, 5_749.75, 6_000, "end-minus-reported"),
        ({"duration_ms": -3, "started_at_unix_ms": 5_100, "ended_at_unix_ms": 5_900}, 5_100, 5_900, "real"),
        ({"ended_at_unix_ms": 5_900}, 5_000, 5_900, "emission"),
    ],
)
def test_every_way_to_tell_an_interval(told: Json, start: float, end: float, kind: str) -> None:
    call = only(request("r1", 0, 5_000, "c1"), tool("c1", 6_000, **told))
    assert (call.result_us, call.start_kind) == (us(end), kind)
    assert call.emitted_us == us(5_000)
    assert (call.approval_seconds or 0) == pytest.approx((start - 5_000) / 1000)


def test_a_tool_start_gives_the_start_that_its_end_lacks() -> None:
    call = only(request("r1", 0, 5_000, "c1"), tool("c1", 5_200, "tool_start"), tool("c1", 6_000))
    assert (call.approval_seconds, call.result_us) == (0.2, us(6_000))


@pytest.mark.parametrize(
    ("status", "kind", "ours", "is_error"),
    [
        ("succeeded", "tool_end", "finished", False),
        ("ok", "tool_end", "finished", False),
        ("success", "tool_end", "finished", False),
        ("error", "tool_end", "failed", True),
        ("failed", "tool_error", "failed", True),
        ("cancelled", "tool_end", "aborted", None),
        ("canceled", "tool_end", "aborted", None),
        ("timeout", "tool_error", "timeout", True),
        (None, "tool_error", "failed", True),
        (None, "tool_end", None, None),
        ("a word of the future", "tool_end", None, None),
    ],
)
def test_statuses_and_their_aliases(status: str | None, kind: str, ours: str | None, is_error: bool | None) -> None:
    told = {} if status is None else {"status": status}
    call = only(request("r1", 0, 5_000, "c1"), tool("c1", 6_000, kind, started_at_unix_ms=5_100, **told))
    assert (call.status, call.is_error) == (ours, is_error)


def test_a_call_that_still_runs_is_open() -> None:
    call = only(request("r1", 0, 5_000, "c1"), tool("c1", 6_000, started_at_unix_ms=5_100, status="running"))
    assert (call.result_us, call.status, call.approval_seconds) == (None, None, 0.1)


def test_a_serial_sibling_waits_for_the_one_before_it_and_not_for_a_human() -> None:
    first, *_ = rounds_of(
        DYNAMO,
        [
            request("r1", 0, 5_000, "c1", "c2"),
            tool("c1", 7_000, started_at_unix_ms=5_010, ended_at_unix_ms=7_000),
            tool("c2", 9_000, started_at_unix_ms=7_003, ended_at_unix_ms=9_000),
        ],
    )
    assert [c.approval_seconds for c in first.calls] == [0.01, 0.003]
    assert {c.emitted_us for c in first.calls} == {us(5_000)}


def test_a_tool_may_start_before_the_answer_is_complete() -> None:
    call = only(request("r1", 0, 5_000, "c1"), tool("c1", 6_000, started_at_unix_ms=4_000, ended_at_unix_ms=6_000))
    assert (call.emitted_us, call.approval_seconds) == (us(4_000), 0)


def test_a_row_without_a_list_of_calls_takes_the_tools_after_it() -> None:
    first, second = rounds_of(
        DYNAMO,
        [
            request("r1", 0, 5_000, listed=False),
            tool("c1", 6_000, started_at_unix_ms=5_100, ended_at_unix_ms=6_000),
            request("r2", 7_000, 9_000, listed=False),
        ],
    )
    assert ([len(first.calls), len(second.calls)], first.calls[0].emitted_us) == ([1, 0], us(5_000))


def test_tools_whose_request_is_lost_make_rounds_of_their_own() -> None:
    rounds = rounds_of(
        DYNAMO,
        [
            request("r1", 0, 5_000),  # listed no call
            tool("c2", 9_000, started_at_unix_ms=8_000, ended_at_unix_ms=9_000),
            tool("c1", 7_500, started_at_unix_ms=6_000, ended_at_unix_ms=7_500),
            tool("c3", 7_000, started_at_unix_ms=6_500, ended_at_unix_ms=7_000),
            request("r2", 9_500, 9_900),
        ],
    )
    assert [len(r.calls) for r in rounds] == [0, 2, 1, 0]  # c1 and c3 overlap: one request asked for them
    assert [r.round_index for r in rounds] == [0, 1, 2, 3]
    lost = rounds[1]
    assert (lost.model, lost.input_tokens_total, lost.events) == (None, None, [])
    assert [c.approval_seconds for c in lost.calls] == [None, None]
    assert [e.type for e in rounds[2].events] == ["tool_result", "tool_result"]


def test_a_session_goes_over_the_segments_of_a_trace() -> None:
    one = [request("r1", 0, 5_000, "c1"), request("z1", 0, 1_000, session="short")]
    two = [tool("c1", 6_000, started_at_unix_ms=5_100, ended_at_unix_ms=6_000), request("r2", 6_100, 7_000)]
    first, second = read(DYNAMO, one, two)
    (together,) = read(DYNAMO, [*one, *two])
    assert [r.round_id for r in first.rounds] == [NAMES.id("round", "z1")]
    assert [r.round_id for r in second.rounds] == [NAMES.id("round", "r1"), NAMES.id("round", "r2")]
    assert calls_of(second.rounds) == calls_of(together.rounds)
    assert {r.developer for r in second.rounds} == {"dev-0"}


def test_repeated_rows_are_copies() -> None:
    rows = [request("r1", 0, 5_000, "c1"), tool("c1", 6_000, started_at_unix_ms=5_100)]
    first, second = read(DYNAMO, rows, rows)
    assert len(calls_of(second.rounds)) == 1
    assert second.left_out == {"copies of calls in another log": 2}
    assert first.rounds == []


@pytest.mark.parametrize(
    ("context", "is_subagent"),
    [
        ({"agent_context": {"session_id": "s", "parent_session_id": "p"}}, True),
        ({"agent_context": {"trajectory_id": "s", "parent_trajectory_id": "p"}}, True),
        ({"agent_context": {"session_id": "run", "trajectory_id": "s"}}, False),
        ({"session_id": "s", "parent_session_id": "p"}, True),
        ({"session_id": "s"}, False),
    ],
)
def test_sessions_old_and_new(context: Json, is_subagent: bool) -> None:
    rows = [request("r1", 0, 5_000, "c1", session=None) | context, request("r2", 6_000, 7_000, session=None) | context]
    rounds = rounds_of(DYNAMO, rows)
    assert len({r.session_id for r in rounds}) == 1
    assert [c.is_subagent for c in calls_of(rounds)] == [is_subagent]


def test_trajectories_of_one_run_are_sessions_of_their_own() -> None:
    contexts: list[Json] = [{"agent_context": {"session_id": "run", "trajectory_id": name}} for name in ("a", "b")]
    rows = [request(f"r{i}", 0, 5_000, session=None) | context for i, context in enumerate(contexts)]
    assert len({r.session_id for r in rounds_of(DYNAMO, rows)}) == 2


def test_requests_without_a_session_have_no_pauses() -> None:
    (log,) = read(DYNAMO, [request("r1", 0, 5_000, "c1", session=None), request("r2", 6_000, 7_000, session=None)])
    assert log.rounds == []
    assert log.counts == {"requests without a session": 2}
    assert log.left_out == {"calls of requests without a session": 1}


def test_an_end_without_a_time_is_arrival_plus_duration() -> None:
    late = request("r1", 0, None, "c1")
    late["request"]["total_time_ms"] = 5_000.5
    assert only(late, request("r2", 6_000, 7_000)).emitted_us == us(5_000.5)


def test_a_call_without_any_time_is_left_out() -> None:
    (log,) = read(DYNAMO, [request("r1", 0, None, "c1"), request("r2", 6_000, 7_000)])
    assert (calls_of(log.rounds), log.left_out) == ([], {"calls without a time": 1})


def test_an_id_that_is_listed_again_is_another_call() -> None:
    rows = [request("r1", 0, 5_000, "c"), tool("c", 6_000, started_at_unix_ms=5_100), request("r2", 7_000, 8_000, "c")]
    timed, open_ = calls_of(rounds_of(DYNAMO, rows))
    assert (timed.result_us, open_.emitted_us, open_.result_us) == (us(6_000), us(8_000), None)


def test_what_sinks_wrap_is_the_same_row() -> None:
    row_ = request("r1", 0, 5_000, "c1")
    assert kept(DYNAMO, [{"timestamp": 12, "event": row_}]) == kept(DYNAMO, [row_])
    assert DYNAMO.recognises({"timestamp": 12, "event": row_})


def test_payloads_say_nothing_and_unknown_rows_are_counted() -> None:
    payload = row("request_payload", 1, payload={"request_id": "r", "request": {"messages": ["secret"]}})
    assert DYNAMO.facts(json.dumps(payload).encode(), NAMES).facts == []
    assert DYNAMO.facts(json.dumps(row("worker_load", 1)).encode(), NAMES).unknown == "worker_load"
    assert DYNAMO.facts(json.dumps(row("my secret plan", 1)).encode(), NAMES).unknown == "other"


@pytest.mark.parametrize(
    "damaged",
    [
        {"schema": "another.v1", "event_type": "request_end"},
        row("request_end", 1),
        row("tool_end", 1),
        row("request_end", None, request={"request_id": "secret"}),
        row("request_end", 1e300, request={"request_id": "secret"}),
    ],
)
def test_what_cannot_be_a_row_is_refused_without_its_text(damaged: Json) -> None:
    with pytest.raises(UnreadableError) as error:
        DYNAMO.facts(json.dumps(damaged).encode(), NAMES)
    assert "secret" not in str(error.value)


def test_nothing_of_the_text_is_kept() -> None:
    told = tool("secret-call", 1, started_at_unix_ms=0, error_type="secret-error", tool_name_hash="secret-hash")
    told["tool"]["tool_class"] = "secret-tool"
    asked = request("secret-request", 0, 1, "secret-call", session="secret-session")
    asked["request"] |= {"model": "secret-model", "x_request_id": "secret-x"}
    asked["agent_context"]["agent_headers"] = {"authorization": "secret-token"}
    assert b"secret" not in b"".join(kept(DYNAMO, [told, asked]))


@given(st.permutations(range(7)), st.integers(1, 6))
def test_neither_the_order_of_rows_nor_where_segments_end_matters(order: list[int], cut: int) -> None:
    rows: Objects = [
        request("r1", 0, 5_000, "c1", "c2"),
        tool("c1", 6_000, started_at_unix_ms=5_100, ended_at_unix_ms=6_000),
        tool("c2", 6_500, started_at_unix_ms=5_200, ended_at_unix_ms=6_500),
        request("r2", 7_000, 8_000, "c3"),
        request("r3", 9_000, 9_500),
        tool("c4", 12_000, started_at_unix_ms=10_000, ended_at_unix_ms=12_000),
        request("r4", 13_000, 14_000, listed=False),
    ]
    mixed = [rows[i] for i in order]
    calls = calls_of(rounds_of(DYNAMO, mixed[:cut], mixed[cut:]))
    expected = calls_of(rounds_of(DYNAMO, rows))
    assert calls == expected
    assert [seconds(c) for c in calls] == [1.0, 1.5, 1.0, 2.0]
