"""Sub-agents and the steps they ran in: hand-made rows, and the answers that the timeline gives for one session."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracestat
from tests.conftest import corpus_path
from tests.traces import Row, call, event, round_
from tracestat.durations.sequence import session_sequence
from tracestat.durations.subagents import subagent_links
from tracestat.queries import query_text
from tracestat.store import Trace

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]
Link = tuple[str | None, int | None, str, str]


def agent(session: str, begin: float, end: float, **more: Any) -> Row:
    return round_(session, 0, text=end, events=[event("user_message", begin)], **{"project": "p", **more})


def asks(
    session: str, index: int, call_id: str, begin: float, end: float | None, tool: str = "Task", **more: Any
) -> Row:
    """A round that calls a sub-agent, a second after a message."""
    events = [event("user_message", begin - 1)]
    return round_(session, index, [call(call_id, begin, end, tool, **more)], events=events, project="p")


def links(trace: Trace) -> dict[str, Link]:
    """Session -> parent session, place, how known, link."""
    found = subagent_links(trace)
    steps, _ = session_sequence(trace, by=None)
    names = dict(steps.select("session_pk", "session").unique().iter_rows())
    return {
        str(row["session"]).removeprefix("claude:"): (
            None if row["parent_session_pk"] is None else names[row["parent_session_pk"]].removeprefix("claude:"),
            row["parent_place"],
            row["known_by"],
            row["link"],
        )
        for row in found.iter_rows(named=True)
    }


def check_against_the_timeline(trace: Trace) -> int:
    """Compare with what the timeline finds for every session that calls agents, and count what it finds."""
    found = {
        (row["provider"], row["developer"], row["session"]): row for row in subagent_links(trace).iter_rows(named=True)
    }
    steps, _ = session_sequence(trace, by=None)
    callers = trace.run("SELECT DISTINCT session_pk FROM calls WHERE tool_class = 'agent'")["session_pk"].to_list()
    seen = set()
    for row in steps.unique("session_pk").filter(pl.col("session_pk").is_in(callers)).iter_rows(named=True):
        who = {name: row[name] for name in ("provider", "developer", "session")}
        for one in trace.run(query_text("timeline_agents"), who).iter_rows(named=True):
            link = found[(who["provider"], who["developer"], one["session"])]
            seen.add((who["provider"], who["developer"], one["session"]))
            assert link["n_parents"] == one["parents"]
            assert link["parent_session_pk"] == (row["session_pk"] if one["parents"] == 1 else None)
    assert seen == {name for name, link in found.items() if link["n_parents"]}
    return len(seen)


def test_a_session_within_a_call_for_an_agent_is_linked_to_its_step(store_of: Make) -> None:
    trace = store_of(
        [
            round_("s", 0, text=2, events=[event("user_message", 0)], project="p"),
            asks("s", 1, "a", 5, 50),
            asks("s", 2, "b", 60, 90, "Agent"),
            agent("first", 6, 49),
            agent("second", 60, 90.5),
            agent("beside", 30, 70),
            agent("before", 3.5, 40),
            agent("other", 10, 40, user="user_00000002"),
            agent("elsewhere", 10, 40, project="q"),
            agent("codex", 10, 40, provider="codex"),
        ]
    )
    assert links(trace) == {"first": ("s", 2, "time", "linked"), "second": ("s", 3, "time", "linked")}
    assert check_against_the_timeline(trace) == 2


def test_of_several_possible_parents_none_is_taken(store_of: Make) -> None:
    begun = [round_(name, 0, text=at, project="p") for name, at in (("s", -100), ("t", -50))]
    rows = [*begun, asks("s", 1, "a", 5, 50), asks("t", 1, "b", 4, 60), agent("inside", 6, 49), agent("later", 55, 59)]
    trace = store_of(rows)
    assert links(trace) == {"inside": (None, None, "time", "ambiguous"), "later": ("t", 2, "time", "linked")}
    assert check_against_the_timeline(trace) == 2


def test_two_agents_called_in_parallel_ran_in_the_same_step(store_of: Make) -> None:
    calls = [call("a", 5, 50, "Task"), call("b", 5, 60, "Task", index=1)]
    trace = store_of([round_("s", 0, calls, project="p"), agent("one", 6, 49), agent("two", 6, 59)])
    assert links(trace) == {"one": ("s", 1, "time", "linked"), "two": ("s", 1, "time", "linked")}
    assert check_against_the_timeline(trace) == 2


def test_a_sub_agent_of_a_sub_agent_could_be_either_ones(store_of: Make) -> None:
    trace = store_of([asks("s", 0, "a", 5, 50), asks("t", 0, "b", 8, 30), agent("deep", 9, 29)])
    assert links(trace) == {
        "t": ("s", 1, "time", "linked"),
        "deep": (None, None, "time", "ambiguous"),
    }
    check_against_the_timeline(trace)


def test_a_job_that_the_call_left_running_holds_its_agent(store_of: Make) -> None:
    left = {"command_status": "background", "job_ended_at": "2026-03-02T12:02:00.000Z"}
    rows = [asks("s", 0, "a", 5, 6, **left), asks("s", 1, "b", 20, 90), agent("long", 10, 119), agent("both", 30, 80)]
    trace = store_of(rows)
    assert links(trace) == {"long": ("s", 1, "time", "linked"), "both": ("s", None, "time", "ambiguous")}
    assert check_against_the_timeline(trace) == 2


def test_what_the_log_says_of_a_session_holds(store_of: Make) -> None:
    rows = [
        asks("s", 0, "a", 5, 50),
        round_("said", 0, [call("b", 7, 8, is_subagent=True)], project="p"),
        round_("lone", 0, [call("c", 107, 108, is_subagent=True)], project="p"),
        round_("denied", 0, [call("d", 7, 8, is_subagent=False)], project="p"),
    ]
    trace = store_of(rows)
    assert links(trace) == {"said": ("s", 1, "log", "linked"), "lone": (None, None, "log", "unknown")}
    assert check_against_the_timeline(trace) == 1


def test_a_call_without_a_result_and_a_call_of_another_tool_hold_nothing(store_of: Make) -> None:
    rows = [asks("s", 0, "a", 5, None), asks("s", 1, "b", 60, 90, "Bash"), agent("one", 6, 49), agent("two", 61, 89)]
    assert links(store_of(rows)) == {}


def test_a_resumed_session_repeats_its_call_and_adds_no_parent(store_of: Make) -> None:
    original = asks("s", 0, "a", 5, 50)
    copy = {**original, "session_id": "claude:again", "trace_key": "claude:again:0"}
    more = asks("again", 1, "b", 100, 120)
    assert links(store_of([original, copy, more, agent("in", 6, 49)])) == {"in": ("s", 1, "time", "linked")}


def test_links_make_no_ring(store_of: Make) -> None:
    # each lies in the other's call, within the second that stamps may differ by
    trace = store_of([asks("s", 0, "a", 5, 5.5), asks("t", 0, "b", 5.2, 5.6)])
    found = subagent_links(trace)
    parents = dict(found.filter(pl.col("link") == "linked").select("session_pk", "parent_session_pk").iter_rows())
    assert links(trace) == {"t": ("s", 1, "time", "linked")}
    assert not set(parents) & set(parents.values())


def test_no_agents_no_links(store_of: Make) -> None:
    found = subagent_links(store_of([agent("s", 0, 5)]))
    assert found.is_empty()
    assert {"session_pk", "parent_session_pk", "parent_place", "link"} <= set(found.columns)


@pytest.mark.full
def test_raw_logs_agree_with_the_timeline(tmp_path: Path) -> None:
    with tarfile.open(corpus_path("raw_claude_code.tar.gz")) as archive:
        archive.extractall(tmp_path, members=[one for one in archive if "dev_06ab54/" in one.name], filter="data")
    with tracestat.open(tmp_path) as trace:
        found = subagent_links(trace)
        assert check_against_the_timeline(trace) == found.filter(pl.col("n_parents") > 0).height
        assert set(found["known_by"]) == {"log"}
        steps, _ = session_sequence(trace, by=None)
        at = found.filter(pl.col("link") == "linked").join(
            steps, left_on=["parent_session_pk", "parent_place"], right_on=["session_pk", "place"]
        )
        assert at.height == found["parent_place"].count() > 0
        assert set(at["n_calls"] > 0) == {True}
