"""What must not change the answer: taking steps at once, compiling, names; and what must not get lost (V5, V9, V10)."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, strategies
from hypothesis import settings as effort

from tests.simulate.workloads import drawn, machine, plan, settings, start
from tracestat.errors import UsageError
from tracestat.simulate.forms import LATEST_RETURN, LONGEST_EXPECTED, LRU, Plan, Requests, Start, Workload
from tracestat.simulate.run import run

CHOICES = (
    {},
    {"store_path": "native", "store_holds_blocks": True, "load_order": "before_scheduling"},
    {"host_evict": "head", "granularity": "session", "store_when": "step", "prefill_threshold": 256, "cap_memory": 0.1},
    {"store_path": "native", "link": "duplex", "host_evict": "tail", "end": "free", "max_num_seqs": 3},
    {"load_order": "before_scheduling", "prefill_threshold": 512, "chunk_tokens": 16},
)


def busy_plan(work: Workload, rank: int, seed: int) -> Plan:
    rng = np.random.default_rng(seed)
    n = work.pause.size
    pins = np.where(rng.random(n) < 0.5, 6 * rng.random(n), 0.0)
    at = np.where(rng.random(n) < 0.5, work.pause * rng.random(n) * 1.2, np.nan)
    return plan(work, rank, pin_s=pins, prefetch_at_s=at, demote_at_start=rng.random(n) < 0.2)


def same(a: Requests, b: Requests, within: float) -> None:
    assert a.ttft.size == b.ttft.size > 20
    for field in fields(Requests):
        one, two = getattr(a, field.name), getattr(b, field.name)
        np.testing.assert_allclose(one, two, rtol=0, atol=within, err_msg=field.name)


@pytest.mark.parametrize("rank", [LRU, LATEST_RETURN, LONGEST_EXPECTED])
@pytest.mark.parametrize("seed", range(20))
def test_fast_forward_changes_nothing(seed: int, rank: int) -> None:
    work = drawn(seed, pause=1.0)
    choice = CHOICES[seed % len(CHOICES)]
    runs = [
        run(
            work,
            machine(6_000),
            settings(8, 60.0, warmup=6.0, host_tokens=9_000, fast_forward=fast, **choice),
            busy_plan(work, rank, seed),
            start(work, 8, seed),
        )
        for fast in (True, False)
    ]
    same(runs[0][0], runs[1][0], 1e-9)
    for name in ("steps", "preemptions", "stored_tokens", "loaded_tokens", "prefetches", "pinned", "pin_broken"):
        assert getattr(runs[0][1], name) == getattr(runs[1][1], name), name
    for name in ("busy_s", "memory_blocked_s", "waiting_first", "waiting_second", "link_busy_s", "host_used"):
        assert getattr(runs[0][1], name) == pytest.approx(getattr(runs[1][1], name), abs=1e-6), name


def test_the_workload_of_these_tests_is_not_an_easy_one() -> None:
    total = {"preemptions": 0, "pin_broken": 0, "prefetches": 0, "too_large": 0}
    for seed in range(5):
        work = drawn(seed, pause=1.0)
        given_settings = settings(8, 60.0, host_tokens=9_000, **CHOICES[seed])
        _, counters = run(work, machine(6_000), given_settings, busy_plan(work, LRU, seed), start(work, 8, seed))
        total = {name: total[name] + getattr(counters, name) for name in total}
        assert counters.memory_blocked_s > 0
        assert counters.loaded_tokens > 0
    assert min(total.values()) > 0, total


@effort(max_examples=13, deadline=None)
@given(
    seed=strategies.integers(0, 10_000),
    pool=strategies.integers(1_500, 12_000),
    host=strategies.sampled_from([0, 300, 3_000, 20_000]),
    slots=strategies.integers(1, 9),
    rank=strategies.sampled_from([LRU, LATEST_RETURN, LONGEST_EXPECTED]),
    choice=strategies.sampled_from(CHOICES),
    budget=strategies.sampled_from([4, 64, 2048]),
)
def test_nothing_is_lost(seed: int, pool: int, host: int, slots: int, rank: int, choice: dict, budget: int) -> None:
    work = drawn(seed, pause=1.0, rounds=6)
    hardware = machine(pool, max_batched_tokens=budget)
    requests, counters = run(
        work,
        hardware,
        settings(slots, 30.0, host_tokens=host, **choice),
        busy_plan(work, rank, seed),
        start(work, slots, seed),
        check=True,
    )
    admitted = ~np.isnan(requests.queue_wait)
    prompt = (work.prefix + work.append)[requests.round]
    assert np.all((requests.gpu_hit + requests.host_hit + requests.computed)[admitted] == prompt[admitted])
    assert np.all(requests.queue_wait[admitted] >= -1e-12)
    assert np.all(np.diff(requests.arrival) >= 0)
    assert np.all(requests.computed[admitted] >= 1)
    served = ~np.isnan(requests.ttft)
    waits = (requests.queue_wait + requests.load_wait + hardware.client)[served]
    assert np.all(requests.ttft[served] >= waits - 1e-9)
    assert counters.busy_s <= 30.0 + 60.0
    if host == 0:
        assert counters.stored_tokens == counters.loaded_tokens == counters.prefetched_tokens == 0


def test_same_input_same_bytes_and_forms_are_left_alone() -> None:
    work = drawn(3)
    given_plan, begin = busy_plan(work, LRU, 3), start(work, 6, 3)
    runs = [run(work, machine(8_000), settings(6, 60.0, host_tokens=9_000), given_plan, begin) for _ in range(2)]
    for field in fields(Requests):
        assert getattr(runs[0][0], field.name).tobytes() == getattr(runs[1][0], field.name).tobytes()
    assert runs[0][1] == runs[1][1]
    with pytest.raises(ValueError, match="read-only"):
        runs[0][0].ttft[0] = 0.0


def test_numbers_of_sessions_are_only_names() -> None:
    work = drawn(5)
    begin = start(work, 6, 5)
    n = work.off.size - 1
    new = np.random.default_rng(0).permutation(n)  # session s of the new workload is new[s] of the old one
    rows = np.concatenate([np.arange(work.off[s], work.off[s + 1]) for s in new])
    arrays = {f.name: getattr(work, f.name) for f in fields(Workload)}
    moved = {name: value[rows] for name, value in arrays.items() if isinstance(value, np.ndarray) and name != "off"}
    renamed = Workload(**{**arrays, **moved, "off": np.cumsum([0, *np.diff(work.off)[new]])})
    old_plan = busy_plan(work, LRU, 5)
    new_plan = plan(
        renamed,
        pin_s=old_plan.pin_s[rows],
        prefetch_at_s=old_plan.prefetch_at_s[rows],
        demote_at_start=old_plan.demote_at_start[rows],
    )
    given_settings = settings(6, 60.0, host_tokens=9_000)
    a, _ = run(work, machine(8_000), given_settings, old_plan, begin)
    there = Start(order=np.argsort(new)[begin.order], start_round=begin.start_round.copy())
    b, _ = run(renamed, machine(8_000), given_settings, new_plan, there)
    assert a.ttft.tobytes() == b.ttft.tobytes()
    assert np.array_equal(new[b.session], a.session)


def test_compiled_and_plain_are_equal() -> None:
    if importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    code = (
        "from tests.simulate.test_equivalence import *\n"
        "import hashlib\n"
        "for seed in range(5):\n"
        "    work = drawn(seed, pause=1.0)\n"
        "    given_settings = settings(8, 60.0, host_tokens=9_000, **CHOICES[seed])\n"
        "    chosen = busy_plan(work, seed % 3, seed)\n"
        "    requests, counters = run(work, machine(6_000), given_settings, chosen, start(work, 8))\n"
        "    print(hashlib.sha256(requests.ttft.tobytes()).hexdigest(), counters)\n"
    )
    outs = [
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
        ).stdout
        for off in ("0", "1")
    ]
    assert outs[0] == outs[1] != ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slots": 3}, "start"),
        ({"horizon": 0.0}, "horizon"),
        ({"warmup": 60.0}, "warmup"),
        ({"chunk_tokens": 20}, "chunk_tokens"),
        ({"max_num_seqs": 0}, "max_num_seqs"),
        ({"host_tokens": -1}, "host_tokens"),
    ],
)
def test_wrong_settings_are_one_line(change: dict, words: str) -> None:
    work = drawn(0)
    given_settings = settings(**{"slots": 6, "horizon": 60.0, **change})
    with pytest.raises(UsageError, match=words):
        run(work, machine(), given_settings, plan(work), start(work, 6))
