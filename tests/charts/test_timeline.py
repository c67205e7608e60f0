"""The drawings of one session: the folded axis, the chart, the tables, and the trace for Perfetto."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.charts.conftest import HOSTILE, head
from tracestat.charts import draw
from tracestat.charts.folding import fold, lines_of, ticks_of
from tracestat.charts.perfetto import perfetto_trace
from tracestat.charts.tables import tables_of, to_text
from tracestat.results import Bar, SessionFacts, StateTotal, TimelineResult

BEGIN = dt.datetime(2026, 3, 1, 23, 30)


def bar(lane: str, state: str, begin: float, end: float, **more: Any) -> Bar:
    return Bar(
        lane=lane,
        state=state,
        started_at=BEGIN + dt.timedelta(seconds=begin),
        ended_at=BEGIN + dt.timedelta(seconds=end),
        seconds=end - begin,
        elapsed=begin,
        **more,
    )


def timeline(tool: str = "Bash", *, scale: float = 1.0, **other: Any) -> TimelineResult:
    """An answer, two calls side by side of which one is yielded, a job, a sub-agent, a night, an answer."""
    skeleton = "cd && pytest | tail"
    ran = {"tool": tool, "tool_class": "shell", "command_skeleton": skeleton, "round_index": 0}
    answer = {"model": "model-1", "input_tokens": 24_000, "output_tokens": 310, "round_index": 0}
    lasted = [0.0, 4.5 * scale, 64.5 * scale, 30_000 * scale, 30_010 * scale]
    kinds = {"end_kind": "deadline", "observed": True, "asked_limit_seconds": 60.0}
    first, call, night, last = (
        bar("step", state, a, b, **more)
        for state, (a, b), more in zip(
            ("model", "tool", "human", "model"),
            itertools.pairwise(lasted),
            (answer, {**ran, **kinds, "n_calls": 2}, {}, {**answer, "start_known": False}),
            strict=True,
        )
    )
    bars = (
        dataclasses.replace(first, lane="model"),
        dataclasses.replace(last, lane="model"),
        dataclasses.replace(night, lane="wait"),
        dataclasses.replace(call, lane="tool"),
        bar("tool", "poll", 5.0 * scale, 9.0 * scale, track=1, tool="write_stdin", end_kind="refused"),
        bar("job", "background", 64.5 * scale, 70 * scale, **ran),
        bar("agent", "agent", 10 * scale, 60 * scale, session="claude:sub"),
    )
    totals = (StateTotal("model", 2, 14.5 * scale, 0.0005), StateTotal("tool", 1, 60.0 * scale, 0.002),
              StateTotal("human", 1, 29_935.5 * scale, 0.9975), StateTotal("poll", 0, 0.0, 0.0))  # fmt: skip
    facts = SessionFacts(
        provider="claude",
        developer="user_0badcafe",
        session=f"claude:{tool}",
        project="project_00c0ffee",
        models=("model-1",),
        rounds=2,
        calls=2,
        is_subagent=None,
        started_at=BEGIN,
        shown_from=BEGIN,
        shown_until=BEGIN + dt.timedelta(seconds=lasted[-1]),
        span_seconds=lasted[-1],
    )
    chosen = {"unit": None, "by": (), "rows": "all", "zone": "Europe/Berlin", "excluded": {"untimed_calls": 1}}
    return TimelineResult(head("timeline", **chosen | other), facts, totals, (first, call, night, last), bars)


def empty() -> TimelineResult:
    full = timeline()
    facts = dataclasses.replace(full.session, started_at=None, shown_from=None, shown_until=None, span_seconds=0.0)
    return TimelineResult(full.head, facts, (), (), ())


seconds = st.floats(0, 1e6, allow_nan=False)
stretches = st.lists(st.tuples(seconds, seconds).map(lambda pair: (min(pair), max(pair))), max_size=20)


@given(stretches, seconds, st.lists(seconds, min_size=2, max_size=20))
def test_the_folded_axis_never_turns_back(busy: list[tuple[float, float]], end: float, moments: list[float]) -> None:
    folded = fold(0.0, end, busy)
    places = [folded.place(moment) for moment in sorted(moments)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= folded.length
    assert list(folded.knots) == sorted(set(folded.knots))
    # work is drawn at its full length
    for a, b in busy:
        if b <= end:
            assert folded.place(b) - folded.place(a) == pytest.approx(b - a, abs=1e-3, rel=1e-6)


@given(stretches, st.floats(1, 1e6))
def test_the_marks_of_a_line_keep_their_distance(busy: list[tuple[float, float]], end: float) -> None:
    folded = fold(0.0, end, busy)
    lines = lines_of(folded)
    assert 1 <= len(lines) <= 6
    assert lines[0][0] == 0
    assert lines[-1][1] == pytest.approx(folded.length)
    for low, high in lines:
        ticks = ticks_of(folded, (low, high), BEGIN)
        assert all(low <= tick.place <= high for tick in ticks)
        assert all(b.place - a.place >= 0.08 * (high - low) for a, b in itertools.pairwise(ticks))
        for tick in ticks:
            assert folded.place(tick.moment) == pytest.approx(tick.place, rel=1e-6, abs=1e-3)


def test_a_night_is_drawn_short_and_says_how_long_it_was() -> None:
    made = draw(timeline()).to_dict()
    text = json.dumps(made, ensure_ascii=False)
    assert "drawn short" in text
    assert '"8.3 h"' in text
    assert "Mar 02 00:30:00" in text  # of Europe/Berlin
    assert "+0:00:00" in text


def rows_of(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in made["datasets"].values() for row in rows]


def test_the_chart_draws_every_bar_on_its_lane() -> None:
    made = draw(timeline()).to_dict()
    drawn = {(row["lane"], row["state"]) for row in rows_of(made) if "state" in row}
    assert drawn == {
        ("model", "model"), ("waits", "human"), ("tools", "tool"), ("tools 2", "poll"), ("jobs", "background"),
        ("sub-agents", "sub-agent"),
    }  # fmt: skip
    assert {row["end"] for row in rows_of(made) if row.get("ends")} >= {"deadline", "refused"}


def test_a_long_session_is_drawn_on_several_lines_and_nothing_is_lost() -> None:
    made = draw(timeline(scale=60)).to_dict()
    assert len(made["vconcat"]) == 3
    parts = [row for row in rows_of(made) if row.get("state") == "tool" and "lasted" in row]
    whole = {(row["a"], row["b"]) for row in parts}
    assert sum(b - a for a, b in whole) == pytest.approx(3600)


@pytest.mark.parametrize("tool", [HOSTILE, "x" * 300, "Ω 工具 🛠️", "a\x1b[31m", ""])
def test_any_name_gives_a_valid_chart_without_a_tag(tool: str) -> None:
    text = draw(timeline(tool)).to_json()
    assert "<script" not in text
    assert "\\u001b" not in text


def test_titles_say_synthetic_and_how_it_was_made() -> None:
    title = draw(timeline(synthetic=True)).to_dict()["title"]
    assert title["text"][0].startswith("SYNTHETIC: Session claude:Bash")
    told = " ".join(title["subtitle"]).replace("\u00a0", " ")
    assert "all rows; left out: 1 call without a begin" in told
    assert "model 14 s" in told or "model 15 s" in told
    assert not draw(timeline()).to_dict()["title"]["text"][0].startswith("SYNTHETIC")


def test_nothing_to_show_is_said() -> None:
    assert "nothing of it has a time" in repr(empty())
    assert "nothing of it has a time" in draw(empty()).to_json()
    document = perfetto_trace(empty())
    assert [event["ph"] for event in document["traceEvents"]] == ["M"]


TABLE = """\
Session claude:Bash
developer user_0badcafe, project_00c0ffee, model-1, 2 rounds, 2 calls
2026-03-02 00:30:00 to 08:50:10 (Europe/Berlin): 8.3 h
wall clock, all rows; left out: 1 call without a begin
trace real_trace.jsonl.gz: 29,916 rounds, 35,705 calls, 3 lines rejected
state  steps   time   share
───────────────────────────
model      2   14 s  0.05 %
tool       1   60 s  0.20 %
human      1  8.3 h  99.8 %
human: a person's turn, or a tool that asks one; what looks like a message may
  be an injected line
beside the steps: 1 job that outlived a call (in --chart, --perfetto, --json)
beside the steps: 1 session of sub-agents, found by time

Its steps
                                                                  tokens
when     state tool                               lasted end          in out
────────────────────────────────────────────────────────────────────────────
00:30:00 model -                                   4.5 s -        24.0 k 310
00:30:04 tool  Bash: cd && pytest | tail, 2 calls   60 s deadline      -   -
00:31:04 human -                                   8.3 h -             -   -
08:50:00 model -                                       - -        24.0 k 310
lasted -: no input before this answer has a time
"""


def test_the_tables_read_as_they_should() -> None:
    assert f"{timeline()!r}\n" == TABLE


def test_long_tables_are_cut_with_a_line_that_says_how_to_see_all() -> None:
    assert "2 of 4 steps; --top 4 shows all" in to_text(tables_of(timeline(), top=2))
    assert "--top" not in to_text(tables_of(timeline()))


def slices(result: TimelineResult) -> list[dict[str, Any]]:
    document = perfetto_trace(result)
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def test_a_perfetto_trace_names_its_tracks_and_counts_microseconds() -> None:
    document = perfetto_trace(timeline(synthetic=True))
    events = document["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert list(names.values()) == ["steps", "model", "waits", "tools 1", "tools 2", "jobs", "sub-agents"]
    order = {event["tid"]: event["args"]["sort_index"] for event in events if event["name"] == "thread_sort_index"}
    assert order == {thread: thread for thread in names}
    assert events[0] == {
        "ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "SYNTHETIC: session claude:Bash"},
    }  # fmt: skip
    call = next(event for event in events if event["ph"] == "X" and names[event["tid"]] == "tools 1")
    assert (call["ts"], call["dur"], call["name"], call["cat"]) == (4_500_000, 60_000_000, "Bash", "tool")
    assert call["args"] == {
        "tool": "Bash", "tool_class": "shell", "command_skeleton": "cd && pytest | tail", "n_calls": 2,
        "end_kind": "deadline", "observed": True, "asked_limit_seconds": 60.0, "round_index": 0,
    }  # fmt: skip
    assert document["otherData"]["synthetic"] is True
    assert document["otherData"]["started_at"] == "2026-03-01T23:30:00Z"


def test_slices_of_one_thread_never_overlap() -> None:
    by_thread: dict[int, list[dict[str, Any]]] = {}
    for event in slices(timeline()):
        by_thread.setdefault(event["tid"], []).append(event)
        assert isinstance(event["ts"], int)
        assert isinstance(event["dur"], int)
    for events in by_thread.values():
        events.sort(key=lambda event: event["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in itertools.pairwise(events))


def test_the_frame_has_a_type_for_every_column() -> None:
    frame, nothing = timeline().to_frame(), empty().to_frame()
    assert frame.height == 4 + 7
    assert frame.schema == nothing.schema
    assert frame["lane"].to_list()[:4] == ["step"] * 4


def test_only_the_last_line_explains_its_axis() -> None:
    titles = [
        panel["layer"][-1]["encoding"]["x"]["axis"]["title"] for panel in draw(timeline(scale=60)).to_dict()["vconcat"]
    ]
    assert titles[:-1] == [None] * (len(titles) - 1)
    assert titles[-1] == "time of day (Europe/Berlin), and time since the session began"


def test_a_notebook_shows_the_tables() -> None:
    assert timeline(HOSTILE)._repr_html_().count("<table") == 2
    assert "<script" not in timeline(HOSTILE)._repr_html_()
