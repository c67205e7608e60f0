from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.survival.data import CLUSTERS, ENTRY, EVENTS, TIMES, R, quick, rows
from tracestat.errors import TracestatError
from tracestat.resample import sum_by
from tracestat.survival.curve import kaplan_meier
from tracestat.survival.influence import clustered_variance, influence, influence_from_cells


def test_clustered_variance() -> None:
    frozen = R["clustered"]
    U = influence(TIMES, EVENTS, CLUSTERS, [frozen["at"]])
    assert_allclose((U**2).sum(axis=0), frozen["sum_of_squares"], rtol=1e-9)
    assert_allclose((U**2).sum(axis=0), frozen["std_chaz"] ** 2, rtol=1e-9)
    assert_allclose(clustered_variance(U), frozen["variance"], rtol=1e-9)


def test_every_row_its_own_cluster_adds_up_to_zero() -> None:
    U = influence(TIMES, EVENTS, np.arange(10), [1, 3, 5, 8])
    assert U.shape == (10, 4)
    assert_allclose(U.sum(axis=0), 0, atol=1e-14)


def test_one_cluster_has_no_variance() -> None:
    assert clustered_variance([[0.1, 0.2]]) is None
    assert influence(TIMES, EVENTS, CLUSTERS, []).shape == (5, 0)


def test_independent_rows_come_close_to_the_usual_variance() -> None:
    rng = np.random.default_rng(0)
    times, events = rng.exponential(10, 4_000), rng.random(4_000) < 0.7
    curve = kaplan_meier(times, events)
    variance = clustered_variance(influence(times, events, np.arange(4_000), [5.0, 15.0]))
    assert variance is not None
    assert_allclose(variance, curve.greenwood[curve.index([5.0, 15.0])], rtol=0.05)


def test_copied_rows_raise_the_variance() -> None:
    rng = np.random.default_rng(1)
    times, clusters = np.repeat(rng.exponential(10, 200), 5), np.repeat(np.arange(200), 5)
    by_row = clustered_variance(influence(times, np.ones(1_000), np.arange(1_000), [8.0]))
    by_cluster = clustered_variance(influence(times, np.ones(1_000), clusters, [8.0]))
    assert by_row is not None
    assert by_cluster is not None
    assert_allclose(by_cluster / by_row, 5, rtol=0.02)


def by_definition(data: dict[str, Any], t: float) -> np.ndarray:
    times, events = data["times"], data["events"]
    entry = np.where(data["entry"] > 0, data["entry"], -np.inf)
    curve = kaplan_meier(times, events, data["entry"])
    U = np.zeros(times.size)
    for i in range(times.size):
        for k, tk in enumerate(curve.time):
            if entry[i] < tk <= min(times[i], t):
                U[i] -= curve.n_event[k] / curve.at_risk[k] ** 2
            if tk == times[i] <= t:
                U[i] += events[i] / curve.at_risk[k]
    return sum_by(U, data["clusters"], int(data["clusters"].max()) + 1)


@quick
@given(rows(entries=True))
def test_equal_to_the_definition(data: dict[str, Any]) -> None:
    at = [0.0, 0.25, 3.1, 8.0, 20.0]
    U = influence(data["times"], data["events"], data["clusters"], at, data["entry"])
    assert_allclose(U, np.stack([by_definition(data, t) for t in at], axis=1), atol=1e-10)
    assert_allclose(U.sum(axis=0), 0, atol=1e-10)


@quick
@given(rows())
def test_sums_per_cell_give_the_same(data: dict[str, Any]) -> None:
    times, events, clusters = data["times"], data["events"], data["clusters"]
    at = np.array([0.25, 3.1, 8.0])
    curve = kaplan_meier(times, events)
    place = curve.index(times)
    score = events / curve.at_risk[place] - curve.influence_sum[place]
    cell = np.searchsorted(at, times, side="left")  # (t_{m-1}, t_m]
    n_clusters = int(clusters.max()) + 1
    n, scores = (
        sum_by(values, clusters * 4 + cell, n_clusters * 4).reshape(n_clusters, 4)
        for values in (np.ones(times.size), score)
    )
    V = np.concatenate([[0.0], curve.influence_sum])[curve.index(at) + 1]
    assert_allclose(influence_from_cells(n, scores, V), influence(times, events, clusters, at), atol=1e-10)


@quick
@given(rows())
def test_merging_clusters_is_additive(data: dict[str, Any]) -> None:
    at = [1.0, 5.0]
    parts = influence(data["times"], data["events"], data["clusters"], at)
    merged = influence(data["times"], data["events"], np.zeros(data["times"].size, dtype=int), at)
    assert_allclose(parts.sum(axis=0), merged[0], atol=1e-10)


def test_late_entry_of_the_toy_adds_up_to_zero() -> None:
    assert_allclose(influence(TIMES, EVENTS, CLUSTERS, [1, 3, 5, 8], ENTRY).sum(axis=0), 0, atol=1e-14)


def test_cells_must_fit() -> None:
    with pytest.raises(TracestatError, match="do not fit"):
        influence_from_cells([[1, 2]], [[0.1, 0.2]], [0.1, 0.2])
