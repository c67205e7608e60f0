"""Which sessions a replay file has, in which order, under which numbers, and which of them are sub-agents of which."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tracestat.durations.selection import Selection, run_on
from tracestat.durations.sequence import context_factor
from tracestat.durations.subagents import subagent_links
from tracestat.durations.tracelab import make_sequence
from tracestat.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["MOST_TOKENS", "Member", "Plan", "plan_replay"]

# In one count; a damaged trace may hold any number, and a file has an id for every block of a prompt.
MOST_TOKENS: Final = 100_000_000

_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Member:
    """A session that is written.

    Attributes
    ----------
    session_pk : int
    number : int
    start_us : int
        Begin after the begin of the file.
    steps : int
    parent : Member or None
        Whose sub-agent it is, where that one is written too.
    parent_place : int or None
        In which step of it.
    """

    session_pk: int
    number: int
    start_us: int
    steps: int
    parent: Member | None = None
    parent_place: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is written, and what is not.

    Attributes
    ----------
    families : tuple of tuple of Member
        Each a session and those of its sub-agents, parents first.
    left_out, left_out_steps : int
        Sessions whose tokens are unknown, negative or above `MOST_TOKENS` at some step, and all their steps.
    not_drawn : int
        Sessions that ``sessions`` left out.
    subagents : int
        Sessions of sub-agents among the written ones.
    factor : float
        What all tokens are multiplied with.
    """

    families: tuple[tuple[Member, ...], ...]
    left_out: int
    left_out_steps: int
    not_drawn: int
    subagents: int
    factor: float

    @property
    def members(self) -> tuple[Member, ...]:
        """All that is written."""
        return tuple(member for family in self.families for member in family)


def plan_replay(
    trace: Trace,
    selection: Selection,
    *,
    recorded_start: bool,
    scale_context: int | None,
    sessions: int | None,
    seed: int,
    depth: int,
) -> Plan:
    """Choose and number the sessions.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        Which sessions may be chosen: from `tracestat.durations.tracelab.choose_sessions`.
    recorded_start : bool
        Whether sessions begin as recorded, or all at once.
    scale_context : int, optional
        Tokens that the 99th percentile of the sessions' peaks is brought to.
    sessions : int, optional
        How many to draw, each at most once.
    seed : int
    depth : int
        How many levels of sub-agents are put under their session: 0 none, 1 its own, more: theirs too.

    Raises
    ------
    UsageError
        ``scale_context`` or ``sessions`` is below 1, or ``scale_context`` above `MOST_TOKENS`.
    """
    for option, number in (("--scale-context", scale_context), ("--sessions", sessions)):
        if number is not None and number < 1:
            raise UsageError(f"{option} {number}: give 1 or more")
    if scale_context is not None and scale_context > MOST_TOKENS:
        raise UsageError(f"--scale-context {scale_context}: give at most {MOST_TOKENS:,}")
    make_sequence(trace)
    known = run_on(trace, "replay_sessions", selection, most_tokens=MOST_TOKENS)
    usable = known.filter(known["n_unusable"] == 0)
    chosen = _drawn(usable, sessions, seed)
    parents = _parents(trace, chosen)
    return Plan(
        families=_families(_members(chosen, parents, recorded_start=recorded_start, depth=depth)),
        left_out=known.height - usable.height,
        left_out_steps=int(known["n_steps"].sum()) - int(usable["n_steps"].sum()),
        not_drawn=usable.height - chosen.height,
        subagents=int(parents.height),
        factor=context_factor(chosen["peak_tokens"].to_numpy(), scale_context),
    )


def _drawn(usable: pl.DataFrame, sessions: int | None, seed: int) -> pl.DataFrame:
    if sessions is None or sessions >= usable.height:
        return usable
    drawn = np.random.default_rng(seed).permutation(usable.height)[:sessions]
    return usable[np.sort(drawn)]


def _parents(trace: Trace, chosen: pl.DataFrame) -> pl.DataFrame:
    """Give the sub-agents among the chosen sessions, with their parents where these are known."""
    return subagent_links(trace).join(chosen.select("session_pk"), on="session_pk", how="semi")


def _members(chosen: pl.DataFrame, parents: pl.DataFrame, *, recorded_start: bool, depth: int) -> list[Member]:
    """Give them numbers in the order in which they began, so that a parent comes before its child."""
    links = {
        row["session_pk"]: (row["parent_session_pk"], row["parent_place"])
        for row in parents.iter_rows(named=True)
        if row["parent_place"] is not None
    }
    begins = [_microseconds(at) for at in chosen["began_at"].to_list()]
    first = min((at for at in begins if at is not None), default=0)
    made: dict[int, Member] = {}
    levels: dict[int, int] = {}
    for number, (pk, steps, at) in enumerate(
        zip(chosen["session_pk"].to_list(), chosen["n_steps"].to_list(), begins, strict=True), start=1
    ):
        parent_pk, place = links.get(pk, (None, None))
        level = levels.get(parent_pk, depth) + 1 if parent_pk in made else depth + 1
        is_under = level <= depth
        levels[pk] = level if is_under else 0
        made[pk] = Member(
            pk,
            number,
            start_us=at - first if recorded_start and at is not None else 0,
            steps=int(steps),
            parent=made[parent_pk] if is_under else None,
            parent_place=place if is_under else None,
        )
    return list(made.values())


def _microseconds(at: dt.datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // dt.timedelta(microseconds=1)


def _families(members: list[Member]) -> tuple[tuple[Member, ...], ...]:
    families: dict[int, list[Member]] = {}
    for member in members:
        root = member
        while root.parent is not None:
            root = root.parent
        families.setdefault(root.number, []).append(member)
    return tuple(tuple(family) for family in families.values())
