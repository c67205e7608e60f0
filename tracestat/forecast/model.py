"""A fitted forecast, ready to be asked or stored: for each provider one or more hierarchies of keys.

What is kept are the discounted counts of every key and the precision of every level. The hazards of a key follow
from them along its path, so nothing is laid out for keys that nobody asks about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.counts import Counts
from tracestat.forecast.grid import Grid
from tracestat.forecast.kappa import KappaFit
from tracestat.forecast.nesting import Nesting
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.shrinkage import root_hazards, shrunk
from tracestat.forecast.tree import ForecastTree

__all__ = ["AskedLimit", "Dependence", "ForecastModel", "PathModel", "PooledPaths", "ProviderModel", "path_model"]


@dataclass(frozen=True, slots=True, eq=False)
class PathModel:
    """One hierarchy of one provider.

    Attributes
    ----------
    keys : tuple of str
        From the top.
    names : mapping of str to tuple of (str or None)
        For each key, the value that each code stands for.
    grid : Grid
    nesting : Nesting
    counts : tuple of Counts
        Discounted, of the root and of every level of ``keys``.
    kappas : tuple of KappaFit
        Of every level of ``keys``, and last of the sessions below them.
    alpha : float
        Exponent beyond the last edge.
    last_seen : float
        Longest pause that was fitted, seconds; what a curve says beyond it is extrapolated.
    n_rows : int
    n_groups : int
        Sessions within the lowest keys: the groups of the level that serves only the fit.
    """

    keys: tuple[str, ...]
    names: Mapping[str, tuple[str | None, ...]]
    grid: Grid
    nesting: Nesting
    counts: tuple[Counts, ...]
    kappas: tuple[KappaFit, ...]
    alpha: float
    last_seen: float
    n_rows: int
    n_groups: int = 0

    def nodes(self, codes: Sequence[int]) -> tuple[int, ...]:
        """Find the nodes of one path, from the top; it ends before the first key that was not seen.

        Parameters
        ----------
        codes : sequence of int
            One per key, -1 for a value that was never seen or is not known; may be shorter than ``keys``.
        """
        found: list[int] = []
        above = 0
        for level, code in zip(self.nesting.levels, codes, strict=False):
            above = int(level.find([above], [code])[0])
            if above < 0:
                break
            found.append(above)
        return tuple(found)

    def hazards(self, nodes: Sequence[int]) -> tuple[NDArray[np.float64], ...]:
        """Give the hazards of the root and of each node of a path, each of shape (J,)."""
        made = [root_hazards(self.counts[0])]
        for level, node in enumerate(nodes, start=1):
            own = Counts(self.counts[level].ended[node : node + 1], self.counts[level].reached[node : node + 1])
            made.append(shrunk(own, made[-1], self.kappas[level - 1].kappa))
        return tuple(q[0] for q in made)


@dataclass(frozen=True, slots=True, eq=False)
class PooledPaths:
    """How far each hierarchy of a provider is believed where all of them are asked, see `tracestat.forecast.pool`.

    Attributes
    ----------
    base : PathModel
        Hierarchy that the others are compared with.
    seen, unseen : tuple of float
        Weight of each hierarchy of `ProviderModel.paths` for a developer whose name the model has, and for any other;
        the base has what is left of 1, which may be below 0.
    held_out : tuple of (int, int)
        Rows that decided ``seen`` and ``unseen``; 0 where there were too few to hold out.
    """

    base: PathModel
    seen: tuple[float, ...]
    unseen: tuple[float, ...]
    held_out: tuple[int, int]


@dataclass(frozen=True, slots=True)
class AskedLimit:
    """What became of calls that asked for a limit and still ran when it came.

    Attributes
    ----------
    tool_class : str or None
        None stands for all classes together.
    ended, reached : int
        Pauses of one call that ended on their own limit, of those that reached it.
    mass : float
        Share that ends there, ``(ended + 1/2)/(reached + 1)``.
    """

    tool_class: str | None
    ended: int
    reached: int
    mass: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """How far the calls of one round end together.

    Attributes
    ----------
    theta : float
        Of a Gumbel copula: 1 is independence, infinity is one common fate.
    log_likelihood, independent : float
        Of the rounds with several calls, at ``theta`` and at 1.
    n_rounds : int
    interval : tuple of float or None
        95 %, by developer or session.
    note : str or None
    """

    theta: float
    log_likelihood: float
    independent: float
    n_rounds: int
    interval: tuple[float, float] | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """Everything known of one provider.

    Attributes
    ----------
    paths : tuple of PathModel
        The first serves alone wherever something of earlier pauses is not known.
    single : PathModel or None
        Hierarchy of the rounds with one call: the law of a member of a round with several.
    limits : tuple of AskedLimit
        Together first, then by tool class; empty where no source tells the limits of calls that ended before them.
    dependence : Dependence or None
    notes : tuple of str
        What a reader must know of the fit.
    pool : PooledPaths or None
        How the hierarchies answer together, where there are several.
    """

    paths: tuple[PathModel, ...]
    single: PathModel | None = None
    limits: tuple[AskedLimit, ...] = ()
    dependence: Dependence | None = None
    notes: tuple[str, ...] = ()
    pool: PooledPaths | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ForecastModel:
    """A forecast of every provider of a trace.

    Attributes
    ----------
    providers : mapping of str to ProviderModel
        ``""`` where a trace names none.
    trace : str
        Base name of the trace that was fitted.
    fingerprint : str
        Of that trace.
    synthetic : bool
    tracestat : str
        Version that fitted it.
    rounds, tool_calls, rejected : int
        Of the trace.
    where, since, until : str or None
        Which rows were fitted, as the user wrote it; times are in ``zone``, as are hours and weekdays.
    rows : str
        Kind of rows: tool, human or all.
    zone : str
    """

    providers: Mapping[str, ProviderModel]
    trace: str
    fingerprint: str
    synthetic: bool
    tracestat: str
    rounds: int = 0
    tool_calls: int = 0
    rejected: int = 0
    where: str | None = None
    since: str | None = None
    until: str | None = None
    rows: str = "tool"
    zone: str = "UTC"

    def __repr__(self) -> str:
        """Say in one line what was fitted; the counts would fill pages."""
        told = [
            f"{name} {each.paths[0].n_rows:,} pauses".lstrip() for name, each in self.providers.items() if each.paths
        ]
        return f"ForecastModel({', '.join(told)}; {self.trace}{', SYNTHETIC' if self.synthetic else ''})"


def path_model(tree: ForecastTree, rows: PauseRows) -> PathModel:
    """Keep of a fitted hierarchy what a forecast needs."""
    depth = len(tree.keys)
    return PathModel(
        keys=tree.keys,
        names={key: rows.names[key] for key in tree.keys},
        grid=tree.grid,
        nesting=tree.nesting,
        counts=tree.shrinkage.counts[: depth + 1],
        kappas=tree.shrinkage.kappas,
        alpha=tree.alpha,
        last_seen=float(rows.seconds.max(initial=0.0)),
        n_rows=rows.size,
        n_groups=int(tree.shrinkage.counts[-1].reached.shape[0]),
    )
