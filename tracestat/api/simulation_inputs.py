"""What runs of the simulator read, made once: workloads, constants of other sessions, machines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tracestat.api.common import Progress, TraceLike, as_trace
from tracestat.api.exports_constants import constants_before
from tracestat.api.simulate_workload import SimulationWorkload, simulation_workload
from tracestat.constants import Constants, load_constants
from tracestat.durations.sequence import session_sequence
from tracestat.errors import TracestatError, UsageError
from tracestat.hardware import DEFAULT_HARDWARE, Hardware, load_hardware
from tracestat.simulate.configurations import Configuration, changed_hardware, settings_of
from tracestat.simulate.policies.lookup import eta_of
from tracestat.simulate.runs import Inputs, policy_of
from tracestat.simulate.start import canonical_order
from tracestat.store import Trace

__all__ = ["Prepared", "WorkloadKey", "prepare", "workload_key"]

# rule for human gaps, tokens to scale to, rule for lost caches, tokens of the pool
WorkloadKey: TypeAlias = tuple[str, int | None, str, int]
_LEAST_SESSIONS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """What runs read.

    Attributes
    ----------
    machines : mapping of str to Hardware
    workloads : mapping of WorkloadKey to SimulationWorkload
    orders : mapping of WorkloadKey to ndarray
        `canonical_order` of each.
    constants : Constants
    constants_from : str
        In words: whose pauses policies know.
    same_trace : bool
        Whether a file of constants was made of this very trace, so that policies may know the sessions they meet.
    split : datetime or None
        Constants are of what was before, sessions of what began after it; None where a file gave the constants.
    notes : tuple of str
    """

    machines: Mapping[str, Hardware]
    workloads: Mapping[WorkloadKey, SimulationWorkload]
    orders: Mapping[WorkloadKey, object]
    constants: Constants
    constants_from: str
    same_trace: bool
    split: dt.datetime | None
    notes: tuple[str, ...]

    def inputs(self, configuration: Configuration) -> Inputs:
        """Give what a run of a configuration reads."""
        key = workload_key(configuration, self.machines[configuration.hardware])
        made = self.workloads[key]
        return Inputs(
            asked=made.workload,
            exact=made.with_exact_deadlines,
            order=self.orders[key],  # type: ignore[arg-type]
            constants=self.constants,
        )


def workload_key(configuration: Configuration, hardware: Hardware) -> WorkloadKey:
    """Give what of a configuration its sessions depend on.

    Raises
    ------
    UsageError
        Contexts that are shrunk and not scaled.
    """
    scale = configuration.scale_context
    if configuration.shrink != 1:
        if scale is None:
            raise UsageError("shrink: contexts as recorded are not shrunk; give scale_context too")
        scale = max(1, round(scale / configuration.shrink))
    return (
        configuration.human_gap,
        scale,
        configuration.cache_misses,
        changed_hardware(configuration, hardware).pool_tokens,
    )


def prepare(
    trace: TraceLike,
    configurations: Sequence[Configuration],
    *,
    constants: str | Path | Constants | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Make what the runs of some configurations read.

    Parameters
    ----------
    trace : Trace, str or Path
    configurations : sequence of Configuration
    constants : str, Path or Constants, optional
        A file of ``export constants``. Without one, policies learn from what was before the middle of the sessions (by
        the time at which they began), and the sessions that began after it are played.
    where, since, until, tz : str, optional
        Which sessions, as for ``simulation_workload``.
    progress : callable, optional
        Called with (parts done, parts in all).

    Raises
    ------
    UsageError
        A configuration out of range.
    TracestatError
        Too few sessions to part, none to play, a machine or file that cannot be read.
    """
    if not configurations:
        raise UsageError("nothing to run: the list of configurations is empty")
    machines = {name: load_hardware(name) for name in sorted({c.hardware for c in configurations})}
    for configuration in configurations:
        policy_of(configuration.policy)
        settings_of(configuration, changed_hardware(configuration, machines[configuration.hardware]))
    opened = as_trace(trace)
    sessions = {"where": where, "until": until, "tz": tz}
    notes: list[str] = []
    split: dt.datetime | None = None
    if constants is None:
        split = _middle(opened, where, since, until, tz)
        known = constants_before(
            opened,
            load_hardware(DEFAULT_HARDWARE),
            where=where,
            since=since,
            until=_text(split),
            tz="UTC" if tz is None else tz,
            progress=progress,
        )
        since, source, same = _text(split), f"what this trace holds before {split:%Y-%m-%d %H:%M} UTC", False
        notes.append(f"policies learn from {source}; the sessions that began later are played")
    else:
        known = constants if isinstance(constants, Constants) else load_constants(constants)
        source = "the constants given" if isinstance(constants, Constants) else Path(constants).name
        same = known.workload is not None and known.workload.origin.fingerprint == opened.fingerprint
        if same:
            notes.append(
                f"{source} was made of this very trace: policies know the sessions that they meet, and gain more than "
                "they could"
            )
    made: dict[WorkloadKey, SimulationWorkload] = {}
    for configuration in configurations:
        key = workload_key(configuration, machines[configuration.hardware])
        if key not in made:
            made[key] = simulation_workload(
                opened,
                since=since,
                human_gap=key[0],
                scale_context=key[1],
                cache_misses=configuration.cache_misses,
                pool_tokens=key[3],
                **sessions,
            )
    notes += _without_eta(known, made.values(), configurations)
    return Prepared(
        machines=machines,
        workloads=made,
        orders={key: canonical_order(workload.workload) for key, workload in made.items()},
        constants=known,
        constants_from=source,
        same_trace=same,
        split=split,
        notes=tuple(notes),
    )


def _without_eta(
    constants: Constants, workloads: Iterable[SimulationWorkload], configurations: Sequence[Configuration]
) -> list[str]:
    """Say of which providers the time to live takes Continuum's start for the memoryfulness."""
    if constants.workload is None or not any(c.policy in ("P2", "P2-S") and c.eta is None for c in configurations):
        return []
    played = {provider for made in workloads for provider in made.workload.providers}
    missing = sorted(name for name in played if eta_of(constants.workload, name, "session") is None)
    if not missing:
        return []
    return [
        f"too few finished sessions of {', '.join(missing)} for a memoryfulness: P2 and P2-S start cold there, eta = 1"
    ]


def _text(moment: dt.datetime) -> str:
    return moment.replace(tzinfo=dt.UTC).isoformat()


def _middle(trace: Trace, where: str | None, since: str | None, until: str | None, tz: str | None) -> dt.datetime:
    """Give the moment by which half of the sessions have begun."""
    frame, _ = session_sequence(trace, by=None, where=where, since=since, until=until, tz=tz)
    begun = frame.group_by("session_pk").first()["started_at"].drop_nulls().sort()
    if begun.len() < _LEAST_SESSIONS or begun[0] == begun[begun.len() // 2]:
        raise TracestatError(
            f"{trace.shown}: {begun.len()} sessions with a time, too few to part into those that policies learn from "
            "and those that are played; name other sessions' constants with --constants"
        )
    middle: dt.datetime = begun[begun.len() // 2]
    return middle
