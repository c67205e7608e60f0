"""The check that what a forecast stands on was known when each pause started."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["leaking"]

Outcomes = NDArray[np.float64]


def leaking(
    known: Callable[[Outcomes], pl.DataFrame],
    started: NDArray[np.float64],
    outcomes: Outcomes,
    *,
    cuts: int = 5,
    seed: int = 0,
) -> set[str]:
    """Name the columns that change when nothing but the future does.

    At each of some moments, the outcomes of all rows that start then or later are drawn anew, and so is the rest of
    what still runs. Whatever was known of the rows that start then or earlier must stay as it was.

    Parameters
    ----------
    known : callable
        Takes outcomes and gives a frame with ``row``, the number of each row, and what is held to be known at its
        start. Rows may be missing.
    started : ndarray, shape (N,)
        Seconds.
    outcomes : ndarray, shape (N, M)
        Lengths in seconds of M calls per row; NaN for an end that was not seen.
    cuts : int
        Moments; they are starts of rows, spread over all of them.
    """
    rng = np.random.default_rng(seed)
    before = known(outcomes)
    assert before.height
    columns = [name for name in before.columns if name != "row"]
    found: set[str] = set()
    for cut in np.quantile(started, np.linspace(0.3, 1.0, cuts), method="nearest"):
        drawn = np.round(rng.exponential(10.0 ** rng.integers(-2, 3, outcomes.shape)), 3)
        drawn[rng.random(outcomes.shape) < 0.15] = 0.0
        drawn[rng.random(outcomes.shape) < 0.15] = np.nan
        later, waited = (started >= cut)[:, None], np.maximum(cut - started, 0.0)[:, None]
        rest = np.where(outcomes >= waited, np.round(waited + np.nan_to_num(drawn), 3), outcomes)
        after = known(np.where(later, drawn, rest))
        told = pl.Series(np.flatnonzero(started <= cut))
        both = before.join(after, on="row", suffix=" after").filter(pl.col("row").is_in(told.implode()))
        assert both.height
        for name in set(columns) - found:
            if not both[name].eq_missing(both[f"{name} after"]).all():
                found.add(name)
    return found
