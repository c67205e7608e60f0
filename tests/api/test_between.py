"""Commands that ended between two polls: which they are, and what each answer makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.api.between import cells_and_ends
from tracestat.api.hazard_plan import make_plan
from tracestat.durations import hazard_cells, select
from tracestat.durations.between import count_between, hazard_between
from tracestat.survival.bins import DEFAULT_EDGES

Make = Callable[[list[Row]], Any]


def chain(session: str, at: float, polls: list[tuple[float, float]], **more: Any) -> list[Row]:
    """A launch that yields at 1.2 s, then polls (asked, told) after it, the last of which finds it ended."""
    name = f"{session}-{at:g}"
    launch = call(name, at, at + 1.2, "exec_command", command_status="running", command_skeleton="make", **more)
    rows = [round_(session, int(at), [launch], provider="codex")]
    for number, (asked, told) in enumerate(polls):
        status = "finished" if number == len(polls) - 1 else "running"
        poll = call(
            f"{name}-{number}", at + asked, at + told, "write_stdin", command_status=status,
            continuation_of_tool_call_id=name,
        )  # fmt: skip
        rows.append(round_(session, int(at) + number + 1, [poll], provider="codex"))
    return rows


def alone(session: str, at: float, seconds: float) -> Row:
    one = call(f"{session}-{at:g}", at, at + seconds, "exec_command", command_status="finished", command_skeleton="ls")
    return round_(session, int(at), [one], provider="codex")


def mixed() -> list[Row]:
    return [
        *chain("s", 0, [(5, 35), (38, 38.02)]),  # ended in (35, 38.02]
        *chain("s", 100, [(5, 35), (38, 41.3)]),  # the poll waited for it
        *chain("t", 0, [(60, 60.5)]),  # in (1.2, 60.5]: half a second is at once
        *chain("t", 200, [(60, 60.6)]),
        alone("t", 400, 0.9),
        alone("u", 0, 2.5),
    ]


def test_an_end_is_between_polls_if_the_last_one_returned_at_once(store_of: Make) -> None:
    trace = store_of(mixed())
    selection = select(trace, unit="command", by=None)
    found = hazard_between(trace, selection, DEFAULT_EDGES)
    assert [(round(r["lo"], 6), round(r["hi"], 6), r["n"]) for r in found.to_dicts()] == [
        (35.0, 38.02, 1),
        (1.2, 60.5, 1),
    ]
    assert count_between(trace, selection)["n_between"].to_list() == [2]
    for unit in ("pause", "call"):
        assert hazard_between(trace, select(trace, unit=unit, by=None), DEFAULT_EDGES).is_empty()


def test_parts_add_up_to_rows_and_leave_the_others_alone(store_of: Make) -> None:
    trace = store_of(mixed())
    selection = select(trace, unit="command", by=None)
    grid = make_plan(None, None, None).grid
    plain = hazard_cells(trace, selection, grid.edges, DEFAULT_EDGES)
    ends = cells_and_ends(trace, selection, grid, DEFAULT_EDGES)
    assert ends.cells["n"].sum() == plain["n"].sum() == 6
    assert ends.cells["n_event"].sum() == pytest.approx(6)
    assert ends.cells["n_net"].sum() == pytest.approx(6)
    (between,) = ends.groups.values()
    assert between.n == 2
    assert between.part.sum() == pytest.approx(2)
    # they lasted longer than they were seen running, and not as long as they were told to have
    told, seen = 38.02 + 60.5, 35.0 + 1.2
    others = 41.3 + 60.6 + 0.9 + 2.5
    assert float(plain["micros_net"].sum()) / 1e6 == pytest.approx(told + others)
    assert seen + others < float(ends.cells["micros_net"].sum()) / 1e6 < told + others
    order = ends.cells.select("session_pk", "skeleton_id", "cell").rows()
    assert order == sorted(order)


def test_the_hazard_says_how_many_and_pauses_say_nothing(store_of: Make) -> None:
    trace = store_of(mixed())
    (group,) = tracestat.hazard(trace, unit="command", by=None, draws=0).groups
    assert group.n_between == 2
    assert group.n == group.n_events == 6
    assert any(note.startswith("2 of 6 commands ended between two polls; their end is known") for note in group.notes)
    assert sum(item.events for item in group.bins) in (5, 6, 7)  # expected numbers, rounded
    assert (
        json.loads(json.dumps(tracestat.hazard(trace, unit="command", draws=0).to_dict()))["groups"][0]["n_between"]
        == 2
    )
    for unit in ("pause", "call"):
        (other,) = tracestat.hazard(trace, unit=unit, by=None, draws=0, rows="all").groups  # type: ignore[arg-type]
        assert other.n_between == 0
        assert not any("between two polls" in note for note in other.notes)


def test_what_times_ends_at_the_poll_says_so_and_in_which_direction(store_of: Make) -> None:
    trace = store_of(mixed())
    told = "2 commands ended between two polls, and are timed at the later one: "
    laws = "laws take them to last longer than they did"
    assert told + laws in tracestat.fit_laws(trace, unit="command").head.notes
    assert not tracestat.fit_laws(trace).head.notes
    for answer, error in (
        (tracestat.survival_curve, "from when they were last seen running, the curve is too high"),
        (tracestat.residual, "remaining times are too long from the first yield on"),
        (tracestat.summary, "their durations are too long"),
    ):
        assert told + error in answer(trace, unit="command").head.notes  # type: ignore[operator]
        assert not any("between two polls" in note for note in answer(trace).head.notes)  # type: ignore[operator]


def test_causes_share_the_rows_at_risk(store_of: Make) -> None:
    rows = [*mixed(), round_("v", 0, [call("v", 0, 3.0, "exec_command", command_status="aborted")], provider="codex")]
    trace = store_of(rows)
    groups = {g.key["end_kind"]: g for g in tracestat.hazard(trace, unit="command", by="end_kind", draws=0).groups}
    assert groups["completed"].n_between == 2
    assert groups["interrupted"].n_between == 0
    (pooled,) = tracestat.hazard(trace, unit="command", by=None, draws=0).groups
    assert [b.events for b in groups["completed"].bins] == [b.events for b in pooled.bins]
    assert [b.exposure for b in groups["completed"].bins] == pytest.approx([b.exposure for b in pooled.bins])


@pytest.mark.parametrize(
    "options", [{"bins": 60}, {"first_edge": 2.0}, {"cut_at": []}, {"by": "session"}, {"min_n": 9}]
)
@pytest.mark.first_case
def test_other_bins_and_keys(store_of: Make, options: dict[str, Any]) -> None:
    groups = tracestat.hazard(store_of(mixed()), unit="command", draws=0, **options).groups
    assert sum(g.n_between for g in groups) == 2
    assert all(item.hazard.value is None or np.isfinite(item.hazard.value) for g in groups for item in g.bins)


@pytest.mark.full
def test_the_sample_the_same_to_the_last_digit() -> None:
    found = {
        json.dumps(tracestat.hazard(tracestat.open(), unit="command", draws=50).to_dict(), allow_nan=False)
        for _ in range(2)
    }
    assert len(found) == 1


def test_the_real_trace(real_trace: Any) -> None:
    with tracestat.open(real_trace) as trace:
        result = tracestat.hazard(trace, unit="command", draws=200)
    groups = {group.key["provider"]: group for group in result.groups}
    assert groups["claude"].n_between == 0
    codex = groups["codex"]
    assert (codex.n, codex.n_between) == (6_333, 123)
    assert codex.slope.poisson.value == pytest.approx(-0.728, abs=5e-4)  # -0.778 with ends timed at the poll
    assert codex.slope.weibull.value == pytest.approx(-0.730, abs=1e-3)
    assert sum(item.events for item in codex.bins) == pytest.approx(3_475, abs=12)
