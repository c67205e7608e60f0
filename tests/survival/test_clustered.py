"""The curve with clustered intervals, put together from what a database adds up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from tracestat.results import Interval
from tracestat.survival.clustered import clustered_curve
from tracestat.survival.curve import kaplan_meier, log_log_interval
from tracestat.survival.headline import complement
from tracestat.survival.influence import clustered_variance, influence

Floats = NDArray[np.float64]
TIMES = np.array([1, 2, 2, 3, 4, 5, 5, 6, 8, 9], dtype=float)
EVENTS = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1, 0], dtype=float)
SESSION = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
AT = [1.0, 3.5, 5.0, 8.0]


def made(developer: list[int]) -> object:
    curve = kaplan_meier(TIMES, EVENTS)
    place = np.searchsorted(curve.time, TIMES)
    V = np.cumsum(curve.n_event / curve.at_risk**2)
    row = EVENTS / curve.at_risk[place] - V[place]
    step = np.searchsorted(AT, TIMES)
    n, score = np.zeros((5, 5)), np.zeros((5, 5))
    np.add.at(n, (SESSION, step), 1)
    np.add.at(score, (SESSION, step), row)
    return clustered_curve(curve, n, score, np.array(developer), AT)


def widened(variance: Floats, n_clusters: int) -> Floats:
    """Never below the variance of independent rows, and as wide as Student's t."""
    curve = kaplan_meier(TIMES, EVENTS)
    steps = np.concatenate([[0], np.cumsum(curve.n_event / curve.at_risk**2)])
    independent = steps[np.searchsorted(curve.time, AT, side="right")]
    return np.maximum(variance, independent) * (stdtrit(n_clusters - 1, 0.975) / ndtri(0.975)) ** 2


def test_variance_is_exact_at_the_chosen_times() -> None:
    # vector 5: sum of U^2 for H(5), times 5/4
    found = made([0, 1, 2, 3, 4])
    direct = clustered_variance(influence(TIMES, EVENTS, SESSION, AT))
    assert direct is not None
    assert direct[2] == pytest.approx(0.126922524724, rel=1e-9)
    np.testing.assert_allclose(found.session, widened(direct, 5), rtol=1e-12)  # type: ignore[attr-defined]


def test_developers_are_sums_of_sessions() -> None:
    found = made([0, 0, 1, 1, 2])
    direct = clustered_variance(influence(TIMES, EVENTS, np.array([0, 0, 1, 1, 2])[SESSION], AT))
    assert direct is not None
    np.testing.assert_allclose(found.developer, widened(direct, 3), rtol=1e-12)  # type: ignore[attr-defined]
    assert (found.n_sessions, found.n_developers) == (5, 3)  # type: ignore[attr-defined]


def test_intervals_of_the_curve() -> None:
    found = made([0, 0, 1, 1, 2])
    (interval,) = found.survival([5.0])  # type: ignore[attr-defined]
    low, high = log_log_interval([0.411428571429], [found.session[2]])  # type: ignore[attr-defined]
    assert interval.value == pytest.approx(0.411428571429, rel=1e-9)
    assert interval.session == pytest.approx((low[0], high[0]), rel=1e-6)
    assert interval.method == "session influence"
    (within,) = found.within([5.0])  # type: ignore[attr-defined]
    assert within.value == pytest.approx(1 - interval.value)
    assert within.low == pytest.approx(1 - interval.high)
    assert found.quantile(0.5).value == 5.0  # type: ignore[attr-defined]
    assert found.quantile(0.95) is None  # type: ignore[attr-defined]


def test_one_developer_has_no_interval() -> None:
    found = made([0, 0, 0, 0, 0])
    (interval,) = found.survival([5.0])  # type: ignore[attr-defined]
    assert interval.developer == (None, None)
    assert interval.session[0] is not None


def test_complement_keeps_missing_bounds() -> None:
    turned = complement(Interval(0.25, None, 0.5, session=(None, 0.5)))
    assert turned == Interval(0.75, 0.5, None, session=(0.5, None))
    assert complement(turned) == Interval(0.25, None, 0.5, session=(None, 0.5))
