from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survival.data import quick
from tracestat.errors import TracestatError, UsageError
from tracestat.survival.bins import (
    DEADLINES,
    DEFAULT_EDGES,
    FINE_EDGES,
    RATIO,
    Grid,
    bin_centres,
    bin_edges,
    deadline_window,
    shifted_edges,
)


def test_the_search_gives_the_default_edges() -> None:
    assert bin_edges(0.1, 19) == DEFAULT_EDGES
    assert len(DEFAULT_EDGES) == 19


def test_the_offsets_that_give_the_default_edges() -> None:
    # every edge allows an interval of starts; they have this narrow one in common
    edges, powers = np.array(DEFAULT_EDGES), RATIO ** np.arange(19)
    low = np.max(np.floor(edges * 1000) / 1000 / powers)
    high = np.min((np.floor(edges * 1000) + 1) / 1000 / powers)
    assert low == pytest.approx(0.128578, abs=1e-12)
    assert high == pytest.approx(0.128578003929, abs=1e-12)
    assert low < 0.1 * RATIO**0.393 < high


@pytest.mark.parametrize("edges", [DEFAULT_EDGES, bin_edges(0.01, 25), bin_edges(0.5, 8)])
def test_no_edge_lies_in_a_deadline_window_or_on_a_millisecond(edges: tuple[float, ...]) -> None:
    values = np.array(edges)
    for tau in DEADLINES:
        assert not np.any((values >= 0.995 * tau) & (values <= 1.05 * tau))
    assert np.allclose(values * 1000 % 1, 0.5, atol=1e-6)


@pytest.mark.parametrize("first", [0.02, 0.1, 0.35])
def test_no_other_offset_keeps_farther_from_the_deadlines(first: float) -> None:
    def distance(log_edges: np.ndarray) -> float:
        return min(
            max(np.log(0.995 * tau) - e, e - np.log(1.05 * tau)) for tau in DEADLINES for e in log_edges.tolist()
        )

    found = np.log(np.array(bin_edges(first, 15)))
    others = [np.log(first) + (offset + np.arange(15)) * np.log(RATIO) for offset in np.linspace(0, 1, 97)]
    assert distance(found) > max(distance(e) for e in others) - 0.01  # the half millisecond moves small edges


def test_custom_deadlines_and_none() -> None:
    assert bin_edges(1.0, 3, 2.0, ()) == (1.0005, 2.0005, 4.0005)
    edges = np.array(bin_edges(1.0, 4, 2.0, (2.0,)))
    assert not np.any((edges >= 1.99) & (edges <= 2.1))


@pytest.mark.parametrize("arguments", [(0.0, 5), (0.1, 1), (0.1, 5, 1.0), (0.0001, 5)])
def test_impossible_edges_are_a_usage_error(arguments: tuple[float, int]) -> None:
    with pytest.raises(UsageError):
        bin_edges(*arguments)


def test_the_moved_origin_lies_half_way() -> None:
    moved = np.log(np.array(shifted_edges(DEFAULT_EDGES)))
    assert len(moved) == 19
    assert np.allclose(moved[:-1], bin_centres(DEFAULT_EDGES), atol=5e-3)
    assert np.allclose(np.exp(moved) * 1000 % 1, 0.5, atol=1e-6)


def test_fine_edges() -> None:
    assert len(FINE_EDGES) == 258
    assert FINE_EDGES[0] == 0
    assert FINE_EDGES[1] == pytest.approx(1e-3, rel=1e-12)
    assert FINE_EDGES[-1] == pytest.approx(1e6, rel=1e-12)


@pytest.mark.parametrize(
    ("tau", "overhead", "window"),
    [(1, 0, (0.995, 1.05)), (1, 0.5, (0.995, 1.5)), (30, 0.5, (29.85, 31.5)), (5, 0.5, (4.975, 5.5))],
)
def test_deadline_window(tau: float, overhead: float, window: tuple[float, float]) -> None:
    assert deadline_window(tau, overhead) == window


@pytest.mark.parametrize("arguments", [(0.0, 0.0), (1.0, -0.1)])
def test_deadline_window_refuses(arguments: tuple[float, float]) -> None:
    with pytest.raises(UsageError):
        deadline_window(*arguments)


def test_grid_cells_belong_to_bins_of_every_set() -> None:
    holes = ((0.995, 1.05), (4.975, 5.25))
    moved = shifted_edges(DEFAULT_EDGES)
    grid = Grid.refine([DEFAULT_EDGES, moved], holes)
    assert grid.n_cells == 1 + 19 + 19 + 4
    for edges in (DEFAULT_EDGES, moved):
        bins = grid.base_bins(edges)
        assert bins[0] == -1
        assert bins[-1] == 18
        for cell, bin_ in enumerate(bins.tolist()):
            assert bin_ == sum(e <= grid.edges[cell] for e in edges) - 1
    inside = grid.in_holes(holes)
    assert [grid.edges[c] for c in np.flatnonzero(inside)] == [0.995, 4.975]
    assert not grid.in_holes(()).any()


def test_overlapping_holes_are_one_mask() -> None:
    holes = ((1.0, 3.0), (2.0, 4.0))
    grid = Grid.refine([(0.5, 8.0)], holes)
    assert grid.in_holes(holes).tolist() == [False, False, True, True, True, False, False]


def test_grid_refuses_what_is_not_on_it() -> None:
    grid = Grid.refine([(1.0, 2.0)])
    with pytest.raises(TracestatError, match=r"1\.5 s"):
        grid.base_bins((1.0, 1.5))
    with pytest.raises(TracestatError):
        grid.in_holes([(1.0, 1.5)])


@pytest.mark.parametrize("edges", [(), (1.0, 2.0), (0.0, 2.0, 2.0)])
def test_grid_edges_begin_at_zero_and_increase(edges: tuple[float, ...]) -> None:
    with pytest.raises(UsageError):
        Grid(edges)


@quick
@given(
    first=st.floats(0.01, 10),
    n=st.integers(2, 25),
    ratio=st.floats(1.3, 4),
    tau=st.lists(st.floats(0.1, 1e3), max_size=3),
)
def test_edges_increase_and_start_within_one_ratio(first: float, n: int, ratio: float, tau: list[float]) -> None:
    edges = np.array(bin_edges(first, n, ratio, tau))
    assert np.all(np.diff(edges) > 0)
    assert first - 0.0005 <= edges[0] < first * ratio + 0.0005
    assert np.allclose(np.diff(np.log(edges)), np.log(ratio), atol=0.0011 / first)
