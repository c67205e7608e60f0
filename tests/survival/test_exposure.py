from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import chi2

from tests.survival.data import WEIBULL, Floats, R, quick, rows
from tracestat.errors import TracestatError
from tracestat.survival.bins import DEFAULT_EDGES, Grid
from tracestat.survival.exposure import (
    cell_sums,
    events_and_exposure,
    exposure_from_exits,
    group_cells,
    poisson_interval,
)

NINE = [0.5, 1, 2, 2, 3, 4, 5, 10]
SEEN = [1, 1, 1, 0, 1, 1, 0, 1]
EDGES = (1.0, 2.0, 4.0, 8.0)


def by_definition(
    times: Floats, events: Floats, edges: tuple[float, ...], entry: Floats | None = None, holes: tuple[Any, ...] = ()
) -> tuple[Floats, Floats]:
    """Row by row, as the definition says; holes must not overlap."""
    entry = np.zeros(len(times)) if entry is None else entry
    D, X = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for t, e, s in zip(times, events, entry, strict=True):
        for j, (lo, hi) in enumerate(pairwise(edges)):
            X[j] += max(0.0, min(t, hi) - max(s, lo))
            D[j] += bool(e) and lo <= t < hi and not any(a <= t < b for a, b in holes)
            for a, b in holes:
                X[j] -= max(0.0, min(t, hi, b) - max(s, lo, a))
    return D, X


def test_values_on_edges_go_up() -> None:
    D, X = events_and_exposure(NINE, SEEN, EDGES)
    assert D.tolist() == [1, 2, 1]
    assert_allclose(X, [6, 7, 5], rtol=1e-12)
    assert_allclose(D / X, [0.166666666667, 0.285714285714, 0.2], rtol=1e-9)


def test_late_entry() -> None:
    D, X = events_and_exposure(NINE, SEEN, EDGES, entry=[0, 0, 0, 1, 1.5, 0, 2, 3])
    assert D.tolist() == [1, 2, 1]
    assert_allclose(X, [3.5, 6, 5], rtol=1e-12)


def test_a_hole_takes_its_events_and_exposure() -> None:
    D, X = events_and_exposure([0.5, 1, 1.02, 2, 4], [1] * 5, (0.8, 3.0), holes=[(0.995, 1.05)])
    assert D.tolist() == [1]
    assert_allclose(X, 3.68, rtol=1e-12)


def test_weibull_sample() -> None:
    D, X = events_and_exposure(WEIBULL, np.ones(1000), DEFAULT_EDGES)
    assert D.tolist() == R["weibull"]["events"]
    assert_allclose(X[4], R["weibull"]["exposure_of_bin_5"], rtol=1e-9)


def test_exact_poisson_interval() -> None:
    low, high = poisson_interval([7, 0], [3.5, 3.5])
    assert_allclose(low, [0.804103729006, 0], rtol=1e-9)
    assert_allclose(high, [4.12076438906, 1.05396555832], rtol=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_poisson_interval_is_chi_squared(level: float) -> None:
    D, X = np.array([1, 2, 30, 1000]), np.array([1.0, 5.0, 2.0, 7.0])
    low, high = poisson_interval(D, X, level)
    assert_allclose(low, chi2.ppf((1 - level) / 2, 2 * D) / 2 / X, rtol=1e-12)
    assert_allclose(high, chi2.ppf((1 + level) / 2, 2 * D + 2) / 2 / X, rtol=1e-12)


def test_no_exposure_has_no_interval() -> None:
    low, high = poisson_interval([0], [0.0])
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_exits_of_one_open_cell() -> None:
    assert exposure_from_exits([2], [7.0], (0.0,)).tolist() == [7.0]


def test_exposure_needs_matching_cells() -> None:
    with pytest.raises(TracestatError, match="agree"):
        exposure_from_exits([1, 2], [1.0, 2.0], (0.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("times", "events", "entry"),
    [([-0.1], [1], None), ([np.nan], [1], None), ([np.inf], [1], None), ([1.0], [1], [1.5]), ([1.0], [1, 0], None)],
)
def test_rows_that_cannot_be_are_refused(times: list[float], events: list[int], entry: list[float] | None) -> None:
    with pytest.raises(TracestatError):
        events_and_exposure(times, events, EDGES, entry=entry)


def test_a_row_that_ends_where_it_enters_adds_nothing() -> None:
    plain = events_and_exposure([1.5, 3.0], [1, 1], EDGES)
    more = events_and_exposure([1.5, 3.0, 3.0], [1, 1, 1], EDGES, entry=[0, 0, 3.0])
    for a, b in zip(plain, more, strict=True):
        assert_allclose(a, b, atol=1e-12)


def test_group_cells_drops_what_lies_outside_and_in_holes() -> None:
    D, X = group_cells([[1, 2, 4, 8]], [[1.0, 2.0, 4.0, 8.0]], [-1, 0, 0, 1], 1, keep=[True, True, False, True])
    assert D.tolist() == [[2]]
    assert X.tolist() == [[2.0]]
    D, _ = group_cells([1, 2, 4, 8], [1.0, 2.0, 4.0, 8.0], [-1, 0, 0, 1], 2)
    assert D.tolist() == [6, 8]


@quick
@given(rows(entries=True))
def test_equal_to_the_definition(data: dict[str, Any]) -> None:
    holes = ((0.9, 1.3), (2.25, 5.0))
    D, X = events_and_exposure(data["times"], data["events"], EDGES, data["entry"], holes)
    expected_D, expected_X = by_definition(data["times"], data["events"], EDGES, data["entry"], holes)
    assert_allclose(D, expected_D)
    assert_allclose(X, expected_X, atol=1e-9)


@quick
@given(rows(entries=True), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(data: dict[str, Any], random: Any) -> None:
    order = list(range(data["times"].size))
    random.shuffle(order)
    plain = events_and_exposure(data["times"], data["events"], EDGES, data["entry"])
    mixed = events_and_exposure(data["times"][order], data["events"][order], EDGES, data["entry"][order])
    assert_allclose(plain, mixed, atol=1e-9)


@quick
@given(rows(), st.integers(1, 59))
def test_splitting_a_row_changes_nothing(data: dict[str, Any], ticks: int) -> None:
    # the row is censored at c, and a second row enters there
    c, times, events = ticks * 0.25, data["times"], data["events"]
    long = times > c
    split_times = np.concatenate([np.where(long, c, times), times[long]])
    split_events = np.concatenate([np.where(long, False, events), events[long]])
    split_entry = np.concatenate([np.zeros(times.size), np.full(int(long.sum()), c)])
    assert_allclose(
        events_and_exposure(times, events, EDGES),
        events_and_exposure(split_times, split_events, EDGES, split_entry),
        atol=1e-9,
    )


@quick
@given(rows(entries=True))
def test_exposure_adds_up_to_the_time_in_range(data: dict[str, Any]) -> None:
    _, X = events_and_exposure(data["times"], data["events"], EDGES, data["entry"])
    in_range = np.clip(data["times"], 1, 8) - np.clip(data["entry"], 1, 8)
    assert_allclose(X.sum(), in_range.sum(), atol=1e-9)


@quick
@given(rows(entries=True), st.floats(0.01, 100))
def test_another_unit_divides_the_hazard(data: dict[str, Any], c: float) -> None:
    # times stay off the edges, so that rounding moves nothing across them
    times = data["times"] + 0.1
    D, X = events_and_exposure(times, data["events"], EDGES, data["entry"])
    scaled = tuple(e * c for e in EDGES)
    D_c, X_c = events_and_exposure(times * c, data["events"], scaled, data["entry"] * c)
    assert_allclose(D, D_c)
    assert_allclose(X * c, X_c, atol=1e-9 * c)


@quick
@given(rows(entries=True))
def test_clusters_add_up(data: dict[str, Any]) -> None:
    grid = Grid.refine([EDGES])
    parts = cell_sums(data["times"], data["events"], grid.edges, entry=data["entry"], clusters=data["clusters"])
    whole = cell_sums(data["times"], data["events"], grid.edges, entry=data["entry"])
    merged = cell_sums(data["times"], data["events"], grid.edges, entry=data["entry"], clusters=data["clusters"] // 2)
    for part, total, half in zip(parts, whole, merged, strict=True):
        assert_allclose(part.sum(axis=0), total, atol=1e-9)
        assert_allclose(half[0], part[:2].sum(axis=0), atol=1e-9)
    exposure = exposure_from_exits(parts[0], parts[2], grid.edges)
    assert_allclose(exposure.sum(axis=0), exposure_from_exits(whole[0], whole[2], grid.edges), atol=1e-9)
