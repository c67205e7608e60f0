"""Two sessions paused at the same moment: which pairs there are, and how long each has lasted when an engine looks.

On the trace's own clock only those meet that really did. Where few do, sessions are superposed: each is moved to a
phase of its own, as if many agents ran at once, and what a moment then shows is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.forecast.rows import PauseRows

__all__ = ["CLOCKS", "Clock", "Meetings", "PairCounts", "meetings_of"]

Clock = Literal["trace", "superposed"]
CLOCKS: tuple[Clock, ...] = ("trace", "superposed")
Rows = NDArray[np.intp]
Array = NDArray[np.float64]
# each pause that is drawn meets so many of the others drawn, which costs no further forecast
_MEETS = 5


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What became of the pairs that met; one is left out for the first reason that applies.

    Attributes
    ----------
    met : int
        Pairs that meet: on the trace's clock all that overlap, superposed those drawn.
    seen : int
        Those of them looked at; fewer than ``met`` only above the limit. The others below are of these.
    same_session : int
        Left out: two pauses of one session.
    beyond : int
        Left out: one has lasted longer than the window by the time that the other starts.
    censored : int
        Left out: an end was not seen.
    censored_known : int
        Those of them of which the other was seen to return first. They are left out as well, since to keep a censored
        pause only where it is known to be the later one would favour whatever expects it late.
    """

    met: int
    seen: int
    same_session: int
    beyond: int
    censored: int
    censored_known: int


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Pauses as an engine finds them at some moment, and pairs of those.

    Attributes
    ----------
    row : ndarray of int, shape (K,)
        Pause found, as a row number.
    elapsed : ndarray, shape (K,)
        How long it has lasted at the moment, seconds.
    first, second : ndarray of int, shape (M,)
        The two of each pair, as numbers of what was found. Both are observed and of different sessions.
    counts : PairCounts
    """

    row: Rows
    elapsed: Array
    first: Rows
    second: Rows
    counts: PairCounts


def meetings_of(rows: PauseRows, clock: Clock, *, window: float, seed: int, most_pairs: int) -> Meetings:
    """Find or draw pairs of pauses that last at the same moment.

    Parameters
    ----------
    rows : PauseRows
        Of one provider, as one engine serves it; all developers together. A pause of no length meets nobody.
    clock : {"trace", "superposed"}
        ``"trace"``: every two pauses that overlap count once, at a moment drawn uniformly from their overlap, so that
        a pair that lasts for hours counts no more than another. ``"superposed"``: pairs as a moment shows them that
        has nothing to do with either session, see Notes.
    window : float
        Nothing is asked of a pause that has lasted longer, seconds.
    seed : int
    most_pairs : int
        Above it pairs are a uniform sample; superposed, so many are drawn.

    Raises
    ------
    UsageError
        Another clock; a window or a number of pairs that is not positive.

    Notes
    -----
    If every session starts at a random phase of a long common clock, then a moment finds a session in one of its
    pauses with a probability proportional to their length, at an age that is uniform over the pause, and two sessions
    independently of each other. This holds for any number of agents, so none has to be chosen. Each pause drawn is
    paired with the next five drawn.

    Examples
    --------
    >>> one = np.array([0, 1, 2])
    >>> rows = PauseRows({}, {}, one, one, np.array([0.0, 4, 11]), np.array([10.0, 2, 9]), np.ones(3, dtype=bool))
    >>> met = meetings_of(rows, "trace", window=3600, seed=0, most_pairs=10)
    >>> met.row[met.first].tolist(), met.row[met.second].tolist(), bool(4 <= met.elapsed[met.first[0]] < 6)
    ([0], [1], True)
    """
    if clock not in CLOCKS:
        raise UsageError(f"clock {clock!r}: use one of {', '.join(CLOCKS)}")
    if not window > 0 or most_pairs < 1:
        raise UsageError("order: the window and the number of pairs must be positive")
    # an order of its own, so that neither pairs nor draws depend on that of the rows
    by_start = np.lexsort((rows.observed, rows.session, rows.seconds, rows.started))
    lasting = by_start[rows.seconds[by_start] > 0]
    rng = np.random.default_rng(seed)
    if clock == "trace":
        return _on_trace(rows, lasting, window, rng, most_pairs)
    return _superposed(rows, lasting, window, rng, most_pairs)


def _on_trace(rows: PauseRows, lasting: Rows, window: float, rng: np.random.Generator, most: int) -> Meetings:
    start = rows.started[lasting] - rows.started.min(initial=np.inf)
    end = start + rows.seconds[lasting]
    position = np.arange(lasting.size)
    # of a pause, the later ones that start before it ends are those that follow it in this order
    n_later = np.maximum(np.searchsorted(start, end, side="left") - position - 1, 0)
    before = np.cumsum(n_later)
    n_met = int(before[-1]) if before.size else 0
    which = np.arange(n_met) if n_met <= most else np.sort(rng.choice(n_met, most, replace=False, shuffle=False))
    early = np.searchsorted(before, which, side="right")
    late = early + 1 + which - (before - n_later)[early]

    last = np.minimum(np.minimum(end[early], end[late]), start[early] + window)
    beyond = last <= start[late]
    moment = start[late] + rng.random(which.size) * np.maximum(last - start[late], 0.0)
    row = np.concatenate([lasting[early], lasting[late]])
    elapsed = np.concatenate([moment - start[early], moment - start[late]])
    first = np.arange(which.size)
    return _kept(rows, row, elapsed, first, first + which.size, n_met, beyond)


def _superposed(rows: PauseRows, lasting: Rows, window: float, rng: np.random.Generator, most: int) -> Meetings:
    length = np.minimum(rows.seconds[lasting], window)
    up_to = np.cumsum(length)
    n_drawn = max(-(-most // _MEETS), _MEETS + 1) if lasting.size else 0
    at = rng.random(n_drawn) * (up_to[-1] if up_to.size else 0.0)
    place = np.minimum(np.searchsorted(up_to, at, side="right"), max(lasting.size - 1, 0))
    elapsed = np.clip(at - (up_to - length)[place], 0.0, length[place])
    first = np.repeat(np.arange(n_drawn), _MEETS)
    second = (first + np.tile(np.arange(1, _MEETS + 1), n_drawn)) % max(n_drawn, 1)
    first, second = first[:most], second[:most]
    return _kept(rows, lasting[place], elapsed, first, second, first.size, np.zeros(first.size, dtype=bool))


def _kept(
    rows: PauseRows, row: Rows, elapsed: Array, first: Rows, second: Rows, n_met: int, beyond: NDArray[np.bool_]
) -> Meetings:
    a, b = row[first], row[second]
    same = rows.session[a] == rows.session[b]
    beyond = beyond & ~same
    seen_a, seen_b = rows.observed[a], rows.observed[b]
    censored = ~(seen_a & seen_b) & ~same & ~beyond
    left_a, left_b = rows.seconds[a] - elapsed[first], rows.seconds[b] - elapsed[second]
    known = censored & ((seen_a & (left_a <= left_b)) | (seen_b & (left_b <= left_a)))
    keep = ~(same | beyond | censored)
    out = [int(reason.sum()) for reason in (same, beyond, censored, known)]
    return Meetings(row, elapsed, first[keep], second[keep], PairCounts(n_met, first.size, *out))
