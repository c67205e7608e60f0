"""Proper scores of a forecast that looks again at every landmark: pinball, threshold-weighted CRPS, log score.

Everything is a score of min(T, tau) given T > s, so that the tail beyond the window, which nobody observes well, says
nothing; a row censored before tau takes part as far as it was watched.
"""

from __future__ import annotations

__all__ = ["CLOCK", "LANDMARKS", "QUANTILES", "TAU"]

LANDMARKS = (0.0, 1.0, 4.0, 25.0, 146.0, 600.0)
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
TAU = 3600.0
CLOCK = 1e-3  # seconds; the logarithm of a shorter time is taken there
