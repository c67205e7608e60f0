"""ln hazard and cumulative hazard of the smooth families, in plain numpy.

They are lifelines' own formulas. Its functions pass through autograd, which takes many times as long as the numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaln, log_ndtr

from tracestat.survival.laws import Law

__all__ = ["LAWS"]

Floats = NDArray[np.float64]
_NEAR_LOGNORMAL = 0.02
_LEAST = 1e-300  # a survival below counts as this
_LARGEST_EXP = 600.0
_LN_ROOT = 0.5 * np.log(2 * np.pi)


def _weibull_log_hazard(p: Floats, times: Floats) -> Floats:
    scale, shape = np.log(p[0]), p[1]
    out: Floats = np.log(shape) - scale + (shape - 1) * (np.log(times) - scale)
    return out


def _weibull_cumulative(p: Floats, times: Floats) -> Floats:
    out: Floats = np.exp(np.minimum(p[1] * (np.log(times) - np.log(p[0])), _LARGEST_EXP))
    return out


def _lognormal_log_hazard(p: Floats, times: Floats) -> Floats:
    log_time = np.log(times)
    z = (log_time - p[0]) / p[1]
    out: Floats = -0.5 * z * z - _LN_ROOT - np.log(p[1]) - log_time - log_ndtr(-z)
    return out


def _lognormal_cumulative(p: Floats, times: Floats) -> Floats:
    out: Floats = -log_ndtr((p[0] - np.log(times)) / p[1])
    return out


def _loglogistic_log_hazard(p: Floats, times: Floats) -> Floats:
    log_time = np.log(times)
    odds = p[1] * (log_time - np.log(p[0]))
    out: Floats = np.log(p[1]) - log_time + odds - np.logaddexp(odds, 0.0)
    return out


def _loglogistic_cumulative(p: Floats, times: Floats) -> Floats:
    out: Floats = np.logaddexp(p[1] * (np.log(times) - np.log(p[0])), 0.0)
    return out


def _gamma_cumulative(p: Floats, times: Floats) -> Floats:
    return _passed(p[2], (np.log(times) - p[0]) / np.exp(p[1]))


def _gamma_log_density(p: Floats, times: Floats) -> Floats:
    log_time = np.log(times)
    out: Floats = _density(p[2], (log_time - p[0]) / np.exp(p[1])) - p[1] - log_time
    return out


def _gamma_log_hazard(p: Floats, times: Floats) -> Floats:
    return _gamma_log_density(p, times) + _gamma_cumulative(p, times)


def _passed(shape: float, z: Floats) -> Floats:
    """Give -ln S of the standardised ln time."""
    if abs(shape) < _NEAR_LOGNORMAL:
        return _through_zero(_passed, -log_ndtr(-z), shape, z)
    a = shape**-2
    x = np.clip(a * np.exp(np.minimum(shape * z, _LARGEST_EXP)), 1e-300, 1e300)
    return -np.log(np.maximum(gammaincc(a, x) if shape > 0 else gammainc(a, x), _LEAST))


def _density(shape: float, z: Floats) -> Floats:
    """Give the ln density of the standardised ln time."""
    if abs(shape) < _NEAR_LOGNORMAL:
        return _through_zero(_density, -0.5 * z * z - _LN_ROOT, shape, z)
    a, up = shape**-2, shape * z
    out: Floats = np.log(abs(shape)) + a * (np.log(a) + up - np.exp(np.minimum(up, _LARGEST_EXP))) - gammaln(a)
    return out


def _through_zero(function: Callable[[float, Floats], Floats], at_zero: Floats, shape: float, z: Floats) -> Floats:
    """Put a parabola through three values of lambda: near 0 the gamma functions lose all digits."""
    below, above = function(-_NEAR_LOGNORMAL, z), function(_NEAR_LOGNORMAL, z)
    part = shape / _NEAR_LOGNORMAL
    return at_zero + part * (above - below) / 2 + part**2 * (above + below - 2 * at_zero) / 2


LAWS: dict[str, Law] = {
    "weibull": Law("weibull", (True, True), _weibull_log_hazard, _weibull_cumulative),
    "lognormal": Law("lognormal", (False, True), _lognormal_log_hazard, _lognormal_cumulative),
    "loglogistic": Law("loglogistic", (True, True), _loglogistic_log_hazard, _loglogistic_cumulative),
    "gengamma": Law(
        "gengamma", (False, False, False), _gamma_log_hazard, _gamma_cumulative, log_density=_gamma_log_density
    ),
}
"""The families by name, with the parameters of lifelines."""
