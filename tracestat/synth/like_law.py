"""Laws of the tool pauses of each class: a fast part below the first edge, and a falling hazard above it.

Above 0.1285 s the hazard of class c is ``exp(a_c + b_c ln t + g(ln t))``, the same for both providers. ``b_c`` is the
slope asked for; ``g`` is zero up to 4 s and piecewise linear after, common to all classes, and is what lets the
mixture meet three residual lives. Below the edge lies the share ``p_c`` of pauses that a log bin does not see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASSES", "EDGE", "FLATTEST", "KNOTS", "LAST", "STEEPEST", "ClassLaw", "Law", "law_of"]

Array = NDArray[np.float64]

EDGE = 0.1285
LAST = 3746.0
"""146 s and the window of an hour: what lies above counts for a residual life only by its number."""
KNOTS = (EDGE, 4.0, 25.0, 146.0, 600.0, LAST)
GRID: Array = np.exp(np.linspace(np.log(EDGE), np.log(LAST), 300))


@dataclass(frozen=True, slots=True)
class ClassLaw:
    """Where the fit of one class starts.

    Attributes
    ----------
    tool_class : str
    fast : float
        Share of pauses below the first edge.
    shortest : float
        Seconds.
    slope, rate : float
        ``b_c`` and ``exp(a_c)``.
    """

    tool_class: str
    fast: float
    shortest: float
    slope: float
    rate: float


CLASSES: dict[str, ClassLaw] = {
    law.tool_class: law
    for law in (
        ClassLaw("shell", 0.45, 0.012, -0.68, 0.22),
        ClassLaw("read", 0.85, 0.002, -0.74, 0.25),
        ClassLaw("edit", 0.75, 0.004, -0.65, 0.25),
        ClassLaw("plan", 0.85, 0.002, -0.66, 0.30),
        ClassLaw("agent", 0.0, EDGE, -0.62, 0.09),
        ClassLaw("web", 0.0, EDGE, -0.61, 0.16),
        ClassLaw("mcp", 0.30, 0.010, -0.62, 0.20),
        ClassLaw("poll", 0.08, 0.004, -0.56, 0.06),
    )
}


STEEPEST, FLATTEST = "read", "poll"
"""The classes at the ends of the range of slopes: the others are inside it at any size."""


@dataclass(frozen=True, slots=True)
class Law:
    """The fitted law of one class.

    Attributes
    ----------
    fast, shortest : float
    cumulative : array of float, shape (grid,)
        Cumulative hazard from the first edge on, at `GRID`.
    """

    fast: float
    shortest: float
    cumulative: Array

    def survival(self, seconds: float) -> float:
        """Give P(T > t) for t from the first edge to `LAST`."""
        return float((1.0 - self.fast) * np.exp(-np.interp(np.log(seconds), np.log(GRID), self.cumulative)))

    def quantiles(self, left: Array) -> Array:
        """Give the durations that a share `left` of the pauses outlasts.

        Parameters
        ----------
        left : array of float, shape (n,)
            In (0, 1).

        Returns
        -------
        array of float, shape (n,)
            Seconds. What outlasts `LAST` follows a Pareto law of index 2, a day at most.
        """
        slow = 1.0 - self.fast
        with np.errstate(divide="ignore"):
            hazard = np.maximum(-np.log(left / slow), 0.0)
        out = np.exp(np.interp(hazard, self.cumulative, np.log(GRID)))
        if self.fast > 0:
            below = left > slow
            out[below] = self.shortest * (EDGE / self.shortest) ** ((1.0 - left[below]) / self.fast)
        last = slow * np.exp(-self.cumulative[-1])
        beyond = left < last
        out[beyond] = np.minimum(LAST * (last / left[beyond]) ** 0.5, 86_400.0)
        return np.asarray(out)


def law_of(start: ClassLaw, level: float, slope: float, bend: Array, fast: float) -> Law:
    """Make the law of a class.

    Parameters
    ----------
    start : ClassLaw
    level : float
        Added to the log hazard.
    slope : float
        ``b_c``.
    bend : array of float, shape (6,)
        ``g`` at `KNOTS`.
    fast : float
        Share below the first edge.

    Returns
    -------
    Law

    Examples
    --------
    >>> flat = law_of(CLASSES["shell"], 0.0, -0.5, np.zeros(6), 0.0)
    >>> round(float(flat.cumulative[-1]), 2), round(0.22 / 0.5 * (3746**0.5 - 0.1285**0.5), 2)
    (26.77, 26.77)
    """
    logs = np.log(GRID)
    hazard = start.rate * np.exp(level + slope * logs + np.interp(logs, np.log(KNOTS), bend))
    steps = (hazard[1:] * GRID[1:] + hazard[:-1] * GRID[:-1]) / 2 * np.diff(logs)
    return Law(fast, start.shortest, np.concatenate([[0.0], np.cumsum(steps)]))
