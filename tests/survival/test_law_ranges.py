"""Where a law holds: what it expects, the band, and ranges that end where the hazard leaves the law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.survival.data import quick
from tests.survival.data import rows as some_rows
from tracestat.survival.exposure import events_and_exposure
from tracestat.survival.law_fits import fit_group, piecewise_law
from tracestat.survival.law_ranges import (
    LAW_EDGES,
    BinRatios,
    bin_ratios,
    expected_events,
    holding_range,
    law_grid,
    observed_events,
)
from tracestat.survival.laws import Law, law_counts

UNIT = Law("unit", (True,), lambda p, t: 0 * t, lambda p, t: p[0] * t)


def test_the_grid_is_of_one_percent_and_aligned_with_the_hazard_bins() -> None:
    grid = law_grid()
    assert set(LAW_EDGES) <= set(grid.lower.tolist())
    steps = grid.lower[1:] / grid.lower[:-1]
    assert 1.008 < steps.min() < steps.max() < 1.0115
    assert np.all(grid.centres > grid.lower)
    assert np.all(grid.centres[:-1] < grid.lower[1:])


@quick
@given(some_rows(entries=True))
def test_a_hazard_of_one_expects_the_exposure(rows: dict[str, np.ndarray]) -> None:
    entry = np.maximum(rows["entry"], 0.125)
    counts = law_counts(rows["times"], rows["events"], ~rows["events"], entry, rows["clusters"], rows["clusters"])
    edges = (0.125, 1.0, 2.1, 7.0)
    expected = expected_events(UNIT, np.array([0.0]), counts, edges).sum(axis=0)
    D, X = events_and_exposure(rows["times"], rows["events"], (*edges, 1e6), entry)
    assert_allclose(expected, X, rtol=1e-9, atol=1e-12)
    assert_allclose(observed_events(counts, edges).sum(axis=0), D)


def test_the_piecewise_law_adds_up_its_bins() -> None:
    law = piecewise_law((1.0, 2.0, 4.0))
    hazards = np.array([0.5, 0.1, 2.0])
    assert_allclose(law.cumulative_hazard(hazards, np.array([1.0, 1.5, 3.0, 5.0])), [0, 0.25, 0.6, 2.7])
    assert_allclose(law.log_hazard(hazards, np.array([1.0, 2.0, 9.0])), np.log([0.5, 0.1, 2.0]))


def sample(above: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lognormal durations of 60 sessions; of those above a time, the rest is divided by ten."""
    rng = np.random.default_rng(seed)
    times = rng.lognormal(0, 1.5, 12_000)
    late = times > above
    times[late] = above + (times[late] - above) / 10
    return times, np.arange(12_000) % 60


def test_a_range_ends_where_the_hazard_leaves_the_law() -> None:
    times, session = sample(2.0)
    one, start = np.ones(times.size), law_grid().edges[0]
    use = times > start
    counts = law_counts(times[use], one[use], 0 * one[use], start * one[use], session[use], session[use])
    made = fit_group(counts, LAW_EDGES, draws=500)
    lognormal = next(law for law in made.laws if law.family == "lognormal")
    assert lognormal.holds is False
    assert lognormal.worst is not None
    assert lognormal.range is None or lognormal.range[1] <= 3.2


def test_the_true_law_holds_everywhere_and_tells_how_far_it_may_be_off() -> None:
    times, session = sample(np.inf)
    one, start = np.ones(times.size), law_grid().edges[0]
    use = times > start
    counts = law_counts(times[use], one[use], 0 * one[use], start * one[use], session[use], session[use])
    made = fit_group(counts, LAW_EDGES, draws=500)
    lognormal = next(law for law in made.laws if law.family == "lognormal")
    assert lognormal.holds
    assert lognormal.range == made.tested
    assert lognormal.within_factor is not None
    assert 1 < lognormal.within_factor < 2.5


def ratios(values: list[float], spread: float = 1.2) -> BinRatios:
    at = np.array(values)
    return BinRatios(at, at / spread, at * spread, np.isfinite(at), 2.5, 40)


def test_untestable_bins_end_a_range_and_few_bins_are_none() -> None:
    edges = tuple(2.0**k for k in range(9))
    cut = ratios([1, 1, 1, np.nan, 1, 1, 1, 1, 1])
    found = holding_range(cut, edges)
    assert found.range is None  # four bins: the last one is open and not used
    assert not found.everywhere
    assert found.tested == (1.0, 256.0)
    assert holding_range(cut, edges, min_bins=4).range == (16.0, 256.0)
    assert holding_range(ratios([np.nan] * 9), edges).tested is None
    assert holding_range(ratios([np.nan, *[1.0] * 8]), edges).worst == 1


def test_bands_need_events_and_clusters() -> None:
    D = np.zeros((30, 4))
    D[:, 0], D[:10, 1], D[0, 2] = 5, 2, 80
    found = bin_ratios(D, np.ones((30, 4)), draws=100)
    assert found.testable.tolist() == [True, False, False, False]
    assert np.isnan(found.ratio[1:]).all()
    assert bin_ratios(D[:1], np.ones((1, 4))).critical is None


def test_the_same_seed_gives_the_same_band_and_no_draws_give_bonferroni() -> None:
    rng = np.random.default_rng(2)
    D, E = rng.poisson(4, (40, 6)).astype(float), np.full((40, 6), 4.0)
    assert bin_ratios(D, E, seed=3).critical == bin_ratios(D, E, seed=3).critical
    assert bin_ratios(D, E, draws=0).critical == pytest.approx(2.638, abs=1e-3)


def test_the_order_of_clusters_changes_no_band() -> None:
    rng = np.random.default_rng(4)
    D = rng.poisson(4, (40, 6)).astype(float)
    E = 4 * rng.random((40, 6)) + 2
    found = bin_ratios(D, E, draws=200)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(40)
        again = bin_ratios(D[order], E[order], draws=200)
        assert again.critical == pytest.approx(found.critical, rel=1e-12)
        assert_allclose(again.low, found.low, rtol=1e-12)
