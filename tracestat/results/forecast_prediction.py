"""What ``forecast predict`` answers: how much longer one pause lasts, and which level of the model says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Result, as_json
from tracestat.results.interval import Json

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "AtomAhead",
    "CallForecast",
    "ForecastPrediction",
    "LevelAnswer",
    "LevelCurve",
    "LimitCut",
    "PoolAnswer",
    "PoolMember",
    "RemainingTime",
    "RoundDependence",
]

Curve = tuple[tuple[float, float], ...]
# what answers, and what it is compared with, where the hierarchies answer together
POOL, FIRST, BASE = "pool", "without history", "base"
QUANTILES = {"q10": 0.1, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q90": 0.9, "q95": 0.95, "q99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingTime:
    """Quantiles and mean of the remaining time, seconds from now.

    Attributes
    ----------
    q10 ... q99 : float
    mean_restricted : float
        Mean within ``window``: what lasts longer counts as the window.
    window : float
    extrapolated : tuple of str
        Names of the numbers that lie, or lean on what lies, beyond the longest pause that was fitted.
    """

    q10: float
    q25: float
    q50: float
    q75: float
    q90: float
    q95: float
    q99: float
    mean_restricted: float
    window: float
    extrapolated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelAnswer:
    """How far one level of the path answers, in the bin of the elapsed time.

    Attributes
    ----------
    key : str
        ``provider`` for the level of everything.
    value : str or None
        As the model knows it; None also where none was given.
    given, seen : bool
        Whether the key was given, and whether the value was seen beneath those above it.
    reached : float
        Rows of this value that lasted so long, discounted for what they share.
    weight : float
        Of its own rows against all that stands above.
    share : float
        Part of the hazard that is its own; the shares of a path add up to 1.
    """

    key: str
    value: str | None
    given: bool
    seen: bool
    reached: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMember:
    """One hierarchy of a pool.

    Attributes
    ----------
    keys : tuple of str
        From the top.
    weight : float
        Of its difference from the base on the log-odds scale; that of the base is what the others leave of 1.
    level_used : str
        Key of the lowest level that was seen; ``provider`` for none.
    levels : tuple of LevelAnswer
    q50 : float
        Median of the remaining time as it would have it alone, seconds from now.
    """

    keys: tuple[str, ...]
    weight: float
    level_used: str
    levels: tuple[LevelAnswer, ...]
    q50: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAnswer:
    """How the hierarchies answered together.

    Attributes
    ----------
    developer_seen : bool
        Whether the developer was given and the model has the name: what decides the weights.
    base : PoolMember
        Hierarchy that the others are compared with.
    members : tuple of PoolMember
    """

    developer_seen: bool
    base: PoolMember
    members: tuple[PoolMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomAhead:
    """A deadline, or the limit asked for, that is still to come.

    Attributes
    ----------
    kind : str
        ``deadline`` or ``asked limit``.
    window : tuple of float
        Seconds from the start of the pause.
    from_now : tuple of float
    reached, ends : float
        Shares of what runs now.
    hazard, expected, excess : float
        Share that ends there of what gets there; the same if the window were as its neighbours; the difference.
    """

    kind: str
    window: tuple[float, float]
    from_now: tuple[float, float]
    reached: float
    ends: float
    hazard: float
    expected: float
    excess: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCut:
    """The limit that the call asked for: ``mass`` of what still runs then ends there.

    ``tool_class`` is the class whose calls tell the mass, None for all together; ``known`` is False where the model
    does not know what share ends at a limit, so that everything is taken to end there.
    """

    seconds: float
    mass: float
    tool_class: str | None
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCurve:
    """Survival of the remaining time as another level or hierarchy, or independence, would have it."""

    name: str
    survival: Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class CallForecast:
    """One call of a round with several, as if it were alone."""

    key: Mapping[str, str | float | None]
    level_used: str
    weights: tuple[LevelAnswer, ...]
    remaining: RemainingTime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDependence:
    """How far the calls of one round end together (theta = 1: not at all), and the forecast if they did not."""

    theta: float
    interval: tuple[float, float] | None
    n_rounds: int
    independent: RemainingTime


@dataclass(frozen=True, slots=True, repr=False)
class ForecastPrediction(Result):
    """The remaining time of one pause.

    Attributes
    ----------
    provider : str
        Empty where the trace names none.
    key : mapping of str to (str, float or None)
        What was asked about.
    path : tuple of str
        Keys of the first hierarchy, which answers alone where ``pool`` is None.
    level_used : str
        Key of its lowest level that was seen; ``provider`` for none, ``calls`` for a round of several.
    weights : tuple of LevelAnswer
        Of every level of the path; empty for a round of several calls, whose ``calls`` have their own.
    elapsed : float
        Seconds already waited.
    limit : LimitCut or None
    remaining : RemainingTime
    survival : tuple of (float, float)
        Seconds from now, and the share that still runs then; a jump is two points of one time.
    atoms : tuple of AtomAhead
    parents : tuple of LevelCurve
        What the levels above would say, from the top; for a pool, its base and the first hierarchy; for calls,
        independence.
    pool : PoolAnswer or None
        What each hierarchy says, where they answer together.
    calls : tuple of CallForecast
    dependence : RoundDependence or None
    n_rows : int
        Pauses that the path was fitted on.
    last_seen : float
        The longest of them, seconds.
    notes : tuple of str
    """

    provider: str
    key: Mapping[str, str | float | None]
    path: tuple[str, ...]
    level_used: str
    weights: tuple[LevelAnswer, ...]
    elapsed: float
    limit: LimitCut | None
    remaining: RemainingTime
    survival: Curve
    atoms: tuple[AtomAhead, ...]
    parents: tuple[LevelCurve, ...]
    pool: PoolAnswer | None
    calls: tuple[CallForecast, ...]
    dependence: RoundDependence | None
    n_rows: int
    last_seen: float
    notes: tuple[str, ...]
    command: ClassVar[str] = "forecast_predict"

    @property
    def answered_by(self) -> str:
        """The level that answers, or ``pool``."""
        return self.level_used if self.pool is None else POOL

    def to_dict(self) -> dict[str, Json]:
        """Give the machine output, with the one answer as its one group."""
        head = as_json(self.head)
        body = as_json({f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "head"})
        assert isinstance(head, dict)  # noqa: S101  a dataclass gives a dict
        assert isinstance(body, dict)  # noqa: S101  as above
        for name in ("provider", "key"):
            del body[name]
        n = body.pop("n_rows")
        # a model keeps discounted counts, not what they were made of
        unknown: dict[str, Json] = dict.fromkeys(("n_events", "n_censored", "n_sessions", "n_developers"))
        return {**head, "groups": [{"key": {"provider": self.provider, **self.key}, "n": n, **unknown, **body}]}

    def to_frame(self) -> pl.DataFrame:
        """Give a row per quantile (``part`` quantile), one for the mean, and a row per point of every curve.

        ``seconds`` counts from now; ``p`` is the share that has ended by then.
        """
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        named = {"provider": self.provider, **{key: _cell(value) for key, value in self.key.items()}}
        made = {"elapsed": self.elapsed, "unit": self.head.unit, "synthetic": self.head.synthetic}
        answers = [(self.answered_by, self.remaining)]
        if self.dependence is not None:
            answers.append(("independent calls", self.dependence.independent))
        for level, told in answers:
            for name, p in QUANTILES.items():
                far = name in told.extrapolated
                yield (
                    {**named, "part": "quantile", "level": level, "p": p, "seconds": getattr(told, name)}
                    | {"extrapolated": far}
                    | made
                )
            mean = {"p": None, "seconds": told.mean_restricted, "extrapolated": "mean_restricted" in told.extrapolated}
            yield {**named, "part": "mean", "level": level} | mean | made
        for curve in (LevelCurve(name=self.answered_by, survival=self.survival), *self.parents):
            for ahead, share in curve.survival:
                point = {"p": 1 - share, "seconds": ahead, "extrapolated": self.elapsed + ahead > self.last_seen}
                yield {**named, "part": "survival", "level": curve.name} | point | made


def _cell(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:g}"
