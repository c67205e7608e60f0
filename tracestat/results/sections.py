"""What ``summary --section`` answers: figures of sessions, prefix cache or commands, by two sets of rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "CacheSummary",
    "CommandsSummary",
    "SectionFigure",
    "SectionGroup",
    "SectionResult",
    "SessionsSummary",
    "TimeoutPoint",
    "TimeoutSweep",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionFigure:
    """One number by TraceLab's rules and by ours.

    Attributes
    ----------
    name : str
        For example ``time_share.human`` or ``request_seconds.p90``.
    item : str or None
        The tool or executable that it is about.
    unit : str
        share, ratio, seconds, hours, count or tokens.
    what : str
        The name in words.
    tracelab, tracestat : Interval
        The estimate by each set of rules.
    n_tracelab, n_tracestat : int
        Values it is made of: sessions for ratios, rows for means and quantiles.
    """

    name: str
    item: str | None
    unit: str
    what: str
    tracelab: Interval
    tracestat: Interval
    n_tracelab: int
    n_tracestat: int


@dataclass(frozen=True, slots=True)
class TimeoutPoint:
    """What an ideal cache does that evicts a prefix after so many seconds."""

    timeout_seconds: float
    hit_rate: Interval
    storage_ratio: Interval
    amplification: Interval
    active_ratio: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutSweep:
    """The time-out sweep by one set of rules, and the deployed cache beside it.

    Attributes
    ----------
    rule : str
        ``tracelab`` or ``tracestat``.
    n_steps : int
        Steps that it covers: with a step before them and a known time between.
    deployed_hit_rate, deployed_amplification : Interval
        Of the same steps, as logged.
    optimal_hit_rate : Interval
        Of a cache that never evicts.
    effective_timeout : Interval
        Seconds after which an ideal cache would evict to hit as often as the deployed one.
    points : tuple of TimeoutPoint
    """

    rule: str
    n_steps: int
    deployed_hit_rate: Interval
    deployed_amplification: Interval
    optimal_hit_rate: Interval
    effective_timeout: Interval
    points: tuple[TimeoutPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionGroup(Group):
    """The figures of one group; ``sweeps`` are there in section cache alone."""

    figures: tuple[SectionFigure, ...]
    sweeps: tuple[TimeoutSweep, ...] = ()

    def figure(self, name: str, item: str | None = None) -> SectionFigure:
        """Give a figure by its name.

        Raises
        ------
        KeyError
            There is none of that name and item.
        """
        for found in self.figures:
            if found.name == name and found.item == item:
                return found
        raise KeyError(f"{name} of {item}" if item else name)


@dataclass(frozen=True, slots=True, repr=False)
class SectionResult(Result):
    """Figures of a section, a group per key and one of everything (its key is empty)."""

    groups: tuple[SectionGroup, ...]
    command: ClassVar[str] = "summary"

    def group(self, **key: Any) -> SectionGroup:
        """Give the group of a key; without one, the group of everything.

        Raises
        ------
        KeyError
            There is none of that key.
        """
        for found in self.groups:
            if dict(found.key) == key:
                return found
        raise KeyError(str(key) if key else "everything")

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group, figure and rule; the time-out of a sweep stands in ``item``, in seconds."""
        import polars as pl

        rows = []
        for group in self.groups:
            for name, item, unit, rule, n, found in _numbers(group):
                rows.append(
                    {
                        **dict.fromkeys(self.head.by),
                        **group.key,
                        "name": name,
                        "item": item,
                        "rule": rule,
                        "unit": unit,
                        "value": found.value,
                        "low": found.low,
                        "high": found.high,
                        "n": n,
                        "synthetic": self.head.synthetic,
                    }
                )
        return pl.DataFrame(rows, infer_schema_length=None)


def _numbers(group: SectionGroup) -> Iterator[tuple[str, str | None, str, str, int, Interval]]:
    for figure in group.figures:
        yield figure.name, figure.item, figure.unit, "tracelab", figure.n_tracelab, figure.tracelab
        yield figure.name, figure.item, figure.unit, "tracestat", figure.n_tracestat, figure.tracestat
    for sweep in group.sweeps:
        for name, unit in (
            ("deployed_hit_rate", "share"),
            ("deployed_amplification", "ratio"),
            ("optimal_hit_rate", "share"),
            ("effective_timeout", "seconds"),
        ):
            yield f"sweep.{name}", None, unit, sweep.rule, sweep.n_steps, getattr(sweep, name)
        for point in sweep.points:
            for name, unit in (
                ("hit_rate", "share"),
                ("storage_ratio", "ratio"),
                ("amplification", "ratio"),
                ("active_ratio", "share"),
            ):
                item = f"{point.timeout_seconds:g}"
                yield f"sweep.{name}", item, unit, sweep.rule, sweep.n_steps, getattr(point, name)


@dataclass(frozen=True, slots=True, repr=False)
class SessionsSummary(SectionResult):
    """Where the time of sessions goes, how many requests, steps and waits they have."""


@dataclass(frozen=True, slots=True, repr=False)
class CacheSummary(SectionResult):
    """What the prefix cache served, how much was fresh, and what a time-out would do."""


@dataclass(frozen=True, slots=True, repr=False)
class CommandsSummary(SectionResult):
    """What shell commands run, how long they take, and how two clocks of a call differ."""
