"""``memoryfulness``: does progress tell how many rounds are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import TraceLike, as_trace, head_of, key_of, sorted_groups, split_by_key
from tracestat.durations.programs import program_copies, program_turns, select_programs
from tracestat.errors import UsageError
from tracestat.results import NOT_AVAILABLE, LawPoint, MemoryfulnessGroup, MemoryfulnessResult, RoundsLeft, Turns
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS
from tracestat.survival.memoryfulness import (
    MemoryfulnessFit,
    clustered_memoryfulness,
    memoryfulness_of_sums,
    rounds_left,
    turn_quantile,
    turn_survival,
)

if TYPE_CHECKING:
    import polars as pl

    from tracestat.durations import Selection

__all__ = ["memoryfulness"]

UNITS = ("session", "request")
_FEWEST_SESSIONS = 20
_FEWEST_PROGRAMS = 20
_AFTER = (1, 5, 20, 100)
_LAW_POINTS = 48
_HEAVY = 0.1  # of the sum of cubes, by one program


def memoryfulness(
    trace: TraceLike,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    draws: int = 1_000,
    min_n: int | None = None,
    seed: int = 0,
) -> MemoryfulnessResult:
    """Estimate whether progress tells how many rounds a program has left.

    A program is a session, or a request: what one message of the user sets off. Both are given, since the unit can
    change the sign. Rounds that repeat an earlier one (a resumed session) count once; programs whose tool was still
    running when the log ended are left out.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    by : str or sequence of str
        Keys to group by: provider, developer, project, session, model, day, week, hour, weekday (of the program's
        first round); ``"none"`` pools.
    where : str, optional
        Condition on these keys and ``started_at``, the first stamp of the program.
    since, until : str, optional
        ISO dates or times of ``started_at``.
    tz : str, optional
        Time zone of dates and of the keys day, week, hour, weekday; default the local one.
    draws : int
        Bootstrap draws of each clustering; 0 for none.
    min_n : int, optional
        Groups with fewer programs are shown without estimates.
    seed : int
        Seed of the draws.

    Returns
    -------
    MemoryfulnessResult
        A group per key and unit; ``to_frame()``, ``chart()``, ``to_dict()``.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist, or that programs do not have.

    References
    ----------
    .. [1] Continuum (2025), arXiv 2511.02230.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.memoryfulness(tracestat.open(), by="none")
    >>> [(group.label, group.n_programs > 0) for group in result.groups]
    [('session', True), ('request', True)]
    """
    if draws < 0:
        raise UsageError(f"draws {draws}: give 0 or more")
    opened = as_trace(trace)
    selection = select_programs(opened, by=by, where=where, since=since, until=until, tz=tz)
    frame = program_turns(opened, selection)
    copies = program_copies(opened)
    parts = split_by_key(frame, selection)
    groups = [
        _group(parts[key], unit, key_of(key, selection), draws=draws, min_n=min_n or 0, seed=seed)
        for key in sorted_groups(parts)
        for unit in UNITS
    ]
    notes = _notes(frame, selection)
    excluded = {"copied_rounds": copies.rounds, "copied_sessions": copies.sessions}
    head = head_of(opened, selection, "memoryfulness", seed=seed, excluded=excluded, notes=notes)
    return MemoryfulnessResult(replace(head, unit=None, clock=None), tuple(groups))


def _notes(frame: pl.DataFrame, selection: Selection) -> list[str]:
    notes = []
    sessions = frame.filter(frame["unit"] == "session")
    n_subagents, n = int(sessions["n_subagents"].sum()), int(sessions["n"].sum())
    if n_subagents:
        notes.append(f"{n_subagents:,} of {n:,} sessions are sub-agents: each is a program of its own")
    if selection.where.text or selection.since or selection.until:
        notes.append("copied rounds are those of the whole trace")
    return notes


@dataclass(frozen=True, slots=True)
class _Programs:
    """The finished programs of one unit of one group: a row per session and number of rounds."""

    turns: NDArray[np.float64]
    n: NDArray[np.float64]
    session: NDArray[np.intp]
    developer: NDArray[np.intp]

    @property
    def columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
        """As the estimators take them."""
        return self.turns, self.n, self.session, self.developer

    @property
    def n_sessions(self) -> int:
        return int(self.session.max(initial=-1)) + 1

    @property
    def n_developers(self) -> int:
        return int(self.developer.max(initial=-1)) + 1


def _programs(frame: pl.DataFrame) -> _Programs:
    finished = (frame["n"] - frame["n_open"]).to_numpy().astype(np.float64)
    use = finished > 0
    turns = frame["turns"].to_numpy().astype(np.float64)[use]
    session = np.unique(frame["session_pk"].to_numpy()[use], return_inverse=True)[1]
    developer = np.unique(frame["developer_id"].to_numpy()[use], return_inverse=True)[1]
    return _Programs(turns, finished[use], session.astype(np.intp), developer.astype(np.intp))


def _group(
    frame: pl.DataFrame, unit: str, key: dict[str, Any], *, draws: int, min_n: int, seed: int
) -> MemoryfulnessGroup:
    own = frame.filter(frame["unit"] == unit)
    programs = _programs(own)
    n, n_open = int(own["n"].sum()), int(own["n_open"].sum())
    n_programs = n - n_open
    missing = _missing(own, unit, n, n_programs, programs.n_sessions, min_n)
    fit = None if missing else clustered_memoryfulness(*programs.columns, draws=draws, seed=seed)
    if not missing and fit is None:
        missing = ["every program has one round: there is nothing that progress could tell"]
    notes = list(missing)
    if fit is not None:
        notes += _warnings(fit, programs)
    if n_open:
        notes.append(f"{n_open:,} open when the log ended, left out")
    unanswered = int(own["n_unanswered"].sum())
    if unanswered:
        notes.append(f"{unanswered:,} end on a tool's result without an answer, and count as finished")
    turns = Turns()
    law: tuple[LawPoint, ...] = ()
    left: tuple[RoundsLeft, ...] = ()
    if n_programs and _unit_is_known(own, unit):
        turns = Turns(
            float(programs.turns @ programs.n) / n_programs,
            turn_quantile(programs.turns, programs.n, 0.5),
            turn_quantile(programs.turns, programs.n, 0.99),
            int(programs.turns.max()),
        )
        if n >= min_n:
            law, left = _law(programs), _left(programs)
    return MemoryfulnessGroup(
        key={**key, "unit": unit},
        n=n,
        n_events=n_programs,
        n_censored=n_open,
        n_sessions=programs.n_sessions,
        n_developers=programs.n_developers,
        total_seconds=float(own["micros"].sum()) / 1e6,
        notes=tuple(notes),
        value=NOT_AVAILABLE if fit is None else fit.interval,
        n_programs=n_programs,
        turns=turns,
        percentile={}
        if fit is None
        else {"session": fit.session_percentile.bounds, "developer": fit.developer_percentile.bounds},
        with_open=_with_open(own) if fit is not None and n_open else None,
        bootstrap_shift=None if fit is None else fit.shift,
        longest_share=None if fit is None else fit.longest_share,
        left=left,
        law=law,
    )


def _unit_is_known(frame: pl.DataFrame, unit: str) -> bool:
    """Tell whether requests can be told apart: some round says that a message of the user began it."""
    return unit == "session" or int(frame["n_asked"].sum()) > 0


def _missing(frame: pl.DataFrame, unit: str, n: int, n_programs: int, n_sessions: int, min_n: int) -> list[str]:
    """Say why there is no estimate; empty where there is enough."""
    if not _unit_is_known(frame, unit):
        return ["no round says that a message of the user began it: requests cannot be told apart"]
    if n < min_n:
        return [f"{n} programs, {min_n} asked for"]
    reasons = []
    if n_programs < _FEWEST_PROGRAMS and unit != "session":
        reasons.append(f"{n_programs} finished, {_FEWEST_PROGRAMS} needed")
    if n_sessions < _FEWEST_SESSIONS:
        reasons.append(f"{n_sessions} sessions with finished programs, {_FEWEST_SESSIONS} needed")
    return reasons


def _warnings(fit: MemoryfulnessFit, programs: _Programs) -> list[str]:
    notes = []
    if programs.n_developers < ENOUGH_CLUSTERS:
        notes.append(FEW_DEVELOPERS.format(n=programs.n_developers))
    if fit.longest_share > _HEAVY:
        notes.append(
            f"one program holds more than {100 * _HEAVY:.0f} % of the sum of cubes on which eta rests: with so few "
            "long ones eta tends to lie too near 0, and the truth below its interval"
        )
    return notes


def _with_open(frame: pl.DataFrame) -> float | None:
    turns, n = (frame[name].to_numpy().astype(np.float64) for name in ("turns", "n"))
    value = float(memoryfulness_of_sums([n @ turns, n @ turns**2, n @ turns**3]))
    return value if np.isfinite(value) else None


def _law(programs: _Programs) -> tuple[LawPoint, ...]:
    """Give the survival of the number of rounds at its own values; of many, at some that are even in logarithm."""
    values = np.unique(programs.turns).astype(int)
    if values.size > _LAW_POINTS:
        wanted = np.geomspace(values[0], values[-1], _LAW_POINTS)
        values = np.unique(values[np.searchsorted(values, wanted.round())])
    at = sorted({1, *values.tolist()})
    points = turn_survival(*programs.columns, at)
    return tuple(LawPoint(turns, share, n) for turns, (share, n) in zip(at, points, strict=True))


def _left(programs: _Programs) -> tuple[RoundsLeft, ...]:
    found = []
    for after in _AFTER:
        mean, n = rounds_left(*programs.columns, after)
        if n >= _FEWEST_PROGRAMS:
            found.append(RoundsLeft(after, mean, n))
    return tuple(found)
