"""Baselines: one key, the rule of a hundred at its edges, mixing by a plain loop, the regression beside lifelines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forecast.split_checks import made_rows
from tracestat.forecast.baselines import (
    cut_curves,
    key_counts,
    mixed_curves,
    raw_hazards,
    rule_of_a_hundred,
    value_places,
)
from tracestat.forecast.counts import Counts
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.shrinkage import root_hazards
from tracestat.forecast.tree import fit_tree

GRID = Grid(np.array([0.0, 0.005, 1.0, 4.0, 16.0]))


def rows_of_tools(tool: np.ndarray, seconds: np.ndarray) -> PauseRows:
    n = tool.size
    codes = {"tool": tool.astype(np.int64), "tool_class": tool.astype(np.int64)}
    names: dict[str, tuple[str | None, ...]] = dict.fromkeys(codes, ("a", "b", "c"))
    zero = np.zeros(n, dtype=np.intp)
    return PauseRows(codes, names, zero, zero, np.zeros(n), seconds, np.ones(n, dtype=np.bool_))


def test_raw_where_rows_reach() -> None:
    rows = rows_of_tools(np.array([0, 0, 0, 1]), np.array([0.5, 0.5, 2.0, 99.0]))
    counts = key_counts(rows, "tool", GRID)
    everything = root_hazards(Counts(counts.ended.sum(0, keepdims=True), counts.reached.sum(0, keepdims=True)))
    q = raw_hazards(counts, everything)
    assert q[0].tolist() == [0, 2 / 3, 1, everything[0, 3]]
    assert q[1].tolist() == [0, 0, 0, 0]
    assert q[2].tolist() == everything[0].tolist()
    assert value_places(counts, np.array([0, 1, 2])).tolist() == [1, 2, 0]
    # the bin that ends everything keeps a chance of 1e-9 that it does not
    logs = cut_curves(GRID, q, 1.0).log_survival
    assert np.isfinite(logs).all()
    assert logs[0, 3] - logs[0, 2] == pytest.approx(np.log(1e-9), rel=1e-6)
    assert np.expm1(logs[1, 1:]) == pytest.approx([-1e-9, -2e-9, -3e-9, -4e-9], rel=1e-6)


@pytest.mark.parametrize(
    ("n_a", "n_b", "expected"),
    [
        (100, 0, ["cold", "cold", "cold"]),
        (60, 40, ["cold", "cold", "cold"]),
        (60, 41, ["global", "global", "global"]),
        (100, 1, ["global", "global", "global"]),
        (101, 0, ["own", "global", "global"]),
        (101, 100, ["own", "global", "global"]),
        (101, 101, ["own", "own", "global"]),
    ],
)
def test_the_101st_observation_switches(n_a: int, n_b: int, expected: list[str]) -> None:
    tool = np.repeat([0, 1], [n_a, n_b])
    rows = rows_of_tools(tool, np.where(tool == 0, 0.5, 2.0))
    counts = key_counts(rows, "tool", GRID)
    everything = np.full((1, 4), 0.25)
    hazards, place = rule_of_a_hundred(counts, everything, np.array([0, 1, 2]), GRID)
    laws = {
        "global": everything[0],
        "cold": 1 - np.exp(-np.diff(GRID.edges)),
    }
    own = [np.array([0, 1, 0.25, 0.25]), np.array([0, 0, 1, 0.25])]
    for code, word in enumerate(expected):
        assert hazards[place[code]] == pytest.approx(own[code] if word == "own" else laws[word], rel=1e-12)


def test_the_cold_law_is_exponential_with_mean_one() -> None:
    counts = Counts(np.zeros((1, 4)), np.zeros((1, 4)))
    hazards, place = rule_of_a_hundred(counts, np.full((1, 4), 0.25), np.array([0]), GRID)
    curves = cut_curves(GRID, hazards, 1.0)
    assert curves.log_survival[place[0]] == pytest.approx(-GRID.edges, rel=1e-9)


def test_mixing_against_a_plain_loop() -> None:
    rows, grid, keys = made_rows(3, 400), forecast_grid(), ("tool", "developer")
    tree = fit_tree(rows, keys, grid, effective=False)
    everything = root_hazards(tree.shrinkage.counts[0])
    parents = [level.parents for level in tree.nesting.levels]
    mixed = mixed_curves(parents, tree.shrinkage.counts[:3], everything, grid, 20.0, 1.0)
    bins = grid.place(rows.seconds)

    def own_curve(mask: np.ndarray, above: np.ndarray) -> np.ndarray:
        s = [1.0]
        for j in range(grid.n_bins):
            r = (mask & (bins >= j)).sum()
            d = (mask & (bins == j) & rows.observed).sum()
            q = d / r if r else 1 - above[j + 1] / above[j]
            s.append(s[-1] * (1 - min(max(q, 1e-9), 1 - 1e-9)))
        w = mask.sum() / (mask.sum() + 20.0)
        return w * np.array(s) + (1 - w) * above

    top = np.cumprod(np.concatenate([[1.0], 1 - np.clip(everything[0], 1e-9, 1)]))
    places = tree.place(rows)
    for row in (0, 7, 123):
        tool = rows.codes["tool"] == rows.codes["tool"][row]
        level_1 = own_curve(tool, top)
        level_2 = own_curve(tool & (rows.codes["developer"] == rows.codes["developer"][row]), level_1)
        assert np.exp(mixed.log_survival[places[row]]) == pytest.approx(level_2, rel=1e-9, abs=1e-15)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_mixing_runs_from_the_key_to_the_root(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r = np.sort(rng.integers(1, 40, size=(3, 4)))[:, ::-1].astype(float)
    d = np.floor(r * rng.random(r.shape))
    counts, top = Counts(d, r), np.full((1, 4), 0.3)
    parents, one = [np.zeros(3, dtype=np.intp)], Counts(d.sum(0, keepdims=True), r.sum(0, keepdims=True))
    raw = cut_curves(GRID, raw_hazards(counts, top), 1.0).log_survival
    near = mixed_curves(parents, [one, counts], top, GRID, 1e-12, 1.0).log_survival[1:]
    far = mixed_curves(parents, [one, counts], top, GRID, 1e15, 1.0).log_survival[1:]
    assert np.exp(near) == pytest.approx(np.exp(raw), abs=1e-9)
    assert np.exp(far) == pytest.approx(np.exp(cut_curves(GRID, top, 1.0).log_survival.repeat(3, axis=0)), abs=1e-9)
    between = mixed_curves(parents, [one, counts], top, GRID, 20.0, 1.0).log_survival
    assert (np.diff(between, axis=1) < 0).all()


def weibull_rows(seed: int, scales: tuple[float, ...], shape: float, n: int) -> PauseRows:
    rng = np.random.default_rng(seed)
    tool = rng.integers(len(scales), size=n)
    seconds = np.array(scales)[tool] * rng.weibull(shape, size=n)
    return rows_of_tools(tool, seconds)


def test_the_regression_finds_the_law_it_was_drawn_from() -> None:
    from tracestat.forecast.weibull_aft import weibull_aft

    scales, shape, grid = (0.5, 8.0, 100.0), 0.6, forecast_grid()
    claude = weibull_rows(0, scales, shape, 30_000)
    codex = weibull_rows(1, tuple(3 * s for s in scales[:2]), shape, 30_000)
    everything = np.full((1, grid.n_bins), 0.1)
    made = weibull_aft(codex, codex, grid, everything, 1.0, provider="codex", others={"claude": claude})
    assert made.note is None
    # the third class was seen with the other provider only: its effect holds here too
    for code, scale in enumerate(scales):
        law = np.exp(-((grid.edges / (3 * scale)) ** shape))
        # the first bin is the share that was seen in it, of the class or, without rows of the class, of all
        given_first = np.exp(made.curves.log_survival[1 + code])
        given_first = given_first[1:] / given_first[1]
        assert given_first == pytest.approx(law[1:] / law[1], abs=0.012)
    share = np.mean(codex.seconds[codex.codes["tool"] == 0] < 0.005)
    assert -np.expm1(made.curves.log_survival[1, 1]) == pytest.approx(share, abs=1e-4)
    assert made.place.tolist() == (codex.codes["tool"] + 1).tolist()


def test_the_regression_is_that_of_lifelines() -> None:
    import lifelines

    from tracestat.forecast.weibull_aft import WeibullAFTFitter, _cells, _design

    rows = weibull_rows(2, (0.5, 8.0, 100.0), 0.7, 900)
    rows.observed[::9] = False
    table = _design(_cells({"claude": rows, "codex": weibull_rows(3, (1.0, 5.0), 0.7, 300)}, 0.005), 0.005)
    assert list(table)[4:] == [name for name in table if "=" in name]
    options = {"duration_col": "seconds", "event_col": "observed", "weights_col": "rows", "entry_col": "enters_at"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (fitter.fit(table, **options) for fitter in (WeibullAFTFitter(), lifelines.WeibullAFTFitter()))
    assert ours.params_.index.equals(theirs.params_.index)
    assert ours.params_.to_numpy() == pytest.approx(theirs.params_.to_numpy(), abs=2e-4)
    assert ours.standard_errors_.to_numpy() == pytest.approx(theirs.standard_errors_.to_numpy(), rel=1e-3)
    assert ours.log_likelihood_ >= theirs.log_likelihood_ - 1e-6


@pytest.mark.parametrize("seconds", [[], [1.0], [0.0] * 50, [2.0] * 50])
def test_rows_that_no_regression_can_be_made_of(seconds: list[float]) -> None:
    from tracestat.forecast.weibull_aft import weibull_aft

    rows, test = (rows_of_tools(np.zeros(len(s)), np.array(s)) for s in (seconds, [1.0, 2.0]))
    everything = np.full((1, GRID.n_bins), 0.1)
    made = weibull_aft(rows, test, GRID, everything, 1.0)
    assert made.note is not None
    assert made.curves.log_survival[made.place] == pytest.approx(
        cut_curves(GRID, everything, 1.0).log_survival.repeat(2, axis=0)
    )


def test_rare_classes_have_the_global_curve() -> None:
    from tracestat.forecast.weibull_aft import weibull_aft

    rows = weibull_rows(4, (1.0, 5.0), 0.7, 200)
    rare = rows_of_tools(np.append(rows.codes["tool"], [2] * 9), np.append(rows.seconds, [3.0] * 9))
    everything = np.full((1, GRID.n_bins), 0.1)
    made = weibull_aft(rare, rare, GRID, everything, 1.0)
    assert made.note == "the global curve answers for c: fewer than 10 ends"
    assert made.curves.log_survival[3] == pytest.approx(made.curves.log_survival[0])
    assert abs(made.curves.log_survival[1] - made.curves.log_survival[0]).max() > 0.1


def test_classes_that_only_one_provider_has() -> None:
    from tracestat.forecast.weibull_aft import weibull_aft

    scales, grid = (0.5, 8.0, 100.0), forecast_grid()
    rows = weibull_rows(5, scales, 0.6, 9_000)
    claude, codex = rows.take(rows.codes["tool"] < 2), rows.take(rows.codes["tool"] == 2)
    everything = np.full((1, grid.n_bins), 0.1)
    made = weibull_aft(codex, codex, grid, everything, 1.0, provider="codex", others={"claude": claude})
    assert made.note is None
    law = np.exp(-((grid.edges / 100.0) ** 0.6))
    assert np.exp(made.curves.log_survival[3]) == pytest.approx(law, abs=0.02)
