"""The law of a maximum: known values, both ends, properties; theta found again, and its interval against refits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tracestat.errors import UsageError
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.maximum import (
    MOST_THETA,
    MemberLaws,
    fit_dependence,
    maxima_curves,
    maxima_log_survival,
    maximum_log_survival,
    member_laws,
)
from tracestat.resample import jackknife_interval

GRID = Grid(np.array([0.0, 0.1, 0.4, 1, 3, 10, 40]))
LAWS = curves_of(GRID, np.array([[0.3, 0.2, 0.3, 0.2, 0.4, 0.5], [0.01, 0.1, 0.1, 0.6, 0.1, 0.2]]), 1.2)


def exact(survival: list[str], theta: int) -> float:
    """Work the formula out with 80 digits."""
    with localcontext() as context:
        context.prec = 80
        u = sum(((-(1 - Decimal(s)).ln()) ** theta for s in survival), Decimal(0)) ** (Decimal(1) / theta)
        return float(1 - (-u).exp())


@pytest.mark.parametrize("m", [1, 2, 7])
def test_equal_independent_members(m: int) -> None:
    s = np.array([1.0, 0.999, 0.5, 0.01])
    made = np.exp(maximum_log_survival(np.log(np.tile(s, (m, 1))), 1.0))
    assert made == pytest.approx(1 - (1 - s) ** m, rel=1e-12)


@pytest.mark.parametrize("theta", [1, 2, 5, 40])
@pytest.mark.parametrize(
    "survival", [["1e-9", "2e-9", "5e-10"], ["1e-60", "1e-9"], ["0.3", "0.9", "0.5"], ["0.999999999", "0.99"]]
)
def test_against_many_digits(survival: list[str], theta: int) -> None:
    members = [[float(Decimal(s).ln())] for s in survival]
    assert np.exp(maximum_log_survival(members, theta)[0]) == pytest.approx(exact(survival, theta), rel=1e-12)


def test_far_out_nothing_underflows() -> None:
    members = np.array([[-800.0], [-801.0]])
    assert maximum_log_survival(members, 1.0)[0] == pytest.approx(-800 + np.log1p(np.exp(-1)), rel=1e-15)
    assert maximum_log_survival(np.array([[-np.inf], [-np.inf]]), 2.0)[0] == -np.inf
    assert maximum_log_survival(np.array([[0.0], [-5.0]]), 2.0)[0] == 0.0


MEMBERS = st.integers(1, 5).flatmap(
    lambda m: arrays(np.float64, (m, 4), elements=st.floats(-60, 0)).map(lambda a: -np.sort(-a, axis=1))
)
THETAS = st.floats(1, 80)


@given(members=MEMBERS, theta=THETAS, more=THETAS, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_properties(members: np.ndarray, theta: float, more: float, seed: int) -> None:
    made = maximum_log_survival(members, theta)
    independent = maximum_log_survival(members, 1.0)
    near = 1e-9
    assert (made >= members.max(axis=0)).all()
    assert (made <= independent + near).all()
    assert (np.diff(made) <= near).all()
    assert (maximum_log_survival(members, theta + more) <= made + near).all()
    order = np.random.default_rng(seed).permutation(members.shape[0])
    assert maximum_log_survival(members[order], theta) == pytest.approx(made, rel=1e-9, abs=1e-12)
    assert maximum_log_survival(members, np.inf) == pytest.approx(members.max(axis=0), rel=1e-9, abs=1e-12)
    assert maximum_log_survival(members[:1], theta) == pytest.approx(members[0], rel=1e-9, abs=1e-12)


@given(rounds=st.lists(MEMBERS, min_size=1, max_size=4), theta=THETAS)
@settings(max_examples=16, deadline=None)
def test_many_rounds_are_each_by_itself(rounds: list[np.ndarray], theta: float) -> None:
    together = maxima_log_survival(np.concatenate(rounds), [len(r) for r in rounds], theta)
    assert np.array_equal(together, [maximum_log_survival(r, theta) for r in rounds])


def test_curves_of_the_maximum() -> None:
    curves = maxima_curves(GRID, LAWS.log_survival, [2], LAWS.alpha, 1.0)
    far = np.exp(curves.log_survival_at([0, 0], [40.0, 400.0]))
    assert far[1] / far[0] == pytest.approx(10**-1.2, rel=1e-12)
    assert maxima_curves(GRID, np.zeros((0, 7)), [], 1.0, 2.0).size == 0


@pytest.mark.parametrize("theta", [0.99, -1.0, float("nan")])
def test_no_such_dependence(theta: float) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        maximum_log_survival([[-1.0]], theta)


@pytest.mark.parametrize("sizes", [[1], [3], [2, 0], [[2]]])
def test_members_that_do_not_add_up(sizes: list[int]) -> None:
    with pytest.raises(UsageError, match="n_members"):
        maxima_log_survival(np.zeros((2, 3)), sizes, 1.0)


@pytest.mark.parametrize("theta", [1.0, 1.7, 30.0])
@pytest.mark.parametrize("lag", [0.0, 0.25])
def test_likelihood_of_all_bins_adds_up(theta: float, lag: float) -> None:
    n = GRID.n_bins + 1
    laws = member_laws(LAWS, [0, 1] * n, lag, [2] * n, GRID.edges, np.ones(n, dtype=bool))
    chance = np.exp(laws.log_likelihood(theta))
    assert chance.sum() == pytest.approx(1, rel=1e-12)
    # by the curves themselves: T - lag given T > lag
    shifted = [LAWS.log_survival_at([k] * 7, GRID.edges + lag) - LAWS.log_survival_at([k], lag) for k in (0, 1)]
    s = np.exp(maximum_log_survival(shifted, theta))
    assert chance == pytest.approx(s - np.append(s[1:], 0), abs=1e-12)
    reached = member_laws(LAWS, [0, 1] * n, lag, [2] * n, GRID.edges, np.zeros(n, dtype=bool))
    assert np.exp(reached.log_likelihood(theta)) == pytest.approx(s, rel=1e-12)


def test_likelihood_where_every_member_is_sure_to_run_on() -> None:
    sure = Curves(GRID, np.tile(np.append(np.full(4, -1e-30), [-1.0, -2.0, -3.0]), (2, 1)), 1.0)
    laws = member_laws(sure, [0, 1], 0.0, [2], [0.2], [True])
    assert laws.log_likelihood(1.0) == pytest.approx([-700])


def rounds_of(theta: float, n: int, seed: int, *, late: float = 1.0) -> MemberLaws:
    """Draw rounds of two or three calls from a Gumbel copula (Marshall and Olkin 1988); some are censored."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=n)
    a = 1 / theta
    angle, e = rng.uniform(0, np.pi, n), rng.exponential(size=n)
    stable = np.sin(a * angle) / np.sin(angle) ** theta * (np.sin((1 - a) * angle) / e) ** ((1 - a) * theta)
    f = np.exp(-((rng.exponential(size=sizes.sum()) / np.repeat(stable, sizes)) ** a))
    place = rng.integers(2, size=f.size)
    members = LAWS.quantile(place, np.minimum(f, 1 - 1e-12))
    seconds = np.maximum.reduceat(members, np.cumsum(sizes) - sizes) * late
    stop = rng.exponential(200.0, n)
    return member_laws(LAWS, place, 0.0, sizes, np.minimum(seconds, stop), seconds <= stop)


@pytest.mark.parametrize("theta", [1.25, 2.0, 6.0])
def test_theta_is_found_again(theta: float) -> None:
    n = 4_000
    fit = fit_dependence(rounds_of(theta, n, 1), np.arange(n), np.arange(n) % 40)
    assert fit.theta == pytest.approx(theta, rel=0.1)
    assert fit.interval is not None
    assert fit.interval[0] < theta < fit.interval[1]
    assert (fit.n_rounds, fit.note) == (n, None)
    assert fit.log_likelihood > fit.independent


def test_independent_rounds_have_theta_near_one() -> None:
    n = 4_000
    fit = fit_dependence(rounds_of(1.0, n, 2), np.arange(n), np.arange(n) % 40)
    assert 1 <= fit.theta < 1.04
    assert fit.interval is None or fit.interval[0] < 1.001


def test_interval_against_refits() -> None:
    n, developers = 600, np.arange(600) % 25
    laws = rounds_of(2.0, n, 3)
    fit = fit_dependence(laws, np.arange(n), developers)

    def without(k: int) -> float:
        keep = developers != k
        member = np.repeat(keep, np.diff(np.append(laws.starts, len(laws.bounds))))
        sizes = np.diff(np.append(laws.starts, len(laws.bounds)))[keep]
        part = MemberLaws(laws.bounds[member], np.cumsum(sizes) - sizes, laws.observed[keep])
        return float(np.log(fit_dependence(part, developers[keep], developers[keep]).theta))

    refitted = jackknife_interval(np.log(fit.theta), [without(k) for k in range(25)])
    assert refitted.low is not None
    assert refitted.high is not None
    assert fit.interval is not None
    assert fit.interval == pytest.approx((np.exp(refitted.low), np.exp(refitted.high)), rel=0.01)


def test_few_developers_are_said() -> None:
    fit = fit_dependence(rounds_of(2.0, 200, 4), np.arange(200) // 2, np.arange(200) % 5)
    assert fit.interval is not None
    assert fit.note is not None
    assert "fewer than 20 developers (5)" in fit.note


@pytest.mark.parametrize(
    ("session", "words"),
    [(np.zeros(200, dtype=int), "all rounds are of one session"), (np.arange(200) == 5, "one of the sessions")],
)
def test_why_there_is_no_interval_is_said(session: np.ndarray, words: str) -> None:
    # without the larger of two sessions one round is left, whose likelihood has no peak
    fit = fit_dependence(rounds_of(2.0, 200, 4), session, np.zeros(200))
    assert 1 < fit.theta < MOST_THETA
    assert fit.interval is None
    assert fit.note is not None
    assert words in fit.note
    assert "no interval" in fit.note


def test_few_rounds_are_taken_as_independent() -> None:
    fit = fit_dependence(rounds_of(6.0, 29, 5), np.arange(29), np.arange(29))
    assert (fit.theta, fit.interval, fit.n_rounds) == (1.0, None, 29)
    assert fit.note is not None
    assert fit.note.startswith("29 rounds with several calls, 30 needed")


@pytest.mark.parametrize(("late", "theta", "word"), [(0.05, MOST_THETA, "upper bound"), (4.0, 1.0, "last longer")])
def test_rounds_that_no_dependence_describes(late: float, theta: float, word: str) -> None:
    fit = fit_dependence(rounds_of(1.5, 500, 6, late=late), np.arange(500), np.arange(500))
    assert fit.theta == pytest.approx(theta)
    assert fit.interval is None
    assert fit.note is not None
    assert word in fit.note
