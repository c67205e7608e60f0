"""The part of ``deadlines`` that says what limits cost: polls, the model rounds that they take, written sleeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.common import split_by_key
from tracestat.api.deadline_scans import codes_of
from tracestat.durations import Selection, Unit
from tracestat.durations.deadlines import poll_rounds, polled_commands, written_sleeps
from tracestat.resample import sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.survival.headline import headline
from tracestat.survival.shares import ratio_jackknife

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["Costs", "costs_of"]

Key = tuple[Any, ...]
_NO_POLLS = "no command here is known to have been polled: no polls per command"
_NO_SLEEPS = "what commands asked to sleep is known from raw logs only"
_NO_TOKENS = "{n:,} rounds that only poll do not give their tokens"


@dataclass(frozen=True, slots=True)
class Costs:
    """What limits cost one group, whatever the mode."""

    polls: int | None = None
    polled_commands: int | None = None
    polls_per_command: Interval = NOT_AVAILABLE
    rounds: int = 0
    tokens: int | None = 0
    sleep_seconds: float | None = None
    notes: tuple[str, ...] = ()


def costs_of(
    trace: Trace, chosen: Callable[[Unit], Selection], knows_sleeps: bool
) -> tuple[Mapping[Key, Costs], Costs]:
    """Add up the costs of every group.

    Parameters
    ----------
    trace : Trace
    chosen : callable
        Points the view of the durations at a unit, and gives the selection.
    knows_sleeps : bool
        Whether the trace comes of raw logs, which know what a command asked to sleep.

    Returns
    -------
    mapping, Costs
        By the key of the group; and those of a group that is not in there.
    """
    selection = chosen("call")
    sleeps = split_by_key(written_sleeps(trace, selection), selection) if knows_sleeps else {}
    selection = chosen("command")
    polled = split_by_key(polled_commands(trace, selection), selection)
    selection = chosen("pause")
    rounds = split_by_key(poll_rounds(trace, selection), selection)

    def made(key: Key | None) -> Costs:
        if key is None:
            return _costs(None, None, None, knows_sleeps)
        return _costs(sleeps.get(key), polled.get(key), rounds.get(key), knows_sleeps)

    keys = {*sleeps, *polled, *rounds}
    return {key: made(key) for key in keys}, made(None)


def _costs(
    sleeps: pl.DataFrame | None, polled: pl.DataFrame | None, rounds: pl.DataFrame | None, knows_sleeps: bool
) -> Costs:
    notes: list[str] = []
    polls = commands = None
    per_command = NOT_AVAILABLE
    if polled is None:
        notes.append(_NO_POLLS)
    else:
        n_polls, n_commands = (polled[name].to_numpy().astype(np.float64) for name in ("n_polls", "n_polled"))
        polls, commands = int(n_polls.sum()), int(n_commands.sum())
        developer = codes_of(polled["developer_id"])
        n = int(developer.max()) + 1
        session = ratio_jackknife(n_polls, n_commands)
        by_developer = ratio_jackknife(sum_by(n_polls, developer, n), sum_by(n_commands, developer, n))
        if session is not None and by_developer is not None:
            # a command that was polled was polled once
            per_command = headline(session, by_developer).with_bounds(lambda bound: max(bound, 1.0))
    n_rounds, tokens = 0, 0
    if rounds is not None:
        n_rounds, unknown = int(rounds["n_rounds"].sum()), int(rounds["n_unknown"].sum())
        tokens = int(rounds["tokens"].sum() or 0)
        if unknown:
            notes.append(_NO_TOKENS.format(n=unknown))
    if not knows_sleeps:
        notes.append(_NO_SLEEPS)
    slept = 0.0 if sleeps is None else float(sleeps["sleep_seconds"].sum())
    return Costs(
        polls,
        commands,
        per_command,
        n_rounds,
        None if n_rounds and not tokens else tokens,
        slept if knows_sleeps else None,
        tuple(notes),
    )
