"""Ends known to an interval: by hand, against direct maximisation and exact ends, and whether intervals hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.survival.data import CENTRES, Floats, quick
from tests.survival.test_studies import BINS, pauses, true_slope
from tracestat.errors import TracestatError
from tracestat.survival.between_keys import Parts
from tracestat.survival.between_polls import BetweenFit, fit_between, fit_falling, with_lost_information
from tracestat.survival.bins import DEFAULT_EDGES, Grid, shifted_edges
from tracestat.survival.end_shares import Intervals, end_shares
from tracestat.survival.exposure import cell_sums, exposure_from_exits, group_cells
from tracestat.survival.frailty import FrailtyFit, frailty_cells
from tracestat.survival.hazard import Cells, SessionCells
from tracestat.survival.intervals import bin_hazards, slope_jackknife

NONE = Intervals.of(np.empty(0), np.empty(0))


def test_two_intervals_and_two_bins_by_hand() -> None:
    """Two rows in (0, 1], one in (1, 2], one in (0, 2], one censored at 2.

    The rows within 2 s are 4 of 5; of those that say which bin, 2 of 3 say the first. So the bins hold 8/15 and 4/15,
    and 7/15 outlive the first: hazards ln(15/7) and ln(7/3). The row that does not say is shared out 2 to 1.
    """
    data = Intervals.of([0.0, 1.0, 0.0], [1.0, 2.0, 2.0], [2.0, 1.0, 1.0])
    fit = fit_between(data, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0], (0.0, 1.0, 2.0))
    assert fit.converged
    np.testing.assert_allclose(fit.hazard, [np.log(15 / 7), np.log(7 / 3), 0.0], rtol=1e-7, atol=1e-12)
    share, _ = end_shares(data, fit.hazard, fit.edges)
    np.testing.assert_allclose(share, [[1, 0, 0], [0, 1, 0], [2 / 3, 1 / 3, 0]], atol=1e-7)
    np.testing.assert_allclose(fit.events, [8 / 3, 4 / 3, 0.0], atol=1e-6)
    np.testing.assert_allclose(fit.events[:2] / fit.exposure[:2], fit.hazard[:2], rtol=1e-6)


def some_rows(
    seed: int, n: int = 40, edges: tuple[float, ...] = (0.0, 1.0, 3.0, 8.0)
) -> tuple[Intervals, list[Floats]]:
    """Random intervals beside exact, censored and late rows."""
    rng = np.random.default_rng(seed)
    times = np.round(rng.exponential(3.0, n) + 0.001, 3)
    late = np.where(rng.random(n) < 0.2, times * 0.5, 0.0)
    n_exit, n_event, time = cell_sums(times, rng.random(n) < 0.8, edges, entry=late)
    lo = np.round(rng.exponential(2.0, n // 2), 3)
    return Intervals.of(lo, lo + np.round(rng.exponential(3.0, n // 2) + 0.01, 3)), [n_event, n_exit, time]


def log_likelihood(hazard: Floats, data: Intervals, exact: list[Floats], edges: tuple[float, ...]) -> float:
    """The likelihood from scratch: cumulative hazards at single times."""
    n_event, n_exit, time = exact
    upper = np.append(edges[1:], np.inf)

    def cumulative(t: float) -> float:
        return float(hazard @ np.clip(np.minimum(t, upper) - np.array(edges), 0.0, None))

    total = n_event @ np.log(hazard) - hazard @ exposure_from_exits(n_exit, time, edges)
    for lo, hi, n in zip(data.lo, data.hi, data.n, strict=True):
        total += n * np.log(np.exp(-cumulative(lo)) - np.exp(-cumulative(hi)))
    return float(total)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_maximum_of_the_likelihood(seed: int) -> None:
    edges = (0.0, 1.0, 3.0, 8.0)
    data, exact = some_rows(seed)
    fit = fit_between(data, *exact, edges)
    best = minimize(
        lambda logs: -log_likelihood(np.exp(logs), data, exact, edges),
        np.zeros(4),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
    )
    assert fit.converged
    assert fit.loglik >= -best.fun - 1e-9
    assert fit.loglik == pytest.approx(log_likelihood(fit.hazard, data, exact, edges), rel=1e-10)
    np.testing.assert_allclose(fit.hazard, np.exp(best.x), rtol=1e-5)


def test_its_information_is_the_curve_of_the_likelihood() -> None:
    edges = (0.0, 1.0, 3.0, 8.0)
    data, exact = some_rows(7)
    fit = fit_between(data, *exact, edges)
    logs, step = np.log(fit.hazard), 1e-3

    def at(*moves: tuple[int, float]) -> float:
        moved = logs.copy()
        for place, by in moves:
            moved[place] += by
        return log_likelihood(np.exp(moved), data, exact, edges)

    for i in range(4):
        for j in range(4):
            four = at((i, step), (j, step)) - at((i, step), (j, -step)) - at((i, -step), (j, step))
            second = (four + at((i, -step), (j, -step))) / (4 * step**2)
            assert fit.information[i, j] == pytest.approx(-second, abs=1e-3)


def test_without_intervals_it_is_events_over_exposure() -> None:
    edges = (0.0, 1.0, 3.0, 8.0)
    _, exact = some_rows(3)
    fit = fit_between(NONE, *exact, edges)
    np.testing.assert_allclose(fit.exposure, exposure_from_exits(exact[1], exact[2], edges), rtol=1e-12)
    np.testing.assert_allclose(fit.hazard, exact[0] / fit.exposure, rtol=1e-9)
    np.testing.assert_allclose(fit.information, np.diag(exact[0]))


def test_intervals_that_are_points_give_the_exact_estimate() -> None:
    rng = np.random.default_rng(1)
    edges = (0.0, *DEFAULT_EDGES)
    times, seen = pauses(rng, np.ones(400)), rng.random(400) < 0.9
    points = seen & (rng.random(400) < 0.5)
    every = cell_sums(times, seen, edges)
    others = cell_sums(times[~points], seen[~points], edges)
    data = Intervals.of(times[points] - 1e-9, times[points])
    fit = fit_between(data, others[1], others[0], others[2], edges)
    np.testing.assert_allclose(fit.events, every[1], atol=1e-6)
    np.testing.assert_allclose(fit.exposure, exposure_from_exits(every[0], every[2], edges), rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(fit.information, np.diag(every[1]), atol=1e-4)


@quick
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_shares_add_up_and_follow_the_scale(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0.0], np.cumsum(rng.exponential(size=5) + 0.01)])
    hazard = rng.exponential(size=6) * (rng.random(6) < 0.8) + 1e-12
    lo = rng.exponential(2.0, 8)
    data = Intervals.of(lo, lo + rng.exponential(2.0, 8) + 1e-6)
    share, moment = end_shares(data, hazard, edges.tolist())
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-9)
    mean = moment.sum(axis=1)
    assert np.all((mean >= data.lo * (1 - 1e-9)) & (mean <= data.hi * (1 + 1e-9)))
    upper = np.append(edges[1:], np.inf)
    assert np.all(moment >= share * np.maximum(edges, data.lo[:, None]) * (1 - 1e-6) - 1e-12)
    assert np.all(moment <= share * np.minimum(upper, data.hi[:, None]) * (1 + 1e-6) + 1e-12)
    scaled = Intervals.of(data.lo * scale, data.hi * scale)
    again, later = end_shares(scaled, hazard / scale, (edges * scale).tolist())
    np.testing.assert_allclose(again, share, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(later, moment * scale, rtol=1e-6, atol=1e-12 * scale)


def test_a_tiny_hazard_shares_out_by_width() -> None:
    share, moment = end_shares(Intervals.of([1.0], [4.0]), np.full(3, 1e-14), (0.0, 2.0, 3.0))
    np.testing.assert_allclose(share, [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-9)
    np.testing.assert_allclose(moment, [[0.5, 2.5 / 3, 3.5 / 3]], rtol=1e-9)


@quick
@example(1803)
@example(6210)
@given(st.integers(0, 10_000))
@pytest.mark.full
def test_equal_rows_may_come_together_and_in_any_order(seed: int) -> None:
    edges = (0.0, 1.0, 3.0, 8.0)
    data, exact = some_rows(seed)
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(data.n.size), 2))
    one = fit_between(Intervals.of(data.lo, data.hi, 2 * data.n), *(2 * v for v in exact), edges)
    two = fit_between(Intervals.of(data.lo[order], data.hi[order]), *(2 * v for v in exact), edges)
    assert np.isfinite(one.events).all()
    # events, since the hazard of a bin that nobody outlives has no upper limit
    np.testing.assert_allclose(one.events, two.events, rtol=1e-5, atol=1e-5)
    once = fit_between(data, *exact, edges)
    # a bin with fewer than 0.01 expected ends has none: of the rows once it may be below that, of them twice above
    emptied = (once.events == 0) & (one.events > 0)
    assert np.all(one.events[emptied] < 2 * 0.01)
    moved = float(one.events[emptied].sum())
    # what such a bin loses goes to the others, and no end is lost
    assert one.events.sum() == pytest.approx(2 * once.events.sum(), rel=1e-9)
    np.testing.assert_allclose(one.events, 2 * once.events, rtol=1e-5, atol=1e-5 + moved)


@dataclass(frozen=True)
class Polled:
    """What polls see of processes: those that ended between two, in (lo, hi]; the others end where they ended."""

    lo: Floats
    hi: Floats
    between: np.ndarray


def polled(rng: np.random.Generator, times: Floats, log_break: float = 1.5) -> Polled:
    """Look at 1.2 s, then wait in polls of 1, 10 or 30 s with breaks in which nobody looks; from 2,000 s on stay."""
    at, lo, hi = np.full(times.size, 1.2), np.zeros(times.size), times.copy()
    between = np.zeros(times.size, dtype=np.bool_)
    left = np.flatnonzero(times > 1.2)
    while left.size:
        asked = at[left] + np.exp(rng.normal(log_break, 1.3, left.size))
        until = asked + rng.choice([1.0, 10.0, 30.0], left.size)
        gone = times[left] <= asked
        between[left[gone]], lo[left[gone]], hi[left[gone]] = True, at[left[gone]], asked[gone]
        at[left] = until
        left = left[~gone & (times[left] > until) & (until < 2_000)]
    return Polled(lo, hi, between)


FIRST_POLLS, ALL = slice(3, 7), slice(None)
GRID = Grid.refine([DEFAULT_EDGES, shifted_edges(DEFAULT_EDGES)], [(0.995, 1.5)])
OF_CELL = GRID.base_bins(DEFAULT_EDGES)


def fit_polled(times: Floats, seen: Polled) -> tuple[BetweenFit, Intervals]:
    exact = ~seen.between
    n_exit, n_event, time = cell_sums(times[exact], np.ones(exact.sum()), GRID.edges)
    data = Intervals.of(seen.lo[seen.between], seen.hi[seen.between])
    return fit_falling(data, n_event, n_exit, time, GRID.edges, OF_CELL + 1), data


def test_a_constant_hazard_is_found_under_random_polls() -> None:
    rng = np.random.default_rng(4)
    times = rng.exponential(20.0, 6_000)
    seen = polled(rng, times)
    assert seen.between.mean() > 0.3
    fit, _ = fit_polled(times, seen)
    D, X = group_cells(fit.events, fit.exposure, OF_CELL, BINS)
    found, error = np.log(20.0 * D / X)[:9], np.sqrt(np.diag(np.linalg.inv(fit.information)))[1:10]
    assert np.abs(found / error).max() < 3.2
    # timed at the poll they would last too long
    n_exit, n_event, time = cell_sums(seen.hi, np.ones(times.size), GRID.edges)
    D, X = group_cells(n_event, exposure_from_exits(n_exit, time, GRID.edges), OF_CELL, BINS)
    assert (20.0 * D / X)[4] < 0.6


@pytest.mark.full
def test_a_falling_hazard_is_found_within_the_bin_of_the_first_look() -> None:
    """A hazard that is constant within bins puts too many ends into the bin that polls begin in."""
    rng = np.random.default_rng(5)
    times = pauses(rng, np.ones(40_000))
    seen = polled(rng, times)
    fit, data = fit_polled(times, seen)
    exact = ~seen.between
    n_exit, n_event, time = cell_sums(times[exact], np.ones(exact.sum()), GRID.edges)
    flat = fit_between(data, n_event, n_exit, time, GRID.edges, bins=OF_CELL + 1)
    edges = np.array(DEFAULT_EDGES[3:5])
    survival = np.exp(-0.3 * edges**0.4)
    truth = -np.diff(survival)[0] * times.size
    for found, low, high in ((fit, -2.5, 2.5), (flat, 3.0, 20.0)):
        events = float(found.events[OF_CELL == 3].sum())
        assert low < (events - truth) / np.sqrt(truth) < high


def test_a_lone_interval_at_the_end_makes_no_hazard_of_its_own() -> None:
    rng = np.random.default_rng(6)
    times = pauses(rng, np.ones(3_000))
    times = times[times < 500]
    seen = polled(rng, times)
    lone = Polled(np.append(seen.lo, 900.0), np.append(seen.hi, 3_600.0), np.append(seen.between, True))
    fit, _ = fit_polled(np.append(times, 1_000.0), lone)
    D, _ = group_cells(fit.events, fit.exposure, OF_CELL, len(DEFAULT_EDGES))
    assert D[13:].sum() == pytest.approx(1.0, abs=0.2)
    assert np.all(np.diff(fit.hazard[OF_CELL >= 13]) < 0)
    assert fit.hazard[-1] < 0.01


def test_lost_information_stands_for_a_fit_without_the_session() -> None:
    """Leaving one session out of the moved events moves the hazards as a fit without it does."""
    rng = np.random.default_rng(8)
    sessions, edges = np.repeat(np.arange(60), 25), (0.0, 1.0, 3.0, 9.0, 27.0)
    times = pauses(rng, np.ones(sessions.size))
    seen = polled(rng, times)

    def fitted(use: np.ndarray) -> tuple[BetweenFit, SessionCells]:
        exact, gone = use & ~seen.between, use & seen.between
        sums = cell_sums(times[exact], np.ones(exact.sum()), edges, clusters=sessions[exact], n_clusters=60)
        data = Intervals.of(seen.lo[gone], seen.hi[gone])
        fit = fit_between(data, sums[1].sum(axis=0), sums[0].sum(axis=0), sums[2].sum(axis=0), edges)
        share, moment = end_shares(data, fit.hazard, edges)
        ends, late = (np.stack([np.bincount(sessions[gone], v, 60) for v in w.T], axis=1) for w in (share, moment))
        exposure = exposure_from_exits(sums[0] + ends, sums[2] + late, edges)
        return fit, SessionCells(sums[1] + ends, exposure, np.arange(60))

    fit, plain = fitted(np.ones(times.size, dtype=np.bool_))
    moved = with_lost_information(plain, fit)
    np.testing.assert_allclose(moved.events.sum(axis=0), fit.events, rtol=1e-6)
    assert moved.exposure is plain.exposure
    told, shares, truth = [], [], []
    for g in range(30):
        truth.append(np.log(fitted(sessions != g)[0].hazard / fit.hazard))
        for found, data in ((told, moved), (shares, plain)):
            events, exposure = (v.sum(axis=0) - v[g] for v in (data.events, data.exposure))
            found.append(np.log(events / exposure / fit.hazard))
    spread = [np.sqrt(np.mean(np.square(v), axis=0)) for v in (told, shares, truth)]
    np.testing.assert_allclose(spread[0], spread[2], rtol=0.12)
    assert np.abs(np.array(told) - np.array(truth)).max() < 0.2 * np.abs(truth).max()
    assert spread[1][1] < 0.75 * spread[2][1]  # shares alone say too little in the bins of the first polls


def coverage(runs: int, seed: int) -> tuple[float, float, float]:
    """How often nominal 95 % intervals hold: of the slope, of the bins, and of the bins at 0.9 to 11 s by shares alone.

    120 sessions of 12 commands, lognormal frailty of 0.5 between sessions; about 37 % end between two polls.
    """
    rng, sd, n = np.random.default_rng(seed), 0.5, 120
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    level, weights = np.exp(sd * nodes)[:, None], weights / weights.sum()
    edges = np.array(DEFAULT_EDGES[: BINS + 1])
    u, v = np.polynomial.legendre.leggauss(40)
    inside = edges[:-1, None] + np.diff(edges)[:, None] * (u + 1) / 2
    alive = np.tensordot(weights, np.exp(-0.3 * level[:, :, None] * inside**0.4), 1)
    law = -np.diff(weights @ np.exp(-0.3 * level * edges**0.4)) / (np.diff(edges) / 2 * (alive @ v))
    truth = true_slope(sd)
    slopes, held, naive = 0, [], []
    sessions = np.repeat(np.arange(n), 12)
    for _ in range(runs):
        times = pauses(rng, np.exp(sd * rng.normal(size=n))[sessions])
        seen = polled(rng, times)
        fit, data = fit_polled(times, seen)
        exact, gone = ~seen.between, seen.between
        n_exit, n_event, time = cell_sums(
            times[exact], np.ones(exact.sum()), GRID.edges, clusters=sessions[exact], n_clusters=n
        )
        ends, late = (
            np.stack([np.bincount(sessions[gone], v, n) for v in w.T], axis=1)
            for w in end_shares(data, fit.hazard, GRID.edges)
        )
        exposure = exposure_from_exits(n_exit + ends, time + late, GRID.edges)
        plain = SessionCells(n_event + ends, exposure, np.arange(n))
        for cells, found in ((with_lost_information(plain, fit), held), (plain, naive)):
            D, X = group_cells(cells.events, cells.exposure, OF_CELL, BINS)
            bins = bin_hazards(D, X)
            found.append(np.mean(((bins.low <= law) & (law <= bins.high))[FIRST_POLLS if found is naive else ALL]))
            interval = slope_jackknife(D, X, CENTRES[:BINS])
            assert interval is not None
            assert interval.low is not None
            assert interval.high is not None
            slopes += found is held and interval.low <= truth <= interval.high
    return slopes / runs, float(np.mean(held)), float(np.mean(naive))


@pytest.mark.full
def test_intervals_hold_small() -> None:
    slope, bins, naive = coverage(40, 11)
    assert slope >= 0.92 - 3 * np.sqrt(0.95 * 0.05 / 40)
    assert 0.92 <= bins <= 0.98
    assert naive < 0.88


@pytest.mark.full
def test_intervals_hold() -> None:
    slope, bins, naive = coverage(400, 12)
    print(f"slope {slope:.3f}, bins {bins:.3f}, bins from shares alone {naive:.3f}")
    assert 0.92 <= slope <= 0.99
    assert 0.93 <= bins <= 0.97
    assert naive < 0.85


def test_ends_of_a_key_are_shared_out_by_its_own_level() -> None:
    """Keys differ by a gamma of variance 2; the slope within them is -0.6, that of all keys together far below."""
    rng = np.random.default_rng(9)
    key = np.repeat(np.arange(600), 20)
    times = pauses(rng, rng.gamma(0.5, 2.0, 600)[key])
    seen = polled(rng, times, 3.0)
    fit, data = fit_polled(times, seen)
    share, moment = end_shares(data, fit.hazard, GRID.edges)
    interval, cell = np.nonzero(share > 1e-9)
    exact = np.flatnonzero(~seen.between)
    gone = np.flatnonzero(seen.between)
    at = np.searchsorted(np.array(GRID.edges), times[exact], side="right") - 1
    code = np.concatenate([key[exact], key[gone][interval]])
    ones, parts, spent = np.ones(exact.size), share[interval, cell], moment[interval, cell]
    cells = Cells(
        code,
        np.zeros(code.size, dtype=np.intp),
        np.concatenate([at, cell]),
        np.concatenate([ones, parts]),
        np.concatenate([ones, parts]),
        np.concatenate([times[exact], spent]) * 1e6,
    )
    edges = DEFAULT_EDGES[: BINS + 1]

    def fitted(own: Cells) -> tuple[FrailtyFit, Floats, Floats]:
        where = np.clip(OF_CELL + 1, 0, BINS + 1)[own.cell]
        fit, D, X = frailty_cells(code, code, where, own.n_event, own.n_net, own.micros_net / 1e6, edges)
        assert fit is not None
        return fit, D, X

    first, D, X = fitted(cells)
    rows = Parts(data, GRID.edges, np.arange(exact.size, code.size), interval)
    again, found = cells, first
    for _ in range(3):
        again = rows.shared(again, code, found, D, X, edges)
        found, D, X = fitted(again)
    assert again.n_event.sum() == pytest.approx(times.size, rel=1e-6)
    np.testing.assert_array_equal(again.n_event[: exact.size], 1.0)
    print(
        f"slope {first.slope:.3f} by all keys, {found.slope:.3f} by its own; theta {first.theta:.2f}, {found.theta:.2f}"
    )
    assert first.slope < found.slope - 0.01
    assert abs(found.slope + 0.6) < 0.012
    assert abs(found.theta - 2.0) < 0.25


@pytest.mark.parametrize(
    ("lo", "hi", "says"),
    [
        ([1.0], [1.0], "end above"),
        ([-1.0], [1.0], "begin at 0"),
        ([1.0], [np.inf], "end above"),
        ([1.0], [2.0, 3.0], "columns"),
    ],
)
def test_what_is_no_interval(lo: list[float], hi: list[float], says: str) -> None:
    with pytest.raises(TracestatError, match=says):
        Intervals.of(lo, hi)


def test_columns_that_do_not_belong_together() -> None:
    with pytest.raises(TracestatError, match="per cell"):
        fit_between(NONE, [1.0], [1.0, 2.0], [1.0], (0.0,))


def test_rows_that_end_without_time_at_risk_leave_the_rest_alone() -> None:
    fit = fit_between(Intervals.of([2.0], [3.0]), [5.0, 1.0], [5.0, 1.0], [0.0, 2.5], (0.0, 2.0))
    assert fit.converged
    assert fit.events[0] == 5.0
    fit = fit_between(Intervals.of([0.0], [1.0]), [0.0, 3.0], [0.0, 3.0], [0.0, 6.0], (0.0, 2.0))
    assert fit.converged
    assert np.all(np.isfinite(fit.hazard))
