"""The pieces of ``occupancy`` for one group of sessions: estimates with intervals, classes, curve, returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracestat.hardware import Hardware
from tracestat.resample import ClusterInterval, sum_by
from tracestat.results import (
    NOT_AVAILABLE,
    BurstOfReturns,
    HeldByClass,
    HeldCache,
    HeldPoint,
    Interval,
    NeighbourPauses,
    OverTime,
    TypicalPause,
)
from tracestat.survival.headline import headline
from tracestat.survival.occupancy import Estimate, agent_law, estimate, held_law, whole_blocks
from tracestat.survival.occupancy_intervals import held_intervals, replayed
from tracestat.survival.returns import burst_interval, neighbours, return_sums
from tracestat.survival.shares import share_of_time

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Estimating",
    "Sessions",
    "bursts",
    "by_class",
    "curve",
    "held",
    "neighbour_pauses",
    "replaced",
    "sessions_of",
    "typical",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
WINDOWS = (1.0, 10.0, 60.0)
_PARTS = {"tool": (True, False), "human": (False, True), "all": (True, True)}
_ROUGH = 2**15  # cells of laws that are only compared
_STEPS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)  # of the agents asked for


@dataclass(frozen=True, slots=True)
class Estimating:
    """How many agents, on which machine, with which contexts, and how intervals are drawn."""

    agents: int
    machine: Hardware
    scale: float
    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class Sessions:
    """The steps of a group's sessions as arrays: one entry per step, sessions and developers as codes from 0.

    ``tool`` and ``human`` are the two parts of the pause after the step, seconds; ``is_tool`` and ``is_human`` tell
    whether there is such a part, however short. ``busy`` and ``developer`` are per session.
    """

    session: Codes
    place: Codes
    tokens: Floats
    generation: Floats
    tool: Floats
    human: Floats
    is_tool: NDArray[np.bool_]
    is_human: NDArray[np.bool_]
    ends_human: NDArray[np.bool_]
    tool_class: NDArray[np.object_]
    busy: Floats
    developer: Codes

    @property
    def n(self) -> int:
        """Number of sessions."""
        return int(self.busy.size)

    def lengths(self, tool: Floats, human: Floats) -> Floats:
        """Give the length of each session with these pauses."""
        return self.busy + sum_by(tool + human, self.session, self.n)


def sessions_of(frame: pl.DataFrame, block: int, scale: float, *, human_counts: bool) -> tuple[Sessions, int]:
    """Make the arrays of a group, and count the sessions of no length, which take no time and are left out."""
    session = np.unique(frame["session_pk"].to_numpy(), return_inverse=True)[1]
    time = [
        frame[name].fill_null(0.0).to_numpy().astype(np.float64)
        for name in ("generation_seconds", "tool_seconds", "human_after_seconds")
    ]
    length = np.bincount(session, weights=time[0] + time[1] + time[2])
    use = length[session] > 0
    session = np.unique(session[use], return_inverse=True)[1].astype(np.intp)
    generation, tool, human = (each[use] for each in time)
    kind = frame["kind"].to_numpy()[use]
    people = np.unique(frame["developer"].fill_null("").to_numpy()[use].astype(str), return_inverse=True)[1]
    n = int(session.max(initial=-1)) + 1
    developer = np.zeros(n, dtype=np.intp)
    developer[session] = people
    found = Sessions(
        session=session,
        place=frame["place"].to_numpy()[use].astype(np.intp),
        tokens=whole_blocks(frame["context_tokens"].to_numpy()[use], block, scale),
        generation=generation,
        tool=tool,
        human=human,
        is_tool=(kind == "tool") | (tool > 0),
        is_human=(kind == "human") & human_counts,
        ends_human=kind == "human",
        tool_class=frame["tool_class"].to_numpy()[use].astype(object),
        busy=sum_by(generation, session, n),
        developer=developer,
    )
    return found, int(np.count_nonzero(length == 0))


def typical(sessions: Sessions) -> dict[str, TypicalPause]:
    """Give median and mean of tool pauses and of waits for a person."""
    out = {}
    for name, seconds, use in (
        ("tool", sessions.tool, sessions.is_tool),
        ("human", sessions.human, sessions.is_human),
    ):
        some = seconds[use]
        out[name] = TypicalPause(some.size, float(np.median(some)), float(some.mean())) if some.size else TypicalPause()
    return out


def _pauses(rows: str, tool: Floats, human: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Give the steps at which agents of a row pause, and for how long; a step may be there for both parts."""
    places, seconds = [], []
    for wanted, time in zip(_PARTS[rows], (tool, human), strict=True):
        if wanted:
            at = np.flatnonzero(time > 0)
            places.append(at)
            seconds.append(time[at])
    return np.concatenate(places), np.concatenate(seconds)


def _estimate(
    sessions: Sessions, rows: str, tool: Floats, human: Floats, agents: int, cells: int
) -> tuple[Estimate, NDArray[np.intp], Floats]:
    at, seconds = _pauses(rows, tool, human)
    law = agent_law(sessions.tokens[at], seconds, float(sessions.lengths(tool, human).sum()))
    return estimate(law, agents, cells=cells), at, seconds


def held(
    sessions: Sessions, rows: str, how: Estimating, *, tool: Floats | None = None, human: Floats | None = None
) -> tuple[HeldCache, float]:
    """Estimate what the agents of a row hold, with intervals, and bound the error of the grid.

    Parameters
    ----------
    sessions : Sessions
    rows : {"tool", "human", "all"}
    how : Estimating
    tool, human : ndarray, optional
        Durations in place of the recorded ones.
    """
    as_is = tool is None and human is None
    tool, human = sessions.tool if tool is None else tool, sessions.human if human is None else human
    cells = 2**20 if as_is else 2**17
    found, at, seconds = _estimate(sessions, rows, tool, human, how.agents, cells)
    both = []
    length = sessions.lengths(tool, human)
    for cluster in (np.arange(sessions.n), sessions.developer):
        n = int(cluster.max()) + 1
        played = replayed(
            cluster[sessions.session[at]], sessions.tokens[at], seconds, sum_by(length, cluster, n), agents=how.agents
        )
        both.append(held_intervals(played, how.agents, found.paused, found.tokens, draws=how.draws, seed=how.seed))
    paused = OverTime(*(headline(a, b) for a, b in zip(both[0].paused, both[1].paused, strict=True)))
    tokens = OverTime(*(headline(a, b) for a, b in zip(both[0].tokens, both[1].tokens, strict=True)))
    return HeldCache(paused, tokens, tokens.times(how.machine.kv_bytes_per_token)), found.grid_error


def replaced(sessions: Sessions, typical: Mapping[str, TypicalPause], which: str) -> tuple[Floats, Floats]:
    """Give the pauses had each lasted the median, or the mean, of its kind."""
    out = []
    for name, use in (("tool", sessions.is_tool), ("human", sessions.is_human)):
        value: float | None = getattr(typical[name], which)
        out.append(np.where(use, 0.0 if value is None else value, 0.0))
    return out[0], out[1]


def by_class(sessions: Sessions, rows: str, how: Estimating) -> tuple[HeldByClass, ...]:
    """Estimate what pauses of each tool class hold alone; waits for a person are one class of their own."""
    at, seconds = _pauses(rows, sessions.tool, sessions.human)
    if not seconds.sum() > 0:
        return ()
    n_tool = np.count_nonzero(sessions.tool > 0) if _PARTS[rows][0] else 0
    names = sessions.tool_class[at].copy()
    names[n_tool:] = "human"
    length = float(sessions.lengths(sessions.tool, sessions.human).sum())
    tokens = sessions.tokens[at]
    all_tokens = float(tokens @ seconds)
    clusters = [
        (code[sessions.session[at]], int(code.max()) + 1) for code in (np.arange(sessions.n), sessions.developer)
    ]
    wholes = [sum_by(seconds, code, n) for code, n in clusters]
    out = []
    for name in sorted(set(names.tolist()), key=lambda value: (value is None, str(value))):
        own = np.array([value == name for value in names], dtype=bool)
        found = estimate(agent_law(tokens[own], seconds[own], length), how.agents, cells=_ROUGH)
        shares = [
            share_of_time(whole, sum_by(np.where(own, seconds, 0.0), code, n))
            for (code, n), whole in zip(clusters, wholes, strict=True)
        ]
        out.append(
            HeldByClass(
                tool_class=name,
                n=int(np.count_nonzero(own)),
                share=_both(shares),
                share_of_tokens=float(tokens[own] @ seconds[own]) / all_tokens if all_tokens > 0 else None,
                paused={"mean": found.paused[0], "p99": found.paused[2]},
                tokens={"mean": found.tokens[0], "p99": found.tokens[2]},
            )
        )
    return tuple(sorted(out, key=lambda item: -item.paused["mean"]))


def _both(found: Sequence[ClusterInterval | None]) -> Interval:
    session, developer = found
    return NOT_AVAILABLE if session is None or developer is None else headline(session, developer)


def curve(sessions: Sessions, rows: str, how: Estimating, at_median: tuple[Floats, Floats]) -> tuple[HeldPoint, ...]:
    """Give the tokens that 1 to 4 N agents hold, as recorded and had every pause been the median of its kind."""
    laws = []
    for tool, human in ((sessions.tool, sessions.human), at_median):
        at, seconds = _pauses(rows, tool, human)
        laws.append(agent_law(sessions.tokens[at], seconds, float(sessions.lengths(tool, human).sum())))
    points = []
    for agents in sorted({1, *(max(1, round(how.agents * step)) for step in _STEPS)}):
        real, flat = (held_law(law, agents, cells=_ROUGH) for law in laws)
        points.append(HeldPoint(agents, real.quantile(0.5), real.quantile(0.99), flat.quantile(0.99)))
    return tuple(points)


def bursts(sessions: Sessions, rows: str, how: Estimating) -> tuple[BurstOfReturns, ...]:
    """Give the dispersion of the returns of a row: those from pauses that a tool, or a person, ended."""
    step = sessions.generation + sessions.tool + sessions.human
    along = np.cumsum(step)
    first = np.searchsorted(sessions.session, np.arange(sessions.n))
    at = along - (along[first] - step[first])[sessions.session]
    of_tool, of_human = sessions.is_tool & ~sessions.ends_human, sessions.ends_human
    wanted = {"tool": of_tool, "human": of_human, "all": of_tool | of_human}[rows]
    length = sessions.lengths(sessions.tool, sessions.human)
    out = []
    for window in WINDOWS:
        found = [
            burst_interval(
                return_sums(sessions.session[wanted], at[wanted], length, window, cluster),
                draws=how.draws,
                seed=how.seed,
            )
            for cluster in (np.arange(sessions.n), sessions.developer)
        ]
        rate = np.count_nonzero(wanted) / float(length.sum())
        out.append(BurstOfReturns(window, _both(found), float(how.agents * rate * window)))
    return tuple(out)


def neighbour_pauses(sessions: Sessions) -> NeighbourPauses | None:
    """Correlate successive tool pauses."""
    use = np.flatnonzero(sessions.is_tool & ~sessions.ends_human & (sessions.tool > 0))
    if use.size < 2:
        return None
    session, place = sessions.session[use], sessions.place[use]
    follows = np.concatenate([[False], (np.diff(session) == 0) & (np.diff(place) == 1)])
    classes = np.unique(sessions.tool_class[use].astype(str), return_inverse=True)[1]
    found = [
        neighbours(session, sessions.tool[use], classes, follows, cluster[session])
        for cluster in (np.arange(sessions.n), sessions.developer)
    ]
    one, other = found
    if one is None or other is None:
        return None
    return NeighbourPauses(
        one.n,
        *(
            headline(getattr(one, name), getattr(other, name))
            for name in ("raw", "without_class", "same_session", "order")
        ),
    )
