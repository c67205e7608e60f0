"""Sessions as sequences of steps and pauses: what replay, occupancy and the simulator are made of.

One internal model with an explicit pause *after* each step; an exporter whose format holds the pause on the row that
follows shifts it, and no one else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tracestat.durations.selection import Selection, run_on
from tracestat.durations.tracelab import choose_sessions, make_sequence
from tracestat.errors import UsageError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from tracestat.store import Trace

__all__ = ["DEFAULT_HUMAN_GAP", "HumanGap", "context_factor", "parse_human_gap", "session_sequence", "with_pauses"]


@dataclass(frozen=True, slots=True)
class HumanGap:
    """What becomes of the time that a person took: never of a tool's time.

    Attributes
    ----------
    rule : str
        ``cap`` (at most ``cap`` seconds), ``keep`` or ``drop`` (0); in the simulator also ``end`` (the session ends
        there, and what follows is a session of its own).
    cap : float or None
        Seconds, above 0, where the rule is ``cap``.
    """

    rule: str
    cap: float | None = None

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return self.rule if self.cap is None else f"cap:{self.cap!r}".removesuffix(".0")


DEFAULT_HUMAN_GAP: Final = HumanGap("cap", 60.0)


def parse_human_gap(text: str, *, may_end: bool = False) -> HumanGap:
    """Read ``cap:SECONDS``, ``keep`` or ``drop``.

    Parameters
    ----------
    text : str
    may_end : bool
        Whether ``end`` is a choice too: only where sessions need not stay whole.

    Raises
    ------
    UsageError
        Anything else.

    Examples
    --------
    >>> parse_human_gap("cap:60")
    HumanGap(rule='cap', cap=60.0)
    >>> str(parse_human_gap("keep"))
    'keep'
    """
    rule, _, seconds = text.partition(":")
    plain = ("keep", "drop", "end") if may_end else ("keep", "drop")
    if text in plain:
        return HumanGap(text)
    if rule == "cap":
        try:
            cap = float(seconds)
        except ValueError:
            cap = -1.0
        if 0 < cap < float("inf"):
            return HumanGap("cap", cap)
    choices = "keep, drop or end" if may_end else "keep or drop"
    raise UsageError(f"--human-gap {text}: give cap:SECONDS (above 0; drop is for none), {choices}")


def session_sequence(
    trace: Trace,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
) -> tuple[pl.DataFrame, Selection]:
    """Give the steps of whole sessions in order, each with the pause after it.

    Parameters
    ----------
    trace : Trace
    by, where, since, until, tz
        As in `tracestat.durations.tracelab.choose_sessions`; they choose whole sessions.

    Returns
    -------
    frame : polars.DataFrame
        A row per step, ordered by session_pk and place: ``queries/sequence.sql``. The key columns of ``by`` stand in it
        under their own names.
    selection : Selection

    Raises
    ------
    UsageError
        A key or column that a session does not have once.
    """
    selection = choose_sessions(by=by, where=where, since=since, until=until, tz=tz)
    make_sequence(trace)
    return run_on(trace, "sequence_rows", selection), selection


def with_pauses(frame: pl.DataFrame, human_gap: HumanGap = DEFAULT_HUMAN_GAP) -> pl.DataFrame:
    """Add what replay waits: ``human_after_seconds`` by the rule, and ``pause_after_seconds`` with the tool's part.

    The tool's part is never changed.

    Examples
    --------
    >>> import polars as pl
    >>> steps = pl.DataFrame({"tool_seconds": [7200.0, 2.0], "human_seconds": [0.0, 500.0]})
    >>> with_pauses(steps)["pause_after_seconds"].to_list()
    [7200.0, 62.0]
    >>> with_pauses(steps, HumanGap("drop"))["pause_after_seconds"].to_list()
    [7200.0, 2.0]
    """
    import polars as pl

    human = pl.col("human_seconds")
    if human_gap.rule == "cap":
        human = human.clip(upper_bound=human_gap.cap)
    elif human_gap.rule in ("drop", "end"):
        human = human * 0.0
    return frame.with_columns(human_after_seconds=human).with_columns(
        pause_after_seconds=pl.col("tool_seconds") + pl.col("human_after_seconds")
    )


def context_factor(peaks: ArrayLike, tokens: float | None) -> float:
    """Give what all tokens are multiplied by, so that 99 % of the sessions' largest contexts are at most ``tokens``.

    Parameters
    ----------
    peaks : array_like, shape (S,)
        The largest context of each session, tokens.
    tokens : float, optional
        At least 1; None leaves contexts as recorded.

    Returns
    -------
    float
        ``tokens`` over the 99th percentile (a value of the data: the inverse of the empirical distribution); 1 without
        sessions or where none holds a token.

    Examples
    --------
    >>> context_factor([1_000, 2_000, 4_000], 8_000)
    2.0
    """
    import numpy as np

    known = np.asarray(peaks, dtype=np.float64)
    if tokens is None or not known.size:
        return 1.0
    top = float(np.quantile(known, 0.99, method="inverted_cdf"))
    return tokens / top if top > 0 else 1.0
