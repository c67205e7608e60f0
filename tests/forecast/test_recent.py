"""The helper for the key ``recent``: known vectors, and the same as the query gives on a store."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracestat
from tests.traces import call, round_
from tracestat.durations import select
from tracestat.durations.forecast import forecast_rows
from tracestat.errors import UsageError


def test_known_vectors() -> None:
    assert tracestat.recent_of([]) is None
    assert tracestat.recent_of([3.0]) == pytest.approx(3.0)
    assert tracestat.recent_of([8.0, 1.0]) == pytest.approx(4.0)
    assert tracestat.recent_of(iter([1.0, 8.0])) == pytest.approx(2.0)
    # below a millisecond there is nothing to tell, and zero has no logarithm
    assert tracestat.recent_of([0.0]) == pytest.approx(1e-3)
    five = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert tracestat.recent_of([*five, 1e9]) == tracestat.recent_of(five)
    assert tracestat.recent_of(five) == pytest.approx(exp(log(2) * (1 / 2 + 2 / 4 + 3 / 8 + 4 / 16) * 16 / 31))


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_what_is_no_length(wrong: float) -> None:
    with pytest.raises(UsageError, match=r"recent: .* is no length of a pause"):
        tracestat.recent_of([1.0, wrong])


@given(st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=8))
def test_it_lies_among_its_lengths(lengths: list[float]) -> None:
    found = tracestat.recent_of(lengths)
    assert found is not None
    assert min(lengths[:5]) * (1 - 1e-9) <= found <= max(lengths[:5]) * (1 + 1e-9)


def test_it_is_what_the_query_gives(store_of: Callable[..., tracestat.Trace]) -> None:
    lengths = np.random.default_rng(0).lognormal(0, 2, 9).round(3).tolist()
    rows = [round_("s", i, [call(f"c{i}", 1e5 * i, 1e5 * i + length, "Read")]) for i, length in enumerate(lengths)]
    trace = store_of(rows)
    frame = forecast_rows(trace, select(trace))
    assert frame["seconds"].to_list() == pytest.approx(lengths)
    for i, found in enumerate(frame["recent"].to_list()):
        own = tracestat.recent_of(lengths[:i][::-1])
        assert found == (None if own is None else pytest.approx(own, rel=1e-9))
