"""The view that every estimate reads: what is left out, counted by reason, and what the keys mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.traces import Row, call, round_
from tracestat.api.common import excluded_of
from tracestat.durations import curve_counts, hazard_cells, key_values, select
from tracestat.errors import UsageError
from tracestat.ingest.reclass import reclass
from tracestat.survival.bins import DEFAULT_EDGES

Make = Callable[[list[Row]], Any]


def rows_of(trace: Any, **choices: Any) -> list[tuple[Any, ...]]:
    select(trace, **choices)
    rows: list[tuple[Any, ...]] = trace.run(
        "SELECT round(seconds, 6), row_kind, excluded FROM durations ORDER BY ALL NULLS FIRST"
    ).rows()
    return rows


@pytest.fixture
def mixed(store_of: Make) -> Any:
    return store_of(
        [
            round_("s", 0, [call("a", 0, 1)]),
            round_("s", 1, [call("b", 10, 100, "AskUserQuestion")]),
            round_("s", 2, [call("c", 200, 199.95)]),
            round_("s", 3, [call("d", 300, 299)]),
            round_("s", 4, [call("e", 400, None)]),
            round_("t", 0, [call("a", 0, 1)]),
        ]
    )


def test_pauses(mixed: Any) -> None:
    assert rows_of(mixed) == [
        (0.0, "tool", None),
        (0.0, "tool", None),
        (0.0, "tool", "uninformative"),
        (1.0, "tool", None),
        (1.0, "tool", "copies"),
        (90.0, "human", None),
    ]


def test_calls_clamp_skew_and_leave_out_reversed_times(mixed: Any) -> None:
    assert rows_of(mixed, unit="call") == [
        (-1.0, "tool", "negative"),
        (0.0, "tool", None),
        (0.0, "tool", "uninformative"),
        (1.0, "tool", None),
        (1.0, "tool", "copies"),
        (90.0, "human", None),
    ]
    found = excluded_of(mixed, select(mixed, unit="call"))
    assert found.counts == {"negative": 1, "uninformative": 1, "copies": 1, "human": 1}
    assert found.skewed == 1
    assert "clock skew" in found.notes[0]


def test_tracelab_keeps_copies_and_humans_and_only_positive_durations(mixed: Any) -> None:
    found = rows_of(mixed, definition="tracelab")
    assert [row for row in found if row[2] is None] == [(1.0, "tool", None), (1.0, "tool", None), (90.0, "human", None)]
    assert {row[2] for row in found} == {None, "nonpositive"}


def test_commands(mixed: Any) -> None:
    assert [row for row in rows_of(mixed, unit="command") if row[2] is None] == [
        (0.0, "tool", None),
        (1.0, "tool", None),
    ]


def test_a_zero_inflated_clock_is_left_out(store_of: Make) -> None:
    trace = store_of(
        [
            round_(
                "s",
                i,
                [call(f"c{i}", 10 * i, 10 * i + 0.2, "exec_command", tool_internal_latency_ms=0 if i < 3 else 150)],
            )
            for i in range(10)
        ]
    )
    assert excluded_of(trace, select(trace, unit="call", clock="internal")).counts == {"zero_inflated": 10}
    assert excluded_of(trace, select(trace, unit="call")).counts == {}


def test_calls_without_a_reported_time_are_counted(mixed: Any) -> None:
    found = excluded_of(mixed, select(mixed, unit="call", clock="internal"))
    assert found.counts == {"unreported": 5, "copies": 1}


def test_local_time_decides_days(store_of: Make) -> None:
    # 2026-03-02 12:00 UTC and eleven hours later
    trace = store_of([round_("s", 0, [call("a", 0, 1)]), round_("s", 1, [call("b", 11 * 3600, 11 * 3600 + 1)])])
    days = key_values(trace, select(trace, by="day,hour,weekday", tz="Europe/Berlin"))
    assert sorted(str(d) for d in days["day"]) == ["2026-03-02", "2026-03-03"]
    assert sorted(days["hour"]) == [0, 13]
    assert sorted(days["weekday"]) == ["Mon", "Tue"]
    assert key_values(trace, select(trace, by="day", tz="UTC")).height == 1


def test_dates_and_conditions_choose_rows(mixed: Any) -> None:
    everything = {"tz": "UTC", "by": None, "rows": "all"}
    assert curve_counts(mixed, select(mixed, since="2026-03-02T12:00:05", **everything))["n_event"].sum() == 3
    assert curve_counts(mixed, select(mixed, until="2026-03-02T12:00:05", **everything))["n_event"].sum() == 1
    assert curve_counts(mixed, select(mixed, where="tool LIKE 'Ask%'", **everything))["seconds"].to_list() == [90.0]


def test_cells_add_up_and_a_coarse_clock_enters_late(store_of: Make) -> None:
    coarse = [round_("s", i, [call(f"c{i}", 100 * i, 100 * i + s)]) for i, s in enumerate((2, 4, 20, 60))]
    fine = [round_("t", i, [call(f"d{i}", 100 * i, 100 * i + 2.001, "Read")]) for i in range(3)]
    trace = store_of([*coarse, *fine])
    cells = hazard_cells(trace, select(trace, by="tool"), (0.0, *DEFAULT_EDGES), DEFAULT_EDGES)
    bash, read = (cells.filter(cells["tool"] == tool) for tool in ("Bash", "Read"))
    assert (bash["n"].sum(), read["n"].sum()) == (4, 3)
    assert (bash["n_event"].sum(), read["n_event"].sum()) == (2, 3)  # 2 s and 4 s lie below 5 r
    assert bash["n_net"].sum() == 0  # both that go on entered at 5.9685 s
    assert bash["micros_net"].sum() == pytest.approx((20 + 60 - 2 * 5.9685) * 1e6)


def test_own_classes(mixed: Any, tmp_path: Path) -> None:
    classes = tmp_path / "classes.toml"
    classes.write_text('order = ["mine", "other"]\n[tools]\nmine = ["Bash"]\n[commands]\n')
    reclass(mixed, classes)
    found = key_values(mixed, select(mixed, by="tool_class", rows="all"))
    assert dict(found.rows()) == {"mine": 3, "other": 1}
    reclass(mixed, classes)
    assert key_values(mixed, select(mixed, by="tool_class", rows="all")).rows() == found.rows()


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"unit": "round"}, "--unit round"),
        ({"clock": "internal"}, "only calls have it"),
        ({"clock": "sundial", "unit": "call"}, "--clock sundial"),
        ({"rows": "some"}, "--rows some"),
        ({"definition": "mine"}, "--definition mine"),
        ({"since": "soon"}, "--since soon"),
    ],
)
def test_choices_that_do_not_exist(mixed: Any, choices: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        select(mixed, **choices)
