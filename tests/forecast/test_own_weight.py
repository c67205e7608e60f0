"""Weights of own rows: against the mixture that they are the weights of, and against all ends by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.forecast.counts import Counts, count_exits
from tracestat.forecast.grid import Grid
from tracestat.forecast.own_weight import own_weights
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.tree import ForecastTree, fit_tree

GRID = Grid(np.array([0.0, 1.0, 4.0, 16.0, 64.0]))


def tree_of(
    seed: int, kappas: tuple[float, ...], n: int = 120, path: tuple[str, ...] = ("tool_class", "tool")
) -> tuple[ForecastTree, Counts]:
    """Give a tree of invented rows, and the raw counts of the nodes of its lowest level."""
    rng = np.random.default_rng(seed)
    top = rng.integers(0, 3, n)
    low = rng.integers(0, 4, n)
    rows = PauseRows(
        {"tool_class": top, "tool": low},
        {"tool_class": ("a", "b", "c"), "tool": ("w", "x", "y", "z")},
        session=rng.integers(0, 9, n),
        developer=np.zeros(n, dtype=np.intp),
        started=np.zeros(n),
        seconds=rng.exponential(1 + 4 * top),
        observed=rng.random(n) < 0.9,
    )
    tree = fit_tree(rows, path, GRID, kappas=kappas)
    node = tree.place(rows) - tree.starts[-1]
    bins = GRID.place(rows.seconds)
    return tree, count_exits(node, int(node.max()) + 1, bins, GRID.n_bins, rows.observed, np.ones(n))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1_000), st.floats(0.5, 500), st.floats(0.5, 500))
def test_weight_is_the_mean_weight_in_the_mixture(seed: int, first: float, second: float) -> None:
    """Solve each bin's hazard for the weight that mixes own rows and parent, and average it over the curve's ends."""
    tree, counts = tree_of(seed, (first, second, 20.0))
    found = own_weights(tree, counts)
    parents = tree.nesting.levels[1].parents
    for node, q in enumerate(found.hazards):
        above, alive, mean = tree.shrinkage.hazards[1][parents[node]], 1.0, 0.0
        for j in range(GRID.n_bins):
            reached, evidence = counts.reached[node, j], tree.shrinkage.counts[2].reached[node, j]
            own = counts.ended[node, j] / reached if reached > 0 else 0.0
            assert min(own, above[j]) - 1e-12 <= q[j] <= max(own, above[j]) + 1e-12
            # where own rows agree with the parent every weight mixes alike: take the formula's
            apart = abs(own - above[j]) > 1e-6
            w = (q[j] - above[j]) / (own - above[j]) if apart else evidence / (evidence + second)
            mean += alive * q[j] * (w if reached > 0 else 0.0)
            alive *= 1 - q[j]
        assert found.weight[node] == pytest.approx(mean, abs=1e-6)


def test_the_root_is_the_curve_of_all_rows() -> None:
    tree, counts = tree_of(1, (20.0,), path=())
    found = own_weights(tree, counts)
    assert found.hazards == pytest.approx((counts.ended + 0.5) / (counts.reached + 1))
    assert counts.reached[0, 0] == 120
    assert (found.weight.tolist(), found.used.tolist()) == ([1.0], [0])


def test_many_sessions_keep_their_curve_and_many_rows_of_one_session_do_not() -> None:
    """Two keys of 900 rows each beside a third of its own kind: one of 300 sessions, the other of a single one."""
    n = 900
    seconds = np.tile([0.5, 2.0, 8.0], n)
    key = np.repeat([0, 1, 2], n)
    seconds[key == 2] = 30.0
    session = np.concatenate([np.arange(n) % 300, np.full(n, 300), 301 + np.arange(n) % 300]).astype(np.intp)
    zeros = np.zeros(3 * n)
    rows = PauseRows(
        {"tool": key}, {"tool": ("many", "one", "late")}, session, zeros.astype(np.intp), zeros, seconds, zeros == 0
    )
    tree = fit_tree(rows, ("tool",), GRID, kappas=(10.0, 4.0))
    counts = count_exits(key, 3, GRID.place(seconds), GRID.n_bins, rows.observed, np.ones(3 * n))
    found = own_weights(tree, counts)
    assert found.hazards[0, 0] == pytest.approx(1 / 3, abs=0.01)
    assert found.weight[0] > 0.95
    assert found.hazards[1, 0] < 0.25
    assert found.weight[1] < 0.5


@pytest.mark.parametrize(("kappas", "level"), [((1e9, 1e9, 20.0), 0), ((1e-6, 1e9, 20.0), 1), ((1e9, 1e-6, 20.0), 2)])
def test_the_level_that_carries_half_follows_the_precisions(kappas: tuple[float, ...], level: int) -> None:
    found = own_weights(*tree_of(3, kappas, n=2_000))
    assert set(found.used.tolist()) == {level}
    assert (found.weight > 0.9).all() if level == 2 else (found.weight < 1e-3).all()


def test_rows_of_a_key_below_count_as_those_of_the_key_above_it() -> None:
    """Two levels with 40 % own weight each: neither carries half alone, the rows of the upper one carry 64 %."""
    tree, counts = tree_of(0, (50.0, 20.0, 20.0), n=600)
    found = own_weights(tree, counts)
    upper = tree.shrinkage.counts[1].reached / (tree.shrinkage.counts[1].reached + 50.0)
    low = tree.shrinkage.counts[2].reached / (tree.shrinkage.counts[2].reached + 20.0)
    above = upper[tree.nesting.levels[1].parents]
    both = 1 - (1 - low) * (1 - above)
    some = (found.weight < 0.45) & (both[:, :2].min(axis=1) > 0.6)
    assert some.any(), "no node of this kind: choose other precisions"
    assert set(found.used[some].tolist()) == {1}
