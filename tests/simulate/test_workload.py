"""Traces as workloads: small ones by hand, and the real trace against its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracestat
from tests.traces import Row, call, event, round_
from tracestat.api.simulate_workload import SimulationWorkload, simulation_workload
from tracestat.durations.sequence import session_sequence
from tracestat.errors import TracestatError, UsageError
from tracestat.simulate.forms import END, HUMAN, TOOL
from tracestat.simulate.start import make_start
from tracestat.store import Trace

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]
YIELD = {"command_status": "running", "tool_internal_latency_ms": 10_002}


def tokens(prefix: int | None, append: int | None, out: int | None) -> Row:
    total = None if prefix is None or append is None else prefix + append
    return {
        "input_tokens_total": total,
        "prefix_tokens": prefix,
        "newly_append_tokens": append,
        "output_tokens": out,
    }


def session(name: str = "s", **more: Any) -> list[Row]:
    """A tool of 7 s, a tool that asks a person for 500 s, a message after 100 s, the end."""
    return [
        round_(name, 0, [call("a", 5, 12)], events=[event("user_message", 0)], **tokens(400, 600, 50), **more),
        round_(
            name,
            1,
            [call("b", 20, 520, "AskUserQuestion")],
            events=[event("tool_result", 12, tool_call_id="a")],
            **tokens(1000, 30, 20),
            **more,
        ),
        round_(
            name,
            2,
            text=530,
            events=[event("tool_result", 520, tool_call_id="b")],
            **tokens(1030, 40, 10),
            **more,
        ),
        round_(name, 3, text=640, events=[event("user_message", 630)], **tokens(1070, 50, 5), **more),
    ]


def arrays(made: SimulationWorkload) -> dict[str, list[Any]]:
    names = ("off", "prefix", "append", "out", "pause", "kind")
    return {name: getattr(made.workload, name).tolist() for name in names}


# ---- known answers


def test_a_session_by_hand(store_of: Make) -> None:
    made = simulation_workload(store_of(session()), human_gap="keep")
    assert arrays(made) == {
        "off": [0, 4],
        "prefix": [0, 1000, 1030, 1070],  # what the first round found elsewhere is no context of the session
        "append": [1000, 30, 40, 50],
        "out": [50, 20, 10, 5],
        "pause": [7.0, 500.0, 100.0, 0.0],
        "kind": [TOOL, HUMAN, HUMAN, END],
    }
    played = made.workload
    assert [played.tool_names[code] for code in played.tool] == ["Bash", "AskUserQuestion", "none", "none"]
    assert played.class_names[played.klass[0]] == "shell"
    assert played.providers == ("claude",)
    assert (made.counts.tool_seconds, made.counts.human_seconds, made.counts.human_cut_seconds) == (7.0, 600.0, 0.0)
    assert not played.append.flags.writeable
    assert np.isnan(played.deadline).all()


@pytest.mark.parametrize(
    ("gap", "pauses", "cut"), [("cap:60", [7.0, 60.0, 60.0, 0.0], 480.0), ("drop", [7.0, 0.0, 0.0, 0.0], 600.0)]
)
def test_human_gaps_change_persons_and_never_tools(store_of: Make, gap: str, pauses: list[float], cut: float) -> None:
    made = simulation_workload(store_of(session()), human_gap=gap)
    assert made.workload.pause.tolist() == pauses
    assert made.counts.human_cut_seconds == cut


def test_a_session_that_ends_at_human_gaps_becomes_several(store_of: Make) -> None:
    made = simulation_workload(store_of(session()), human_gap="end")
    assert arrays(made) == {
        "off": [0, 2, 3, 4],
        "prefix": [0, 1000, 0, 0],
        "append": [1000, 30, 1070, 1120],
        "out": [50, 20, 10, 5],
        "pause": [7.0, 0.0, 0.0, 0.0],
        "kind": [TOOL, END, END, END],
    }
    assert (made.counts.sessions, made.counts.recorded_sessions, made.counts.human_cut_seconds) == (3, 1, 600.0)
    assert len(made.workload.providers) == 3


def test_scaled_tokens_keep_their_least(store_of: Make) -> None:
    # the largest context is 1125 tokens
    made = simulation_workload(store_of(session()), scale_context=112)
    assert made.context_scale == pytest.approx(112 / 1125)
    assert made.workload.append.tolist() == [100, 16, 16, 16]
    assert made.workload.out.tolist() == [5, 2, 1, 1]
    assert made.workload.prefix.tolist() == [0, 100, 103, 107]
    before = made.workload.context[:-1]
    assert (made.workload.prefix[1:] <= before).all()
    # 3 of these were raised, no output was
    assert (made.counts.appends_raised, made.counts.outputs_raised) == (3, 1)


def test_a_prefix_beyond_the_context_before_is_appended(store_of: Make) -> None:
    rows = session()
    rows[1] |= tokens(1200, 30, 20)
    made = simulation_workload(store_of(rows))
    assert (made.workload.prefix[1], made.workload.append[1]) == (1050, 180)
    assert made.counts.prefixes_cut == 1


def test_what_the_providers_cache_had_lost(store_of: Make) -> None:
    rows = session()
    rows[2] |= tokens(0, 1070, 10)
    recorded = simulation_workload(store_of(rows))
    assert (recorded.workload.prefix[2], recorded.counts.cache_misses) == (0, 1)
    reused = simulation_workload(store_of(rows), cache_misses="reused")
    assert (reused.workload.prefix[2], reused.workload.append[2]) == (1030, 40)
    assert reused.workload.context.tolist() == recorded.workload.context.tolist()
    # a shorter prompt was compacted: nothing of it is to be had
    rows[2] |= tokens(0, 500, 10)
    assert simulation_workload(store_of(rows), cache_misses="reused").workload.prefix[2] == 0


@pytest.mark.parametrize("broken", [tokens(None, None, None), tokens(0, 10, -1), tokens(0, 10, 10**9)])
def test_sessions_with_impossible_tokens_are_left_out_and_counted(store_of: Make, broken: Row) -> None:
    bad = session("bad")
    bad[1] |= broken
    made = simulation_workload(store_of([*session(), *bad]))
    assert (made.counts.sessions, made.counts.left_out_sessions, made.counts.left_out_rounds) == (1, 1, 4)
    assert any("1 session with 4 rounds left out" in note for note in made.notes)
    with pytest.raises(TracestatError, match="1 session, none with the tokens"):
        simulation_workload(store_of(bad))


def test_sessions_larger_than_the_pool_are_counted(store_of: Make) -> None:
    trace = store_of(session())  # the longest prompt has 1120 tokens, and its first token needs a place too
    assert simulation_workload(trace, pool_tokens=1121).counts.over_pool_sessions == 0
    assert simulation_workload(trace, pool_tokens=1120).counts.over_pool_sessions == 1


def test_no_sessions_are_an_error(store_of: Make) -> None:
    with pytest.raises(TracestatError, match="0 sessions"):
        simulation_workload(store_of(session()), where="provider = 'codex'")


@pytest.mark.parametrize(
    "more",
    [{"human_gap": "wait"}, {"scale_context": 0}, {"scale_context": 10**9}, {"pool_tokens": 0}, {"cache_misses": "no"}],
)
def test_choices_that_there_are_not(store_of: Make, more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        simulation_workload(store_of(session()), **more)


# ---- deadlines


def polled(status: str, seconds: float, **more: Any) -> list[Row]:
    """A command whose call is emitted 1 s before the last output."""
    told = call("a", 5, 5 + seconds, "exec_command") | {"command_status": status} | more
    return [
        round_("p", 0, [told], text=6, events=[event("user_message", 0)], provider="codex"),
        round_("p", 1, text=50, events=[event("tool_result", 5 + seconds, tool_call_id="a")], provider="codex"),
    ]


def test_in_tracelabs_form_a_limit_is_known_only_where_it_was_reached(store_of: Make) -> None:
    made = simulation_workload(store_of(polled("running", 10.002, tool_internal_latency_ms=10_002)))
    assert made.exact_deadline[0] == pytest.approx(9.0)  # from the last output, 1 s after the call
    assert made.workload.pause[0] == pytest.approx(9.002)
    assert np.isnan(made.workload.deadline).all()  # it tells the outcome: no policy may plan from it
    assert made.with_exact_deadlines.deadline[0] == pytest.approx(9.0)
    assert (made.counts.asked_deadlines, made.counts.exact_deadlines) == (0, 1)
    assert any("P4-H" in note for note in made.notes)


def test_where_logs_name_every_limit_it_is_known_at_the_start(store_of: Make) -> None:
    asked = {"start_kind": "emission", "asked_limit_seconds": 10.0}
    ended = polled("running", 10.002, tool_internal_latency_ms=10_002, **asked)
    early = [
        row | {"session_id": "codex:q", "round_id": f"q{row['round_index']}"}
        for row in polled("finished", 3.0, **asked)
    ]
    for row in early:
        row["tools"] = [one | {"tool_call_id": "z"} for one in row["tools"]]
        row["timing_events"] = [
            one | ({"tool_call_id": "z"} if "tool_call_id" in one else {}) for one in row["timing_events"]
        ]
    made = simulation_workload(store_of([*ended, *early]))
    assert made.workload.deadline.tolist() == pytest.approx([9.0, np.nan, 9.0, np.nan], nan_ok=True)
    assert made.exact_deadline.tolist() == pytest.approx([9.0, np.nan, np.nan, np.nan], nan_ok=True)


# ---- names do not matter


def test_renamed_sessions_make_the_same_run(store_of: Make) -> None:
    def made(names: tuple[str, ...]) -> SimulationWorkload:
        rows = [
            row | {"newly_append_tokens": 600 + n, "input_tokens_total": row["prefix_tokens"] + 600 + n}
            for n, name in enumerate(names)
            for row in session(name, user=f"user_0000000{n}")
        ]
        return simulation_workload(store_of(rows))

    one, other = made(("a", "b", "c")), made(("z", "m", "a"))
    assert arrays(one) == arrays(other)
    assert make_start(one.workload, 2, 5).order.tolist() == make_start(other.workload, 2, 5).order.tolist()


# ---- the real trace


@pytest.fixture(scope="module")
def real(real_trace: Path) -> Any:
    with tracestat.open(real_trace) as trace:
        yield trace


def test_the_real_trace_is_played_whole(real: Trace) -> None:
    frame, _ = session_sequence(real, by=None)
    made = simulation_workload(real, human_gap="keep")
    assert (made.counts.sessions, made.counts.rounds) == (frame["session_pk"].n_unique(), frame.height) == (549, 28612)
    stored = float(frame["tool_seconds"].sum() + frame["human_seconds"].sum())
    assert made.workload.pause.sum() == pytest.approx(stored, rel=1e-12)
    assert made.counts.tool_seconds == pytest.approx(float(frame["tool_seconds"].sum()), rel=1e-12)
    prompts = (frame["prefix_tokens"] + frame["append_tokens"]).to_numpy()
    raised = np.abs(made.workload.prefix + made.workload.append - prompts)
    assert raised.max() <= 1  # prompts keep their length, whatever of them is reusable
    assert made.counts.cache_misses == 510


def test_the_real_trace_at_the_articles_scale(real: Trace) -> None:
    made = simulation_workload(real, scale_context=32_768, pool_tokens=81_408)
    played = made.workload
    peaks = np.maximum.reduceat(played.context, played.off[:-1])
    assert np.mean(peaks <= 32_768 + 64) >= 0.99
    # the article's 8 sessions that just fit the pool hold 10.2K tokens each
    assert made.mean_context == pytest.approx(8_897, abs=1)
    assert made.mean_held == pytest.approx(8_765, abs=1)
    assert made.counts.over_pool_sessions == 0
    assert (played.append >= 16).all()
    assert (played.out >= 1).all()
    later = np.setdiff1d(np.arange(len(played.prefix)), played.off[:-1])
    assert (played.prefix[later] <= played.context[later - 1]).all()
    assert (played.prefix[played.off[:-1]] == 0).all()


def test_the_real_deadlines_are_where_pauses_end(real: Trace) -> None:
    made = simulation_workload(real)
    late = (made.workload.pause - made.exact_deadline)[np.isfinite(made.exact_deadline)]
    assert late.size == 416
    assert np.quantile(late, 0.01) >= 0
    assert np.median(late) < 0.1
