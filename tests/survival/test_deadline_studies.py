"""Does the scan find deadlines where there are some and nothing where there are none? Do its intervals cover?

Durations mix a lognormal body with a Pareto tail, shifted by developer and by session, in whole milliseconds. Each
study exists once: ``pytest -m full`` runs it at full size against the stated bound, the unmarked run is smaller and its
bound wider by three binomial standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.survival.data import Floats
from tests.survival.test_studies import slack
from tracestat.results import Bounds
from tracestat.survival.deadline_cells import ScanCells, cells_of_rows
from tracestat.survival.deadline_excess import excess_of
from tracestat.survival.deadline_scan import scan
from tracestat.survival.deadline_windows import scan_grid, scan_windows

DEVELOPERS, SESSIONS, ROWS = 30, 8, 33  # of each the next: 240 sessions, about 8,000 rows
GRID = scan_grid(scan_windows())
LIMIT = 30.0


@dataclass(frozen=True)
class Atom:
    """A deadline: in so many sessions such a share of the pauses that reach 30 s end there, up to 50 ms late."""

    sessions: float
    mass: float


def smooth(rng: np.random.Generator, effect: Floats) -> Floats:
    body = np.exp(rng.normal(0.5, 1.6, effect.size))
    tail = 2 * (rng.pareto(0.8, effect.size) + 1)
    times: Floats = np.where(rng.random(effect.size) < 0.7, body, tail) * np.exp(effect)
    return times


def trace(rng: np.random.Generator, atom: Atom | None = None) -> ScanCells:
    """One trace of 30 developers of 8 sessions of about 33 pauses."""
    session_effect = np.repeat(rng.normal(0, 0.4, DEVELOPERS), SESSIONS) + rng.normal(0, 0.3, DEVELOPERS * SESSIONS)
    sizes = 1 + rng.poisson(ROWS - 1, session_effect.size)
    session = np.repeat(np.arange(session_effect.size), sizes)
    times = smooth(rng, session_effect[session])
    if atom is not None:
        affected = (rng.random(session_effect.size) < atom.sessions)[session]
        ends = affected & (times > LIMIT) & (rng.random(times.size) < atom.mass)
        times = np.where(ends, LIMIT + rng.uniform(0, 0.05, times.size), times)
    developer: NDArray[np.intp] = np.repeat(np.arange(DEVELOPERS), SESSIONS)
    return cells_of_rows(np.round(times, 3), np.ones(times.size), session, GRID, developer)


@cache
def survival_at(t: float) -> float:
    """P(T > t) of a pause drawn at random, without a deadline."""
    rng = np.random.default_rng(99)
    n = 2_000_000
    return float(np.mean(smooth(rng, rng.normal(0, 0.5, n)) > t))  # 0.4 and 0.3 together


def false_hits(runs: int) -> float:
    """Share of traces without a deadline in which anything is found."""
    rng = np.random.default_rng(11)
    return sum(bool(scan(trace(rng), scan_windows()).atoms) for _ in range(runs)) / runs


@dataclass(frozen=True)
class Found:
    power: float
    false: float
    share: float
    mass: float
    share_by_developer: float


def planted(runs: int, atom: Atom, seed: int = 12) -> Found:
    """Plant a deadline: how often it is found, something else is, and the intervals hold the truth."""
    rng = np.random.default_rng(seed)
    found = false = 0
    held = np.zeros(3)
    true_share = atom.sessions * atom.mass * survival_at(LIMIT)
    for _ in range(runs):
        data = trace(rng, atom)
        atoms = scan(data, scan_windows()).atoms
        here = [a for a in atoms if a.window[0] <= LIMIT + 0.05 and a.window[1] > LIMIT]
        false += len(atoms) > len(here)
        if not here:
            continue
        found += 1
        excess = excess_of(data, here[0].test)
        true_mass = true_share / survival_at(here[0].window[0])
        held += [
            inside(excess.share.session, true_share),
            inside(excess.mass.session, true_mass),
            inside(excess.share.developer, true_share),
        ]
    return Found(found / runs, false / runs, *(held / found))


def inside(bounds: Bounds | None, truth: float) -> bool:
    assert bounds is not None
    low, high = bounds
    assert low is not None
    assert high is not None
    return low <= truth <= high


HALF = Atom(sessions=0.5, mass=0.2)  # about 50 of 8,000 pauses
POLLS = Atom(sessions=0.2, mass=0.85)  # few sessions, and these end there nearly always


@pytest.mark.full
def test_nothing_is_found_where_nothing_is() -> None:
    found = false_hits(400)
    print(f"no deadline, 400 traces: any hit in {found:.1%}")
    assert found <= 0.05


@pytest.mark.full
@pytest.mark.parametrize("atom", [HALF, POLLS, Atom(1.0, 0.3)], ids=["half", "polls", "all"])
def test_a_deadline_is_found_and_its_intervals_cover(atom: Atom) -> None:
    found = planted(400, atom)
    print(f"{atom}, 400 traces: {found}")
    assert found.power >= 0.95
    assert found.false <= 0.05
    # by session they do not know how developers differ, which matters most where every session has the deadline
    assert found.share >= 0.85
    assert found.mass >= 0.90
    assert found.share_by_developer >= 0.92


@pytest.mark.full
def test_nothing_is_found_where_nothing_is_small() -> None:
    # 25 runs at 1 %: 0.05 + 0.06
    assert false_hits(25) <= 0.05 + slack(0.01, 25)


@pytest.mark.full
def test_a_deadline_is_found_and_its_intervals_cover_small() -> None:
    # 16 runs: of power 0.95 - 0.16, of coverage 0.92 - 0.20
    found = planted(16, HALF)
    assert found.power >= 0.95 - slack(0.95, 16)
    assert found.false <= 0.05 + slack(0.05, 16)
    assert found.share_by_developer >= 0.92 - slack(0.92, 16)
