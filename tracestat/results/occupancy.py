"""What ``occupancy`` answers: how many of N agents are paused at once, and what their caches hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import NOT_AVAILABLE, Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "BurstOfReturns",
    "HeldByClass",
    "HeldCache",
    "HeldPoint",
    "HostTier",
    "NeighbourPauses",
    "OccupancyGroup",
    "OccupancyResult",
    "OverTime",
    "TypicalPause",
]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Mean, median and 99 % point of an amount over all time."""

    mean: Interval = NOT_AVAILABLE
    p50: Interval = NOT_AVAILABLE
    p99: Interval = NOT_AVAILABLE

    def times(self, size: float) -> OverTime:
        """Give the same in another unit."""
        return OverTime(self.mean.times(size), self.p50.times(size), self.p99.times(size))


@dataclass(frozen=True, slots=True)
class HeldCache:
    """Agents paused at once, and the tokens and bytes of their caches."""

    paused: OverTime = OverTime()
    tokens: OverTime = OverTime()
    bytes: OverTime = OverTime()


@dataclass(frozen=True, slots=True)
class HeldByClass:
    """What pauses of one tool class do alone.

    Attributes
    ----------
    tool_class : str or None
        None where no tool is known; ``human`` are all waits for a person, where they are part of the row.
    n : int
        Pauses.
    share : Interval
        Of all the time paused.
    share_of_tokens : float or None
        Of the mean of the tokens held.
    paused, tokens : mapping of str to float
        ``mean`` and ``p99`` over time, of this class alone; the means add up to those of the group, the others do not.
        None where no tokens of the group are known.
    """

    tool_class: str | None
    n: int
    share: Interval
    share_of_tokens: float | None
    paused: Mapping[str, float]
    tokens: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class HostTier:
    """The host memory that holds the 99 % point of the tokens.

    Attributes
    ----------
    bytes, times_pool : Interval
        Its size, and as a multiple of the KV pool of the GPU.
    excess : Interval
        99 % point over time of the bytes that do not fit the pool, had it nothing else to hold.
    """

    bytes: Interval = NOT_AVAILABLE
    times_pool: Interval = NOT_AVAILABLE
    excess: Interval = NOT_AVAILABLE


@dataclass(frozen=True, slots=True)
class TypicalPause:
    """Median and mean duration of ``n`` pauses, seconds; None without pauses."""

    n: int = 0
    median: float | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class HeldPoint:
    """Tokens held by so many agents: half and 99 % of the time at most so many, and had pauses been typical."""

    agents: int
    p50: float
    p99: float
    if_median_p99: float


@dataclass(frozen=True, slots=True)
class BurstOfReturns:
    """Variance over mean of the number of returns in windows of ``window`` seconds, and the mean for all agents."""

    window: float
    ratio: Interval
    mean: float


@dataclass(frozen=True, slots=True)
class NeighbourPauses:
    """Correlations of the logarithms of tool pauses of one session.

    Attributes
    ----------
    n : int
        Pairs of successive pauses.
    raw, without_class : Interval
        Of successive pauses, as they are, and less the mean of their tool class.
    same_session : Interval
        Of any two pauses of a session, less the mean of their class.
    order : Interval
        ``without_class`` less ``same_session``: what being next to each other adds.
    """

    n: int
    raw: Interval
    without_class: Interval
    same_session: Interval
    order: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyGroup(Group):
    """What N agents that play the sessions of one group hold while paused: by tool, by person, or by either.

    Attributes
    ----------
    agents : int
        N.
    paused, tokens, bytes : OverTime
    by_class : tuple of HeldByClass
        Most time first.
    if_median, if_mean : HeldCache
        The same had every tool pause lasted the median, or the mean, of the tool pauses of the group, and every wait
        for a person the median or mean of those.
    without_human : HeldCache or None
        The same had nobody ever been waited for, so that sessions are shorter; None but for tool pauses.
    tier_for_p99 : HostTier
    grid_error : float or None
        Bound of the error of p50 and p99 of the tokens by the grid, as a share of p99.
    typical : mapping of str to TypicalPause
        Of ``tool`` pauses and ``human`` waits.
    curve : tuple of HeldPoint
        Tokens held by 1 to 4 N agents.
    bursts : tuple of BurstOfReturns
    neighbours : NeighbourPauses or None
        Of the tool pauses; None in other rows, or with too few.
    over_pool : int
        Pauses whose context alone is larger than the pool.
    largest_tokens : int
        The largest context held, in whole blocks.
    """

    agents: int
    paused: OverTime = OverTime()
    tokens: OverTime = OverTime()
    bytes: OverTime = OverTime()
    by_class: tuple[HeldByClass, ...] = ()
    if_median: HeldCache = HeldCache()
    if_mean: HeldCache = HeldCache()
    without_human: HeldCache | None = None
    tier_for_p99: HostTier = HostTier()
    grid_error: float | None = None
    typical: Mapping[str, TypicalPause]
    curve: tuple[HeldPoint, ...] = ()
    bursts: tuple[BurstOfReturns, ...] = ()
    neighbours: NeighbourPauses | None = None
    over_pool: int = 0
    largest_tokens: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class OccupancyResult(Result):
    """Occupancy by paused caches, three groups per key.

    Attributes
    ----------
    agents : int
    hardware : str
        Id of the constants.
    kv_bytes_per_token, pool_tokens, block_tokens : int
    human_gap : str
        What became of waits for a person: ``keep``, ``drop`` or ``cap:SECONDS``.
    context_scale : float
        Factor of all contexts; 1 as recorded.
    """

    agents: int
    hardware: str
    kv_bytes_per_token: int
    pool_tokens: int
    block_tokens: int
    human_gap: str
    context_scale: float
    groups: tuple[OccupancyGroup, ...]
    command: ClassVar[str] = "occupancy"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group, amount and statistic: with interval, and had pauses been typical."""
        import polars as pl

        rows = [row for group in self.groups for row in self._rows(group)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _rows(self, group: OccupancyGroup) -> Iterator[dict[str, Any]]:
        for amount in ("paused", "tokens", "bytes"):
            for statistic in ("mean", "p50", "p99"):

                def of(held: OccupancyGroup | HeldCache | None, amount: str = amount, at: str = statistic) -> Interval:
                    found: Interval = NOT_AVAILABLE if held is None else getattr(getattr(held, amount), at)
                    return found

                own = of(group)
                yield {
                    **group.key,
                    "agents": group.agents,
                    "amount": amount,
                    "statistic": statistic,
                    "value": own.value,
                    "low": own.low,
                    "high": own.high,
                    "method": own.method,
                    "if_median": of(group.if_median).value,
                    "if_mean": of(group.if_mean).value,
                    "without_human": of(group.without_human).value,
                    "n": group.n,
                    "n_sessions": group.n_sessions,
                    "n_developers": group.n_developers,
                    "hardware": self.hardware,
                    "synthetic": self.head.synthetic,
                }
