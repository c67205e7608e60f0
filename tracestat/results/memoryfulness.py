"""What ``memoryfulness`` answers: does progress tell how many rounds are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import Bounds, Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LawPoint", "MemoryfulnessGroup", "MemoryfulnessResult", "RoundsLeft", "Turns"]


@dataclass(frozen=True, slots=True)
class Turns:
    """How many rounds the finished programs have; None where there is no program."""

    mean: float | None = None
    p50: int | None = None
    p99: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class LawPoint:
    """Share of the programs with at least so many rounds, and how many programs that are."""

    turns: int
    share: Interval
    n: int


@dataclass(frozen=True, slots=True)
class RoundsLeft:
    """Mean number of rounds left of the ``n`` programs that have had at least ``after``."""

    after: int
    mean: Interval
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryfulnessGroup(Group):
    """The memoryfulness of one unit of one group.

    Attributes
    ----------
    value : Interval
        Minus the correlation of rounds done and rounds left.
    n_programs : int
        Finished programs, from which everything here is made, sessions and developers counted; open ones are
        ``n_censored``.
    turns : Turns
    percentile : mapping of str to Bounds
        The percentile bootstrap interval by ``session`` and by ``developer``, for comparison: it covers less.
    with_open : float or None
        The estimate had the open programs ended where the log ends.
    bootstrap_shift : float or None
        Mean of the bootstrap draws less the estimate, a part of its bias.
    longest_share : float or None
        Share of the longest program in the sum of N^3, on which the estimate rests.
    left : tuple of RoundsLeft
    law : tuple of LawPoint
    """

    value: Interval
    n_programs: int
    turns: Turns
    percentile: Mapping[str, Bounds]
    with_open: float | None
    bootstrap_shift: float | None
    longest_share: float | None
    left: tuple[RoundsLeft, ...]
    law: tuple[LawPoint, ...]


@dataclass(frozen=True, slots=True, repr=False)
class MemoryfulnessResult(Result):
    """Memoryfulness, a group per key and unit."""

    groups: tuple[MemoryfulnessGroup, ...]
    command: ClassVar[str] = "memoryfulness"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    **group.key,
                    "memoryfulness": group.value.value,
                    "low": group.value.low,
                    "high": group.value.high,
                    "method": group.value.method,
                    "n_programs": group.n_programs,
                    "n_open": group.n_censored,
                    "n_sessions": group.n_sessions,
                    "n_developers": group.n_developers,
                    "turns_mean": group.turns.mean,
                    "turns_p50": group.turns.p50,
                    "turns_p99": group.turns.p99,
                    "turns_max": group.turns.max,
                    "with_open": group.with_open,
                    "bootstrap_shift": group.bootstrap_shift,
                    "longest_share": group.longest_share,
                    "synthetic": self.head.synthetic,
                }
                for group in self.groups
            ],
            infer_schema_length=None,
        )
