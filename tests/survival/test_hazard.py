"""The hazard of one group from cells: bins, holes, the exact power law with holes, what is missing and why."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tracestat.survival.bins import DEFAULT_EDGES, Grid, Window, deadline_window
from tracestat.survival.exposure import cell_sums, events_and_exposure
from tracestat.survival.hazard import (
    Cells,
    SessionCells,
    TimeCounts,
    fit_range,
    hazard_bins,
    range_data,
    session_cells,
    within_keys,
)
from tracestat.survival.slope import power_law_slope

Floats = NDArray[np.float64]


def cells_of(
    times: Floats, events: NDArray[np.bool_], session: NDArray[np.intp], developer: NDArray[np.intp], grid: Grid
) -> Cells:
    """A row per session and cell, as the database gives them."""
    n = int(session.max()) + 1
    exits, event, time = cell_sums(times, events, grid.edges, clusters=session, n_clusters=n)
    where = np.nonzero(exits)
    return Cells(where[0], developer[where[0]], where[1], event[where], exits[where], time[where] * 1e6)


def sample(
    n_sessions: int = 60, each: int = 40, seed: int = 3
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    times = np.round(rng.weibull(0.4, n_sessions * each) * 4, 3)
    session = np.repeat(np.arange(n_sessions), each)
    return times, rng.random(times.size) > 0.05, session, np.arange(n_sessions) // 3


def test_cells_give_what_rows_give() -> None:
    times, events, session, developer = sample()
    holes = [deadline_window(t) for t in (5.0, 120.0)]
    grid = Grid.refine([DEFAULT_EDGES], holes)
    data = session_cells(cells_of(times, events, session, developer, grid), grid)
    cut = np.broadcast_to(grid.in_holes(holes), data.events.shape)
    for mask, windows in ((None, []), (cut, holes)):
        found = range_data(data, grid, DEFAULT_EDGES, mask)
        D, X = events_and_exposure(times, events, DEFAULT_EDGES, holes=windows)
        np.testing.assert_array_equal(found.D.sum(axis=0), D)
        np.testing.assert_allclose(found.X.sum(axis=0), X, rtol=1e-9, atol=1e-6)
        bins, _ = hazard_bins(data, grid, DEFAULT_EDGES, mask)
        assert [b.events for b in bins[:-1]] == D.astype(int).tolist()
        assert bins[-1].hi is None


def exact_with_holes(times: Floats, events: NDArray[np.bool_], start: float, stop: float, holes: list[Window]) -> float:
    """Split every row by hand, then fit."""
    pieces: list[tuple[float, float, bool]] = []
    for time, seen in zip(times, events, strict=True):
        entry = start
        for low, high in holes:
            if time < low or entry >= high:  # a value on the lower end lies in the hole
                continue
            if entry < low:
                pieces.append((entry, min(time, low), bool(seen) and time < low))
            entry = high
        if time > entry:
            pieces.append((entry, time, bool(seen)))
    kept = [p for p in pieces if p[1] > p[0]]
    entries, exits, seen_ = (np.array(column) for column in zip(*kept, strict=True))
    fit = power_law_slope(exits, seen_.astype(float), 1.0 - seen_, start, stop, entry=entries)
    assert fit is not None
    return fit.slope


@pytest.mark.parametrize("taus", [(), (5.0,), (1.0, 5.0, 30.0), (0.13,)])
def test_exact_power_law_with_holes(taus: tuple[float, ...]) -> None:
    times, events, session, developer = sample(each=80)
    holes = [deadline_window(t) for t in taus]
    grid = Grid.refine([DEFAULT_EDGES], holes)
    data = session_cells(cells_of(times, events, session, developer, grid), grid)
    cut = np.broadcast_to(grid.in_holes(holes), data.events.shape)
    ranged = range_data(data, grid, DEFAULT_EDGES, cut)
    distinct, where = np.unique(times, return_inverse=True)
    counts = TimeCounts(distinct, np.bincount(where, events), np.bincount(where, ~events))
    fit = fit_range(ranged, counts, holes)
    assert ranged.range is not None
    assert fit.slope.weibull.value == pytest.approx(exact_with_holes(times, events, *ranged.range, holes), abs=1e-9)


def test_a_hole_takes_no_slope_away_from_a_power_law() -> None:
    # quantiles of a Weibull law with slope -0.6, as in the vectors; every fourth row that reaches 5 s ends there
    rank = (np.arange(1, 2001) - 0.5) / 2000
    times = (-np.log(1 - rank) / 0.3) ** 2.5
    times[(times > 5) & (np.arange(times.size) % 4 == 0)] = 5.01
    session = np.arange(times.size) % 50
    holes = [deadline_window(5.0)]
    grid = Grid.refine([DEFAULT_EDGES], holes)
    data = session_cells(cells_of(times, np.ones(times.size, dtype=bool), session, np.arange(50), grid), grid)
    cut = np.broadcast_to(grid.in_holes(holes), data.events.shape)
    kept, without = (fit_range(range_data(data, grid, DEFAULT_EDGES, mask)).slope.poisson.value for mask in (None, cut))
    assert without == pytest.approx(-0.6, abs=0.01)
    assert kept is not None
    assert abs(kept + 0.6) > 0.02


@pytest.mark.parametrize(
    ("n_sessions", "each", "says"), [(10, 200, "10 clusters, 20 needed"), (40, 3, "events, 100 needed")]
)
def test_too_little_data_is_an_answer(n_sessions: int, each: int, says: str) -> None:
    times, events, session, developer = sample(n_sessions, each)
    grid = Grid.refine([DEFAULT_EDGES])
    data = session_cells(cells_of(times, events, session, developer, grid), grid)
    fit = fit_range(range_data(data, grid, DEFAULT_EDGES))
    assert fit.slope.poisson.value is None
    assert not fit.available
    assert says in fit.notes[0]


def test_one_session_gets_exact_intervals() -> None:
    times, events, _, _ = sample()
    one = np.zeros(times.size, dtype=np.intp)
    grid = Grid.refine([DEFAULT_EDGES])
    bins, effect = hazard_bins(session_cells(cells_of(times, events, one, one[:1], grid), grid), grid, DEFAULT_EDGES)
    assert bins[0].hazard.method == "session exact Poisson"
    assert effect[0] is None


def test_within_keys_undoes_mixing() -> None:
    rng = np.random.default_rng(5)
    n_keys, each = 40, 200
    key = np.repeat(np.arange(n_keys), each)
    rate = np.exp(rng.normal(0, 1.5, n_keys))[key]
    times = rng.exponential(1 / rate) * 5
    session = rng.integers(0, 120, times.size)
    grid = Grid.refine([DEFAULT_EDGES])
    # one row per (session, key, cell)
    code = session * n_keys + key
    exits, event, time = cell_sums(times, np.ones(times.size, bool), grid.edges, clusters=code, n_clusters=120 * n_keys)
    where = np.nonzero(exits)
    cells = Cells(
        where[0] // n_keys, (where[0] // n_keys) // 4, where[1], event[where], exits[where], time[where] * 1e6
    )
    data = session_cells(cells, grid)
    ranged = range_data(data, grid, DEFAULT_EDGES)
    fit = fit_range(ranged)
    constant = np.zeros(cells.cell.size, dtype=np.intp)
    found = within_keys(cells, {("key",): where[0] % n_keys, ("constant",): constant}, grid, ranged, fit)
    by_key, by_constant = found
    assert fit.slope.poisson.value is not None
    assert fit.slope.poisson.value < -0.2
    assert by_key.slope.value == pytest.approx(0.0, abs=0.06)
    assert by_key.slope.low is not None
    assert by_key.slope.high is not None
    assert by_key.slope.low < 0 < by_key.slope.high
    assert by_key.share_mixing == pytest.approx(1.0, abs=0.2)
    assert by_constant.slope.value is None
    assert by_constant.notes == ("only one key",)


def test_empty_cells() -> None:
    nothing = np.empty(0, dtype=np.intp)
    grid = Grid.refine([DEFAULT_EDGES])
    data = session_cells(Cells(nothing, nothing, nothing, *(np.empty(0) for _ in range(3))), grid)
    assert isinstance(data, SessionCells)
    assert range_data(data, grid, DEFAULT_EDGES).range is None
