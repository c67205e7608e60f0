"""How many of N agents are paused at once, and how many tokens their caches hold.

Each agent plays sessions one after another, each drawn whole from those recorded; within a session it alternates
between generating and pausing as recorded. Seen at a random time, an agent is in a state x for the share

    p_x = E[time in x per session] / E[length of a session]

of all time: the sessions are the cycles of a renewal-reward process, and their time averages depend on durations by
their means alone [1]_, as the occupancy of Engset's loss model does [2]_. Agents do not know of each other, so that the
number paused is Binomial(N, p) and the tokens held are a sum of N independent draws of the time-weighted law of
(tokens of the context while paused, else 0). Both are computed, not simulated.

References
----------
.. [1] Ross (1996), Stochastic Processes, chapter 3: alternating renewal and renewal-reward processes.
.. [2] Engset (1918); Cohen (1957) on its insensitivity to the law of holding and idle times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from tracestat.errors import TracestatError

__all__ = [
    "CELLS",
    "AgentLaw",
    "Estimate",
    "HeldLaw",
    "agent_law",
    "estimate",
    "held_law",
    "held_of_cells",
    "paused_quantile",
    "split_on_grid",
    "whole_blocks",
]

Floats = NDArray[np.float64]
CELLS = 2**20  # of the token grid, at most: 8 MB
_OUTSIDE = float(np.log(1e12))  # the grid may miss 1e-12 of the law on each side
_TIE = 1e-11  # a share that is reached but for rounding is reached


def whole_blocks(tokens: ArrayLike, block: int, scale: float = 1.0) -> Floats:
    """Give the tokens that contexts take, in whole blocks.

    Parameters
    ----------
    tokens : array_like
        Tokens, not negative.
    block : int
        Tokens of a block, at least 1.
    scale : float
        Factor of the contexts, rounded to whole tokens before blocks are counted.

    Examples
    --------
    >>> whole_blocks([0, 1, 16, 17], 16)
    array([ 0., 16., 16., 32.])
    """
    size: Floats = np.round(np.asarray(tokens, dtype=np.float64) * scale)
    filled: Floats = np.ceil(size / block) * block
    return filled


@dataclass(frozen=True, slots=True)
class AgentLaw:
    """What one agent holds while paused, at a random time.

    Attributes
    ----------
    tokens : ndarray, shape (V,)
        Distinct sizes, ascending.
    share : ndarray, shape (V,)
        Share of all time in which it is paused and holds so much; they add up to the share paused, at most 1.
    """

    tokens: Floats
    share: Floats

    @property
    def paused(self) -> float:
        """Share of all time in which the agent is paused."""
        return min(float(self.share.sum()), 1.0)

    @property
    def mean(self) -> float:
        """Tokens held, averaged over all time."""
        return float(np.sum(self.tokens * self.share))

    @property
    def square(self) -> float:
        """Mean of the square of the tokens held."""
        return float(np.sum(self.tokens**2 * self.share))


def agent_law(tokens: ArrayLike, seconds: ArrayLike, length: float) -> AgentLaw:
    """Give the law of one agent from the pauses of all sessions.

    Parameters
    ----------
    tokens, seconds : array_like, shape (P,)
        Tokens held during each pause, in whole blocks, and how long it lasts.
    length : float
        Length of all sessions together, seconds, the pauses included.

    Raises
    ------
    TracestatError
        A length that is not positive, a negative duration, or pauses longer than the sessions.

    Examples
    --------
    >>> law = agent_law([160, 320, 160], [1.0, 2.0, 1.0], 10.0)
    >>> law.tokens, law.share, round(law.paused, 12), law.mean
    (array([160., 320.]), array([0.2, 0.2]), 0.4, 96.0)
    """
    held, time = np.asarray(tokens, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    if held.shape != time.shape or held.ndim != 1 or not bool((time >= 0).all()) or not bool((held >= 0).all()):
        raise TracestatError("occupancy: each pause needs tokens and seconds, neither of them negative")
    if not length > 0 or float(time.sum()) > length * (1 + 1e-9):
        raise TracestatError("occupancy: the length of all sessions must be positive and hold their pauses")
    distinct, code = np.unique(held, return_inverse=True)
    share = np.bincount(code, weights=time, minlength=distinct.size) / length
    return AgentLaw(distinct[share > 0], share[share > 0])


def paused_quantile(paused: ArrayLike, agents: int, q: float) -> NDArray[np.int64]:
    """Give the smallest k that the number of paused agents does not exceed for a share q of all time.

    Parameters
    ----------
    paused : array_like
        Probability that an agent is paused.
    agents : int
        N.
    q : float
        Share of time, in (0, 1).

    Returns
    -------
    ndarray of int, shape of ``paused``
        Quantiles of Binomial(N, p).

    Examples
    --------
    >>> paused_quantile([0.0, 0.5, 1.0], 10, 0.99)
    array([ 0,  9, 10])
    """
    p = np.asarray(paused, dtype=np.float64)
    low, high = np.full(p.shape, -1, dtype=np.int64), np.full(p.shape, agents, dtype=np.int64)
    while bool((high - low > 1).any()):  # P(K <= low) < q <= P(K <= high)
        middle = (low + high) // 2
        reached = bdtr(np.maximum(middle, 0).astype(np.float64), agents, p) >= q - _TIE
        apart = high - low > 1
        high, low = np.where(apart & reached, middle, high), np.where(apart & ~reached, middle, low)
    return high


@dataclass(frozen=True, slots=True)
class HeldLaw:
    """The law of the tokens that N agents hold, on a grid.

    Attributes
    ----------
    first, step : float
        Tokens of the first cell and from one to the next.
    mass : ndarray, shape (C,)
        Probability of each cell.
    exact : bool
        Whether all contexts lie on the grid; else each is shared out between its two neighbours so that its mean stays,
        and a sum of k contexts is off by k steps at most.
    """

    first: float
    step: float
    mass: Floats
    exact: bool

    def quantile(self, q: float) -> float:
        """Give the smallest amount that is not exceeded for a share q of all time."""
        reached = np.cumsum(self.mass)
        cell = int(np.searchsorted(reached, q - _TIE))
        return self.first + self.step * min(cell, self.mass.size - 1)

    def error_at(self, paused: int) -> float:
        """Bound how far a quantile may be off when so many agents are paused, in tokens."""
        return 0.0 if self.exact else self.step * paused


def held_law(law: AgentLaw, agents: int, *, cells: int = CELLS) -> HeldLaw:
    """Give the law of the tokens that N independent agents hold: the N-fold convolution, by Fourier transform.

    Parameters
    ----------
    law : AgentLaw
    agents : int
        N, at least 1.
    cells : int
        Most cells of the grid; a power of 2.

    Notes
    -----
    The grid spans what Bernstein's inequality leaves all but 1e-12 on each side, and only that: the transform is
    periodic, so that what lies below its first cell costs nothing. Its step is the greatest common divisor of the
    contexts where that needs at most ``cells`` cells (the result is then exact but for rounding), else the least
    multiple of it that does.

    Examples
    --------
    Where all hold the same, tokens are as many as paused agents: Binomial(N, p).

    >>> law = agent_law([160.0], [3.0], 10.0)
    >>> held = held_law(law, 5)
    >>> held.step, held.mass[:3].round(6), held.quantile(0.99)
    (160.0, array([0.16807, 0.36015, 0.3087 ]), 640.0)
    """
    if agents < 1:
        raise TracestatError(f"occupancy: {agents} agents; at least 1")
    largest = float(law.tokens.max(initial=0.0))
    if largest <= 0:
        return HeldLaw(0.0, 1.0, np.ones(1), True)
    low, high = window_of(agents * law.mean, agents * law.square, largest, agents)
    unit = float(np.gcd.reduce(law.tokens.astype(np.int64)))
    step = unit * max(1.0, np.ceil((high - low) / unit / (cells - 2)))
    start = np.floor(low / step)
    size = 2 ** int(np.ceil(np.log2(np.ceil((high - start * step) / step) + 2)))
    one = split_on_grid(law.tokens, law.share, step, size)
    one[0] += max(1 - law.paused, 0.0)
    mass = np.roll(held_of_cells(one[None, :], agents)[0], -int(start % size))
    return HeldLaw(float(start * step), float(step), mass, step == unit)


def window_of(mean: float, square: float, largest: float, agents: int) -> tuple[float, float]:
    """Bound a sum of independent amounts in [0, largest] but for 1e-12 on each side: Bernstein's inequality.

    ``mean`` and ``square`` are those of the sum of first and second moments over all agents.
    """
    spread = np.sqrt(2 * square * _OUTSIDE)
    above = largest * _OUTSIDE / 3
    high = mean + above + np.sqrt(above**2 + spread**2)
    return max(mean - spread, 0.0), min(float(high), agents * largest)


def split_on_grid(tokens: ArrayLike, share: ArrayLike, step: float, cells: int) -> Floats:
    """Share each amount out between its two neighbours on a periodic grid, so that its mean stays.

    Examples
    --------
    >>> split_on_grid([30.0], [1.0], 20.0, 4)
    array([0. , 0.5, 0.5, 0. ])
    """
    place = np.asarray(tokens, dtype=np.float64) / step
    below = np.floor(place)
    upper = (place - below) * np.asarray(share, dtype=np.float64)
    cell = below.astype(np.int64)
    out = np.bincount(cell % cells, weights=np.asarray(share) - upper, minlength=cells).astype(np.float64)
    out += np.bincount((cell + 1) % cells, weights=upper, minlength=cells)
    return out


def held_of_cells(one: Floats, agents: int) -> Floats:
    """Give the N-fold convolutions of laws on a periodic grid.

    Parameters
    ----------
    one : ndarray, shape (B, C)
        The law of one agent in each row.
    agents : int

    Examples
    --------
    >>> held_of_cells(np.array([[0.5, 0.5, 0.0, 0.0]]), 2).round(12)
    array([[0.25, 0.5 , 0.25, 0.  ]])
    """
    # by repeated squaring: a general complex power takes ten times as long
    square, left = np.fft.rfft(one, axis=1), agents
    product = np.ones_like(square)
    while left:
        if left % 2:
            product = product * square
        left //= 2
        square = square * square if left else square
    found: Floats = np.fft.irfft(product, n=one.shape[1], axis=1)
    found = np.maximum(found, 0.0)
    found /= found.sum(axis=1, keepdims=True)
    return found


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean, median and 99 % point of paused agents and of the tokens they hold.

    Attributes
    ----------
    paused, tokens : tuple of float
        Mean, p50, p99 over time.
    grid_error : float
        Bound of the error of the quantiles of the tokens, as a share of p99.
    """

    paused: tuple[float, float, float]
    tokens: tuple[float, float, float]
    grid_error: float


def estimate(law: AgentLaw, agents: int, *, cells: int = CELLS) -> Estimate:
    """Give what N agents hold.

    Examples
    --------
    >>> estimate(agent_law([160.0], [3.0], 10.0), 5).paused
    (1.5, 1.0, 4.0)
    """
    p = law.paused
    p50, p99 = (int(paused_quantile(p, agents, q)) for q in (0.5, 0.99))
    held = held_law(law, agents, cells=cells)
    top = held.quantile(0.99)
    error = held.error_at(p99) / top if top > 0 else 0.0
    return Estimate((agents * p, float(p50), float(p99)), (agents * law.mean, held.quantile(0.5), top), error)
