"""Sums per session against the scores row by row; folds, order of rows, and what a point forecast lacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tracestat.errors import TracestatError
from tracestat.forecast.calibration import CalibrationSums
from tracestat.forecast.curves import curves_of
from tracestat.forecast.evaluation import (
    MethodScores,
    developer_of_session,
    headline_cut,
    merge,
    score,
)
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import (
    LANDMARKS,
    QUANTILES,
    TAU,
    given,
    log_score,
    pinball,
    threshold_weights,
    twcrps,
)
from tracestat.forecast.skill import paired_difference

GRID = forecast_grid([(119.4, 126.0)])
N, S = 400, 40
LAWS = curves_of(GRID, np.random.default_rng(0).beta(1, 12, (9, GRID.n_bins)), 0.7)


def some_rows(seed: int = 0, n: int = N) -> PauseRows:
    rng = np.random.default_rng(seed)
    seconds = np.asarray(np.round(rng.lognormal(1, 3, n), 3), dtype=np.float64)
    seconds[: n // 20] = 0.0
    session = rng.integers(0, S, n)
    observed = rng.uniform(0, 1, n) < 0.9
    return PauseRows({}, {}, session, session // 2, np.arange(n, dtype=np.float64), seconds, observed)


def some_forecasts(n: int = N) -> list[CurveForecast | PointForecast]:
    rng = np.random.default_rng(7)
    other = curves_of(Grid(np.array([0.0, 0.01, 1, 50, 5000])), np.array([[0.1, 0.3, 0.5, 0.8]]), 1.0)
    return [
        CurveForecast("global", LAWS, np.zeros(n, dtype=np.intp)),
        CurveForecast("ours", LAWS, rng.integers(2, 8, n)),
        CurveForecast("another grid", other, np.zeros(n, dtype=np.intp)),
        PointForecast("mean", rng.lognormal(1, 2, n)),
        PointForecast("elapsed", np.zeros(n), 2.0),
    ]


def take(forecast: CurveForecast | PointForecast, rows: np.ndarray) -> CurveForecast | PointForecast:
    if isinstance(forecast, PointForecast):
        return PointForecast(forecast.name, forecast.seconds[rows], forecast.factor)
    return CurveForecast(forecast.name, forecast.curves, forecast.place[rows])


def same(a: MethodScores, b: MethodScores) -> None:
    assert (a.name, a.quantiles, a.distribution is None) == (b.name, b.quantiles, b.distribution is None)
    for name in ("n", "n_known", "pinball_log", "pinball_seconds"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-9)
    if a.distribution and b.distribution:
        assert_allclose(a.distribution.twcrps, b.distribution.twcrps, atol=1e-9)
        assert_allclose(a.distribution.log_score, b.distribution.log_score, atol=1e-9)
        for name in CalibrationSums.__slots__:
            assert_allclose(
                getattr(a.distribution.calibration, name), getattr(b.distribution.calibration, name), atol=1e-9
            )


def test_every_sum_by_brute_force() -> None:
    rows, forecasts = some_rows(), some_forecasts()
    for forecast, scores in zip(forecasts, score(forecasts, rows, S), strict=True):
        assert scores.name == forecast.name
        for k, s in enumerate(LANDMARKS):
            here = np.flatnonzero(rows.seconds > s)
            known = here[rows.observed[here] | (rows.seconds[here] >= TAU)]
            session = rows.session[known]
            assert_allclose(scores.n[:, k], np.bincount(rows.session[here], minlength=S))
            assert_allclose(scores.n_known[:, k], np.bincount(session, minlength=S))
            y = np.minimum(rows.seconds[known], TAU)
            for p in scores.quantiles:
                if isinstance(forecast, PointForecast):
                    x = np.maximum(forecast.seconds[known], forecast.factor * s)
                else:
                    x = forecast.curves.quantile(forecast.place[known], p, s)
                x = np.minimum(x, TAU)
                lost = pinball(y, x, p)
                in_log = pinball(np.log(np.maximum(y, 1e-3)), np.log(np.maximum(x, 1e-3)), p)
                assert_allclose(scores.loss("pinball_seconds", p)[:, k], np.bincount(session, lost, S), atol=1e-9)
                assert_allclose(scores.loss("pinball_log", p)[:, k], np.bincount(session, in_log, S), atol=1e-9)
            if isinstance(forecast, PointForecast):
                continue
            laws = given(forecast.curves, s)
            arguments = (forecast.place[here], rows.seconds[here], rows.observed[here])
            crps, log = twcrps(threshold_weights(laws, s), *arguments), log_score(laws, *arguments)
            assert_allclose(scores.loss("twcrps")[:, k], np.bincount(rows.session[here], crps, S), atol=1e-9)
            assert_allclose(scores.loss("log_score")[:, k], np.bincount(rows.session[here], -log, S), atol=1e-9)
            assert scores.mean("log_score")[k] == pytest.approx(-log.mean())
        if scores.distribution:
            mass = scores.distribution.calibration.mass
            assert_allclose(mass.sum(axis=2), scores.n, atol=1e-9)


@settings(deadline=None, max_examples=8)
@drawn(st.permutations(range(60)))
@pytest.mark.full
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    rows, forecasts = some_rows(3, 60), some_forecasts(60)
    mixed = np.array(order)
    for one, other in zip(
        score(forecasts, rows, S), score([take(f, mixed) for f in forecasts], rows.take(mixed), S), strict=True
    ):
        same(one, other)


def test_folds_that_are_merged_equal_one_call() -> None:
    rows, forecasts = some_rows(), some_forecasts()
    parts = [np.flatnonzero(rows.session % 3 == k) for k in range(3)]
    folds = [score([take(f, part) for f in forecasts], rows.take(part), S) for part in parts]
    for k, whole in enumerate(score(forecasts, rows, S)):
        same(merge([fold[k] for fold in folds]), whole)
    with pytest.raises(TracestatError, match="different methods"):
        merge([folds[0][0], folds[0][1]])


def test_skill_headline_and_difference() -> None:
    rows = some_rows()
    base, ours, *_ = score(some_forecasts(), rows, S)
    developer = developer_of_session(rows, S)
    assert headline_cut(base, base, developer).value == pytest.approx(0, abs=1e-9)
    ratios = [ours.loss("pinball_log", 0.9)[:, k].sum() / base.loss("pinball_log", 0.9)[:, k].sum() for k in range(4)]
    cut = headline_cut(ours, base, developer)
    assert cut.value == pytest.approx(100 * (1 - np.mean(ratios)))
    assert headline_cut(ours, base, developer, elapsed=[4]).value == pytest.approx(100 * (1 - ratios[2]))
    lost, reference = ours.loss("log_score")[:, 0], base.loss("log_score")[:, 0]
    gap = paired_difference(lost, reference, ours.n[:, 0], developer)
    mine, theirs = ours.mean("log_score")[0], base.mean("log_score")[0]
    assert mine is not None
    assert theirs is not None
    assert gap.value == pytest.approx(mine - theirs)
    assert developer_of_session(rows.take(rows.session == 6), S).tolist() == [3 if k == 6 else 0 for k in range(S)]


def test_a_point_forecast_is_judged_at_the_median_only() -> None:
    scores = score(some_forecasts(), some_rows(), S)[3]
    assert scores.quantiles == (0.5,)
    with pytest.raises(TracestatError, match=r"mean: not judged at quantile 0\.9"):
        scores.loss("pinball_log", 0.9)
    for loss in ("twcrps", "log_score"):
        with pytest.raises(TracestatError, match="point forecast"):
            scores.loss(loss)


def test_a_forecast_of_other_rows_is_refused() -> None:
    with pytest.raises(TracestatError, match="global: 400 forecasts for 399 rows"):
        score(some_forecasts(), some_rows(n=N - 1), S)


def test_few_rows_and_none() -> None:
    rows = some_rows()
    for chosen in (np.zeros(0, dtype=np.intp), np.array([0]), np.flatnonzero(rows.seconds < 1)[:9]):
        few = rows.take(chosen)
        developer = developer_of_session(few, S)
        found = score([take(f, chosen) for f in some_forecasts()], few, S)
        for scores in found:
            assert scores.n.sum() == sum((few.seconds > s).sum() for s in LANDMARKS)
            assert scores.mean("pinball_log")[-1] is None
            assert headline_cut(scores, found[0], developer, 0.5).value is None
            assert np.isfinite(scores.pinball_log).all()


def test_quantiles_and_landmarks_are_the_specified() -> None:
    assert LANDMARKS == (0, 1, 4, 25, 146, 600)
    assert QUANTILES == (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    assert TAU == 3600
