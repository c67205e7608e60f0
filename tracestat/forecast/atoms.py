"""What lies ahead of a pause that still runs: deadlines of the harness, and the limit that the call asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, log

from tracestat.forecast.grid import Grid
from tracestat.forecast.remaining import RemainingLaw

__all__ = ["Atom", "atoms_ahead"]


@dataclass(frozen=True, slots=True)
class Atom:
    """A stretch of time, or an instant, at which ends pile up.

    Attributes
    ----------
    kind : str
        ``deadline`` or ``asked limit``.
    start, end : float
        Seconds from the start of the pause; a window that has begun starts now. The same for a limit.
    reached : float
        Share that gets there, of those that run now.
    ends : float
        Share that ends there, of those that run now.
    hazard : float
        Share that ends there, of those that get there.
    expected : float
        The same if the window were as the bins on both sides of it: their mean hazard per log time.
    """

    kind: str
    start: float
    end: float
    reached: float
    ends: float
    hazard: float
    expected: float

    @property
    def excess(self) -> float:
        """How far the hazard stands above what is expected."""
        return self.hazard - self.expected


def atoms_ahead(law: RemainingLaw, grid: Grid, elapsed: float) -> tuple[Atom, ...]:
    """Find the deadlines that are not over, and the limit that was asked for, by time.

    Parameters
    ----------
    law : RemainingLaw
    grid : Grid
        That it stands on, with the windows of known deadlines.
    elapsed : float
        Seconds.

    Examples
    --------
    >>> from tracestat.forecast.remaining import remaining_law
    >>> grid = Grid([0.0, 1, 4, 5, 20], ((4.0, 5.0),))
    >>> law = remaining_law(grid, [0.0, -0.1, -0.2, -1.2, -1.3], 1.0)
    >>> [(atom.start, round(atom.hazard, 4), round(atom.expected, 4)) for atom in atoms_ahead(law, grid, 2.0)]
    [(4.0, 0.6321, 0.016)]
    """
    found = [_window(law, a, b, elapsed) for a, b in grid.windows if b > elapsed]
    if elapsed < law.limit < inf:
        reached = law.survival(0.0, elapsed) * _share(law, elapsed, law.limit)
        mass = -expm1(-law.drop)
        found.append(Atom("asked limit", law.limit, law.limit, reached, reached * mass, mass, 0.0))
    return tuple(sorted(found, key=lambda atom: (atom.start, atom.end)))


def _share(law: RemainingLaw, start: float, end: float) -> float:
    """Give S(end)/S(start) of the law without its cut."""
    return 1.0 + expm1(law.fallen_at(start) - law.fallen_at(end))


def _window(law: RemainingLaw, a: float, b: float, elapsed: float) -> Atom:
    start = max(a, elapsed)
    reached = law.survival(start - elapsed, elapsed)
    ends = reached - law.survival(b - elapsed, elapsed)
    # the jump of a limit inside the window is no work of the deadline
    hazard = 1.0 - _share(law, start, b)
    return Atom("deadline", start, b, reached, ends, hazard, _as_neighbours(law, a, b, start))


def _as_neighbours(law: RemainingLaw, a: float, b: float, start: float) -> float:
    """Give the hazard of a window that is as smooth as the bins on both sides of it."""
    edges = law.edges
    i, j = edges.index(a), edges.index(b)
    rates = [law.rate(j)]
    # the first bin begins at 0, where log time has no begin; windows never touch, so no neighbour is one
    if i > 1:
        rates.append(law.rate(i - 1))
    return -expm1(-sum(rates) / len(rates) * (log(b) - log(start)))
