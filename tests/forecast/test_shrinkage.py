"""The fit by shared bins against the same fit by its definition, cell by cell, and what must hold of any fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.forecast.drawn_rows import rows_with
from tracestat.forecast import kappa
from tracestat.forecast.counts import Counts, count_exits, shared_bins
from tracestat.forecast.grid import Grid
from tracestat.forecast.kappa import KappaFit, fit_kappa
from tracestat.forecast.nesting import nest
from tracestat.forecast.rising import RisingSum
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.shrinkage import discounted, root_hazards, shrunk
from tracestat.forecast.tree import ForecastTree, fit_tree

GRID = Grid(np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0]))
KEYS = ("class", "skeleton", "developer")


@dataclass(frozen=True)
class Fit:
    counts: list[Counts]
    hazards: list[NDArray[np.float64]]
    kappas: list[KappaFit]


def by_definition(
    rows: PauseRows, keys: Sequence[str], grid: Grid, *, effective: bool, given: Sequence[float] | None = None
) -> Fit:
    """Fit with every bin of every node laid out, sessions too: section 5.2 and 5.3 as they are written."""
    nesting, nodes = nest([*(rows.codes[key] for key in keys), *([rows.session] if effective else [])])
    parents = [level.parents for level in nesting.levels]
    sizes = [1, *(p.size for p in parents)]
    lowest = count_exits(nodes[-1], sizes[-1], grid.place(rows.seconds), grid.n_bins, rows.observed, np.ones(rows.size))
    kappas = list(given or [50.0] * len(parents))
    for _ in range(4 if effective and given is None else 1):
        counts = [lowest]
        for level in range(len(parents), 0, -1):
            discount = kappas[level - 1] if effective else None
            counts.insert(0, discounted(counts[0], parents[level - 1], sizes[level - 1], discount))
        hazards, fits = [root_hazards(counts[0])], []
        for own, parent in zip(counts[1:], parents, strict=True):
            prior = hazards[-1][parent]
            fits.append(fit_kappa(prior.ravel(), own.ended.ravel(), own.reached.ravel()))
            hazards.append(shrunk(own, prior, given[len(fits) - 1] if given else fits[-1].kappa))
        kappas = [fit.kappa for fit in fits]
    return Fit(counts, hazards, fits)


def random_rows(seed: int, n: int = 400) -> PauseRows:
    rng = np.random.default_rng(seed)
    session = rng.integers(0, 40, n)
    codes = {"class": rng.integers(0, 3, n), "skeleton": rng.integers(0, 12, n), "developer": session % 5}
    scale = np.exp(0.8 * rng.normal(size=12))[codes["skeleton"]] * np.exp(0.8 * rng.normal(size=40))[session]
    return rows_with(codes, session, 2 * scale * rng.weibull(0.6, n), rng.random(n) > 0.1)


def compare(tree: ForecastTree, fit: Fit, levels: int, rel: float) -> None:
    shrinkage = tree.shrinkage
    for place in range(levels + 1):
        assert shrinkage.counts[place].ended == pytest.approx(fit.counts[place].ended, rel=rel, abs=1e-9)
        assert shrinkage.counts[place].reached == pytest.approx(fit.counts[place].reached, rel=rel, abs=1e-9)
        assert shrinkage.hazards[place] == pytest.approx(fit.hazards[place], rel=rel, abs=1e-9)
    for own, other in zip(shrinkage.kappas, fit.kappas, strict=True):
        assert own.kappa == pytest.approx(other.kappa, rel=rel)
        assert own.note == other.note
        assert np.array(own.profile) == pytest.approx(np.array(other.profile), rel=rel)
        assert own.log_likelihood == pytest.approx(other.log_likelihood, rel=rel)


@pytest.mark.parametrize("effective", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_shared_bins_give_the_fit_of_all_bins(seed: int, effective: bool) -> None:
    rows = random_rows(seed)
    tree = fit_tree(rows, KEYS, GRID, effective=effective)
    compare(tree, by_definition(rows, KEYS, GRID, effective=effective), 3, 1e-4)
    assert len(tree.shrinkage.kappas) == (4 if effective else 3)


@pytest.mark.full
def test_a_fit_on_a_grid_is_that_of_all_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """All levels on the grid of `tracestat.forecast.rising` against none."""
    rng = np.random.default_rng(8)
    n = 5_000
    grid = Grid(np.concatenate([[0.0], np.geomspace(0.01, 500, 20)]))
    session = rng.integers(0, 600, n)
    codes = {"class": rng.integers(0, 4, n), "skeleton": rng.integers(0, 40, n), "developer": session % 20}
    spread = {"class": (4, 1.0), "skeleton": (40, 1.0), "developer": (20, 0.7)}
    scale = np.exp(0.7 * rng.normal(size=600))[session]
    for key, (size, sd) in spread.items():
        scale = scale * np.exp(sd * rng.normal(size=size))[codes[key]]
    rows = rows_with(codes, session, 2 * scale * rng.weibull(0.6, n), rng.random(n) > 0.02)
    monkeypatch.setattr(kappa, "RisingSum", partial(RisingSum, worth=0))
    tree = fit_tree(rows, KEYS, grid)
    monkeypatch.setattr(kappa, "RisingSum", partial(RisingSum, worth=10**9))
    fit = by_definition(rows, KEYS, grid, effective=True)
    assert all(0.1 < own.kappa < 1e4 for own in fit.kappas)
    # the last two precisions are hardly known here (standard error of ln kappa 3 and 5): rounding moves them by 1e-4
    compare(tree, fit, 3, 3e-4)


def test_kappas_that_are_given_are_used() -> None:
    rows = random_rows(5)
    first = fit_tree(rows, KEYS, GRID)
    kappas = [fit.kappa for fit in first.shrinkage.kappas]
    again = fit_tree(rows, KEYS, GRID, kappas=kappas)
    assert [fit.kappa for fit in again.shrinkage.kappas] == kappas
    assert {fit.note for fit in again.shrinkage.kappas} == {"given"}
    assert again.shrinkage.hazards[3] == pytest.approx(first.shrinkage.hazards[3], rel=0.01)
    other = fit_tree(rows, KEYS, GRID, kappas=[kappas[0], kappas[1], 1e9, kappas[3]])
    parents = other.nesting.levels[2].parents
    assert other.shrinkage.hazards[3] == pytest.approx(other.shrinkage.hazards[2][parents], rel=1e-5)


def test_no_kappa_is_the_raw_key_and_an_endless_one_the_parent() -> None:
    rows = random_rows(6)
    raw = fit_tree(rows, ["skeleton"], GRID, effective=False, kappas=[1e-12]).shrinkage
    own = raw.counts[1]
    seen = own.reached > 0
    assert raw.hazards[1][seen] == pytest.approx((own.ended[seen] / own.reached[seen]), rel=1e-9, abs=1e-9)
    root = np.broadcast_to(raw.hazards[0], own.ended.shape)
    assert raw.hazards[1][~seen] == pytest.approx(root[~seen])
    endless = fit_tree(rows, ["skeleton"], GRID, effective=False, kappas=[1e15]).shrinkage
    assert endless.hazards[1] == pytest.approx(root, rel=1e-9)


def test_a_row_of_its_own_session_counts_one_and_a_busy_session_less() -> None:
    lone = rows_with({"developer": [0] * 6}, range(6), [0.5, 1.5, 1.5, 3.0, 5.0, 20.0])
    kappas = [4.0, 4.0]
    apart = fit_tree(lone, ["developer"], GRID, kappas=kappas).shrinkage.counts[1]
    assert apart.reached[0].tolist() == [6, 5, 3, 2, 1]
    busy = rows_with({"developer": [0] * 6}, [0] * 6, lone.seconds)
    together = fit_tree(busy, ["developer"], GRID, kappas=kappas).shrinkage.counts[1]
    r = np.array([6.0, 5, 3, 2, 1])
    assert together.reached[0] == pytest.approx(r * 5 / (4 + r), rel=1e-12)
    assert together.ended[0] == pytest.approx(np.array([1.0, 2, 1, 1, 0]) * 5 / (4 + r), rel=1e-12)


@st.composite
def some_rows(draw: st.DrawFn) -> PauseRows:
    n = draw(st.integers(1, 25))
    session = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    codes = {
        "class": draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)),
        "developer": [s % 2 for s in session],
    }
    seconds = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.0, 15.9, 16.0, 99.0]), min_size=n, max_size=n))
    return rows_with(codes, session, seconds, draw(st.lists(st.booleans(), min_size=n, max_size=n)))


@settings(max_examples=13, deadline=None)
@given(some_rows(), st.booleans(), st.lists(st.sampled_from([0.05, 0.7, 4.0, 90.0, 1e5]), min_size=3, max_size=3))
def test_any_rows(rows: PauseRows, effective: bool, kappas: list[float]) -> None:
    """With given precisions, which of few rows cannot be known, the fit is the definition's to the last digits."""
    keys = ("class", "developer")
    kappas = kappas if effective else kappas[:2]
    tree = fit_tree(rows, keys, GRID, effective=effective, kappas=kappas)
    fit = by_definition(rows, keys, GRID, effective=effective, given=kappas)
    order = np.random.default_rng(0).permutation(rows.size)
    shuffled = fit_tree(rows.take(order), keys, GRID, effective=effective, kappas=kappas)
    for place in range(3):
        counts, q = tree.shrinkage.counts[place], tree.shrinkage.hazards[place]
        assert counts.ended == pytest.approx(fit.counts[place].ended, rel=1e-9, abs=1e-12)
        assert counts.reached == pytest.approx(fit.counts[place].reached, rel=1e-9, abs=1e-12)
        assert q == pytest.approx(fit.hazards[place], rel=1e-9)
        assert shuffled.shrinkage.hazards[place] == pytest.approx(q, rel=1e-9)
        assert np.all((q >= 0) & (q <= 1))
        assert np.all(counts.ended <= counts.reached + 1e-9)


@settings(max_examples=10, deadline=None)
@given(some_rows(), st.booleans())
def test_any_rows_have_a_fit(rows: PauseRows, effective: bool) -> None:
    """Also where the precisions are anybody's guess: finite, in the grid, and no worse than every point of it."""
    for fit in fit_tree(rows, ("class", "developer"), GRID, effective=effective).shrinkage.kappas:
        assert np.exp(-3.001) < fit.kappa < np.exp(12.001)
        assert np.isfinite(fit.log_likelihood)
        assert (
            fit.log_likelihood >= max(value for _, value in fit.profile) - 1e-6 or fit.note == "nothing to learn from"
        )


@settings(max_examples=13, deadline=None)
@given(some_rows())
def test_shared_bins_are_those_that_two_rows_reach(rows: PauseRows) -> None:
    bins = GRID.place(rows.seconds)
    shared = shared_bins(rows.session, bins, rows.observed, GRID.n_bins)
    dense = count_exits(rows.session, 6, bins, GRID.n_bins, rows.observed, np.ones(rows.size))
    own = shared.group[shared.places()[0]], shared.places()[1]
    two = dense.reached > 1
    assert two.sum() == own[0].size
    assert two[own].all()
    assert shared.counts.reached.tolist() == dense.reached[own].tolist()
    assert shared.counts.ended.tolist() == dense.ended[own].tolist()
    assert shared.longest.tolist() == [bins[rows.session == s].max() for s in shared.group]


def test_rows_twice_leave_the_raw_keys_as_they_are() -> None:
    rows = random_rows(7)
    twice = rows.take(np.repeat(np.arange(rows.size), 2))
    kappas = [1e-9, 1e-9, 1e-9]
    once, doubled = (fit_tree(r, KEYS, GRID, effective=False, kappas=kappas).shrinkage for r in (rows, twice))
    assert doubled.counts[3].reached == pytest.approx(2 * once.counts[3].reached)
    seen = once.counts[3].reached > 0
    assert doubled.hazards[3][seen] == pytest.approx(once.hazards[3][seen], rel=1e-6, abs=1e-8)
