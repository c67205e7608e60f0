"""Ends between two looks, shared out by the hazard of their own key instead of that of all keys together.

Slow keys keep their ends late in an interval and fast ones early. The hazard of all keys falls more steeply than that
of any one, so shares made with it would carry the slope between keys into the slope within keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracestat.survival.bins import bin_centres
from tracestat.survival.end_shares import Intervals, cell_centres, end_shares
from tracestat.survival.frailty import FrailtyFit
from tracestat.survival.hazard import Cells

__all__ = ["Parts"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Parts:
    """Which rows of a group's cells are parts of an end between two looks.

    Attributes
    ----------
    data : Intervals
        K intervals.
    edges : tuple of float, length C
        Lower edges of the cells.
    row : ndarray of int, shape (P,)
        Numbers of those rows.
    interval : ndarray of int, shape (P,)
        The interval that each is a part of.
    """

    data: Intervals
    edges: tuple[float, ...]
    row: Codes
    interval: Codes

    def shared(self, cells: Cells, code: Codes, fit: FrailtyFit, D: Floats, X: Floats, edges: Sequence[float]) -> Cells:
        """Give the same cells with each end shared out by the hazard of its key.

        Parameters
        ----------
        cells : Cells
            The group.
        code : ndarray of int, shape (R,)
            Key of each row.
        fit : FrailtyFit
            The fit within these keys.
        D, X : ndarray, shape (N, J)
            Events and exposure per key and bin.
        edges : sequence of float, length J + 1
            Edges of these bins.

        Notes
        -----
        The hazard of a key is the power law of the fit at the level that its events make likely,
        ``(1/theta + n) / (1/theta + L)`` with L the events that an average key would have had.
        """
        r = 1 / fit.theta
        expected = np.einsum("kj,j->k", X, np.exp(fit.intercept + fit.slope * bin_centres(edges)))
        level = (r + D.sum(axis=1)) / (r + expected)
        own = np.zeros(self.data.n.size, dtype=np.intp)
        own[self.interval] = code[self.row]
        law = np.exp(fit.intercept + fit.slope * cell_centres(self.edges))
        share, moment = end_shares(self.data, level[own][:, None] * law, self.edges)
        place = (self.interval, cells.cell[self.row])
        n = self.data.n[self.interval]
        n_event, n_net, micros_net = cells.n_event.copy(), cells.n_net.copy(), cells.micros_net.copy()
        n_event[self.row] = n_net[self.row] = n * share[place]
        micros_net[self.row] = n * moment[place] * 1e6
        return replace(cells, n_event=n_event, n_net=n_net, micros_net=micros_net)
