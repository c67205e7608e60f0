"""One survival curve as plain lists: a question about one pause costs microseconds, which no array does.

The same law as :class:`tracestat.forecast.curves.Curves`, and a cut at a limit that the call itself asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, inf, log, log1p

from tracestat.errors import UsageError
from tracestat.forecast.grid import Grid

__all__ = ["RemainingLaw", "remaining_law"]

_FLAT = 1e-9
_MOST_LOG = 600.0


@dataclass(frozen=True, slots=True)
class RemainingLaw:
    """The law of one pause, asked after some time has passed.

    Attributes
    ----------
    edges, logs : tuple of float
        Edges of the bins, seconds, and their logarithms (that of 0 is never used).
    fallen : tuple of float
        -ln S at each edge, from 0 up.
    alpha : float
        Exponent of the power law beyond the last edge.
    limit : float
        What still runs after so many seconds ends there with a share of ``1 - exp(-drop)``; infinity for no limit.
    drop : float
        By how much -ln S jumps at the limit; infinity where everything ends there.
    """

    edges: tuple[float, ...]
    logs: tuple[float, ...]
    fallen: tuple[float, ...]
    alpha: float
    limit: float = inf
    drop: float = 0.0

    def cut(self, limit: float, mass: float) -> RemainingLaw:
        """Give the law of a call that asked for a limit.

        Parameters
        ----------
        limit : float
            Seconds from the start of the pause, above 0.
        mass : float
            Share that ends at the limit, of those that still run then; in [0, 1].

        Examples
        --------
        >>> law = remaining_law(Grid([0.0, 1, 4, 16]), [0.0, log(0.8), log(0.4), log(0.24)], 1.5).cut(4.0, 0.5)
        >>> [round(law.survival(t), 2) for t in (3.999, 4.0, 16.0)], law.quantile(0.7)
        ([0.4, 0.2, 0.12], 4.0)
        """
        if not (limit > 0 and 0 <= mass <= 1):
            raise UsageError(f"limit {limit:g} s with mass {mass:g}: a limit is above 0, its mass from 0 to 1")
        return replace(self, limit=limit, drop=-log1p(-mass) if mass < 1 else inf)

    def fallen_at(self, t: float) -> float:
        """Give -ln S(t) of the law without its cut; t in seconds, not negative."""
        edges, fallen, last = self.edges, self.fallen, len(self.edges) - 1
        j = bisect_right(edges, t) - 1
        if j >= last:
            return fallen[last] + self.alpha * log(t / edges[last])
        if j == 0:
            return fallen[1] * t / edges[1]
        logs = self.logs
        return fallen[j] + (log(t) - logs[j]) / (logs[j + 1] - logs[j]) * (fallen[j + 1] - fallen[j])

    def rate(self, j: int) -> float:
        """Give the hazard per log time in bin j, which is not the first; the bin after the last edge is the tail."""
        if j >= len(self.edges) - 1:
            return self.alpha
        return (self.fallen[j + 1] - self.fallen[j]) / (self.logs[j + 1] - self.logs[j])

    def survival(self, ahead: float, elapsed: float = 0.0) -> float:
        """Give the share that still runs ``ahead`` seconds from now, of those that have run for ``elapsed``."""
        t = elapsed + ahead
        more = self.drop if elapsed < self.limit <= t else 0.0
        return exp(self.fallen_at(elapsed) - self.fallen_at(t) - more)

    def quantile(self, p: float, elapsed: float = 0.0) -> float:
        """Give Q_p(s) = inf{t : S(t) <= (1 - p) S(s)}, seconds from the start, never below ``elapsed``.

        Parameters
        ----------
        p : float
            In [0, 1).
        elapsed : float
            The s, seconds.
        """
        wanted = self.fallen_at(elapsed) - log1p(-p)
        if elapsed < self.limit < inf:
            before = self.fallen_at(self.limit)
            if before < wanted:
                if before + self.drop >= wanted:
                    return self.limit
                return max(self._time_of(wanted - self.drop), self.limit)
        return max(self._time_of(wanted), elapsed)

    def mean(self, elapsed: float, window: float) -> float:
        """Give the mean remaining time within a window from now: int_s^(s + window) S / S(s), seconds."""
        end = elapsed + window
        stop = min(self.limit, end) if self.limit > elapsed else end
        return self._integral(elapsed, stop, elapsed) + exp(-self.drop) * self._integral(stop, end, elapsed)

    def _time_of(self, wanted: float) -> float:
        """Give the first time at which -ln S, without the cut, has risen to ``wanted``."""
        edges, fallen, last = self.edges, self.fallen, len(self.edges) - 1
        j = bisect_left(fallen, wanted) - 1
        if j < 0:
            return 0.0
        if j >= last:
            return edges[last] * exp(min((wanted - fallen[last]) / self.alpha, _MOST_LOG))
        part = (wanted - fallen[j]) / (fallen[j + 1] - fallen[j])
        if j == 0:
            return part * edges[1]
        return exp(self.logs[j] + part * (self.logs[j + 1] - self.logs[j]))

    def _integral(self, start: float, end: float, given: float) -> float:
        """Integrate S/S(given) bin by bin: differences of integrals from 0 would lose a tail's digits."""
        edges, last = self.edges, len(self.edges) - 1
        base = self.fallen_at(given)
        total = 0.0
        while start < end:
            j = bisect_right(edges, start) - 1
            stop = min(edges[j + 1], end) if j < last else end
            total += exp(base - self.fallen_at(start)) * self._piece(j, start, stop)
            start = stop
        return total

    def _piece(self, j: int, start: float, stop: float) -> float:
        """Integrate S/S(start) inside bin j."""
        if j == 0:
            rate = self.fallen[1] / self.edges[1]
            return -expm1(-rate * (stop - start)) / rate if rate > _FLAT else stop - start
        ratio, c = log(stop / start), 1.0 - self.rate(j)
        return start * (expm1(c * ratio) / c if abs(c) > _FLAT else ratio)


def remaining_law(grid: Grid, log_survival: Sequence[float], alpha: float) -> RemainingLaw:
    """Make the law of one curve.

    Parameters
    ----------
    grid : Grid
    log_survival : sequence of float, J + 1 of them
        ln S at each edge, 0 at the first, never rising.
    alpha : float
        Exponent beyond the last edge, above 0.

    Returns
    -------
    RemainingLaw

    Examples
    --------
    >>> law = remaining_law(Grid([0.0, 1, 4, 16]), [0.0, log(0.8), log(0.4), log(0.24)], 1.5)
    >>> round(law.quantile(0.5, 2.0), 6), round(law.mean(2.0, 3.0), 6)
    (10.245478, 2.334634)
    """
    edges = tuple(float(e) for e in grid.edges)
    logs = (-inf, *(log(e) for e in edges[1:]))
    return RemainingLaw(edges, logs, tuple(-float(s) for s in log_survival), float(alpha))
