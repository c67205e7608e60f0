"""Vectors 21 to 23 of the estimators, and what they do not reach."""

from __future__ import annotations

import numpy as np
import pytest

from tracestat.forecast.counts import Counts
from tracestat.forecast.curves import curves_of
from tracestat.forecast.grid import Grid
from tracestat.forecast.kappa import fit_kappa, marginal_log_likelihood
from tracestat.forecast.shrinkage import discounted, root_hazards, shrunk

D = np.array([[4.0, 3, 1], [1, 0, 1], [0, 6, 2]])
R = np.array([[10.0, 6, 3], [3, 2, 2], [12, 12, 6]])
TOP = np.zeros(3, dtype=np.intp)


def test_shrinkage_with_a_raw_root() -> None:
    children = Counts(D, R)
    root = root_hazards(discounted(children, TOP, 1, None))
    assert root[0] == pytest.approx([0.211538461538, 0.452380952381, 0.375], rel=1e-9)
    q = shrunk(children, root, 5.0)
    assert q[0] == pytest.approx([0.337179487179, 0.478354978355, 0.359375], rel=1e-9)
    curves = curves_of(Grid(np.array([0.0, 1, 2, 3])), q, 1.0)
    assert np.exp(curves.log_survival[1, 1:]) == pytest.approx(
        [0.742788461538, 0.50277178179, 0.296276228555], rel=1e-9
    )
    prior = np.broadcast_to(root, D.shape).ravel()
    assert marginal_log_likelihood(5.0, prior, D.ravel(), R.ravel()) == pytest.approx(-34.2499055746, rel=1e-9)
    fit = fit_kappa(prior, D.ravel(), R.ravel())
    assert fit.kappa == pytest.approx(40.5753, rel=1e-4)
    assert fit.log_likelihood == pytest.approx(-33.4352986158, rel=1e-9)


def test_effective_counts() -> None:
    root = discounted(Counts(D, R), TOP, 1, 5.0)
    first = discounted(Counts(D[:1], R[:1]), TOP[:1], 1, 5.0)
    assert first.ended[0] == pytest.approx([1.6, 1.63636363636, 0.75], rel=1e-9)
    assert first.reached[0] == pytest.approx([4, 3.27272727273, 2.25], rel=1e-9)
    assert root_hazards(root)[0] == pytest.approx([0.24814340589, 0.416149764592, 0.388253843122], rel=1e-9)


def test_curve_between_edges_and_beyond() -> None:
    curves = curves_of(Grid(np.array([0.0, 1, 4, 16])), np.array([[0.2, 0.5, 0.4]]), 1.5)
    times = [0.5, 1, 2, 4, 8, 16, 64]
    s = np.exp(curves.log_survival_at(np.zeros(7, dtype=int), times))
    assert s == pytest.approx([0.894427191, 0.8, 0.565685424949, 0.4, 0.309838667697, 0.24, 0.03], rel=1e-9)
    q = curves.quantile(np.zeros(4, dtype=int), [0.1, 0.5, 0.9, 0.99], 2.0)
    assert q == pytest.approx([2.46913580247, 10.2454784226, 41.9318623073, 194.630463858], rel=1e-9)
