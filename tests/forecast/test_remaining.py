"""One curve as lists: the vectors of the estimators, the arrays' curves as an oracle, and cuts at a limit."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from tests.forecast.models import WINDOWS
from tracestat.errors import UsageError
from tracestat.forecast.atoms import atoms_ahead
from tracestat.forecast.curves import Curves, curves_of
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.remaining import RemainingLaw, remaining_law

GRID = Grid(np.array([0.0, 1, 4, 16]))
HAZARDS = st.lists(st.one_of(st.just(0.0), st.floats(0.001, 0.999)), min_size=3, max_size=3)
TIMES = st.one_of(st.just(0.0), st.sampled_from([1.0, 4.0, 16.0]), st.floats(0.001, 200.0))
SHARES = st.floats(0.0, 0.9999)


def law_of(curves: Curves) -> RemainingLaw:
    return remaining_law(curves.grid, curves.log_survival[0].tolist(), curves.alpha)


def known() -> RemainingLaw:
    return law_of(curves_of(GRID, [[0.2, 0.5, 0.4]], 1.5))


def test_known_values() -> None:
    law = known()
    s = [law.survival(t) for t in (0.5, 1, 2, 4, 8, 16, 64)]
    assert s == pytest.approx([0.894427191, 0.8, 0.565685424949, 0.4, 0.309838667697, 0.24, 0.03], rel=1e-9)
    q = [law.quantile(p, 2.0) for p in (0.1, 0.5, 0.9, 0.99)]
    assert q == pytest.approx([2.46913580247, 10.2454784226, 41.9318623073, 194.630463858], rel=1e-9)


@given(HAZARDS, TIMES, SHARES, st.sampled_from([0.3, 1.0, 1.5, 3.0]))
def test_as_the_curves_of_arrays(hazards: list[float], elapsed: float, p: float, alpha: float) -> None:
    curves = curves_of(GRID, [hazards], alpha)
    law = law_of(curves)
    with np.errstate(over="ignore"):
        expected = curves.quantile([0], p, elapsed)[0]
    # where the curve is flat at the target any rounding moves the time, so S is compared there
    assert law.survival(law.quantile(p, elapsed) - elapsed, elapsed) == pytest.approx(
        float(np.exp(curves.log_survival_at([0], expected) - curves.log_survival_at([0], elapsed))[0]), rel=1e-9
    )
    if min(hazards) > 0:
        assert law.quantile(p, elapsed) == pytest.approx(expected, rel=1e-9)
    for ahead in (0.0, 0.3, 5.0, 100.0):
        s = np.exp(curves.log_survival_at([0], elapsed + ahead) - curves.log_survival_at([0], elapsed))[0]
        assert law.survival(ahead, elapsed) == pytest.approx(s, rel=1e-9)
    assert law.mean(elapsed, 50.0) == pytest.approx(curves.mean_remaining([0], elapsed, 50.0)[0], rel=1e-6)


@given(HAZARDS, TIMES, TIMES, SHARES, SHARES, st.floats(0.5, 300.0), st.floats(0.0, 1.0))
def test_a_quantile_rises_in_p_and_in_the_elapsed_time(
    hazards: list[float], s: float, t: float, p: float, r: float, limit: float, mass: float
) -> None:
    for law in (law_of(curves_of(GRID, [hazards], 1.0)), law_of(curves_of(GRID, [hazards], 1.0)).cut(limit, mass)):
        assert law.quantile(p, s) >= s
        assert law.quantile(min(p, r), s) <= law.quantile(max(p, r), s)
        early, late = sorted((s, t))
        assert law.quantile(p, early) <= law.quantile(p, late) * (1 + 1e-12)


@given(HAZARDS, TIMES, st.floats(0.5, 300.0), st.floats(0.01, 0.99))
def test_a_cut_is_a_jump_of_the_stated_mass(hazards: list[float], elapsed: float, limit: float, mass: float) -> None:
    law = law_of(curves_of(GRID, [hazards], 1.0))
    cut = law.cut(limit, mass)
    if elapsed >= limit:
        assert cut.survival(3.0, elapsed) == law.survival(3.0, elapsed)
        assert cut.quantile(0.7, elapsed) == law.quantile(0.7, elapsed)
        assert cut.mean(elapsed, 9.0) == law.mean(elapsed, 9.0)
        return
    before = law.survival(limit - elapsed, elapsed)
    assert cut.survival((limit - elapsed) * 0.999, elapsed) == law.survival((limit - elapsed) * 0.999, elapsed)
    after = limit * (1 + 1e-9) - elapsed
    assert cut.survival(after, elapsed) == pytest.approx((1 - mass) * law.survival(after, elapsed), rel=1e-9)
    # every share inside the jump ends at the limit itself
    assert cut.quantile(1 - before * (1 - mass / 2), elapsed) == limit
    p = 1 - before * (1 - mass) / 2
    assert cut.survival(cut.quantile(p, elapsed) - elapsed, elapsed) == pytest.approx(1 - p, rel=1e-6)


def test_the_mean_of_a_cut_law_is_the_area_below_it() -> None:
    cut = known().cut(6.0, 0.7)
    area = sum(quad(lambda t: cut.survival(t, 2.0), a, b)[0] for a, b in ((0, 2), (2, 4), (4, 14), (14, 30)))
    assert cut.mean(2.0, 30.0) == pytest.approx(area, rel=1e-9)
    assert cut.mean(2.0, 3.0) == known().mean(2.0, 3.0)


def test_a_limit_far_away_changes_nothing() -> None:
    law, cut = known(), known().cut(1e9, 0.9)
    for p in (0.1, 0.5, 0.99):
        assert cut.quantile(p, 3.0) == law.quantile(p, 3.0)
    assert cut.mean(3.0, 3600.0) == law.mean(3.0, 3600.0)
    assert known().cut(6.0, 0.0).quantile(0.9) == pytest.approx(law.quantile(0.9), rel=1e-12)


def test_all_ends_at_a_limit_of_mass_one() -> None:
    cut = known().cut(6.0, 1.0)
    assert (cut.quantile(0.999, 2.0), cut.survival(4.0, 2.0)) == (6.0, 0.0)
    assert cut.mean(2.0, 3600.0) == pytest.approx(known().mean(2.0, 4.0), rel=1e-12)


def test_a_mean_far_out_keeps_its_digits() -> None:
    law = remaining_law(GRID, [0.0, -10.0, -40.0, -70.0], 2.0)
    # a power law with exponent 2 from 16 s on: its mean excess within h is known
    assert law.mean(16.0, 48.0) == pytest.approx(16.0 - 16.0**2 / 64, rel=1e-12)


@pytest.mark.parametrize(("limit", "mass"), [(0.0, 0.5), (-1.0, 0.5), (5.0, 1.1), (5.0, -0.1), (float("nan"), 0.5)])
def test_a_limit_that_is_none_is_refused(limit: float, mass: float) -> None:
    with pytest.raises(UsageError, match="a limit is above 0"):
        known().cut(limit, mass)


def test_a_power_law_has_no_excess_in_its_windows() -> None:
    grid = forecast_grid(WINDOWS)
    logs = -0.7 * np.log(np.maximum(grid.edges, grid.edges[1]) / grid.edges[1])
    law = remaining_law(grid, (logs - 0.1 * (grid.edges > 0)).tolist(), 0.7)
    found = atoms_ahead(law, grid, 3.0)
    assert [(atom.start, atom.end) for atom in found] == list(WINDOWS)
    for atom in found:
        assert atom.excess == pytest.approx(0.0, abs=1e-12)
        assert atom.hazard == pytest.approx(1 - (atom.end / atom.start) ** -0.7, rel=1e-9)
        assert atom.reached == pytest.approx((atom.start / 3.0) ** -0.7, rel=1e-9)
        assert atom.ends == pytest.approx(atom.reached * atom.hazard, rel=1e-9)


def test_atoms_inside_and_behind_a_window_and_at_a_limit() -> None:
    grid = Grid(np.array([0.0, 1, 4, 5, 20]), ((4.0, 5.0),))
    law = remaining_law(grid, [0.0, -0.1, -0.2, -1.2, -1.3], 1.0)
    inside = atoms_ahead(law, grid, 4.5)
    assert [(atom.start, atom.end, atom.reached) for atom in inside] == [(4.5, 5.0, 1.0)]
    assert inside[0].hazard == pytest.approx(1 - np.exp(-log(5 / 4.5) / log(5 / 4)))
    assert atoms_ahead(law, grid, 5.0) == ()
    deadline, limit = atoms_ahead(law.cut(10.0, 0.75), grid, 2.0)
    assert (deadline.kind, limit.kind, limit.start, limit.end) == ("deadline", "asked limit", 10.0, 10.0)
    assert limit.reached == pytest.approx(law.survival(8.0, 2.0), rel=1e-12)
    assert (limit.hazard, limit.ends) == pytest.approx((0.75, 0.75 * limit.reached), rel=1e-12)
    assert law.limit == inf
