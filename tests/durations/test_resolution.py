"""The step of a clock, told from the stamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.traces import Row, call, round_

Make = Callable[[list[Row]], Any]


@pytest.mark.parametrize(
    ("ends", "step"),
    [
        ([3.0, 14.0, 27.0], 1.0),  # whole seconds from a start that is not one: the proxy's clock
        ([3.2, 14.1, 27.9], 1e-3),
        ([3.0, 14.1, 27.9], 1e-3),
    ],
)
def test_whole_seconds_at_the_end_are_a_clock_of_seconds(store_of: Make, ends: list[float], step: float) -> None:
    rows = [round_("s", i, [call(f"c{i}", end - 1.37, end, None)]) for i, end in enumerate(ends)]
    trace = store_of(rows)
    for table in ("pauses", "calls"):
        found = trace.sql(f"SELECT DISTINCT resolution_seconds AS step FROM {table}")["step"].to_list()
        assert found == [step]
