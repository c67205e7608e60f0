from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from tests.survival.data import quick
from tracestat.errors import TracestatError
from tracestat.survival.bins import FINE_EDGES
from tracestat.survival.piecewise import piecewise_hazard, piecewise_integral, piecewise_survival

EDGES = (0.0, 1.0, 2.5, 6.0, 20.0)


def test_hazard_of_bins() -> None:
    assert piecewise_hazard([[2, 0, 0]], [[4.0, 3.0, 0.0]]).tolist() == [[0.5, 0, 0]]


def test_rows_that_all_end_on_a_lower_edge_end_at_once() -> None:
    hazard = piecewise_hazard([0, 3, 0, 0], [3.0, 0.0, 0.0, 0.0])
    assert piecewise_survival(hazard, EDGES, 1.0) == 1
    assert piecewise_survival(hazard, EDGES, 1.001) == 0
    assert_allclose(piecewise_integral(hazard, EDGES, 0, 20), 1, rtol=1e-6)


def test_exponential_has_the_same_mean_from_every_point() -> None:
    # mean 1,000 s within a window of 3,600 s
    hazard = np.full(len(FINE_EDGES) - 1, 1e-3)
    for t in (0.0, 1.0, 146.0, 600.0):
        mean = piecewise_integral(hazard, FINE_EDGES, t, t + 3_600) / piecewise_survival(hazard, FINE_EDGES, t)
        assert_allclose(mean, 972.676277553, rtol=1e-9)


def test_no_hazard_is_a_rectangle() -> None:
    assert piecewise_integral(np.zeros(4), EDGES, 0.5, 7.0) == 6.5
    assert piecewise_integral(np.zeros(4), EDGES, 3.0, 3.0) == 0


@pytest.mark.parametrize(("a", "b"), [(-1.0, 2.0), (3.0, 2.0), (0.0, 21.0)])
def test_outside_the_bins(a: float, b: float) -> None:
    with pytest.raises(TracestatError, match="within bins"):
        piecewise_integral(np.zeros(4), EDGES, a, b)


def test_bins_begin_at_zero() -> None:
    with pytest.raises(TracestatError):
        piecewise_survival(np.zeros(1), (1.0, 2.0), 1.5)


@quick
@given(st.lists(st.floats(0, 3), min_size=4, max_size=4), st.floats(0, 20), st.floats(0, 20))
def test_integral_against_quadrature(hazard: list[float], a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    rate = np.array(hazard)

    def survival(t: float) -> float:
        return float(
            np.exp(-sum(r * max(0.0, min(t, hi) - lo) for r, lo, hi in zip(rate, EDGES, EDGES[1:], strict=False)))
        )

    points = [e for e in EDGES if low < e < high]
    bounds = [low, *points, high]
    area = sum(quad(survival, u, v)[0] for u, v in pairwise(bounds))
    assert_allclose(piecewise_integral(rate, EDGES, low, high), area, rtol=1e-6, atol=1e-9)
    assert_allclose(piecewise_survival(rate, EDGES, low), survival(low), rtol=1e-12)


def test_many_clusters_at_once() -> None:
    rng = np.random.default_rng(0)
    rates = rng.random((5, 4))
    together = piecewise_integral(rates, EDGES, 0.5, 12.0)
    assert_allclose(together, [piecewise_integral(r, EDGES, 0.5, 12.0) for r in rates], rtol=1e-12)
