"""One agent has the machine for itself: the time to the first token is a sum that can be written down (V1, V2, V8)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.workloads import MACHINE, machine, plan, settings, start, workload
from tracestat.hardware.timing import first_token_seconds
from tracestat.simulate.run import run

BIG = 10_000_000


def ttft(sessions, *, hardware=MACHINE, **changes):
    work = workload(sessions)
    given = settings(1, **{"horizon": 200.0, **changes})
    requests, _ = run(work, hardware, given, plan(work), start(work, 1), check=True)
    return requests


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 255, 1024, 2048, 2049, 8192, 32768, 50_001])
@pytest.mark.parametrize("path", [None, "lmcache", "native"])
@pytest.mark.parametrize("fast", [True, False])
def test_cold_prompt(tokens: int, path: str | None, fast: bool) -> None:
    got = ttft(
        [[(0, tokens, 3, 1.0)]],
        store_path=path or "lmcache",
        host_tokens=BIG if path else 0,
        fast_forward=fast,
        horizon=30.0,
    )
    assert got.ttft[0] == pytest.approx(first_token_seconds(MACHINE, tokens, path=path), abs=1e-9)
    assert got.gpu_hit[0] == got.host_hit[0] == got.queue_wait[0] == 0
    assert got.computed[0] == tokens
    assert got.chunks[0] == -(-tokens // MACHINE.max_batched_tokens)


# the table of residuals at the default constants, ms
RELOADS = [("lmcache", 1024, 21.93), ("lmcache", 8192, 64.60), ("lmcache", 32768, 210.93)]
RELOADS += [("native", 1024, 36.94), ("native", 8192, 123.13), ("native", 32768, 418.64)]


@pytest.mark.parametrize(("path", "tokens", "published_ms"), RELOADS)
def test_reload_of_the_same_prompt(path: str, tokens: int, published_ms: float) -> None:
    # the prompt twice, pushed out of the pool in between by one that fills it and is evicted whole
    pool = 48_000
    between = pool - 1
    work = workload(
        [[(0, tokens, 1, 60.0), (tokens, 0, 1, 1.0)], [(0, 1, 1, 20.0), (0, between, 1, 1e6), (0, 1, 1, 0)]]
    )
    given = settings(2, 100.0, host_tokens=BIG, store_path=path)
    order = start(work, 2)
    order = type(order)(order=np.array([[0], [1]]), start_round=np.zeros(2, np.int64))
    requests, _ = run(work, machine(pool), given, plan(work), order, check=True)
    [row] = np.flatnonzero(requests.round == 1)
    assert requests.gpu_hit[row] == 0
    assert requests.host_hit[row] == tokens - 16
    expected = first_token_seconds(MACHINE, tokens, prefix=tokens, in_host=tokens, path=path)
    assert requests.ttft[row] == pytest.approx(expected, abs=1e-9)
    assert 1000 * requests.ttft[row] == pytest.approx(published_ms, abs=0.006)
    assert requests.load_wait[row] == pytest.approx(expected - MACHINE.client - _last_block(tokens), abs=1e-9)


def _last_block(tokens: int) -> float:
    return first_token_seconds(MACHINE, tokens, prefix=tokens, resident=tokens) - MACHINE.client


COLD = [(1024, 69.61, 80.36), (8192, 580.40, 666.42), (32768, 3667.28, 4011.34)]


@pytest.mark.parametrize(("tokens", "plain", "stored"), COLD)
def test_cold_rows_of_the_table(tokens: int, plain: float, stored: float) -> None:
    one = [[(0, tokens, 1, 0.0)]]
    assert 1000 * ttft(one, horizon=5.0).ttft[0] == pytest.approx(plain, abs=0.006)
    assert 1000 * ttft(one, horizon=5.0, host_tokens=BIG).ttft[0] == pytest.approx(stored, abs=0.006)
    native = ttft(one, horizon=5.0, host_tokens=BIG, store_path="native")
    assert 1000 * native.ttft[0] == pytest.approx(plain, abs=0.006)


@pytest.mark.parametrize("append", [1, 150, 256, 5000])
def test_resident_prompt(append: int) -> None:
    prefix = 32768 - append
    got = ttft([[(0, prefix - 8, 8, 1.0), (prefix, append, 1, 0.0)]], horizon=20.0)
    expected = first_token_seconds(MACHINE, 32768, prefix=prefix, resident=prefix)
    assert got.ttft[1] == pytest.approx(expected, abs=1e-9)
    assert got.gpu_hit[1] == min(prefix, 32767) // 16 * 16


def test_ladder() -> None:
    resident, reload, cold = (
        first_token_seconds(MACHINE, 32768, prefix=32618, resident=32618),
        first_token_seconds(MACHINE, 32768, prefix=32768, in_host=32768, path="lmcache"),
        ttft([[(0, 32768, 1, 0.0)]], horizon=5.0).ttft[0],
    )
    assert resident < 0.045
    assert cold / reload == pytest.approx(17.4, abs=0.1)


def test_stores_by_step_cost_what_they_cost_at_completion() -> None:
    one = [[(0, 20_000, 1, 0.0)]]
    whole = ttft(one, horizon=5.0, host_tokens=BIG).ttft[0]
    assert ttft(one, horizon=5.0, host_tokens=BIG, store_when="step").ttft[0] == pytest.approx(whole, abs=1e-9)


def test_answer_takes_its_decode_steps() -> None:
    # the next request comes out - 1 decode steps and the pause after the first token
    got = ttft([[(0, 1000, 50, 2.0), (0, 10, 1, 0.0)]])
    step, contexts = MACHINE.step, np.arange(1001, 1050)
    decode = np.sum(step.base + step.per_token + step.decode_read * contexts)
    assert got.arrival[1] == pytest.approx(got.ttft[0] - MACHINE.client + decode + 2.0, abs=1e-9)


def test_prefetch_hides_the_reload_and_a_late_one_part_of_it() -> None:
    tokens, pool = 8192, 48_000
    other = [(0, 1, 1, 20.0), (0, pool - 1, 1, 1e6), (0, 1, 1, 0.0)]
    work = workload([[(0, tokens, 1, 60.0), (tokens, 16, 1, 1.0)], other])
    begin = type(start(work, 2))(order=np.array([[0], [1]]), start_round=np.zeros(2, np.int64))
    given = settings(2, 100.0, host_tokens=BIG)
    load = MACHINE.stores["lmcache"].load_per_token * tokens
    step = first_token_seconds(MACHINE, tokens + 16, prefix=tokens, resident=tokens)
    for at, wait in ((50.0, 0.0), (60.0 - load / 4, 0.75 * load)):
        when = np.full(work.pause.size, np.nan)
        when[0] = at
        requests, counters = run(work, machine(pool), given, plan(work, prefetch_at_s=when), begin, check=True)
        [row] = np.flatnonzero(requests.round == 1)
        assert counters.prefetched_tokens == tokens
        assert requests.gpu_hit[row] == tokens
        assert requests.load_wait[row] == pytest.approx(wait, abs=1e-9)
        assert requests.ttft[row] == pytest.approx(wait + step, abs=1e-9)
