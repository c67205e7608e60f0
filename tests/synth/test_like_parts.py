"""The parts of a stand-in: targets, laws, layouts, the placing of durations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.errors import UsageError
from tracestat.synth.catalogue import CLAUDE
from tracestat.synth.like_check import HOLES, slope_of
from tracestat.synth.like_durations import (
    apportion,
    deal,
    human_waits,
    limited,
    mean_left,
    milliseconds,
    over_a_minute,
    stretch,
    tails,
)
from tracestat.synth.like_figures import FIGURES, parse_shift, targets
from tracestat.synth.like_fit import fit, tilted
from tracestat.synth.like_law import CLASSES, EDGE, LAST, law_of
from tracestat.synth.like_layout import POLL, RUNNING, chains, eta_of, pauses_of, rounds_of
from tracestat.synth.like_pauses import class_shares, heavy


def test_full_size_is_exact() -> None:
    asked = targets(8058, {})
    assert asked.sessions == {"claude": 5319, "codex": 2739}
    assert asked.calls == {"claude": 305_005, "codex": 438_814}
    assert (asked.rounds, asked.developers) == (665_453, 71)
    assert all(asked.values[f.id] == f.published for f in FIGURES)


def test_a_shift_of_a_whole_falls_on_its_parts() -> None:
    plain, more = targets(806, {}), targets(806, {"article.calls": 1.5, "article.gt1m.calls": 1.1})
    for provider in ("claude", "codex"):
        assert more.calls[provider] == pytest.approx(1.5 * plain.calls[provider], abs=1)
    assert more.values["article.gt1m.calls"] == pytest.approx(0.0539)
    assert more.values["article.gt1m.time"] == plain.values["article.gt1m.time"]
    both = targets(806, {"article.hazard_slope": 1.1})
    assert both.values["article.hazard_slope.steepest"] == pytest.approx(-0.814)
    assert both.values["article.hazard_slope.flattest"] == pytest.approx(-0.616)


@pytest.mark.parametrize(
    ("shifts", "said"),
    [
        ({"article.none": 1.1}, "no imposed figure"),
        ({"article.gt1m.time": 1.2}, "share would be"),
        ({"article.eta": 2.0}, "eta would be"),
        ({"article.mrl.4": 3.0}, "no law leaves"),
        ({"article.hazard_slope.steepest": 0.5}, "slopes between"),
    ],
)
def test_what_cannot_be_asked_is_refused(shifts: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        targets(800, shifts)


@pytest.mark.parametrize(
    "text", ["article.eta", "article.eta=", "article.eta=x", "article.eta=-1", "article.eta=nan", "=2"]
)
def test_a_shift_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shift(text)


@pytest.mark.parametrize("shifts", [{}, {"article.mrl.25": 1.3}, {"article.lt1s": 0.9}, {"article.approval": 0.5}])
def test_the_equations_have_a_solution_whose_hazards_fall(shifts: dict[str, float]) -> None:
    asked = targets(8058, shifts)
    found = fit(asked, class_shares(CLAUDE), 1.09)
    assert found.solved
    for name, law in found.laws.items():
        t = np.geomspace(0.13, 3700, 400)
        survival = np.array([law.survival(float(x)) for x in t])
        hazard = -np.diff(np.log(survival)) / np.diff(t)
        # the steps of the grid show as ripples of a percent
        assert np.all(hazard[10:] < 1.02 * hazard[:-10]), name


@pytest.mark.full
def test_what_cannot_hold_together_gives_way_by_little() -> None:
    asked = targets(8058, {"article.mrl.4": 1.3})
    assert not fit(asked, class_shares(CLAUDE), 1.09).solved


def test_tilting_moves_one_class() -> None:
    found = fit(targets(8058, {}), class_shares(CLAUDE), 1.09)
    other = tilted(found, "read", -0.7)
    assert other.slopes["read"] == -0.7
    assert other.laws["read"].survival(10.0) != found.laws["read"].survival(10.0)
    assert other.laws["shell"] is found.laws["shell"]


@settings(max_examples=13, deadline=None)
@given(st.floats(0.0, 0.9), st.floats(-0.8, -0.5), st.integers(1, 300))
def test_quantiles_invert_the_survival(fast: float, slope: float, n: int) -> None:
    law = law_of(CLASSES["shell"], 0.1, slope, np.zeros(6), fast)
    left = 1.0 - (np.arange(n) + 0.5) / n
    seconds = law.quantiles(left)
    assert np.all(np.diff(seconds) >= 0)
    inside = (seconds > EDGE) & (seconds < LAST)
    assert [law.survival(float(t)) for t in seconds[inside]] == pytest.approx(left[inside].tolist(), rel=1e-6)


def test_slope_of_a_power_law_with_holes() -> None:
    law = law_of(CLASSES["edit"], 0.0, -0.65, np.zeros(6), 0.7)
    seconds = law.quantiles(1.0 - (np.arange(40_000) + 0.5) / 40_000)
    for holes in ((), HOLES["claude"], HOLES["codex"]):
        assert slope_of([(seconds, holes)]) == pytest.approx(-0.65, abs=0.006)
    assert slope_of([(seconds[:20_000], ()), (seconds[20_000:], ())]) == pytest.approx(slope_of([(seconds, ())]))
    assert slope_of([(seconds[::500], ())]) is None


@settings(max_examples=10, deadline=None)
@given(st.integers(300, 900), st.floats(-0.36, -0.1))
def test_rounds_have_their_sum_and_their_eta(sessions: int, eta: float) -> None:
    other = sessions // 2
    made = rounds_of({"a": sessions, "b": other}, {"a": 55 * sessions, "b": 130 * other}, eta)
    assert (made["a"].sum(), made["b"].sum()) == (55 * sessions, 130 * other)
    assert min(made["a"].min(), made["b"].min()) >= 2
    assert eta_of(np.concatenate([made["a"], made["b"]])) == pytest.approx(eta, abs=0.005)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(2, 60), min_size=1, max_size=40), st.floats(0.0, 1.0))
def test_pauses_fit_into_their_sessions(rounds: list[int], part: float) -> None:
    sizes = np.array(rounds)
    total = sizes.size + int(part * (sizes.sum() - 2 * sizes.size))
    pauses = pauses_of(sizes, total)
    assert pauses.sum() == total
    assert np.all((pauses >= 1) & (pauses < sizes))


@settings(max_examples=13, deadline=None)
@given(st.lists(st.integers(1, 80), min_size=20, max_size=40), st.floats(0.2, 0.4), st.integers(0, 99))
def test_chains_meet_the_share_and_poll_what_runs(sizes: list[int], share: float, seed: int) -> None:
    pauses = np.array(sizes)
    made = chains(pauses, 0.7, share, np.random.default_rng(seed))
    session = np.repeat(np.arange(pauses.size), pauses)
    for i in np.flatnonzero(made.kind & POLL):
        assert made.kind[i - 1] & RUNNING
        assert session[i] == session[i - 1] == session[made.launch[i]]
        assert not made.kind[made.launch[i]] & POLL
    assert np.array_equal(made.launch >= 0, made.kind & POLL > 0)
    # to one pause, where enough of them are not polled
    assert abs(int((made.kind & RUNNING > 0).sum()) - round(share * pauses.sum())) <= 2


@given(st.integers(0, 500), st.lists(st.floats(0.001, 1.0), min_size=1, max_size=12))
def test_apportioning_loses_nothing(total: int, shares: list[float]) -> None:
    counts = apportion(total, shares)
    assert sum(counts) == total
    for count, share in zip(counts, shares, strict=True):
        assert abs(count - total * share / sum(shares)) < 1 + 1e-6


def test_limits_keep_the_rows_and_the_order_of_time() -> None:
    law = law_of(CLASSES["shell"], 0.0, -0.68, np.zeros(6), 0.4)
    parts = limited(law, 5000, [(1.0, 0.55), (30.0, 0.2)])
    assert sum(seconds.size + cut for _, seconds, cut in parts) == 5000
    for limit, seconds, cut in parts:
        if limit is not None:
            assert seconds.max() < limit
            assert cut / (cut + seconds.size) == pytest.approx(law.survival(limit), abs=0.001)
    assert sum(cut for _, _, cut in limited(law, 5000, [(1.0, 0.55), (30.0, 0.2)], stopped=777)) == 777


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.integers(0, 99))
def test_dealing_is_a_permutation_and_even(owners: list[int], seed: int) -> None:
    owner = np.array(owners)
    dealt = deal(np.arange(owner.size), owner, np.random.default_rng(seed))
    assert sorted(dealt.tolist()) == list(range(owner.size))
    for one in set(owners):
        own = np.sort(dealt[owner == one])
        # the k-th smallest card of an owner lies in the k-th part of the pack
        parts = own / owner.size * own.size
        assert np.all(np.abs(parts - np.arange(own.size) - 0.5) <= 0.5 + 7 * own.size / owner.size)


def test_stretching_meets_residual_lives_and_crosses_nothing() -> None:
    law = law_of(CLASSES["shell"], 0.1, -0.68, np.zeros(6), 0.45)
    ms = milliseconds(law.quantiles(1.0 - (np.arange(20_000) + 0.5) / 20_000))
    free = np.arange(ms.size) % 7 > 0
    lives = [1.02 * (mean_left(ms, t) or 0.0) for t in (4.0, 25.0, 146.0)]
    out = stretch(ms, free, lives)
    assert [mean_left(out, t) for t in (4.0, 25.0, 146.0)] == pytest.approx(lives, rel=1e-4)
    assert np.array_equal(out[~free], ms[~free])
    for edge in (4_000, 25_000, 146_000, int(LAST * 1000)):
        assert np.array_equal(out > edge, ms > edge)


def test_tails_meet_three_shares() -> None:
    law = law_of(CLASSES["shell"], 0.1, -0.68, np.array([0, 0, -0.1, 0.1, 0.2, -1.5]), 0.45)
    tool = milliseconds(law.quantiles(1.0 - (np.arange(20_000) + 0.5) / 20_000))
    beside = np.full(2_000, 20)
    over = (int((tool > 60_000).sum()) + 385) / 22_400
    out, waits = tails(tool, beside, human_waits(400, 200.0, 1.0), over, 0.93, 0.3)
    every = np.concatenate([out, beside, waits]).astype(float)
    assert np.mean(every > 60_000) == pytest.approx(over, abs=1e-4)
    assert every[every > 60_000].sum() / every.sum() == pytest.approx(0.93, abs=1e-3)
    assert waits.sum() / every.sum() == pytest.approx(0.3, abs=1e-3)
    assert np.array_equal(out[tool <= LAST * 1000], tool[tool <= LAST * 1000])


@given(st.lists(st.floats(1.0, 500.0), min_size=1, max_size=80), st.integers(0, 90))
def test_waits_move_over_a_minute_or_stay(values: list[float], wanted: int) -> None:
    waits = np.sort(np.array(values))
    out = over_a_minute(waits, wanted)
    assert out.size == waits.size
    assert np.all(np.diff(out) >= 0.0)
    assert int((out > 60.0).sum()) == wanted or np.array_equal(out, waits)


def test_few_commands_test_build_or_install() -> None:
    for provider in ("claude", "codex"):
        flags = heavy(provider)
        assert 0 < sum(flags) < len(flags) / 2
