"""From sums per session to what ``forecast evaluate`` says: losses, skill, differences and order, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.calibration import HORIZONS, CalibrationSums, coverage, d_calibration
from tracestat.forecast.evaluation import HEADLINE_LANDMARKS, MethodScores, headline_cut
from tracestat.forecast.methods import BASELINES
from tracestat.forecast.order import OrderScore, summarise_order
from tracestat.forecast.scores import LANDMARKS
from tracestat.forecast.skill import error_cut, paired_test
from tracestat.results import (
    Calibrated,
    Comparison,
    HeadlineCut,
    HorizonScore,
    Interval,
    LandmarkScores,
    MethodEvaluation,
    OrderEvaluation,
    SplitCounts,
)
from tracestat.results.forecast_evaluation import Verdict
from tracestat.survival.monotone import holm

__all__ = ["Judged", "against_of", "headline_of", "methods_of", "order_of"]

_HEADLINE_QUANTILES = (0.9, 0.95, 0.99, 0.1, 0.5)
_AGAINST_QUANTILES = (0.9, 0.95)
_GLOBAL = "global"
_LOSSES: Mapping[Literal["log", "seconds"], Literal["pinball_log", "pinball_seconds"]] = {
    "log": "pinball_log",
    "seconds": "pinball_seconds",
}


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What every method lost on the judged rows of one split of one provider.

    Attributes
    ----------
    counts : SplitCounts
    developer : ndarray of int, shape (S,)
        Developer of each session.
    scores : tuple of MethodScores
        Folds together.
    orders : tuple of OrderScore
    lasting : tuple of (float or None)
        Share of the judged rows that lasted beyond each of the horizons.
    """

    counts: SplitCounts
    developer: NDArray[np.intp]
    scores: tuple[MethodScores, ...] = ()
    orders: tuple[OrderScore, ...] = ()
    lasting: tuple[float | None, ...] = ()

    def named(self, name: str) -> MethodScores | None:
        """Give the sums of a method, if it is there."""
        return next((item for item in self.scores if item.name == name), None)


def methods_of(judged: Judged, draws: int, seed: int) -> Iterator[MethodEvaluation]:
    """Give the losses, calibration and horizons of every method."""
    base = judged.named(_GLOBAL)
    for scores in judged.scores:
        law = scores.distribution
        yield MethodEvaluation(
            name=scores.name,
            provider=judged.counts.provider,
            split=judged.counts.split,
            kind="point" if law is None else "distribution",
            landmarks=tuple(_landmark(scores, base, k, judged, draws, seed) for k in range(len(LANDMARKS))),
            calibration=None if law is None else _calibrated(law.calibration, judged.developer),
            horizons=_horizons(scores, base, judged.lasting),
        )


def _landmark(
    scores: MethodScores, base: MethodScores | None, k: int, judged: Judged, draws: int, seed: int
) -> LandmarkScores:
    def skill(loss: Literal["pinball_log", "pinball_seconds"], p: float) -> Interval:
        if base is None:
            return Interval(None)
        model, reference = (each.loss(loss, p)[:, k] for each in (scores, base))
        return error_cut(model, reference, judged.developer, draws=draws, seed=seed)

    names = {f"{p:g}": p for p in scores.quantiles}
    score = scores.mean("log_score")[k] if scores.distribution else None
    return LandmarkScores(
        elapsed=LANDMARKS[k],
        n=int(scores.n[:, k].sum()),
        n_pinball=int(scores.n_known[:, k].sum()),
        pinball_log={name: scores.mean("pinball_log", p)[k] for name, p in names.items()},
        pinball_seconds={name: scores.mean("pinball_seconds", p)[k] for name, p in names.items()},
        twcrps=scores.mean("twcrps")[k] if scores.distribution else None,
        log_score=None if score is None else -score,
        skill={name: skill("pinball_log", p) for name, p in names.items()},
        skill_seconds={name: skill("pinball_seconds", p) for name, p in names.items()},
    )


def _calibrated(sums: CalibrationSums, developer: NDArray[np.intp]) -> Calibrated:
    shares = {f"{s:g}": coverage(sums, k) for k, s in enumerate(LANDMARKS)}
    found = d_calibration(sums, 0, developer)
    return Calibrated(
        coverage={s: {f"{p:g}": share for p, share in each.items()} for s, each in shares.items()},
        pit=() if found is None else found.shares,
        statistic=None if found is None else found.statistic,
        p_value=None if found is None else found.clustered_p_value,
        largest_deviation=None if found is None else found.largest,
    )


def _horizons(
    scores: MethodScores, base: MethodScores | None, lasting: Sequence[float | None]
) -> dict[str, HorizonScore]:
    if scores.distribution is None:
        return {}
    sums = scores.distribution.calibration
    forecast, brier, n_known = (each.sum(axis=0) for each in (sums.survival, sums.brier, sums.n_known))
    reference = None
    if base is not None and base.distribution is not None:
        reference = base.distribution.calibration.brier.sum(axis=0)
    n = int(scores.n[:, 0].sum())
    return {
        f"{h:g}": HorizonScore(
            forecast=float(forecast[k]) / n if n else None,
            observed=lasting[k],
            brier=float(brier[k]) / int(n_known[k]) if n_known[k] else None,
            skill=100 * (1 - float(brier[k] / reference[k])) if reference is not None and reference[k] > 0 else None,
        )
        for k, h in enumerate(HORIZONS)
    }


def headline_of(judged: Judged, ours: str, draws: int, seed: int) -> Iterator[HeadlineCut]:
    """Give the cut of the quantile error by ours under every definition."""
    model, base = judged.named(ours), judged.named(_GLOBAL)
    if model is None or base is None:
        return
    for loss, name in _LOSSES.items():
        for landmarks in (HEADLINE_LANDMARKS, HEADLINE_LANDMARKS[:1]):
            for p in _HEADLINE_QUANTILES:
                cut = headline_cut(model, base, judged.developer, p, name, elapsed=landmarks, draws=draws, seed=seed)
                yield HeadlineCut(judged.counts.provider, judged.counts.split, loss, p, landmarks, cut)


def against_of(judged: Judged, ours: str, draws: int, seed: int) -> list[Comparison]:
    """Compare ours with every baseline: a law by log score and upper quantiles, a number by the median.

    The verdicts of the one table that this is are adjusted together, by Holm's rule: the tests depend on each other,
    which it allows for.
    """
    found = list(_comparisons(judged, ours, draws, seed))
    adjusted = iter(holm([item.p_value for item in found if item.p_value is not None]).tolist())
    return [item if item.p_value is None else _decided(item, next(adjusted)) for item in found]


def _decided(item: Comparison, p_adjusted: float) -> Comparison:
    verdict: Verdict = "cannot tell"
    if item.gain.value is not None and p_adjusted <= 1 - item.gain.level:
        verdict = "better" if item.gain.value > 0 else "worse"
    return replace(item, p_adjusted=p_adjusted, verdict=verdict)


def _comparisons(judged: Judged, ours: str, draws: int, seed: int) -> Iterator[Comparison]:
    model = judged.named(ours)
    if model is None:
        return
    for base in judged.scores:
        if base.name not in BASELINES:
            continue
        measures: list[tuple[Literal["log_score", "pinball_log", "pinball_seconds"], float | None]] = []
        if base.distribution is None:
            measures = [("pinball_log", 0.5), ("pinball_seconds", 0.5)]
        else:
            measures = [("log_score", None)]
            measures += [("pinball_log", p) for p in _AGAINST_QUANTILES]
            measures += [("pinball_seconds", p) for p in _AGAINST_QUANTILES]
        for measure, p in measures:
            for k, elapsed in enumerate(LANDMARKS):
                yield _comparison(judged, model, base, measure, p, k, elapsed, draws, seed)


def _comparison(
    judged: Judged,
    model: MethodScores,
    base: MethodScores,
    measure: Literal["log_score", "pinball_log", "pinball_seconds"],
    p: float | None,
    k: int,
    elapsed: float,
    draws: int,
    seed: int,
) -> Comparison:
    one, other = (each.loss(measure, 0.5 if p is None else p)[:, k] for each in (model, base))
    n = base.count(measure)[:, k].astype(np.float64)
    test = paired_test(other, one, n, judged.developer, draws=draws, seed=seed)
    gain, total = test.difference, int(n.sum())
    ours, theirs = (float(each.sum()) / total if total else None for each in (one, other))
    cut = None if p is None or not theirs or gain.value is None else 100 * gain.value / theirs
    return Comparison(
        provider=judged.counts.provider,
        split=judged.counts.split,
        baseline=base.name,
        measure=measure,
        quantile=p,
        elapsed=elapsed,
        ours=ours,
        theirs=theirs,
        gain=gain,
        cut=cut,
        p_value=test.p_value,
        p_adjusted=None,
        verdict="cannot tell",
    )


def order_of(judged: Judged) -> Iterator[OrderEvaluation]:
    """Give how often each method orders two paused sessions rightly, on each clock."""
    for score in judged.orders:
        found = summarise_order(score)
        yield OrderEvaluation(
            name=found.name,
            provider=judged.counts.provider,
            split=judged.counts.split,
            clock=found.clock,
            pairs=found.pairs,
            # a share has no bound outside 0 and 1
            pairs_right=found.pairs_right.with_bounds(lambda bound: min(max(bound, 0.0), 1.0)),
            same_as_lru=found.same_as_lru.value,
            right_where_different=found.right_where_different.value,
            over_lru=found.over_lru,
        )
