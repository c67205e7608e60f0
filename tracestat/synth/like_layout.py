"""How many rounds each session has, which of them call, and in what order Codex' commands yield and are polled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["ABANDONED", "FINISHED", "POLL", "RUNNING", "Chains", "chains", "eta_of", "pauses_of", "rounds_of"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_ROUNDS = 2  # one that calls, one that answers
_LONG = ((1.3, 0.03), (1.3, 0.015), (1.1, 0.006), (0.9, 0.003), (0.6, 0.002), (0.3, 0.001))
"""Widths, and shares of the sessions that are made longer where no width alone will do."""
FINISHED, RUNNING, POLL = 0, 1, 2
"""Bits of a pause: the command still runs at its end; it polls a command that ran."""
ABANDONED = 0.17
"""Share of the running commands that are never polled again."""
POLL_RUNS = 0.6
"""Share of the polls after which the command still runs."""


def eta_of(rounds: Ints) -> float | None:
    """Give the memoryfulness of rounds per session: minus the correlation of rounds done and rounds left.

    Parameters
    ----------
    rounds : array of int, shape (sessions,)

    Returns
    -------
    float or None
        None when every session has one round.

    Examples
    --------
    >>> round(eta_of(np.array([2, 3, 7])), 12)
    0.358070500928
    """
    n = rounds.astype(np.float64)
    weight = n / n.sum()
    mean, square = float(weight @ n), float(weight @ n**2)
    below = square - 1.0 + 3.0 * (square - mean**2)
    return None if below <= 0.0 else (square - 1.0 - 3.0 * (square - mean**2)) / below


def rounds_of(sessions: dict[str, int], rounds: dict[str, int], eta: float) -> dict[str, Ints]:
    """Lay out the rounds of every session: quantiles of a lognormal above the least, its width chosen for eta.

    Some hundred sessions have too few long ones for a low eta at any width: then a few of them are made longer.

    Parameters
    ----------
    sessions, rounds : dict of str to int
        By provider; at least two rounds a session.
    eta : float
        Over the sessions of all providers.

    Returns
    -------
    dict of str to array of int, shape (sessions,)
        Largest first; they sum to `rounds`. Where nothing gives `eta`, the nearest.

    Examples
    --------
    >>> made = rounds_of({"a": 600, "b": 300}, {"a": 34000, "b": 40000}, -0.35)
    >>> int(made["a"].sum()), round(eta_of(np.concatenate([made["a"], made["b"]])), 3)
    (34000, -0.35)
    """
    nearest, best = math.inf, dict[str, Ints]()
    for width, few in ((None, 1.0), *_LONG):
        knobs = np.linspace(0.05, 1.3, 40) if width is None else np.linspace(0.0, 6.0, 40)

        def made(knob: float, width: float | None = width, few: float = few) -> dict[str, Ints]:
            sigma, longer = (knob, 1.0) if width is None else (width, math.exp(knob))
            return {p: _quantiles(sessions[p], rounds[p], sigma, few, longer) for p in sessions}

        misses = [_miss(made(float(knob)), eta) for knob in knobs]
        crossing = next((i for i in range(1, knobs.size) if misses[i - 1] > 0.0 >= misses[i]), None)
        if crossing is not None:
            low, high = float(knobs[crossing - 1]), float(knobs[crossing])
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if _miss(made(middle), eta) > 0.0 else (low, middle)
            return made(high)
        near = int(np.argmin(np.abs(misses)))
        if abs(misses[near]) < nearest:
            nearest, best = abs(misses[near]), made(float(knobs[near]))
    return best


def _miss(lists: dict[str, Ints], eta: float) -> float:
    value = eta_of(np.concatenate(list(lists.values())))
    return math.inf if value is None else value - eta


def _quantiles(sessions: int, total: int, sigma: float, few: float, longer: float) -> Ints:
    """Give whole numbers of a given sum at the quantiles of a lognormal above the least, the first few made longer."""
    if sessions == 0:
        return np.zeros(0, dtype=np.int64)
    shape = np.exp(sigma * ndtri((np.arange(sessions, 0, -1) - 0.5) / sessions))
    shape[: math.ceil(few * sessions)] *= longer
    exact = shape * ((total - LEAST_ROUNDS * sessions) / shape.sum())
    counts = np.floor(exact).astype(np.int64)
    # largest remainders
    counts[np.argsort(counts - exact, kind="stable")[: total - LEAST_ROUNDS * sessions - int(counts.sum())]] += 1
    return np.asarray(counts + LEAST_ROUNDS)


def pauses_of(rounds: Ints, total: int) -> Ints:
    """Give how many rounds of each session call a tool: in proportion, at least one, the last round never.

    Parameters
    ----------
    rounds : array of int, shape (sessions,)
    total : int
        Between the number of sessions and the rounds less the sessions.

    Returns
    -------
    array of int, shape (sessions,)
        Sums to `total`.

    Examples
    --------
    >>> pauses_of(np.array([10, 5, 2]), 12).tolist()
    [8, 3, 1]
    """
    exact = 1.0 + (rounds - 2) * ((total - rounds.size) / max(int(rounds.sum()) - 2 * rounds.size, 1))
    counts = np.minimum(np.floor(exact).astype(np.int64), rounds - 1)
    left = total - int(counts.sum())
    for i in np.argsort(counts - exact, kind="stable"):
        if left == 0:
            break
        if counts[i] < rounds[i] - 1:
            counts[i] += 1
            left -= 1
    return np.asarray(counts)


@dataclass(frozen=True, slots=True)
class Chains:
    """The pauses of Codex in order, session after session.

    Attributes
    ----------
    kind : array of int, shape (pauses,)
        Sum of `RUNNING` and `POLL`, or `FINISHED`.
    launch : array of int, shape (pauses,)
        For a poll, the pause that launched the command; else -1.
    """

    kind: Ints
    launch: Ints


def chains(pauses: Ints, launches: float, deadline_share: float, rng: np.random.Generator) -> Chains:
    """Decide which pauses launch commands that run past their limit, and which poll them.

    Parameters
    ----------
    pauses : array of int, shape (sessions,)
    launches : float
        Share of `exec_command` among the pauses that do not poll: the ones that can yield.
    deadline_share : float
        Share of all pauses that end with the command still running: met to one pause.
    rng : numpy.random.Generator

    Returns
    -------
    Chains
        A running command is polled by the next pause of its session or never.

    Examples
    --------
    >>> made = chains(np.full(20, 50), 0.7, 0.3, np.random.default_rng(0))
    >>> int((made.kind & RUNNING > 0).sum()), int((made.launch >= 0).sum()) > 200
    (300, True)
    """
    total = int(pauses.sum())
    wanted = round(deadline_share * total)
    last = np.zeros(total, dtype=bool)
    last[np.cumsum(pauses) - 1] = True
    polled = (1.0 - ABANDONED) * deadline_share
    yields = (deadline_share - POLL_RUNS * polled) / max(1.0 - polled, 1e-9)
    u, v = rng.random(total).tolist(), rng.random(total).tolist()
    kind, launch = [FINISHED] * total, [-1] * total
    open_launch = -1
    for i, ends in enumerate(last.tolist()):
        if open_launch >= 0:
            kind[i], launch[i] = POLL, open_launch
            runs = u[i] < POLL_RUNS
        else:
            runs = u[i] < yields
        owner = open_launch if open_launch >= 0 else i
        if runs:
            kind[i] |= RUNNING
        open_launch = owner if runs and not ends and v[i] >= ABANDONED else -1
    kinds, roots = np.array(kind, dtype=np.int64), np.array(launch, dtype=np.int64)
    # to the exact number: what nobody polls may as well have finished, and the other way round
    free = np.ones(total, dtype=bool)
    free[:-1] = roots[1:] < 0
    surplus = int((kinds & RUNNING > 0).sum()) - wanted
    these = np.flatnonzero(free & ((kinds & RUNNING > 0) == (surplus > 0)))
    kinds[rng.permutation(these)[: abs(surplus)]] ^= RUNNING
    if launches <= 0.0:
        kinds[roots < 0] = FINISHED
    return Chains(kinds, roots)
