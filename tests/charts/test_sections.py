"""Tables and charts of ``summary --section``: wide enough for 80 columns, safe, and complete."""

from __future__ import annotations

import dataclasses
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


def test_a_trace_without_tokens_says_so(store_of: Any) -> None:
    rows = [
        round_("s", n, [call(f"c{n}", 10 * n, 10 * n + 1)], prefix_tokens=None, newly_append_tokens=None)
        for n in range(3)
    ]
    text = to_text(tables_of(tracestat.summary_section(store_of(rows), "cache")))
    assert "no step tells how many tokens of its prompt were cached" in " ".join(text.split())
