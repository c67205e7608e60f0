"""Runs of many seeds: medians, paired ratios, the share of the oracle's gain, each with its interval over seeds.

A seed is the unit that is drawn again: the same seeds serve all policies, so two policies are compared seed by seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.results import Interval

__all__ = ["CapturedShare", "OverSeeds", "captured_share", "gains_in_every_seed", "median_over_seeds", "paired_ratio"]

Floats = NDArray[np.float64]
LEAST_SEEDS: Final = 5
DRAWS: Final = 2000
_METHOD = "seed bootstrap"


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A median over seeds.

    Attributes
    ----------
    median : Interval
        Without bounds below 5 seeds; the value None where no seed has one.
    low, high : float or None
        Of the seeds themselves.
    n : int
        Seeds with a value.
    n_missing : int
        Seeds without one: nothing to measure there, or a division by 0.
    """

    median: Interval
    low: float | None
    high: float | None
    n: int
    n_missing: int


@dataclass(frozen=True, slots=True)
class CapturedShare:
    """How much of the oracle's gain a policy has.

    Attributes
    ----------
    share : Interval
        Value None where the oracle gains nothing; a bound None where in too many draws it gains nothing.
    n : int
        Seeds with all three values.
    reason : str
        Why there is no value or bound, else empty.
    """

    share: Interval
    n: int
    reason: str = ""


def median_over_seeds(values: ArrayLike, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> OverSeeds:
    """Give the median of seed-level values with a percentile bootstrap interval over seeds.

    Parameters
    ----------
    values : array_like, shape (S,)
        One per seed; NaN where a seed has none.
    level : float
        Nominal coverage.
    draws : int
        Bootstrap samples.
    seed : int
        Of the draws.

    Examples
    --------
    >>> found = median_over_seeds([1.0, 2.0, 3.0, 4.0, 100.0, float("nan")])
    >>> found.median.value, found.low, found.high, found.n, found.n_missing
    (3.0, 1.0, 100.0, 5, 1)
    """
    given = np.asarray(values, dtype=np.float64)
    known = given[np.isfinite(given)]
    n, missing = known.size, given.size - known.size
    if not n:
        return OverSeeds(Interval(None, level=level), None, None, 0, missing)
    value = float(np.median(known))
    median = Interval(value, level=level)
    if n >= LEAST_SEEDS:
        # by hand: scipy.stats takes a second to load
        drawn = np.median(known[np.random.default_rng(seed).integers(0, n, (draws, n))], axis=1)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        median = Interval(value, float(low), float(high), level, _METHOD)
    return OverSeeds(median, float(known.min()), float(known.max()), n, missing)


def paired_ratio(
    policy: ArrayLike, base: ArrayLike, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> OverSeeds:
    """Give the median over seeds of a policy's value over that of the base in the same seed.

    Parameters
    ----------
    policy, base : array_like, shape (S,)
        In the order of the same seeds; NaN where a seed has none. A base of 0 gives no ratio.
    level, draws, seed
        As in `median_over_seeds`.

    Raises
    ------
    ValueError
        Not the same number of seeds.

    Examples
    --------
    >>> paired_ratio([1.0, 2.0, 3.0], [2.0, 2.0, 0.0]).median.value
    0.75
    """
    return median_over_seeds(_ratios(policy, base), level=level, draws=draws, seed=seed)


def gains_in_every_seed(policy: ArrayLike, base: ArrayLike, share: float = 0.1) -> bool:
    """Say whether a policy gains more than a share of the base's value in every seed; False where a seed has no ratio.

    Examples
    --------
    >>> gains_in_every_seed([0.8, 0.7], [1.0, 1.0]), gains_in_every_seed([0.8, 0.95], [1.0, 1.0])
    (True, False)
    """
    ratios = _ratios(policy, base)
    return bool(ratios.size and np.all(ratios < 1 - share))


def captured_share(
    policy: ArrayLike, base: ArrayLike, oracle: ArrayLike, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> CapturedShare:
    """Give the share of the oracle's gain over the base that a policy has.

    Parameters
    ----------
    policy, base, oracle : array_like, shape (S,)
        Of a cost (a wait), in the order of the same seeds; NaN where a seed has none.
    level, draws, seed
        As in `median_over_seeds`.

    Returns
    -------
    CapturedShare
        ``mean(base - policy) / mean(base - oracle)`` over seeds that have all three, with the percentile interval of
        seeds drawn again together. Means, since the oracle's gain of one seed may well be 0. A draw in which the oracle
        gains nothing has no share: where that happens in more draws than a bound leaves out, there is no interval.

    Raises
    ------
    ValueError
        Not the same number of seeds.

    Examples
    --------
    >>> captured_share([3.0, 2.0], [4.0, 4.0], [2.0, 0.0]).share.value
    0.5
    >>> captured_share([3.0, 2.0], [4.0, 4.0], [4.0, 5.0]).reason
    'not defined: the oracle gains nothing'
    """
    rows = np.stack(np.broadcast_arrays(*(_aligned(policy, base, oracle))))
    rows = rows[:, np.isfinite(rows).all(axis=0)]
    n = rows.shape[1]
    gain, best = rows[1] - rows[0], rows[1] - rows[2]
    if not n:
        return CapturedShare(Interval(None, level=level), 0, "not defined: no seed has all three values")
    if not best.mean() > 0:
        return CapturedShare(Interval(None, level=level), n, "not defined: the oracle gains nothing")
    value = float(gain.mean() / best.mean())
    if n < LEAST_SEEDS:
        return CapturedShare(Interval(value, level=level), n, f"no interval: {n} seeds, {LEAST_SEEDS} needed")
    drawn = np.random.default_rng(seed).integers(0, n, (draws, n))
    gains, bests = gain[drawn].mean(axis=1), best[drawn].mean(axis=1)
    defined = bests > 0
    if np.mean(~defined) > (1 - level) / 2:
        reason = f"no interval: in {np.mean(~defined):.0%} of the draws the oracle gains nothing"
        return CapturedShare(Interval(value, level=level), n, reason)
    low, high = np.quantile(gains[defined] / bests[defined], [(1 - level) / 2, (1 + level) / 2])
    return CapturedShare(Interval(value, float(low), float(high), level, _METHOD), n)


def _aligned(*values: ArrayLike) -> tuple[Floats, ...]:
    arrays = tuple(np.asarray(given, dtype=np.float64) for given in values)
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
        raise ValueError("the values of two policies must be of the same seeds, one each")
    return arrays


def _ratios(policy: ArrayLike, base: ArrayLike) -> Floats:
    ours, theirs = _aligned(policy, base)
    out = np.full(ours.size, np.nan)
    np.divide(ours, theirs, out=out, where=theirs > 0)
    return out
