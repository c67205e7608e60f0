from __future__ import annotations

import copy
import gzip
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import corpus_path
from tests.ingest.logs.rounds_from import NAMES, calls_of, kept, read, rounds_of, seconds
from tracestat.ingest.logs.kvcache_tester import KVCACHE_TESTER

Json = dict[str, Any]


def request(t: float, *inputs: str, api: float | None = 2.5, think: float = 0.0, **more: Any) -> Json:
    made: Json = {"t": t, "type": "n", "model": "claude-opus-4-8", "in": 1000, "out": 50, "hash_ids": [7, 8]}
    made |= {"input_types": list(inputs), "output_types": ["text", "tool_use"], "stop": "tool_use", "think_time": think}
    return made | ({} if api is None else {"api_time": api}) | more


def document(*requests: Json, **more: Any) -> Json:
    return {"id": "trace_1", "block_size": 64, "tool_tokens": 9, "requests": list(requests), **more}


def agent(t: float, *requests: Json, **more: Any) -> Json:
    made: Json = {"t": t, "type": "subagent", "agent_id": "a1", "status": "completed", "duration_ms": 8000}
    return made | {"requests": list(requests)} | more


CONVERSATION = document(
    request(0, "text", api=2.5),
    request(10, "tool_result", api=1.25, think=8, output_types=["thinking", "tool_use"]),
    request(20, "tool_result", api=1, think=9, stop="end_turn", output_types=["text"]),
    request(90, "text", think=69, stop="end_turn", output_types=["text"]),
)


def test_a_wait_is_a_call_of_the_request_before_it() -> None:
    (log,) = read(KVCACHE_TESTER, [CONVERSATION])
    calls = calls_of(log.rounds)
    assert [len(r.calls) for r in log.rounds] == [1, 1, 0, 0]
    assert [seconds(call) for call in calls] == [7.5, 8.75]
    assert [call.reported_ms for call in calls] == [8000, 9000]
    assert {(c.tool, c.start_kind, c.status, c.is_error, c.is_subagent) for c in calls} == {
        (None, "emission", None, None, False)
    }
    assert log.counts == {"user messages": 2, "results": 2, "calls": 2}
    assert log.left_out == {}


def test_rounds_are_requests() -> None:
    rounds = rounds_of(KVCACHE_TESTER, [CONVERSATION])
    assert {(r.provider, r.model, r.input_tokens_total, r.output_tokens, r.prefix_tokens) for r in rounds} == {
        ("claude", "claude-opus-4-8", 1000, 50, None)
    }
    assert [r.round_index for r in rounds] == [0, 1, 2, 3]
    assert len({r.round_id for r in rounds}) == 4
    assert len({r.session_id for r in rounds}) == 1


def test_events_are_inputs_at_arrival_and_outputs_at_the_end() -> None:
    first, second, third, fourth = rounds_of(KVCACHE_TESTER, [CONVERSATION])
    call = first.calls[0].id
    told = [(e.type, e.time_us, e.call_id) for e in first.events]
    assert told == [("user_message", 0, None), ("text", 2_500_000, None), ("tool_call", 2_500_000, call)]
    told = [(e.type, e.time_us, e.call_id) for e in second.events]
    assert told[:2] == [("tool_result", 10_000_000, call), ("reasoning", 11_250_000, None)]
    assert [e.type for e in third.events] == ["tool_result", "text"]
    assert [e.type for e in fourth.events] == ["user_message", "text"]


def test_a_streamed_answer_that_lists_no_call_made_one_if_its_result_came() -> None:
    first, _ = rounds_of(
        KVCACHE_TESTER, [document(request(0, "text", output_types=[], stop=""), request(9, "tool_result"))]
    )
    assert [(e.type, e.call_id) for e in first.events[1:]] == [("tool_call", first.calls[0].id)]


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ([request(0, "text", api=None), request(9, "tool_result")], "a request whose end is not known"),
        ([request(0, "tool_result")], "before the trace"),
        ([request(0, "text"), request(9, "tool_result", "text")], "a person's message"),
        ([request(0, "text", api=60), request(9, "tool_result")], "still running"),
        ([request(0, "text"), {"type": "n"}, request(9, "tool_result")], "a request whose end is not known"),
    ],
)
def test_a_wait_whose_start_is_not_known_is_no_call(requests: list[Json], reason: str) -> None:
    (log,) = read(KVCACHE_TESTER, [document(*requests)])
    assert calls_of(log.rounds) == []
    ((told, n),) = log.left_out.items()
    assert reason in told
    assert n == 1


def test_whole_seconds_may_put_an_arrival_before_the_end_of_the_request() -> None:
    (call,) = calls_of(rounds_of(KVCACHE_TESTER, [document(request(0, "text", api=2.5), request(2, "tool_result"))]))
    assert seconds(call) == -0.5


def test_an_unreadable_request_does_not_take_the_others_with_it() -> None:
    (log,) = read(KVCACHE_TESTER, [document(request(0, "text"), {"t": "soon"}, request(30, "text"), request(1e300))])
    assert [r.round_index for r in log.rounds] == [0, 2]
    assert log.counts["requests that cannot be read"] == 2


def test_a_sub_agent_is_a_session_on_the_clock_of_its_parent() -> None:
    inner = agent(30, request(0, "text"), request(5, "tool_result"))
    (log,) = read(KVCACHE_TESTER, [document(request(20, "text"), inner, request(31, "tool_result"))])
    own, theirs = log.rounds[:2], log.rounds[2:]
    assert own[0].session_id == own[1].session_id != theirs[0].session_id == theirs[1].session_id
    # its stamp is its end, its own stamps begin at 0: 30 - 8 s
    (call,) = theirs[0].calls
    assert (call.emitted_us, call.result_us, call.is_subagent) == (24_500_000, 27_000_000, True)
    # its entry stands between a request and the next, and is no request of the parent's
    assert [seconds(c) for c in own[0].calls] == [8.5]


def test_a_sub_agent_that_was_only_launched_has_a_clock_of_its_own() -> None:
    inner = agent(30, request(0, "text"), request(5, "tool_result"), status="async_launched", duration_ms=None)
    (log,) = read(KVCACHE_TESTER, [document(request(20, "text"), inner)])
    assert [call.emitted_us for call in calls_of(log.rounds)] == [2_500_000]


def test_the_same_conversation_again_is_left_out_and_another_of_the_same_id_is_not() -> None:
    other = copy.deepcopy(CONVERSATION)
    other["requests"][1]["out"] = 51
    first, again, different = read(KVCACHE_TESTER, [CONVERSATION], [CONVERSATION], [other])
    assert (len(first.rounds), len(again.rounds), len(different.rounds)) == (4, 0, 4)
    assert again.left_out == {"copies of calls in another log": 2}
    assert again.counts["calls"] == 2
    assert first.rounds[0].session_id != different.rounds[0].session_id


def test_neither_ids_nor_hashes_are_kept() -> None:
    secret = document(request(0, "text", model="secret-model", hash_ids=[123454321]), id="secret-conversation")
    assert b"secret" not in b"".join(kept(KVCACHE_TESTER, [secret]))
    assert msgspec.msgpack.encode(123454321) not in b"".join(kept(KVCACHE_TESTER, [secret]))


def test_agents_nested_without_end_are_refused_not_followed() -> None:
    from tracestat.ingest.logs.format import UnreadableError

    nested = request(0, "text")
    for _ in range(60):
        nested = agent(9, nested)
    with pytest.raises(UnreadableError, match="nested too deeply"):
        kept(KVCACHE_TESTER, [document(nested)])


@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.floats(0, 60), st.sampled_from(["tool_result", "text"]), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_every_result_is_a_call_or_left_out(steps: list[tuple[int, float, str, bool]]) -> None:
    t, requests = 0, []
    for wait, api, kind, has_api in steps:
        requests.append(request(t, kind, api=round(api, 2) if has_api else None))
        t += wait
    (log,) = read(KVCACHE_TESTER, [document(*requests)])
    calls = calls_of(log.rounds)
    assert len(calls) + sum(log.left_out.values()) == sum(kind == "tool_result" for _, _, kind, _ in steps)
    assert len(log.rounds) == len(steps)
    assert all((seconds(call) or 0) > -1 for call in calls)
    results = {e.call_id for r in log.rounds for e in r.events if e.type == "tool_result" and e.call_id}
    assert results == {call.id for call in calls}


def test_real_traces() -> None:
    paths = sorted(corpus_path("kvcache_tester").glob("*.json.gz"))
    documents = [json.loads(gzip.decompress(path.read_bytes())) for path in paths]
    assert all(KVCACHE_TESTER.recognises(value) for value in documents)
    logs = [log for value in documents for log in read(KVCACHE_TESTER, [value], names=NAMES)]
    calls = [call for log in logs for call in calls_of(log.rounds)]
    assert sum(len(log.rounds) for log in logs) == 319
    assert sum(log.counts["results"] for log in logs) == 247
    assert sum(log.counts["user messages"] for log in logs) == 76
    assert len(calls) == 243
    assert [log.left_out for log in logs if log.left_out] == [{"tool waits that ended with a person's message": 1}] * 4
    assert round(sum(seconds(call) or 0 for call in calls), 6) == 17_174.74
    # the whole seconds that the proxy took for the same waits
    assert sum(call.reported_ms or 0 for call in calls) == 17_177_000
    assert max(abs((seconds(c) or 0) - (c.reported_ms or 0) / 1000) for c in calls) <= 0.94
