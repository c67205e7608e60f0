"""Rows whose clock counts whole seconds: they enter late, are counted, and fit no law that they cannot show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracestat
from tests.traces import Row, call, round_

Make = Callable[[list[Row]], Any]


def coarse(sessions: int = 30, each: int = 40) -> list[Row]:
    rng = np.random.default_rng(2)
    rows = []
    for s in range(sessions):
        lasts = np.ceil(rng.weibull(0.5, each) * 20).astype(int)
        starts = np.arange(each) * 1_000
        rows += [
            round_(f"s{s}", i, [call(f"{s}-{i}", int(a), int(a + d))], user=f"user_{s % 25:08x}")
            for i, (a, d) in enumerate(zip(starts, lasts, strict=True))
        ]
    return rows


def test_rows_below_the_resolution_are_counted_and_the_range_begins_above_it(store_of: Make) -> None:
    trace = store_of(coarse())
    result = tracestat.hazard(trace, draws=100)
    (group,) = result.groups
    short = trace.sql("SELECT count(*) FROM pauses WHERE seconds <= 5.9685").item()
    assert short > 0
    assert result.head.excluded["below_resolution"] == short
    assert result.head.excluded["below_first_edge"] == 0
    assert group.n == 1_200
    assert group.range is not None
    assert group.range[0] == 5.9685
    assert group.slope.weibull.value is None
    assert group.slope.poisson.value is not None
    # a Weibull law of shape 0.5, from where it can be seen
    assert abs(group.slope.poisson.value + 0.5) < 0.15
    seen = [b for b in group.bins if b.exposure > 0]
    assert seen[0].lo == 5.9685
    assert all(b.events == 0 for b in group.bins if b.lo < 5.9)


def test_what_lies_below_the_first_edge_is_counted_whatever_is_cut(store_of: Make) -> None:
    trace = store_of(
        [round_("s", i, [call(f"c{i}", 10 * i, 10 * i + d)]) for i, d in enumerate((0.01, 0.06, 1.5, 3.001))]
    )
    for choices in ({}, {"cut_at": [0.05]}):
        assert tracestat.hazard(trace, **choices).head.excluded["below_first_edge"] == 2
    assert tracestat.hazard(trace, first_edge=2.0).head.excluded["below_first_edge"] == 4


def test_laws_name_the_clock_and_say_nothing_false_of_what_it_cannot_tell(store_of: Make) -> None:
    trace = store_of(coarse())
    short = trace.sql("SELECT count(*) FROM pauses WHERE seconds <= 5.9685").item()
    for answer in (tracestat.fit_laws(trace, draws=50).head.excluded, tracestat.to_lifelines(trace).excluded):
        assert answer["below_resolution"] == short
        assert not answer.get("below_first_edge")
    (group,) = tracestat.fit_laws(trace, draws=50).groups
    assert group.n_fitted == 1_200 - short
    assert group.notes[0] == "1,200 rows are timed by a clock too coarse for the first edge, counted from 5.9685 s on"
    (group,) = tracestat.fit_laws(store_of([round_("s", 0, [call("c", 10, 13)])])).groups
    assert group.notes == (
        "1 row is timed by a clock too coarse for the first edge, counted from 5.9685 s on",
        "no law: nothing lasts longer than 5.9685 s",
    )
    assert "below_resolution" not in tracestat.fit_laws(trace, above=10.0, draws=50).head.excluded
