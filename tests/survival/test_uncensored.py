"""The curve of uncensored values from counts per session, against rows and against the general form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from tracestat.errors import TracestatError
from tracestat.survival.clustered import ClusteredCurve
from tracestat.survival.curve import kaplan_meier, kaplan_meier_counts
from tracestat.survival.influence import influence
from tracestat.survival.uncensored import uncensored_curve

AT = np.geomspace(1e-2, 1e4, 73)


def made(values: Any, session: Any, developer: Any = None) -> ClusteredCurve:
    values, session = np.asarray(values, dtype=float), np.asarray(session)
    n = np.zeros((int(session.max()) + 1, AT.size + 1))
    np.add.at(n, (session, np.searchsorted(AT, values, side="left")), 1)
    time, count = np.unique(values, return_counts=True)
    curve = kaplan_meier_counts(time, count, np.zeros_like(count))
    return uncensored_curve(curve, n, np.arange(n.shape[0]) if developer is None else np.asarray(developer), AT)


def clustered_values(rng: np.random.Generator, sessions: int, spread: float) -> tuple[NDArray[Any], NDArray[Any]]:
    size = rng.integers(1, 40, sessions)
    session = np.repeat(np.arange(sessions), size)
    return np.exp(1 + rng.normal(0, spread, sessions)[session] + rng.normal(0, 1, session.size)), session


def test_variance_is_that_of_a_share_of_sums() -> None:
    values, session = clustered_values(np.random.default_rng(2), 50, 1.0)
    curve = made(values, session)
    t = float(AT[40])
    n_g = np.bincount(session)
    within_g = np.bincount(session, weights=values <= t)
    share = within_g.sum() / n_g.sum()
    expected = 50 / 49 * np.sum((within_g - share * n_g) ** 2) / (n_g.sum() * (1 - share)) ** 2
    widened = expected * (stdtrit(49, 0.975) / 1.959963984540054) ** 2
    assert curve.session is not None
    assert curve.session[40] == pytest.approx(widened, rel=1e-9)


def test_close_to_the_general_form() -> None:
    values, session = clustered_values(np.random.default_rng(3), 200, 0.8)
    curve = made(values, session)
    U = influence(values, np.ones(values.size), session, AT)
    general = 200 / 199 * (U**2).sum(axis=0) * (stdtrit(199, 0.975) / 1.959963984540054) ** 2
    middle = (kaplan_meier(values, np.ones(values.size)).survival_at(AT) > 0.05) & (general > 1e-6)
    assert curve.session is not None
    assert middle.sum() > 10
    assert np.allclose(curve.session[middle], general[middle], rtol=0.05)


def test_every_row_a_session_is_at_least_as_wide_as_independent_rows() -> None:
    values = np.random.default_rng(4).lognormal(1, 1, 300)
    curve = made(values, np.arange(300))
    steps = np.cumsum(curve.curve.n_event / curve.curve.at_risk**2)
    known = np.searchsorted(curve.curve.time, AT, side="right")
    floor = np.where(known > 0, steps[np.maximum(known - 1, 0)], 0)
    inside = (known > 0) & (known < 300)
    assert curve.session is not None
    assert np.all(curve.session[inside] >= floor[inside] - 1e-15)


def test_beyond_the_last_value_the_variance_stays() -> None:
    curve = made([1.0, 2, 3, 4], [0, 0, 1, 1])
    assert curve.session is not None
    assert np.isfinite(curve.session).all()
    assert len(set(curve.session[AT > 5].tolist())) == 1


def test_one_session_has_no_interval() -> None:
    found = made([1.0, 2, 3], [0, 0, 0]).quantile(0.5)
    assert found is not None
    assert (found.value, found.low, found.session) == (2.0, None, (None, None))


def test_wrong_input() -> None:
    curve = kaplan_meier([1.0, 2.0], [1, 0])
    with pytest.raises(TracestatError, match="censored"):
        uncensored_curve(curve, np.ones((2, 1)), np.arange(2), [])
    with pytest.raises(TracestatError, match="shape"):
        uncensored_curve(curve, np.ones((2, 3)), np.arange(2), [1.0])
    whole = kaplan_meier([1.0, 2.0], [1, 1])
    with pytest.raises(TracestatError, match="others"):
        uncensored_curve(whole, np.ones((2, 2)), np.arange(2), [1.0])


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_interval_of_a_quantile_covers(q: float) -> None:
    rng = np.random.default_rng(5)
    big, _ = clustered_values(np.random.default_rng(6), 60_000, 0.7)
    truth, runs, hits = float(np.quantile(big, q)), 200, 0
    for _ in range(runs):
        found = made(*clustered_values(rng, 60, 0.7)).quantile(q)
        assert found is not None
        low, high = found.session or (None, None)
        hits += (low is None or low <= truth) and (high is None or truth <= high)
    assert 0.89 <= hits / runs <= 0.99
