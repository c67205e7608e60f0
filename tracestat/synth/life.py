"""The parts a session is made of, and the draws that make it; the two harnesses live in `claude` and `codex`.

Every number of a trace comes from one stream of uniform numbers per session, turned into laws by their inverse. So
a session depends on the seed, its provider and its number alone, and not on how a library happens to sample.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tracestat.synth.catalogue import DEVELOPER_THETA, SKELETON_THETA, Provider, Tool
from tracestat.synth.commands import Skeleton, skeletons
from tracestat.synth.laws import PowerLaw, calibrate, gamma_strata

__all__ = ["Call", "Developer", "Event", "Plan", "Request", "Round", "Shop", "sized", "stream"]

LEAST_STRATUM = 0.004  # launches of skeletons as slow as each other share one multiplier: at least this part of all


@dataclass(frozen=True, slots=True)
class Developer:
    """Whose sessions these are.

    Attributes
    ----------
    user : str
        ``user_`` and 8 hex digits.
    z : float
        Multiplier of every hazard of this developer's tools.
    projects : tuple of str
    wakes : float
        UTC hour at which the working day begins.
    activity : float
        Relative number of sessions.
    """

    user: str
    z: float
    projects: tuple[str, ...]
    wakes: float
    activity: float


@dataclass(frozen=True, slots=True)
class Request:
    """One user message and what follows: how many rounds, and how the last one ends."""

    rounds: int
    ending: str  # "answer": text only; "interrupted": cut by the next user message; "open": calls, no result


@dataclass(slots=True)
class Plan:
    """Everything about a session that is fixed before it runs.

    Attributes
    ----------
    provider : Provider
    developer : Developer
    session_id, project, model : str
    key : str
        10 hex digits, unique in the trace, from which the ids of its calls and rounds are made.
    start_ms : int
        Unix time.
    requests : tuple of Request
    resumes : bool
        Whether it wants to begin with a copy of the session before.
    u : callable
        The session's stream of uniform numbers.
    first_round : int
        Rounds already there, copied.
    context_tokens : int
        Context inherited from the copied rounds.
    n_calls : int
        Ids given out so far.
    """

    provider: Provider
    developer: Developer
    session_id: str
    project: str
    model: str
    key: str
    start_ms: int
    requests: tuple[Request, ...]
    resumes: bool
    u: Callable[[], float]
    first_round: int = 0
    context_tokens: int = 0
    n_calls: int = 0

    def call_id(self) -> str:
        """Give the next call id of the session."""
        self.n_calls += 1
        prefix = "toolu_" if self.provider.name == "claude" else "call_"
        return f"{prefix}{self.key}{self.n_calls:06x}"


@dataclass(slots=True)
class Call:
    """One tool call.

    Attributes
    ----------
    tool, tool_class, call_id : str
    emitted, result : int or None
        Unix milliseconds; no result is None, and so are then the fields that describe it.
    input_chars, result_chars : int or None
    internal_ms : int or None
        What the runner reports; None where it does not.
    is_error : bool or None
        None where the harness does not say.
    skeleton : Skeleton or None
        Of a shell command.
    custom : bool
        Whether Codex logs it as a custom tool call.
    root : str or None
        Of a poll: id of the launch.
    status : str or None
    exit_code : int or None
        Of an exec_command or a poll.
    limit : float or None
        The deadline that ended it, seconds; not in the rows where the harness does not tell.
    """

    tool: str
    tool_class: str
    call_id: str
    emitted: int
    input_chars: int
    result: int | None = None
    internal_ms: int | None = None
    is_error: bool | None = None
    result_chars: int | None = None
    skeleton: Skeleton | None = None
    custom: bool = False
    root: str | None = None
    status: str | None = None
    exit_code: int | None = None
    limit: float | None = None  # the deadline that ended it, seconds


@dataclass(slots=True)
class Event:
    """One timing event.

    Attributes
    ----------
    kind : str
        ``user_message``, ``tool_result``, ``reasoning``, ``text`` or ``tool_call``.
    at : int
        Unix milliseconds.
    chars : int
    call : Call or None
        Of a tool event.
    index : int
        Position of a tool call in its round.
    """

    kind: str
    at: int
    chars: int = 0
    call: Call | None = None
    index: int = 0


@dataclass(slots=True)
class Round:
    """One model request: a row of the trace.

    Attributes
    ----------
    index : int
        Position in the session.
    round_id : str
    turn_id : str or None
        Codex only.
    prefix, uncached, created, output, reasoning : int
        Tokens; the first three add up to the input.
    inputs, outputs : list of Event
        In the order of the row.
    calls : list of Call
    first_output, last_output : int
        Unix milliseconds.
    reported : int or None
        Time of Codex' token count.
    ending : str
        Of the last round of a request: how it ends; else empty.
    """

    index: int
    round_id: str
    turn_id: str | None
    prefix: int
    uncached: int
    created: int
    output: int
    reasoning: int
    inputs: list[Event]
    outputs: list[Event]
    calls: list[Call]
    first_output: int
    last_output: int
    reported: int | None = None
    ending: str = ""


def stream(rng: np.random.Generator) -> Callable[[], float]:
    """Give a function that returns the next uniform number of a generator.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    callable

    Examples
    --------
    >>> u = stream(np.random.Generator(np.random.PCG64(0)))
    >>> 0.0 <= u() < 1.0
    True
    """

    def numbers() -> Iterator[float]:
        while True:
            yield from rng.random(512).tolist()

    return numbers().__next__


def sized(median: int, sigma: float, u: float) -> int:
    """Give a lognormal size in characters or tokens by the logistic approximation of the normal quantile."""
    logit = math.log((u + 1e-9) / (1.0 - u + 1e-9)) / 1.702
    return max(1, int(median * math.exp(sigma * logit)))


class Shop:
    """The tools of one provider, ready to be called: laws calibrated, choices cumulated.

    Parameters
    ----------
    provider : Provider

    Attributes
    ----------
    laws : dict of str to PowerLaw
        By tool name; tools that wait for a human have none.
    effects : array of float, shape (n skeletons,)
        Multiplier of each skeleton, fastest first.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.table = skeletons(provider.name)
        self.weights: NDArray[np.float64] = np.array([s.weight for s in self.table])
        slowest_first = gamma_strata(SKELETON_THETA, self.weights[::-1], LEAST_STRATUM)
        # rounded to what the truth file prints, so that the file states exactly what was used
        self.effects: NDArray[np.float64] = np.array([float(f"{z:.6g}") for z in slowest_first[::-1]])
        self.multipliers: list[float] = self.effects.tolist()
        self.tools = {t.name: t for t in provider.tools}
        self.laws: dict[str, PowerLaw] = {}
        one = np.ones(1)
        for tool in provider.tools:
            if tool.tool_class != "human":
                z, w = (self.effects, self.weights) if tool.keyed else (one, one)
                k = round(1.0 + provider.slope(tool), 9)
                self.laws[tool.name] = calibrate(tool.median, k, tool.t0, z, w, DEVELOPER_THETA)
        self._inverse = {
            name: (law.t0**law.k, law.k * math.exp(-law.log_a), 1.0 / law.k) for name, law in self.laws.items()
        }
        self._tool_cdf = _cdf([t.weight for t in provider.tools])
        self._table_cdf = _cdf([s.weight for s in self.table])
        self._batch_cdf = _cdf(list(provider.batch))
        self._limits = {
            name: (_cumulated([limit.share for limit in limits]), [limit.seconds for limit in limits])
            for name, limits in provider.limits.items()
        }

    def batch(self, u: Callable[[], float]) -> list[Tool]:
        """Choose the tools of one round; a tool that waits for a human stands alone."""
        first = self._any(u)
        if first.tool_class == "human":
            return [first]
        chosen = [first]
        for _ in range(bisect_right(self._batch_cdf, u())):
            other = first if u() < self.provider.sibling else self._any(u)
            chosen.append(first if other.tool_class == "human" else other)
        return chosen

    def _any(self, u: Callable[[], float]) -> Tool:
        return self.provider.tools[bisect_right(self._tool_cdf, u())]

    def skeleton(self, u: Callable[[], float]) -> tuple[Skeleton, float]:
        """Choose a command; give it with its multiplier."""
        i = bisect_right(self._table_cdf, u())
        return self.table[i], self.multipliers[i]

    def duration(self, name: str, z: float, u: float) -> float:
        """Draw a duration in seconds from the law of a tool, for the multiplier z."""
        if name in self.provider.human:
            return self.provider.human[name].draw(u)
        start, scale, power = self._inverse[name]
        return float((start - math.log1p(-u) * scale / z) ** power)

    def limit(self, name: str, u: float) -> float | None:
        """Draw the limit in force for a call, seconds; None for no limit."""
        if name not in self._limits:
            return None
        shares, seconds = self._limits[name]
        i = bisect_right(shares, u)
        return seconds[i] if i < len(seconds) else None

    def overhead(self, name: str, u: float) -> float:
        """Draw how long after a limit the result is logged, seconds."""
        return self.provider.overhead[name].draw(u)


def _cumulated(shares: list[float]) -> list[float]:
    return [round(x, 12) for x in accumulate(shares)]


def _cdf(weights: list[float]) -> list[float]:
    total = sum(weights)
    # the last edge is left out: whatever lies above the others is the last choice
    return [x / total for x in accumulate(weights)][:-1]
