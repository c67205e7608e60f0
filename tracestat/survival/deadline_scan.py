"""Which durations are no tool's own: a scan for spikes in an otherwise smooth hazard.

Two passes: the second leaves the hits of the first out of the flanks, so that one spike does not hide its neighbour.
Hits that touch become one atom.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracestat.resample import sum_by
from tracestat.survival.bins import Window
from tracestat.survival.deadline_cells import ScanCells
from tracestat.survival.deadline_votes import WindowTest, backgrounds, benjamini_hochberg, examine
from tracestat.survival.monotone import holm

__all__ = [
    "FDR",
    "FEWEST_DEVELOPERS",
    "FEWEST_EVENTS",
    "FEWEST_VOTES",
    "Atom",
    "LimitTest",
    "Scan",
    "label_of",
    "named_limits",
    "over_table",
    "scan",
]

Key = TypeVar("Key", bound=Hashable)
Label = Literal["harness", "local"]

FDR = 0.01  # eligibility looks at the events themselves: at 5 %, four times as many scans find something in nothing
FEWEST_EVENTS, FEWEST_VOTES = 10, 5
FEWEST_DEVELOPERS, _ONE_DEVELOPER = 3, 0.9


@dataclass(frozen=True, slots=True)
class Atom:
    """Neighbouring windows that hold more ends than a smooth hazard allows.

    Attributes
    ----------
    test : WindowTest
        Of the windows together.
    seconds : float
        Mean duration of the rows in the fullest of the windows.
    q_value : float
        The smallest adjusted p value among the windows.
    label : {"harness", "local"}
    n_developers, n_sessions : int
        With an end in it.
    largest_developer : float
        Share of its ends that belong to one developer.
    """

    test: WindowTest
    seconds: float
    q_value: float
    label: Label
    n_developers: int
    n_sessions: int
    largest_developer: float

    @property
    def window(self) -> Window:
        """[a, b), seconds."""
        return self.test.window


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan of one group found.

    Attributes
    ----------
    atoms : tuple of Atom
        In order of time.
    masked : ndarray of bool, shape (C,)
        Cells of hits, which no flank uses.
    n_windows : int
        Windows looked at.
    p_values : mapping
        Raw p value of each window that was full enough to be tested.
    """

    atoms: tuple[Atom, ...]
    masked: NDArray[np.bool_]
    n_windows: int
    p_values: Mapping[Window, float]


@dataclass(frozen=True, slots=True)
class LimitTest:
    """A limit named beforehand, and whether rows end on it.

    Attributes
    ----------
    limit : float
        Seconds.
    window : (float, float)
    test : WindowTest or None
        None where the flanks hold too little.
    p_adjusted : float or None
        By Holm over all limits that could be tested.
    """

    limit: float
    window: Window
    test: WindowTest | None
    p_adjusted: float | None


def scan(data: ScanCells, windows: Sequence[Window], level: float = FDR) -> Scan:
    """Scan one group for atoms.

    Parameters
    ----------
    data : ScanCells
        Counts on a grid of :func:`tracestat.survival.deadline_windows.scan_grid`.
    windows : sequence of (float, float)
        Ascending windows; those that touch follow each other.
    level : float, default 0.01
        False discovery rate, by Benjamini and Hochberg's rule over the windows that are tested.

    Returns
    -------
    Scan
        The atoms, and what was tested.

    Notes
    -----
    A window is tested if it holds 10 ends of 5 sessions and its flanks 5 ends. The rate holds per group: where a
    table has many, :func:`over_table` says which atoms stand with the windows of all groups as one family.

    Examples
    --------
    >>> from tracestat.survival.deadline_cells import cells_of_rows
    >>> from tracestat.survival.deadline_windows import scan_grid
    >>> times = np.concatenate([np.geomspace(8, 12.6, 40), np.full(30, 10.01), np.full(100, 50.0)])
    >>> window = (9.9905, 10.0505)
    >>> data = cells_of_rows(times, np.ones(170), np.arange(170) % 20, scan_grid([window]))
    >>> [atom.window for atom in scan(data, [window]).atoms]
    [(9.9905, 10.0505)]
    """
    masked = np.zeros(data.grid.n_cells, dtype=np.bool_)
    tests: dict[int, WindowTest] = {}
    hits: dict[int, float] = {}
    for _ in range(2):
        tests = _eligible(data, windows, masked)
        adjusted = benjamini_hochberg([test.p for test in tests.values()])
        hits = {place: q for place, q in zip(tests, adjusted.tolist(), strict=True) if q <= level}
        if not hits:
            break  # nothing to leave out of the flanks: a second pass would be the first
        masked = masked | data.inside([windows[place] for place in hits])
    p_values = {test.window: test.p for test in tests.values()}
    return Scan(_atoms(data, windows, hits, masked), masked, len(windows), p_values)


def over_table(scans: Mapping[Key, Scan]) -> dict[Key, tuple[float, ...]]:
    """Adjust the atoms of several groups together.

    Parameters
    ----------
    scans : mapping of Scan

    Returns
    -------
    dict
        For each atom of each group the smallest p value among its windows, adjusted by Benjamini and Hochberg's rule
        over the windows of all groups.
    """
    family = [(key, window, p) for key, found in scans.items() for window, p in found.p_values.items()]
    adjusted = benjamini_hochberg([p for _, _, p in family]).tolist()
    q = {(key, window): value for (key, window, _), value in zip(family, adjusted, strict=True)}
    return {
        key: tuple(
            min(q[key, window] for window in found.p_values if atom.window[0] <= window[0] < atom.window[1])
            for atom in found.atoms
        )
        for key, found in scans.items()
    }


def _eligible(data: ScanCells, windows: Sequence[Window], masked: NDArray[np.bool_]) -> dict[int, WindowTest]:
    """Test the windows that hold enough ends of enough sessions between flanks that hold enough."""
    if not windows or data.events.sum() < FEWEST_EVENTS:
        return {}
    lower, upper = data.places(np.array(windows).T)
    total = np.concatenate([[0.0], np.cumsum(data.events)])
    full = total[upper] - total[lower] >= FEWEST_EVENTS
    places: list[int] = np.flatnonzero(full & (_votes(data, lower, upper) >= FEWEST_VOTES)).tolist()
    found = backgrounds(data, [windows[place] for place in places], masked)
    return {
        place: examine(data, background, masked)
        for place, background in zip(places, found, strict=True)
        if background.testable
    }


def _votes(data: ScanCells, lower: NDArray[np.intp], upper: NDArray[np.intp]) -> NDArray[np.intp]:
    """Count the sessions with an end in each window; windows are ascending and do not overlap."""
    seen = data.n_event > 0
    place = np.searchsorted(lower, data.cell[seen], side="right") - 1
    inside = (place >= 0) & (data.cell[seen] < upper[place])
    pairs = np.unique(place[inside] * max(data.n_sessions, 1) + data.session[seen][inside])
    return np.bincount(pairs // max(data.n_sessions, 1), minlength=lower.size)


def _atoms(
    data: ScanCells, windows: Sequence[Window], hits: Mapping[int, float], masked: NDArray[np.bool_]
) -> tuple[Atom, ...]:
    runs: list[list[int]] = []
    for place in sorted(hits):
        if runs and place == runs[-1][-1] + 1 and windows[place][0] == windows[place - 1][1]:
            runs[-1].append(place)
        else:
            runs.append([place])
    atoms = []
    for run in runs:
        (background,) = backgrounds(data, [(windows[run[0]][0], windows[run[-1]][1])], masked)
        test = examine(data, background, masked)
        ends = sum_by(test.D, data.developer, data.n_developers)
        inside = [data.inside([windows[place]]) for place in run]
        fullest = max(inside, key=lambda cells: float(data.events[cells].sum()))
        atoms.append(
            Atom(
                test,
                data.mean_time(fullest) or test.window[0],
                min(hits[place] for place in run),
                label_of(ends),
                int(np.count_nonzero(ends)),
                int(np.count_nonzero(test.D)),
                float(ends.max() / ends.sum()),
            )
        )
    return tuple(atoms)


def label_of(ends: NDArray[np.float64]) -> Label:
    """Tell a limit of the harness from a habit of one machine.

    Parameters
    ----------
    ends : ndarray, shape (V,)
        Ends in the atom, per developer.

    Returns
    -------
    {"harness", "local"}
        Harness if three developers have some and none has more than 90 % of them.

    Examples
    --------
    >>> label_of(np.array([5.0, 3.0, 2.0])), label_of(np.array([96.0, 3.0, 1.0])), label_of(np.array([5.0, 5.0]))
    ('harness', 'local', 'local')
    """
    spread = np.count_nonzero(ends) >= FEWEST_DEVELOPERS and ends.max() <= _ONE_DEVELOPER * ends.sum()
    return "harness" if spread else "local"


def named_limits(
    groups: Mapping[Key, ScanCells],
    limits: Mapping[Key, Sequence[tuple[float, Window]]],
    masks: Mapping[Key, NDArray[np.bool_]],
) -> dict[Key, tuple[LimitTest, ...]]:
    """Test limits that were named beforehand; those of all groups are one family.

    Parameters
    ----------
    groups : mapping of ScanCells
        On a grid that holds the windows of the limits and their flanks.
    limits : mapping of sequences of (float, window)
        Limits of each group, with the window of each.
    masks : mapping of ndarray of bool
        Cells that no flank uses: the hits of the scan.

    Returns
    -------
    dict
        A tuple of :class:`LimitTest` per group.
    """
    tests: list[tuple[Key, float, Window, WindowTest | None]] = []
    for key, data in groups.items():
        for limit, window in limits[key]:
            (background,) = backgrounds(data, [window], masks[key])
            test = examine(data, background, masks[key]) if background.testable else None
            tests.append((key, limit, window, test))
    adjusted = iter(holm([test.p for _, _, _, test in tests if test is not None]).tolist())
    out: dict[Key, list[LimitTest]] = {key: [] for key in groups}
    for key, limit, window, test in tests:
        out[key].append(LimitTest(limit, window, test, None if test is None else next(adjusted)))
    return {key: tuple(found) for key, found in out.items()}
