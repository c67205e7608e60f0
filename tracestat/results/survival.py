"""What ``survival`` answers: the Kaplan-Meier curve with its clustered interval and the numbers at risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CurvePoint", "SurvivalGroup", "SurvivalResult"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """P(T > t), with the rows still at risk just after t (seconds)."""

    t: float
    S: Interval
    at_risk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalGroup(Group):
    """The curve of one group on a grid of times, and its quantiles."""

    curve: tuple[CurvePoint, ...]
    quantiles: Mapping[str, Interval]
    last_observed: float | None


@dataclass(frozen=True, slots=True, repr=False)
class SurvivalResult(Result):
    """Survival curves, a group per key."""

    groups: tuple[SurvivalGroup, ...]
    command: ClassVar[str] = "survival"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group and time."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    **group.key,
                    "t": point.t,
                    "survival": point.S.value,
                    "low": point.S.low,
                    "high": point.S.high,
                    "at_risk": point.at_risk,
                    "unit": self.head.unit,
                    "clock": self.head.clock,
                    "synthetic": self.head.synthetic,
                }
                for group in self.groups
                for point in group.curve
            ],
            infer_schema_length=None,
        )
