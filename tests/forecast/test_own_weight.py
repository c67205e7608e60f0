"""Weights of own rows: against the mixture that they are the weights of, and against all ends by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.forecast.grid import Grid
from tracestat.forecast.own_weight import own_weights
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.tree import ForecastTree, fit_tree

GRID = Grid(np.array([0.0, 1.0, 4.0, 16.0, 64.0]))


def tree_of(seed: int, kappas: tuple[float, ...], n: int = 120) -> ForecastTree:
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
    return fit_tree(rows, ("tool_class", "tool"), GRID, kappas=kappas)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1_000), st.floats(0.5, 500), st.floats(0.5, 500))
def test_weight_is_the_mean_weight_in_the_mixture(seed: int, first: float, second: float) -> None:
    """Solve each bin's hazard for the weight that mixes own rows and parent, and average it over the curve's ends."""
    tree = tree_of(seed, (first, second, 20.0))
    found = own_weights(tree)
    assert (found.weight[0], found.used[0]) == (1.0, 0)
    for depth in (1, 2):
        q, counts = tree.shrinkage.hazards[depth], tree.shrinkage.counts[depth]
        parents = tree.nesting.levels[depth - 1].parents
        for node in range(len(q)):
            above, alive, mean = tree.shrinkage.hazards[depth - 1][parents[node]], 1.0, 0.0
            for j in range(GRID.n_bins):
                reached = counts.reached[node, j]
                own = counts.ended[node, j] / reached if reached > 0 else 0.0
                # where own rows agree with the parent every weight mixes alike: take the formula's
                apart = abs(own - above[j]) > 1e-6
                kappa = tree.shrinkage.kappas[depth - 1].kappa
                w = (q[node, j] - above[j]) / (own - above[j]) if apart else reached / (reached + kappa)
                mean += alive * q[node, j] * (w if reached > 0 else 0.0)
                alive *= 1 - q[node, j]
            assert found.weight[tree.starts[depth] + node] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize(("kappas", "level"), [((1e9, 1e9, 20.0), 0), ((1e-6, 1e9, 20.0), 1), ((1e9, 1e-6, 20.0), 2)])
def test_the_level_that_carries_half_follows_the_precisions(kappas: tuple[float, ...], level: int) -> None:
    tree = tree_of(3, kappas, n=2_000)
    found = own_weights(tree)
    lowest = found.used[tree.starts[2] :]
    assert set(lowest.tolist()) == {level}
    weight = found.weight[tree.starts[2] :]
    assert (weight > 0.9).all() if level == 2 else (weight < 1e-3).all()


def test_rows_of_a_key_below_count_as_those_of_the_key_above_it() -> None:
    """Two levels with 40 % own weight each: neither carries half alone, the rows of the upper one carry 64 %."""
    tree = tree_of(0, (50.0, 20.0, 20.0), n=600)
    found = own_weights(tree)
    for node in range(tree.nesting.levels[1].size):
        own = found.weight[tree.starts[2] + node]
        above = found.weight[tree.starts[1] + tree.nesting.levels[1].parents[node]]
        if own < 0.45 and 1 - (1 - own) * (1 - above) > 0.6:
            assert found.used[tree.starts[2] + node] == 1
            break
    else:
        pytest.fail("no node of this kind: choose other precisions")
