"""What ``forecast fit`` answers: how far the keys of each level differ, and from which number of rows a key counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Result

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ForecastDependence",
    "ForecastFit",
    "ForecastLevel",
    "ForecastLimit",
    "ForecastPath",
    "ForecastPool",
    "ForecastProvider",
    "PoolWeight",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastLevel:
    """One level of a hierarchy.

    Attributes
    ----------
    key : str
        The key that splits the level above; ``"session"`` for the last, which serves only the fit.
    n_keys : int
        Groups of the level: values of the key within those of the keys above it.
    kappa : float
        Precision: a group with r rows in a bin has weight r/(r + kappa) of its own, the level above has the rest.
    weight_10, weight_100 : float
        That weight with 10 and 100 rows.
    log_likelihood : float
        Marginal, at ``kappa``.
    profile : tuple of (float, float)
        (ln kappa, log likelihood).
    note : str or None
        Set where the best kappa is an end of the profile.
    """

    key: str
    n_keys: int
    kappa: float
    weight_10: float
    weight_100: float
    log_likelihood: float
    profile: tuple[tuple[float, float], ...]
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPath:
    """One hierarchy of keys.

    Attributes
    ----------
    keys : tuple of str
        From the top.
    rounds : {"all", "single"}
        Rounds that it was fitted on: all, or those with a single call, whose law a call among several has.
    n_rows : int
    alpha : float
        Exponent of the power law beyond the last edge.
    last_seen : float
        Longest pause fitted, seconds.
    windows : tuple of (float, float)
        Deadlines with bins of their own, seconds.
    levels : tuple of ForecastLevel
        Of ``keys``, and last of the sessions below them.
    """

    keys: tuple[str, ...]
    rounds: str
    n_rows: int
    alpha: float
    last_seen: float
    windows: tuple[tuple[float, float], ...]
    levels: tuple[ForecastLevel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWeight:
    """How far one hierarchy is believed, for a developer whose name the model has and for any other."""

    keys: tuple[str, ...]
    seen: float
    unseen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPool:
    """How the hierarchies answer together.

    Attributes
    ----------
    weights : tuple of PoolWeight
        Of the hierarchies, and last of the base that they are compared with: what they leave of 1, also below 0.
    rows_seen, rows_unseen : int
        Held-out rows that decided the weights; with 0 ``seen`` are equal ones, and ``unseen`` are as ``seen``.
    """

    weights: tuple[PoolWeight, ...]
    rows_seen: int
    rows_unseen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastLimit:
    """What became of pauses that asked for a limit and still lasted when it came.

    Attributes
    ----------
    tool_class : str or None
        None stands for all classes together.
    ended, reached : int
        Pauses of one call that ended on their own limit, of those that reached it.
    mass : float
        Share that ends there, ``(ended + 1/2)/(reached + 1)``.
    """

    tool_class: str | None
    ended: int
    reached: int
    mass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastDependence:
    """How far the calls of one round end together: theta is 1 where they are independent.

    Attributes
    ----------
    theta : float
        Of a Gumbel copula.
    interval : tuple of float or None
        95 %.
    log_likelihood, independent : float
        At ``theta`` and at 1.
    n_rounds : int
    note : str or None
    """

    theta: float
    interval: tuple[float, float] | None
    log_likelihood: float
    independent: float
    n_rounds: int
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastProvider:
    """The fit of one provider; None where the trace names none."""

    provider: str | None
    n_rows: int
    paths: tuple[ForecastPath, ...]
    pool: ForecastPool | None
    limits: tuple[ForecastLimit, ...]
    dependence: ForecastDependence | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ForecastFit(Result):
    """How the fit of a forecast went, provider by provider."""

    providers: tuple[ForecastProvider, ...]
    command: ClassVar[str] = "forecast_fit"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per provider, hierarchy and level."""
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for provider in self.providers:
            for path in provider.paths:
                for level in path.levels:
                    yield {
                        "provider": provider.provider,
                        "path": ",".join(path.keys),
                        "rounds": path.rounds,
                        "n_rows": path.n_rows,
                        "key": level.key,
                        "n_keys": level.n_keys,
                        "kappa": level.kappa,
                        "weight_10": level.weight_10,
                        "weight_100": level.weight_100,
                        "log_likelihood": level.log_likelihood,
                        "note": level.note,
                        "synthetic": self.head.synthetic,
                    }
