"""Where ``hazard`` looks: its bins, the same moved by half a bin, the windows of known deadlines, and their grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracestat.errors import UsageError
from tracestat.survival.bins import DEFAULT_EDGES, Grid, Window, bin_edges, deadline_window, shifted_edges

__all__ = ["CUT_AT", "UPPER_FROM", "Plan", "make_plan"]

# Known deadlines, and the 5 s of a common hook; (taus, seconds that the harness adds).
CUT_AT: Mapping[str, tuple[tuple[float, ...], float]] = {
    "claude": ((5.0, 120.0, 600.0), 0.0),
    "codex": ((1.0, 5.0, 10.0, 30.0), 0.5),
}
UPPER_FROM = 0.8755
_FIRST = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """Bins, moved bins, windows to cut per provider, and the grid that holds them all."""

    edges: tuple[float, ...]
    moved: tuple[float, ...]
    upper: tuple[float, ...] | None
    upper_moved: tuple[float, ...] | None
    windows: Mapping[str, tuple[Window, ...]]
    grid: Grid

    def cut_of(self, provider: str | None) -> tuple[Window, ...]:
        """Give the windows to cut for a provider; those of no provider in particular where it is unknown."""
        return self.windows.get(provider or "", self.windows.get("", ()))


def make_plan(first_edge: float | None, bins: int | None, cut_at: Sequence[float] | None) -> Plan:
    """Lay out bins and windows.

    Parameters
    ----------
    first_edge : float, optional
        Where the search for the first edge begins, seconds.
    bins : int, optional
        Number of bins, default 18.
    cut_at : sequence of float, optional
        Deadlines (seconds) to cut out in place of those known per provider.

    Raises
    ------
    UsageError
        Too few or too many bins, or a deadline that is none.

    Examples
    --------
    >>> make_plan(None, None, None).cut_of("claude")[0]
    (4.975, 5.25)
    """
    edges = _edges(first_edge, bins)
    moved = shifted_edges(edges)
    if cut_at is None:
        windows = {p: tuple(deadline_window(t, more) for t in taus) for p, (taus, more) in CUT_AT.items()}
    else:
        if any(not tau > 0 for tau in cut_at):
            raise UsageError("--cut-at: deadlines are seconds above 0, for example --cut-at 30,120")
        windows = {p: tuple(deadline_window(t, CUT_AT[p][1]) for t in cut_at) for p in CUT_AT}
        windows[""] = tuple(deadline_window(t) for t in cut_at)
    start = next((i for i, edge in enumerate(edges) if edge >= UPPER_FROM), None)
    has_upper = start is not None and 0 < start <= len(edges) - 2
    upper = edges[start:] if has_upper else None
    upper_moved = moved[start:] if has_upper else None
    grid = Grid.refine([edges, moved], [window for each in windows.values() for window in each])
    return Plan(edges, moved, upper, upper_moved, windows, grid)


def _edges(first: float | None, bins: int | None) -> tuple[float, ...]:
    if first is None and bins is None:
        return DEFAULT_EDGES
    n = 18 if bins is None else bins
    if not 2 <= n <= 60:
        raise UsageError(f"--bins {n}: give 2 to 60")
    return bin_edges(_FIRST if first is None else first, n + 1)
