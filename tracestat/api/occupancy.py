"""``occupancy``: how many caches of N agents are paused at once, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import TraceLike, as_trace, head_of, key_of, sorted_groups, split_by_key
from tracestat.api.occupancy_parts import (
    Estimating,
    Sessions,
    bursts,
    by_class,
    curve,
    drawn_typical,
    held,
    held_if,
    neighbour_pauses,
    replaced,
    sessions_of,
    typical,
)
from tracestat.charts.words import counted, percent
from tracestat.durations.sequence import context_factor, parse_human_gap, session_sequence, with_pauses
from tracestat.durations.subagents import subagent_links
from tracestat.errors import UsageError
from tracestat.hardware import Hardware, load_hardware
from tracestat.resample import sum_by
from tracestat.results import HeldCache, HostTier, OccupancyGroup, OccupancyResult, OverTime, TypicalPause
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS
from tracestat.survival.occupancy_typical import TypicalDraws

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["occupancy"]

ROWS = ("tool", "human", "all")
_MOST_AGENTS = 100_000
_FEWEST_SESSIONS = 20
_MOST_OF_ONE = 0.5  # of the time: a session that takes more is said
_NO_TOKENS = "no tokens are known of the contexts that wait: what they hold is not estimated"


def occupancy(
    trace: TraceLike,
    *,
    agents: int,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    hardware: str | Path | Hardware | None = None,
    human_gap: str = "keep",
    scale_context: int | None = None,
    draws: int = 400,
    min_n: int | None = None,
    seed: int = 0,
) -> OccupancyResult:
    """Tell how many caches of N agents are paused at once, and how many tokens and bytes they hold.

    Each of N independent agents plays recorded sessions one after another, each drawn whole;
    `tracestat.survival.occupancy` states the model and its sources. What is running, and what is cached of sessions
    that have ended, comes on top.

    Parameters
    ----------
    trace : Trace, str or Path
    agents : int
        N, 1 to 100,000.
    by : str or sequence of str
        Keys of whole sessions: provider, developer, project, session; ``"none"`` pools.
    where, since, until, tz : str, optional
        Which sessions: conditions on these keys and on ``started_at``, the first stamp of the session.
    hardware : str, Path or Hardware, optional
        Id or file of the constants of a machine, for bytes per token, pool and block; default the RTX 4090.
    human_gap : str
        What becomes of waits for a person: ``keep`` (a person's cache does sit there), ``cap:SECONDS`` or ``drop``.
    scale_context : int, optional
        Scale all contexts so that the 99th percentile of the sessions' largest ones is so many tokens.
    draws : int
        Bootstrap draws of each clustering; 0 for none.
    min_n : int, optional
        Groups with fewer pauses are shown without estimates.
    seed : int
        Of the draws.

    Returns
    -------
    OccupancyResult
        Per key three groups, by ``key.rows``: paused by a tool, by a person, by either.

    Raises
    ------
    UsageError
        No such key, hardware or choice.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.occupancy(tracestat.open(), agents=16, by="none", draws=0)
    >>> [(group.label, group.paused.p99.value) for group in result.groups][0][0]
    'tool'
    """
    if isinstance(agents, bool) or not isinstance(agents, int) or not 1 <= agents <= _MOST_AGENTS:
        raise UsageError(f"--agents {agents}: give 1 to {_MOST_AGENTS:,}")
    if scale_context is not None and scale_context < 1:
        raise UsageError(f"--scale-context {scale_context}: give at least 1 token")
    if draws < 0:
        raise UsageError(f"draws {draws}: give 0 or more")
    gap = parse_human_gap(human_gap)
    machine = hardware if isinstance(hardware, Hardware) else load_hardware(*([] if hardware is None else [hardware]))
    opened = as_trace(trace)
    frame, selection = session_sequence(opened, by=by, where=where, since=since, until=until, tz=tz)
    frame = _with_context(with_pauses(frame, gap))
    scale = _scale(frame, scale_context)
    how = Estimating(agents, machine, scale, draws, seed)
    parts = split_by_key(frame, selection)
    groups = []
    for key in sorted_groups(parts):
        groups += _groups(parts[key], key_of(key, selection), how, human_counts=gap.rule != "drop", min_n=min_n or 0)
    head = head_of(opened, selection, "occupancy", seed=seed, notes=_notes(opened, frame, machine))
    return OccupancyResult(
        replace(head, unit="pause", clock="wall"),
        agents=agents,
        hardware=machine.id,
        kv_bytes_per_token=machine.kv_bytes_per_token,
        pool_tokens=machine.pool_tokens,
        block_tokens=machine.block_tokens,
        human_gap=str(gap),
        context_scale=scale,
        groups=tuple(groups),
    )


def _with_context(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the context that a pause holds: the prompt of its step and what the step wrote."""
    import polars as pl

    names = ("prefix_tokens", "append_tokens", "output_tokens")
    return frame.with_columns(
        context_tokens=pl.sum_horizontal(pl.col(name).fill_null(0) for name in names),
        context_known=pl.all_horizontal(pl.col(name).is_not_null() for name in names),
    )


def _scale(frame: pl.DataFrame, scale_context: int | None) -> float:
    """Give the factor of all contexts."""
    import polars as pl

    if scale_context is None or not frame.height:
        return 1.0
    largest = frame.group_by("session_pk").agg(pl.col("context_tokens").max())["context_tokens"]
    if not largest.max():
        raise UsageError(f"--scale-context {scale_context}: no step of these sessions knows its tokens")
    return context_factor(largest.to_numpy(), scale_context)


def _notes(trace: Trace, frame: pl.DataFrame, machine: Hardware) -> list[str]:
    """Say of all sessions what is counted how, and of the machine what is not measured."""
    sessions = set(frame["session_pk"].to_list())
    n = len(sessions & set(subagent_links(trace)["session_pk"].to_list()))
    notes = [f"constants of {machine.id} are in part estimates from specifications"] if machine.estimate else []
    if not n:
        return notes
    return [
        *notes,
        f"{n:,} of {len(sessions):,} sessions are sub-agents: each counts as an agent of its own, independent of the "
        "one that waits for it",
    ]


def _groups(
    frame: pl.DataFrame, key: dict[str, Any], how: Estimating, *, human_counts: bool, min_n: int
) -> list[OccupancyGroup]:
    """Make the three groups of a key."""
    sessions, n_empty = sessions_of(frame, how.machine.block_tokens, how.scale, human_counts=human_counts)
    usual = typical(sessions)
    told = _told(frame, n_empty)
    drawn = drawn_typical(sessions, how) if sessions.n >= _FEWEST_SESSIONS else ()
    return [_group(frame, sessions, rows, {**key, "rows": rows}, how, usual, drawn, told, min_n) for rows in ROWS]


def _told(frame: pl.DataFrame, n_empty: int) -> list[str]:
    """Count what is unknown, and what becomes of it."""
    import polars as pl

    paused = (pl.col("tool_seconds") > 0) | (pl.col("human_after_seconds") > 0)
    counts = frame.select(
        generation=pl.col("generation_seconds").is_null().sum(),
        pauses=(~pl.col("pause_known")).sum(),
        tokens=(~pl.col("context_known") & paused).sum(),
    ).row(0, named=True)
    notes = []
    if counts["generation"]:
        notes.append(f"{counted(counts['generation'], 'step')} of unknown generation time, taken as 0 s")
    if counts["pauses"]:
        notes.append(f"{counted(counts['pauses'], 'pause')} of unknown length, taken as 0 s")
    if counts["tokens"]:
        notes.append(f"{counted(counts['tokens'], 'pause')} with unknown tokens: what is unknown counts as 0 tokens")
    if n_empty:
        notes.append(f"{counted(n_empty, 'session')} of no length, left out: no time is spent in them")
    return notes


def _group(
    frame: pl.DataFrame,
    sessions: Sessions,
    rows: str,
    key: dict[str, Any],
    how: Estimating,
    usual: Mapping[str, TypicalPause],
    drawn: tuple[dict[str, TypicalDraws], ...],
    told: Sequence[str],
    min_n: int,
) -> OccupancyGroup:
    tool, human = rows != "human", rows != "tool"
    is_paused = sessions.is_tool & tool | sessions.is_human & human
    seconds = sessions.tool * tool + sessions.human * human
    n = int(np.count_nonzero(is_paused))
    cut = 0 if rows == "human" else _unobserved(frame)
    n_developers = int(sessions.developer.max(initial=-1)) + 1
    missing = []
    if n < min_n:
        missing.append(f"{counted(n, 'pause')}, {min_n} asked for")
    if sessions.n < _FEWEST_SESSIONS:
        missing.append(f"{counted(sessions.n, 'session')}, {_FEWEST_SESSIONS} needed")
    if not n and not missing:
        missing.append("no such pauses: no cache waits")
    if not sessions.busy.sum() > 0 and not missing:
        missing.append("no generation time is known: how long agents are not paused cannot be told")
    over = int(np.count_nonzero((sessions.tokens > how.machine.pool_tokens) & is_paused))
    largest = int(sessions.tokens[is_paused].max(initial=0.0))
    notes = [*missing, *told]
    if over and rows == "all":
        notes.append(
            f"{counted(over, 'pause')} of {n:,} hold a context larger than the whole pool ({how.machine.pool_tokens:,} "
            f"tokens), the largest {largest:,}: one such GPU could not run them"
        )
    if not missing and not largest:
        notes.append(_NO_TOKENS)
    if not missing:
        notes += _giants(sessions, seconds)
    if not missing and n_developers < ENOUGH_CLUSTERS and how.draws:
        notes.append(FEW_DEVELOPERS.format(n=n_developers))
    group = OccupancyGroup(
        key=key,
        n=n,
        n_events=n - cut,
        n_censored=cut,
        n_sessions=sessions.n,
        n_developers=n_developers,
        total_seconds=float(seconds.sum()),
        notes=tuple(notes),
        agents=how.agents,
        typical=usual,
        over_pool=over,
        largest_tokens=largest,
    )
    if missing:
        return group
    estimated = _estimated(group, sessions, rows, how, usual, drawn)
    return estimated if largest else _without_tokens(estimated)


def _without_tokens(group: OccupancyGroup) -> OccupancyGroup:
    """Take away what would say that caches of unknown size hold nothing."""
    nobody = group.without_human
    return replace(
        group,
        tokens=OverTime(),
        bytes=OverTime(),
        by_class=tuple(replace(c, share_of_tokens=None, tokens={"mean": None, "p99": None}) for c in group.by_class),
        if_median=HeldCache(group.if_median.paused),
        if_mean=HeldCache(group.if_mean.paused),
        without_human=None if nobody is None else HeldCache(nobody.paused),
        tier_for_p99=HostTier(),
        grid_error=None,
        curve=(),
    )


def _giants(sessions: Sessions, seconds: NDArray[np.float64]) -> list[str]:
    """Say whether a single session makes most of an estimate: resampling cannot tell how unusual it is."""
    of_session = sum_by(seconds, sessions.session, sessions.n)
    length = sessions.lengths(sessions.tool, sessions.human)
    parts = (("all time", length), ("the time paused", of_session))
    return [
        f"one session of {sessions.n:,} takes {percent(top)} of {what}: intervals do not cover how unusual it is"
        for what, time in parts
        if (top := float(time.max() / max(time.sum(), 1e-300))) > _MOST_OF_ONE
    ][:1]


def _unobserved(frame: pl.DataFrame) -> int:
    """Count tool pauses whose end was not seen."""
    seen = frame["observed"].fill_null(value=True)
    return frame.filter((frame["kind"] != "end") & (frame["tool_seconds"] > 0) & ~seen).height


def _estimated(
    group: OccupancyGroup,
    sessions: Sessions,
    rows: str,
    how: Estimating,
    usual: Mapping[str, TypicalPause],
    drawn: tuple[dict[str, TypicalDraws], ...],
) -> OccupancyGroup:
    own, grid_error = held(sessions, rows, how)
    nobody = None if rows != "tool" else held(sessions, "tool", how, human=np.zeros_like(sessions.human))[0]
    pool = how.machine.pool_bytes
    size = own.bytes.p99
    excess = replace(size, value=None if size.value is None else max(size.value - pool, 0.0))
    return replace(
        group,
        paused=own.paused,
        tokens=own.tokens,
        bytes=own.bytes,
        by_class=by_class(sessions, rows, how),
        if_median=held_if(sessions, rows, how, usual, drawn, "median"),
        # the same estimator of the number paused, whose interval it therefore has
        if_mean=replace(held_if(sessions, rows, how, usual, drawn, "mean"), paused=own.paused),
        without_human=nobody,
        tier_for_p99=HostTier(
            size,
            own.tokens.p99.times(1 / how.machine.pool_tokens),
            excess.with_bounds(lambda bound: max(bound - pool, 0.0)),
        ),
        grid_error=grid_error,
        curve=curve(sessions, rows, how, replaced(sessions, usual, "median")),
        bursts=bursts(sessions, rows, how),
        neighbours=neighbour_pauses(sessions) if rows == "tool" else None,
    )
