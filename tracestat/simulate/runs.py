"""One run of a configuration under a seed: what it reads is made ready, what it says becomes a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tracestat.constants import Constants
from tracestat.errors import UsageError
from tracestat.hardware import Hardware
from tracestat.simulate.configurations import Configuration, change_of, changed_hardware, settings_of
from tracestat.simulate.forms import END, TOOL, Counters, Plan, Requests, Settings, Start, Workload
from tracestat.simulate.metrics import post_tool, summarise
from tracestat.simulate.policies import (
    POLICIES,
    OracleView,
    Policy,
    ProgressView,
    View,
    ask,
    load_policy,
    oracle_view,
    p2,
    p2_s,
    p4_d,
    progress_view,
    scheduler_view,
    settle,
    view_type,
)
from tracestat.simulate.reached import reached
from tracestat.simulate.run import run
from tracestat.simulate.start import make_start
from tracestat.simulate.summaries import RunSummary, Waits

__all__ = ["CONFIGURATION_COLUMNS", "RUN_COLUMNS", "Inputs", "OneRun", "Row", "queueing_of", "run_once"]

Row: TypeAlias = dict[str, str | float | int | bool | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """What the runs of one workload share.

    Attributes
    ----------
    asked : Workload
        Deadlines are the asked limits, known when a pause starts.
    exact : Workload
        The same sessions; deadlines are the limits on which the pauses ended. Every policy runs on this one, so that
        all have the same deadline subset; only the upper bound P4-D plans from it.
    order : ndarray of int, shape (S,)
        `canonical_order` of the sessions.
    constants : Constants
        Of sessions that are not among these; the machine is put in for each run.
    """

    asked: Workload
    exact: Workload
    order: NDArray[np.int64]
    constants: Constants


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneRun:
    """A run and what it says.

    Attributes
    ----------
    row : dict
        One value per name of `RUN_COLUMNS`.
    summary : RunSummary
    requests : Requests
        Sessions and rounds are numbered as in the whole workload.
    counters : Counters
    settings : Settings
    """

    row: Row
    summary: RunSummary
    requests: Requests
    counters: Counters
    settings: Settings


def run_once(
    configuration: Configuration, seed: int, inputs: Inputs, hardware: Hardware, *, check: bool = False
) -> OneRun:
    """Run one configuration under one seed.

    Parameters
    ----------
    configuration : Configuration
    seed : int
        Of the order of sessions and the rounds at which they start; the same for all policies.
    inputs : Inputs
    hardware : Hardware
        What the configuration names; it is shrunk and changed here.
    check : bool
        As for `run`.

    Raises
    ------
    UsageError
        Numbers out of range, no such policy, constants that lack what the policy reads.
    TracestatError
        A policy from outside fails.
    """
    machine = changed_hardware(configuration, hardware)
    settings = settings_of(configuration, machine)
    start = make_start(inputs.exact, settings.slots, seed, canonical=inputs.order)
    part = reached(inputs.exact, start, settings.horizon, machine)
    asked = replace(part.workload, deadline=inputs.asked.deadline[part.rounds])
    constants = _constants(configuration, inputs.constants, machine)

    def play(plan: Plan) -> tuple[Requests, Counters]:
        return run(part.workload, machine, settings, plan, part.start, check=check)

    def queueing(plan: Plan) -> float:
        return queueing_of(play(plan)[0], part.workload, settings, machine.block_tokens)

    plan, told = _plan(configuration, asked, part.workload, part.start, settings, constants, seed, queueing)
    requests, counters = play(plan)
    summary = summarise(requests, counters, part.workload, settings, machine)
    tools, waits = part.workload.kind == TOOL, part.workload.kind != END
    extra: Row = {
        "queueing_s": told,
        "plan_pinned": _share(plan.pin_s > 0, tools),
        "plan_prefetched": _share(~np.isnan(plan.prefetch_at_s), waits),
        "kv_bytes_per_token": machine.kv_bytes_per_token,
        "pool_tokens": machine.pool_tokens,
    }
    row = _row(configuration, seed, summary, counters, extra)
    return OneRun(row=row, summary=summary, requests=part.in_whole(requests), counters=counters, settings=settings)


def _share(rows: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    n = int(np.count_nonzero(among))
    return float(np.count_nonzero(rows & among)) / n if n else None


def queueing_of(requests: Requests, workload: Workload, settings: Settings, block: int) -> float:
    """Give Continuum's T: the mean queueing delay, seconds, of post-tool requests whose cache was evicted; or NaN.

    Evicted is a cache of which a whole block that could be reused is no longer on the GPU.
    """
    prefix, append = workload.prefix[requests.round], workload.append[requests.round]
    whole = np.minimum(prefix, prefix + append - 1) // block * block
    rows = post_tool(requests, settings) & ~np.isnan(requests.queue_wait) & (requests.gpu_hit < whole)
    return float(requests.queue_wait[rows].mean()) if rows.any() else float("nan")


def _constants(configuration: Configuration, constants: Constants, machine: Hardware) -> Constants:
    """Put in the machine, and change what the configuration changes."""
    made = replace(constants, hardware=machine)
    change = change_of(configuration)
    if change is None or change[0] != "eta" or made.workload is None:
        return made
    programs = tuple(replace(p, eta=p.eta.times(change[1])) for p in made.workload.memoryfulness)
    return replace(made, workload=replace(made.workload, memoryfulness=programs))


def policy_of(name: str) -> Policy:
    """Give a policy by its id or by the file that holds it.

    Raises
    ------
    UsageError
        There is none.
    """
    if name in POLICIES:
        return POLICIES[name]
    if ":" not in name:
        raise UsageError(f"policy {name}: no such policy; there are {', '.join(POLICIES)} and FILE.py:FUNCTION")
    return load_policy(name)


def _plan(
    configuration: Configuration,
    asked: Workload,
    exact: Workload,
    start: Start,
    settings: Settings,
    constants: Constants,
    seed: int,
    queueing: Callable[[Plan], float],
) -> tuple[Plan, float | None]:
    """Ask the policy, and give the T of those that read one."""
    policy = policy_of(configuration.policy)
    path = settings.store_path if settings.host_tokens else None
    workload = exact if policy is p4_d else asked
    seen = scheduler_view(workload, start.order.T, store_path=path)
    if policy is p2 or policy is p2_s:

        def plan_for(seconds: float) -> Plan:
            made: Plan = policy(seen, constants, queueing=seconds, eta=configuration.eta)
            return made

        settled = settle(plan_for, queueing)
        return settled.plan, settled.queueing[-1]
    reads = view_type(policy)
    view: View = seen
    if reads is OracleView:
        view = oracle_view(workload, seen)
    elif reads is ProgressView:
        view = progress_view(workload, seen, seed=seed)
    return ask(policy, view, constants, where=f"policy {Path(configuration.policy).name}"), None


_KINDS: Final[Mapping[Any, type]] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
}


def _kind(hint: Any) -> type:
    """Give the type of a column; what may be missing has that of what is there."""
    parts = [part for part in getattr(hint, "__args__", ()) if part is not type(None)]
    if hint in _KINDS:
        return _KINDS[hint]
    first = parts[0]
    if getattr(first, "__args__", ()):
        return _kind(first)  # Literal or None
    return _KINDS[first] if first in _KINDS else type(first)  # Literal: of its words


def _columns(form: type, prefix: str = "", leave_out: frozenset[str] = frozenset()) -> dict[str, type]:
    hints = get_type_hints(form)
    return {f"{prefix}{f.name}": _kind(hints[f.name]) for f in fields(form) if f.name not in leave_out}


CONFIGURATION_COLUMNS: Final[Mapping[str, type]] = _columns(Configuration)
_NESTED: Final = frozenset(("post_tool", "all_requests", "after_deadline", "origins", "stability", "usage"))
_WAITS: Final = {"post_tool": "post_tool_", "all_requests": "all_", "after_deadline": "deadline_"}
_EXTRA: Final[Mapping[str, type]] = {
    "queueing_s": float,
    "plan_pinned": float,
    "plan_prefetched": float,
    "kv_bytes_per_token": int,
    "pool_tokens": int,
}
_SHARES: Final = ("full_recompute", "reload", "resident", "partial", "nothing")
RUN_COLUMNS: Final[Mapping[str, type]] = {
    **CONFIGURATION_COLUMNS,
    "seed": int,
    **{name: kind for prefix in _WAITS.values() for name, kind in _columns(Waits, prefix).items()},
    **{f"origin_{name}": float for name in _SHARES},
    **_columns(RunSummary, leave_out=_NESTED),
    "waiting_first_mean": float,
    "waiting_second_mean": float,
    "waiting_ratio": float,
    **{f"use_{name}": float for name in ("pool_used", "pool_cached", "host_used", "link_busy", "busy")},
    **_columns(
        Counters, leave_out=frozenset(("pool_used", "pool_cached", "host_used", "waiting_first", "waiting_second"))
    ),
    **_EXTRA,
}
"""Columns of a table of runs and their types, in order: the configuration, the seed, the summary, the counters.

``post_tool_``, ``all_`` and ``deadline_`` are `Waits`, ``origin_`` `Origins`, ``use_`` `Usage`; ``queueing_s`` is the T
of the policies that read one; ``plan_pinned`` is the share of tool pauses that the plan pins, ``plan_prefetched`` that
of all pauses it prefetches for.
"""


def _row(configuration: Configuration, seed: int, summary: RunSummary, counters: Counters, extra: Row) -> Row:
    row: Row = {name: getattr(configuration, name) for name in CONFIGURATION_COLUMNS}
    row["seed"] = seed
    for name, prefix in _WAITS.items():
        row |= {f"{prefix}{f.name}": getattr(getattr(summary, name), f.name) for f in fields(Waits)}
    row |= {f"origin_{name}": None if summary.origins is None else getattr(summary.origins, name) for name in _SHARES}
    row |= {f.name: getattr(summary, f.name) for f in fields(RunSummary) if f.name not in _NESTED}
    row["waiting_first_mean"], row["waiting_second_mean"] = summary.stability.first, summary.stability.second
    row["waiting_ratio"] = summary.stability.ratio
    row |= {f"use_{f.name}": getattr(summary.usage, f.name) for f in fields(type(summary.usage))}
    row |= {f.name: getattr(counters, f.name) for f in fields(Counters) if f.name in RUN_COLUMNS}
    row |= extra
    return {name: row[name] for name in RUN_COLUMNS}
