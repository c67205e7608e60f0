"""What ``fit`` answers: laws of durations, how well each describes the data, and where it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import NOT_AVAILABLE, Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FAMILY_WORDS", "FitGroup", "FitResult", "LawBin", "LawFit", "QuantilePair"]

FAMILY_WORDS = {
    "weibull": "Weibull",
    "lognormal": "lognormal",
    "loglogistic": "log-logistic",
    "gengamma": "generalised gamma",
    "piecewise": "piecewise",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LawBin:
    """A bin of log time: events seen, events that a law expects there, and their ratio with its simultaneous band.

    ``inside``: the band holds 1; None for fewer than 30 events, or events of one cluster only.
    """

    lo: float
    hi: float | None
    events: int
    expected: float
    ratio: Interval
    inside: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFit:
    """A law fitted to one group.

    Attributes
    ----------
    family : str
        ``weibull``, ``lognormal``, ``loglogistic``, ``gengamma`` or ``piecewise``, which is the reference.
    parameters : mapping of str to Interval
        Seconds where the name says so; of the reference the hazard per second by the lower edge of each bin.
    aic, aic_clustered : float or None
        The second counts as many parameters as the variation between clusters makes of them.
    behind : Interval
        AIC less that of the best law.
    best : bool
        Least AIC of all but the reference.
    range : tuple of float, or None
        Where the law holds, seconds: the widest row of at least 5 neighbouring bins in each of which the events seen,
        over those the law expects, differ from 1 by no more than the clustered simultaneous 95 % band.
    holds : bool or None
        Whether it holds in every bin that can be tested; None where there is no law.
    within_factor : float or None
        In the range, the hazard is off by at most this factor (simultaneous 95 % limit).
    worst : float or None
        The ratio furthest from 1 of all bins, and ``worst_at`` that bin.
    """

    family: str
    parameters: Mapping[str, Interval]
    aic: float | None
    aic_clustered: float | None
    behind: Interval
    best: bool
    range: tuple[float, float] | None
    holds: bool | None
    within_factor: float | None = None
    worst: float | None = None
    worst_at: tuple[float, float] | None = None
    n_parameters: int = 0
    bins: tuple[LawBin, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilePair:
    """A quantile of the durations above the first edge: as observed, and as each law has it (seconds)."""

    q: float
    observed: Interval
    fitted: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitGroup(Group):
    """The laws of one group.

    Attributes
    ----------
    laws : tuple of LawFit
        The reference last.
    above : float
        Time from which durations count, seconds; laws are those of durations that reached it.
    n_fitted : int
        Rows above.
    tested : tuple of float, or None
        First and last edge of the bins that can be tested.
    clusters : str
        What the bands are clustered by.
    quantiles : tuple of QuantilePair
    """

    laws: tuple[LawFit, ...]
    above: float
    n_fitted: int
    tested: tuple[float, float] | None
    clusters: str
    quantiles: tuple[QuantilePair, ...] = ()

    @property
    def best(self) -> LawFit | None:
        """The law with the least AIC; None where none could be fitted."""
        return next((law for law in self.laws if law.best), None)


@dataclass(frozen=True, slots=True, repr=False)
class FitResult(Result):
    """Laws of durations, a group per key."""

    groups: tuple[FitGroup, ...]
    command: ClassVar[str] = "fit"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per group, law and parameter; one without a law for a group that has none."""
        import polars as pl

        # a column without a value keeps its type, and an answer without a group its columns
        types = {
            **dict.fromkeys(("family", "parameter"), pl.String()),
            **dict.fromkeys(("value", "low", "high", "aic", "aic_behind_best"), pl.Float64()),
            "best": pl.Boolean(),
            **dict.fromkeys(("holds_from", "holds_to"), pl.Float64()),
            "holds": pl.Boolean(),
            "above": pl.Float64(),
            "n_fitted": pl.Int64(),
            **dict.fromkeys(("unit", "clock"), pl.String()),
            "synthetic": pl.Boolean(),
        }
        rows = list(self._rows())
        if not rows:
            return pl.DataFrame(schema={**dict.fromkeys(self.head.by, pl.String()), **types})
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for group in self.groups:
            for law in group.laws or (None,):
                parameters = {"": NOT_AVAILABLE} if law is None or not law.parameters else law.parameters
                for name, value in parameters.items():
                    yield {
                        **group.key,
                        "family": law.family if law else None,
                        "parameter": name,
                        "value": value.value,
                        "low": value.low,
                        "high": value.high,
                        "aic": law.aic if law else None,
                        "aic_behind_best": law.behind.value if law else None,
                        "best": law.best if law else None,
                        "holds_from": law.range[0] if law and law.range else None,
                        "holds_to": law.range[1] if law and law.range else None,
                        "holds": law.holds if law else None,
                        "above": group.above,
                        "n_fitted": group.n_fitted,
                        "unit": self.head.unit,
                        "clock": self.head.clock,
                        "synthetic": self.head.synthetic,
                    }
