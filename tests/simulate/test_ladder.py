"""V2: a prompt of 32K resident, reloaded and recomputed, by the simulator itself on scripted sessions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.simulate.workloads import plan, settings, start, workload
from tracestat.hardware import Hardware, load_hardware
from tracestat.simulate.run import run

TOKENS, APPENDED = 32_768, 150


def ladder(hardware: Hardware) -> tuple[float, float, float]:
    """Play the prompt cold, reloaded after a stranger has filled the pool, and resident but for what is appended."""
    machine = replace(hardware, pool_tokens=48_000)
    prefix = TOKENS - APPENDED
    twice = [(0, TOKENS, 1, 60.0), (TOKENS, 0, 1, 1.0)]
    stranger = [(0, 1, 1, 20.0), (0, machine.pool_tokens - 1, 1, 1e6), (0, 1, 1, 0.0)]
    work = workload([twice, stranger])
    begin = replace(start(work, 2), order=np.array([[0], [1]]), start_round=np.zeros(2, np.int64))
    requests, _ = run(work, machine, settings(2, 100.0, host_tokens=10_000_000), plan(work), begin, check=True)
    cold, reloaded = (int(np.flatnonzero(requests.round == place)[0]) for place in (0, 1))
    assert (requests.gpu_hit[cold], requests.gpu_hit[reloaded]) == (0, 0)
    assert requests.host_hit[reloaded] == TOKENS - machine.block_tokens
    held = workload([[(0, prefix - 8, 8, 1.0), (prefix, APPENDED, 1, 0.0)]])
    resident, _ = run(held, machine, settings(1, 30.0), plan(held), start(held, 1), check=True)
    # without a host tier the cold prompt stores nothing, as in the timings
    alone = workload([[(0, TOKENS, 1, 0.0)]])
    first, _ = run(alone, machine, settings(1, 10.0), plan(alone), start(alone, 1), check=True)
    return float(resident.ttft[1]), float(requests.ttft[reloaded]), float(first.ttft[0])


def test_rtx_4090() -> None:
    resident, reload, recompute = ladder(load_hardware("rtx4090-llama3.1-8b-fp8"))
    for model, published in ((resident, 0.040), (reload, 0.21), (recompute, 3.648)):
        assert abs(model - published) <= max(0.03 * published, 0.004)
    assert recompute / reload == pytest.approx(17, abs=1)
    assert (1e3 * resident, 1e3 * reload, 1e3 * recompute) == pytest.approx((41.0, 210.93, 3667.28), abs=0.05)


@pytest.mark.parametrize("hardware", ["h100like-llama3.1-8b-fp8", "h100like-llama3.1-8b-fp8-samepool"])
def test_h100_like(hardware: str) -> None:
    resident, reload, recompute = ladder(load_hardware(hardware))
    assert (reload, recompute) == pytest.approx((0.107, 1.236), abs=6e-4)
    assert recompute / reload == pytest.approx(11, abs=1)
    assert resident < reload / 4
