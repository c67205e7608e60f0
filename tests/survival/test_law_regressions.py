"""Cox's regression on counts: residuals under ties, by hand and against lifelines where there are none."""

from __future__ import annotations

import warnings
from typing import Any

import lifelines
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from tracestat.survival.law_regressions import CoxPHFitter, tied_score_residuals


def table(n: int, *, ties: bool, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.integers(0, 2, n), rng.normal(size=n)
    times = rng.exponential(np.exp(-0.7 * x + 0.3 * z)) + 0.01
    if ties:
        times = np.ceil(times * 4) / 4
    frame = {"x": x, "z": np.round(z, 1), "t": times, "e": (rng.random(n) < 0.8).astype(int)}
    return pd.DataFrame({**frame, "w": 1, "g": rng.integers(0, 25, n)})


def fitted(kind: type[Any], frame: pd.DataFrame, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind().fit(frame, "t", "e", weights_col="w", cluster_col="g", **options)


def test_without_ties_it_is_lifelines() -> None:
    frame = table(400, ties=False)
    ours, theirs = fitted(CoxPHFitter, frame), fitted(lifelines.CoxPHFitter, frame)
    assert_allclose(ours.params_, theirs.params_, rtol=1e-9)
    assert_allclose(ours.standard_errors_, theirs.standard_errors_, rtol=1e-9)


def residuals_by_hand(
    X: np.ndarray, t: np.ndarray, e: np.ndarray, w: np.ndarray, beta: np.ndarray, entry: np.ndarray
) -> np.ndarray:
    r = np.exp(X @ beta)
    out = np.zeros(X.shape)
    for k in np.unique(t[e == 1]):
        risk = (t >= k) & (entry < k)
        S0 = (w * r)[risk].sum()
        mean = ((w * r)[:, None] * X)[risk].sum(axis=0) / S0
        d = w[(t == k) & (e == 1)].sum()
        ends = (t == k) & (e == 1)
        out[ends] += w[ends, None] * (X[ends] - mean)
        out[risk] -= (w * r)[risk, None] * d / S0 * (X[risk] - mean)
    return out


def test_residuals_by_hand_with_ties_weights_and_late_entry() -> None:
    rng = np.random.default_rng(1)
    frame = table(80, ties=True)
    X = frame[["x", "z"]].to_numpy(dtype=float)
    t, e = frame["t"].to_numpy(), frame["e"].to_numpy(dtype=float)
    w, beta = rng.integers(1, 5, 80).astype(float), np.array([0.4, -0.2])
    entry = np.where(rng.random(80) < 0.5, 0.0, t - 0.25)
    for begin in (np.zeros(80), entry):
        found = tied_score_residuals(X, t, e, w, beta, begin)
        assert_allclose(found, residuals_by_hand(X, t, e, w, beta, begin), atol=1e-12)
    assert_allclose(
        tied_score_residuals(X, t, e, w, beta), residuals_by_hand(X, t, e, w, beta, np.zeros(80)), atol=1e-12
    )


def test_counts_are_rows() -> None:
    frame = table(2_000, ties=True)
    frame["z"] = np.sign(frame["z"])
    cells = frame.groupby(["x", "z", "t", "e", "g"], as_index=False)["w"].sum()
    assert len(cells) < 1_400
    each, together = fitted(CoxPHFitter, frame), fitted(CoxPHFitter, cells)
    # lifelines weighs the tied events of a cell as one kind: Efron's correction differs a little
    assert_allclose(each.params_, together.params_, rtol=0.02)
    assert_allclose(each.standard_errors_, together.standard_errors_, rtol=0.05)
