"""Paused agents and what they hold: against closed forms, direct convolution and a simulation of the chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from tracestat.errors import TracestatError
from tracestat.resample import bootstrap_weights
from tracestat.survival.occupancy import AgentLaw, agent_law, estimate, held_law, paused_quantile, whole_blocks
from tracestat.survival.occupancy_intervals import HeldIntervals, Played, held_intervals
from tracestat.survival.occupancy_typical import typical_draws, typical_intervals

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@pytest.mark.parametrize("agents", [1, 2, 7, 32, 1_000, 10_000])
@pytest.mark.parametrize("p", [0.003, 0.4, 0.97])
def test_equal_contexts_are_the_binomial(agents: int, p: float) -> None:
    law = agent_law([4_096.0, 4_096.0], [p * 60, p * 40], 100.0)
    held = held_law(law, agents)
    assert held.exact
    assert held.step == 4_096
    first = round(held.first / held.step)
    at = first + np.arange(held.mass.size)
    assert held.mass == pytest.approx(binom.pmf(at, agents, p), abs=1e-11)
    found = estimate(law, agents)
    want = [float(binom.ppf(q, agents, p)) for q in (0.5, 0.99)]
    assert found.paused == pytest.approx((agents * p, *want))
    assert found.tokens == pytest.approx((agents * p * 4_096, *(4_096 * k for k in want)))
    assert found.grid_error == 0


def test_only_the_mean_of_pauses_matters_to_how_many_are_paused() -> None:
    rng = np.random.default_rng(5)
    n = 400_000
    found = {}
    for name, pauses in (("exponential", rng.exponential(3.0, n)), ("pareto", rng.pareto(2.5, n) * 4.5)):
        busy = rng.exponential(1.0, n)
        law = agent_law(np.full(n, 1_600.0), pauses, float(busy.sum() + pauses.sum()))
        # busy 1 s, paused 3 s on average, whatever the law of the latter
        assert law.paused == pytest.approx(0.75, abs=0.004), name
        found[name] = estimate(agent_law([1_600.0], [law.paused], 1.0), 20).paused[1:]
    assert found["exponential"] == found["pareto"] == (15.0, 19.0)
    # and to the digit where the means are
    sums = [np.full(8, 2.0), np.array([1e-3] * 7 + [16 - 7e-3])]
    one, other = (estimate(agent_law(np.full(8, 160.0), each, 40.0), 9) for each in sums)
    assert one.paused == pytest.approx(other.paused, rel=1e-12)
    assert one.tokens == pytest.approx(other.tokens, rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(0.01, 5.0)), min_size=1, max_size=8),
    st.integers(1, 6),
    st.floats(0.0, 20.0),
)
def test_it_is_the_direct_convolution(pauses: list[tuple[int, float]], agents: int, busy: float) -> None:
    tokens, seconds = 16.0 * np.array([k for k, _ in pauses]), np.array([s for _, s in pauses])
    total = float(seconds.sum()) + busy
    one = np.zeros(41)
    for k, s in pauses:
        one[k] += s / total
    one[0] += busy / total
    direct = np.ones(1)
    for _ in range(agents):
        direct = np.convolve(direct, one)
    law = agent_law(tokens, seconds, total)
    found = held_law(law, agents)
    reach = np.cumsum(direct)
    for q in (0.5, 0.9, 0.99):
        cell = int(np.searchsorted(reach, q))
        # where a step of the law ends at q, rounding decides
        if abs(reach[cell] - q) > 1e-9 and (cell == 0 or abs(reach[cell - 1] - q) > 1e-9):
            assert found.quantile(q) == pytest.approx(16.0 * cell, abs=1e-6)
    assert agents * law.mean == pytest.approx(16.0 * float(np.arange(direct.size) @ direct), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.0, 1.0), st.integers(1, 100_000), st.sampled_from([0.5, 0.9, 0.99]))
def test_quantiles_of_the_binomial(p: float, agents: int, q: float) -> None:
    k = int(paused_quantile(p, agents, q))
    assert binom.cdf(k, agents, p) >= q - 1e-9
    assert k == 0 or binom.cdf(k - 1, agents, p) < q + 1e-9


def heavy_law(rng: np.random.Generator) -> AgentLaw:
    tokens = whole_blocks(rng.lognormal(11, 0.9, 8_000), 16)
    seconds = rng.pareto(1.5, 8_000)
    return agent_law(tokens, seconds, float(seconds.sum()) / 0.3)


@pytest.mark.parametrize("agents", [8, 64, 10_000])
def test_a_coarse_grid_is_off_by_less_than_it_says(agents: int) -> None:
    law = heavy_law(np.random.default_rng(0))
    default, fine = estimate(law, agents), held_law(law, agents, cells=2**21)
    assert default.grid_error < 0.005
    coarse = held_law(law, agents, cells=2**12)
    assert not coarse.exact
    for q in (0.5, 0.99):
        paused = int(paused_quantile(law.paused, agents, q))
        assert abs(coarse.quantile(q) - fine.quantile(q)) <= coarse.error_at(paused) + fine.error_at(paused)
        assert coarse.quantile(q) == pytest.approx(fine.quantile(q), rel=0.02)
    # the mean stays
    at = coarse.first + coarse.step * np.arange(coarse.mass.size)
    assert float(at @ coarse.mass) == pytest.approx(agents * law.mean, rel=1e-9)


def chain(rng: np.random.Generator, sessions: int) -> tuple[Codes, Floats, Floats, Floats]:
    """Sessions of a few steps: session of each, tokens, generation and pause; the last step has no pause."""
    steps = rng.integers(1, 6, sessions)
    session = np.repeat(np.arange(sessions), steps)
    last = np.cumsum(steps) - 1
    pause = rng.pareto(2.2, session.size) * 4
    pause[last] = 0
    return session, 16.0 * rng.integers(1, 50, session.size), rng.exponential(2.0, session.size), pause


def test_it_is_what_a_simulation_of_the_agents_gives() -> None:
    rng = np.random.default_rng(11)
    session, tokens, busy, pause = chain(rng, 40)
    agents, played, looks = 6, 6_000, 60_000
    held, paused = np.zeros(looks), np.zeros(looks)
    steps = [np.flatnonzero(session == s) for s in range(40)]
    for _ in range(agents):
        order = np.concatenate([steps[s] for s in rng.integers(0, 40, played)])
        # generation, then pause, of each step in turn
        ends = np.cumsum(np.stack([busy[order], pause[order]], axis=1).ravel())
        at = np.searchsorted(ends, rng.uniform(0.2, 0.8, looks) * ends[-1])
        waits = at % 2 == 1
        held += np.where(waits, tokens[order][at // 2], 0)
        paused += waits
    found = estimate(agent_law(tokens, pause, float(busy.sum() + pause.sum())), agents)
    assert paused.mean() == pytest.approx(found.paused[0], rel=0.02)
    assert held.mean() == pytest.approx(found.tokens[0], rel=0.02)
    assert tuple(np.quantile(paused, [0.5, 0.99])) == found.paused[1:]
    for q, value in zip((0.5, 0.99), found.tokens[1:], strict=True):
        assert (held <= value * 1.03).mean() >= q
        assert (held < value * 0.97).mean() <= q


def test_order_and_names_of_sessions_do_not_matter() -> None:
    session, tokens, busy, pause = chain(np.random.default_rng(2), 60)
    total = float(busy.sum() + pause.sum())
    order = np.random.default_rng(3).permutation(session.size)
    one, other = (
        estimate(agent_law(tokens, pause, total), 12),
        estimate(agent_law(tokens[order], pause[order], total), 12),
    )
    assert one.paused == pytest.approx(other.paused, rel=1e-12)
    assert one.tokens == pytest.approx(other.tokens, rel=1e-12)


def test_nothing_and_nonsense() -> None:
    nothing = estimate(agent_law([], [], 5.0), 8)
    assert (nothing.paused, nothing.tokens) == ((0, 0, 0), (0, 0, 0))
    unknown = estimate(agent_law([0.0], [5.0], 5.0), 8)
    assert (unknown.paused, unknown.tokens) == ((8, 8, 8), (0, 0, 0))
    for tokens, seconds, length in (([1.0], [2.0], 1.0), ([1.0], [-1.0], 5.0), ([1.0], [1.0], 0.0), ([1.0], [], 1.0)):
        with pytest.raises(TracestatError, match="occupancy"):
            agent_law(tokens, seconds, length)
    with pytest.raises(TracestatError, match="0 agents"):
        held_law(agent_law([1.0], [1.0], 2.0), 0)


def sample(rng: np.random.Generator, sessions: int) -> tuple[Played, AgentLaw]:
    n = rng.integers(1, 60, sessions)
    code = np.repeat(np.arange(sessions), n)
    tokens = whole_blocks(np.repeat(rng.lognormal(11, 0.6, sessions), n), 16)
    pause = rng.lognormal(1.0, 1.2, code.size)
    busy = np.bincount(code, rng.exponential(8.0, code.size), sessions)
    length = busy + np.bincount(code, pause, sessions)
    return Played(code, tokens, pause, length), agent_law(tokens, pause, float(length.sum()))


def of(played: Played, law: AgentLaw, draws: int = 200, seed: int = 1) -> HeldIntervals:
    found = estimate(law, 32, cells=2**14)
    return held_intervals(played, 32, found.paused, found.tokens, draws=draws, seed=seed)


@pytest.mark.parametrize(
    ("runs", "sessions"), [(30, 100), pytest.param(1_000, 100, marks=pytest.mark.full)], ids=["small", "full"]
)
def test_intervals_cover(runs: int, sessions: int) -> None:
    truth = estimate(sample(np.random.default_rng(99), 100_000)[1], 32, cells=2**14)
    values = (*truth.paused, *truth.tokens)
    hits = np.zeros(6)
    for run in range(runs):
        found = of(*sample(np.random.default_rng(run), sessions))
        for place, item in enumerate((*found.paused, *found.tokens)):
            assert item.low is not None
            assert item.high is not None
            hits[place] += item.low - 1e-9 <= values[place] <= item.high + 1e-9
    # nominal 95 %; three binomial standard errors below 92 % (mean of paused) and 90 %, 88 % (tokens)
    bounds = np.array([0.92, 0.92, 0.92, 0.90, 0.90, 0.88])
    assert (hits / runs >= bounds - 3 * np.sqrt(bounds * (1 - bounds) / runs)).all(), hits / runs


def test_the_same_seed_gives_the_same_digits() -> None:
    played, law = sample(np.random.default_rng(4), 40)
    assert of(played, law) == of(played, law)
    assert of(played, law, seed=2).tokens[2].value == of(played, law).tokens[2].value
    assert of(played, law, seed=2).tokens[2].low != of(played, law).tokens[2].low


def test_one_cluster_and_no_draws_give_no_bounds() -> None:
    played, law = sample(np.random.default_rng(4), 1)
    assert {item.low for item in (*of(played, law).paused, *of(played, law).tokens)} == {None}
    played, law = sample(np.random.default_rng(4), 30)
    assert {item.high for item in of(played, law, draws=0).tokens} == {None}


def test_equal_sessions_leave_no_doubt() -> None:
    code = np.repeat(np.arange(30), 2)
    played = Played(code, np.full(60, 1_600.0), np.full(60, 3.0), np.full(30, 12.0))
    law = agent_law(played.tokens, played.seconds, float(played.length.sum()))
    found = held_intervals(played, 10, (5.0, 5.0, 9.0), estimate(law, 10).tokens, draws=50)
    assert (found.paused[0].low, found.paused[0].high) == pytest.approx((5.0, 5.0))
    assert (found.tokens[0].low, found.tokens[0].high) == pytest.approx((8_000.0, 8_000.0))


@pytest.mark.filterwarnings("error")
def test_bounds_stay_within_what_agents_can_hold() -> None:
    code, tokens = np.repeat(np.arange(25), 2), np.full(50, 1_600.0)
    for giant in (100.0, 1_000.0, 9e6):  # unbounded, the first would reach 1e33 tokens
        pause = 6 + 0.01 * (np.arange(50) % 5)
        pause[-1] = giant
        length = np.bincount(code, pause) + 6
        found = of(Played(code, tokens, pause, length), agent_law(tokens, pause, float(length.sum())))
        for item, most in [(i, 32.0) for i in found.paused] + [(i, 32 * 1_600.0) for i in found.tokens]:
            assert item.high is None or 0 <= (item.low or 0) <= item.high <= most * (1 + 1e-9)


def test_typical_pauses_of_each_draw() -> None:
    rng = np.random.default_rng(6)
    cluster, seconds = np.repeat(np.arange(25), 8), rng.lognormal(0, 2, 200)
    tokens = np.full(200, 1_600.0)
    drawn = typical_draws(cluster, seconds, tokens, 25, draws=300, seed=3)
    assert np.quantile(drawn.median, 0.1) < np.median(seconds) < np.quantile(drawn.median, 0.9)
    assert drawn.mean.mean() == pytest.approx(seconds.mean(), rel=0.1)
    busy = np.full(25, 10.0)
    share = 8 * np.median(seconds) / (10 + 8 * np.median(seconds))
    found = estimate(agent_law([1_600.0], [share], 1.0), 20)
    kinds = [(drawn, drawn.median, True)]
    interval = typical_intervals(kinds, busy, 20, found.paused, found.tokens, draws=300, seed=3)
    mean = interval.paused[0]
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < 20 * share < mean.high
    # all hold the same: tokens follow the number paused
    assert interval.tokens[0].low == pytest.approx(1_600 * mean.low)
    # a kind that only takes time makes the others rarer
    rarer = typical_intervals([*kinds, (drawn, drawn.mean, False)], busy, 20, (0, 0, 0), (0, 0, 0), draws=300, seed=3)
    assert (rarer.paused[0].high or 0) < mean.high
    none = typical_draws([], [], [], 25, draws=4, seed=0)
    assert none.median.tolist() == [0] * 4


@pytest.mark.parametrize("pauses", [1, 511, 1_025])
def test_medians_of_draws_are_those_of_the_pauses_drawn(pauses: int) -> None:
    rng = np.random.default_rng(pauses)
    cluster, seconds = rng.integers(0, 6, pauses), np.round(rng.lognormal(0, 2, pauses), 1)
    weights = bootstrap_weights(9, 40, 5).astype(int)
    found = typical_draws(cluster, seconds, np.ones(pauses), 9, draws=40, seed=5).median
    # the lower of two middle ones; clusters 6 to 8 have no pauses, so that a draw may have none
    for drawn, median in zip(weights, found, strict=True):
        some = np.sort(np.repeat(seconds, drawn[cluster]))
        assert median == (some[(some.size - 1) // 2] if some.size else 0.0)


def heavy_sample(rng: np.random.Generator, sessions: int) -> tuple[Played, AgentLaw]:
    """Sessions of a geometric number of steps whose context grows; lognormal pauses, slower in some."""
    n = rng.geometric(1 / 30, sessions)
    code = np.repeat(np.arange(sessions), n)
    step = np.arange(code.size) - np.repeat(np.cumsum(n) - n, n)
    tokens = whole_blocks(np.repeat(rng.lognormal(11, 0.6, sessions), n) * (1 + step / 60), 16)
    pause = 2 * rng.lognormal(0, 2.2, code.size) * np.repeat(rng.lognormal(0, 0.7, sessions), n)
    length = np.bincount(code, rng.exponential(10, code.size) + pause, sessions)
    return Played(code, tokens, pause, length), agent_law(tokens, pause, float(length.sum()))


@pytest.mark.full
@pytest.mark.parametrize(("sessions", "least"), [(50, (0.88, 0.84, 0.80)), (500, (0.92, 0.93, 0.88))])
def test_heavy_pauses_are_covered_as_the_docstring_says(sessions: int, least: tuple[float, float, float]) -> None:
    runs = 300
    truth = estimate(heavy_sample(np.random.default_rng(9), 200_000)[1], 32, cells=2**14)
    values = (truth.paused[0], truth.tokens[0], truth.tokens[2])
    hits = np.zeros(3)
    for run in range(runs):
        found = of(*heavy_sample(np.random.default_rng(run), sessions))
        for place, item in enumerate((found.paused[0], found.tokens[0], found.tokens[2])):
            hits[place] += (item.low or 0) <= values[place] <= (item.high or np.inf)
    bounds = np.array(least)
    # three binomial standard errors below the stated coverage
    assert (hits / runs >= bounds - 3 * np.sqrt(bounds * (1 - bounds) / runs)).all(), hits / runs
