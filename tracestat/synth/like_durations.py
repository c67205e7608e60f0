"""Places durations: equal steps through the laws instead of draws, then the last digits put right.

A figure of n draws scatters by one over the root of n, more for a mean with a heavy tail. Taking the quantiles of
(i + 1/2)/n leaves an error of about 1/n, and three stretches of the scale between the times asked about, by about a
percent, leave none in the residual lives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tracestat.synth.like_law import EDGE, LAST, Law

__all__ = [
    "ELAPSED",
    "WINDOW",
    "apportion",
    "deal",
    "human_waits",
    "limited",
    "mean_left",
    "milliseconds",
    "stretch",
    "tails",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ELAPSED = (4.0, 25.0, 146.0)
WINDOW = 3600.0
MOST_STRETCH = 1.25


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide a number by shares (largest remainders).

    Parameters
    ----------
    total : int
    shares : sequence of float
        Not all 0.

    Returns
    -------
    list of int

    Examples
    --------
    >>> apportion(10, [0.5, 0.25, 0.25])
    [5, 3, 2]
    """
    if total == 0:
        return [0] * len(shares)
    exact = [total * share / sum(shares) for share in shares]
    counts = [int(x) for x in exact]
    largest = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
    for i in largest[: total - sum(counts)]:
        counts[i] += 1
    return counts


def milliseconds(seconds: Array) -> Ints:
    """Round to whole milliseconds, at least one, and keep each on its side of the first edge.

    Examples
    --------
    >>> milliseconds(np.array([0.0001, 0.1284, 0.1286, 2.0])).tolist()
    [1, 128, 129, 2000]
    """
    ms = np.maximum(np.rint(seconds * 1000), 1).astype(np.int64)
    return np.where(seconds < EDGE, np.minimum(ms, int(EDGE * 1000)), np.maximum(ms, int(EDGE * 1000) + 1))


def limited(
    law: Law, n: int, limits: Sequence[tuple[float, float]], stopped: int | None = None
) -> list[tuple[float | None, Array, int]]:
    """Divide the pauses of a tool by the limit they run under, and lay out those that end before it.

    Parameters
    ----------
    law : Law
    n : int
    limits : sequence of (float, float)
        Limit in seconds and share of the pauses; the rest has none.
    stopped : int, optional
        How many end at their limit; by default as many as the law says.

    Returns
    -------
    list of (limit, seconds, n_stopped)
        The durations of those that end before the limit, and how many end there; the limit is None for the rest.

    Examples
    --------
    >>> from tracestat.synth.like_law import CLASSES, law_of
    >>> law = law_of(CLASSES["shell"], 0.0, -0.68, np.zeros(6), 0.4)
    >>> [(limit, before.size, cut) for limit, before, cut in limited(law, 100, [(1.0, 0.5), (30.0, 0.3)])]
    [(1.0, 28, 22), (30.0, 27, 3), (None, 20, 0)]
    """
    rest = max(0.0, 1.0 - sum(share for _, share in limits))
    beyond = [law.survival(limit) for limit, _ in limits]
    past = [share * s for (_, share), s in zip(limits, beyond, strict=True)]
    before = [share * (1.0 - s) for (_, share), s in zip(limits, beyond, strict=True)] + [rest]
    if stopped is None:
        counts = apportion(n, [*past, *before])
        cut, ended = counts[: len(past)], counts[len(past) :]
    else:
        cut, ended = apportion(stopped, past), apportion(n - stopped, before)
    out: list[tuple[float | None, Array, int]] = []
    for (limit, _), s, count, stops in zip(limits, beyond, ended[:-1], cut, strict=True):
        out.append((limit, law.quantiles(1.0 - (1.0 - s) * _steps(count)), stops))
    out.append((None, law.quantiles(1.0 - _steps(ended[-1])), 0))
    return out


def _steps(n: int) -> Array:
    """Give the middles of n equal steps from 0 to 1."""
    return np.asarray((np.arange(n) + 0.5) / max(n, 1))


def deal(order: Ints, owner: Ints, rng: np.random.Generator) -> Ints:
    """Deal rows out to places like cards, so that every owner of places gets an even sample of them.

    Parameters
    ----------
    order : array of int, shape (n,)
        Rows, sorted by what is to be even.
    owner : array of int, shape (n,)
        Of each place.
    rng : numpy.random.Generator

    Returns
    -------
    array of int, shape (n,)
        The row of each place: a permutation of `order`.

    Examples
    --------
    >>> dealt = deal(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(1))
    >>> sorted(dealt.tolist()), [bool(abs(dealt[:3].mean() - 2.5) <= 1)]
    ([0, 1, 2, 3, 4, 5], [True])
    """
    n = owner.size
    place = rng.permutation(n)
    by_owner = place[np.argsort(owner[place], kind="stable")]
    sizes = np.bincount(owner)
    rank = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = (rank + np.repeat(rng.random(sizes.size), sizes)) / np.repeat(sizes, sizes)
    out = np.empty(n, dtype=np.int64)
    out[by_owner[np.argsort(part, kind="stable")]] = order
    return out


def mean_left(ms: Ints, elapsed: float, window: float = WINDOW) -> float | None:
    """Give the mean remaining time within a window, in seconds; None when nothing lasts so long.

    Examples
    --------
    >>> mean_left(np.array([1000, 5000, 9000]), 4.0)
    3.0
    """
    left = np.minimum(ms[ms > elapsed * 1000] / 1000 - elapsed, window)
    return float(left.mean()) if left.size else None


def stretch(ms: Ints, free: NDArray[np.bool_], lives: Sequence[float]) -> Ints:
    """Stretch the times between 4, 25 and 146 s, and above, until the residual lives are the ones asked for.

    Parameters
    ----------
    ms : array of int, shape (n,)
        All tool pauses.
    free : array of bool, shape (n,)
        Which may move; those on a limit may not.
    lives : sequence of three floats
        Seconds.

    Returns
    -------
    array of int, shape (n,)
        No row crosses one of the three times, so that the later ones are settled first. A stretch that would have to
        be larger than a quarter is left at that.
    """
    out = ms.copy()
    for low, high, asked in zip(ELAPSED[::-1], (LAST, *ELAPSED[:0:-1]), lives[::-1], strict=True):
        these = free & (out > low * 1000) & (out <= high * 1000)
        at_risk = out > low * 1000
        if not these.any():
            continue
        left = out[these] / 1000 - low
        missing = asked * int(at_risk.sum()) - float(np.minimum(out[at_risk] / 1000 - low, WINDOW).sum())
        room = high - low

        def moved(c: float, left: Array = left, room: float = room) -> Array:
            # a power of the relative place: order stays, and so do both ends
            return np.asarray(room * (left / room) ** (1.0 / c))

        a, b = 1.0 / MOST_STRETCH, MOST_STRETCH
        for _ in range(60):
            c = (a + b) / 2
            a, b = (c, b) if float((moved(c) - left).sum()) < missing else (a, c)
        out[these] = np.clip(np.rint((low + moved(b)) * 1000), low * 1000 + 1, high * 1000).astype(np.int64)
    return out


def human_waits(n: int, median: float, sigma: float) -> Array:
    """Give the quantiles of a lognormal, seconds, between 1 s and two days."""
    return np.clip(median * np.exp(sigma * ndtri(_steps(n))), 1.0, 2 * 86_400.0)


def tails(
    tool: Ints, beside: Ints, human: Array, over_calls: float, over_time: float, approval: float
) -> tuple[Ints, Ints]:
    """Scale the longest pauses and the human waits until the three shares of Claude's call time are right.

    Parameters
    ----------
    tool, beside : array of int
        Tool pauses, and the calls beside a longer one, milliseconds.
    human : array of float
        Waits, seconds, increasing.
    over_calls, over_time, approval : float
        Asked shares: of calls above a minute, of their time, of the human waits' time.

    Returns
    -------
    tool, human : array of int
        Milliseconds. Only pauses above `LAST` are scaled; they stay above it.
    """
    tool = tool.copy()
    last = int(LAST * 1000)
    longest = tool > last
    short = float(tool[tool <= 60_000].sum() + beside[beside <= 60_000].sum()) / 1000
    middle = float(tool[(tool > 60_000) & ~longest].sum()) / 1000
    wanted = round(over_calls * (tool.size + beside.size + human.size)) - int((tool > 60_000).sum())
    scaled, total = human, 0.0
    for _ in range(100):  # short waits are part of the time that the shares are taken of
        total = (short + float(scaled[scaled <= 60.0].sum())) / (1.0 - over_time)
        scaled = over_a_minute(human * (approval * total / max(float(human.sum()), 1e-9)), wanted)
    waits = np.rint(scaled * 1000).astype(np.int64)
    left = over_time * total - float(waits[waits > 60_000].sum()) / 1000 - middle
    above = (tool[longest] - last) / 1000
    factor = max(left - LAST * above.size, 0.0) / max(float(above.sum()), 1e-9)
    tool[longest] = last + np.maximum(np.rint(above * factor * 1000), 1).astype(np.int64)
    return tool, waits


def over_a_minute(waits: Array, wanted: int) -> Array:
    """Move waits near a minute over it or under it until `wanted` of them are above.

    Parameters
    ----------
    waits : array of float, shape (n,)
        Seconds, increasing.
    wanted : int

    Returns
    -------
    array of float, shape (n,)
        Increasing. Left as it is where more than a tenth of the waits, or more than there are, would have to move.

    Examples
    --------
    >>> waits = np.array([*np.linspace(1.0, 50.0, 10), *np.linspace(70.0, 900.0, 10)])
    >>> [int((over_a_minute(waits, n) > 60.0).sum()) for n in (8, 9, 11, 12, 13)]
    [8, 9, 11, 12, 10]
    """
    if waits.size == 0:
        return waits
    out = waits.copy()
    surplus = int((out > 60.0).sum()) - wanted
    most = math.ceil(0.1 * out.size)
    place = int(np.searchsorted(out, 60.0, side="right"))
    if 0 < surplus <= most:
        out[place : place + surplus] = np.linspace(58.0, 60.0, surplus)
    elif 0 < -surplus <= min(most, place):
        out[place + surplus : place] = np.linspace(60.5, 62.0, -surplus)
    return np.sort(out)
