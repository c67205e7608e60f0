"""Data that several tests share: a toy with ties and censoring, a Weibull sample without chance, random rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracestat.survival.bins import DEFAULT_EDGES, Grid, bin_centres
from tracestat.survival.exposure import cell_sums, exposure_from_exits, group_cells

Floats = NDArray[np.float64]

R: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "oracles" / "r_survival.json").read_text(encoding="utf-8")
)

TIMES = np.array(R["toy"]["times"], dtype=np.float64)
EVENTS = np.array(R["toy"]["events"])
CLUSTERS = np.array(R["toy"]["clusters"])
ENTRY = np.array(R["toy"]["entry"], dtype=np.float64)

# quantiles of a Weibull law whose hazard has slope -0.6
WEIBULL = (-np.log(1 - (np.arange(1, 1001) - 0.5) / 1000) / 0.3) ** 2.5
WEIBULL_CLUSTERS = np.arange(1000) % 10
CENTRES = bin_centres(DEFAULT_EDGES)

quick = settings(deadline=None, max_examples=20)


def cluster_bins(
    times: Floats, clusters: NDArray[np.intp], edges: tuple[float, ...] = DEFAULT_EDGES
) -> tuple[Floats, Floats]:
    """Events and exposure per (cluster, bin) of fully observed rows."""
    grid = Grid.refine([edges])
    n_exit, n_event, sum_time = cell_sums(times, np.ones(times.size), grid.edges, clusters=clusters)
    exposure = exposure_from_exits(n_exit, sum_time, grid.edges)
    return group_cells(n_event, exposure, grid.base_bins(edges), len(edges) - 1)


@st.composite
def rows(draw: st.DrawFn, *, entries: bool = False, min_size: int = 1) -> dict[str, NDArray[Any]]:
    """Rows with many ties: times, events, clusters and, if asked, late entries below the times."""
    size = draw(st.integers(min_size, 40))
    ticks = draw(st.lists(st.integers(1, 60), min_size=size, max_size=size))
    events = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    clusters = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    out: dict[str, NDArray[Any]] = {
        "times": np.array(ticks) * 0.25,
        "events": np.array(events),
        "clusters": np.unique(clusters, return_inverse=True)[1],
    }
    if entries:
        parts = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        out["entry"] = np.floor(np.array(ticks) * np.array(parts) / 4) * 0.25
    return out


@st.composite
def hazard_tables(draw: st.DrawFn, min_clusters: int = 4) -> tuple[Floats, Floats, Floats]:
    """Events and exposure per (cluster, bin), each bin with events of at least two clusters, and places of bins."""
    n_clusters, n_bins = draw(st.integers(min_clusters, 12)), draw(st.integers(4, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    slope = draw(st.floats(-1.5, 0.5))
    x = np.arange(n_bins) * 0.6396 - 1.7
    X = rng.gamma(2.0, 50.0, (n_clusters, n_bins))
    D = rng.poisson(X * 0.1 * np.exp(slope * x)).astype(np.float64)
    D[0] += 1
    D[1] += 1
    return D, X, x
