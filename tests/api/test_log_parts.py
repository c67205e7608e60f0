"""What summary says of asked limits and of waits before the start: known answers, and silence where none is known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.ingest.logs.test_growth import call as log_call
from tests.ingest.logs.test_growth import line, result, stamp
from tests.test_schemas import wrong
from tests.traces import Row, call, round_, write
from tracestat.ingest import ingest
from tracestat.results import AskedLimit, StartWait, SummaryGroup, SummaryResult
from tracestat.store import open_store
from tracestat.survival.proportion import clustered_share
from tracestat.survival.shares import share_of_time

Make = Callable[[list[Row]], Any]
YIELD = {"command_status": "running", "tool_internal_latency_ms": 10_002}


def session(name: str, *calls: tuple[float | None, dict[str, Any]], provider: str = "codex", **more: Any) -> list[Row]:
    """A round per call, 1,000 s apart; a call is its wall time (none without a result) and what is known of it."""
    tool = "exec_command" if provider == "codex" else "Bash"
    rows = []
    for i, (seconds, known) in enumerate(calls):
        at = 1000.0 * i
        one = call(f"{name}{i}", at, None if seconds is None else at + seconds, tool, **known)
        rows.append(round_(name, i, [one], provider=provider, **more))
    return rows


def asked(limit: float, status: str = "finished", **more: Any) -> dict[str, Any]:
    return {"asked_limit_seconds": limit, "command_status": status, "start_kind": "emission"} | more


def started(wait: float | None, mode: str | None = "default", **more: Any) -> dict[str, Any]:
    if wait is None:
        return {"permission_mode": mode, "start_kind": "emission"} | more
    return {"permission_mode": mode, "start_kind": "rebuilt", "approval_seconds": wait} | more


def calls_of(result: SummaryResult) -> SummaryGroup:
    (group,) = (group for group in result.groups if group.key["unit"] == "call")
    return group


def limit_of(group: SummaryGroup, seconds: float) -> AskedLimit:
    (found,) = (limit for limit in group.limits if limit.asked_limit_seconds == seconds)
    return found


def mode_of(group: SummaryGroup, mode: str | None) -> StartWait:
    (found,) = (wait for wait in group.start_waits if wait.permission_mode == mode)
    return found


@pytest.fixture
def limits(store_of: Make) -> Any:
    """Two developers: 10 s asked for by 4 and 6 calls, of which 2 and 2 end on it; other limits beside it."""
    short, ended = (3.0, asked(10)), (10.1, asked(10, "running"))
    timed = asked(900, tool_internal_latency_ms=699_000)
    return store_of(
        [
            *session("a", ended, short, ended, short, user="user_00000001"),
            *session("b", short, (None, asked(10)), (10.2, asked(10, "timeout")), short, ended, short, user="user_2"),
            *session("c", (600.5, asked(600, "running")), (700.0, timed), user="user_2"),
        ]
    )


def test_calls_that_asked_for_a_limit_and_ended_on_it(limits: Any) -> None:
    group = calls_of(tracestat.summary(limits))
    ten = limit_of(group, 10)
    assert (ten.provider, ten.tool) == ("codex", "exec_command")
    assert (ten.n_asked, ten.n_ended, ten.n_unseen) == (10, 4, 1)
    assert ten.seconds_ended == pytest.approx(10.1 + 10.1 + 10.2 + 10.1)
    assert (ten.n_sessions, ten.n_developers, ten.notes) == (2, 2, ())
    assert ten.share.value == 4 / 9
    expected = clustered_share([2, 2], [4, 5])
    assert expected is not None
    assert ten.share.session == expected.bounds
    assert (ten.share.low, ten.share.high, ten.share.method) == (*expected.bounds, "session CV3")
    assert [limit.asked_limit_seconds for limit in group.limits] == [10, 600, 900]


def test_too_little_is_an_answer(limits: Any) -> None:
    group = calls_of(tracestat.summary(limits))
    every, none = limit_of(group, 600), limit_of(group, 900)
    assert (every.share.value, every.share.low, every.notes) == (1, None, ("every call ended on it: no interval",))
    assert (none.share.value, none.share.low, none.notes) == (0, None, ("no call ended on it: no interval",))
    few = limit_of(calls_of(tracestat.summary(limits, min_n=10)), 10)
    assert (few.n_asked, few.n_ended) == (10, 4)
    assert (few.share.value, few.notes) == (None, ("9 rows, 10 asked for",))
    one = limit_of(calls_of(tracestat.summary(limits, where="developer = 'user_00000001'")), 10)
    assert (one.share.value, one.share.low, one.notes) == (0.5, None, ("one session: no interval",))
    assert (one.n_asked, one.n_sessions) == (4, 1)


def test_a_limit_of_calls_without_a_result_has_no_share(store_of: Make) -> None:
    trace = store_of(session("a", (None, asked(20)), (3, asked(10))))
    twenty = limit_of(calls_of(tracestat.summary(trace)), 20)
    assert (twenty.n_asked, twenty.n_unseen, twenty.share.value) == (1, 1, None)
    assert twenty.notes == ("no call has a result",)


def test_twenty_developers_stand_first(store_of: Make) -> None:
    rows = [
        row
        for i in range(42)
        for row in session(
            f"s{i}", (10.1, asked(10, "running")), *[(3.0, asked(10))] * (i % 4), user=f"user_{i // 2:02d}"
        )
    ]
    ten = limit_of(calls_of(tracestat.summary(store_of(rows))), 10)
    n = [1 + i % 4 for i in range(42)]
    by_developer = clustered_share([2] * 21, [n[2 * i] + n[2 * i + 1] for i in range(21)])
    assert by_developer is not None
    assert ten.share.method == "developer CV3"
    assert ten.share.developer == (ten.share.low, ten.share.high) == by_developer.bounds
    assert ten.share.session == clustered_share([1] * 42, n).bounds  # type: ignore[union-attr]


def test_rows_that_take_no_part_are_not_asked(store_of: Make) -> None:
    ended = (10.1, asked(10, "running"))
    first = session("a", ended, (3.0, asked(10)))
    trace = store_of(
        [
            *first,
            *[row | {"session_id": "codex:copy"} for row in first],
            *session("b", (0.1, asked(10, "refused")), (0.2, asked(10, "background")), (-5.0, asked(10))),
        ]
    )
    group = calls_of(tracestat.summary(trace))
    assert (limit_of(group, 10).n_asked, limit_of(group, 10).n_ended) == (2, 1)
    assert limit_of(calls_of(tracestat.summary(trace, rows="all")), 10).n_asked == 3
    assert calls_of(tracestat.summary(trace, rows="human")).limits == ()


@pytest.mark.full
def test_selection_and_keys_hold_here_too(limits: Any) -> None:
    some = calls_of(tracestat.summary(limits, where="asked_limit_seconds >= 600"))
    assert [limit.asked_limit_seconds for limit in some.limits] == [600, 900]
    late = calls_of(tracestat.summary(limits, since="2026-03-02T12:10", tz="UTC"))  # without each session's first
    assert limit_of(late, 10).n_asked == 8
    whole = tracestat.summary(limits, by="none")
    assert calls_of(whole).limits == calls_of(tracestat.summary(limits)).limits
    for by in ("developer", "asked_limit_seconds", "day,tool", "permission_mode,provider"):
        groups = tracestat.summary(limits, by=by).groups
        assert sum(limit.n_asked for g in groups for limit in g.limits) == 12
        assert sum(limit.n_ended for g in groups for limit in g.limits) == 5


def test_they_are_about_calls_by_the_wall_clock(limits: Any) -> None:
    by_wall = calls_of(tracestat.summary(limits, unit="call"))
    internal = calls_of(tracestat.summary(limits, unit="call", clock="internal"))
    assert internal.n == 1  # the only call with an internal time
    assert internal.limits == by_wall.limits
    for unit in ("pause", "command"):
        assert all(not g.limits for g in tracestat.summary(limits, unit=unit).groups)  # type: ignore[arg-type]
    pauses = [g for g in tracestat.summary(limits).groups if g.key["unit"] == "pause"]
    assert [g.limits for g in pauses] == [()]
    assert all(not g.limits for g in tracestat.summary(limits, definition="tracelab").groups)


def test_a_limit_that_shows_only_in_yields_has_no_share(store_of: Make) -> None:
    """TraceLab's rows know the limit of a call from its yield alone; 100 % of these end on it, whatever it was."""
    trace = store_of(session("a", (10.1, YIELD), (10.1, YIELD), (3.0, {"command_status": "finished"})))
    result = tracestat.summary(trace)
    group = calls_of(result)
    assert group.by_end_kind == {"completed": 1, "deadline": 2}
    assert (group.limits, group.start_waits) == ((), ())
    (note,) = (note for note in group.notes if "limit" in note)
    assert note == (
        "2 calls of exec_command ended on a limit known only because they did: no share of those that asked for it"
    )
    text = repr(result)
    assert "Limits that calls asked for" not in text
    assert "Waits before" not in text
    assert "waits before" not in " ".join(result.head.notes)


def test_sources_that_know_less_do_not_spoil_those_that_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, yields = tmp_path / "logs", tmp_path / "rows.jsonl"
    known.mkdir()
    write(yields, [*session("t", (10.1, YIELD), (10.1, YIELD), (10.1, YIELD), provider="codex")])
    (known / "rollout-1.jsonl").write_bytes(rollout())
    ingest([known, yields], tmp_path / "both.duckdb")
    with open_store(tmp_path / "both.duckdb") as trace:
        group = calls_of(tracestat.summary(trace))
    ten = limit_of(group, 10)
    assert (ten.n_asked, ten.n_ended, ten.share.value) == (3, 1, 1 / 3)
    assert any(note.startswith("3 calls of exec_command ended on a limit known only") for note in group.notes)


def rollout() -> bytes:
    """Three calls of Codex that ask for 10 s; one of them yields."""
    lines: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "r1", "cwd": "/w", "cli_version": "0.120.0", "timestamp": stamp(0)}},
        {"type": "turn_context", "payload": {"cwd": "/w", "model": "gpt-5", "approval_policy": "never"}},
    ]
    times = [0.0, 0.0]
    for i, text in enumerate(("Process exited with code 0", "Process running with session ID 7", "Process exited")):
        wall = 10.0 if "running" in text else 2.0
        arguments = json.dumps({"cmd": f"make part{i}", "yield_time_ms": 10_000})
        one = {"type": "function_call", "name": "exec_command", "call_id": f"c{i}", "arguments": arguments}
        output = f"Chunk ID: 1\nWall time: {wall:.4f} seconds\n{text}\nOutput:\n"
        two = {"type": "function_call_output", "call_id": f"c{i}", "output": output}
        lines += [{"type": "response_item", "payload": payload} for payload in (one, two)]
        times += [20.0 * i + 1, 20.0 * i + 1 + wall + 0.2]
        usage = {"input_tokens": 100 + i, "output_tokens": 5, "total_tokens": 105 + i}
        info = {"total_token_usage": usage, "last_token_usage": usage}
        lines.append({"type": "event_msg", "payload": {"type": "token_count", "info": info}})
        times.append(times[-1])
    return b"".join(
        json.dumps({"timestamp": stamp(t), **value}).encode() + b"\n" for t, value in zip(times, lines, strict=True)
    )


@pytest.fixture
def waits(store_of: Make) -> Any:
    """Mode default: waits of 1, 2, 3 s in 10 s calls and 30 s of 40; mode plan: nothing known."""
    known = [(10.0, started(1.0)), (10.0, started(2.0)), (10.0, started(3.0))]
    return store_of(
        [
            *session("a", *known, (5.0, started(None)), provider="claude"),
            *session("b", (40.0, started(30.0)), (4.0, started(None, "plan")), provider="claude", user="user_2"),
        ]
    )


def test_waits_before_the_start(waits: Any) -> None:
    result = tracestat.summary(waits)
    wait = mode_of(calls_of(result), "default")
    assert (wait.n, wait.n_known, wait.n_sessions, wait.n_developers) == (5, 4, 2, 2)
    assert (wait.median.value, wait.p90.value) == (2.0, 30.0)
    assert (wait.wait_seconds, wait.seconds) == (36.0, 70.0)
    expected = share_of_time([30.0, 40.0], [6.0, 30.0])
    assert expected is not None
    assert wait.of_time.value == 36 / 70
    assert wait.of_time.session == expected.bounds
    assert wait.median.low is not None
    assert wait.median.low <= 2 <= (wait.median.high or math.inf)
    assert any("a selected sample" in note for note in result.head.notes)
    plan = mode_of(calls_of(result), "plan")
    assert (plan.n, plan.n_known, plan.median.value, plan.of_time.value) == (1, 0, None, None)
    assert plan.notes == ("no start is known",)


def test_waits_are_the_survival_curve_of_waits(waits: Any, store_of: Make) -> None:
    """The same numbers as if the waits had been whole calls."""
    wait = mode_of(calls_of(tracestat.summary(waits)), "default")
    alone = store_of(
        [
            *session("a", (1.0, {}), (2.0, {}), (3.0, {}), provider="claude"),
            *session("b", (30.0, {}), provider="claude", user="user_2"),
        ]
    )
    (group,) = tracestat.survival_curve(alone, unit="call").groups
    assert (wait.median, wait.p90) == (group.quantiles["0.5"], group.quantiles["0.9"])


@pytest.mark.full
def test_waits_follow_keys_conditions_and_minimum(waits: Any) -> None:
    one = mode_of(calls_of(tracestat.summary(waits, where="developer = 'user_2'")), "default")
    assert (one.n_known, one.median.value, one.of_time.value, one.of_time.low) == (1, 30.0, 0.75, None)
    assert one.notes == ("one session: no interval",)
    few = mode_of(calls_of(tracestat.summary(waits, min_n=5)), "default")
    assert (few.n_known, few.median.value, few.notes) == (4, None, ("4 rows, 5 asked for",))
    for by in ("none", "permission_mode", "developer", "permission_mode,tool", "day"):
        groups = tracestat.summary(waits, by=by).groups
        assert sum(wait.n_known for g in groups for wait in g.start_waits) == 4
        assert sum(wait.wait_seconds for g in groups for wait in g.start_waits) == 36


def test_whoever_asks_next_finds_calls_and_not_waits(waits: Any) -> None:
    before = tracestat.survival_curve(waits, unit="call").to_dict()
    tracestat.summary(waits)
    assert tracestat.survival_curve(waits, unit="call").to_dict() == before


def test_raw_logs_fill_both_parts(tmp_path: Path) -> None:
    """Claude Code: a call that ran into its 120 s, after an approval of 4 s that its progress lines show."""

    def progress(n: int, at: float, elapsed: int) -> bytes:
        data = {"type": "bash_progress", "elapsedTimeSeconds": elapsed, "output": ""}
        tool = f"toolu_s1_{n}"
        ids = {"parentToolUseID": tool, "toolUseID": "bash-progress-0"}
        return line({"type": "progress", "sessionId": "s1", "timestamp": stamp(at), "data": data, **ids})

    killed = result(1, 324.0).replace(b'"content": "done"', b'"is_error": true, "content": ' + json.dumps(
        "Exit code 143\nCommand timed out after 2m 0s").encode())  # fmt: skip
    first, second = [log_call(0, 100), result(0, 102.5)], [log_call(1, 200), progress(1, 206, 2), killed]
    lost, last = [log_call(2, 400)], [log_call(3, 500), result(3, 501)]
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"".join(first + second + lost + last))
    with tracestat.open(log) as trace:
        answer = tracestat.summary(trace)
    group = calls_of(answer)
    limit = limit_of(group, 120)
    assert (limit.tool, limit.n_asked, limit.n_ended, limit.n_unseen) == ("Bash", 4, 1, 1)
    assert (limit.share.value, limit.seconds_ended) == (1 / 3, 124.0)
    (wait,) = group.start_waits
    assert (wait.n, wait.n_known, wait.wait_seconds, wait.seconds) == (4, 1, 4.0, 124.0)
    text = repr(answer)
    assert "Limits that calls asked for" in text
    assert "Waits before calls started, for approval and hooks, by permission mode" in text


def test_the_document_keeps_to_its_schema(limits: Any, waits: Any) -> None:
    for trace in (limits, waits):
        document = json.loads(json.dumps(tracestat.summary(trace).to_dict(), allow_nan=False))
        assert wrong("summary", document) == []
        group = document["groups"][-1]
        (part,) = (part for part in (group["limits"], group["start_waits"]) if part)
        for key in list(part[0]):
            value = part[0].pop(key)
            assert wrong("summary", document), key
            part[0][key] = value


def test_the_real_trace_shows_nothing_of_raw_logs(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        result = tracestat.summary(trace)
    assert all((g.limits, g.start_waits) == ((), ()) for g in result.groups)
    assert "Limits that calls asked for" not in repr(result)
    (note,) = (note for g in result.groups for note in g.notes if "known only because" in note)
    assert note.startswith("485 calls of exec_command, write_stdin ended on a limit")
