"""The scan as a whole: what it finds, what it leaves alone, how it names it, and how much it holds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.survival.data import Floats
from tracestat.survival.deadline_cells import ScanCells, cells_of_rows
from tracestat.survival.deadline_excess import excess_of, share_of_atoms
from tracestat.survival.deadline_profile import profile
from tracestat.survival.deadline_scan import label_of, named_limits, over_table, scan
from tracestat.survival.deadline_windows import limit_window, scan_grid, scan_windows

WINDOWS = scan_windows()
LIMITS = [(5.0, limit_window(5.0)), (30.0, limit_window(30.0)), (600.0, limit_window(600.0))]
GRID = scan_grid(WINDOWS, [window for _, window in LIMITS])
SESSIONS = 40


def even(n: int = 4000) -> Floats:
    """A power law without chance, from 0.2 s, whole milliseconds."""
    return np.round(0.2 * (1 - (np.arange(n) + 0.5) / n) ** (-1 / 0.9), 3)


def data_of(times: Floats, session: NDArray[np.intp] | None = None, developers: int = 8) -> ScanCells:
    rows = np.random.default_rng(3).permutation(times.size) % SESSIONS if session is None else session
    return cells_of_rows(times, np.ones(times.size), rows, GRID, np.arange(int(rows.max()) + 1) % developers)


def with_deadline(at: float, part: float, width: float = 0.04) -> Floats:
    """Let every so-manieth row that reaches a time end there."""
    times = even()
    reach = np.flatnonzero(times > at)
    chosen = reach[:: round(1 / part)]
    times[chosen] = np.round(at + np.linspace(0, width, chosen.size), 3)
    return times


def test_a_smooth_hazard_has_no_spike() -> None:
    found = scan(data_of(even()), WINDOWS)
    assert found.atoms == ()
    assert len(found.p_values) > 20
    assert share_of_atoms(data_of(even()), []).value == 0


def test_a_deadline_is_found_where_it_is() -> None:
    data = data_of(with_deadline(30.0, 0.5))
    (atom,) = scan(data, WINDOWS).atoms
    assert atom.window[0] < 30 < 30.04 < atom.window[1]
    assert atom.seconds == pytest.approx(30.02, abs=0.01)
    assert atom.label == "harness"
    excess = excess_of(data, atom.test)
    # half of those above 30 s, and the share of those below that reach the window
    reach = float(data.reaching(atom.window[0]).sum())
    assert excess.mass.value == pytest.approx(0.5 * np.sum(even() > 30) / reach, abs=0.02)
    assert excess.share.value == pytest.approx(0.5 * np.mean(even() > 30), abs=0.001)


def test_neighbouring_hits_are_one_atom() -> None:
    found = scan(data_of(with_deadline(12.0, 0.5, width=0.3)), WINDOWS)
    (atom,) = found.atoms
    assert sum(atom.window[0] <= a < atom.window[1] for a, _ in WINDOWS) >= 2
    assert atom.q_value == min(
        over_table({0: found})[0]
    )  # alone in its table, an atom is adjusted over the same windows


def test_two_deadlines_are_two_atoms_and_do_not_hide_each_other() -> None:
    times = with_deadline(5.0, 0.3)
    reach = np.flatnonzero(times > 5.3)
    times[reach[::3]] = 5.31
    found = scan(data_of(times), WINDOWS)
    assert [round(atom.seconds, 1) for atom in found.atoms] == [5.0, 5.3]
    # each is left out of the flanks of the other
    first, second = found.atoms
    assert second.test.background.D_left < first.test.background.D
    assert found.masked[data_of(times).inside([first.window, second.window])].all()


def test_ends_of_few_sessions_are_not_tested() -> None:
    times = with_deadline(30.0, 0.5)
    session = np.where((times >= 30) & (times <= 30.05), np.arange(times.size) % 4, np.arange(times.size) % SESSIONS)
    assert scan(data_of(times, session), WINDOWS).atoms == ()


@pytest.mark.parametrize(
    ("ends", "label"),
    [
        ([5, 3, 2], "harness"),
        ([90, 5, 5], "harness"),
        ([91, 5, 4], "local"),
        ([5, 5, 0], "local"),
        ([10], "local"),
    ],
)
def test_label(ends: list[int], label: str) -> None:
    assert label_of(np.array(ends, dtype=np.float64)) == label


def test_the_habit_of_one_machine_is_local() -> None:
    (atom,) = scan(data_of(with_deadline(30.0, 0.5), developers=1), WINDOWS).atoms
    assert (atom.label, atom.n_developers, atom.largest_developer) == ("local", 1, 1.0)


def test_over_the_table_atoms_are_adjusted_with_the_windows_of_all_groups() -> None:
    found = {"a": scan(data_of(with_deadline(30.0, 0.5)), WINDOWS), "b": scan(data_of(even()), WINDOWS)}
    q = over_table(found)
    assert q["b"] == ()
    assert q["a"][0] > found["a"].atoms[0].q_value


def test_named_limits_are_adjusted_together() -> None:
    data = data_of(with_deadline(30.0, 0.5))
    found = scan(data, WINDOWS)
    (named,) = named_limits({0: data}, {0: LIMITS}, {0: found.masked}).values()
    by_limit = {item.limit: item for item in named}
    assert by_limit[30.0].p_adjusted is not None
    assert by_limit[30.0].p_adjusted < 1e-10
    assert by_limit[5.0].p_adjusted is not None
    assert by_limit[5.0].p_adjusted > 0.05
    tested = [item for item in named if item.test is not None]
    assert by_limit[30.0].test is not None
    assert by_limit[30.0].p_adjusted == pytest.approx(len(tested) * by_limit[30.0].test.p)


def test_a_limit_that_nobody_reaches_is_not_tested() -> None:
    data = data_of(np.minimum(even(), 20.0))
    (named,) = named_limits({0: data}, {0: LIMITS}, {0: scan(data, WINDOWS).masked}).values()
    assert [(item.test, item.p_adjusted) for item in named if item.limit == 600.0] == [(None, None)]


def test_an_excess_that_is_not_established_may_be_below_zero() -> None:
    times = even()
    times = times[(times < 4.9) | (times > 5.05)]
    data = data_of(times)
    (named,) = named_limits({0: data}, {0: LIMITS[:1]}, {0: np.zeros(GRID.n_cells, dtype=np.bool_)}).values()
    assert named[0].test is not None
    share = excess_of(data, named[0].test, established=False).share
    assert share.value is not None
    assert share.value < 0
    assert share.low is not None
    assert share.low < share.value
    assert share.high is not None
    # nobody ended there, yet how many would have is not known exactly
    assert share.high > share.value / 2


def test_flanks_of_sessions_that_never_reach_the_window_count_in_its_mass() -> None:
    times = with_deadline(30.0, 0.5)
    order = np.argsort(times)
    # as many rows each: the first sessions hold the shortest waits only
    session = np.empty(times.size, dtype=np.intp)
    session[order] = np.arange(times.size) * SESSIONS // times.size
    session[times > 29] = np.arange(int((times > 29).sum())) % SESSIONS
    session[(times > 24) & (times < 29)] = SESSIONS
    data = data_of(times, session)
    (limit,) = named_limits({"all": data}, {"all": LIMITS[1:2]}, {"all": np.zeros(GRID.n_cells, dtype=bool)})["all"]
    assert limit.test is not None
    mass = excess_of(data, limit.test).mass
    low, high = limit.window
    events, reach = ((times >= low) & (times < high)).sum(), (times >= low).sum()
    assert mass.value == pytest.approx((events - limit.test.expected) / reach)
    assert mass.low is not None
    assert mass.high is not None
    assert mass.low < mass.value < mass.high


def test_the_share_of_several_atoms_is_their_sum() -> None:
    times = with_deadline(5.0, 0.3)
    reach = np.flatnonzero(times > 30)
    times[reach[::2]] = 30.01
    data = data_of(times)
    tests = [atom.test for atom in scan(data, WINDOWS).atoms]
    assert len(tests) == 2
    shares = [excess_of(data, test).share.value for test in tests]
    together = share_of_atoms(data, tests)
    assert together.value == pytest.approx(sum(share for share in shares if share is not None))
    assert together.low is not None
    assert together.value is not None
    assert together.low < together.value


def test_intervals_leave_clusters_out_with_their_flanks() -> None:
    """Against the jackknife by hand: the whole of it without each session in turn."""
    times, session = with_deadline(30.0, 0.5), np.random.default_rng(3).permutation(4000) % SESSIONS
    data = data_of(times, session)
    (atom,) = scan(data, WINDOWS).atoms
    value = excess_of(data, atom.test).share.value
    assert value is not None
    replicates = []
    for g in range(SESSIONS):
        keep = session != g
        rest = cells_of_rows(times[keep], np.ones(keep.sum()), session[keep] - (session[keep] > g), GRID)
        a, b = atom.window
        ratio = atom.test.background.ratio
        sums = [rest.by_session(rest.inside([w])) for w in ((a, b), (round(a / ratio, 6), a), (b, round(b * ratio, 6)))]
        (D, X), (DL, XL), (DR, XR) = ((float(d.sum()), float(x.sum())) for d, x in sums)
        replicates.append((D - X * np.sqrt((DL + 0.5) / XL * (DR + 0.5) / XR)) / keep.sum())
    se = np.sqrt((SESSIONS - 1) / SESSIONS * np.sum((np.array(replicates) - value) ** 2))
    independent = np.sqrt(value * (1 - value) / times.size)
    low, high = excess_of(data, atom.test).share.session or (None, None)
    assert low is not None
    assert high is not None
    assert high - low == pytest.approx(2 * 2.0227 * max(se, independent), rel=0.05)


def test_profile_gives_each_atom_its_own_bin_and_loses_no_end() -> None:
    data = data_of(with_deadline(30.0, 0.5))
    found = scan(data, WINDOWS)
    rows = profile(data, WINDOWS, found)
    assert [row.window for row in rows if row.in_atom] == [found.atoms[0].window]
    assert all(a.window[1] == b.window[0] for a, b in pairwise(rows))
    inside = data.inside([(WINDOWS[0][0], rows[-1].window[1])])
    assert sum(row.events for row in rows) == data.events[inside].sum()
    (atom,) = (row for row in rows if row.in_atom)
    assert atom.smooth is not None
    assert atom.hazard.value is not None
    assert atom.hazard.value > 10 * atom.smooth
    for row in rows:
        if not row.in_atom and row.events >= 20 and row.smooth:
            assert row.events / row.exposure == pytest.approx(row.smooth, rel=0.6)


def test_profile_of_nothing_is_empty() -> None:
    data = data_of(np.full(50, 0.01))
    assert profile(data, WINDOWS, scan(data, WINDOWS)) == []
