"""Tables and charts of ``summary --section``: wide enough for 80 columns, safe, and complete."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

import tracestat
from tests.traces import call, event, round_
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.errors import UsageError
from tracestat.results import SectionGroup

SECTIONS = ("sessions", "cache", "commands")
HOSTILE = "<script>alert('x')</script>\x1b[31m"


@pytest.fixture(scope="module")
def sample() -> Iterator[Any]:
    with tracestat.open() as trace:
        yield trace


@pytest.fixture(scope="module", params=SECTIONS)
def answer(request: pytest.FixtureRequest, sample: Any) -> Any:
    return tracestat.summary_section(sample, request.param)


@pytest.mark.first_case
def test_tables_fit_and_say_what_they_are(answer: Any) -> None:
    text = to_text(tables_of(answer))
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("SYNTHETIC: ")
    assert text.count("SYNTHETIC: ") == sum(bool(table.title) for table in tables_of(answer))
    for words in ("TraceLab's rules", "by provider and all", "left out: ", "developer CV3", "rule tracelab: "):
        assert words in text
    for group in answer.groups:
        assert f"{group.n_sessions:,} sessions" in text


def test_top_cuts_groups_and_says_so(answer: Any) -> None:
    text = to_text(tables_of(answer, top=1))
    assert "1 of 3 groups; --top 3 shows all" in text
    with pytest.raises(UsageError):
        tables_of(answer, top=0)


@pytest.mark.first_case
def test_chart_says_what_it_is(answer: Any) -> None:
    spec = answer.chart().to_dict()
    title = spec["title"]
    assert "SYNTHETIC" in " ".join(title["text"])
    shown = " ".join(title["subtitle"]).replace("\u00a0", " ")
    for words in ("left out: ", "95 % intervals clustered by", "trace sample.jsonl.gz", "rule tracestat: ours"):
        assert words in shown
    # a panel of each of the three groups at least, and in every one marks for the intervals
    assert len(spec["vconcat"]) >= 3
    assert str(spec).count("'rule'") >= 3


def test_labels_that_mean_harm(answer: Any) -> None:
    group: SectionGroup = answer.groups[0]
    figures = tuple(
        dataclasses.replace(figure, item=HOSTILE) if figure.item not in (None, "all") else figure
        for figure in group.figures
    )
    bad = dataclasses.replace(answer, groups=(dataclasses.replace(group, key={"provider": HOSTILE}, figures=figures),))
    text, html, spec = to_text(tables_of(bad)), to_html(tables_of(bad)), str(bad.chart().to_dict())
    assert "\x1b" not in text
    for shown in (html, spec):
        assert "<script" not in shown
        assert "\x1b" not in shown


def test_more_than_the_whole_has_its_reason_beside_it(store_of: Any) -> None:
    rows = [
        {**round_("a", index, [call(f"{user}{index}", at, at + 1)], text=at), "user": user}
        for user in ("user_1", "user_2")
        for index, at in enumerate((0, 5_000, 10_000))
    ]
    for row in rows:
        first = row["timing_events"][0]
        row["timing_events"].insert(0, {**first, "event_type": "user_message", "tool_call_id": None})
    result = tracestat.summary_section(store_of(rows), "sessions", by=None)
    (group,) = result.groups
    share = group.figure("time_share.human").tracelab.value
    assert share is not None
    assert share > 1
    (table,) = (table for table in tables_of(result) if table.title.startswith("Where the time goes"))
    assert "more than 100 %: " in " ".join(table.notes)
    panel = result.chart().to_dict()["vconcat"][0]
    assert "more than 100 %: " in " ".join(panel["title"]["subtitle"]).replace("\u00a0", " ")


def widened(figure: Any) -> Any:
    """Give one share an upper bound beyond the whole, and one time none."""
    if figure.name == "time_share.human":
        return dataclasses.replace(figure, tracelab=dataclasses.replace(figure.tracelab, low=0.2, high=2.0))
    if figure.name == "session_seconds.p99":
        return dataclasses.replace(figure, tracelab=dataclasses.replace(figure.tracelab, high=None))
    return figure


def by_rule(figure: Any) -> dict[str, Any]:
    return {"TraceLab's rules": figure.tracelab, "ours": figure.tracestat}


def test_bars_are_drawn_to_their_bounds(sample: Any) -> None:
    result = tracestat.summary_section(sample, "sessions", by=None)
    groups = tuple(dataclasses.replace(g, figures=tuple(map(widened, g.figures))) for g in result.groups)
    drawn = dataclasses.replace(result, groups=groups).chart().to_dict()
    shares, times = drawn["vconcat"]
    assert shares["layer"][0]["encoding"]["x"]["scale"]["domain"][1] >= 2.0
    data = times.get("data") or times["layer"][0]["data"]
    rows = data["values"] if "values" in data else drawn["datasets"][data["name"]]
    edge = times["layer"][0]["encoding"]["x"]["scale"]["domain"][1]
    at_edge = [(row["label"], row["rule"]) for row in rows if row["high"] is not None and row["high"] >= 0.99 * edge]
    whole = [(figure.what, rule, item) for figure in groups[0].figures for rule, item in by_rule(figure).items()]
    unbounded = {(what, rule) for what, rule, item in whole if item.low is not None and item.high is None}
    assert ("session, first to last stamp, 99 %", "TraceLab's rules") in at_edge
    assert set(at_edge) <= unbounded


def test_nothing_left(sample: Any) -> None:
    for section in SECTIONS:
        empty = tracestat.summary_section(sample, section, until="2001-01-01")  # type: ignore[arg-type]
        assert "no sessions: nothing is left to count" in to_text(tables_of(empty))
        assert "nothing to draw" in str(empty.chart().to_dict())


def test_one_tiny_session(store_of: Any) -> None:
    trace = store_of([round_("s", 0, [call("a", 2, 3)], events=[event("user_message", 0)])])
    for section in SECTIONS:
        answer = tracestat.summary_section(trace, section)
        assert "one session: no interval" in to_text(tables_of(answer))
        answer.chart().to_dict()
        assert answer.to_frame()["low"].is_null().all()


@pytest.mark.full
def test_a_trace_without_a_fresh_token_is_drawn(store_of: Any) -> None:
    trace = store_of([round_("a", i, [call(f"x{i}", 10 * i, 10 * i + 1)], text=10 * i) for i in range(9)])
    result = tracestat.summary_section(trace, "cache")
    assert any(sweep.n_steps for sweep in result.group().sweeps)
    assert all(point.amplification.value is None for sweep in result.group().sweeps for point in sweep.points)
    shown = json.dumps(result.chart().to_dict())
    assert "storage ratio" in shown
    assert "prefilled per fresh" not in shown


def test_counts_of_tokens_that_do_not_fit_together_stop_nothing(store_of: Any) -> None:
    most = 9 * 10**18
    rows = [
        {
            **round_("a", i, [call(f"x{i}", 10 * i, 10 * i + 1)], text=10 * i),
            "prefix_tokens": most,
            "newly_append_tokens": most,
        }
        for i in range(9)
    ]
    trace = store_of(rows)
    for section in SECTIONS:
        assert tracestat.summary_section(trace, section).groups
    assert tracestat.summary_section(trace, "cache").group().figure("hit_rate").tracestat.value == 0.5


def test_a_trace_without_tokens_says_so(store_of: Any) -> None:
    rows = [
        round_("s", n, [call(f"c{n}", 10 * n, 10 * n + 1)], prefix_tokens=None, newly_append_tokens=None)
        for n in range(3)
    ]
    text = to_text(tables_of(tracestat.summary_section(store_of(rows), "cache")))
    assert "no step tells how many tokens of its prompt were cached" in " ".join(text.split())
