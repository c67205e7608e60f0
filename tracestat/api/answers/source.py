"""What all answers share: the question, the answer, and a trace that is asked each thing once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracestat.durations import Selection, select
from tracestat.resample import ClusterInterval, jackknife_interval, sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.survival.headline import headline
from tracestat.survival.proportion import clustered_share
from tracestat.survival.shares import ratio_jackknife

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = [
    "Answer",
    "Clusters",
    "Command",
    "Question",
    "Source",
    "cut_to",
    "missing",
]

T = TypeVar("T")
Floats = NDArray[np.float64]
# the choices of a definition that choose rows and clock
_SELECTING = ("unit", "clock", "rows", "definition")


@dataclass(frozen=True, slots=True)
class Command:
    """A command that prints a number.

    Attributes
    ----------
    arguments : tuple of str
        After the name of the trace; empty where only ``reproduce`` itself prints it.
    at : str
        Where in its JSON document, as :func:`tracestat.published.number_at` reads it.
    times : float
        What the number there is multiplied by to give ours (in seconds, fractions, counts).
    """

    arguments: tuple[str, ...]
    at: str
    times: float = 1.0

    @property
    def name(self) -> str:
        """The command itself."""
        return self.arguments[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate in base units, the reason where there is none, and the command that prints it."""

    value: Interval
    why: str = ""
    command: Command | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a trace: parameters of the figure and choices of one definition.

    Attributes
    ----------
    parameters, choices : mapping
    provider : str or None
        ``claude``, ``codex``, or ``all`` for both together.
    interval : bool
        Whether bounds are wanted; without them an answer is cheap.
    """

    parameters: Mapping[str, Any]
    choices: Mapping[str, Any]
    provider: str | None
    interval: bool

    def get(self, name: str, default: Any = None) -> Any:
        """Give a parameter, or a choice of this name."""
        return self.parameters.get(name, self.choices.get(name, default))

    @property
    def one_provider(self) -> str | None:
        """The provider, None for both together."""
        return None if self.provider in (None, "all") else self.provider

    @property
    def selecting(self) -> dict[str, Any]:
        """The choices that choose unit, clock and rows."""
        return {name: self.choices[name] for name in _SELECTING if name in self.choices}

    @property
    def options(self) -> tuple[str, ...]:
        """The same choices as options of the command line."""
        return tuple(part for name, value in self.selecting.items() for part in (f"--{name}", str(value)))


@dataclass(slots=True)
class Source:
    """A trace, and all that was asked of it."""

    trace: Trace
    seed: int = 0
    _kept: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T], **choices: Any) -> T:
        """Give what was made before under this name and these choices, or make it."""
        key = f"{name} {json.dumps(choices, sort_keys=True, default=str)}"
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def select(self, question: Question, *, by: str = "provider", where: str | None = None) -> Selection:
        """Point the durations of the trace at the rows of a question."""
        return select(self.trace, by=by, where=where, tz="UTC", **question.selecting)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Sums per session, and the developer of each session."""

    whole: Floats
    part: Floats
    developer: NDArray[np.intp]

    @classmethod
    def of(cls, frame: pl.DataFrame, whole: str, part: str) -> Clusters:
        """Add up two columns of a frame by session."""
        # sorted whole, so that sums do not depend on the order in which threads gave the rows
        rows = frame.select("session_pk", "developer_id", whole, part).sort("session_pk", "developer_id", whole, part)
        session, developer = rows["session_pk"].to_numpy(), rows["developer_id"].to_numpy()
        first = np.ones(rows.height, dtype=bool)
        first[1:] = (np.diff(session) != 0) | (developer[1:] != developer[:-1])
        place, n = np.cumsum(first) - 1, int(first.sum())
        sums = [sum_by(rows[name].to_numpy().astype(np.float64), place.astype(np.intp), n) for name in (whole, part)]
        of_developer = np.unique(developer[first], return_inverse=True)[1].astype(np.intp)
        return cls(sums[0], sums[1], of_developer)

    def _by_developer(self) -> tuple[Floats, Floats]:
        n = int(self.developer.max(initial=-1)) + 1
        return sum_by(self.whole, self.developer, n), sum_by(self.part, self.developer, n)

    def share(self) -> Interval:
        """Give the share of rows (parts are counts, each at most its whole)."""
        whole, part = self._by_developer()
        return _joined(clustered_share(self.part, self.whole), clustered_share(part, whole))

    def ratio(self, *, at_most_one: bool = False) -> Interval:
        """Give the ratio of sums."""
        whole, part = self._by_developer()
        made = _joined(ratio_jackknife(self.part, self.whole), ratio_jackknife(part, whole))
        return cut_to(made, 0.0, 1.0) if at_most_one else made

    def total(self) -> Interval:
        """Give the sum of the parts, had as many sessions (or developers) been drawn anew."""
        _, part = self._by_developer()
        return cut_to(_joined(_total(self.part), _total(part)), 0.0, float("inf"))


def _total(values: Floats) -> ClusterInterval | None:
    used = values[values != 0]
    n = used.size
    if n == 0:
        return None
    total = float(used.sum())
    # the sum of n clusters, estimated from the other n - 1
    replicates = (total - used) * n / (n - 1) if n > 1 else np.array([])
    return jackknife_interval(total, replicates)


def _joined(session: ClusterInterval | None, developer: ClusterInterval | None) -> Interval:
    if session is None or developer is None:
        return NOT_AVAILABLE
    return headline(session, developer)


def cut_to(interval: Interval, least: float, most: float) -> Interval:
    """Cut bounds to what a number of this kind can be.

    Examples
    --------
    >>> cut_to(Interval(0.9, 0.7, 1.1), 0.0, 1.0).high
    1.0
    """
    return interval.with_bounds(lambda bound: min(most, max(least, bound)))


def missing(why: str) -> Answer:
    """Say why there is no value."""
    return Answer(NOT_AVAILABLE, why)
