"""An engine that takes no time makes the pool a cache of pages, a policy a replacement rule (V6); and limits (V8)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.simulate.workloads import drawn, machine, plan, settings, start, workload
from tracestat.hardware import Step
from tracestat.simulate.forms import LATEST_RETURN, LONGEST_EXPECTED, LRU, Requests, Start
from tracestat.simulate.run import run

INSTANT = Step(0.0, 0.0, 0.0, 0.0)
# 32 tokens and one more are three blocks: a page
PAGE = 48


def hits(pages: tuple[int, ...], held: int, rank: int) -> int:
    """Play a reference string, one reference a second; each page is a session with a slot of its own.

    Sessions submit at time 0: a prompt of one token comes first, whose block leaves before all pages.
    """
    names = sorted(set(pages))
    sessions = []
    for name in names:
        times = [t + 1.0 for t, page in enumerate(pages) if page == name]
        pauses = [*np.diff(times).tolist(), 1e6]
        first = [(0, 1, 1, times[0]), (0, 32, 1, pauses[0])]
        sessions.append([*first, *((16, 16, 1, pause) for pause in pauses[1:]), (16, 16, 1, 0.0)])
    work = workload(sessions)
    demoted = np.zeros(work.pause.size, bool)
    demoted[work.off[:-1]] = True
    begin = Start(order=np.arange(len(names))[:, None], start_round=np.zeros(len(names), np.int64))
    requests, _ = run(
        work,
        machine(held * PAGE, step=INSTANT, client=0.0),
        settings(len(names), len(pages) + 1.5, granularity="session"),
        plan(work, rank, demote_at_start=demoted),
        begin,
        check=True,
    )
    assert requests.ttft.size == len(pages) + len(names)
    return int(np.sum(requests.gpu_hit > 0))


def lru_hits(pages: tuple[int, ...], held: int) -> int:
    """Count the hits of least recently used, independently."""
    cache: list[int] = []
    count = 0
    for page in pages:
        if page in cache:
            count += 1
            cache.remove(page)
        elif len(cache) == held:
            cache.pop(0)
        cache.append(page)
    return count


def best_hits(pages: tuple[int, ...], held: int) -> int:
    """Count the most hits that any replacement reaches, by dynamic programming over all of them."""

    @cache
    def from_here(k: int, there: frozenset[int]) -> int:
        if k == len(pages):
            return 0
        if pages[k] in there:
            return 1 + from_here(k + 1, there)
        if len(there) < held:
            return from_here(k + 1, there | {pages[k]})
        return max(from_here(k + 1, there - {gone} | {pages[k]}) for gone in there)

    return from_here(0, frozenset())


STRINGS = list(itertools.product(range(3), repeat=6))


def test_belady_is_the_best_there_is_and_lru_is_lru() -> None:
    for pages in STRINGS:
        best = hits(pages, 2, LATEST_RETURN)
        assert best == best_hits(pages, 2), pages
        least_recent = hits(pages, 2, LRU)
        assert least_recent == lru_hits(pages, 2), pages
        assert best >= least_recent


@pytest.mark.parametrize("held", [3, 6, 9])
def test_a_long_string(held: int) -> None:
    pages = tuple((np.random.default_rng(held).zipf(1.3, 600) % 12).tolist())
    assert hits(pages, held, LRU) == lru_hits(pages, held)
    assert hits(pages, held, LATEST_RETURN) >= hits(pages, held, LRU)
    assert hits(pages, held, LRU) < hits(pages, held, LATEST_RETURN) < 600


# --- limits ---


def play(
    seed: int = 0, pool: int = 6_000, rank: int = LRU, slots: int = 6, work=None, changes=None, **given
) -> Requests:
    work = drawn(seed) if work is None else work
    chosen = plan(work, rank, **(changes or {}))
    return run(work, machine(pool), settings(slots, 100.0, **given), chosen, start(work, slots, seed), check=True)[0]


def test_a_pool_without_end_recomputes_nothing_and_policies_agree() -> None:
    work = drawn(1)
    runs = [play(1, 10_000_000, rank, work=work) for rank in (LRU, LATEST_RETURN, LONGEST_EXPECTED)]
    for one in runs:
        assert np.array_equal(one.ttft, runs[0].ttft, equal_nan=True)
        admitted = ~np.isnan(one.queue_wait)
        inner = admitted & (one.before != 3)
        prompt = (work.prefix + work.append)[one.round]
        expected = np.minimum(work.prefix[one.round] // 16, (prompt - 1) // 16) * 16
        assert np.array_equal(one.gpu_hit[inner], expected[inner])


def test_without_pauses_all_is_resident() -> None:
    work = drawn(2)
    work = replace(work, pause=np.zeros(work.pause.size))
    one = play(2, 20_000, work=work, slots=1, host_tokens=0)
    inner = (one.before != 3) & ~np.isnan(one.queue_wait)
    assert np.all(one.gpu_hit[inner] == (work.prefix[one.round] // 16 * 16)[inner])


def test_a_cap_of_a_whole_step_is_none_and_a_tier_of_nothing_too() -> None:
    plain = play(3)
    assert play(3, prefill_threshold=2048).ttft.tobytes() == plain.ttft.tobytes()
    assert play(3, prefill_threshold=64).ttft.tobytes() != plain.ttft.tobytes()
    by_memory = play(3, prefill_threshold=64, cap_memory=1.0).ttft.tobytes()
    assert by_memory not in (plain.ttft.tobytes(), play(3, prefill_threshold=64).ttft.tobytes())
    assert play(3, host_tokens=255).ttft.tobytes() == plain.ttft.tobytes()
    assert play(3, host_tokens=60_000).ttft.tobytes() != plain.ttft.tobytes()


def test_pins_of_no_length_are_lru_and_long_ones_are_broken() -> None:
    work = drawn(4)
    plain = play(4, work=work)
    assert play(4, work=work, changes={"pin_s": np.zeros(work.pause.size)}).ttft.tobytes() == plain.ttft.tobytes()
    chosen = plan(work, pin_s=np.full(work.pause.size, 1e6))
    pinned, counters = run(work, machine(6_000), settings(6, 100.0), chosen, start(work, 6, 4), check=True)
    assert counters.pin_broken > 0
    assert np.isfinite(pinned.ttft).sum() > 20


def test_demotion_at_the_start_is_seen() -> None:
    work = drawn(6)
    every = np.ones(work.pause.size, bool)
    assert play(6, work=work, changes={"demote_at_start": every}).ttft.size > 20
    half = np.arange(work.pause.size) % 2 == 0
    some = play(6, work=work, changes={"demote_at_start": half}, pool=6_000)
    assert some.ttft.tobytes() != play(6, work=work).ttft.tobytes()


def test_a_prompt_larger_than_the_pool_ends_its_session_and_no_run_hangs() -> None:
    work = workload([[(0, 5_000, 2, 1.0), (5_002, 16, 2, 1.0)]])
    requests, counters = run(work, machine(1_600), settings(2, 50.0), plan(work), start(work, 2), check=True)
    assert np.isnan(requests.ttft).all()
    assert counters.too_large == requests.ttft.size == 2


def test_waiting_sessions_can_be_evicted() -> None:
    # two sessions fill the pool and come back together: each needs blocks of the other
    work = workload([[(0, 780, 4, 5.0), (784, 780, 4, 1.0)], [(0, 780, 4, 5.0), (784, 780, 4, 1.0)]])
    begin = Start(order=np.array([[0], [1]]), start_round=np.zeros(2, np.int64))
    requests, _ = run(work, machine(1_600), settings(2, 30.0), plan(work), begin, check=True)
    assert np.isfinite(requests.ttft[:4]).all()


@pytest.mark.parametrize("end", ["cached", "free"])
def test_sessions_that_are_over(end: str) -> None:
    work = workload([[(0, 1_000, 2, 0.0)], [(0, 900, 2, 0.0)]])
    begin = Start(order=np.array([[0, 1]]), start_round=np.zeros(1, np.int64))
    _, counters = run(work, machine(50_000), settings(1, 1.0, end=end), plan(work), begin, check=True)
    if end == "free":
        assert counters.pool_cached == pytest.approx(0.0, abs=1e-6)
    else:
        assert counters.pool_cached > 1_000
