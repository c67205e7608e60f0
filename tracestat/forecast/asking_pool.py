"""Asking all hierarchies of a provider at once: what each of them says, and what they say together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.asking import UNSEEN, PathAnswer, Value, answer_path, code_of
from tracestat.forecast.curves import curves_of
from tracestat.forecast.keys import HISTORY_KEYS
from tracestat.forecast.model import PooledPaths, ProviderModel
from tracestat.forecast.pool import pooled_hazards
from tracestat.forecast.remaining import RemainingLaw, remaining_law

__all__ = ["PooledAnswer", "answer_pool", "developer_seen", "missing_history", "serving_pool"]


def missing_history(provider: ProviderModel, given: Collection[str]) -> tuple[str, ...]:
    """Give the history keys of a provider's hierarchies that are not among those given; none without a pool."""
    if provider.pool is None:
        return ()
    needed = dict.fromkeys(key for path in provider.paths for key in path.keys if key in HISTORY_KEYS)
    return tuple(key for key in needed if key not in given)


def serving_pool(provider: ProviderModel, given: Collection[str]) -> PooledPaths | None:
    """Give the pool where all history keys are given; None where the first hierarchy answers alone.

    Parameters
    ----------
    provider : ProviderModel
    given : collection of str
        Keys that were given, also those whose value is None.
    """
    return None if missing_history(provider, given) else provider.pool


def developer_seen(provider: ProviderModel, keys: Mapping[str, Value]) -> bool:
    """Tell whether the developer is given and one that the model has."""
    key = "developer"
    return key in keys and any(code_of(path, key, keys[key]) != UNSEEN for path in provider.paths if key in path.keys)


@dataclass(frozen=True, slots=True, eq=False)
class PooledAnswer:
    """What the hierarchies of a provider say together.

    Attributes
    ----------
    base : PathAnswer
    members : tuple of PathAnswer
    weights : tuple of float
        One per member.
    developer_seen : bool
        What decided between the two sets of weights.
    log_survival : ndarray, shape (J + 1,)
        ln S at the edges.
    """

    base: PathAnswer
    members: tuple[PathAnswer, ...]
    weights: tuple[float, ...]
    developer_seen: bool
    log_survival: NDArray[np.float64]

    def law(self) -> RemainingLaw:
        """Give the law."""
        path = self.base.path
        return remaining_law(path.grid, self.log_survival.tolist(), path.alpha)


def answer_pool(provider: ProviderModel, pool: PooledPaths, keys: Mapping[str, Value]) -> PooledAnswer:
    """Ask all hierarchies of a provider.

    Parameters
    ----------
    provider : ProviderModel
    pool : PooledPaths
        Its own.
    keys : mapping of str to (str, float or None)
        As for :func:`tracestat.forecast.asking.answer_path`.

    Raises
    ------
    UsageError
        As for :func:`tracestat.forecast.asking.code_of`.
    """
    known = developer_seen(provider, keys)
    weights = pool.seen if known else pool.unseen
    base, *members = (answer_path(path, keys) for path in (pool.base, *provider.paths))
    hazards = [each.path.hazards(each.nodes)[-1][None] for each in (base, *members)]
    pooled = pooled_hazards(hazards[0], hazards[1:], weights)
    curve = curves_of(pool.base.grid, pooled, pool.base.alpha).log_survival[0]
    return PooledAnswer(base, tuple(members), weights, known, curve)
