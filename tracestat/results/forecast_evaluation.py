"""What ``forecast evaluate`` answers: how good each method's forecast of pauses it has not seen is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tracestat.results.base import Result
from tracestat.results.interval import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Calibrated",
    "Comparison",
    "ForecastEvaluation",
    "ForecastHeadline",
    "HeadlineCut",
    "HorizonScore",
    "LandmarkScores",
    "MethodEvaluation",
    "OrderEvaluation",
    "SplitCounts",
    "Verdict",
]

Verdict = Literal["better", "worse", "cannot tell"]


@dataclass(frozen=True, slots=True)
class SplitCounts:
    """What one split of one provider trains on and judges by; with several folds each row is judged once.

    Attributes
    ----------
    train_rows, train_sessions, train_developers : int
        Over the folds: the fewest that a fold trains on.
    rows, sessions, developers : int
        Judged.
    censored : int
        Judged rows whose end was not seen; each loss takes of them what is known.
    pinball_left_out : int
        Judged rows lost from sight before ``tau``: no pinball loss is known of them.
    developers_without_training : int
        Judged developers without a row to train on in their fold.
    notes : tuple of str
    """

    provider: str
    split: str
    folds: int
    train_rows: int
    train_sessions: int
    train_developers: int
    rows: int
    sessions: int
    developers: int
    censored: int
    pinball_left_out: int
    developers_without_training: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LandmarkScores:
    """Mean losses over the rows that last longer than ``elapsed``, lower being better but for ``log_score``.

    Attributes
    ----------
    elapsed : float
        Seconds already waited.
    n, n_pinball : int
        Rows that last longer, and those among them of which a pinball loss is known.
    pinball_log, pinball_seconds : mapping of str to float or None
        By quantile, on ln T and on seconds, both of min(T, tau).
    twcrps : float or None
        Integral of the squared error of the distribution over ln t up to tau.
    log_score : float or None
        Mean ln P(bin of T); higher is better.
    skill, skill_seconds : mapping of str to Interval
        Cut of the pinball loss against the method ``global``, percent, by quantile.
    """

    elapsed: float
    n: int
    n_pinball: int
    pinball_log: Mapping[str, float | None]
    pinball_seconds: Mapping[str, float | None]
    twcrps: float | None
    log_score: float | None
    skill: Mapping[str, Interval]
    skill_seconds: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Whether what is forecast with probability p happens with probability p.

    Attributes
    ----------
    coverage : mapping of str to mapping of str to (float or None)
        By landmark, then by nominal share: the share of rows that ended by the forecast quantile.
    pit : tuple of float
        Share of the rows in each tenth of the forecast distribution; all 0.1 where it is calibrated.
    statistic : float or None
        Chi-square of these shares as if rows were independent, 9 degrees of freedom.
    p_value : float or None
        By clusters; None with too few of them.
    largest_deviation : float or None
        Largest distance of a tenth's share from 0.1.
    """

    coverage: Mapping[str, Mapping[str, float | None]]
    pit: tuple[float, ...]
    statistic: float | None
    p_value: float | None
    largest_deviation: float | None


@dataclass(frozen=True, slots=True)
class HorizonScore:
    """How well the share still paused after so many seconds is forecast: mean forecast, observed share, Brier score."""

    forecast: float | None
    observed: float | None
    brier: float | None
    skill: float | None


@dataclass(frozen=True, slots=True)
class MethodEvaluation:
    """One method on the judged rows of one split of one provider.

    Attributes
    ----------
    kind : {"distribution", "point"}
        A point forecast is judged by the median pinball loss alone.
    landmarks : tuple of LandmarkScores
    calibration : Calibrated or None
    horizons : mapping of str to HorizonScore
        By seconds.
    """

    name: str
    provider: str
    split: str
    kind: Literal["distribution", "point"]
    landmarks: tuple[LandmarkScores, ...]
    calibration: Calibrated | None
    horizons: Mapping[str, HorizonScore]

    def at(self, elapsed: float) -> LandmarkScores | None:
        """Give the losses at a landmark."""
        return next((item for item in self.landmarks if item.elapsed == elapsed), None)


@dataclass(frozen=True, slots=True)
class HeadlineCut:
    """Cut of the quantile error of ours against ``global``, percent: one definition of the article's number.

    Attributes
    ----------
    loss : {"log", "seconds"}
        Pinball loss of ln T or of T.
    quantile : float
    landmarks : tuple of float
        The cuts at these elapsed times are averaged.
    cut : Interval
    """

    provider: str
    split: str
    loss: Literal["log", "seconds"]
    quantile: float
    landmarks: tuple[float, ...]
    cut: Interval


@dataclass(frozen=True, slots=True)
class ForecastHeadline:
    """The cut of the upper-quantile error under every definition, beside what was published.

    Attributes
    ----------
    upper_quantile_cut : mapping
        ``{"provider": {name: Interval}}``: log loss, quantile 0.9, mean over the landmarks 0, 1, 4 and 25 s, time split
        (the one split where only the other was asked for).
    published : mapping of str to float
        ``least`` and ``most``, percent; the source states neither landmark nor loss nor split.
    table : tuple of HeadlineCut
    """

    upper_quantile_cut: Mapping[str, Mapping[str, Interval]]
    published: Mapping[str, float]
    table: tuple[HeadlineCut, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours against one baseline on the same rows.

    Attributes
    ----------
    measure : {"log_score", "pinball_log", "pinball_seconds"}
    quantile : float or None
    elapsed : float
        Landmark.
    ours, theirs : float or None
        Mean loss; of the log score its negative.
    gain : Interval
        Mean loss of the baseline less that of ours, above 0 where ours is better.
    cut : float or None
        ``gain`` as a share of the baseline's loss, percent; None for the log score.
    p_value : float or None
        Two-sided p of no gain, by the clusters of ``gain``, which are the developers however few: below 0.05 where
        that interval holds no 0 (exactly so for the jackknife's). None where there is no interval.
    p_adjusted : float or None
        The same by Holm's rule over all comparisons of this provider and split.
    verdict : {"better", "worse", "cannot tell"}
        Of ours; better or worse where ``p_adjusted`` is at most 0.05.
    """

    provider: str
    split: str
    baseline: str
    measure: Literal["log_score", "pinball_log", "pinball_seconds"]
    quantile: float | None
    elapsed: float
    ours: float | None
    theirs: float | None
    gain: Interval
    cut: float | None
    p_value: float | None
    p_adjusted: float | None
    verdict: Verdict

    @property
    def verdict_alone(self) -> Verdict:
        """What its own interval says, as if nothing else had been compared."""
        low, high = self.gain.low, self.gain.high
        if low is not None and low > 0:
            return "better"
        return "worse" if high is not None and high < 0 else "cannot tell"


@dataclass(frozen=True, slots=True)
class OrderEvaluation:
    """How often a method says rightly which of two sessions paused at the same time returns later.

    Attributes
    ----------
    clock : {"trace", "superposed"}
        Pairs that were paused at the same moment, or those of sessions shifted so that many run at once.
    pairs : int
    pairs_right : Interval
        Share of the pairs.
    same_as_lru : float or None
        Share of the pairs that it orders as least recently used does: the longest paused returns last.
    right_where_different : float or None
        Share of the others that it orders rightly.
    over_lru : Interval
        ``pairs_right`` less that of least recently used.
    """

    name: str
    provider: str
    split: str
    clock: Literal["trace", "superposed"]
    pairs: int
    pairs_right: Interval
    same_as_lru: float | None
    right_where_different: float | None
    over_lru: Interval


@dataclass(frozen=True, slots=True, repr=False)
class ForecastEvaluation(Result):
    """Every method on the rows that it was not trained on.

    Attributes
    ----------
    split : {"time", "developer", "both"}
    tau : float
        Losses are those of min(T, tau), seconds.
    ours : str
        Name of the method that is compared with the others.
    paths : tuple of tuple of str
        Its keys, from the top; it pools several hierarchies of them where there are several.
    draws : int
        Bootstrap samples behind each interval; 0 where it is the jackknife's.
    counts : tuple of SplitCounts
    methods : tuple of MethodEvaluation
    against : tuple of Comparison
    order : tuple of OrderEvaluation
    headline : ForecastHeadline
    """

    split: str
    tau: float
    ours: str
    paths: tuple[tuple[str, ...], ...]
    draws: int
    counts: tuple[SplitCounts, ...]
    methods: tuple[MethodEvaluation, ...]
    against: tuple[Comparison, ...]
    order: tuple[OrderEvaluation, ...]
    headline: ForecastHeadline
    command: ClassVar[str] = "forecast_evaluate"

    def groups_of(self) -> list[tuple[str, str]]:
        """Give the pairs of provider and split, in their order."""
        return [(item.provider, item.split) for item in self.counts]

    def of(self, provider: str, split: str) -> tuple[MethodEvaluation, ...]:
        """Give the methods on one split of one provider."""
        return tuple(m for m in self.methods if (m.provider, m.split) == (provider, split))

    def to_frame(self) -> pl.DataFrame:
        """Give a row per number, told apart by ``part``: loss, coverage, horizon, headline, against or order."""
        import polars as pl

        texts = ("part", "provider", "split", "method", "measure")
        numbers = ("quantile", "elapsed", "n", "value", "low", "high", "share", "p_value", "p_adjusted")
        kinds = dict.fromkeys(texts, pl.String) | dict.fromkeys(numbers, pl.Float64)
        return pl.DataFrame(list(self._rows()), schema={**kinds, "interval": pl.String, "says": pl.String})

    def _rows(self) -> Iterator[dict[str, Any]]:
        for method in self.methods:
            who = {"provider": method.provider, "split": method.split, "method": method.name}
            yield from _method_rows(method, who)
        for cut in self.headline.table:
            name = "mean cut" if len(cut.landmarks) > 1 else "cut"
            yield {
                "part": "headline",
                "provider": cut.provider,
                "split": cut.split,
                "method": self.ours,
                "measure": f"{name} of pinball_{cut.loss}",
                "quantile": cut.quantile,
                "elapsed": cut.landmarks[0] if len(cut.landmarks) == 1 else None,
                **_cells(cut.cut),
            }
        for item in self.against:
            yield {
                "part": "against",
                "provider": item.provider,
                "split": item.split,
                "method": item.baseline,
                "measure": item.measure,
                "quantile": item.quantile,
                "elapsed": item.elapsed,
                "share": item.cut,
                "p_value": item.p_value,
                "p_adjusted": item.p_adjusted,
                "says": item.verdict,
                **_cells(item.gain),
            }
        for order in self.order:
            who = {"part": "order", "provider": order.provider, "split": order.split, "method": order.name}
            who["says"] = f"{order.clock} clock"
            n = float(order.pairs)
            yield {**who, "measure": "pairs_right", "n": n, **_cells(order.pairs_right)}
            yield {**who, "measure": "over_lru", "n": n, **_cells(order.over_lru)}
            yield {**who, "measure": "same_as_lru", "n": n, "value": order.same_as_lru}
            yield {**who, "measure": "right_where_different", "n": n, "value": order.right_where_different}


def _cells(item: Interval) -> dict[str, Any]:
    return {"value": item.value, "low": item.low, "high": item.high, "interval": item.method or None}


def _method_rows(method: MethodEvaluation, who: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for at in method.landmarks:
        here = {**who, "part": "loss", "elapsed": at.elapsed}
        for measure, value in (("log_score", at.log_score), ("twcrps", at.twcrps)):
            if value is not None:
                yield {**here, "measure": measure, "n": float(at.n), "value": value}
        for measure, losses in (("pinball_log", at.pinball_log), ("pinball_seconds", at.pinball_seconds)):
            for p, loss in losses.items():
                yield {**here, "measure": measure, "quantile": float(p), "n": float(at.n_pinball), "value": loss}
        for measure, skills in (("skill_log", at.skill), ("skill_seconds", at.skill_seconds)):
            for p, item in skills.items():
                yield {**here, "measure": measure, "quantile": float(p), "n": float(at.n_pinball), **_cells(item)}
    if method.calibration is not None:
        for elapsed, shares in method.calibration.coverage.items():
            for p, share in shares.items():
                here = {**who, "part": "coverage", "measure": "coverage", "elapsed": float(elapsed)}
                yield {**here, "quantile": float(p), "value": share}
    for horizon, score in method.horizons.items():
        for measure in ("forecast", "observed", "brier", "skill"):
            here = {**who, "part": "horizon", "measure": measure, "elapsed": float(horizon)}
            yield {**here, "value": getattr(score, measure)}
