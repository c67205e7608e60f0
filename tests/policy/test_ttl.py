"""How long to hold: published vectors, closed forms, and what must hold of every law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.errors import UsageError
from tracestat.policy import (
    PauseLaw,
    benefit_of,
    continuum_hold,
    continuum_paper,
    continuum_public_code,
    exponential_hold,
    hazard_hold,
    hold_of,
    law_of_curve,
    law_of_durations,
    least_benefit,
    paper_source,
)

SIX = [0.1, 0.2, 0.5, 1.0, 3.0, 30.0]
# estimators.md 9, rows 24 and 25, and policies.md 3.2: benefit, tau and value of each rule
CONTINUUM = [
    (-1.0, 0.0, 0.0),
    (0.05, 0.0, 0.0),
    (0.5, 0.0, 0.0),
    (1.0, 0.2, 2 / 6 - 0.2),
    (2.0, 0.5, 0.5),
    (5.0, 1.0, 7 / 3),
    (10.0, 1.0, 17 / 3),
    (40.0, 3.0, 91 / 3),
    (200.0, 30.0, 170.0),
]
HAZARD = [
    (0.5, 0.0, 0.0),
    (1.0, 0.2, 0.15),
    (2.0, 1.0, 0.7),
    (5.0, 3.0, 2.86666666667),
    (10.0, 3.0, 7.03333333333),
    (40.0, 30.0, 34.2),
    (200.0, 30.0, 194.2),
]
durations = st.lists(st.floats(0, 1e4).map(lambda x: round(x, 3)), min_size=1, max_size=30)
benefits = st.floats(-10, 1e4)


@pytest.mark.parametrize(("benefit", "tau", "value"), CONTINUUM)
def test_continuum_on_the_six_durations(benefit: float, tau: float, value: float) -> None:
    hold = continuum_hold(law_of_durations(SIX), benefit)
    assert hold.tau == tau
    assert hold.value == pytest.approx(value, abs=1e-12)
    assert hold.pin_share == pytest.approx(sum(x <= tau for x in SIX) / 6, abs=1e-15)
    assert hold.mean_hold == pytest.approx(sum(min(x, tau) for x in SIX) / 6, abs=1e-12)


@pytest.mark.parametrize(("benefit", "tau", "value"), HAZARD)
def test_the_hazard_rule_on_the_six_durations(benefit: float, tau: float, value: float) -> None:
    hold = hazard_hold(law_of_durations(SIX), benefit)
    assert (hold.tau, hold.value) == (tau, pytest.approx(value, abs=1e-11))


@given(durations, benefits)
def test_enumeration_finds_the_best_and_charges_as_it_says(sample: list[float], benefit: float) -> None:
    law, values = law_of_durations(sample), np.array(sample)
    candidates = [0.0, *sample, *(x / 2 for x in sample), *(x + 0.5 for x in sample if x + 0.5 <= max(sample))]
    whole = continuum_hold(law, benefit)
    paid = hazard_hold(law, benefit)
    for tau in candidates:
        share, held = np.mean(values <= tau), np.mean(np.minimum(values, tau))
        assert whole.value >= benefit * share - tau - 1e-7
        assert paid.value >= benefit * share - held - 1e-7
    assert whole.tau <= max(benefit, 0) + 1e-9
    assert paid.value >= whole.value - 1e-9
    assert whole.mean_hold == pytest.approx(np.mean(np.minimum(values, whole.tau)), abs=1e-9)


@given(durations, benefits)
def test_what_lasts_longer_than_the_benefit_may_be_cut_there(sample: list[float], benefit: float) -> None:
    cut = max(benefit, 0.0) + 1.0
    there = law_of_durations([min(x, cut) for x in sample])
    assert continuum_hold(there, benefit).tau == continuum_hold(law_of_durations(sample), benefit).tau


@given(durations, benefits, st.randoms(use_true_random=False))
def test_neither_order_nor_counting_changes_anything(sample: list[float], benefit: float, random: object) -> None:
    mixed = [*sample]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    distinct, counts = np.unique(sample, return_counts=True)
    wanted = continuum_hold(law_of_durations(sample), benefit)
    for other in (law_of_durations(mixed), law_of_durations([*distinct, 7.0], [*counts, 0])):
        assert continuum_hold(other, benefit) == wanted


@given(durations, st.booleans())
def test_below_the_least_benefit_no_hold_pays(sample: list[float], whole: bool) -> None:
    law = law_of_durations(sample)
    least = least_benefit(law, whole=whole)
    if least is None:
        assert max(sample) == 0
        return
    rule = continuum_hold if whole else hazard_hold
    assert rule(law, least * 0.999 - 1e-9).tau == 0
    assert rule(law, least * 1.001 + 1e-9).tau > 0


def test_equal_worth_goes_to_the_shorter() -> None:
    # B/4 per step of 1 s: every hold is worth the same, zero at none
    law = law_of_durations([1.0, 2.0, 3.0, 4.0])
    assert continuum_hold(law, 4.0).tau == 0.0
    assert hazard_hold(law, 1.0).tau == 0.0
    assert continuum_hold(law_of_durations([0.1] * 10 + [0.2] * 10 + [0.3] * 10), 0.3).tau == 0.0


def curve_of(survival: object, times: np.ndarray, atoms: list[tuple[float, float]] | None = None) -> PauseLaw:
    return law_of_curve(times, survival(times), atoms or ())  # type: ignore[operator]


@pytest.mark.parametrize("benefit", [0.5, 1.0, 2.0, math.e**2, 50.0])
def test_exponential_laws_have_a_closed_form(benefit: float) -> None:
    times = np.arange(1, 40_001) / 1000
    law = curve_of(lambda t: np.exp(-t), times)
    expected = exponential_hold(1.0, benefit)
    assert expected == (math.log(benefit) if benefit > 1 else 0.0)
    assert continuum_hold(law, benefit).tau == pytest.approx(expected, abs=1e-3)
    # a constant hazard of 1: hold until nothing is left that could be told from nothing, or not at all
    tau = hazard_hold(law, benefit).tau
    assert tau > 25 if benefit > 1.001 else tau == 0


@pytest.mark.parametrize("benefit", [1.0, 5.0, 40.0])
def test_a_falling_density_holds_longer_under_the_hazard_rule(benefit: float) -> None:
    times = np.geomspace(1e-3, 1e4, 400)
    law = curve_of(lambda t: (1 + t) ** -1.2, times)
    whole, paid = continuum_hold(law, benefit), hazard_hold(law, benefit)
    assert paid.tau >= whole.tau
    # f(tau) = 1 / B and h(tau) = 1 / B
    step = times[1] / times[0]
    assert math.log(max(whole.tau, 1e-3) / max((1.2 * benefit) ** (1 / 2.2) - 1, 1e-3)) <= 2 * math.log(step)
    assert paid.tau == pytest.approx(max(1.2 * benefit - 1, 0), rel=2 * (step - 1))


@pytest.mark.parametrize("benefit", [1.0, 5.0, 40.0, 300.0])
def test_asked_again_during_the_hold_a_falling_hazard_ends_it_at_the_same_time(benefit: float) -> None:
    law = curve_of(lambda t: (1 + t) ** -1.2, np.geomspace(1e-3, 1e4, 400))
    tau = hazard_hold(law, benefit).tau
    for part in (0.3, 0.9):
        elapsed = part * tau
        again = hazard_hold(law, benefit, elapsed=elapsed) if elapsed else hazard_hold(law, benefit)
        assert elapsed + again.tau == pytest.approx(tau, abs=1e-9)


def test_the_law_of_what_is_left_is_that_of_the_rows_left() -> None:
    sample = np.array([0.2, 1.0, 1.0, 4.0, 9.0, 30.0, 31.0])
    for elapsed in (0.1, 1.0, 3.0, 9.0):
        left = law_of_durations(sample[sample > elapsed] - elapsed)
        given_ = law_of_durations(sample).given(elapsed)
        np.testing.assert_allclose(given_.times, left.times, atol=1e-12)
        np.testing.assert_allclose(given_.survival, left.survival, atol=1e-12)
        np.testing.assert_allclose(given_.held, left.held, atol=1e-12)
        for benefit in (1.0, 10.0, 60.0):
            own = continuum_hold(law_of_durations(sample), benefit, elapsed=elapsed)
            assert own.value == pytest.approx(continuum_hold(left, benefit).value)


def test_a_point_mass_is_worth_waiting_for() -> None:
    # 40 % return at once, 40 % at the limit of 30 s: nothing between is worth a hold
    law = law_of_curve([0.01, 29.0, 31.0, 1000.0], [0.6, 0.55, 0.1, 0.0], [(30.0, 0.44)])
    assert law.survival_at(29.999) == pytest.approx(0.545, abs=1e-3)
    assert law.survival_at(30.0) == pytest.approx(0.105, abs=1e-3)
    assert continuum_hold(law, 5.0).tau == 0.01
    assert continuum_hold(law, 80.0).tau == 30.0
    # 1.4 of 1.6 parts of what is left ends on it: asked at 20 s, it pays from a much smaller benefit on
    assert hazard_hold(law, 14.0).tau == 0.01
    assert 20.0 + hazard_hold(law, 14.0, elapsed=20.0).tau == 30.0


def test_without_its_mass_a_curve_takes_the_end_of_the_stretch() -> None:
    curve = law_of_curve([0.01, 29.0, 31.0, 1000.0], [0.6, 0.55, 0.1, 0.0])
    assert continuum_hold(curve, 80.0).tau == 31.0


@given(
    st.lists(st.floats(1e-3, 9e3), min_size=5, max_size=200),
    st.sampled_from([0.5, 1.0, 2.0, 5.0, 10.0, 40.0]),
)
def test_grid_and_sample_agree_within_a_step(sample: list[float], benefit: float) -> None:
    grid = np.array([10 ** (k / 20 - 3) for k in range(161)])
    exact = law_of_durations(sample)
    curve = law_of_curve(grid, [exact.survival_at(min(t, exact.last)) for t in grid])
    step = 10 ** (1 / 20)
    own, coarse = continuum_hold(exact, benefit), continuum_hold(curve, benefit)
    # the next grid point after the best duration returns no fewer, and costs at most a step more
    assert coarse.value >= own.value - (step - 1) * own.tau - 1e-3 - 1e-9
    # straight pieces promise what the staircase would have given at the end of the stretch
    there = hold_of(exact, min(coarse.tau, exact.last), benefit=benefit, whole=True)
    assert there.value >= coarse.value - 1e-9
    assert own.value >= coarse.value - 1e-9


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.lists(st.floats(0.001, 1), max_size=5), benefits)
def test_curves_stay_laws_whatever_masses_are_named(heights: list[float], masses: list[float], benefit: float) -> None:
    survival = sorted(heights, reverse=True)
    times = np.arange(1, len(survival) + 1, dtype=float)
    atoms = [(0.5 + i % len(survival) + (i % 3) / 2, mass) for i, mass in enumerate(masses)]
    law = law_of_curve(times, survival, atoms)
    for ordered in (-np.diff(law.survival), np.diff(law.held), law.before - law.survival):
        assert np.all(ordered >= 0)
    assert np.all(law.before[1:] <= law.survival[:-1])
    for time, height in zip(times, survival, strict=True):
        assert law.survival_at(time) == height
    assert hazard_hold(law, benefit).value >= continuum_hold(law, benefit).value - 1e-9


@pytest.mark.parametrize(
    "bad",
    [
        lambda: law_of_durations([]),
        lambda: law_of_durations([1.0, -1.0]),
        lambda: law_of_durations([math.nan]),
        lambda: law_of_durations([1.0], [0.0]),
        lambda: law_of_durations([1.0], [1.0, 2.0]),
        lambda: law_of_curve([], []),
        lambda: law_of_curve([1.0, 1.0], [0.5, 0.4]),
        lambda: law_of_curve([1.0, 2.0], [0.5, 0.6]),
        lambda: law_of_curve([1.0, 2.0], [1.5, 0.6]),
        lambda: law_of_curve([1.0, 2.0], [0.5, math.nan]),
        lambda: law_of_curve([0.0, 2.0], [0.5, 0.4]),
        lambda: continuum_hold(law_of_durations([1.0]), math.nan),
        lambda: continuum_hold(law_of_durations([1.0]), math.inf),
        lambda: hazard_hold(law_of_durations([1.0]), 1.0, elapsed=1.0),
        lambda: hazard_hold(law_of_durations([1.0]), 1.0, elapsed=-1.0),
        lambda: law_of_curve([1.0], [0.5]).survival_at(2.0),
        lambda: exponential_hold(0.0, 1.0),
    ],
)
def test_what_is_no_law_is_refused_in_a_line(bad: object) -> None:
    with pytest.raises(UsageError) as error:
        bad()  # type: ignore[operator]
    assert len(str(error.value).splitlines()) == 1


def test_the_rule_of_a_hundred() -> None:
    own, everything = law_of_durations([1.0] * 101), law_of_durations([2.0] * 101)
    asked = {"queueing": 10.0, "eta": 0.5, "restore": 1.0}
    for n_own, n_all, source, tau in (
        (101, 101, "own", 1.0),
        (100, 101, "all", 2.0),
        (0, 101, "all", 2.0),
        (0, 100, "cold", math.log(11.0)),
    ):
        hold = continuum_paper(own, everything, n_own=n_own, n_all=n_all, **asked)
        assert (hold.source, hold.tau) == (source, pytest.approx(tau))
        assert paper_source(n_own, n_all) == source
    # the cold start takes no hold where a return is worth less than a second
    assert continuum_paper(None, None, n_own=0, n_all=0, queueing=0.2, eta=-0.35, restore=0.1).tau == 0.0


@pytest.mark.parametrize(("restore", "queueing"), [(0.021, 0.06), (0.063, 0.18), (0.210, 0.60), (3.66, 10.5)])
def test_negative_memoryfulness_alone_switches_it_off(restore: float, queueing: float) -> None:
    # policies.md 4.5, printed to two digits
    assert benefit_of(queueing * 1.01, -0.35, restore) <= 0 < benefit_of(queueing * 0.98, -0.35, restore)
    law = law_of_durations([1e-6] * 200)
    assert continuum_hold(law, benefit_of(queueing * 1.01, -0.35, restore)).tau == 0.0


def test_the_released_code_asks_for_the_mean_only() -> None:
    assert [continuum_public_code(m) for m in (None, 0.0, 2.0, 2.000001, 50.0)] == [2.0, 2.0, 2.0, 0.0, 0.0]
    assert continuum_public_code(0.1, parsed=False) == 0.0
