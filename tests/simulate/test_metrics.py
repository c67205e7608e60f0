"""Summaries of runs: each number by its definition, on requests made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.made import counters, requests, workload
from tracestat.hardware import load_hardware
from tracestat.simulate.forms import FIRST, HUMAN, TOOL, Settings
from tracestat.simulate.metrics import (
    full_recompute,
    gain_split,
    in_window,
    is_stable,
    origins,
    overlap_of_slowest,
    post_tool,
    quantile,
    sessions_within,
    slo_share,
    slowest,
    stability,
    summarise,
    tail_mean,
    waits,
)
from tracestat.simulate.summaries import Stability, Waits

NAN = float("nan")
SETTINGS = Settings(slots=2, horizon=1000.0, warmup=100.0)


# ---- which requests count


def test_the_window_is_that_of_arrivals() -> None:
    made = requests(arrival=[99.0, 100.0, 999.9, 1000.0])
    assert in_window(made, SETTINGS).tolist() == [False, True, True, False]


def test_post_tool_requests_follow_a_tools_pause() -> None:
    made = requests(before=[TOOL, HUMAN, FIRST, TOOL], arrival=[200.0, 200.0, 200.0, 50.0])
    assert post_tool(made, SETTINGS).tolist() == [True, False, False, False]


# ---- waits


@pytest.mark.parametrize(("q", "place"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_quantiles_of_a_hundred(q: float, place: int) -> None:
    assert quantile(np.random.default_rng(0).permutation(np.arange(1.0, 101.0)), q) == place


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_a_quantile_is_the_smallest_value_that_enough_do_not_exceed(values: Sequence[float], q: float) -> None:
    found = quantile(values, q)
    assert found in values
    given_ = np.asarray(values)
    assert np.mean(given_ <= found) >= q - 1e-9
    assert not any(np.mean(given_ <= other) >= q + 1e-9 for other in values if other < found)


@pytest.mark.parametrize(("n", "slow"), [(1, 1), (20, 1), (21, 2), (40, 2), (100, 5), (101, 6)])
def test_the_tail_is_the_slowest_twentieth_rounded_up(n: int, slow: int) -> None:
    values = np.arange(n, dtype=float)
    assert tail_mean(values) == pytest.approx(np.mean(values[-slow:]))
    made = requests(ttft=values.tolist())
    assert slowest(made, SETTINGS).tolist() == list(range(n - 1, n - 1 - slow, -1))


def test_censored_requests_are_counted_and_have_waited_so_long() -> None:
    found = waits([1.0, NAN, 3.0], [0.0, 50.0, 0.0])
    assert (found.n, found.n_censored, found.p99, found.mean) == (2, 1, 3.0, 2.0)
    assert (found.p99_at_least, found.tail_mean_at_least) == (50.0, 50.0)
    assert waits([], []) == Waits(0, 0)
    assert waits([NAN], [7.0]) == Waits(0, 1, p99_at_least=7.0, tail_mean_at_least=7.0)


# ---- where tokens came from


def test_origins_by_their_definitions() -> None:
    played = workload(prefix=[0, 100, 100, 100, 100, 8, 96], append=[50, 20, 20, 20, 20, 20, 0])
    # nothing to reuse, all 6 blocks, from the host, 5 of 6 blocks, no hit, less than a block, the last recomputed
    made = requests(round=[0, 1, 2, 3, 4, 5, 6], gpu_hit=[0, 96, 48, 80, 0, 0, 80], host_hit=[0, 0, 48, 0, 0, 0, 0])
    found = origins(made, played, np.ones(7, bool), 16)
    assert found is not None
    assert dataclasses.astuple(found) == (7, 2 / 7, 1 / 7, 2 / 7, 1 / 7, 1 / 7)
    assert full_recompute(made, played).tolist() == [False] * 4 + [True, True, False]
    assert origins(made, played, np.zeros(7, bool), 16) is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 6), st.integers(0, 6)), min_size=1))
def test_shares_of_origins_add_up(rows: list[tuple[int, int, int, int]]) -> None:
    prefix, append, gpu, host = (list(column) for column in zip(*rows, strict=True))
    made = requests(round=list(range(len(rows))), gpu_hit=[16 * n for n in gpu], host_hit=[16 * n for n in host])
    found = origins(made, workload(prefix=prefix, append=append), np.ones(len(rows), bool), 16)
    assert found is not None
    assert sum(dataclasses.astuple(found)[1:]) == pytest.approx(1.0)


def test_requests_without_a_first_token_have_no_origin() -> None:
    made = requests(ttft=[1.0, NAN], round=[0, 0])
    found = origins(made, workload(prefix=[10], append=[20]), np.ones(2, bool), 16)
    assert found is not None
    assert found.n == 1


# ---- objectives


def test_requests_within_the_objective() -> None:
    assert slo_share([0.5, 1.0, 1.001], [9.0] * 3) == pytest.approx(2 / 3)
    # one has waited 5 s without an answer; of the other nothing is known
    assert slo_share([0.5, NAN, NAN], [9.0, 5.0, 0.5]) == 0.5
    assert slo_share([NAN], [0.5]) is None


def test_sessions_within_the_objective() -> None:
    # 20 requests: one slow one is beyond the 95 % quantile, two are not
    one, two = [0.1] * 19 + [9.0], [0.1] * 18 + [9.0] * 2
    made = requests(ttft=one + two, session=[0] * 20 + [1] * 20)
    assert sessions_within(made, SETTINGS) == (0.5, 2)
    # in another slot it is another session
    halves = requests(ttft=two, session=[0] * 20, slot=[0] * 10 + [1] * 10)
    assert sessions_within(halves, SETTINGS) == (0.5, 2)
    assert sessions_within(requests(before=[HUMAN]), SETTINGS) == (None, 0)
    # waiting since 200, and for 0.5 s only
    censored = requests(ttft=[NAN, NAN], session=[0, 1], arrival=[200.0, 999.5])
    assert sessions_within(censored, SETTINGS) == (0.0, 1)


# ---- the slowest


def test_equal_waits_are_ordered_by_arrival() -> None:
    made = requests(ttft=[2.0] * 40)
    assert slowest(made, SETTINGS).tolist() == [0, 1]


def test_overlap_names_a_request_by_its_place_in_its_slot() -> None:
    # 40 requests, two slowest: number 3 and 7 of slot 0 in one run, 3 and 8 in the other, which arrive in other orders
    slot = [0, 1] * 20
    ours = [0.1] * 40
    ours[2 * 3] = ours[2 * 7] = 5.0
    theirs_slot = [1, 0] * 20
    theirs = [0.1] * 40
    theirs[2 * 3 + 1] = theirs[2 * 8 + 1] = 5.0
    first, second = requests(ttft=ours, slot=slot), requests(ttft=theirs, slot=theirs_slot)
    assert overlap_of_slowest(first, second, SETTINGS) == 0.5
    assert overlap_of_slowest(first, first, SETTINGS) == 1.0
    assert overlap_of_slowest(first, requests(before=[HUMAN]), SETTINGS) is None


def test_requests_of_the_warm_up_take_part_in_the_numbering() -> None:
    # the same request is number 1 in its slot, whether number 0 fell into the window or before it
    first = requests(ttft=[0.1, 5.0], arrival=[99.0, 200.0])
    second = requests(ttft=[0.1, 5.0], arrival=[101.0, 200.0])
    assert overlap_of_slowest(first, second, SETTINGS) == 1.0


# ---- stability


def test_stability() -> None:
    assert stability(50.0, 100.0, 100.0) == Stability(1.0, 2.0, 2.0)
    assert stability(0.0, 50.0, 100.0).ratio == float("inf")
    # four hundredths of a request on average are no queue that grows
    assert stability(0.0, 2.0, 100.0).ratio == 1.0
    assert is_stable([1.5] * 95 + [9.0] * 5)
    assert not is_stable([1.5] * 94 + [9.0] * 6)
    assert not is_stable([float("inf")])


# ---- a whole run


def test_a_run_summarised() -> None:
    machine = load_hardware()
    played = workload(prefix=[0, 160, 160, 160], append=[200, 50, 50, 50])
    made = requests(
        session=[0, 0, 0, 1],
        round=[0, 1, 2, 3],
        before=[FIRST, TOOL, TOOL, TOOL],
        arrival=[150.0, 200.0, 300.0, 400.0],
        queue_wait=[0.0, 0.1, 0.2, 3.0],
        load_wait=[0.0, 0.2, 0.0, 0.0],
        ttft=[0.5, 0.4, 0.3, 4.0],
        gpu_hit=[0, 0, 160, 0],
        host_hit=[0, 160, 0, 0],
        deadline_before=[NAN, 10.0, NAN, NAN],
    )
    found = summarise(made, counters(), played, SETTINGS, machine)
    assert (found.post_tool.n, found.post_tool.p50, found.post_tool.p99) == (3, 0.4, 4.0)
    assert found.all_requests.n == 4
    assert (found.after_deadline.n, found.after_deadline.p99) == (1, 0.4)
    assert (found.slowest_recompute, found.slowest_of_one_session) == (1.0, 1.0)
    assert found.slo_requests == 0.75
    assert found.slo_post_tool == pytest.approx(2 / 3)
    assert (found.slo_sessions, found.n_sessions) == (0.5, 2)
    assert found.mean_queue == pytest.approx(1.1)
    assert found.mean_load == pytest.approx(0.2 / 3)
    assert (found.mean_queue or 0) + (found.mean_load or 0) + (found.mean_compute or 0) == pytest.approx(
        found.post_tool.mean
    )


def test_a_run_without_requests_has_no_numbers() -> None:
    found = summarise(requests(arrival=[]), counters(), workload(prefix=[0], append=[1]), SETTINGS, load_hardware())
    assert (found.post_tool, found.origins, found.slo_sessions) == (Waits(0, 0), None, None)
    assert gain_split(found, found) is None


def test_a_prompt_larger_than_the_pool_waits_for_nothing() -> None:
    machine = load_hardware()
    played = workload(prefix=[0, 0], append=[machine.pool_tokens - 1, machine.pool_tokens])
    made = requests(round=[0, 1], ttft=[2.0, NAN])
    found = summarise(made, counters(), played, SETTINGS, machine)
    assert (found.n_too_large, found.post_tool.n, found.post_tool.n_censored) == (1, 1, 0)


def test_a_gain_is_the_sum_of_its_parts() -> None:
    played = workload(prefix=[160], append=[50])

    def run(queue: float, load: float, ttft: float) -> object:
        made = requests(queue_wait=[queue], load_wait=[load], ttft=[ttft])
        return summarise(made, counters(), played, SETTINGS, load_hardware())

    split = gain_split(run(2.0, 0.5, 3.0), run(0.5, 0.0, 1.5))  # type: ignore[arg-type]
    assert split is not None
    assert dataclasses.astuple(split) == pytest.approx((1.5, 0.5, 1.5, -0.5))
