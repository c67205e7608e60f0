"""A run of the sessions that can be reached is the run of all of them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.simulate.workloads import drawn, machine, plan, settings
from tracestat.simulate.reached import reached, sessions_of
from tracestat.simulate.run import run
from tracestat.simulate.start import make_start


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pool", [1_600, 20_000])
def test_the_part_plays_as_the_whole(seed: int, pool: int) -> None:
    whole = drawn(seed, sessions=60)
    small = machine(pool)  # in the smaller one some sessions outgrow it and end early
    config = settings(3, 60.0, host_tokens=4_096)
    start = make_start(whole, 3, seed)
    part = reached(whole, start, config.horizon, small)
    assert part.sessions.size < 60
    requests, counters = run(whole, small, config, plan(whole), start)
    ours, counted = run(part.workload, small, config, plan(part.workload), part.start)
    ours = part.in_whole(ours)
    assert counted == counters
    assert requests.session.size > 20
    for field in fields(requests):
        np.testing.assert_array_equal(getattr(ours, field.name), getattr(requests, field.name))


def test_sessions_keep_their_rounds() -> None:
    whole = drawn(0, sessions=9)
    part, rounds = sessions_of(whole, np.array([7, 2]))
    assert np.diff(part.off).tolist() == np.diff(whole.off)[[7, 2]].tolist()
    assert rounds.tolist() == [*range(whole.off[7], whole.off[8]), *range(whole.off[2], whole.off[3])]
    assert np.array_equal(part.pause, whole.pause[rounds])
    assert part.tool_names == whole.tool_names
