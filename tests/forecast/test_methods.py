"""All methods of a fold: their names, what they share, and that each is what its name says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.forecast.split_checks import made_rows
from tracestat.forecast import methods
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.keys import KEYS, PATHS, POOL_BASE
from tracestat.forecast.methods import (
    BASELINES,
    OURS,
    Forecast,
    Path,
    forecast_all,
    join_rows,
    method_keys,
    method_names,
)
from tracestat.forecast.pool import fit_pool, pooled_forecast
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.running import running_means
from tracestat.forecast.splits import Part, parts
from tracestat.forecast.tree import fit_tree

GRID = forecast_grid([(119.4, 126.0)])


@pytest.fixture(scope="module")
def part() -> Part:
    return next(parts({"": made_rows(7, 300)}, "time"))


@pytest.fixture(scope="module")
def made(part: Part) -> dict[str, Forecast]:
    return {f.name: f for f in forecast_all(part.train, part.test, GRID)}


def curve(forecast: Forecast) -> CurveForecast:
    assert isinstance(forecast, CurveForecast)
    return forecast


CASES: list[tuple[tuple[Path, ...], tuple[str, ...]]] = [
    ((("tool_class", "developer"),), ("tool_class", OURS)),
    ((("tool",), ("tool", "developer")), ("tool", OURS)),
    ((("tool", "model"), ("tool", "developer")), ("tool > model", "tool", OURS)),
    ((("developer",), ("tool",)), ("developer", OURS)),
    ((PATHS[0],), (*(" > ".join(PATHS[0][:d]) for d in range(1, len(PATHS[0]))), OURS)),
]


@pytest.mark.parametrize(("paths", "expected"), CASES)
def test_names(paths: tuple[Path, ...], expected: tuple[str, ...]) -> None:
    assert method_names(paths) == (*BASELINES, *expected)


def test_names_of_the_default_paths() -> None:
    names = method_names()
    assert len(set(names)) == len(names)
    assert names[-1] == OURS
    for path in PATHS:
        for depth in range(1, len(path) + 1):
            assert path[:depth] == PATHS[0] or " > ".join(path[:depth]) in names
    assert set(method_keys()) <= set(KEYS)


def test_all_on_one_grid_with_one_tail(part: Part, made: dict[str, Forecast]) -> None:
    assert tuple(made) == method_names()
    alphas = set()
    for forecast in made.values():
        if isinstance(forecast, PointForecast):
            assert forecast.seconds.shape == (part.test.size,)
            continue
        alphas.add(forecast.curves.alpha)
        assert forecast.curves.grid is GRID
        assert forecast.place.shape == (part.test.size,)
        assert (forecast.place >= 0).all()
        assert forecast.place.max() < forecast.curves.size
        # no hazard is so near to 0 or 1 that a log score could be infinite
        steps = np.diff(forecast.curves.log_survival, axis=1)
        assert (forecast.curves.log_survival[:, 0] == 0).all()
        assert steps.max() <= -0.9e-9
        assert steps.min() >= np.log(0.9e-9)
    assert alphas == {fit_tree(part.train, (), GRID).alpha}


def at_rows(forecast: Forecast) -> np.ndarray:
    return np.exp(curve(forecast).curves.log_survival[curve(forecast).place])


def by_hand(rows: PauseRows, mask: np.ndarray) -> np.ndarray:
    """Kaplan-Meier on the grid's edges."""
    bins, s = GRID.place(rows.seconds), [1.0]
    for j in range(GRID.n_bins):
        r, d = (mask & (bins >= j)).sum(), (mask & (bins == j) & rows.observed).sum()
        s.append(s[-1] * (1 - d / r if r else np.nan))
    return np.array(s)


@pytest.mark.parametrize(("name", "key"), [("tool", "tool"), ("skeleton", "command_skeleton")])
def test_one_key(part: Part, made: dict[str, Forecast], name: str, key: str) -> None:
    for row in range(0, part.test.size, 7):
        expected = by_hand(part.train, part.train.codes[key] == part.test.codes[key][row])
        known = np.isfinite(expected)
        assert at_rows(made[name])[row][known] == pytest.approx(expected[known], abs=1e-7)


def test_the_rule_of_a_hundred_is_global_or_tool(part: Part, made: dict[str, Forecast]) -> None:
    n = np.bincount(part.train.codes["tool"], minlength=4)[part.test.codes["tool"]]
    expected = np.where(n[:, None] > 100, at_rows(made["tool"]), at_rows(made["global"]))
    assert at_rows(made["continuum-paper"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.full
def test_trees_at_each_depth(part: Part, made: dict[str, Forecast]) -> None:
    for number, path in enumerate(PATHS):
        tree = fit_tree(part.train, path, GRID)
        curves = tree.curves()
        for depth in range(1, len(path) + 1):
            if any(later[:depth] == path[:depth] for later in PATHS[number + 1 :]):
                continue
            name = "effective counts" if path[:depth] == PATHS[0] else " > ".join(path[:depth])
            assert np.exp(curves.log_survival[tree.place(part.test, depth)]) == pytest.approx(
                at_rows(made[name]), rel=1e-6
            )
    pool = fit_pool(part.train, POOL_BASE, PATHS, GRID)
    pooled = pooled_forecast(OURS, pool, part.test)
    assert at_rows(made[OURS]) == pytest.approx(at_rows(pooled), rel=1e-6)
    raw = fit_tree(part.train, PATHS[0], GRID, effective=False)
    assert np.exp(raw.curves().log_survival[raw.place(part.test)]) == pytest.approx(
        at_rows(made["raw counts"]), rel=1e-6
    )


def test_no_hierarchy_is_fitted_twice(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[tuple[Path, bool]] = []

    def counting(rows: PauseRows, keys: Path, grid: Any, *, effective: bool = True) -> Any:
        fitted.append((keys, effective))
        return fit_tree(rows, keys, grid, effective=effective)

    monkeypatch.setattr(methods, "fit_tree", counting)
    forecast_all(part.train, part.test, GRID)
    assert sorted(fitted) == sorted([(PATHS[0], False), *((path, True) for path in dict.fromkeys(PATHS))])
    fitted.clear()
    made = {f.name: f for f in forecast_all(part.train, part.test, GRID, paths=[PATHS[0]])}
    assert sorted(fitted) == [(PATHS[0], False), (PATHS[0], True)]
    assert at_rows(made[OURS]).tolist() == at_rows(made["effective counts"]).tolist()


def test_points(part: Part, made: dict[str, Forecast]) -> None:
    everything = join_rows(part.train, part.test)
    assert everything.size == part.train.size + part.test.size
    mean, moving = running_means(everything, part.test)
    points = [f for f in made.values() if isinstance(f, PointForecast)]
    assert [f.name for f in points] == ["running mean", "ewma", "elapsed"]
    assert np.array_equal(points[0].seconds, mean)
    assert np.array_equal(points[1].seconds, moving)
    assert [f.at([0], 25.0)[0] for f in points] == [max(mean[0], 25), max(moving[0], 25), 50]


@pytest.mark.full
def test_order_of_rows_is_irrelevant(part: Part, made: dict[str, Forecast]) -> None:
    rng = np.random.default_rng(0)
    order, tested = rng.permutation(part.train.size), rng.permutation(part.test.size)
    again = forecast_all(part.train.take(order), part.test.take(tested), GRID)
    for here, there in zip(made.values(), again, strict=True):
        if isinstance(here, PointForecast):
            assert isinstance(there, PointForecast)
            assert there.seconds == pytest.approx(here.seconds[tested], rel=1e-9)
        else:
            assert at_rows(there) == pytest.approx(at_rows(here)[tested], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_next_to_nothing_to_learn_from(n: int) -> None:
    rows = made_rows(11, 60)
    train, test = rows.take(np.arange(n)), rows.take(np.arange(n, 60))
    made = forecast_all(train, test, GRID)
    assert tuple(f.name for f in made) == method_names()
    assert all(np.isfinite(f.curves.log_survival).all() for f in made if isinstance(f, CurveForecast))
    assert np.exp(curve(made[3]).curves.log_survival_at(curve(made[3]).place[:1], [GRID.edges[20]])) == pytest.approx(
        np.exp(-GRID.edges[20])
    )
