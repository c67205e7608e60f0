"""``forecast evaluate``: how good each method's forecast of pauses is, on rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import Progress, TraceLike, as_trace, excluded_of, head_of
from tracestat.api.forecast_rows import provider_grid, rows_by_provider
from tracestat.api.forecast_summaries import Judged, against_of, headline_of, methods_of, order_of
from tracestat.durations import select
from tracestat.errors import UsageError
from tracestat.forecast.calibration import observed_survival
from tracestat.forecast.evaluation import (
    HEADLINE_LANDMARKS,
    MethodScores,
    developer_of_session,
    merge,
    score,
)
from tracestat.forecast.keys import PATHS, check_path
from tracestat.forecast.methods import OURS, Forecast, Path, forecast_all, method_keys
from tracestat.forecast.order import OrderScore, merge_orders, order_scores
from tracestat.forecast.order_pairs import Clock
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import TAU
from tracestat.forecast.splits import Part, Split, parts
from tracestat.published import load_published
from tracestat.results import (
    Comparison,
    ForecastEvaluation,
    ForecastHeadline,
    HeadlineCut,
    Interval,
    MethodEvaluation,
    OrderEvaluation,
    SplitCounts,
)
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS

__all__ = ["evaluate_forecast"]

_MOST_DRAWS = 100_000
_SPLITS: tuple[Split, ...] = ("time", "developer")
_CLOCKS: tuple[Clock, ...] = ("trace", "superposed")


def evaluate_forecast(
    trace: TraceLike,
    *,
    split: Literal["time", "developer", "both"] = "both",
    keys: str | Sequence[str] | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    draws: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> ForecastEvaluation:
    """Judge forecasts of pauses by rows they have not seen, each provider by itself.

    Parameters
    ----------
    trace, where, since, until, tz, seed
        As for :func:`tracestat.hazard`.
    split : {"time", "developer", "both"}
        Train on the first sessions of each developer up to 70 % of the rows and judge by the later ones; or train on
        four fifths of the developers and judge by the others, in five folds. Rows are never split at random: those of
        one session resemble each other.
    keys : str or sequence of str, optional
        Keys of ours, from the top; default a pool of the hierarchies `tracestat.forecast.keys.PATHS`.
    draws : int, default 0
        0 for jackknife intervals; else so many samples of the percentile bootstrap, which is the usual way and covers
        too little where developers are uneven, see `tracestat.forecast.skill`.
    progress : callable, optional
        Called with (splits of a provider done, all of them).

    Returns
    -------
    ForecastEvaluation
        Every method with its losses at each elapsed time, calibration and horizons; ours against every other; how
        often each method orders two sessions that are paused at the same time; and the headline under every definition
        of it, beside what was published.

    Raises
    ------
    UsageError
        A key that is not known when a pause starts, or a choice that does not exist.

    References
    ----------
    .. [1] Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation.
    .. [2] Haider et al. (2020), Effective ways to build and evaluate individual survival distributions.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.evaluate_forecast(tracestat.open(), split="time", where="provider = 'codex'")
    >>> result.methods[0].name, result.methods[-1].name, result.methods[-1].at(4.0).elapsed
    ('global', 'ours', 4.0)
    """
    if split not in (*_SPLITS, "both"):
        raise UsageError(f"--split {split}: choose time, developer or both")
    if not 0 <= draws <= _MOST_DRAWS:
        raise UsageError(f"--draws {draws}: give 0 (the jackknife) to {_MOST_DRAWS:,}")
    paths = PATHS if keys is None else (PATHS[0], check_path(keys))
    opened = as_trace(trace)
    selection = select(opened, unit="pause", rows="tool", where=where, since=since, until=until, tz=tz)
    chosen: tuple[Split, ...] = _SPLITS if split == "both" else (split,)
    with ThreadPoolExecutor(1) as worker:
        # lifelines takes a second to import: meanwhile the engine reads
        worker.submit(import_module, "tracestat.forecast.weibull_aft")
        rows = rows_by_provider(opened, selection, method_keys(paths))
        # a query after the large one: the engine gives back the memory that the large one took
        excluded = excluded_of(opened, selection)
        waiting: list[Future[_Found]] = []
        for each in chosen:
            # summarised while the next is fitted, and then let go: the sums per session of all methods are large
            for judged in _judged(rows, each, paths, seed):
                waiting.append(worker.submit(_Found.of, judged, draws, seed))
                if progress is not None:
                    progress(len(waiting), len(chosen) * len(rows))
        found = [item.result() for item in waiting]
    found.sort(key=lambda item: item.counts.provider)
    head = head_of(opened, selection, "forecast_evaluate", seed=seed, excluded=excluded.counts, notes=excluded.notes)
    table = tuple(cut for item in found for cut in item.cuts)
    return ForecastEvaluation(
        head,
        split=split,
        tau=TAU,
        ours=OURS,
        paths=paths if keys is None else paths[-1:],
        draws=draws,
        counts=tuple(item.counts for item in found),
        methods=tuple(method for item in found for method in item.methods),
        against=tuple(comparison for item in found for comparison in item.against),
        order=tuple(order for item in found for order in item.order),
        headline=ForecastHeadline(_main(table, split), _published(), table),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What is said of one split of one provider."""

    counts: SplitCounts
    methods: tuple[MethodEvaluation, ...]
    against: tuple[Comparison, ...]
    order: tuple[OrderEvaluation, ...]
    cuts: tuple[HeadlineCut, ...]

    @classmethod
    def of(cls, judged: Judged, draws: int, seed: int) -> _Found:
        """Summarise the sums of one split."""
        return cls(
            judged.counts,
            tuple(methods_of(judged, draws, seed)),
            tuple(against_of(judged, OURS, draws, seed)),
            tuple(order_of(judged)),
            tuple(headline_of(judged, OURS, draws, seed)),
        )


def _main(table: Iterable[HeadlineCut], split: str) -> dict[str, dict[str, Interval]]:
    """Choose the one cut per provider that is the headline."""
    first = "developer" if split == "developer" else "time"
    cuts = {
        cut.provider: cut.cut
        for cut in table
        if (cut.split, cut.loss, cut.quantile) == (first, "log", 0.9) and len(cut.landmarks) > 1
    }
    return {"provider": cuts}


def _published() -> dict[str, float]:
    """Give the published cut, percent."""
    figures = {
        figure.id.rpartition(".")[2]: figure.value for figure in load_published().select(only="article.forecast")
    }
    return {name: round(100 * value, 6) for name, value in figures.items() if value is not None}


def _judged(rows: Mapping[str, PauseRows], split: Split, paths: Sequence[Path], seed: int) -> Iterable[Judged]:
    """Train and judge every method on the folds of one split, a provider at a time."""
    done = set()
    for provider, folds in groupby(parts(rows, split), key=lambda part: part.provider):
        done.add(provider)
        yield _judge(provider, split, rows[provider], folds, paths, seed)
    for provider in sorted(rows.keys() - done):
        yield Judged(_counts(provider, split, rows[provider], []), np.zeros(0, dtype=np.intp))


class _Sums:
    """What the methods lost in the folds so far; added up at once, since a fold holds the sums of all sessions."""

    def __init__(self) -> None:
        self.scores: tuple[MethodScores, ...] = ()
        self.orders: tuple[OrderScore, ...] = ()

    def add(self, test: PauseRows, forecasts: Sequence[Forecast], n_sessions: int, seed: int) -> None:
        """Judge the forecasts of one fold."""
        scores = score(forecasts, test, n_sessions)
        orders = [o for clock in _CLOCKS for o in order_scores(test, forecasts, clock=clock, seed=seed)]
        first = not self.scores
        self.scores = tuple(scores if first else map(merge, zip(self.scores, scores, strict=True)))
        self.orders = tuple(orders if first else map(merge_orders, zip(self.orders, orders, strict=True)))


def _judge(
    provider: str,
    split: Split,
    own: PauseRows,
    folds: Iterable[Part],
    paths: Sequence[Path],
    seed: int,
) -> Judged:
    grid = provider_grid(provider)
    sums = _Sums()
    used: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
    # a fold is judged while the next one is fitted: numpy lets both run
    with ThreadPoolExecutor(1) as worker:
        judging: Future[None] | None = None
        for part in folds:
            forecasts = forecast_all(part.train, part.test, grid, paths=paths, provider=provider, others=part.others)
            if judging is not None:
                judging.result()
            judging = worker.submit(sums.add, part.test, forecasts, own.n_sessions, seed)
            used.append((part.fold.train, part.fold.test))
        if judging is not None:
            judging.result()
    return Judged(
        _counts(provider, split, own, used),
        developer_of_session(own, own.n_sessions),
        sums.scores,
        sums.orders,
        tuple(observed_survival(own.take(np.any([test for _, test in used], axis=0)))),
    )


def _counts(
    provider: str, split: Split, own: PauseRows, folds: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
) -> SplitCounts:
    """Count what a split trains on, what it judges by, and what it leaves out."""
    test = np.zeros(own.size, dtype=np.bool_)
    for _, each in folds:
        test |= each
    judged = own.take(test)
    new = sum(np.setdiff1d(own.developer[each], own.developer[train]).size for train, each in folds)
    lost = ~judged.observed & (judged.seconds < TAU) & (judged.seconds > 0)
    developers = _distinct(judged.developer)
    notes = []
    if not folds:
        what = "sessions" if split == "time" else "developers"
        notes.append(f"cannot be split by {split}: {own.size:,} rows of too few {what}")
    elif developers < ENOUGH_CLUSTERS:
        notes.append(FEW_DEVELOPERS.format(n=developers))
    if folds and not (judged.seconds > HEADLINE_LANDMARKS[-1]).any():
        notes.append(
            f"no judged row lasts longer than {HEADLINE_LANDMARKS[-1]:g} s, so the headline has no mean of landmarks"
        )
    at_once = int((judged.seconds <= 0).sum())
    if at_once:
        notes.append(f"{at_once:,} of the judged rows last 0 s, so nothing of them is left to forecast")
    return SplitCounts(
        provider=provider,
        split=split,
        folds=len(folds),
        train_rows=min((int(train.sum()) for train, _ in folds), default=0),
        train_sessions=min((_distinct(own.session[train]) for train, _ in folds), default=0),
        train_developers=min((_distinct(own.developer[train]) for train, _ in folds), default=0),
        rows=judged.size,
        sessions=_distinct(judged.session),
        developers=developers,
        censored=int((~judged.observed).sum()),
        pinball_left_out=int(lost.sum()),
        developers_without_training=new,
        notes=tuple(notes),
    )


def _distinct(codes: NDArray[np.intp]) -> int:
    return int(np.unique(codes).size)
