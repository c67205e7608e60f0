"""What ``summary`` answers: how many, how long, where time and token-seconds go, what waits for a human."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result, as_json
from tracestat.results.interval import Interval, Json
from tracestat.results.log_parts import AskedLimit, StartWait

if TYPE_CHECKING:
    import polars as pl

__all__ = ["HumanShare", "Over", "SummaryGroup", "SummaryResult"]


@dataclass(frozen=True, slots=True)
class Over:
    """Shares of the rows longer than a threshold."""

    of_count: Interval
    of_time: Interval
    of_token_seconds: Interval
    of_time_without_top: float | None = None


@dataclass(frozen=True, slots=True)
class HumanShare:
    """Share of the rows that wait for a human, beside the tool rows."""

    of_count: float | None
    of_time: float | None
    of_token_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryGroup(Group):
    """Durations of one group; seconds and token-seconds.

    ``limits`` and ``start_waits`` are about calls by the wall clock; they are empty in groups of another unit, and
    where the trace does not know them.
    """

    quantiles: Mapping[str, Interval]
    share_within: Mapping[str, Interval]
    over: Mapping[str, Over]
    token_seconds: float
    human: HumanShare
    mixed_key: int
    by_end_kind: Mapping[str, int]
    edit_over_minute: float | None = None
    limits: tuple[AskedLimit, ...] = ()
    start_waits: tuple[StartWait, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class SummaryResult(Result):
    """Summaries, a group per key and unit; with ``tracelab`` the figures of TraceLab's own analyses."""

    groups: tuple[SummaryGroup, ...]
    tracelab: Mapping[str, Any] | None = None
    command: ClassVar[str] = "summary"

    def to_dict(self) -> dict[str, Json]:
        """Give the machine output; ``tracelab`` stands there only under that definition."""
        out = Result.to_dict(self)
        if self.tracelab is None:
            del out["tracelab"]
        else:
            out["tracelab"] = as_json(self.tracelab)
        return out

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group with quantiles and shares in columns."""
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for group in self.groups:
            row: dict[str, Any] = dict(group.key)
            row |= {
                "n": group.n,
                "n_censored": group.n_censored,
                "n_sessions": group.n_sessions,
                "n_developers": group.n_developers,
                "total_seconds": group.total_seconds,
                "token_seconds": group.token_seconds,
            }
            for name, interval in group.quantiles.items():
                row |= _flat(f"q{name}", interval)
            for name, interval in group.share_within.items():
                row |= _flat(f"within_{name}s", interval)
            for name, over in group.over.items():
                row |= _flat(f"over_{name}s_of_count", over.of_count)
                row |= _flat(f"over_{name}s_of_time", over.of_time)
                row |= _flat(f"over_{name}s_of_token_seconds", over.of_token_seconds)
            row |= {
                "human_of_count": group.human.of_count,
                "human_of_time": group.human.of_time,
                "human_of_token_seconds": group.human.of_token_seconds,
                "clock": self.head.clock,
                "synthetic": self.head.synthetic,
            }
            yield row


def _flat(name: str, interval: Interval) -> dict[str, float | None]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
