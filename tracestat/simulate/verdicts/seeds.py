"""Comparisons seed by seed in the forms of results; all intervals are those of `across_seeds`."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.results import CapturedGain, SeedMedian
from tracestat.results.verdicts import SeedSpread
from tracestat.simulate.across_seeds import DRAWS, captured_share, median_over_seeds, paired_ratio
from tracestat.simulate.verdicts.cells import Runs, common

__all__ = ["GAIN", "captured", "difference", "median", "place_of", "ratio", "ratios_of", "spread", "to_gain"]

GAIN: Final = 0.1
QUANTILES: Final = ("0.05", "0.1", "0.25", "0.75", "0.9", "0.95")


def median(values: ArrayLike, draws: int = DRAWS) -> SeedMedian:
    """Give the median of values over seeds.

    Examples
    --------
    >>> median([1.0, 2.0, 4.0]).value
    2.0
    """
    found = median_over_seeds(values, draws=draws)
    item = found.median
    return SeedMedian(item.value, item.low, item.high, item.level, item.method, found.low, found.high, found.n)


def ratio(policy: Runs, base: Runs, name: str, draws: int = DRAWS) -> SeedMedian:
    """Give the ratio of a number of two runs over their common seeds."""
    (ours, theirs), _ = common(policy, base)
    found = paired_ratio(ours[name], theirs[name], draws=draws)
    item = found.median
    return SeedMedian(item.value, item.low, item.high, item.level, item.method, found.low, found.high, found.n)


def ratios_of(policy: Runs, base: Runs, name: str) -> NDArray[np.float64]:
    """Give the ratio of each common seed, NaN where there is none."""
    (ours, theirs), _ = common(policy, base)
    out = np.full(ours.seeds.size, np.nan)
    np.divide(ours[name], theirs[name], out=out, where=theirs[name] > 0)
    return out


def difference(ours: ArrayLike, theirs: ArrayLike, draws: int = DRAWS) -> SeedMedian:
    """Give the difference of two values of the same seeds."""
    return median(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64), draws)


def captured(policy: Runs | None, base: Runs | None, oracle: Runs | None, draws: int = DRAWS) -> CapturedGain:
    """Give the share of an oracle's gain in p99 that a policy has, or why there is none."""
    if policy is None or base is None or oracle is None:
        return CapturedGain(reason=f"not defined: {'no P1' if base is None else 'no oracle'} in this configuration")
    rows, _ = common(policy, base, oracle)
    found = captured_share(*(row["post_tool_p99"] for row in rows), draws=draws)
    return CapturedGain(found.share, found.n, found.reason)


def spread(values: NDArray[np.float64], draws: int = DRAWS) -> SeedSpread:
    """Give a median over seeds with quantiles of the seeds themselves."""
    known = values[np.isfinite(values)]
    told = {name: float(np.quantile(known, float(name))) for name in QUANTILES} if known.size else {}
    return SeedSpread(median(values, draws), told)


def place_of(value: float, among: NDArray[np.float64]) -> tuple[float | None, bool | None]:
    """Give the share of seeds below a value, equal ones by half, and whether it lies within their range.

    Examples
    --------
    >>> place_of(2.0, np.array([1.0, 2.0, 3.0, 4.0])), place_of(9.0, np.array([1.0]))
    ((0.375, True), (1.0, False))
    """
    known = among[np.isfinite(among)]
    if not known.size:
        return None, None
    below = np.count_nonzero(known < value) + 0.5 * np.count_nonzero(known == value)
    return float(below / known.size), bool(known.min() <= value <= known.max())


def to_gain(item: SeedMedian) -> SeedMedian:
    """Turn a ratio into what is gained: 1 less it, with bounds that change places.

    Examples
    --------
    >>> to_gain(SeedMedian(0.75, 0.5, 1.25)).low
    -0.25
    """

    def turned(value: float | None) -> float | None:
        return None if value is None else 1.0 - value

    return SeedMedian(
        value=turned(item.value),
        low=turned(item.high),
        high=turned(item.low),
        level=item.level,
        method=item.method,
        least=turned(item.most),
        most=turned(item.least),
        n=item.n,
    )
