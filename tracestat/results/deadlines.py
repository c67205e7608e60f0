"""What ``deadlines`` answers: which durations are a limit's and not the tool's, and what limits cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tracestat.results.base import Group, Result
from tracestat.results.interval import Bounds, Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DeadlineAtom",
    "DeadlineCost",
    "DeadlinesGroup",
    "DeadlinesResult",
    "HazardPiece",
    "NamedLimit",
    "WholeSecond",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineAtom:
    """Durations that end together at one place.

    Attributes
    ----------
    seconds : float
        The place: of the scan the mean duration in the fullest window, of the exact modes the limit.
    window : tuple of (float or None, float or None)
        [a, b) of the scan; of the exact modes the shortest and longest duration that ended on it.
    mass : Interval
        q, of the rows that reach the place the part that ends there.
    share : Interval
        Of all rows of the group.
    events : int
        Rows that end there.
    expected : float or None
        Of these, what a smooth hazard explains; None in the exact modes.
    q_value, q_value_table : float or None
        Adjusted over the windows of the group, and over those of all groups of the table; None in the exact modes.
    label : {"harness", "local"}, or None
        Harness if three developers have it and none has more than 90 % of it; None where nothing ended on it.
    n_developers, n_sessions : int
        With an end in it.
    largest_developer : float or None
        Share of its events that belong to one developer.
    known : bool
        Whether it is a known limit of the harness, or one that was asked for.
    known_limit : float or None
        That limit, seconds.
    tool : str or None
        Of the scan the tool with most events in it; of mode asked the tool that asked.
    nominal_seconds : float or None
        ``seconds`` less the median of wall less internal time of that tool's calls in the window.
    votes, expected_votes, p_value, z : float or None
        What the test saw; p is by z where ``by_z``.
    by_z : bool
    n_at_risk : int
        Rows that reach the place.
    n_asked : int or None
        Mode asked: calls that asked for the limit.
    of_asked : Interval or None
        Mode asked: of these the part that ended on it.
    notes : tuple of str
        Why a number is missing.
    """

    seconds: float
    window: Bounds
    mass: Interval
    share: Interval
    events: int
    expected: float | None
    q_value: float | None
    label: Literal["harness", "local"] | None
    n_developers: int
    known: bool
    known_limit: float | None = None
    n_sessions: int = 0
    largest_developer: float | None = None
    tool: str | None = None
    nominal_seconds: float | None = None
    q_value_table: float | None = None
    votes: int | None = None
    expected_votes: float | None = None
    p_value: float | None = None
    z: float | None = None
    by_z: bool = False
    n_at_risk: int = 0
    n_asked: int | None = None
    of_asked: Interval | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLimit:
    """A limit named beforehand, and whether rows end on it.

    Attributes
    ----------
    seconds : float
        The limit.
    window : tuple of float
        Where it was looked for.
    mass, share : Interval
        Excess over the smooth hazard, of the rows that reach it and of all; it may lie below 0.
    events : int
    expected : float or None
    votes, expected_votes : float or None
    p_value, p_adjusted : float or None
        Raw, and by Holm over the limits of all groups; None where the flanks hold too little.
    by_z : bool
        Whether p is by the clustered z.
    """

    seconds: float
    window: tuple[float, float]
    mass: Interval
    share: Interval
    events: int
    expected: float | None
    votes: int | None
    expected_votes: float | None
    p_value: float | None
    p_adjusted: float | None
    by_z: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSecond:
    """A second on a clock that knows no finer, against the seconds beside it.

    Attributes
    ----------
    seconds : int
    events : int
        Rows that end there.
    neighbours : float
        Mean of those at the second before and the second after.
    ratio : Interval
        Of the two; no test is made of it.
    """

    seconds: int
    events: int
    neighbours: float
    ratio: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardPiece:
    """The hazard on a stretch of the scan: seconds, events per second, and the smooth hazard beside it."""

    lo: float
    hi: float
    events: int
    exposure: float
    hazard: Interval
    smooth: float | None
    in_atom: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineCost:
    """What limits cost.

    Attributes
    ----------
    hours : float or None
        Of the rows that ended on a limit; of the scan, of those beyond what a smooth hazard explains.
    polls_per_command : float or None
        Of the commands that were polled.
    rounds : int or None
        Model rounds that did nothing but poll.
    tokens : int or None
        Input and output of these rounds.
    sleep_seconds : float or None
        That commands asked to sleep and slept to the end; raw logs only.
    polls, polled_commands : int or None
        What ``polls_per_command`` is made of.
    polls_interval : Interval
        ``polls_per_command`` with its interval.
    """

    hours: float | None
    polls_per_command: float | None
    rounds: int | None
    tokens: int | None
    sleep_seconds: float | None
    polls: int | None
    polled_commands: int | None
    polls_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinesGroup(Group):
    """The deadlines of one group by one mode.

    Attributes
    ----------
    mode : {"scan", "status", "asked"}
    unit : str
        Mode asked is about calls, whatever the unit of the others.
    atoms : tuple of DeadlineAtom
        In order of time; in mode asked the limits most asked for first.
    share_on_deadline : Interval
        Of all rows; of the scan the sum over its atoms.
    share_exact : Interval or None
        Beside a scan: the share by status of the same rows, where they tell it.
    cost : DeadlineCost
    named : tuple of NamedLimit
        Scan only: limits named beforehand.
    whole_seconds : tuple of WholeSecond
        Scan only: where the clock knows no finer.
    hazard : tuple of HazardPiece
        Scan only: the hazard around the atoms.
    n_windows, n_tested : int
        Scan only: windows looked at, and those full enough to be tested.
    """

    mode: Literal["scan", "status", "asked"]
    unit: str
    atoms: tuple[DeadlineAtom, ...]
    share_on_deadline: Interval
    share_exact: Interval | None
    cost: DeadlineCost
    named: tuple[NamedLimit, ...] = ()
    whole_seconds: tuple[WholeSecond, ...] = ()
    hazard: tuple[HazardPiece, ...] = ()
    n_windows: int = 0
    n_tested: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class DeadlinesResult(Result):
    """Deadlines, a group per key and mode."""

    groups: tuple[DeadlinesGroup, ...]
    command: ClassVar[str] = "deadlines"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group, mode and atom."""
        import polars as pl

        rows: list[dict[str, Any]] = [
            {
                **group.key,
                "mode": group.mode,
                "tool_of_atom": atom.tool,
                "seconds": atom.seconds,
                "from": atom.window[0],
                "to": atom.window[1],
                **_bounds("mass", atom.mass),
                **_bounds("share", atom.share),
                **_bounds("of_asked", atom.of_asked or Interval(None)),
                "events": atom.events,
                "expected": atom.expected,
                "q_value": atom.q_value,
                "label": atom.label,
                "n_developers": atom.n_developers,
                "n_sessions": atom.n_sessions,
                "known": atom.known,
                "nominal_seconds": atom.nominal_seconds,
                "n_asked": atom.n_asked,
                "unit": group.unit,
                "clock": self.head.clock,
                "synthetic": self.head.synthetic,
            }
            for group in self.groups
            for atom in group.atoms
        ]
        # a column without a value keeps its type, and a trace without a deadline its columns
        types = {
            "mode": pl.String(),
            "tool_of_atom": pl.String(),
            **dict.fromkeys(("seconds", "from", "to"), pl.Float64()),
            **dict.fromkeys(_BOUNDS, pl.Float64()),
            "events": pl.Int64(),
            **dict.fromkeys(("expected", "q_value"), pl.Float64()),
            "label": pl.String(),
            **dict.fromkeys(("n_developers", "n_sessions"), pl.Int64()),
            "known": pl.Boolean(),
            "nominal_seconds": pl.Float64(),
            "n_asked": pl.Int64(),
            **dict.fromkeys(("unit", "clock"), pl.String()),
            "synthetic": pl.Boolean(),
        }
        if not rows:
            keys = self.groups[0].key if self.groups else dict.fromkeys(self.head.by)
            return pl.DataFrame(schema={**dict.fromkeys(keys, pl.String()), **types})
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


_BOUNDS = [f"{name}{end}" for name in ("mass", "share", "of_asked") for end in ("", "_low", "_high")]


def _bounds(name: str, item: Interval) -> dict[str, float | None]:
    return {name: item.value, f"{name}_low": item.low, f"{name}_high": item.high}
