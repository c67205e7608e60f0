"""Is a window fuller than a smooth hazard allows? Each session that ends there at least once has one vote.

Rows of one session are no independent evidence: a session that polls sixty times would alone make a spike
significant. So sessions are counted, not rows, against the number expected from the hazard beside the window. Where
nearly every session votes anyway, a clustered z takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtr

from tracestat.survival.bins import Window
from tracestat.survival.deadline_cells import ScanCells
from tracestat.survival.deadline_windows import FLANK_RATIOS, flank_edges

__all__ = ["Background", "WindowTest", "backgrounds", "benjamini_hochberg", "examine", "vote_p_value"]

Floats = NDArray[np.float64]
_ENOUGH_IN_FLANK = 10
_LEAST_IN_FLANKS = 5
_SATURATED = 0.5


def vote_p_value(votes: float, expected: float, flank_events: float) -> float:
    """Give the chance of so many votes or more when there is no deadline.

    Parameters
    ----------
    votes : float
        Sessions with at least one event in the window.
    expected : float
        Expected number of such sessions, above 0.
    flank_events : float
        Events from which the expectation was estimated.

    Returns
    -------
    float
        ``P(NB >= votes)`` with mean ``expected`` and size ``flank_events + 1``: a Poisson count whose mean is known
        from that many events only.

    Examples
    --------
    >>> f"{vote_p_value(9, 3.24, 39):.6f}"
    '0.008578'
    """
    if votes <= 0:
        return 1.0
    size = flank_events + 1
    return float(betainc(votes, size, expected / (size + expected)))


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values so that those below q hold a share of false ones of at most q.

    Parameters
    ----------
    p : array_like, shape (K,)
        Raw p values.

    Returns
    -------
    ndarray, shape (K,)
        Adjusted p values, at most 1.

    References
    ----------
    .. [1] Benjamini and Hochberg (1995), Controlling the false discovery rate.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(6)
    array([0.03, 0.04, 0.04])
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * raw.size / np.arange(1, raw.size + 1)
    out = np.empty(raw.size)
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return out


@dataclass(frozen=True, slots=True)
class Background:
    """The smooth hazard beside a window, from its two flanks.

    Attributes
    ----------
    window : (float, float)
        [a, b), seconds.
    ratio : float
        Width of each flank as a ratio of times.
    D, X : float
        Events and exposure in the window, all sessions.
    D_left, X_left, D_right, X_right : float
        Those of the flanks, without what is masked.
    """

    window: Window
    ratio: float
    D: float
    X: float
    D_left: float
    X_left: float
    D_right: float
    X_right: float

    @property
    def flank_events(self) -> float:
        """Events in both flanks."""
        return self.D_left + self.D_right

    @property
    def hazard(self) -> float | None:
        """``sqrt(lambda_L lambda_R)``, events per second; None where a flank has no exposure."""
        if not (self.X_left > 0 and self.X_right > 0):
            return None
        return float(np.sqrt((self.D_left + 0.5) / self.X_left * (self.D_right + 0.5) / self.X_right))

    @property
    def expected(self) -> float | None:
        """Expected events in the window."""
        return None if self.hazard is None else self.hazard * self.X

    @property
    def testable(self) -> bool:
        """Whether the flanks hold enough events to say what to expect."""
        return self.hazard is not None and self.flank_events >= _LEAST_IN_FLANKS and self.X > 0


@cache
def _flank_table(windows: tuple[Window, ...]) -> tuple[Floats, Floats]:
    """Give the outer edges of the left and right flanks, each of shape (ratios, windows)."""
    edges = np.array([[flank_edges(window, ratio) for window in windows] for ratio in FLANK_RATIOS])
    return edges[..., 0], edges[..., 1]


def backgrounds(data: ScanCells, windows: Sequence[Window], masked: NDArray[np.bool_]) -> list[Background]:
    """Find the flanks of windows and what they hold.

    Parameters
    ----------
    data : ScanCells
        Counts on a grid that holds every window and every flank.
    windows : sequence of (float, float)
        Windows [a, b).
    masked : ndarray of bool, shape (C,)
        Cells that no flank may use; windows count in full.

    Returns
    -------
    list of Background
        With the narrowest flanks, of ratio 1.25, 1.6, 2.5, 4, that hold 10 events each; else the widest.
    """
    if not windows:
        return []
    free = ~masked
    D, X, free_D, free_X = (
        np.concatenate([[0.0], np.cumsum(values)])
        for values in (data.events, data.exposure, data.events * free, data.exposure * free)
    )
    begin, end = _flank_table(tuple(windows))
    left, right, (a, b) = data.places(begin), data.places(end), data.places(np.array(windows).T)
    enough = np.minimum(free_D[a] - free_D[left], free_D[right] - free_D[b]) >= _ENOUGH_IN_FLANK
    chosen = np.where(enough.any(axis=0), enough.argmax(axis=0), len(FLANK_RATIOS) - 1)
    left, right = (edges[chosen, np.arange(len(windows))] for edges in (left, right))
    columns = (
        D[b] - D[a],
        X[b] - X[a],
        free_D[a] - free_D[left],
        free_X[a] - free_X[left],
        free_D[right] - free_D[b],
        free_X[right] - free_X[b],
    )
    return [
        Background(window, FLANK_RATIOS[ratio], *sums)
        for window, ratio, *sums in zip(windows, chosen.tolist(), *(c.tolist() for c in columns), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class WindowTest:
    """A window held against its background.

    Attributes
    ----------
    background : Background
        Events, exposure, flanks.
    expected : float
        E, events.
    votes, expected_votes : float
        Sessions with at least one event, seen and expected.
    z : float or None
        Excess over its clustered standard error; None with fewer than two sessions.
    p : float
        By votes; by z where more than half of the sessions at risk are expected to vote.
    by_z : bool
        Which of the two it is.
    D, X, D_left, X_left, D_right, X_right : ndarray, shape (S,)
        The sums of each session, for intervals.
    """

    background: Background
    expected: float
    votes: float
    expected_votes: float
    z: float | None
    p: float
    by_z: bool
    D: Floats
    X: Floats
    D_left: Floats
    X_left: Floats
    D_right: Floats
    X_right: Floats

    @property
    def window(self) -> Window:
        """[a, b), seconds."""
        return self.background.window


def examine(data: ScanCells, background: Background, masked: NDArray[np.bool_]) -> WindowTest:
    """Test one window whose background is known.

    Parameters
    ----------
    data : ScanCells
    background : Background
        Testable.
    masked : ndarray of bool, shape (C,)
        As for :func:`backgrounds`.

    Returns
    -------
    WindowTest
        ``E_v = sum_g (1 - exp(-lambda_0 X_g))``; ``z = (O - E) / sqrt(G/(G-1) sum U_g^2)`` with
        ``U_g = D_g - lambda_0 X_g - E/2 [(D_Lg - lambda_L X_Lg)/(D_L + 1/2) + the same of the right flank]``.
    """
    (a, b), ratio = background.window, background.ratio
    begin, end = flank_edges(background.window, ratio)
    D, X = data.by_session(data.inside([(a, b)]))
    D_left, X_left = data.by_session(data.inside([(begin, a)]) & ~masked)
    D_right, X_right = data.by_session(data.inside([(b, end)]) & ~masked)
    hazard = background.hazard or 0.0
    E = hazard * background.X
    votes, expected_votes = float(np.count_nonzero(D)), float(np.sum(-np.expm1(-hazard * X)))
    U = D - hazard * X
    for events, exposure, total, time in (
        (D_left, X_left, background.D_left, background.X_left),
        (D_right, X_right, background.D_right, background.X_right),
    ):
        smoothed = total + 0.5
        U = U - E / 2 * (events - smoothed / time * exposure) / smoothed
    use = (X > 0) | (X_left > 0) | (X_right > 0)
    n_clusters = int(np.count_nonzero(use))
    spread = float(np.sqrt(n_clusters / (n_clusters - 1) * (U[use] @ U[use]))) if n_clusters > 1 else 0.0
    z = (background.D - E) / spread if spread > 0 else None
    by_z = z is not None and expected_votes > _SATURATED * int(np.count_nonzero(X))
    p = float(ndtr(-z)) if by_z and z is not None else vote_p_value(votes, expected_votes, background.flank_events)
    return WindowTest(background, E, votes, expected_votes, z, p, by_z, D, X, D_left, X_left, D_right, X_right)
