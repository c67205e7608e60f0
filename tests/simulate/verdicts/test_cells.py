"""A table of runs put in order, and comparisons over common seeds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.verdicts.frames import row, runs, table
from tracestat.errors import UsageError
from tracestat.simulate.verdicts.cells import cells_of, common, fixed_of, stable_under


def test_policies_of_one_configuration_come_together_in_order_of_seeds() -> None:
    frame = table(
        [row("P2", 1, wait=4.0), row("P1", 1, wait=2.0), row("P1", 0, wait=1.0), row("P2", 0, wait=3.0, eta=0.5)]
    )
    (cell,) = cells_of(frame)
    assert list(cell.runs) == [("P1", None), ("P2", None), ("P2", 0.5)]
    base = cell.of("P1")
    assert base is not None
    assert base.seeds.tolist() == [0, 1]
    assert base["post_tool_p99"].tolist() == [1.0, 2.0]
    assert cell.times_pool == pytest.approx(1.874, abs=1e-3)
    assert fixed_of([cell]) == {}


def test_what_is_the_same_everywhere_is_told_where_it_is_no_default() -> None:
    cells = cells_of(table([row("P1", 0, load=1.0, hours=0.5), row("P1", 0, load=2.0, hours=0.5)]))
    assert fixed_of(cells) == {"hours": 0.5}


def test_p0_stands_in_each_configuration_that_differs_in_the_tier_alone() -> None:
    rows = [row("P0", 0, wait=9.0, host_gb=0.0)]
    rows += [row("P1", 0, host_gb=gb, load=load) for gb in (8.0, 20.0) for load in (4.0, 2.0)]
    cells = cells_of(table(rows))
    assert [(c.settings["load"], c.settings["host_gb"], ("P0", None) in c.runs) for c in cells] == [
        (2.0, 8.0, False),
        (2.0, 20.0, False),
        (4.0, 8.0, True),
        (4.0, 20.0, True),
    ]
    # alone it is a configuration of its own
    assert len(cells_of(table(rows[:1]))) == 1


def test_common_seeds_and_those_left_out() -> None:
    (cell,) = cells_of(table([*runs("P1", [1.0, 2.0, 3.0]), row("P2", 2, wait=6.0), row("P2", 7, wait=9.0)]))
    (ours, theirs), left = common(cell.runs["P2", None], cell.runs["P1", None])
    assert ours["post_tool_p99"].tolist() == [6.0]
    assert theirs["post_tool_p99"].tolist() == [3.0]
    assert left == 3


def test_stability_is_that_of_p1() -> None:
    def cell(*ratios: float, policy: str = "P1") -> object:
        return stable_under(cells_of(table(row(policy, i, waiting_ratio=r) for i, r in enumerate(ratios)))[0])

    assert cell(1.0, 1.5) is True
    assert cell(1.0, float("inf")) is False
    assert cell(1.0, float("nan")) is False
    assert cell(1.0, policy="P2") is None


def test_what_is_missing_or_twice_is_one_line() -> None:
    with pytest.raises(UsageError, match="no column post_tool_p99, pool_tokens"):
        cells_of(table([row("P1", 0)]).drop("post_tool_p99", "pool_tokens"))
    with pytest.raises(UsageError, match="policy P1 has seed 3 twice"):
        cells_of(table([row("P1", 3), row("P1", 3)]))


def test_nulls_are_no_numbers() -> None:
    (cell,) = cells_of(table([row("P1", 0, deadline_p99=None)]))
    assert np.isnan(cell.runs["P1", None]["deadline_p99"]).all()
