"""Rows made up for tests of splits and methods, and the check that nothing lies on both sides of a split."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tracestat.forecast.methods import method_keys
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.splits import Fold


def both_sides(values: Sequence[Hashable] | np.ndarray, fold: Fold) -> set[Hashable]:
    """Give what is found among the rows to learn from and among those to be judged by."""
    train = {value for value, side in zip(values, fold.train, strict=True) if side}
    return train & {value for value, side in zip(values, fold.test, strict=True) if side}


def made_rows(seed: int, n: int = 300, n_sessions: int = 20, n_developers: int = 6) -> PauseRows:
    """Make rows whose law hangs on their tool, with ties, zero lengths and censored ends."""
    rng = np.random.default_rng(seed)
    session = rng.integers(n_sessions, size=n)
    owner = rng.integers(n_developers, size=n_sessions)
    tool = rng.integers(4, size=n)
    seconds = np.round(rng.exponential(10.0 ** (tool - 1)) * (rng.random(n) < 0.9), 3)
    codes = {key: rng.integers(3, size=n) for key in method_keys()} | {"tool": tool, "developer": owner[session]}
    names: dict[str, tuple[str | None, ...]] = dict.fromkeys(codes, ("a", "b", None))
    names["tool"] = ("a", "b", "c", "d")
    names["developer"] = tuple(f"dev{i}" for i in range(n_developers))
    started = np.sort(rng.integers(1_000, size=n)) * 1.0 + 1.7e9
    observed = (rng.random(n) < 0.95) | (seconds == 0)
    return PauseRows(codes, names, session, owner[session], started, seconds, observed)
