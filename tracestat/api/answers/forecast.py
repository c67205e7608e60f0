"""How much a forecast by keys cuts the upper-quantile error: only the methods that this takes, and the time split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracestat.api.answers.source import Answer, Command, Question, Source, missing
from tracestat.results import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tracestat.forecast.evaluation import MethodScores

__all__ = ["error_cut"]

_QUANTILE = 0.9
_PERCENT = 0.01
_FEW = "too few sessions or long pauses to train on some and judge by others"
_COMMAND = ("forecast evaluate", "--split", "time")


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """What one curve for all, the first hierarchy of keys and the pool of all lose per session."""

    everything: MethodScores
    models: dict[str, MethodScores]
    developer: NDArray[np.intp]


def error_cut(source: Source, question: Question) -> Answer:
    """Give the cut of the 0.9 quantile's pinball loss against one curve for all, on the later sessions.

    The same numbers as ``forecast evaluate --split time``, which takes longer: it judges every method.
    """
    from tracestat.forecast.evaluation import HEADLINE_LANDMARKS, headline_cut

    provider = question.one_provider or "claude"
    judged = source.once("forecast", lambda: _judged(source, provider), provider=provider)
    if judged is None:
        return missing(_FEW)
    model, loss, landmarks = (question.get(name) for name in ("model", "loss", "landmarks"))
    cut = headline_cut(
        judged.models[model],
        judged.everything,
        judged.developer,
        _QUANTILE,
        "pinball_log" if loss == "log" else "pinball_seconds",
        elapsed=HEADLINE_LANDMARKS if landmarks == "mean" else HEADLINE_LANDMARKS[:1],
        seed=source.seed,
    )
    if cut.value is None:
        return missing(_FEW)
    command = Command(_COMMAND, f"headline/upper_quantile_cut/provider/{provider}/value", _PERCENT)
    return Answer(_share(cut, question.interval), "leave-developer-out and other quantiles: forecast evaluate", command)


def _share(cut: Interval, interval: bool) -> Interval:
    """Turn percent into a share; no cut is above 1."""
    share = cut.times(_PERCENT)
    return share if interval else Interval(share.value)


def _judged(source: Source, provider: str) -> _Judged | None:
    import numpy as np

    from tracestat.api.forecast_rows import provider_grid, rows_by_provider
    from tracestat.durations import select
    from tracestat.forecast.baselines import cut_curves
    from tracestat.forecast.evaluation import developer_of_session, score
    from tracestat.forecast.forecasts import CurveForecast
    from tracestat.forecast.keys import PATHS, POOL_BASE
    from tracestat.forecast.methods import method_keys
    from tracestat.forecast.pool import fit_pool, pooled_forecast
    from tracestat.forecast.shrinkage import root_hazards
    from tracestat.forecast.splits import time_split
    from tracestat.forecast.tree import fit_tree

    selection = select(source.trace, unit="pause", rows="tool", tz="UTC")
    rows = rows_by_provider(source.trace, selection, method_keys()).get(provider)
    folds = () if rows is None else time_split(rows)
    if rows is None or not folds:
        return None
    train, test = rows.take(folds[0].train), rows.take(folds[0].test)
    grid = provider_grid(provider)
    raw = fit_tree(train, PATHS[0], grid, effective=False)
    pool = fit_pool(train, POOL_BASE, PATHS, grid)
    keys = pool.members[0]
    curves = cut_curves(grid, np.concatenate(keys.shrinkage.hazards[: len(keys.keys) + 1]), keys.alpha)
    root = cut_curves(grid, root_hazards(raw.shrinkage.counts[0]), raw.alpha)
    forecasts = [
        CurveForecast("global", root, np.zeros(test.size, dtype=np.intp)),
        CurveForecast("keys", curves, keys.place(test)),
        pooled_forecast("pool", pool, test),
    ]
    everything, *models = score(forecasts, test, rows.n_sessions)
    return _Judged(everything, {m.name: m for m in models}, developer_of_session(rows, rows.n_sessions))
