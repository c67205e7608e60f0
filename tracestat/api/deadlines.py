"""The command ``deadlines``: which durations are a limit's and not the tool's, and what limits cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from tracestat.api.common import TraceLike, as_trace, excluded_of, head_of, key_of, plain_groups, sorted_groups
from tracestat.api.deadline_costs import Costs, costs_of
from tracestat.api.deadline_exact import ExactPart, asked_limits, asked_parts, status_parts
from tracestat.api.deadline_scans import ScanPart, scan_parts
from tracestat.durations import Clock, Definition, Rows, Selection, Unit, select
from tracestat.errors import UsageError
from tracestat.results import DeadlineCost, DeadlinesGroup, DeadlinesResult, Interval
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS

__all__ = ["Mode", "deadlines"]

Mode = Literal["auto", "scan", "status", "asked"]
Key = tuple[Any, ...]
_OWN_COSTS = (
    "polls, rounds that only poll and sleeps: of commands, pauses and calls by the default definition, all rows"
)
_NO_STATUS = "no mode status: no call says how it ended"


def deadlines(
    trace: TraceLike,
    *,
    mode: Mode = "auto",
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    min_n: int | None = None,
    seed: int = 0,
) -> DeadlinesResult:
    """Find durations that a limit ended and not the tool, and say what limits cost.

    Parameters
    ----------
    mode : {"auto", "scan", "status", "asked"}
        ``asked``: of the calls that asked for a limit, what part ended on it; raw logs know that. ``status``: rows that
        say that they ended on a limit, as Codex' yields do. ``scan``: narrow windows that hold more ends than the
        smooth hazard beside them allows; it needs nothing but durations. ``auto`` gives each that the trace can
        answer, exact ones first.
    trace, by, where, since, until, tz, unit, clock, rows, definition, min_n, seed
        As for :func:`tracestat.hazard`. Mode ``asked`` is about calls, whatever the unit.

    Returns
    -------
    DeadlinesResult
        A group per key and mode.

    Raises
    ------
    UsageError
        A mode, key, column or choice that does not exist.

    Notes
    -----
    A window of the scan is tested by the sessions that end in it at least once, against the number that the hazard of
    its flanks lets expect: a negative binomial count, or a clustered z where nearly every session has one. Windows of
    a group are adjusted by Benjamini and Hochberg's rule at 1 %. Rows on a clock of whole seconds take no part.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.deadlines(tracestat.open(), by="provider", mode="status")
    >>> [(group.label, group.mode, len(group.atoms) > 0) for group in result.groups][1]
    ('codex', 'status', True)
    """
    if mode not in get_args(Mode):
        raise UsageError(f"--mode {mode}: not known; it is one of {', '.join(get_args(Mode))}")
    opened = as_trace(trace)

    published = definition == "tracelab"

    def chosen(unit: Unit, clock: Clock = "wall", *, own: bool = False) -> Selection:
        return select(
            opened,
            unit=unit,
            clock=clock,
            rows="all" if own else rows,
            definition="tracestat" if own else definition,
            by=by,
            where=where,
            since=since,
            until=until,
            tz=tz,
        )

    def own_rules(unit: Unit) -> Selection:
        return chosen(unit, own=True)

    least = min_n or 0
    selection = chosen(unit, clock)  # wrong choices are refused before anything is counted
    calls = chosen("call")
    limits = asked_limits(opened, calls)
    asked = asked_parts(opened, calls, least) if mode in ("auto", "asked") else {}
    costs, no_costs = costs_of(opened, own_rules if published else chosen, bool(limits))
    selection = chosen(unit, clock)
    status = status_parts(opened, selection, least) if mode != "asked" else {}
    scans = scan_parts(opened, selection, limits, least) if mode in ("auto", "scan") else {}
    groups: list[DeadlinesGroup] = []
    for key in sorted_groups({**asked, **status, **scans}):
        name, cost = key_of(key, selection), costs.get(key, no_costs)
        if key in asked and (mode == "asked" or asked[key].available):
            groups.append(_exact(name, "asked", "call", asked[key], cost))
        told = key in status and status[key].available
        if mode in ("auto", "status") and key in status and (mode == "status" or told):
            groups.append(_exact(name, "status", selection.unit, status[key], cost))
        if key in scans:
            exact = status[key].share if told else None
            groups.append(_scan(name, selection.unit, scans[key], exact, cost, told or mode == "scan"))
    if published:
        groups = plain_groups(groups)
    excluded = excluded_of(opened, selection)
    notes = [*excluded.notes, *([_OWN_COSTS] if published and groups else [])]
    head = head_of(opened, selection, "deadlines", seed=seed, excluded=excluded.counts, notes=notes)
    return DeadlinesResult(head, tuple(groups))


def _cost(hours: float | None, cost: Costs) -> DeadlineCost:
    return DeadlineCost(
        hours=hours,
        polls_per_command=cost.polls_per_command.value,
        rounds=cost.rounds,
        tokens=cost.tokens,
        sleep_seconds=cost.sleep_seconds,
        polls=cost.polls,
        polled_commands=cost.polled_commands,
        polls_interval=cost.polls_per_command,
    )


def _few(n_developers: int) -> list[str]:
    return [FEW_DEVELOPERS.format(n=n_developers)] if n_developers < ENOUGH_CLUSTERS else []


def _exact(
    key: Mapping[str, Any], mode: Literal["status", "asked"], unit: str, part: ExactPart, cost: Costs
) -> DeadlinesGroup:
    return DeadlinesGroup(
        key=key,
        n=part.n,
        n_events=part.n_events,
        n_censored=part.n - part.n_events,
        n_sessions=part.n_sessions,
        n_developers=part.n_developers,
        total_seconds=part.total_seconds,
        notes=(*part.notes, *_few(part.n_developers), *cost.notes),
        mode=mode,
        unit=unit,
        atoms=part.atoms,
        share_on_deadline=part.share,
        share_exact=None,
        cost=_cost(part.hours, cost),
    )


def _scan(
    key: Mapping[str, Any], unit: str, part: ScanPart, exact: Interval | None, cost: Costs, told: bool
) -> DeadlinesGroup:
    notes = [*part.notes, *([] if told else [_NO_STATUS]), *_few(part.n_developers), *cost.notes]
    return DeadlinesGroup(
        key=key,
        n=part.n,
        n_events=part.n_events,
        n_censored=part.n - part.n_events,
        n_sessions=part.n_sessions,
        n_developers=part.n_developers,
        total_seconds=part.total_seconds,
        notes=tuple(notes),
        mode="scan",
        unit=unit,
        atoms=part.atoms,
        share_on_deadline=part.share,
        share_exact=exact,
        cost=_cost(part.hours, cost),
        named=part.named,
        whole_seconds=part.whole_seconds,
        hazard=part.hazard,
        n_windows=part.n_windows,
        n_tested=part.n_tested,
    )
