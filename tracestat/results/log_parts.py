"""What only raw logs can tell of calls: the limit that each asked for, and when it really started."""

from __future__ import annotations

from dataclasses import dataclass

from tracestat.results.interval import Interval

__all__ = ["AskedLimit", "StartWait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLimit:
    """Calls of one tool that asked for the same limit.

    Attributes
    ----------
    provider, tool : str or None
    asked_limit_seconds : float
    n_asked : int
        Calls that asked for it.
    n_ended : int
        Those that ended on it (end kind deadline or timeout).
    n_unseen : int
        Those without a result, which are in no share.
    share : Interval
        Of the calls with a result, those that ended on the limit.
    seconds_ended : float
        Wall time of the calls that ended on it.
    n_sessions, n_developers : int
        That asked for it and have a result.
    notes : tuple of str
        Why a number is missing.
    """

    provider: str | None
    tool: str | None
    asked_limit_seconds: float
    n_asked: int
    n_ended: int
    n_unseen: int
    share: Interval
    seconds_ended: float
    n_sessions: int
    n_developers: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWait:
    """What calls under one permission mode waited between their emission and their start (approval, hooks).

    Attributes
    ----------
    permission_mode : str or None
        None where the log does not say.
    n, n_known : int
        Calls, and those of them whose start is known; all numbers below are about the latter.
    median, p90 : Interval
        Of the wait, seconds.
    of_time : Interval
        Share of the wall time of these calls that was wait.
    wait_seconds, seconds : float
        Sums of the wait, and of the wall time that contains it.
    n_sessions, n_developers : int
        With a call whose start is known.
    notes : tuple of str
        Why a number is missing.
    """

    permission_mode: str | None
    n: int
    n_known: int
    median: Interval
    p90: Interval
    of_time: Interval
    wait_seconds: float
    seconds: float
    n_sessions: int
    n_developers: int
    notes: tuple[str, ...] = ()
