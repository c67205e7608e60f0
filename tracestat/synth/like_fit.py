"""Finds the laws whose mixture shows the figures asked for: as close to the starting laws as possible.

The figures are equations in ten numbers: level and tilt of all hazards, size of the fast part, four bends after 4 s,
level of the agents, number and median of the human waits. Where no solution exists, the shifted figures are kept and
the others give way, each by as little as possible in units of its printed precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tracestat.synth.like_figures import FIGURES, Targets
from tracestat.synth.like_law import CLASSES, FLATTEST, GRID, KNOTS, LAST, STEEPEST, Law, law_of

__all__ = ["BASH_LIMITS", "HUMAN_SIGMA", "Fit", "fit", "tilted"]

Array = NDArray[np.float64]

BASH_LIMITS = ((120.0, 0.2), (600.0, 0.35))
"""Limit in seconds and the share of Bash calls that run under it."""
HUMAN_SIGMA = 1.0
_SOLVED = (
    "article.mrl.4", "article.mrl.25", "article.mrl.146", "article.lt1s", "article.gt1m.calls", "article.approval",
)  # fmt: skip
# level, tilt, log odds of the fast part, g at four knots, level of agents, share of human waits, log of their median
_SPREAD = np.array([0.5, 0.02, 1.0, 0.2, 0.3, 0.5, 0.8, 0.5, 0.01, 0.5])
_BOUNDS = (
    (-2.0, 2.0), (-0.03, 0.03), (-4.0, 4.0), (-2.0, 2.0), (-3.0, 3.0), (-4.0, 4.0), (-6.0, 4.0), (-3.0, 2.0),
    (0.004, 0.12), (2.5, 8.5),
)  # fmt: skip
_STEEPEST, _FLATTEST = -2.5, -0.06
"""Local slopes of every class between the knots: always falling, so that no rise is significant."""
_LONGEST_MEAN = 2e4  # seconds, of pauses above LAST: aimed at
_LONGEST_MEAN_AT_MOST = 2e5


@dataclass(frozen=True, slots=True)
class Fit:
    """What was found.

    Attributes
    ----------
    laws : dict of str to Law
        By class, of both providers; Codex' polls and launches get their own fast parts later.
    slopes : dict of str to float
        ``b_c`` by class.
    levels : dict of str to float
        Added to the log hazard of each class.
    bend : tuple of float
        ``g`` at the knots.
    human_share : float
        Of Claude's pauses.
    human_median : float
        Seconds.
    solved : bool
        Whether every equation holds.
    """

    laws: dict[str, Law]
    slopes: dict[str, float]
    levels: dict[str, float]
    bend: tuple[float, ...]
    human_share: float
    human_median: float
    solved: bool


def tilted(found: Fit, tool_class: str, slope: float) -> Fit:
    """Give the fit with another slope for one class, the rest as it is."""
    law = found.laws[tool_class]
    made = law_of(CLASSES[tool_class], found.levels[tool_class], slope, np.asarray(found.bend), law.fast)
    return replace(found, laws={**found.laws, tool_class: made}, slopes={**found.slopes, tool_class: slope})


class _Equations:
    """The six equations, by relative or printed precision, as functions of the ten numbers."""

    def __init__(self, asked: Targets, shares: dict[str, float], calls_per_pause: float, limits: tuple[float, ...]):
        self.asked, self.shares, self.ratio = asked, shares, calls_per_pause
        self.limits = limits
        steep, flat = CLASSES[STEEPEST].slope, CLASSES[FLATTEST].slope
        low, high = asked.values["article.hazard_slope.steepest"], asked.values["article.hazard_slope.flattest"]
        # the slopes of all classes move with the ends of their range
        self.base = {n: high + (law.slope - flat) * (low - high) / (steep - flat) for n, law in CLASSES.items()}
        self.factors = np.array([asked.shifts.get(name, 1.0) for name in (*_SOLVED, "article.gt1m.time")])
        half = {f.id: f.half_unit for f in FIGURES}
        self.units = np.array([half[name] for name in _SOLVED])
        self.shifted = np.array([name in asked.shifts for name in _SOLVED])
        self._last: tuple[bytes, tuple[Array, float]] | None = None
        self.shift(1.0)

    def shift(self, part: float) -> None:
        """Ask for the figures as published (0), as shifted (1), or in between."""
        asked = np.array([self.asked.values[name] for name in (*_SOLVED, "article.gt1m.time")])
        asked *= self.factors ** (part - 1.0)
        self.values, self.over_time, self._last = asked[:-1], float(asked[-1]), None

    def slopes(self, x: Array) -> dict[str, float]:
        return {n: slope + (0.0 if n in (STEEPEST, FLATTEST) else float(x[1])) for n, slope in self.base.items()}

    def levels(self, x: Array) -> dict[str, float]:
        return {name: float(x[0]) + (float(x[7]) if name == "agent" else 0.0) for name in CLASSES}

    def laws(self, x: Array) -> dict[str, Law]:
        slopes, levels = self.slopes(x), self.levels(x)
        bend = np.concatenate([[0.0, 0.0], x[3:7]])
        out = {}
        for name, start in CLASSES.items():
            fast = start.fast
            if fast > 0:
                fast = 1.0 / (1.0 + (1.0 - fast) / fast * math.exp(-float(x[2])))
            out[name] = law_of(start, levels[name], slopes[name], bend, fast)
        return out

    def curve(self, x: Array) -> Array:
        """Survival of the tool pauses at the grid."""
        laws = self.laws(x)
        total = np.zeros(GRID.size)
        for name, share in self.shares.items():
            law = laws[name]
            part = (1.0 - law.fast) * np.exp(-law.cumulative)
            if name == "shell":
                for limit, (_, cut) in zip(self.limits, BASH_LIMITS, strict=True):
                    # a limited row that gets this far ends here: what is left are the others
                    part = part - (1.0 - law.fast) * cut * np.exp(-law.cumulative) * (limit < GRID)
            total += share * part
        return total

    def found(self, x: Array) -> tuple[Array, float]:
        """Give the six values, and the mean of pauses above `LAST` that the time above a minute needs."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:  # equations and bounds ask for the same point in turn
            self._last = key, self._found(x)
        return self._last[1]

    def _found(self, x: Array) -> tuple[Array, float]:
        s = self.curve(x)
        area = np.concatenate([[0.0], np.cumsum((s[1:] + s[:-1]) / 2 * np.diff(GRID))])
        logs = np.log(GRID)

        def at(t: float) -> float:
            return float(np.exp(np.interp(math.log(t), logs, np.log(s))))

        def upto(t: float) -> float:
            return float(np.interp(t, GRID, area)) + max(0.0, t - LAST) * float(s[-1])

        lives = [(upto(t + 3600.0) - upto(t)) / at(t) for t in (4.0, 25.0, 146.0)]
        human, mu, sigma = float(x[8]), float(x[9]), HUMAN_SIGMA
        edge = (math.log(60.0) - mu) / sigma
        human_mean = math.exp(mu + sigma**2 / 2)
        human_below = human_mean * float(ndtr(edge - sigma))
        tool = 1.0 - human
        over = tool * at(60.0) + human * float(ndtr(-edge))
        # fast parts and the calls beside a longer one add some 20 ms each
        below = tool * (upto(60.0) + 0.02 - 60.0 * at(60.0)) + human * human_below + 0.02 * (self.ratio - 1.0)
        total = below / (1.0 - self.over_time)
        between = tool * (upto(LAST) - upto(60.0) + 60.0 * at(60.0) - LAST * float(s[-1]))
        left = self.over_time * total - human * (human_mean - human_below) - between
        values = np.array([*lives, tool * (1.0 - at(1.0)), over / self.ratio, human * human_mean / total])
        return values, left / max(tool * float(s[-1]), 1e-12)

    def misses(self, x: Array) -> Array:
        """In units of the printed precision."""
        return np.asarray((self.found(x)[0] - self.values) / self.units)

    def room(self, x: Array) -> Array:
        """At least 0 where the hazards fall, not too steeply, and the longest pauses have a possible mean."""
        bends = np.diff(np.concatenate([[0.0], x[3:7]])) / np.diff(np.log(KNOTS[1:]))
        slopes = list(self.slopes(x).values())
        mean = max(self.found(x)[1], 1.0)
        return np.concatenate([
            _FLATTEST - (bends + max(slopes)),
            bends + min(slopes) - _STEEPEST,
            [math.log(mean / (1.1 * LAST)), math.log(_LONGEST_MEAN_AT_MOST / mean)],
        ])  # fmt: skip


def fit(asked: Targets, shares: dict[str, float], calls_per_pause: float) -> Fit:
    """Find the laws.

    Parameters
    ----------
    asked : Targets
    shares : dict of str to float
        Of each class among Claude's tool pauses; sum 1.
    calls_per_pause : float
        Claude's calls over its pauses; the calls beside a longer one are short.

    Returns
    -------
    Fit

    Examples
    --------
    >>> from tracestat.synth.like_figures import targets
    >>> found = fit(targets(8058, {}), {"shell": 0.6, "edit": 0.4}, 1.1)
    >>> found.solved, min(found.slopes.values()), max(found.slopes.values())
    (True, -0.74, -0.56)
    """
    from scipy.optimize import minimize  # loads most of scipy

    limits = tuple(asked.values[f"article.deadlines.claude.{t}s"] for t in (120, 600))
    equations = _Equations(asked, shares, calls_per_pause, limits)
    start = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.2, 0.03, 5.5])
    room = {"type": "ineq", "fun": equations.room}

    def longest(x: Array) -> float:
        """Prefer many long pauses to a few that hold as much time: one of them should not decide a share."""
        return math.log(max(equations.found(x)[1], 1.0) / _LONGEST_MEAN) ** 2

    def search(at: Array, weight: float, held: NDArray[np.bool_]) -> Array:
        """Stay near the start, with some equations held and the misses of the others weighed."""

        def loss(x: Array) -> float:
            far = float(np.sum(((x - start) / _SPREAD) ** 2)) / 30.0
            return far + longest(x) + weight * float(np.sum(np.log1p(equations.misses(x)[~held] ** 2)))

        # options of a library that is typed more narrowly than it is used
        how: dict[str, Any] = {"options": {"maxiter": 100, "ftol": 1e-8}, "bounds": _BOUNDS, "constraints": [room]}
        if held.any():
            how["constraints"] = [{"type": "eq", "fun": lambda x: equations.misses(x)[held]}, room]
        return np.asarray(minimize(loss, at, method="SLSQP", **how).x)

    every = np.ones(len(_SOLVED), dtype=bool)
    best = search(start, 0.0, every)
    if not _holds(equations, best):
        best = start
        for part in (0.0, 0.25, 0.5, 0.75, 1.0):  # from the published figures to the shifted ones, step by step
            equations.shift(part)
            best = search(best, 0.0, every)
        if not _holds(equations, best):
            best = search(search(start, 0.3, equations.shifted), 10.0, equations.shifted)
    laws = equations.laws(best)
    return Fit(
        laws=laws,
        slopes=equations.slopes(best),
        levels=equations.levels(best),
        bend=(0.0, 0.0, *(float(v) for v in best[3:7])),
        human_share=float(best[8]),
        human_median=math.exp(float(best[9])),
        solved=_holds(equations, best),
    )


def _holds(equations: _Equations, x: Array) -> bool:
    return bool(np.all(np.abs(equations.misses(x)) < 0.05) and np.all(equations.room(x) > -1e-6))
