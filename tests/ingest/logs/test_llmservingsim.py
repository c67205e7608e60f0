from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.rounds_from import NAMES, calls_of, kept, read, rounds_of, seconds
from tracestat.ingest.logs.format import UnreadableError
from tracestat.ingest.logs.llmservingsim import LLMSERVINGSIM

Json = dict[str, Any]


def session(*waits: float | int | None, name: str = "task-0", arrival: int = 4_000_000_000, tool: str = "") -> Json:
    requests = []
    for index, wait in enumerate(waits):
        made: Json = {"input_toks": 1000 + index, "output_toks": 50, "input_tok_ids": [11, 12]}
        made |= {} if wait is None else {"tool_duration_ns": wait}
        requests.append(made | ({"tool": tool} if tool else {}))
    return {"session_id": name, "arrival_time_ns": arrival, "sub_requests": requests}


def test_a_wait_stands_after_its_request() -> None:
    (log,) = read(LLMSERVINGSIM, [session(127_348_767, 2_000_000_000, 0)])
    assert [len(r.calls) for r in log.rounds] == [1, 1, 0]
    assert [seconds(c) for c in calls_of(log.rounds)] == [0.127349, 2.0]
    assert [(r.provider, r.round_index, r.input_tokens_total, r.output_tokens) for r in log.rounds] == [
        ("llmservingsim", 0, 1000, 50),
        ("llmservingsim", 1, 1001, 50),
        ("llmservingsim", 2, 1002, 50),
    ]
    assert log.counts == {"calls": 2, "results": 2}
    assert log.left_out == {}


def test_requests_take_no_time_on_the_clock_of_a_workload() -> None:
    first, second, third = rounds_of(LLMSERVINGSIM, [session(1_000_000_000, 500_000_000, 0)])
    assert [(c.emitted_us, c.result_us) for c in (*first.calls, *second.calls)] == [
        (4_000_000, 5_000_000),
        (5_000_000, 5_500_000),
    ]
    assert [(e.type, e.time_us) for e in second.events] == [("tool_result", 5_000_000), ("tool_call", 5_000_000)]
    assert [(e.type, e.time_us) for e in third.events] == [("tool_result", 5_500_000), ("text", 5_500_000)]


def test_a_tool_may_have_a_name() -> None:
    (call,) = calls_of(rounds_of(LLMSERVINGSIM, [session(1, 0, tool="grep")]))
    assert call.tool == NAMES.tool("grep")
    (call,) = calls_of(rounds_of(LLMSERVINGSIM, [session(1, 0)]))
    assert call.tool is None


def test_zero_is_a_length_where_another_request_follows() -> None:
    assert [seconds(c) for c in calls_of(rounds_of(LLMSERVINGSIM, [session(0, 0)]))] == [0.0]


@pytest.mark.parametrize("wait", [None, -5, 10**30])
def test_a_wait_of_unknown_length_is_no_call(wait: int | None) -> None:
    (log,) = read(LLMSERVINGSIM, [session(wait, 1_000, 0)])
    assert len(calls_of(log.rounds)) == 1
    assert log.left_out == {"tool waits of unknown length": 1}


def test_the_wait_after_the_last_request_is_ignored_and_counted() -> None:
    (log,) = read(LLMSERVINGSIM, [session(1_000, 7_000)])
    assert (len(calls_of(log.rounds)), log.left_out) == (1, {"tool waits after the last request of a session": 1})


def test_a_session_again_is_left_out_whenever_it_arrives_and_another_of_its_id_is_not() -> None:
    again, other = session(1_000, 0, arrival=99), session(2_000, 0)
    first, second, third = read(LLMSERVINGSIM, [session(1_000, 0)], [again], [other])
    assert [len(log.rounds) for log in (first, second, third)] == [2, 0, 2]
    assert second.left_out == {"copies of calls in another log": 1}
    assert first.rounds[0].session_id != third.rounds[0].session_id


def test_requests_of_no_session_are_counted() -> None:
    flat = {"input_toks": 128, "output_toks": 512, "arrival_time_ns": 0}
    (log,) = read(LLMSERVINGSIM, [flat, session(1_000, 0)])
    assert (len(log.rounds), log.counts["requests without a session"]) == (2, 1)


@pytest.mark.parametrize("damaged", [{"secret": 1}, {"sub_requests": []}])
def test_what_is_no_line_of_a_workload_is_refused(damaged: Json) -> None:
    with pytest.raises(UnreadableError):
        LLMSERVINGSIM.facts(json.dumps(damaged).encode(), NAMES)


def test_nothing_of_the_text_is_kept() -> None:
    assert b"secret" not in b"".join(kept(LLMSERVINGSIM, [session(1, 2, name="secret", tool="secret")]))


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=9), st.integers(0, 10**15))
def test_lengths_add_up(waits: list[int], arrival: int) -> None:
    (log,) = read(LLMSERVINGSIM, [session(*waits, arrival=arrival)])
    calls = calls_of(log.rounds)
    assert len(calls) == len(waits) - 1
    assert all(abs((seconds(c) or 0) - wait / 1e9) <= 6e-7 for c, wait in zip(calls, waits, strict=False))
    assert all(a.result_us == b.emitted_us for a, b in pairwise(calls))
