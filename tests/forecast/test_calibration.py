"""Calibration sums against brute force, scipy and laws that are true by construction."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tracestat.errors import TracestatError
from tracestat.forecast.calibration import (
    HORIZONS,
    LEVELS,
    PIT_EDGES,
    CalibrationSums,
    coverage,
    coverage_intervals,
    d_calibration,
    horizon_sums,
    observed_survival,
    pit,
    pit_sums,
)
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import TAU, given
from tracestat.forecast.session_sums import SessionSums
from tracestat.survival.curve import kaplan_meier

GRID = forecast_grid()
N, SESSIONS = 4000, 200


def some_laws(seed: int = 0) -> Curves:
    return curves_of(GRID, np.random.default_rng(seed).beta(2, 25, (3, GRID.n_bins)), 0.8)


def rows_from(laws: Curves, seed: int, stop: float = 400.0) -> tuple[np.ndarray, ...]:
    """Draw rows from their own law, some censored, in the order of sessions."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, laws.size, N)
    t, c = laws.quantile(place, rng.uniform(0, 1, N)), rng.exponential(stop, N)
    c[rng.uniform(0, 1, N) < 0.3] = np.inf
    return place, np.minimum(t, c), t <= c, np.sort(rng.integers(0, SESSIONS, N))


def sums_of(laws: Curves, rows: tuple[np.ndarray, ...], elapsed: float = 0.0) -> CalibrationSums:
    place, seconds, observed, session = (x[rows[1] > elapsed] for x in rows)
    sums = CalibrationSums.empty(SESSIONS, 1)
    u = pit(given(laws, elapsed), place, seconds)
    pit_sums(sums, 0, u, seconds, observed, SessionSums.of(session, SESSIONS))
    return sums


def test_sums_by_brute_force() -> None:
    laws = some_laws()
    rows = rows_from(laws, 1)
    place, seconds, observed, session = rows
    assert (seconds >= TAU).any()
    assert not observed.all()
    sums = sums_of(laws, rows)
    by_hand = np.zeros((SESSIONS, len(PIT_EDGES) - 1))
    for k, t, seen, s in zip(place, seconds, observed, session, strict=True):
        u = 1 - np.exp(laws.log_survival_at([k], min(t, TAU)))[0]
        for b, (low, high) in enumerate(pairwise(PIT_EDGES)):
            if seen and t < TAU:
                by_hand[s, b] += low <= u < high
            else:
                by_hand[s, b] += max(high - max(low, u), 0) / (1 - u)
    assert_allclose(sums.mass[:, 0], by_hand, atol=1e-9)
    assert sums.mass.sum() == pytest.approx(N)
    assert sums.events.sum() + sums.censored.sum() == pytest.approx(N)
    assert sums.censored.sum() == (~observed & (seconds < TAU)).sum()


def test_coverage_is_kaplan_meier_of_the_pit() -> None:
    laws = some_laws()
    place, seconds, observed, session = rows_from(laws, 2)
    some = seconds < TAU  # no jump: rows as they are
    place, seconds, observed, session = place[some], seconds[some], observed[some], session[some]
    u = pit(laws, place, seconds)
    found = coverage(sums_of(laws, (place, seconds, observed, session)), 0)
    assert list(found) == list(LEVELS)
    exact = 1 - kaplan_meier(u, observed).survival_at(LEVELS)
    assert_allclose(np.array(list(found.values()), float), np.array(exact, float), atol=2e-3)


@pytest.mark.parametrize("elapsed", [0.0, 4.0, 25.0])
def test_the_true_law_is_calibrated_and_another_is_not(elapsed: float) -> None:
    laws = some_laws()
    rows = rows_from(laws, 3)
    n = int((rows[1] > elapsed).sum())
    own = sums_of(laws, rows, elapsed)
    for p, share in coverage(own, 0).items():
        assert share == pytest.approx(p, abs=3.5 * np.sqrt(p * (1 - p) / n) + 1e-3)
    test = d_calibration(own, 0, np.arange(SESSIONS))
    assert test is not None
    assert min(test.p_value, test.clustered_p_value or 0.0) > 0.001
    assert test.n_clusters <= SESSIONS
    wrong = d_calibration(sums_of(Curves(GRID, laws.log_survival * 1.6, 1.0), rows, elapsed), 0, np.arange(SESSIONS))
    assert wrong is not None
    assert wrong.clustered_p_value is not None
    assert max(wrong.p_value, wrong.clustered_p_value) < 1e-4
    assert wrong.largest > test.largest


def test_what_nobody_watched_has_no_coverage() -> None:
    sums = CalibrationSums.empty(2, 1)
    sums.events[0, 100:850] = 1.0
    sums.censored[0, 920] = 3.0
    found = coverage(sums, 0)
    assert found[0.9] == pytest.approx(750 / 753)
    assert (found[0.95], found[0.99]) == (None, None)
    assert coverage_intervals(sums, 0, np.zeros(2, np.intp))[0.95].value is None


def test_chi_square_is_scipys() -> None:
    sums = CalibrationSums.empty(30, 1)
    sums.mass[:, 0] = np.random.default_rng(0).poisson(3, (30, len(PIT_EDGES) - 1))
    test = d_calibration(sums, 0, np.arange(30) // 2)
    total = sums.mass[:, 0].sum(axis=0)
    tenths = np.append(total[:9], total[9:].sum())
    expected = stats.chisquare(tenths)
    assert test is not None
    assert (test.statistic, test.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    assert test.n_clusters == 15
    assert test.largest == pytest.approx(np.abs(tenths / tenths.sum() - 0.1).max())


@pytest.mark.parametrize("sizes", [[25] * 60, [206, 104, 27, 26, 8, 2, 1, 1, 1, 1]])
def test_clustered_p_holds_where_rows_are_alike(sizes: list[int]) -> None:
    """Rows of a cluster share half of what moves them: the plain test cries wolf, the clustered one does not."""
    rng = np.random.default_rng(4)
    plain, clustered, runs = 0, 0, 200
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    n_bins = len(PIT_EDGES) - 1
    for _ in range(runs):
        z = np.sqrt(0.5) * (rng.standard_normal(len(sizes))[cluster] + rng.standard_normal(cluster.size))
        place = np.searchsorted(PIT_EDGES, stats.norm.cdf(z), side="right") - 1
        sums = CalibrationSums.empty(len(sizes), 1)
        sums.mass[:, 0] = np.bincount(cluster * n_bins + place, minlength=len(sizes) * n_bins).reshape(-1, n_bins)
        test = d_calibration(sums, 0, np.arange(len(sizes)))
        assert test is not None
        assert test.clustered_p_value is not None
        plain += test.p_value < 0.05
        clustered += test.clustered_p_value < 0.05
    assert plain / runs > 0.5
    assert clustered / runs < 0.1


def test_intervals_of_coverage() -> None:
    laws = some_laws()
    sums = sums_of(laws, rows_from(laws, 5))
    found = coverage_intervals(sums, 0, np.arange(SESSIONS) // 5)
    shares = coverage(sums, 0)
    for p in (0.1, 0.5, 0.9):  # above them the jump at tau is spread evenly, which does not vary
        one, share = found[p], shares[p]
        assert one.value == share
        assert one.low is not None
        assert one.high is not None
        assert share is not None
        assert 0 <= one.low <= share <= one.high <= 1
        # rows are independent here, so the width is about the binomial's
        assert one.high - one.low == pytest.approx(2 * 1.96 * np.sqrt(p * (1 - p) / N), rel=0.5)


def test_horizons_by_brute_force() -> None:
    laws = some_laws()
    place, seconds, observed, session = rows_from(laws, 6)
    sums = CalibrationSums.empty(SESSIONS, 1)
    horizon_sums(sums, laws, place, seconds, observed, SessionSums.of(session, SESSIONS))
    for k, h in enumerate(HORIZONS):
        f = np.exp(laws.log_survival_at(place, h))
        known = observed | (seconds > h)
        brier = np.where(known, (f - (seconds > h)) ** 2, 0.0)
        for name, rows in (("survival", f), ("brier", brier), ("n_known", known)):
            assert_allclose(getattr(sums, name)[:, k], np.bincount(session, rows, minlength=SESSIONS), atol=1e-9)


def test_observed_survival() -> None:
    laws = some_laws()
    _, seconds, observed, session = rows_from(laws, 7)
    seconds[:5] = 0.0
    rows = PauseRows({}, {}, session, session, np.arange(N, dtype=float), seconds, observed)
    expected = kaplan_meier(seconds[5:], observed[5:]).survival_at(HORIZONS)
    assert observed_survival(rows) == pytest.approx(list(expected))
    assert observed_survival(rows.take(np.zeros(N, bool))) == [None] * len(HORIZONS)


def test_nothing_to_judge() -> None:
    sums = CalibrationSums.empty(3, 2)
    assert coverage(sums, 1) == dict.fromkeys(LEVELS)
    assert coverage_intervals(sums, 1, np.zeros(3, np.intp))[0.5].value is None
    assert d_calibration(sums, 1, np.zeros(3, np.intp)) is None
    with pytest.raises(TracestatError, match="one cluster"):
        d_calibration(sums, 1, np.zeros(2, np.intp))
