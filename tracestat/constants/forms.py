"""What a file of constants holds: nothing here computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracestat.constants.derived import Derived, derived_from
from tracestat.hardware import Hardware
from tracestat.results import Interval
from tracestat.results.key_laws import LEVELS

__all__ = [
    "AskedLimits",
    "AtomConstants",
    "Constants",
    "ForecastFile",
    "HoldFor",
    "HumanPart",
    "KeyConstants",
    "Origin",
    "Programs",
    "Rule",
    "TurnPoint",
    "Workload",
]

Rule: TypeAlias = Literal["continuum", "hazard", "continuum_shrunken", "hazard_shrunken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Whose data the workload is made of, and what may be done with it; as `tracestat.export.attribution`."""

    source: str
    fingerprint: str
    synthetic: bool
    licence: str | None
    attribution: str
    changes: str


@dataclass(frozen=True, slots=True)
class TurnPoint:
    """Share of the programs with at least so many rounds, and how many programs that are."""

    turns: int
    share: Interval
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Memoryfulness and the law of turns of one provider in one unit.

    Attributes
    ----------
    provider : str or None
    unit : {"session", "request"}
    eta : Interval
        -0.5 to 1; without a value where there are too few.
    n, n_open, n_sessions, n_developers : int
        Finished programs, those left out as open when the log ended, clusters.
    mean, max : float or None, int or None
        Rounds of a finished program.
    turns : tuple of TurnPoint
        P(N >= turns); of many values some that are even in logarithm.
    notes : tuple of str
    """

    provider: str | None
    unit: Literal["session", "request"]
    eta: Interval
    n: int
    n_open: int
    n_sessions: int
    n_developers: int
    mean: float | None
    max: int | None
    turns: tuple[TurnPoint, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomConstants:
    """A point mass of a key, and where decisions place it.

    Attributes
    ----------
    seconds : float
        The limit.
    mass : Interval
        Share of all pauses of the key that end on it.
    kind : {"deadline", "timeout", "sleep"}
    late : float
        Seconds after the limit by which nine tenths of its provider's pauses that end on it are back: where a hold for
        it ends, and the spread of a prefetch.
    """

    seconds: float
    mass: Interval
    kind: Literal["deadline", "timeout", "sleep"]
    late: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldFor:
    """The best hold for one benefit by one rule.

    Attributes
    ----------
    rule : {"continuum", "hazard", "continuum_shrunken", "hazard_shrunken"}
        Continuum's as published, with its rule of a hundred; the hazard rule on the same law (on the shrunken one where
        that is none); both on the key's shrunken law.
    benefit : float
        Seconds of holding that a resident return is worth.
    tau : float
        Hold at most so many seconds.
    pin_share : float
        Share of the pauses that return during it, by the law of the rule.
    mean_hold : float
        Seconds that it lasts on average, by that law.
    worth : float
        Seconds of holding per pause that it gains by the rule's own account.
    returned : Interval
        Share of the key's own pauses that end within ``tau``, whatever the law; without a value where there is no hold.
    """

    rule: Rule
    benefit: float
    tau: float
    pin_share: float
    mean_hold: float
    worth: float
    returned: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConstants:
    """The law of one key's pauses, and what to do with it.

    Attributes
    ----------
    key : mapping of str to (str or None)
        A value per level; None below ``level``, or where the trace has none.
    level : str
    n, n_events, n_censored, n_sessions, n_developers : int
    total_seconds, resolution_seconds, last_seconds : float
        As `tracestat.results.key_laws.KeyLaw`.
    tail_alpha : float or None
        Exponent of the power law beyond the grid that the forecast assumes.
    at_zero : float
        P(T > 0) of the key's own rows: what is left of 1 lasted no time that its clock could tell.
    survival : tuple of float
        P(T > t) of the key's own rows at the first times of the grid, as far as they were observed.
    used : tuple of float
        The same at all times of the grid, shrunken towards what the keys beside it have in common, as in `KeyLaw`.
    level_used : str
    weight : float
        Of the key's own rows in ``used``.
    atoms : tuple of AtomConstants
        Point masses, contained in both curves.
    law_from : {"own", "all", "cold"}
        What rule ``continuum`` uses: the key's own durations, those of all tools of its provider where the key has no
        more than 100, or its start without any.
    pays_from : float or None
        Benefit above which any hold pays by the hazard rule; None where nothing is known to return.
    holds : tuple of HoldFor
        Rule by rule, for each benefit.
    notes : tuple of str
    """

    key: Mapping[str, str | None]
    level: str
    n: int
    n_events: int
    n_censored: int
    n_sessions: int
    n_developers: int
    total_seconds: float
    resolution_seconds: float
    last_seconds: float
    tail_alpha: float | None
    at_zero: float
    survival: tuple[float, ...]
    used: tuple[float, ...]
    level_used: str
    weight: float
    atoms: tuple[AtomConstants, ...]
    law_from: Literal["own", "all", "cold"]
    pays_from: float | None
    holds: tuple[HoldFor, ...]
    notes: tuple[str, ...]

    def hold(self, rule: str, benefit: float) -> HoldFor | None:
        """Give the hold of a rule for one of the file's benefits; None where the file has none."""
        return next((hold for hold in self.holds if (hold.rule, hold.benefit) == (rule, benefit)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanPart:
    """Share of all pauses of a provider that wait for a person: of their count, time and token-seconds."""

    provider: str | None
    n: int
    n_human: int
    of_count: Interval
    of_time: Interval
    of_token_seconds: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLimits:
    """Calls that asked for a limit, and the share of them that ended on it.

    Attributes
    ----------
    provider, tool : str or None
    seconds : float
        The limit.
    n_asked, n_ended : int
        Calls, not pauses.
    ended : Interval
        Of those that asked.
    """

    provider: str | None
    tool: str | None
    seconds: float
    n_asked: int
    n_ended: int
    ended: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastFile:
    """The forecast that belongs to these constants.

    Attributes
    ----------
    name : str
        Base name of its file.
    sha256 : str
        Of that file.
    fingerprint : str
        Of the trace that it was fitted on.
    same_trace : bool
        Whether that is the trace of the workload.
    """

    name: str
    sha256: str
    fingerprint: str
    same_trace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What agents do: laws of pauses and turns of a trace, and how they were made.

    Attributes
    ----------
    origin : Origin
    unit, clock, definition, rows : str
        Of the laws of keys.
    where, since, until : str or None
        Which rows, as the caller wrote it; dates in ``zone``.
    zone : str
    seed : int
    excluded : mapping of str to int
        Rows left out, by reason.
    min_n : int
        Keys below the provider with fewer pauses are left out ...
    keys_left_out : int
        ... and that many are: the key above stands for them.
    grid : tuple of float
        Seconds, at which the curves are given.
    benefits : tuple of float
        Seconds of holding, for which holds are given.
    memoryfulness : tuple of Programs
    keys : tuple of KeyConstants
    human : tuple of HumanPart
    asked_limits : tuple of AskedLimits
    forecast : ForecastFile or None
    notes : tuple of str
    """

    origin: Origin
    unit: Literal["pause"]
    clock: Literal["wall"]
    definition: Literal["tracestat"]
    rows: Literal["tool"]
    where: str | None
    since: str | None
    until: str | None
    zone: str
    seed: int
    excluded: Mapping[str, int]
    min_n: int
    keys_left_out: int
    grid: tuple[float, ...]
    benefits: tuple[float, ...]
    memoryfulness: tuple[Programs, ...]
    keys: tuple[KeyConstants, ...]
    human: tuple[HumanPart, ...]
    asked_limits: tuple[AskedLimits, ...]
    forecast: ForecastFile | None
    notes: tuple[str, ...]

    def find_published(self, *values: str | None) -> KeyConstants | None:
        """Give the key whose holds by rule ``continuum`` are those of these values, as `find` does for the others.

        Continuum does not lean on the key above: what was left out, with no more than 100 pauses, has the law of all
        tools of its provider (so the file must have been made with a ``min_n`` of up to 101).
        """
        key = self.find(*values)
        return key if key is None or tuple(key.key.values())[: len(values)] == values else self.find(*values[:1])

    def find(self, *values: str | None) -> KeyConstants | None:
        """Give the lowest key of the file that stands for these values.

        Parameters
        ----------
        *values : str or None
            Provider, tool class, tool, command skeleton, as far as they are known.

        Returns
        -------
        KeyConstants or None
            The key itself, or the nearest above it where it was left out; None where the provider has no pause.
        """
        for depth in range(min(len(values), len(LEVELS)), 0, -1):
            for key in self.keys:
                if key.level == LEVELS[depth - 1] and tuple(key.key.values())[:depth] == values[:depth]:
                    return key
        return None


@dataclass(frozen=True, slots=True)
class Constants:
    """A machine, and the workload that it meets.

    Attributes
    ----------
    hardware : Hardware
    workload : Workload or None
        None in a file of the hardware alone.
    tracestat : str
        Version that wrote it.
    """

    hardware: Hardware
    workload: Workload | None
    tracestat: str = field(default="")

    @property
    def derived(self) -> Derived:
        """What follows from the machine: coefficients of prefill and reload, rates of the link."""
        return derived_from(self.hardware)

    def __repr__(self) -> str:
        """Say in one line what it holds; the curves would fill pages."""
        if self.workload is None:
            return f"Constants({self.hardware.id}, no workload)"
        mark = ", SYNTHETIC" if self.workload.origin.synthetic else ""
        return f"Constants({self.hardware.id}, {len(self.workload.keys)} keys of {self.workload.origin.source}{mark})"
