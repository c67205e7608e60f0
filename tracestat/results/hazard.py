"""What ``hazard`` answers: the hazard per log bin, its log-log slope, whether it ever rises, and how much is mixing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import NOT_AVAILABLE, Interval

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = [
    "Bin",
    "Contrast",
    "DeadlinesCut",
    "HazardGroup",
    "HazardResult",
    "Rise",
    "RiseFamily",
    "RiseLimit",
    "Slopes",
    "UpperRange",
    "WithinKey",
]


@dataclass(frozen=True, slots=True)
class Bin:
    """Events, exposure (seconds) and hazard (per second) on [lo, hi); ``hi`` None means open."""

    lo: float
    hi: float | None
    events: int
    exposure: float
    hazard: Interval


@dataclass(frozen=True, slots=True)
class Slopes:
    """Slope of ln hazard on ln t: Poisson (the default), least squares (comparable), exact power law (check)."""

    poisson: Interval = NOT_AVAILABLE
    ols: Interval = NOT_AVAILABLE
    weibull: Interval = NOT_AVAILABLE


@dataclass(frozen=True, slots=True)
class Contrast:
    """Ratio of the hazards of two blocks of bins, named by their geometric middles in seconds.

    The interval of the ratio is for this contrast alone; ``upper`` is the upper limit of the rise (ratio - 1) that
    holds for all contrasts at once.
    """

    start: float = field(metadata={"json": "from"})
    stop: float = field(metadata={"json": "to"})
    ratio: Interval
    p_adjusted: float | None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class RiseLimit:
    """What one clustering says of a family: any significant rise, and the largest one the data still allow."""

    significant: bool | None
    largest_upper: float | None
    largest_from: float | None
    largest_to: float | None
    n_clusters: int


@dataclass(frozen=True, slots=True)
class RiseFamily:
    """One family of contrasts, tested together with those of the other groups.

    ``largest_upper`` is the largest simultaneous upper limit of a rise, as a fraction: 0.33 reads "no rise above
    33 %". ``clusters`` names the clustering that everything before ``session`` follows.
    """

    significant: bool | None
    contrasts: tuple[Contrast, ...] = ()
    largest_upper: float | None = None
    largest_from: float | None = None
    largest_to: float | None = None
    clusters: str | None = None
    session: RiseLimit | None = None
    developer: RiseLimit | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rise:
    """Does the hazard rise anywhere: neighbours, any pair, and neighbours with the bins moved by half a bin."""

    adjacent: RiseFamily
    any: RiseFamily
    origin_moved: RiseFamily
    pava_ratio: float | None


@dataclass(frozen=True, slots=True)
class DeadlinesCut:
    """The same with the windows of the known deadlines left out."""

    windows: tuple[tuple[float, float], ...]
    slope: Slopes
    curvature: Interval
    rise: Rise
    bins: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class UpperRange:
    """The same from a higher first edge, since the body of fast tools lies below one second."""

    start: float = field(metadata={"json": "from"})
    slope: Slopes
    curvature: Interval
    rise: Rise
    deadlines_cut: DeadlinesCut


@dataclass(frozen=True, slots=True)
class WithinKey:
    """Slope within single keys (shared gamma frailty) beside the pooled one."""

    keys: tuple[str, ...]
    n_keys: int
    pooled: float | None
    slope: Interval
    theta: float | None
    share_mixing: float | None
    stratified: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardGroup(Group):
    """The hazard of one group; everything before ``deadlines_cut`` is with deadlines kept.

    ``censoring_bounds`` are the Poisson slopes if every censored row had ended where it was lost from sight, and if
    none had ended within the range; None without censored rows. ``n_between`` counts ends known to an interval only.
    """

    bins: tuple[Bin, ...]
    range: tuple[float, float] | None
    n_bins: int
    n_in_range: int
    slope: Slopes
    curvature: Interval
    local_slopes: tuple[tuple[float, float | None], ...]
    rise: Rise
    upper_range: UpperRange | None
    deadlines_cut: DeadlinesCut
    within: tuple[WithinKey, ...]
    censoring_bounds: tuple[float | None, float | None] | None = None
    n_between: int = 0
    design_effect: tuple[float | None, ...] = field(default=(), metadata={"json": None})


@dataclass(frozen=True, slots=True, repr=False)
class HazardResult(Result):
    """Hazards, a group per key."""

    groups: tuple[HazardGroup, ...]
    command: ClassVar[str] = "hazard"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group and bin, deadlines kept and cut beside each other."""
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def mixing_chart(self) -> alt.TopLevelMixin:
        """Draw how much of the fall is mixing: the slope pooled, within classes, and within single keys."""
        from tracestat.charts.mixing import draw_mixing

        return draw_mixing(self)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for group in self.groups:
            cut = {b.lo: b for b in group.deadlines_cut.bins}
            for item in group.bins:
                other = cut.get(item.lo)
                yield {
                    **group.key,
                    "lo": item.lo,
                    "hi": item.hi,
                    "events": item.events,
                    "exposure": item.exposure,
                    "hazard": item.hazard.value,
                    "hazard_low": item.hazard.low,
                    "hazard_high": item.hazard.high,
                    "events_cut": other.events if other else None,
                    "exposure_cut": other.exposure if other else None,
                    "hazard_cut": other.hazard.value if other else None,
                    "hazard_cut_low": other.hazard.low if other else None,
                    "hazard_cut_high": other.hazard.high if other else None,
                    "unit": self.head.unit,
                    "clock": self.head.clock,
                    "synthetic": self.head.synthetic,
                }
