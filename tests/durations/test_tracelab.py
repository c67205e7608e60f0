"""Sessions, cache and commands on small invented traces whose answers are computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest

from tests.traces import call, event, round_
from tracestat.durations.tracelab import (
    cache_hits,
    cache_sweep,
    choose_sessions,
    named_numbers,
    residual_sums,
    session_shares,
    sessions_at_once,
    shell_shares,
)
from tracestat.errors import UsageError

Store = Callable[[Any], Any]
RULES = ("tracelab", "tracestat")


def tokens(prefix: int, append: int, output: int) -> dict[str, Any]:
    return {
        "prefix_tokens": prefix,
        "newly_append_tokens": append,
        "input_tokens_total": prefix + append,
        "output_tokens": output,
    }


def result(call_id: str, at: float) -> dict[str, Any]:
    return event("tool_result", at, tool_call_id=call_id)


def message(at: float) -> dict[str, Any]:
    return event("user_message", at)


USER, TOOL = {"first_input_event_type": "user_message"}, {"first_input_event_type": "tool_result"}


def one_session(session: str = "s1", start: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    """Two requests: generation 8 + 7 s, a shell call of 10 s, a wait of 100 s, a question of 30 s; 155 s in all."""
    a, b = f"{session}-1", f"{session}-2"
    t = start
    return [
        round_(session, 0, [call(a, t + 5, t + 15)], text=t + 4, events=[message(t)], **USER, **tokens(0, 1000, 100))
        | more,
        round_(session, 1, text=t + 18, events=[result(a, t + 15)], **TOOL, **tokens(1000, 200, 50)) | more,
        round_(
            session,
            2,
            [call(b, t + 121, t + 151, "AskUserQuestion")],
            text=t + 120,
            events=[message(t + 118)],
            **USER,
            **tokens(200, 1300, 30),
        )
        | more,
        round_(session, 3, text=t + 155, events=[result(b, t + 151)], **TOOL, **tokens(1500, 100, 10)) | more,
    ]


def numbers(trace: Any, section: Any, **key: Any) -> dict[tuple[str, str], float]:
    """(name, rule) -> value of the pooled group, or of a provider; items are joined to the name."""
    frame = named_numbers(trace, section)
    provider = key.get("provider")
    frame = frame.filter(pl.col("provider").is_null() if provider is None else pl.col("provider") == provider)
    return {
        (f"{row['name']}/{row['item']}" if row["item"] else row["name"], row["rule"]): row["value"]
        for row in frame.iter_rows(named=True)
    }


def test_time_by_state(store_of: Store) -> None:
    found = numbers(store_of(one_session()), "sessions")
    for rule, human, tools in (("tracelab", 100, 40), ("tracestat", 130, 10)):
        assert found["time_share.human", rule] == pytest.approx(human / 155)
        assert found["time_share.generation", rule] == pytest.approx(15 / 155)
        assert found["time_share.tools", rule] == pytest.approx(tools / 155)
        assert found["session_hours", rule] == pytest.approx(155 / 3600)
    assert found["time_share.asked", "tracestat"] == pytest.approx(30 / 155)
    assert found["time_share.unknown", "tracestat"] == pytest.approx(0)
    assert ("time_share.asked", "tracelab") not in found


def test_inside_requests_and_counts(store_of: Store) -> None:
    found = numbers(store_of(one_session()), "sessions")
    for rule, tools in (("tracelab", 40), ("tracestat", 10)):
        assert found["requests_per_session.mean", rule] == 2
        assert found["request_seconds.mean", rule] == pytest.approx((18 + 37) / 2)
        assert found["request_share.generation", rule] == pytest.approx(15 / 55)
        assert found["request_share.tools", rule] == pytest.approx(tools / 55)
        assert found["tool_steps_per_session.mean", rule] == 2
        assert found["user_steps_per_session.mean", rule] == 2
        assert found["tool_steps_per_request.mean", rule] == 1
        assert found["calls_per_request.mean", rule] == 1
        assert found["calls_per_step.mean", rule] == 0.5
        assert found["human_wait_seconds.mean", rule] == pytest.approx(100)
        assert found["human_wait_after_output_seconds.mean", rule] == pytest.approx(100)
        assert found["generation_seconds.mean", rule] == pytest.approx(15 / 4)
        assert found["generation_seconds_per_step", rule] == pytest.approx(15 / 4)
        assert found["tool_seconds_per_step", rule] == pytest.approx(10)
        assert found["sessions.without_wait", rule] == 0
    assert found["request_share.asked", "tracestat"] == pytest.approx(30 / 55)


def test_long_wait_is_cut_at_an_hour(store_of: Store) -> None:
    rows = [
        round_("s", 0, text=10, events=[message(0)], **USER),
        round_("s", 1, text=7220, events=[message(7210)], **USER),
    ]
    found = numbers(store_of(rows), "sessions")
    for rule in RULES:
        assert found["time_share.human", rule] == pytest.approx(7200 / 7220)
        assert found["time_share_cap1h.human", rule] == pytest.approx(3600 / 3620)
        assert found["time_share_cap1h.generation", rule] == pytest.approx(20 / 3620)
        assert found["human_waits.within_1h", rule] == 0


def test_message_while_a_tool_runs_is_no_wait_of_ours(store_of: Store) -> None:
    rows = [
        round_("s", 0, [call("c", 5, 105)], events=[message(0)], **USER),
        round_("s", 1, text=110, events=[message(60), result("c", 105)], **TOOL),
    ]
    frame = session_shares(store_of(rows), choose_sessions(by=None)).sort("rule")
    assert frame["wait_seconds"].to_list() == [55.0, 0.0]
    assert frame["tool_seconds"].to_list() == [100.0, 100.0]
    assert frame["unknown_seconds"].to_list() == pytest.approx([0.0, 0.0])


def test_copies_count_once_by_our_rules(store_of: Store) -> None:
    first = one_session()
    copied = [
        {**row, "session_id": "claude:resumed", "round_index": index, "trace_key": f"k{index}"}
        for index, row in enumerate(first[:2])
    ]
    new = round_("resumed", 2, text=1020, events=[message(1000)], **USER)
    frame = session_shares(store_of([*first, *copied, new]), choose_sessions(by=None)).sort("rule", "session_pk")
    assert frame["n_steps"].to_list() == [4, 3, 4, 1]
    assert frame["span_seconds"].to_list() == pytest.approx([155, 1020, 155, 20])


def test_sessions_of_two_developers_with_one_id(store_of: Store) -> None:
    rows = [*one_session(user="user_a"), *one_session(start=1000.0, user="user_b")]
    for index, row in enumerate(rows):
        row["round_id"] = f"r{index}"
    found = session_shares(store_of(rows), choose_sessions(by=None))
    assert found.filter(rule="tracelab")["span_seconds"].to_list() == [1155.0]
    assert found.filter(rule="tracestat")["span_seconds"].to_list() == [155.0, 155.0]


def own_results(session: str = "x") -> list[dict[str, Any]]:
    """A Codex session whose steps list their own results before their output."""
    return [
        round_(
            session,
            0,
            [call("x1", 4, 8, "exec_command")],
            events=[message(0), result("x1", 8), event("reasoning", 3)],
            provider="codex",
            **USER,
            **tokens(0, 1000, 100),
        ),
        round_(
            session,
            1,
            [call("x2", 13, 20, "exec_command")],
            events=[result("x2", 20), event("reasoning", 12)],
            provider="codex",
            **TOOL,
            **tokens(900, 300, 50),
        ),
    ]


def test_a_step_that_lists_its_own_results(store_of: Store) -> None:
    trace = store_of(own_results())
    frame = session_shares(trace, choose_sessions(by=None)).sort("rule")
    assert frame["step_generation_seconds"].to_list() == [4.0, 9.0]
    swept = cache_sweep(trace, choose_sessions(by=None), [10.0]).filter(pl.col("step") >= 0)
    assert swept.filter(n=1).select("rule", "idle_seconds", "prefix_tokens").rows() == [("tracestat", 4.0, 900.0)]


def test_hit_rates_fresh_tokens_and_savings(store_of: Store) -> None:
    found = numbers(store_of(one_session()), "cache")
    for rule in RULES:
        assert found["hit_rate", rule] == pytest.approx(2700 / 5300)
        assert found["hit_rate.after_user", rule] == pytest.approx(200 / 2500)
        assert found["hit_rate.after_tool", rule] == pytest.approx(2500 / 2800)
        assert found["fresh_share", rule] == pytest.approx(420 / 1600)
        assert found["amplification", rule] == pytest.approx(1600 / 420)
        assert found["saved_append_share", rule] == pytest.approx(1000 / 2600)
        assert found["idle_before_user_seconds.p50", rule] == pytest.approx(100)
        assert found["idle_before_tool_seconds.mean", rule] == pytest.approx(20)
        assert ("idle_before_low_hit_user_seconds.mean", rule) not in found


def test_fresh_tokens_are_not_negative_by_our_rules(store_of: Store) -> None:
    rows = one_session()
    rows[3] |= tokens(100, 50, 10)  # the context shrank: 150 after 1,500
    hits = cache_hits(store_of(rows), choose_sessions(by=None)).sort("rule")
    assert hits["fresh_tokens"].to_list() == [100 + 250 - 30, 100 + 250]


def test_sweep(store_of: Store) -> None:
    frame = cache_sweep(store_of(one_session()), choose_sessions(by=None), [10.0, 60.0])
    for rule in RULES:
        part = frame.filter(rule=rule).sort("step")
        assert part["step"].to_list() == [-1, 0, 1, 2]
        assert part["n"].to_list() == [0, 1, 1, 1]
        assert part["idle_seconds"].to_list() == [0, 10, 30, 100]
        assert part["cacheable_tokens"].to_list() == [0, 1100, 1530, 1250]
        assert part["fresh_tokens"].to_list() == [0, 100, 70, 250]
        assert part["active_idle_seconds"].to_list() == [0, 10, 30, 100]
        assert part["generation_seconds"].to_list() == [15, 0, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "compactions"),
    [
        ([100_000, 200_000, 50_000, 60_000], 1),
        ([100_000, 200_000, 136_001, 60_000], 0),  # less than 64,000 down
        ([400_000, 200_000, 50_000, 60_000], 1),  # the first fall counts, the second is far from the largest
        ([100_000, 200_000, 50_000], 0),  # nothing follows
        ([100_000, 200_000, 50_000, 60_000, 70_000, 150_000], 0),  # back at three quarters within three steps
        ([100_000, 200_000, 50_000, 60_000, 70_000, 80_000, 150_000], 1),
    ],
)
@pytest.mark.first_case
def test_compaction(store_of: Store, sizes: list[int], compactions: int) -> None:
    rows = [
        round_("s", index, text=10 * index + 1, events=[message(10 * index)], **USER, **tokens(size, 0, 1))
        for index, size in enumerate(sizes)
    ]
    found = numbers(store_of(rows), "sessions")
    assert [found["compactions", rule] for rule in RULES] == [compactions] * 2


def test_sessions_at_once(store_of: Store) -> None:
    def short(name: str, start: float, end: float, provider: str = "claude") -> dict[str, Any]:
        return round_(name, 0, text=end, events=[message(start)], provider=provider, **USER)

    trace = store_of(
        [short("a", 0, 10), short("b", 5, 15), short("c", 10, 20), short("d", 0, 30, "codex"), short("e", 7, 7)]
    )
    pooled = sessions_at_once(trace, choose_sessions(by=None)).filter(rule="tracestat")
    assert pooled["most_active"].to_list() == [4]
    by = sessions_at_once(trace, choose_sessions()).filter(rule="tracestat").sort("provider")
    assert by["most_active"].to_list() == [3, 1]


def shell(call_id: str, start: float, end: float | None, executables: list[str], **more: Any) -> dict[str, Any]:
    return call(
        call_id,
        start,
        end,
        **{
            "executables": executables,
            "executable_parse_status": "success",
            "executable_parse_reason": None,
            "command_skeleton": " | ".join(executables),
            **more,
        },
    )


def test_executables_and_whole_processes(store_of: Store) -> None:
    codex = {"tool": "exec_command"}
    rows = [
        round_("s", 0, [shell("a", 0, 2, ["git"]), shell("b", 0, 3, ["git", "sed"], index=1)], events=[message(0)]),
        round_(
            "p",
            0,
            [shell("l", 0, 1.2, ["pytest"], **codex, command_status="running", tool_internal_latency_ms=1000)],
            events=[message(0)],
            provider="codex",
        ),
        round_(
            "p",
            1,
            [call("q", 5, 35, "write_stdin", continuation_of_tool_call_id="l", command_status="running")],
            provider="codex",
        ),
        round_(
            "p",
            2,
            [call("r", 38, 41.3, "write_stdin", continuation_of_tool_call_id="l", command_status="finished")],
            provider="codex",
        ),
        round_(
            "p",
            3,
            [shell("n", 50, 50.1, ["sed"], **codex, command_status="running", tool_internal_latency_ms=0)],
            provider="codex",
        ),
    ]
    trace = store_of(rows)
    found = numbers(trace, "commands")
    for rule in RULES:
        assert found["executables_per_call.mean/all", rule] == 5 / 4
        assert found["executables.multiple", rule] == 1 / 4
        assert found["single.calls", rule] == 3
        assert found["single.reads_zero", rule] == pytest.approx(1 / 3)
    by_rule = shell_shares(trace, choose_sessions(by=None)).group_by("rule").agg(cs.numeric().sum()).sort("rule")
    # by TraceLab's rules the launch took what its runner said, and the command that nobody saw finish is left out
    assert by_rule["single_call_seconds"].to_list() == pytest.approx([2 + 1 + 0.001, 2 + 1.2 + 0.1])
    assert by_rule["single_command_seconds"].to_list() == pytest.approx([2 + 41.3, 2 + 41.3 + 0.1])
    assert by_rule["n_single_finished"].to_list() == [2, 2]
    assert by_rule["n_single_unfinished"].to_list() == [1, 1]


def test_two_clocks(store_of: Store) -> None:
    def timed(call_id: str, wall: float, internal: int | None, tool: str, index: int = 0) -> dict[str, Any]:
        return call(call_id, 0, wall, tool, index=index, tool_internal_latency_ms=internal)

    rows = [
        round_(
            "x",
            0,
            [
                timed("a", 3, 2000, "exec_command"),
                timed("b", 1, 1500, "exec_command", 1),
                timed("c", 5, None, "exec_command", 2),
                timed("d", 4, 1000, "view_image", 3),
            ],
            provider="codex",
        ),
        round_("y", 0, [timed("e", 8, 2000, "WebFetch")]),
    ]
    sums = residual_sums(store_of(rows), choose_sessions(by=None))
    frame = sums.group_by("rule", "item").agg(cs.numeric().sum()).sort("rule", "item")
    assert frame.select("rule", "item", "n", "wall_seconds", "internal_seconds", "residual_seconds").rows() == [
        ("tracelab", "all", 3, 8.0, 4.5, 4.0),
        ("tracelab", "exec_command", 2, 4.0, 3.5, 1.0),
        ("tracestat", "all", 4, 16.0, 6.5, 10.0),
        ("tracestat", "exec_command", 2, 4.0, 3.5, 1.0),
    ]


def test_conditions_choose_whole_sessions(store_of: Store) -> None:
    trace = store_of([*one_session(), *one_session("s2", 1000.0), *own_results()])
    assert session_shares(trace, choose_sessions(where="provider = 'claude'")).height == 4
    late = choose_sessions(since="2026-03-02T12:05", tz="UTC")
    assert session_shares(trace, late).filter(rule="tracestat")["session"].to_list() == ["claude:s2"]
    assert cache_hits(trace, late)["session"].unique().to_list() == ["claude:s2"]
    assert cache_sweep(trace, late, [1.0])["session"].unique().to_list() == ["claude:s2"]
    assert session_shares(trace, choose_sessions(where="provider = 'none'")).height == 0


@pytest.mark.parametrize("options", [{"by": "tool"}, {"where": "tool = 'Bash'"}, {"by": "day"}, {"since": "soon"}])
def test_what_a_section_cannot_choose_by(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        choose_sessions(**options)


def test_damaged_rows_are_survived(store_of: Store) -> None:
    bare = round_("s", 0, events=[])
    bare["timing_events"] = [{"event_type": "usage_report", "timestamp": None, "source": "t"}]
    odd = round_("t", 0, [call("a", 10, 5), call("b", 3, None, index=1)], prefix_tokens=None, output_tokens=None)
    trace = store_of([bare, odd, round_("u", 0, text=1, user=None)])
    for section in ("sessions", "cache", "commands"):
        frame = named_numbers(trace, section)  # type: ignore[arg-type]
        assert frame["value"].is_finite().all()
