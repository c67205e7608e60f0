"""What ``residual`` answers: having waited t, how much longer, and how far a mean of that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ResidualGroup", "ResidualPoint", "ResidualResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualPoint:
    """The remaining time of the rows that last longer than ``elapsed`` seconds.

    Attributes
    ----------
    elapsed : float
        Time already waited, seconds.
    n_at_risk, sessions_at_risk, developers_at_risk : int
        Rows that last longer, and whose they are.
    window : float
        The mean counts no more than this, seconds; below the window asked for where the last observed time is a
        censoring.
    mean, median, p90 : Interval
        Of the remaining time, seconds; the mean within the window.
    beyond_window : float or None
        Share of the rows at risk that outlast the window.
    unrestricted : float or None
        Mean without a window over the rows that were seen to end, as published means are; the longest rows rule it.
    censored_at_risk : int
        Rows at risk that were not seen to end and so take no part in ``unrestricted``.
    hill : float or None
        Tail index; below 1 a mean does not settle however many rows there are.
    top_share : float or None
        Share of the remaining time that the longest 1 % of rows hold.
    tail_flag : str or None
        ``"mean_unstable"``.
    few_sessions : bool
        Fewer than 20 sessions at risk: the numbers describe these sessions rather than sessions.
    """

    elapsed: float
    n_at_risk: int
    sessions_at_risk: int
    developers_at_risk: int
    window: float
    mean: Interval
    median: Interval
    p90: Interval
    beyond_window: float | None
    unrestricted: float | None
    censored_at_risk: int
    hill: float | None
    top_share: float | None
    tail_flag: str | None
    few_sessions: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualGroup(Group):
    """Residual life of one group: at the elapsed times asked for, and on a log grid of them."""

    window: float
    at: tuple[ResidualPoint, ...]
    curve: tuple[ResidualPoint, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ResidualResult(Result):
    """Residual life, a group per key and kind of rows."""

    groups: tuple[ResidualGroup, ...]
    command: ClassVar[str] = "residual"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group and elapsed time; ``part`` tells the times asked for (at) from the log grid (curve)."""
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for group in self.groups:
            for part, points in (("at", group.at), ("curve", group.curve)):
                for point in points:
                    row: dict[str, Any] = {**group.key, "part": part}
                    for name in ("elapsed", "n_at_risk", "sessions_at_risk", "developers_at_risk", "window"):
                        row[name] = getattr(point, name)
                    for name in ("mean", "median", "p90"):
                        row |= _flat(name, getattr(point, name))
                    for name in ("beyond_window", "unrestricted", "censored_at_risk", "hill", "top_share"):
                        row[name] = getattr(point, name)
                    row |= {"tail_flag": point.tail_flag, "few_sessions": point.few_sessions}
                    row |= {"unit": self.head.unit, "clock": self.head.clock, "synthetic": self.head.synthetic}
                    yield row


def _flat(name: str, interval: Interval) -> dict[str, float | None]:
    session, developer = interval.session or (None, None), interval.developer or (None, None)
    return {
        name: interval.value,
        f"{name}_low": interval.low,
        f"{name}_high": interval.high,
        f"{name}_session_low": session[0],
        f"{name}_session_high": session[1],
        f"{name}_developer_low": developer[0],
        f"{name}_developer_high": developer[1],
    }
