"""A small model of invented pauses: three classes, few skeletons and developers, two deadlines."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.keys import BAND_EDGES, band_labels
from tracestat.forecast.model import (
    AskedLimit,
    Dependence,
    ForecastModel,
    PathModel,
    PooledPaths,
    ProviderModel,
    path_model,
)
from tracestat.forecast.pool import Pool, fit_pool
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.tree import fit_tree

CLASSES = ("edit", "shell", None)
SKELETONS = ("Edit", "git", "go test", "make", "pytest", "sed, awk")
DEVELOPERS = ("ada", "bob", "none")
PLAIN = ("tool_class", "command_skeleton", "developer")
HISTORY = ("tool_class", "previous", "command_skeleton", "developer")
SESSION = ("tool_class", "previous_in_session")
WINDOWS = ((4.975, 5.25), (119.4, 126.0))
LIMITS = (AskedLimit(None, 30, 40, 30.5 / 41), AskedLimit("shell", 9, 9, 0.95))


def rows(n: int = 1500, seed: int = 0) -> PauseRows:
    rng = np.random.default_rng(seed)
    tool_class = rng.choice(3, n, p=[0.3, 0.6, 0.1])
    skeleton = np.where(tool_class == 1, 1 + rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), np.where(tool_class == 0, 0, 5))
    developer = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    previous = np.exp(rng.normal(0, 2, n))
    seconds = np.exp(rng.normal(-1 + skeleton / 2 + 0.4 * np.log(previous), 1.5))
    hook = (seconds > 5) & (rng.random(n) < 0.3)
    seconds[hook] = 5 + 0.04 * rng.random(int(hook.sum()))
    observed = rng.random(n) > 0.05
    band = np.where(rng.random(n) < 0.2, 0, 1 + np.searchsorted(BAND_EDGES, previous, side="right"))
    codes = {
        "tool_class": tool_class,
        "command_skeleton": skeleton,
        "developer": developer,
        "previous": band,
        "previous_in_session": np.where(rng.random(n) < 0.5, band, rng.integers(0, len(band_labels()), n)),
    }
    return PauseRows(
        codes=codes,
        names={
            "tool_class": CLASSES,
            "command_skeleton": SKELETONS,
            "developer": DEVELOPERS,
            "previous": band_labels(),
            "previous_in_session": band_labels(),
        },
        session=(developer * 20 + rng.choice(20, n)).astype(np.intp),
        developer=developer.astype(np.intp),
        started=np.arange(n, dtype=np.float64),
        seconds=seconds,
        observed=observed,
    )


def path(keys: tuple[str, ...] = PLAIN, n: int = 1500) -> PathModel:
    known = rows(n)
    return path_model(fit_tree(known, keys, forecast_grid(WINDOWS)), known)


@cache
def pool() -> Pool:
    """Fit three hierarchies and their weights; eve was never seen."""
    return fit_pool(rows(), ("tool_class",), (PLAIN, HISTORY, SESSION), forecast_grid(WINDOWS))


def model(*, two: bool = False) -> ForecastModel:
    """Give a model of one provider, or of two."""
    fitted, known = pool(), rows()
    paths = tuple(path_model(tree, known) for tree in fitted.members)
    pooled = PooledPaths(path_model(fitted.base, known), fitted.seen, fitted.unseen, fitted.held_out)
    together = Dependence(1.5, -10.0, -12.0, 40, (1.1, 2.0))
    provider = ProviderModel(paths, paths[0], LIMITS, together, pool=pooled)
    bare = ProviderModel(paths[:1])
    providers = {"claude": provider, **({"codex": bare} if two else {})}
    return ForecastModel(providers, "rows.jsonl", "sha256:00", synthetic=True, tracestat="0.1.0")


def with_kappa(path: PathModel, kappa: float) -> PathModel:
    """Give the same hierarchy with another precision of every level."""
    return replace(path, kappas=tuple(replace(fit, kappa=kappa) for fit in path.kappas))
