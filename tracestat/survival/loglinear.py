"""Newton's method for ln hazard = Z theta, for one data set or thousands of them at once.

Slope and curvature are the same model with two and three columns; the full fit, the fits without one cluster and
the bootstrap samples are the same computation on other sums. So the iteration stands here once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LogLinearFit", "fit_loglinear", "powers"]

_STEP_LIMIT = 2.0
_MAX_ETA = 600.0  # exp of it is still finite after multiplication by any exposure


@dataclass(frozen=True, slots=True)
class LogLinearFit:
    """Fits of ``D_j ~ Poisson(X_j exp(Z_j theta))``.

    Attributes
    ----------
    theta : ndarray, shape (..., p)
        Estimates; NaN where there is no maximum.
    covariance : ndarray, shape (..., p, p)
        Inverse information at the estimates, the variance if events were independent.
    """

    theta: NDArray[np.float64]
    covariance: NDArray[np.float64]


def powers(x: NDArray[np.float64], centre: float, degree: int) -> NDArray[np.float64]:
    """Give the columns 1, z, ..., z^degree with z = x - centre.

    Parameters
    ----------
    x : ndarray, shape (J,)
        Places of the bins.
    centre : float
        Point at which z is 0.
    degree : int
        Highest power.

    Returns
    -------
    ndarray, shape (J, degree + 1)
        The design Z.

    Examples
    --------
    >>> powers(np.array([1.0, 3.0]), 1.0, 2)
    array([[1., 0., 0.],
           [1., 2., 4.]])
    """
    return np.vander(x - centre, degree + 1, increasing=True)


def _inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    # closed forms: many 2 x 2 or 3 x 3 matrices at once, and a singular one gives NaN there and an error nowhere
    m = matrix
    out = np.empty_like(m)
    if m.shape[-1] == 2:
        out[..., 0, 0], out[..., 1, 1] = m[..., 1, 1], m[..., 0, 0]
        out[..., 0, 1] = out[..., 1, 0] = -m[..., 0, 1]
        determinant = m[..., 0, 0] * m[..., 1, 1] - m[..., 0, 1] ** 2
    else:
        a, b, c = m[..., 0, 0], m[..., 0, 1], m[..., 0, 2]
        d, e, f = m[..., 1, 1], m[..., 1, 2], m[..., 2, 2]
        out[..., 0, 0], out[..., 1, 1], out[..., 2, 2] = d * f - e * e, a * f - c * c, a * d - b * b
        out[..., 0, 1] = out[..., 1, 0] = c * e - b * f
        out[..., 0, 2] = out[..., 2, 0] = b * e - c * d
        out[..., 1, 2] = out[..., 2, 1] = b * c - a * e
        determinant = a * out[..., 0, 0] + b * out[..., 0, 1] + c * out[..., 0, 2]
    safe = np.where(determinant > 0, determinant, np.nan)
    inverse: NDArray[np.float64] = out / safe[..., None, None]
    return inverse


def fit_loglinear(
    D: NDArray[np.float64],
    X: NDArray[np.float64],
    Z: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    *,
    tolerance: float = 1e-12,
    max_steps: int = 60,
) -> LogLinearFit:
    """Maximise ``sum_j D_j eta_j - X_j exp(eta_j)``, eta = Z theta.

    Parameters
    ----------
    D, X : ndarray, shape (..., J)
        Events and exposure per bin, one data set per leading index.
    Z : ndarray, shape (J, p)
        Design, p = 2 or 3, first column 1.
    start : ndarray, shape (p,) or (..., p), optional
        Where to begin; default a constant hazard.
    tolerance : float, default 1e-12
        Largest last step; what it leaves undone is of the order of its square.
    max_steps : int, default 60
        Steps after which a data set counts as having no maximum. Steps are limited to 2 in each direction.

    Returns
    -------
    LogLinearFit
        NaN for data sets with events in fewer than p bins, and for those that did not converge.

    References
    ----------
    .. [1] Holford (1980), The analysis of rates and of survivorship using log-linear models.
    .. [2] Laird and Olivier (1981), Covariance analysis of censored survival data using log-linear analysis.

    Examples
    --------
    >>> D, X = np.array([100.0, 50, 60, 40]), np.array([100.0, 80, 70, 90])
    >>> fit_loglinear(D, X, powers(np.arange(4.0), 0.0, 1)).theta.round(9)
    array([-0.03289106, -0.21137855])
    """
    n_columns = Z.shape[1]
    shape = D.shape[:-1]
    products = (Z[:, :, None] * Z[:, None, :]).reshape(Z.shape[0], -1)
    possible = np.count_nonzero(D > 0, axis=-1) >= n_columns
    theta = np.zeros((*shape, n_columns))
    if start is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            theta[..., 0] = np.log(D.sum(axis=-1) / X.sum(axis=-1))
        theta[~np.isfinite(theta)] = 0.0
    else:
        theta[...] = start
    observed = D @ Z
    last = np.full(shape, np.inf)
    covariance = np.full((*shape, n_columns, n_columns), np.nan)
    mean = np.empty(D.shape)  # one buffer for all steps: with thousands of data sets its pages cost more than the sums
    for _ in range(max_steps):
        np.matmul(theta, Z.T, out=mean)
        np.clip(mean, -_MAX_ETA, _MAX_ETA, out=mean)
        np.exp(mean, out=mean)
        mean *= X
        covariance = _inverse((mean @ products).reshape(*shape, n_columns, n_columns))
        step = (covariance @ (observed - mean @ Z)[..., None])[..., 0]
        np.clip(step, -_STEP_LIMIT, _STEP_LIMIT, out=step)
        last = np.where(possible, np.abs(step).max(axis=-1), 0.0)
        theta = np.where(np.isfinite(step) & possible[..., None], theta + step, theta)
        if not np.any(last > tolerance):
            break
    # a step that rounding keeps above the tolerance is no failure; NaN (no inverse) is
    bad = ~possible | ~(last <= max(tolerance, 1e-8))
    theta[bad] = np.nan
    covariance[bad] = np.nan
    return LogLinearFit(theta, covariance)
