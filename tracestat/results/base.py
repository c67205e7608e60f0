"""What every result has: a head that says how it was made, groups, and the ways to look at them.

``to_dict`` is the machine output (see ``schemas/``), ``to_frame`` a polars frame, ``chart`` an Altair chart. The
text and HTML forms draw the same tables as the command line.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tracestat.results.interval import Interval, Json

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["Group", "Head", "Result", "TraceInfo", "as_json", "without_intervals"]

T = TypeVar("T")


def as_json(value: Any) -> Json:
    """Turn a value made of frozen results, mappings, sequences and scalars into JSON data.

    A dataclass field may rename itself with ``metadata={"json": name}``, or stay out with ``{"json": None}``.

    Raises
    ------
    ValueError
        A number is NaN or infinite: a result must say ``None`` and why.

    Examples
    --------
    >>> as_json({"a": (1, Interval(0.5, 0.4, 0.6, method="session CV3"))})["a"][1]["low"]
    0.4
    """
    if isinstance(value, Interval):
        return as_json(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Json] = {}
        for item in dataclasses.fields(value):
            name = item.metadata.get("json", item.name)
            if name is not None:
                out[name] = as_json(getattr(value, item.name))
        return out
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a result holds a number that is not finite")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def without_intervals(value: T) -> T:
    """Give the same frozen result with bare estimates, for definitions that state no uncertainty.

    Examples
    --------
    >>> without_intervals((1, Interval(0.5, 0.4, 0.6, method="session CV3")))
    (1, Interval(value=0.5, low=None, high=None, level=0.95, method='', session=None, developer=None))
    """
    made: Any = value
    if isinstance(value, Interval):
        made = Interval(value.value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = dataclasses.replace(
            value, **{f.name: without_intervals(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    elif isinstance(value, Mapping):
        made = {key: without_intervals(item) for key, item in value.items()}
    elif isinstance(value, tuple):
        made = tuple(without_intervals(item) for item in value)
    return made  # type: ignore[no-any-return]  # of the same type by construction


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """Which trace an answer is about."""

    path: str
    fingerprint: str
    rounds: int
    tool_calls: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How a result was made: the three stated choices (unit, clock, exclusions) and all that changes the numbers."""

    schema: str
    tracestat: str
    trace: TraceInfo
    unit: str | None
    clock: str | None
    by: tuple[str, ...]
    where: str | None
    seed: int
    rows: str
    synthetic: bool
    definition: str = "tracestat"
    since: str | None = None
    until: str | None = None
    zone: str = "UTC"
    notes: tuple[str, ...] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One row of a ``--by``: its key and what was counted."""

    key: Mapping[str, Any]
    n: int
    n_events: int
    n_censored: int
    n_sessions: int
    n_developers: int
    total_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The key as one text, for tables and charts."""
        shown = ("(none)" if value is None else str(value) or "(empty)" for value in self.key.values())
        return ", ".join(shown) or "all"


@dataclass(frozen=True, slots=True)
class Result(ABC):
    """A head and its groups."""

    head: Head
    command: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Json]:
        """Give the machine output: JSON data without NaN or infinity."""
        head = as_json(self.head)
        assert isinstance(head, dict)  # noqa: S101  a Head is a dataclass, as_json gives a dict for it
        told = [f.name for f in dataclasses.fields(self) if f.name != "head" and f.metadata.get("json", "") is not None]
        body = as_json({name: getattr(self, name) for name in told})
        assert isinstance(body, dict)  # noqa: S101  as above
        return {**head, **body}

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """Give the numbers as one polars frame, a row per smallest thing shown."""

    def chart(self) -> alt.TopLevelMixin:
        """Draw the result with Altair."""
        from tracestat.charts import draw

        return draw(self)

    def __repr__(self) -> str:
        """Draw the tables of the command line, as text."""
        from tracestat.charts.tables import tables_of, to_text

        return to_text(tables_of(self))

    def _repr_html_(self) -> str:
        from tracestat.charts.tables import tables_of, to_html

        return to_html(tables_of(self))
