"""Cox and Weibull regressions on counts: lifelines' own, with a clustered variance that knows ties and takes no hour.

Importing this file imports lifelines: import it inside the functions that use it.
"""

from __future__ import annotations

from typing import Any

import lifelines
import numpy as np
from lifelines.fitters.coxph_fitter import SemiParametricPHFitter
from numpy.typing import NDArray

__all__ = ["CoxPHFitter", "tied_score_residuals"]

Floats = NDArray[np.float64]


def tied_score_residuals(
    X: Floats, times: Floats, events: Floats, weights: Floats, beta: Floats, entries: Floats | None = None
) -> Floats:
    """Give the score residuals of Cox's partial likelihood, weighted, where many rows end at one time.

    Parameters
    ----------
    X : ndarray, shape (N, P)
        Covariates.
    times, events, weights : ndarray, shape (N,)
        Durations, whether their end was seen, and how many rows each stands for.
    beta : ndarray, shape (P,)
        Coefficients.
    entries : ndarray, shape (N,), optional
        Time from which each row was watched, below its duration.

    Returns
    -------
    ndarray, shape (N, P)
        ``w [e (x - m(T)) - r sum d(t)/S0(t) (x - m(t))]``, the sum over entry < t <= T, with r = exp(x beta), d the
        weighted events, S0 and m the sum of w r and the mean of x over those at risk, ties included. The columns add up
        to the score.

    References
    ----------
    .. [1] Lin and Wei (1989), The robust inference for the Cox proportional hazards model.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> tied_score_residuals(X, np.array([1.0, 1, 2]), np.ones(3), np.ones(3), np.zeros(1)).round(4).ravel().tolist()
    [-0.2222, 0.1111, -0.2222]
    """
    distinct, place = np.unique(times, return_inverse=True)
    risk = weights * np.exp(X @ beta)
    both = np.column_stack([risk, risk[:, None] * X])

    def added(at: NDArray[np.intp]) -> Floats:
        columns = [np.bincount(at, weights=column, minlength=distinct.size + 1) for column in both.T]
        return np.column_stack(columns)

    at_risk = added(place)[::-1].cumsum(axis=0)[::-1][:-1]
    # how many distinct durations lie at or before the entry: in these the row is not yet watched
    before = np.zeros(times.size, dtype=np.intp)
    if entries is not None:
        before = np.searchsorted(distinct, entries, side="right")
        late = added(before)
        at_risk -= late[::-1].cumsum(axis=0)[::-1][1:]
    S0 = at_risk[:, :1]
    mean = at_risk[:, 1:] / S0
    d = np.bincount(place, weights=weights * events, minlength=distinct.size)[:, None] / S0
    passed = np.vstack([np.zeros((1, X.shape[1] + 1)), np.cumsum(np.hstack([d, d * mean]), axis=0)])
    gone = passed[place + 1] - passed[before]
    out: Floats = (weights * events)[:, None] * (X - mean[place]) - risk[:, None] * (X * gone[:, :1] - gone[:, 1:])
    return out


class _SemiParametric(SemiParametricPHFitter):  # type: ignore[misc]  # lifelines has no types
    def _compute_score_within_strata(self, X: Any, _T: Any, E: Any, weights: Any, *_: Any) -> Any:
        return tied_score_residuals(
            X.to_numpy(dtype=np.float64),
            _T.to_numpy(dtype=np.float64),
            E.to_numpy(dtype=np.float64),
            weights.to_numpy(dtype=np.float64),
            self.params_.to_numpy() * self._norm_std.to_numpy(),
            None if self.entries is None else self.entries.to_numpy(dtype=np.float64),
        )


class CoxPHFitter(lifelines.CoxPHFitter):  # type: ignore[misc]  # lifelines has no types
    """As lifelines' own; its clustered standard errors know ties, and take time in proportion to the rows."""

    def _fit_model_breslow(self, *args: Any, **kwargs: Any) -> Any:
        model = _SemiParametric(
            penalizer=self.penalizer, l1_ratio=self.l1_ratio, strata=self.strata, alpha=self.alpha, label=self._label
        )
        model.fit(*args, **kwargs)
        return model
