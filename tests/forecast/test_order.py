"""Which of two paused sessions returns later: by hand, by brute force, by quadrature, and what theory says of LRU."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.grid import Grid
from tracestat.forecast.order import LRU, OrderScore, Ranking, merge_orders, order_scores, summarise_order
from tracestat.forecast.order_pairs import CLOCKS, Clock, meetings_of
from tracestat.forecast.rows import PauseRows
from tracestat.resample import jackknife_interval

Array = NDArray[np.float64]
RANKINGS: tuple[Ranking, ...] = ("median", "mean", "probability")


def pauses(started: Any, seconds: Any, session: Any = None, developer: Any = None, observed: Any = None) -> PauseRows:
    """Make rows; each is a session and a developer of its own unless said."""
    seconds = np.asarray(seconds, dtype=np.float64)
    own = np.arange(seconds.size)
    session = own if session is None else np.asarray(session, dtype=np.intp)
    return PauseRows(
        {},
        {},
        session,
        session if developer is None else np.asarray(developer, dtype=np.intp),
        np.asarray(started, dtype=np.float64),
        seconds,
        np.ones(seconds.size, dtype=bool) if observed is None else np.asarray(observed, dtype=bool),
    )


def right(score: OrderScore) -> float:
    return float(score.total[1] / score.total[0])


# --- by hand -------------------------------------------------------------------------------------------------------


def test_three_pauses_by_hand() -> None:
    # (A, B): A returns later, as LRU says; (A, C) and (B, C): C does, which started last
    rows = pauses([0, 4, 5], [10, 2, 15])
    truth, kept = PointForecast("truth", rows.seconds), PointForecast("young", np.full(3, 100.0))
    lru, oracle, young = order_scores(rows, [truth, kept])
    assert lru.total.tolist() == [3, 1, 1, 3, 0, 0]
    assert oracle.total.tolist() == [3, 3, 1, 1, 2, 2]
    # 100 s less what has passed: the last to start is expected last, the reverse of LRU
    assert young.total.tolist() == [3, 2, 1, 0, 3, 2]
    assert young.by_session[:, 0].tolist() == [2, 2, 2]
    assert young.by_session[:, 1].tolist() == [1, 1, 2]
    found = summarise_order(young)
    shares = (found.pairs_right, found.over_lru, found.same_as_lru, found.right_where_different)
    assert [share.value for share in shares] == pytest.approx([2 / 3, 1 / 3, 0, 2 / 3])
    assert found.pairs == 3


def test_ties_are_half_right() -> None:
    same_end = pauses([0, 4], [10, 6])
    assert order_scores(same_end, [])[0].total.tolist() == [1, 0.5, 0.5, 1, 0, 0]
    same_start = pauses([0, 0], [10, 6])
    assert order_scores(same_start, [])[0].total.tolist() == [1, 0.5, 0.5, 1, 0, 0]
    # both forecasts are overtaken: nothing is left of either
    overtaken = PointForecast("short", np.zeros(2))
    assert order_scores(pauses([0, 4], [10, 2]), [overtaken])[1].total.tolist() == [1, 0.5, 1, 0.5, 0, 0]


def test_twice_the_elapsed_time_is_lru() -> None:
    rng = np.random.default_rng(1)
    rows = pauses(rng.uniform(0, 100, 60), rng.exponential(20, 60))
    for clock in CLOCKS:
        lru, elapsed = order_scores(rows, [PointForecast("elapsed", np.zeros(60), factor=2)], clock=clock)
        assert np.array_equal(lru.total, elapsed.total)
        assert "no pair otherwise" in summarise_order(elapsed).notes[0]
        assert summarise_order(elapsed).right_where_different.value is None


def test_what_is_left_out_is_counted() -> None:
    rows = pauses(
        [0, 1, 2, 3, 5000],
        [6000, 10, 100, 4, 10],
        session=[0, 1, 1, 2, 3],
        observed=[True, True, False, True, True],
    )
    counts = meetings_of(rows, "trace", window=3600, seed=0, most_pairs=100).counts
    # pairs: 01 02(c) 03 04(beyond) 12(same session) 13 23(c)
    assert (counts.met, counts.seen, counts.same_session, counts.beyond, counts.censored) == (7, 7, 1, 1, 2)
    # pause 3 was seen to return while 2 still waited; pause 0 returns after 2 was lost from sight
    assert counts.censored_known == 1
    assert order_scores(rows, [])[0].total[0] == 3


# --- by brute force ------------------------------------------------------------------------------------------------


drawn_rows = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 3), st.booleans()), min_size=0, max_size=9
)


@settings(max_examples=20, deadline=None)
@given(drawn_rows, st.sampled_from([3.0, 100.0]), st.integers(0, 2**31))
def test_pairs_by_brute_force(drawn: list[tuple[int, int, int, bool]], window: float, seed: int) -> None:
    start, length, session, seen = (np.array(c) for c in zip(*drawn, strict=True)) if drawn else ([],) * 4
    rows = pauses(start, length, session, np.asarray(session, dtype=np.intp) // 2, seen)
    met, good, left_out = 0, [], np.zeros(4, dtype=int)
    for one, other in combinations(drawn, 2):
        (start_1, length_1, session_1, seen_1), (start_2, length_2, session_2, seen_2) = one, other
        end_1, end_2 = start_1 + length_1, start_2 + length_2
        if max(start_1, start_2) >= min(end_1, end_2):
            continue
        met += 1
        if session_1 == session_2:
            left_out[0] += 1
        elif abs(start_1 - start_2) >= window:
            left_out[1] += 1
        elif not (seen_1 and seen_2):
            left_out[2] += 1
            left_out[3] += (seen_1 and end_1 < end_2) or (seen_2 and end_2 < end_1)
        else:
            good.append((session_1, session_2, (1 - np.sign(start_1 - start_2) * np.sign(end_1 - end_2)) / 2))
    (score,) = order_scores(rows, [], window=window, seed=seed)
    assert (score.counts.met, score.n_pairs) == (met, len(good))
    # of two that end at one instant the moment's rounding decides which is seen to be first
    ends = [s + n for s, n, _, _ in drawn]
    counts = score.counts
    assert [counts.same_session, counts.beyond, counts.censored] == left_out[:3].tolist()
    if len(set(ends)) == len(ends):
        assert counts.censored_known == left_out[3]
    assert score.total[1] == sum(g[2] for g in good)
    for cluster in range(rows.n_sessions):
        assert score.by_session[cluster, 1] == sum(g[2] for g in good if cluster in g[:2])
    for cluster in range(rows.n_developers):
        assert score.by_developer[cluster, 0] == sum(cluster in (g[0] // 2, g[1] // 2) for g in good)


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_moment_lies_in_both_pauses_and_in_the_window(clock: Clock) -> None:
    rng = np.random.default_rng(2)
    rows = pauses(rng.uniform(0, 200, 200), rng.exponential(30, 200))
    met = meetings_of(rows, clock, window=20, seed=3, most_pairs=5000)
    assert met.first.size > 1000
    assert (met.elapsed >= 0).all()  # of those left out too: a forecast is asked of all that was found
    assert (met.counts.beyond > 0) == (clock == "trace")
    for side in (met.first, met.second):
        assert (met.elapsed[side] >= 0).all()
        assert (met.elapsed[side] <= np.minimum(rows.seconds[met.row[side]], 20)).all()
    if clock == "trace":
        now = rows.started[met.row] + met.elapsed
        assert now[met.first] == pytest.approx(now[met.second], rel=1e-12)


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_order_of_rows_does_not_matter(clock: Clock) -> None:
    rng = np.random.default_rng(4)
    # stamps on a coarse clock, so that there are ties
    rows = pauses(rng.integers(0, 50, 120), rng.integers(0, 12, 120), rng.integers(0, 30, 120))
    mixed = rng.permutation(120)
    guess = rng.exponential(5, 120)
    both = [
        order_scores(r, [PointForecast("guess", g)], clock=clock, most_pairs=300)[1]
        for r, g in ((rows, guess), (rows.take(mixed), guess[mixed]))
    ]
    if clock == "trace":  # twins differ in nothing but what is guessed of them
        assert both[0].total[:3].tolist() == both[1].total[:3].tolist()
    assert both[0].by_session[:, [0, 2]].tolist() == both[1].by_session[:, [0, 2]].tolist()


def test_above_the_limit_pairs_are_a_uniform_sample() -> None:
    rng = np.random.default_rng(5)
    rows = pauses(rng.uniform(0, 500, 2000), rng.exponential(40, 2000), rng.integers(0, 300, 2000))
    (every,) = order_scores(rows, [], most_pairs=10**7)
    (some,) = order_scores(rows, [], most_pairs=8000)
    assert every.counts.met == every.counts.seen == some.counts.met > 100_000
    assert some.counts.seen == 8000
    assert right(some) == pytest.approx(right(every), abs=0.02)
    # no session is favoured
    assert np.corrcoef(every.by_session[:, 0], some.by_session[:, 0])[0, 1] > 0.9


# --- superposed ----------------------------------------------------------------------------------------------------


def test_superposed_draws_by_length_and_uniform_age() -> None:
    # LRU is right unless the pause of 10 s is the older one, or has so much less left: 1 - 1/6 - 1/6
    rows = pauses([0, 10**6], [10, 30])
    met = meetings_of(rows, "superposed", window=3600, seed=0, most_pairs=60_000)
    assert np.mean(met.row == 1) == pytest.approx(0.75, abs=0.01)
    assert met.elapsed[met.row == 1].mean() == pytest.approx(15, abs=0.3)
    assert right(order_scores(rows, [], clock="superposed", most_pairs=60_000)[0]) == pytest.approx(2 / 3, abs=0.015)
    # within a window of 10 s both are found equally often
    met = meetings_of(rows, "superposed", window=10, seed=0, most_pairs=60_000)
    assert np.mean(met.row == 1) == pytest.approx(0.5, abs=0.015)


def test_superposed_is_what_random_phases_give() -> None:
    """Moves every session to a random phase of a circle, looks at random moments, and counts as an engine would."""
    rng = np.random.default_rng(6)
    lengths = np.array([1.0, 2, 2, 5, 9, 30])
    session = np.array([0, 0, 1, 1, 2, 3])
    offset = np.array([0.0, 4, 0, 7, 0, 0])
    circle, looks = 60.0, 40_000
    age = (rng.uniform(0, circle, (looks, 4))[:, session] - offset) % circle
    pairs = np.zeros(2)
    for i, j in combinations(range(6), 2):
        if session[i] != session[j]:
            both = (age[:, i] < lengths[i]) & (age[:, j] < lengths[j])
            older, longer = age[both, i] - age[both, j], (lengths[i] - age[both, i]) - (lengths[j] - age[both, j])
            pairs += [both.sum(), (older * longer > 0).sum()]
    rows = pauses(offset, lengths, session)
    assert right(order_scores(rows, [], clock="superposed", most_pairs=100_000)[0]) == pytest.approx(
        pairs[1] / pairs[0], abs=0.02
    )


# --- theory --------------------------------------------------------------------------------------------------------

FINE = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 500)])
Survival = Callable[[Array], Array]


def law(*log_survivals: Survival, alpha: float = 1.0) -> Curves:
    return Curves(Grid(FINE), np.stack([f(FINE) for f in log_survivals]), alpha)


def lives(curves: Curves, place: NDArray[np.intp], seed: int) -> PauseRows:
    """Draw a pause of each curve, a session each, with a mean of many at once."""
    rng = np.random.default_rng(seed)
    return pauses(rng.uniform(0, 50, place.size), curves.quantile(place, rng.random(place.size)))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.first_case
def test_one_falling_hazard_makes_lru_the_best_order(clock: Clock) -> None:
    # hazard 1/2 up to 1 s, then 1/(2 t): it never rises, so who has waited longer waits longer
    curves = Curves(Grid(np.array([0.0, 1, 1e6])), np.array([[0, -0.5, -0.5 - 0.5 * np.log(1e6)]]), 0.5)
    rows = lives(curves, np.zeros(1500, dtype=np.intp), 7)
    rng = np.random.default_rng(8)
    own = CurveForecast("own", curves, np.zeros(rows.size, dtype=np.intp))
    rivals: list[CurveForecast | PointForecast] = [
        PointForecast("constant", np.full(rows.size, 5.0)),
        PointForecast("keyed by nothing that matters", rng.choice([1.0, 50.0], rows.size)),
        CurveForecast(
            "two laws", law(lambda t: -np.log1p(t), lambda t: -np.log1p(t / 90)), rng.integers(0, 2, rows.size)
        ),
    ]
    for ranking in RANKINGS:
        lru, same, *others = order_scores(rows, [own, *rivals], clock=clock, ranking=ranking)
        assert lru.n_pairs > 10_000
        assert np.array_equal(same.total, lru.total)
        assert right(lru) > 0.6
        for other in others:
            assert other.total[4] > 0
            assert right(other) < right(lru)


def test_a_constant_hazard_leaves_nothing_to_order() -> None:
    # linear in t inside the one bin: an exponential law of mean 10 s
    curves = curves_of(Grid(np.array([0.0, 200.0])), np.array([[-np.expm1(-20.0)]]), 3.0)
    rows = lives(curves, np.zeros(3000, dtype=np.intp), 9)
    own = CurveForecast("own", curves, np.zeros(rows.size, dtype=np.intp))
    for clock in CLOCKS:
        lru, same = order_scores(rows, [own], clock=clock, most_pairs=60_000)
        assert right(lru) == pytest.approx(0.5, abs=0.03)
        assert right(same) == pytest.approx(0.5, abs=0.001)
        assert same.total[3] / same.total[0] == pytest.approx(0.5, abs=0.001)  # all of them ties


def test_a_rising_hazard_turns_lru_round() -> None:
    # a deadline at 10 s, more or less
    rng = np.random.default_rng(10)
    rows = pauses(rng.uniform(0, 50, 1000), rng.normal(10, 0.5, 1000))
    curves = law(lambda t: -((t / 10) ** 20))
    own = CurveForecast("own", curves, np.zeros(rows.size, dtype=np.intp))
    for clock in CLOCKS:
        lru, deadline, curve = order_scores(rows, [PointForecast("deadline", np.full(1000, 12.0)), own], clock=clock)
        assert right(lru) < 0.1
        assert deadline.total[3] == 0
        assert right(deadline) == 1 - right(lru)
        assert right(curve) > 0.9


def outlives(x: Array, y: Array) -> Array:
    """P(R_x > R_y) for S(t) = 1/(1 + t/scale)."""
    r = x / y
    near = np.abs(r - 1) < 1e-4
    safe = np.where(near, 2.0, r)
    return np.where(near, 0.5 + (r - 1) / 6, safe / (safe - 1) - safe * np.log(safe) / (safe - 1) ** 2)


@pytest.mark.parametrize(("window", "least"), [(60.0, 0.08), (3600.0, 0.005)])
@pytest.mark.first_case
def test_two_scales_gain_what_quadrature_says(window: float, least: float) -> None:
    """S = 1/(1 + t/c) with c = 1 and 1,000: at age a the rest has scale c + a, and ln(1 + age/c) is uniform.

    Where ages go far beyond the scales, age alone tells almost all: the keys differ 1,000-fold and gain 0.7 %.
    """
    scales, short_per_long, n = (1.0, 1000.0), 30, 31_000
    u = (np.arange(300) + 0.5) / 300
    ends = [np.log1p(window / c) for c in scales]
    weights = np.array([short_per_long * scales[0] * ends[0], scales[1] * ends[1]])
    weights /= weights.sum()
    age = [c * np.expm1(end * u) for c, end in zip(scales, ends, strict=True)]
    by_lru = by_key = 0.0
    for i in range(2):
        for j in range(2):
            a, b = age[i][:, None], age[j][None, :]
            wins = outlives(a + scales[i], b + scales[j])
            half = np.where(a == b, 0.5, 0.0)
            by_lru += weights[i] * weights[j] * float(np.mean(np.where(a > b, wins, np.where(a < b, 1 - wins, half))))
            by_key += weights[i] * weights[j] * float(np.mean(np.maximum(wins, 1 - wins)))
    assert by_key - by_lru > least

    curves = law(*(lambda t, c=c: -np.log1p(t / c) for c in scales))
    key = (np.arange(n) % (short_per_long + 1) == 0).astype(np.intp)
    rows = lives(curves, key, 11)
    methods = [CurveForecast("keyed", curves, key), CurveForecast("no key", curves, np.zeros(n, dtype=np.intp))]
    for ranking in RANKINGS:
        lru, keyed, common = order_scores(rows, methods, clock="superposed", ranking=ranking, window=window)
        assert right(lru) == pytest.approx(by_lru, abs=0.02)
        assert right(keyed) == pytest.approx(by_key, abs=0.02)
        assert right(keyed) - right(lru) == pytest.approx(by_key - by_lru, abs=0.012)
        assert common.total[4] / common.total[0] < 0.01
        # the gain is made where the orders differ, and only there
        found = summarise_order(keyed)
        assert found.same_as_lru.value is not None
        assert found.right_where_different.value is not None
        differ = 1 - found.same_as_lru.value
        assert found.over_lru.value == pytest.approx(differ * (2 * found.right_where_different.value - 1), abs=1e-3)


def test_the_mean_is_that_within_the_window() -> None:
    # three in five of the first are back within 1 s and the others after hours; the second always last 5 to 6 s
    curves = curves_of(
        Grid(np.array([0.0, 1, 5, 6, 2e4])), np.array([[0.6, 1e-9, 1e-9, 1e-9], [1e-9, 1e-9, 1 - 1e-9, 0]]), 1.0
    )
    rows = pauses([0, 0.001], [0.2, 0.1])
    keyed = CurveForecast("keyed", curves, np.array([0, 1], dtype=np.intp))
    asked: list[tuple[Ranking, float]] = [("mean", 2), ("mean", 3600), ("median", 3600), ("probability", 3600)]
    as_lru = [order_scores(rows, [keyed], ranking=how, window=window)[1].total[3] for how, window in asked]
    assert as_lru == [0, 1, 0, 0]


@pytest.mark.parametrize("clock", CLOCKS)
def test_who_knows_the_truth_is_always_right(clock: Clock) -> None:
    rng = np.random.default_rng(12)
    rows = pauses(rng.uniform(0, 300, 400), rng.lognormal(1, 2, 400), rng.integers(0, 80, 400))
    lru, oracle = order_scores(rows, [PointForecast("truth", rows.seconds)], clock=clock)
    assert right(oracle) == 1
    assert oracle.total[3] / oracle.total[0] == pytest.approx(right(lru))
    assert summarise_order(oracle).right_where_different.value == 1


# --- intervals and folds -------------------------------------------------------------------------------------------


def test_the_jackknife_leaves_out_all_pairs_of_a_cluster() -> None:
    rng = np.random.default_rng(13)
    session = rng.integers(0, 12, 150)
    rows = pauses(rng.uniform(0, 100, 150), rng.exponential(15, 150), session, session // 3)
    found = summarise_order(order_scores(rows, [])[0]).pairs_right
    for cluster, bounds in ((rows.session, found.session), (rows.developer, found.developer)):
        # what LRU says of a pair does not depend on the moment, so the rest can be judged by itself
        without = [right(order_scores(rows.take(cluster != one), [])[0]) for one in np.unique(cluster)]
        expected = jackknife_interval(right(order_scores(rows, [])[0]), without)
        assert bounds == pytest.approx(expected.bounds)
        assert 0 < expected.bounds[0] < expected.bounds[1] < 1  # type: ignore[operator]
    assert found.method == "session CV3"


def test_the_headline_is_the_developers_from_twenty_on() -> None:
    rng = np.random.default_rng(14)
    session = rng.integers(0, 60, 400)
    rows = pauses(rng.uniform(0, 100, 400), rng.exponential(15, 400), session, session // 3)
    found = summarise_order(order_scores(rows, [])[0])
    assert found.pairs_right.method == "developer CV3"
    assert found.over_lru.value == found.over_lru.high == 0
    assert found.same_as_lru.value == 1


def test_shares_stay_shares() -> None:
    rng = np.random.default_rng(15)
    rows = pauses(rng.uniform(0, 4, 12), rng.pareto(0.4, 12))
    found = summarise_order(order_scores(rows, [])[0], level=0.999)
    assert found.pairs_right.low is not None
    assert found.pairs_right.high is not None
    assert 0 <= found.pairs_right.low < found.pairs_right.high <= 1


def test_folds_add_up() -> None:
    rng = np.random.default_rng(16)
    session = rng.integers(0, 40, 300)
    rows = pauses(rng.uniform(0, 100, 300), rng.exponential(15, 300), session, session // 4)
    parts = [order_scores(rows.take(rows.developer % 2 == k), [])[0] for k in (0, 1)]
    both = merge_orders(parts)
    assert both.total.tolist() == (parts[0].total + parts[1].total).tolist()
    assert both.by_session.shape[0] == rows.n_sessions
    assert both.by_session.sum(axis=0).tolist() == (2 * both.total).tolist()
    assert both.counts.met == parts[0].counts.met + parts[1].counts.met
    assert merge_orders(parts[:1]).total.tolist() == parts[0].total.tolist()
    with pytest.raises(UsageError, match="only the scores of one method"):
        merge_orders([parts[0], order_scores(rows, [], clock="superposed")[0]])
    with pytest.raises(UsageError, match="only the scores of one method"):
        merge_orders([])


@pytest.mark.full
@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_intervals_cover(spread: float) -> None:
    """40 sessions with a scale of their own, 20 pauses each: a forecast's share and its gain, against a large trace.

    With the larger spread few sessions hold most of the pairs: 95 % intervals of the gain cover 90 to 92 %.
    """

    def trace(n_sessions: int, rng: np.random.Generator) -> tuple[PauseRows, PointForecast]:
        session = np.repeat(np.arange(n_sessions), 20)
        scale = np.exp(rng.normal(0, spread, n_sessions))[session] * rng.choice([1.0, 20.0], session.size)
        rows = pauses(np.zeros(session.size), scale * rng.weibull(0.7, session.size), session)
        return rows, PointForecast("scale", scale)

    def found(n_sessions: int, rng: np.random.Generator, most: int) -> OrderScore:
        rows, guess = trace(n_sessions, rng)
        return order_scores(rows, [guess], clock="superposed", most_pairs=most, seed=int(rng.integers(2**31)))[1]

    rng = np.random.default_rng(17)
    large = found(40_000, rng, 2_000_000)
    truth = {"right": right(large), "gain": right(large) - float(large.total[2] / large.total[0])}
    covered = {"right": 0, "gain": 0}
    runs = 400
    for _ in range(runs):
        summary = summarise_order(found(40, rng, 4000))
        for name, interval in (("right", summary.pairs_right), ("gain", summary.over_lru)):
            assert interval.session is not None
            low, high = interval.session
            assert low is not None
            assert high is not None
            covered[name] += low <= truth[name] <= high
    for name, n in covered.items():
        assert 0.88 <= n / runs <= 0.99, (name, n / runs)


# --- nothing to judge, and wrong use -------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    "rows",
    [pauses([], []), pauses([0], [5]), pauses([0, 1], [5, 5], session=[0, 0]), pauses([0, 0], [0, 0])],
    ids=["no rows", "one pause", "one session", "no length"],
)
def test_without_pairs_there_is_no_share(rows: PauseRows, clock: Clock) -> None:
    (score,) = order_scores(rows, [], clock=clock)
    found = summarise_order(score)
    assert found.name == LRU
    assert found.pairs == 0
    assert found.pairs_right.value is None
    assert found.notes == ("no two sessions are paused at the same time",)


def test_one_pair_has_no_interval() -> None:
    found = summarise_order(order_scores(pauses([0, 1], [5, 2]), [])[0])
    assert (found.pairs_right.value, found.pairs_right.low) == (1, None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"clock": "wall"}, "clock 'wall'"),
        ({"ranking": "mode"}, "ranking 'mode'"),
        ({"window": 0}, "must be positive"),
        ({"window": float("nan")}, "must be positive"),
        ({"most_pairs": 0}, "must be positive"),
    ],
)
def test_wrong_use(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        order_scores(pauses([0, 1], [5, 2]), [], **options)


def test_a_forecast_of_other_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="forecast short: it is for 1 rows, and there are 2"):
        order_scores(pauses([0, 1], [5, 2]), [PointForecast("short", np.ones(1))])


# --- the real trace ------------------------------------------------------------------------------------------------


def test_lru_on_the_real_trace(real_trace: Path) -> None:
    import tracestat
    from tracestat.api.forecast_rows import rows_by_provider
    from tracestat.durations import select

    with tracestat.open(real_trace) as trace:
        providers = rows_by_provider(trace, select(trace), ["tool"])
    claude, codex = providers["claude"], providers["codex"]
    (met,) = order_scores(claude, [])
    assert (met.counts.met, met.n_pairs) == (1889, 1694)
    assert right(met) == pytest.approx(0.924, abs=0.001)
    # a first look gave 0.777; what a moment with many agents shows comes nearest
    assert right(order_scores(claude, [], clock="superposed")[0]) == pytest.approx(0.77, abs=0.015)
    # calls that end at one deadline: who has waited longer is nearer to it
    assert right(order_scores(codex, [], clock="superposed")[0]) < 0.5
