"""The part of ``deadlines`` that knows nothing but durations: the scan, and limits named beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import group_keys, split_by_key
from tracestat.durations import Selection
from tracestat.durations.deadlines import atom_overheads, atom_tools, scan_cells, whole_seconds
from tracestat.resample import sum_by
from tracestat.results import NOT_AVAILABLE, DeadlineAtom, HazardPiece, Interval, NamedLimit, WholeSecond
from tracestat.survival.bins import DEADLINES, Grid, Window
from tracestat.survival.deadline_cells import ScanCells
from tracestat.survival.deadline_excess import excess_of, share_of_atoms
from tracestat.survival.deadline_profile import profile
from tracestat.survival.deadline_scan import (
    FDR,
    FEWEST_DEVELOPERS,
    FEWEST_EVENTS,
    FEWEST_VOTES,
    Atom,
    LimitTest,
    Scan,
    named_limits,
    over_table,
    scan,
)
from tracestat.survival.deadline_windows import limit_window, scan_grid, scan_windows
from tracestat.survival.headline import headline
from tracestat.survival.shares import ratio_jackknife

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["KNOWN", "ScanPart", "codes_of", "known_limits", "scan_parts"]

Key = tuple[Any, ...]

KNOWN: Mapping[str, tuple[float, ...]] = {"claude": (120.0, 600.0), "codex": (1.0, 5.0, 10.0, 30.0)}
_START_UP = 0.5  # seconds that a Codex launch adds to its shortest yield
_ESTABLISHED = 0.05
_ENOUGH_CALLS = 5  # whose tool reports a time, for the median of what is added to it
_WHOLE = tuple(int(second) for second in DEADLINES if second > 1)
_NOTHING = "no window holds {events} ends of {votes} sessions between flanks of 5 ends: nothing could be tested"
_COARSE = "{n:,} rows on a clock of whole seconds are not in the scan, where each second would be a spike"
_ALL_COARSE = "all rows are on a clock of whole seconds: no scan and no test, ratios of seconds only"
_UNTOLD = "a limit of the harness cannot be told from a habit of one machine: that needs {needed} developers, not {n}"
_TABLE = "{seconds:.3g} s: with the windows of all groups as one family its q is {q:.2g}, above {fdr:g}"
_MIN_N = "{n} rows, {min_n} asked for"


@dataclass(frozen=True, slots=True)
class ScanPart:
    """What the scan says of one group; counts are of the rows that it is about."""

    n: int
    n_events: int
    n_sessions: int
    n_developers: int
    total_seconds: float
    atoms: tuple[DeadlineAtom, ...]
    share: Interval
    hours: float | None
    named: tuple[NamedLimit, ...]
    whole_seconds: tuple[WholeSecond, ...]
    hazard: tuple[HazardPiece, ...]
    n_windows: int
    n_tested: int
    notes: tuple[str, ...]


def known_limits(providers: Sequence[str | None]) -> tuple[float, ...]:
    """Give the limits that harnesses are known to have.

    Examples
    --------
    >>> known_limits(["codex", "claude", None])
    (1.0, 5.0, 10.0, 30.0, 120.0, 600.0)
    """
    return tuple(sorted({limit for provider in providers for limit in KNOWN.get(provider or "", ())}))


def _window(limit: float, providers: Sequence[str | None]) -> Window:
    return limit_window(limit, _START_UP if limit == 1 and "codex" in providers else 0.0)


def codes_of(ids: pl.Series) -> NDArray[np.intp]:
    """Give the distinct values of a column numbers from 0."""
    return np.unique(ids.to_numpy(), return_inverse=True)[1].astype(np.intp)


def _cells(frame: pl.DataFrame, grid: Grid) -> ScanCells:
    session = codes_of(frame["session_pk"])
    developer = np.zeros(int(session.max()) + 1, dtype=np.intp)
    developer[session] = codes_of(frame["developer_id"])
    return ScanCells(
        grid,
        session,
        frame["cell"].to_numpy().astype(np.intp),
        frame["n"].to_numpy().astype(np.float64),
        frame["n_seen"].to_numpy().astype(np.float64),
        frame["micros"].to_numpy().astype(np.float64) / 1e6,
        developer,
    )


def scan_parts(
    trace: Trace, selection: Selection, asked: Mapping[Key, Sequence[float]], min_n: int
) -> dict[Key, ScanPart]:
    """Scan every group of a selection.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        As :func:`tracestat.durations.select` has just set it.
    asked : mapping
        Limits that calls of each group asked for often enough to be tested beside the known ones.
    min_n : int
        Rows below which nothing is estimated.
    """
    windows = scan_windows()
    everything = {*known_limits(list(KNOWN)), *(limit for limits in asked.values() for limit in limits)}
    # with and without the start-up: which one a group needs depends on its providers
    others = {_window(limit, providers) for limit in everything for providers in ([], ["codex"])}
    grid = scan_grid(windows, sorted(others))
    frames = split_by_key(scan_cells(trace, selection, grid.edges), selection)
    coarse = split_by_key(
        whole_seconds(trace, selection, sorted({second + d for second in _WHOLE for d in (-1, 0, 1)})), selection
    )
    data = {key: _cells(frame, grid) for key, frame in frames.items()}
    providers = {key: sorted(set(frame["provider_of"].to_list()), key=str) for key, frame in frames.items()}
    large = {key: cells for key, cells in data.items() if cells.n_rows >= min_n}
    found = {key: scan(cells, windows) for key, cells in large.items()}
    q_table = over_table(found)
    limits = {
        key: [(x, _window(x, providers[key])) for x in sorted({*known_limits(providers[key]), *asked.get(key, ())})]
        for key in large
    }
    named = named_limits(large, limits, {key: each.masked for key, each in found.items()})
    tools = _tools(trace, selection, found)
    parts = {}
    for key in {**data, **coarse}:
        seconds = _whole_seconds(coarse[key]) if key in coarse else ()
        if key not in data:
            parts[key] = _coarse_part(coarse[key], seconds)
            continue
        cells = data[key]
        notes = [_COARSE.format(n=_all_of(coarse[key], "n"))] if key in coarse else []
        if key not in found:
            notes.insert(0, _MIN_N.format(n=cells.n_rows, min_n=min_n))
            parts[key] = _part(cells, notes, seconds)
            continue
        each = found[key]
        atoms = tuple(
            _atom(cells, atom, limits[key], q, tools.get((key, place)))
            for place, (atom, q) in enumerate(zip(each.atoms, q_table[key], strict=True))
        )
        parts[key] = _part(cells, [*_notes(cells, each, q_table[key]), *notes], seconds, each, atoms, named[key])
    return parts


def _notes(cells: ScanCells, found: Scan, q_table: Sequence[float]) -> list[str]:
    notes = []
    if not found.p_values:
        notes.append(_NOTHING.format(events=FEWEST_EVENTS, votes=FEWEST_VOTES))
    if found.atoms and cells.n_developers < FEWEST_DEVELOPERS:
        notes.append(_UNTOLD.format(n=cells.n_developers, needed=FEWEST_DEVELOPERS))
    return notes + [
        _TABLE.format(seconds=atom.seconds, q=q, fdr=FDR)
        for atom, q in zip(found.atoms, q_table, strict=True)
        if q > FDR
    ]


def _part(
    cells: ScanCells,
    notes: Sequence[str],
    seconds: tuple[WholeSecond, ...],
    found: Scan | None = None,
    atoms: tuple[DeadlineAtom, ...] = (),
    named: Sequence[LimitTest] = (),
) -> ScanPart:
    share, hours = NOT_AVAILABLE, None
    pieces: tuple[HazardPiece, ...] = ()
    if found is not None and found.p_values:
        tests = [atom.test for atom in found.atoms]
        share = share_of_atoms(cells, tests)
        means = [cells.mean_time(cells.inside([test.window])) or 0.0 for test in tests]
        hours = sum(m * (t.background.D - t.expected) for m, t in zip(means, tests, strict=True)) / 3600
    if found is not None:
        pieces = tuple(
            HazardPiece(
                lo=row.window[0],
                hi=row.window[1],
                events=round(row.events),
                exposure=row.exposure,
                hazard=row.hazard,
                smooth=row.smooth,
                in_atom=row.in_atom,
            )
            for row in profile(cells, scan_windows(), found)
        )
    return ScanPart(
        n=cells.n_rows,
        n_events=int(cells.n_event.sum()),
        n_sessions=cells.n_sessions,
        n_developers=cells.n_developers,
        total_seconds=float(cells.sum_time.sum()),
        atoms=atoms,
        share=share,
        hours=hours,
        named=tuple(_named(cells, limit) for limit in named),
        whole_seconds=seconds,
        hazard=pieces,
        n_windows=found.n_windows if found is not None else 0,
        n_tested=len(found.p_values) if found is not None else 0,
        notes=tuple(notes),
    )


def _atom(
    cells: ScanCells,
    atom: Atom,
    limits: Sequence[tuple[float, Window]],
    q_table: float,
    tool: tuple[str | None, float | None] | None,
) -> DeadlineAtom:
    test = atom.test
    excess = excess_of(cells, test)
    name, overhead = tool or (None, None)
    nominal = None if overhead is None else atom.seconds - overhead
    known = [
        limit
        for limit, (a, b) in limits
        if (a < test.window[1] and test.window[0] < b) or (nominal is not None and a <= nominal < b)
    ]
    # a wide atom may reach two limits: the nearer one is meant
    limit = min(known, key=lambda x: abs(np.log(x / atom.seconds)), default=None)
    return DeadlineAtom(
        seconds=atom.seconds,
        window=test.window,
        mass=excess.mass,
        share=excess.share,
        events=round(test.background.D),
        expected=test.expected,
        q_value=atom.q_value,
        label=atom.label,
        n_developers=atom.n_developers,
        known=limit is not None,
        known_limit=limit,
        n_sessions=atom.n_sessions,
        largest_developer=atom.largest_developer,
        tool=name,
        nominal_seconds=nominal,
        q_value_table=q_table,
        votes=round(test.votes),
        expected_votes=test.expected_votes,
        p_value=test.p,
        z=test.z,
        by_z=test.by_z,
        n_at_risk=int(cells.reaching(test.window[0]).sum()),
    )


def _named(cells: ScanCells, limit: LimitTest) -> NamedLimit:
    inside = cells.inside([limit.window])
    if limit.test is None or limit.p_adjusted is None:
        return NamedLimit(
            seconds=limit.limit,
            window=limit.window,
            mass=NOT_AVAILABLE,
            share=NOT_AVAILABLE,
            events=round(float(cells.events[inside].sum())),
            expected=None,
            votes=None,
            expected_votes=None,
            p_value=None,
            p_adjusted=None,
        )
    test = limit.test
    excess = excess_of(cells, test, established=limit.p_adjusted <= _ESTABLISHED)
    return NamedLimit(
        seconds=limit.limit,
        window=limit.window,
        mass=excess.mass,
        share=excess.share,
        events=round(test.background.D),
        expected=test.expected,
        votes=round(test.votes),
        expected_votes=test.expected_votes,
        p_value=test.p,
        p_adjusted=limit.p_adjusted,
        by_z=test.by_z,
    )


def _tools(
    trace: Trace, selection: Selection, found: Mapping[Key, Scan]
) -> dict[tuple[Key, int], tuple[str | None, float | None]]:
    """Give each atom the tool with most ends in it, and what that tool's calls there take beyond its own time."""
    places = [(key, place, atom.window) for key, each in found.items() for place, atom in enumerate(each.atoms)]
    if not places:
        return {}
    windows = list(dict.fromkeys(window for _, _, window in places))
    number = {window: i for i, window in enumerate(windows)}
    # on a clock that the tool reads itself nothing is added
    timed = atom_overheads(trace, windows) if selection.clock == "wall" else None
    overhead = {
        (row["atom"], row["provider_of"], row["tool_of"]): float(row["overhead_seconds"])
        for row in (() if timed is None else timed.iter_rows(named=True))
        if row["n"] >= _ENOUGH_CALLS
    }
    most: dict[tuple[Key, int], Mapping[str, Any]] = {}
    names = group_keys(selection)
    for row in atom_tools(trace, selection, windows).iter_rows(named=True):
        # rows of an atom come with the most frequent tool first
        most.setdefault((tuple(row[name] for name in names), row["atom"]), row)
    out = {}
    for key, place, window in places:
        first = most.get((key, number[window]))
        if first is not None:
            out[key, place] = (
                first["tool_of"],
                overhead.get((number[window], first["provider_of"], first["tool_of"])),
            )
    return out


def _all_of(frame: pl.DataFrame, column: str) -> int:
    return int(frame.filter(frame["at_second"] == -1)[column].sum())


def _coarse_part(frame: pl.DataFrame, seconds: tuple[WholeSecond, ...]) -> ScanPart:
    return ScanPart(
        n=_all_of(frame, "n"),
        n_events=_all_of(frame, "n_seen"),
        n_sessions=frame["session_pk"].n_unique(),
        n_developers=frame["developer_id"].n_unique(),
        total_seconds=float(frame.filter(frame["at_second"] == -1)["seconds"].sum()),
        atoms=(),
        share=NOT_AVAILABLE,
        hours=None,
        named=(),
        whole_seconds=seconds,
        hazard=(),
        n_windows=0,
        n_tested=0,
        notes=(_ALL_COARSE,),
    )


def _whole_seconds(frame: pl.DataFrame) -> tuple[WholeSecond, ...]:
    """Hold each second of the list against the mean of its two neighbours."""
    session, developer = codes_of(frame["session_pk"]), codes_of(frame["developer_id"])
    at, n = frame["at_second"].to_numpy(), frame["n"].to_numpy().astype(np.float64)
    out = []
    for second in _WHOLE:
        sums = []
        for code in (session, developer):
            here = sum_by(np.where(at == second, n, 0.0), code, int(code.max()) + 1)
            beside = sum_by(np.where(abs(at - second) == 1, n / 2, 0.0), code, int(code.max()) + 1)
            sums.append((here, beside))
        events, neighbours = round(float(sums[0][0].sum())), float(sums[0][1].sum())
        if not events and not neighbours:
            continue
        both = [ratio_jackknife(here, beside) for here, beside in sums]
        ratio = NOT_AVAILABLE
        if both[0] is not None and both[1] is not None:
            ratio = headline(both[0], both[1]).with_bounds(lambda bound: max(bound, 0.0))
        out.append(WholeSecond(seconds=second, events=events, neighbours=neighbours, ratio=ratio))
    return tuple(out)
