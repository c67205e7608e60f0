"""The pieces of ``occupancy`` for one group of sessions: estimates with intervals, classes, curve, returns."""

from __future__ import annotations

from collections import Counter
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
from tracestat.survival.occupancy import CELLS, Estimate, agent_law, estimate, held_law, whole_blocks
from tracestat.survival.occupancy_intervals import HeldIntervals, Played, held_intervals
from tracestat.survival.occupancy_typical import TypicalDraws, typical_draws, typical_intervals
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
    "drawn_typical",
    "held",
    "held_if",
    "neighbour_pauses",
    "replaced",
    "sessions_of",
    "typical",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
WINDOWS = (1.0, 10.0, 60.0)
_PARTS = {"tool": (True, False), "human": (False, True), "all": (True, True)}
_COMPARED, _ROUGH = 2**17, 2**15  # cells of laws that stand beside others
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

    @property
    def clusterings(self) -> tuple[Codes, Codes]:
        """Give the cluster of each session: itself, and its developer."""
        return np.arange(self.n), self.developer

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


def held(sessions: Sessions, rows: str, how: Estimating, *, human: Floats | None = None) -> tuple[HeldCache, float]:
    """Estimate what the agents of a row hold, with intervals, and bound the error of the grid.

    Parameters
    ----------
    sessions : Sessions
    rows : {"tool", "human", "all"}
    how : Estimating
    human : ndarray, optional
        Waits for a person in place of the recorded ones.
    """
    tool, human = sessions.tool, sessions.human if human is None else human
    found, at, seconds = _estimate(sessions, rows, tool, human, how.agents, CELLS)
    length = sessions.lengths(tool, human)
    both = []
    for code in sessions.clusterings:
        n = int(code.max()) + 1
        played = Played(code[sessions.session[at]], sessions.tokens[at], seconds, sum_by(length, code, n))
        both.append(held_intervals(played, how.agents, found.paused, found.tokens, draws=how.draws, seed=how.seed))
    return _cache(both, how), found.grid_error


def _cache(both: Sequence[HeldIntervals], how: Estimating) -> HeldCache:
    one, other = both
    paused = OverTime(*(headline(a, b) for a, b in zip(one.paused, other.paused, strict=True)))
    tokens = OverTime(*(headline(a, b) for a, b in zip(one.tokens, other.tokens, strict=True)))
    return HeldCache(paused, tokens, tokens.times(how.machine.kv_bytes_per_token))


def drawn_typical(sessions: Sessions, how: Estimating) -> tuple[dict[str, TypicalDraws], ...]:
    """Draw typical pauses by each clustering: of tools, and of people."""
    out = []
    for code in sessions.clusterings:
        kinds = {}
        for name, seconds, use in (
            ("tool", sessions.tool, sessions.is_tool),
            ("human", sessions.human, sessions.is_human),
        ):
            kinds[name] = typical_draws(
                code[sessions.session[use]],
                seconds[use],
                sessions.tokens[use],
                int(code.max()) + 1,
                draws=how.draws,
                seed=how.seed,
            )
        out.append(kinds)
    return tuple(out)


def held_if(
    sessions: Sessions,
    rows: str,
    how: Estimating,
    usual: Mapping[str, TypicalPause],
    drawn: tuple[dict[str, TypicalDraws], ...],
    which: str,
) -> HeldCache:
    """Estimate what the agents of a row would hold had each pause lasted the median, or the mean, of its kind."""
    tool, human = replaced(sessions, usual, which)
    found, _, _ = _estimate(sessions, rows, tool, human, how.agents, _COMPARED)
    both = []
    for code, kinds in zip(sessions.clusterings, drawn, strict=True):
        parts = [
            (kinds[name], getattr(kinds[name], which), counts)
            for name, counts in zip(("tool", "human"), _PARTS[rows], strict=True)
        ]
        busy = sum_by(sessions.busy, code, int(code.max()) + 1)
        both.append(
            typical_intervals(parts, busy, how.agents, found.paused, found.tokens, draws=how.draws, seed=how.seed)
        )
    return _cache(both, how)


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
    token_seconds = tokens * seconds
    all_tokens = float(token_seconds.sum())
    clusters = [(code[sessions.session[at]], int(code.max()) + 1) for code in sessions.clusterings]
    wholes = [sum_by(seconds, code, n) for code, n in clusters]
    out = []
    many = _pauses_by_class(sessions, rows)
    for name in sorted(many, key=lambda value: (value is None, str(value))):
        own = np.array([value == name for value in names], dtype=bool)
        found = estimate(agent_law(tokens[own], seconds[own], length), how.agents, cells=_ROUGH)
        shares = [
            share_of_time(whole, sum_by(np.where(own, seconds, 0.0), code, n))
            for (code, n), whole in zip(clusters, wholes, strict=True)
        ]
        out.append(
            HeldByClass(
                tool_class=name,
                n=many[name],
                share=_both(shares),
                share_of_tokens=float(token_seconds[own].sum()) / all_tokens if all_tokens > 0 else None,
                paused={"mean": found.paused[0], "p99": found.paused[2]},
                tokens={"mean": found.tokens[0], "p99": found.tokens[2]},
            )
        )
    return tuple(sorted(out, key=lambda item: -item.paused["mean"]))


def _pauses_by_class(sessions: Sessions, rows: str) -> dict[str | None, int]:
    """Count the pauses of each class, those of no length among them."""
    tool, human = _PARTS[rows]
    many = dict(Counter(sessions.tool_class[sessions.is_tool].tolist())) if tool else {}
    return {**many, "human": int(np.count_nonzero(sessions.is_human))} if human else many


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
            burst_interval(return_sums(sessions.session[wanted], at[wanted], length, window, cluster))
            for cluster in sessions.clusterings
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
        neighbours(session, sessions.tool[use], classes, follows, cluster[session]) for cluster in sessions.clusterings
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
