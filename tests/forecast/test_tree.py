"""Which curve answers for a row, and rows that are few or odd."""

from __future__ import annotations

import numpy as np
import pytest

from tests.forecast.drawn_rows import rows_with
from tracestat.forecast.grid import Grid
from tracestat.forecast.tree import fit_tree

GRID = Grid(np.array([0.0, 1.0, 4.0, 16.0]))
KEYS = ("tool", "developer")
ROWS = rows_with({"tool": [0, 0, 1, 1], "developer": [0, 1, 0, 0]}, [0, 1, 2, 2], [0.5, 2.0, 3.0, 40.0])


def test_a_row_falls_to_the_lowest_level_that_has_seen_its_keys() -> None:
    tree = fit_tree(ROWS, KEYS, GRID)
    assert tree.starts == (0, 1, 3)
    assert tree.curves().size == 6
    asked = rows_with({"tool": [0, 1, 1, 2], "developer": [1, 0, 1, 0]}, [7] * 4, [0.0] * 4)
    # both keys seen; both seen; the developer never with this tool; the tool never
    assert tree.place(asked).tolist() == [4, 5, 2, 0]
    assert tree.place(asked, 1).tolist() == [1, 2, 2, 0]
    assert tree.place(asked, 0).tolist() == [0, 0, 0, 0]


def test_the_curve_of_a_key_follows_from_its_counts_and_its_parent() -> None:
    tree = fit_tree(ROWS, KEYS, GRID, kappas=[2.0, 3.0, 5.0])
    # two rows of one session, at kappa 5, count 2 (5 + 1)/(5 + 2) where both are there
    pair = 12 / 7
    assert tree.shrinkage.counts[2].reached[2].tolist() == pytest.approx([pair, pair, 1.0])
    assert tree.shrinkage.counts[2].ended[2].tolist() == pytest.approx([0.0, pair / 2, 0.0])
    own, above = tree.shrinkage.hazards[2][2], tree.shrinkage.hazards[1][1]
    assert own == pytest.approx((np.array([0.0, pair / 2, 0.0]) + 3 * above) / (np.array([pair, pair, 1.0]) + 3))
    assert np.exp(tree.curves().log_survival[5, 1:]) == pytest.approx(np.cumprod(1 - own))


def test_raw_counts_know_no_sessions() -> None:
    one = rows_with(dict(ROWS.codes), [0, 0, 0, 0], ROWS.seconds)
    raw, same = (fit_tree(rows, KEYS, GRID, effective=False).shrinkage for rows in (ROWS, one))
    assert len(raw.kappas) == len(raw.counts) - 1 == len(KEYS)
    assert [q.tolist() for q in raw.hazards] == [q.tolist() for q in same.hazards]
    assert raw.counts[0].reached.tolist() == [[4, 3, 1]]


def test_the_hidden_level_is_sessions_within_the_lowest_keys() -> None:
    shrinkage = fit_tree(ROWS, KEYS, GRID).shrinkage
    assert [counts.reached.shape for counts in shrinkage.counts] == [(1, 3), (2, 3), (3, 3), (3, 0)]
    assert len(shrinkage.kappas) == 3
    assert len(shrinkage.hazards) == 3


def test_rows_beyond_the_grid_set_its_tail() -> None:
    assert fit_tree(ROWS, KEYS, GRID).alpha == pytest.approx(2 / (np.log(40 / 16) + 1))
    censored = rows_with(dict(ROWS.codes), ROWS.session, ROWS.seconds, [True, True, True, False])
    assert fit_tree(censored, KEYS, GRID).alpha == 1.0


@pytest.mark.parametrize("effective", [True, False])
@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n: int, effective: bool) -> None:
    rows = rows_with({"tool": [0] * n, "developer": [0] * n}, [0] * n, [2.0] * n)
    tree = fit_tree(rows, KEYS, GRID, effective=effective)
    assert tree.shrinkage.hazards[0][0] == pytest.approx([0.25, 0.75, 0.5] if n else [0.5] * 3)
    assert {fit.note for fit in tree.shrinkage.kappas} == {"nothing to learn from"}
    assert tree.place(ROWS).tolist() == ([3 - 1, 1, 0, 0] if n else [0] * 4)
