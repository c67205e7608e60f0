"""One server, N customers who think between visits: M/M/1//N (V3), and bounds that hold for any queue (V4)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.simulate.workloads import machine, plan, settings, start, workload
from tracestat.hardware import Step
from tracestat.simulate.run import run

# 10 ms a step, whatever is in it
PLAIN = machine(step=Step(0.01, 0.0, 0.0, 0.0), client=0.0)


def machine_repair(n: int, think: float, service: float) -> tuple[float, float, float]:
    """Utilisation, throughput and mean stay of M/M/1//N."""
    weights = [math.perm(n, k) * (service / think) ** k for k in range(n + 1)]
    busy = 1 - weights[0] / sum(weights)
    customers = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
    return busy, busy / service, customers / (busy / service)


def test_formula_gives_the_known_values() -> None:
    assert machine_repair(8, 5.0, 0.5) == pytest.approx((0.661682, 1.323363, 1.045204), abs=1e-6)
    assert machine_repair(16, 5.0, 0.5) == pytest.approx((0.977698, 1.955396, 3.182485), abs=1e-6)


def _queue(n: int, think: float, seconds: float, seed: int):
    rng = np.random.default_rng(seed)
    rounds = int(3 * seconds / think) + 100
    answers = rng.geometric(1 / 50, (n, rounds)).tolist()
    pauses = rng.exponential(think, (n, rounds)).tolist()
    sessions = [
        [(0, 16, out, pause) for out, pause in zip(a, p, strict=True)] for a, p in zip(answers, pauses, strict=True)
    ]
    work = workload(sessions)
    begin = start(work, n)
    begin = type(begin)(order=np.arange(n)[:, None], start_round=np.zeros(n, np.int64))
    given = settings(n, seconds, max_num_seqs=1, warmup=seconds / 50)
    return *run(work, PLAIN, given, plan(work), begin), work


def _against(n: int, think: float, seconds: float, wide: float) -> None:
    requests, counters, work = _queue(n, think, seconds, n)
    window = seconds * 0.98
    counted = requests.arrival >= seconds / 50
    served = counted & ~np.isnan(requests.ttft)
    # the means that were drawn: what is tested is the queue, not the sample
    service, thought = 0.01 * work.out[requests.round[served]].mean(), work.pause[requests.round[served]].mean()
    assert (service, thought) == pytest.approx((0.5, think), rel=0.01 * wide)
    busy, rate, stay = machine_repair(n, thought, service)
    assert counters.busy_s / window == pytest.approx(busy, rel=0.001 * wide)
    assert np.mean(requests.ttft[served]) == pytest.approx(stay - service + 0.01, rel=0.015 * wide)
    assert counted.sum() / window == pytest.approx(rate, rel=0.002 * wide)
    # bounds
    assert counted.sum() / window <= min(n / (thought + service), 1 / service) * 1.005
    # Little: mean number waiting = rate x mean wait
    waiting = (counters.waiting_first + counters.waiting_second) / window
    assert waiting == pytest.approx(counted.sum() / window * np.mean(requests.queue_wait[served]), rel=0.01)


@pytest.mark.parametrize(("n", "think"), [(4, 5.0), (8, 5.0), (16, 5.0), (8, 2.0)])
def test_machine_repair(n: int, think: float) -> None:
    _against(n, think, 20_000.0, 4.0)


@pytest.mark.full
@pytest.mark.parametrize(("n", "think"), [(4, 5.0), (8, 5.0), (16, 5.0), (8, 2.0)])
def test_machine_repair_at_length(n: int, think: float) -> None:
    _against(n, think, 400_000.0, 1.0)
