"""The law of the durations of each key, as files carry it: counts, curve, point masses, hazards, fitted laws.

One object serves every consumer (``export durations``, ``profile`` and ``constants``), so that two files made of one
trace cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracestat.results.base import Head
from tracestat.results.interval import Interval

__all__ = ["LAW_GRID", "LEVELS", "KeyAtom", "KeyHazard", "KeyLaw", "KeyLaws", "KeyResidual", "LawOfRange"]

# 20 times a decade from 1 ms to 100,000 s, to six digits: what every exported curve is given on
LAW_GRID: Final = tuple(float(f"{10 ** (k / 20 - 3):.6g}") for k in range(161))
# columns that name a key, from the top; a row of a level has None in those below it
LEVELS: Final = ("provider", "tool_class", "tool", "command_skeleton")


@dataclass(frozen=True, slots=True)
class KeyAtom:
    """A point mass: so much of all durations of the key ends at ``seconds``.

    Attributes
    ----------
    seconds : float
        Where, in seconds.
    mass : Interval
        Share of the durations that end there; bounds by cluster, as for any share.
    kind : str
        ``deadline`` (a yield of the harness), ``timeout`` (killed at a limit) or ``sleep`` (a wait that the call asked
        for).
    """

    seconds: float
    mass: Interval
    kind: str


@dataclass(frozen=True, slots=True)
class KeyHazard:
    """Ends and exposure (seconds) within [lo, hi), so that bins can be merged; the hazard is their ratio.

    ``hi`` is None in the last bin, which is open: what lasts longer is counted, too.
    """

    lo: float
    hi: float | None
    events: int
    exposure: float


@dataclass(frozen=True, slots=True)
class KeyResidual:
    """Remaining time of what has lasted ``elapsed`` seconds: restricted mean (window 3,600 s from there) and median."""

    elapsed: float
    n_at_risk: int
    mean: Interval
    median: Interval


@dataclass(frozen=True, slots=True)
class LawOfRange:
    """A fitted law, and the range (seconds) in which it holds; None where it holds nowhere."""

    family: str
    parameters: Mapping[str, float]
    aic: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLaw:
    """What is known of the durations of one key in one unit.

    Attributes
    ----------
    key : mapping of str to (str or None)
        A value for each of ``LEVELS``; None below ``level`` (pooled over), or where the trace has none.
    level : str
        The lowest of ``LEVELS`` that this key distinguishes.
    n, n_events, n_censored, n_sessions, n_developers : int
        Rows, ends seen, ends not seen, clusters.
    total_seconds : float
        Time of all rows.
    resolution_seconds : float
        The coarsest clock among the rows.
    quantiles : mapping of str to Interval
        Kaplan-Meier at 0.5, 0.9, 0.95, 0.99, of these rows alone; without a value where not reached or too few rows.
    survival : tuple of float
        P(T > t) at the times of ``LAW_GRID`` up to the last that was observed, from these rows alone, point masses
        included.
    last_seconds : float
        The longest duration, seen or not: what a consumer assumes beyond it is its own.
    tail_alpha : float or None
        Exponent of the power law that the forecast assumes beyond the last edge; None where nothing is assumed.
    used : tuple of float
        P(T > t) at all times of ``LAW_GRID``, the key shrunk towards what keys of the one above it have in common (a
        curve that no row of the file has: big keys count for less in it than among the rows of the key above). Of a
        provider, the curve of all its rows; of a key that nothing tells apart from those beside it, ``used`` of the
        key above.
    level_used : str
        The lowest level whose own rows carry at least half of the weight of ``used``.
    weight : float
        Weight of the key's own rows in ``used``, 0 to 1; many rows of one session count as few. A key that holds all
        rows of the one above it has the numbers of that one.
    atoms : tuple of KeyAtom
    hazard : tuple of KeyHazard
    residual : tuple of KeyResidual
        Empty where too few rows.
    laws : tuple of LawOfRange
        Empty where too few rows.
    notes : tuple of str
        Why something is missing.
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
    quantiles: Mapping[str, Interval]
    survival: tuple[float, ...]
    last_seconds: float
    tail_alpha: float | None
    used: tuple[float, ...]
    level_used: str
    weight: float
    atoms: tuple[KeyAtom, ...] = ()
    hazard: tuple[KeyHazard, ...] = ()
    residual: tuple[KeyResidual, ...] = ()
    laws: tuple[LawOfRange, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyLaws:
    """The laws of all keys of one unit of one trace, level by level, and how they were made.

    Attributes
    ----------
    head : Head
        Unit, clock, definition, rows, exclusions; ``by`` holds the levels.
    laws : tuple of KeyLaw
        From the top, then by the values of the key.
    """

    head: Head
    laws: tuple[KeyLaw, ...]
