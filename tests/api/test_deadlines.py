"""What deadlines says of small traces whose answer is known by hand, and of the sample, whose truth is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.api.deadlines import Mode
from tracestat.results import DeadlineAtom, DeadlinesGroup, DeadlinesResult
from tracestat.survival.proportion import clustered_share

Make = Callable[[list[Row]], Any]
SAMPLE_TRUTH = Path(tracestat.__file__).parent.parent / "data" / "sample.truth.json"


def only(result: DeadlinesResult, mode: str, **key: object) -> DeadlinesGroup:
    (group,) = (g for g in result.groups if g.mode == mode and key.items() <= g.key.items())
    return group


def at(group: DeadlinesGroup, seconds: float, tool: str | None = None) -> DeadlineAtom:
    (atom,) = (a for a in group.atoms if a.seconds == seconds and tool in (None, a.tool))
    return atom


def running(limit: float) -> dict[str, Any]:
    """What TraceLab says of a yield: the limit stands in the time that the tool reports."""
    return {"command_status": "running", "tool_internal_latency_ms": round(limit * 1000) + 2}


def command(name: str, user: str = "user_00000001") -> list[Row]:
    """Launch at 0, still running at 1.2; poll from 5 to 35, still running; poll from 38 to 41.3, finished."""
    poll = {"continuation_of_tool_call_id": f"{name}a"}
    calls = [
        call(f"{name}a", 0, 1.2, "exec_command", **running(1)),
        call(f"{name}b", 5, 35, "write_stdin", **running(30), **poll),
        call(f"{name}c", 38, 41.3, "write_stdin", command_status="finished", **poll),
    ]
    return [round_(name, i, [one], provider="codex", user=user) for i, one in enumerate(calls)]


def test_a_command_that_is_polled_twice(store_of: Make) -> None:
    trace = store_of(command("s"))
    pauses = trace.sql("SELECT seconds, end_kind FROM pauses ORDER BY started_at").rows()
    assert pauses == [(1.2, "deadline"), (30.0, "deadline"), (3.3, "completed")]
    result = tracestat.deadlines(trace)
    assert [group.mode for group in result.groups] == ["status", "scan"]
    group = only(result, "status")
    assert (group.n, group.n_events, group.unit) == (3, 3, "pause")
    assert group.share_on_deadline.value == pytest.approx(2 / 3)
    first, second = group.atoms
    assert (first.seconds, first.events, first.n_at_risk, first.window) == (1.0, 1, 3, (1.2, 1.2))
    assert (second.seconds, second.events, second.n_at_risk, second.window) == (30.0, 1, 1, (30.0, 30.0))
    assert (first.mass.value, second.mass.value) == (pytest.approx(1 / 3), 1.0)
    assert (first.label, first.known_limit, first.known, second.known_limit) == ("local", 1.0, True, 30.0)
    cost = group.cost
    assert cost.hours == pytest.approx(31.2 / 3600)
    assert (cost.polls, cost.polled_commands, cost.polls_per_command) == (2, 1, 2.0)
    assert (cost.rounds, cost.tokens) == (2, 2 * 1024)
    assert cost.sleep_seconds is None
    assert any("asked to sleep" in note for note in group.notes)


def test_the_published_definition_knows_calls_but_polls_are_those_of_commands(store_of: Make) -> None:
    result = tracestat.deadlines(store_of(command("s")), definition="tracelab")
    for group in result.groups:
        assert (group.cost.polls, group.cost.polled_commands, group.cost.rounds) == (2, 1, 2)
        assert not any("intervals" in note or "polled" in note for note in group.notes)
    assert any("default definition" in note for note in result.head.notes)


def test_a_clock_of_the_tool_has_nothing_to_take_off(store_of: Make) -> None:
    rows = [
        round_(f"s{i}", place, [call(f"c{i}_{place}", 100 * place, 100 * place + seconds + 0.2, "exec_command",
            tool_internal_latency_ms=round(seconds * 1000))], provider="codex", user=f"user_{i % 4:08x}")
        for i in range(20)
        for place, seconds in enumerate([8 + i / 20, 9 + i / 25, 10.01, 10.02, 11 + i / 15, 12 + i / 20])
    ]  # fmt: skip
    trace = store_of(rows)
    found = {
        clock: only(tracestat.deadlines(trace, unit="call", clock=clock, mode="scan"), "scan").atoms
        for clock in ("wall", "internal")
    }
    assert [round(atom.nominal_seconds or 0, 3) for atom in found["wall"]] == [10.015]
    assert [(round(atom.seconds, 3), atom.nominal_seconds) for atom in found["internal"]] == [(10.015, None)]


def test_a_command_does_not_end_on_its_yield(store_of: Make) -> None:
    group = only(tracestat.deadlines(store_of(command("s")), unit="command", mode="status"), "status")
    assert (group.n, group.share_on_deadline.value, group.atoms) == (1, 0.0, ())


def test_the_limit_of_a_pause_is_that_of_the_call_that_held_it_back(store_of: Make) -> None:
    calls = [
        call("a", 0, 1.1, "exec_command", **running(1)),
        call("b", 0, 10.1, "exec_command", index=1, **running(10)),
        call("c", 0, 0.2, "exec_command", index=2, command_status="finished"),
    ]
    group = only(tracestat.deadlines(store_of([round_("s", 0, calls, provider="codex")]), mode="status"), "status")
    assert [(atom.seconds, atom.events) for atom in group.atoms] == [(10.0, 1)]


def test_intervals_of_exact_modes_are_those_of_shares_by_cluster(store_of: Make) -> None:
    rows = [row for i in range(4) for row in command(f"s{i}", f"user_{i % 2:08x}")]
    others = [call(f"x{i}", 100 * i, 100 * i + 0.5, "exec_command", command_status="finished") for i in range(10, 15)]
    rows += [round_("s0", 10 + i, [one], provider="codex", user="user_00000000") for i, one in enumerate(others)]
    group = only(tracestat.deadlines(store_of(rows), mode="status"), "status")
    expected = clustered_share([2, 2, 2, 2], [8, 3, 3, 3])
    assert expected is not None
    assert group.share_on_deadline.value == expected.value
    assert group.share_on_deadline.session == expected.bounds
    assert group.share_on_deadline.method == "session CV3"


def test_who_does_not_say_how_calls_ended_is_kept_apart(store_of: Make) -> None:
    rows = command("s") + [round_("t", i, [call(f"t{i}", 9 * i, 9 * i + 4, "Bash")]) for i in range(5)]
    trace = store_of(rows)
    result = tracestat.deadlines(trace)
    assert [(g.label, g.mode) for g in result.groups] == [("claude", "scan"), ("codex", "status"), ("codex", "scan")]
    assert any("no call says how it ended" in note for note in only(result, "scan", provider="claude").notes)
    pooled = only(tracestat.deadlines(trace, by="none"), "status")
    assert (pooled.n, pooled.share_on_deadline.value) == (3, pytest.approx(2 / 3))
    assert any("5 rows of claude" in note for note in pooled.notes)
    shell = only(tracestat.deadlines(trace, by="tool_class"), "status", tool_class="shell")
    assert [(atom.seconds, atom.n_at_risk) for atom in shell.atoms] == [(1.0, 1)]
    told = only(tracestat.deadlines(trace, mode="status"), "status", provider="claude")
    assert (told.n, told.share_on_deadline.value, told.cost.hours) == (5, None, None)
    assert any("status is not known" in note for note in told.notes)


def asks(name: str, limit: float, seconds: float | None, status: str = "finished", i: int = 0, **more: Any) -> Row:
    known = {"asked_limit_seconds": limit, "command_status": status, "start_kind": "emission"} | more
    begin = 1000.0 * i
    one = call(f"{name}{i}", begin, None if seconds is None else begin + seconds, "Bash", **known)
    return round_(name, i, [one], user=f"user_{name}")


def test_limits_that_calls_asked_for(store_of: Make) -> None:
    rows = [
        asks("a", 120, 3.0),
        asks("a", 120, 120.2, "timeout", 1),
        asks("a", 10, 10.05, "running", 2),
        asks("b", 120, 0.4),
        asks("b", 120, 130.0, i=1),
        asks("b", 120, 150.0, i=2, approval_seconds=60.0),
        asks("b", 600, 5.0, i=3),
        asks("b", 120, None, i=4),
        asks("b", 1, 2.0, i=5),
    ]
    group = only(tracestat.deadlines(store_of(rows)), "asked")
    assert (group.unit, group.n, group.share_on_deadline.value) == ("call", 9, pytest.approx(2 / 9))
    assert [atom.n_asked for atom in group.atoms] == [6, 1, 1, 1]
    most = at(group, 120.0)
    assert most.of_asked is not None
    # one of the five that have a result; one more ran so long, another only with its wait for approval
    assert (most.events, most.of_asked.value, most.mass.value) == (1, pytest.approx(1 / 5), pytest.approx(1 / 2))
    assert (most.label, most.known_limit, most.window) == ("local", 120.0, (120.2, 120.2))
    assert most.notes == ("1 without a result: in no part of those that asked",)
    ten, never = at(group, 10.0), at(group, 600.0)
    assert ten.of_asked is not None
    assert (ten.of_asked.value, ten.mass.value, ten.label) == (1.0, 1.0, "local")
    assert never.of_asked is not None
    assert (never.of_asked.value, never.mass.value, never.label) == (0.0, None, None)
    assert group.cost.hours == pytest.approx((120.2 + 10.05) / 3600)


def test_limits_known_only_of_calls_that_ended_on_them_are_no_answer(store_of: Make) -> None:
    trace = store_of(command("s"))
    group = only(tracestat.deadlines(trace, mode="asked"), "asked")
    assert (group.n, group.atoms, group.share_on_deadline.value) == (3, (), None)
    assert any("only of calls that ended on them" in note for note in group.notes)


def test_written_sleeps_are_those_slept_to_the_end(store_of: Make) -> None:
    def shell(skeleton: str, limit: float, seconds: float, status: str, i: int, **more: Any) -> Row:
        known = {
            "command_skeleton": skeleton,
            "executables": skeleton.split(" && "),
            "executable_parse_status": "success",
        }
        return asks("a", limit, seconds, status, i, **known, **more)

    rows = [
        shell("sleep && tail", 5, 5.4, "finished", 0),
        shell("sleep && tail", 30, 40.0, "finished", 1, approval_seconds=9.5),
        shell("sleep && tail", 30, 31.0, "finished", 2, approval_seconds=9.5),  # it did not run so long
        shell("<loops> && sleep", 120, 60.0, "finished", 3),  # how long it asked to sleep is not known
        shell("sleep", 120, 120.1, "timeout", 4),  # cut off, and counted as such
        shell("make", 5, 5.4, "finished", 5),
    ]
    assert only(tracestat.deadlines(store_of(rows)), "asked").cost.sleep_seconds == 35.0


def whole(sessions: int = 12) -> list[Row]:
    """Per session one row at each of 4, 6 and 9 s and three at 5 s, on a clock of whole seconds."""
    lasts = (4, 5, 5, 5, 6, 9)
    return [
        round_(f"s{s}", i, [call(f"s{s}-{i}", 100 * i, 100 * i + d)], user=f"user_{s % 3:08x}")
        for s in range(sessions)
        for i, d in enumerate(lasts)
    ]


def test_a_clock_of_whole_seconds_is_not_scanned(store_of: Make) -> None:
    group = only(tracestat.deadlines(store_of(whole())), "scan")
    assert (group.n, group.n_tested, group.atoms, group.hazard, group.named) == (72, 0, (), (), ())
    assert group.share_on_deadline.value is None
    assert any("whole seconds" in note for note in group.notes)
    five = {second.seconds: second for second in group.whole_seconds}[5]
    assert (five.events, five.neighbours, five.ratio.value) == (36, 12.0, 3.0)
    assert five.ratio.session == (pytest.approx(3.0), pytest.approx(3.0))


def test_rows_on_a_clock_of_whole_seconds_beside_others_are_counted(store_of: Make) -> None:
    fine = [round_("f", i, [call(f"f{i}", 50 * i, 50 * i + 1.234 + i / 7, "Read")]) for i in range(8)]
    group = only(tracestat.deadlines(store_of(whole(2) + fine)), "scan")
    assert group.n == 8
    assert any("12 rows on a clock of whole seconds" in note for note in group.notes)
    assert group.whole_seconds


def spike(place: float, sessions: int = 30, each: int = 36) -> list[Row]:
    """Rows from 1 s to an hour evenly on a log axis, and in each session one more that ends at one place."""
    rows = []
    for s in range(sessions):
        lasts = [round(3600 ** ((i + s / sessions) / each), 3) for i in range(each)] + [round(place + s / 1000, 3)]
        rows += [
            round_(f"s{s}", i, [call(f"s{s}-{i}", 4000 * i, 4000 * i + d)], user=f"user_{s % 5:08x}")
            for i, d in enumerate(lasts)
        ]
    return rows


def test_a_spike_is_found_and_named(store_of: Make) -> None:
    trace = store_of(spike(20.01))
    group = only(tracestat.deadlines(trace), "scan")
    (atom,) = group.atoms
    assert atom.window[0] is not None
    assert atom.window[0] <= 20.01
    assert (atom.label, atom.n_developers, atom.known, atom.tool) == ("harness", 5, False, "Bash")
    assert atom.nominal_seconds is None
    assert (atom.votes, atom.events >= 30) == (30, True)
    assert atom.share.value == pytest.approx(1 / 37, rel=0.1)
    assert group.share_on_deadline.value == pytest.approx(atom.share.value)
    assert group.share_exact is None
    assert [limit.seconds for limit in group.named] == [120.0, 600.0]
    assert group.cost.hours == pytest.approx((atom.events - (atom.expected or 0)) * 20.02 / 3600, rel=0.01)
    assert any(piece.in_atom for piece in group.hazard)


def test_a_spike_where_a_limit_is_known(store_of: Make) -> None:
    rows = [row | {"provider": "codex"} for row in spike(10.01)]
    for row in rows:
        row["session_id"] = row["session_id"].replace("claude", "codex")
        for one in row["tools"]:
            one["tool_name"] = "exec_command"
            if 10 <= one["tool_wall_latency_ms"] / 1000 <= 10.05:
                one["tool_internal_latency_ms"] = one["tool_wall_latency_ms"] - 8
    group = only(tracestat.deadlines(store_of(rows)), "scan")
    (atom,) = group.atoms
    assert (atom.known, atom.known_limit) == (True, 10.0)
    assert atom.nominal_seconds == pytest.approx(atom.seconds - 0.008)
    assert {limit.seconds: limit.p_adjusted is not None and limit.p_adjusted < 1e-6 for limit in group.named}[10.0]


def test_more_groups_make_one_family_of_the_table(store_of: Make) -> None:
    trace = store_of(spike(20.01))
    (alone,) = only(tracestat.deadlines(trace, by="none"), "scan").atoms
    (beside,) = only(tracestat.deadlines(trace, by="tool"), "scan").atoms
    assert alone.q_value == alone.q_value_table == beside.q_value_table


def test_too_few_rows_are_said(store_of: Make) -> None:
    rows = [row | {"provider": "codex"} for row in spike(20.01, sessions=2)] + command("s")
    result = tracestat.deadlines(trace := store_of(rows), min_n=1000)
    assert [group.mode for group in result.groups] == ["status", "scan"]
    for group in result.groups:
        assert (group.n > 70, group.atoms, group.share_on_deadline.value) == (True, (), None)
        assert any(f"{group.n} rows, 1000 asked for" in note for note in group.notes)
    scan = only(tracestat.deadlines(trace), "scan")
    assert scan.share_on_deadline.value is None
    assert any("nothing could be tested" in note for note in scan.notes)


def test_one_definition_has_no_intervals() -> None:
    result = tracestat.deadlines(tracestat.open(), definition="tracelab")
    for group in result.groups:
        assert (group.share_on_deadline.low, group.share_on_deadline.session) == (None, None)
        assert all(atom.mass.low is None for atom in group.atoms)


@pytest.mark.parametrize("mode", ["exact", "", "Scan"])
def test_an_unknown_mode_is_a_usage_error(mode: Mode) -> None:
    with pytest.raises(tracestat.UsageError, match="auto, scan, status, asked"):
        tracestat.deadlines(tracestat.open(), mode=mode)


@pytest.mark.parametrize("mode", ["scan", "status", "asked"])
def test_a_mode_gives_that_mode_only(mode: Mode) -> None:
    result = tracestat.deadlines(tracestat.open(), mode=mode)
    assert [(group.label, group.mode) for group in result.groups] == [("claude", mode), ("codex", mode)]


def test_the_sample_holds_what_was_put_into_it() -> None:
    truth = json.loads(SAMPLE_TRUTH.read_text(encoding="utf-8"))
    result = tracestat.deadlines(tracestat.open())
    codex = only(result, "status", provider="codex")
    assert codex.share_on_deadline.value == pytest.approx(truth["shares"]["codex"]["on_deadline"], abs=1e-4)
    places = {round(atom.known_limit or 0) for atom in only(result, "scan", provider="codex").atoms}
    assert places == {1, 5, 10, 30}
    (atom,) = only(result, "scan", provider="claude").atoms
    assert (atom.known_limit, atom.label) == (120.0, "harness")
    (planted,) = (
        a for a in truth["atoms"] if a["provider"] == "claude" and a["tool"] == "Bash" and a["seconds"] == 120
    )
    assert atom.mass.low is not None
    assert atom.mass.high is not None
    assert atom.mass.low < planted["mass"] < atom.mass.high


def test_the_frame_has_a_row_per_atom() -> None:
    result = tracestat.deadlines(tracestat.open())
    frame = result.to_frame()
    assert frame.height == sum(len(group.atoms) for group in result.groups)
    assert frame["synthetic"].all()
    assert set(frame["mode"]) == {"scan", "status"}


def test_a_frame_without_atoms_has_the_columns_of_one_with_them(store_of: Make) -> None:
    none = tracestat.deadlines(store_of([round_("s", 0, [call("a", 0, 1.5)])])).to_frame()
    some = tracestat.deadlines(store_of(command("s"))).to_frame()
    assert some.height > none.height == 0
    assert none.schema == some.schema


def test_a_ratio_of_counts_is_not_below_zero(store_of: Make) -> None:
    rows = [
        round_(f"s{i}", place, [call(f"c{i}_{place}", 100 * place, 100 * place + seconds)], user=f"user_{i % 5:08x}")
        for i in range(12)
        for place, seconds in enumerate([4, 6, 7] if i else [5, 5, 4])
    ]
    group = only(tracestat.deadlines(store_of(rows), mode="scan"), "scan")
    (second,) = (s for s in group.whole_seconds if s.seconds == 5)
    assert second.ratio.value == pytest.approx(2 / 11.5)
    assert second.ratio.low == 0
