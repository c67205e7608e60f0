"""Tables and chart of deadlines: they fit, they say what they are, and they draw only what the axes can hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, LONG, STEERING, UNICODE, head, interval
from tracestat.charts import draw
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import (
    NOT_AVAILABLE,
    DeadlineAtom,
    DeadlineCost,
    DeadlinesGroup,
    DeadlinesResult,
    HazardPiece,
    Interval,
    NamedLimit,
    WholeSecond,
)

COST = DeadlineCost(
    hours=2.6,
    polls_per_command=2.26,
    rounds=405,
    tokens=50_685_982,
    sleep_seconds=74.0,
    polls=455,
    polled_commands=201,
    polls_interval=interval(2.26, 1.0, "session CV3"),
)
NO_COST = DeadlineCost(
    hours=None,
    polls_per_command=None,
    rounds=0,
    tokens=0,
    sleep_seconds=None,
    polls=None,
    polled_commands=None,
    polls_interval=NOT_AVAILABLE,
)


def atom(seconds: float = 30.05, **other: Any) -> DeadlineAtom:
    usual: dict[str, Any] = {
        "seconds": seconds,
        "window": (29.9795, 30.5815),
        "mass": interval(0.912, 0.08, "session CV3"),
        "share": interval(0.079, 0.04, "session CV3"),
        "events": 298,
        "expected": 0.8,
        "q_value": 7e-24,
        "label": "harness",
        "n_developers": 4,
        "known": True,
        "known_limit": 30.0,
        "n_sessions": 24,
        "largest_developer": 0.48,
        "tool": "write_stdin",
        "nominal_seconds": 30.045,
        "q_value_table": 2e-23,
        "votes": 24,
        "expected_votes": 0.75,
        "p_value": 7e-26,
        "z": 1.94,
        "n_at_risk": 326,
    }
    return DeadlineAtom(**usual | other)


def exact(limit: float, **other: Any) -> DeadlineAtom:
    usual: dict[str, Any] = {
        "window": (limit, limit + 0.4),
        "expected": None,
        "q_value": None,
        "q_value_table": None,
        "votes": None,
        "expected_votes": None,
        "p_value": None,
        "z": None,
        "nominal_seconds": None,
    }
    return atom(limit, **usual | other)


def piece(lo: float, hi: float, rate: float, in_atom: bool = False) -> HazardPiece:
    return HazardPiece(
        lo=lo,
        hi=hi,
        events=40 if rate else 0,
        exposure=90.0,
        hazard=interval(rate, 0.5 * rate, ratio=True) if rate else Interval(0.0, 0.0, 0.01),
        smooth=0.02,
        in_atom=in_atom,
    )


PIECES = (piece(0.5, 2.0, 0.4), piece(2.0, 29.9795, 0.03), piece(29.9795, 30.5815, 6.8, True), piece(30.5815, 60, 0.0))
NAMED = (
    NamedLimit(
        seconds=30.0,
        window=(29.97, 30.3),
        mass=interval(0.88, 0.05),
        share=interval(0.076, 0.03),
        events=287,
        expected=0.7,
        votes=23,
        expected_votes=0.7,
        p_value=7e-26,
        p_adjusted=4e-25,
    ),
    NamedLimit(
        seconds=600.0,
        window=(599.4, 606.0),
        mass=NOT_AVAILABLE,
        share=NOT_AVAILABLE,
        events=0,
        expected=None,
        votes=None,
        expected_votes=None,
        p_value=None,
        p_adjusted=None,
    ),
)


def group(mode: str, key: str = "codex", **other: Any) -> DeadlinesGroup:
    atoms = {
        "scan": (atom(), atom(5.012, window=(5.0005, 5.0505), label="local", largest_developer=0.67, n_developers=2)),
        "status": (exact(1.0), exact(30.0)),
        "asked": (
            exact(30.0, n_asked=141, of_asked=interval(0.8, 0.1)),
            exact(600.0, events=0, label=None, n_asked=110, of_asked=Interval(0.0), share=Interval(0.0)),
        ),
    }[mode]
    usual: dict[str, Any] = {
        "key": {"provider": key},
        "n": 3_771,
        "n_events": 3_763,
        "n_censored": 8,
        "n_sessions": 66,
        "n_developers": 15,
        "total_seconds": 9e4,
        "notes": ("fewer than 20 developers (15)",),
        "mode": mode,
        "unit": "call" if mode == "asked" else "pause",
        "atoms": atoms,
        "share_on_deadline": interval(0.096, 0.05, "session CV3"),
        "share_exact": interval(0.111, 0.06, "session CV3") if mode == "scan" else None,
        "cost": COST,
    }
    if mode == "scan":
        usual |= {"named": NAMED, "hazard": PIECES, "n_windows": 752, "n_tested": 36}
    return DeadlinesGroup(**usual | other)


def nothing(key: str = "claude") -> DeadlinesGroup:
    return group(
        "scan",
        key,
        atoms=(),
        named=(),
        hazard=(),
        n_tested=0,
        share_on_deadline=NOT_AVAILABLE,
        share_exact=None,
        cost=NO_COST,
        notes=("no window holds enough",),
    )


def result(*groups: DeadlinesGroup, **other: Any) -> DeadlinesResult:
    return DeadlinesResult(head("deadlines", **other), groups)


def everything(key: str = "codex", **other: Any) -> DeadlinesResult:
    return result(group("asked", key), group("status", key), group("scan", key), nothing(), **other)


def text(made: DeadlinesResult) -> str:
    return to_text(tables_of(made))


def words(made: DeadlinesResult) -> str:
    return str(draw(made).to_dict())


def titles(made: DeadlinesResult) -> list[str]:
    return [table.title for table in tables_of(made)]


@pytest.mark.parametrize("key", ["codex", HOSTILE, UNICODE, LONG, STEERING])
@pytest.mark.first_case
def test_tables_fit_80_columns_and_never_steer(key: str) -> None:
    shown = text(everything(key))
    # wide characters take two columns each, and are in the names only
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "\x1b" not in shown
    assert "<script>" not in to_html(tables_of(everything(key)))
    assert "<script>" not in words(everything(key))


def test_each_way_of_knowing_has_its_table() -> None:
    assert titles(everything()) == [
        "Deadlines of pauses, by provider",
        "Limits that calls asked for",
        "Rows that say that they ended on a limit",
        "Spikes that the scan finds",
        "What these spikes hold",
        "Where these spikes come from",
        "Limits named beforehand: known ones, and those asked for",
        "What limits cost",
    ]
    assert titles(result(nothing())) == ["Deadlines of pauses, by provider", "What limits cost"]


def test_what_a_reader_must_know_is_said() -> None:
    shown = " ".join(text(everything()).split())
    for part in (
        "pause, wall clock, tool rows",
        "rows of 'as asked' are calls, all others pauses",
        "29.98 to 30.58 s",
        "30.05 s",
        "7e-24",
        "harness (4)",
        "67.0 %",
        "p not available",
        "2.6 h (as asked)",
        "50.7 M",
        "74 s",
    ):
        assert part in shown, part


def test_no_spike_is_said_with_the_number_of_windows() -> None:
    shown = text(result(group("scan", atoms=(), share_on_deadline=Interval(0.0))))
    assert "none: 36 windows tested at a false discovery rate of 1 % per group" in shown


def test_notes_of_several_modes_stand_once() -> None:
    shown = text(everything())
    assert shown.count("fewer than 20 developers") == 1


def test_whole_seconds_have_a_table_without_a_test() -> None:
    second = WholeSecond(seconds=30, events=12, neighbours=1.5, ratio=interval(8.0, 2.0))
    shown = text(result(group("scan", whole_seconds=(second,))))
    assert "Where the clock knows whole seconds only" in shown
    assert "8.00 [" in shown
    assert "no test" in shown


def test_many_asked_limits_are_cut_and_said() -> None:
    atoms = tuple(exact(float(i), n_asked=100 - i, of_asked=interval(0.1, 0.05)) for i in range(1, 31))
    shown = " ".join(text(result(group("asked", atoms=atoms))).split())
    assert "10 more limits, asked for by 745 calls, 2,980 of which ended on it" in shown


@pytest.mark.parametrize("synthetic", [True, False])
def test_synthetic_stands_in_every_title_or_in_none(synthetic: bool) -> None:
    made = everything(synthetic=synthetic)
    assert {title.startswith("SYNTHETIC") for title in titles(made)} == {synthetic}
    assert ("SYNTHETIC: codex" in words(made)) == synthetic


def test_a_result_without_groups_says_so() -> None:
    assert "nothing is left to count" in text(result())
    assert "nothing is left to count" in words(result())
    assert "no window holds enough" in words(result(nothing()))


def walk(node: Any) -> Any:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def rows(made: DeadlinesResult) -> list[dict[str, Any]]:
    spec = draw(made).to_dict()
    named = [row for data in spec.get("datasets", {}).values() for row in data]
    return named + [row for node in walk(spec) for row in node.get("values", []) if isinstance(row, dict)]


def test_the_chart_marks_the_atoms_with_their_share() -> None:
    spec = words(everything())
    assert "30.05 s: 7.9 % of all, harness" in spec
    assert "5.012 s: 7.9 % of all, local" in spec
    assert "36 windows tested, 2 spikes found" in spec
    assert "say that they ended on a limit" in spec
    assert "pause, wall clock, tool rows" in spec


def test_the_smooth_hazard_and_every_stretch_with_ends_are_drawn() -> None:
    drawn = rows(result(group("scan")))
    stretches = [row for row in drawn if "kind" in row]
    assert [row["kind"] for row in stretches] == ["hazard", "hazard", "atom"]  # no zero on a log axis
    assert all(0 < row["low"] <= row["y"] <= row["high"] for row in stretches)
    assert sum(row.get("y") == 0.02 and "kind" not in row and "text" not in row for row in drawn) == 3


def test_shares_of_each_mode_stand_beside_each_other() -> None:
    names = [row["name"] for row in rows(everything()) if "how" in row]
    assert names == [
        "codex, 30 s write_stdin, as asked",
        "codex, 1 s, by status",
        "codex, 30 s, by status",
        "codex, 30.05 s, scan",
        "codex, 5.012 s, scan",
    ]


def test_without_a_scan_the_shares_are_drawn_alone() -> None:
    made = result(group("status"))
    assert "What each limit holds" in words(made)
    assert "hazard, per second" not in words(made)


def test_results_without_intervals_can_be_shown() -> None:
    from tracestat.results import without_intervals

    made = dataclasses.replace(everything(), groups=tuple(without_intervals(g) for g in everything().groups))
    assert "30.05 s" in text(made)
    assert "30.05 s" in words(made)


def test_hostile_tools_are_only_text() -> None:
    made = result(
        group("scan", atoms=(atom(tool=HOSTILE),)), group("asked", atoms=(exact(5.0, tool=STEERING, n_asked=3),))
    )
    assert "\x1b" not in text(made)
    assert "<script>" not in to_html(tables_of(made))
    assert "<script>" not in words(made)
