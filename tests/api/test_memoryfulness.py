"""The answer of ``memoryfulness``: what it promises, what it says of too little data, the real trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.durations.test_programs import tool_turn, turn
from tests.traces import Row, round_
from tracestat.errors import UsageError
from tracestat.results import MemoryfulnessGroup, MemoryfulnessResult
from tracestat.survival.memoryfulness import memoryfulness as of_turns

Make = Callable[[list[Row]], Any]


@pytest.fixture(scope="module")
def sample() -> Iterator[MemoryfulnessResult]:
    with tracestat.open() as trace:
        yield tracestat.memoryfulness(trace)


def by_key(result: MemoryfulnessResult) -> dict[tuple[str, str], MemoryfulnessGroup]:
    return {(group.key["provider"], group.key["unit"]): group for group in result.groups}


def sessions(turns: list[int], **more: Any) -> list[Row]:
    """A session of one request per number of rounds."""
    return [
        turn(f"s{i}", k, 1000 * i + 10 * k, asked=k == 0, user=f"user_{i // 2}", **more)
        for i, n in enumerate(turns)
        for k in range(n)
    ]


def test_it_is_the_closed_form_of_the_rounds(store_of: Make) -> None:
    turns = [2, 3, 7] * 8
    groups = by_key(tracestat.memoryfulness(store_of(sessions(turns))))
    for unit in ("session", "request"):
        group = groups["claude", unit]
        assert group.value.value == pytest.approx(0.358070500928, rel=1e-9)
        assert (group.n, group.n_programs, group.n_censored, group.n_sessions, group.n_developers) == (
            24,
            24,
            0,
            24,
            12,
        )
        assert (group.turns.mean, group.turns.p50, group.turns.p99, group.turns.max) == (4.0, 3, 7, 7)
        assert [(p.turns, p.n) for p in group.law] == [(1, 24), (2, 24), (3, 16), (7, 8)]
        assert [(item.after, item.mean.value, item.n) for item in group.left] == [(1, 3.0, 24)]
        assert group.with_open is None
        assert any("fewer than 20 developers (12)" in note for note in group.notes)


def test_rounds_of_all_programs_and_copies_are_the_rounds_of_the_trace(sample: MemoryfulnessResult) -> None:
    for unit in ("session", "request"):
        found = 0.0
        for (_, own), group in by_key(sample).items():
            if own == unit:
                found += (group.turns.mean or 0) * group.n_programs
        # two programs are open, and their rounds are not in the mean
        missing = sample.head.trace.rounds - sample.head.excluded["copied_rounds"] - found
        assert 0 < missing < 500
    with tracestat.open() as trace:
        rounds = trace.sql("SELECT count(DISTINCT (provider, round_id)) FROM rounds").item()
    assert rounds == sample.head.trace.rounds - sample.head.excluded["copied_rounds"]


def test_open_programs_are_left_out_and_counted(store_of: Make) -> None:
    rows = sessions([2, 5, 9] * 8)
    rows += [tool_turn("open", k, 90_000 + 10 * k, None if k == 3 else 90_001 + 10 * k, asked=k == 0) for k in range(4)]
    groups = by_key(tracestat.memoryfulness(store_of(rows), draws=50))
    group = groups["claude", "session"]
    assert (group.n, group.n_programs, group.n_censored) == (25, 24, 1)
    assert group.value.value == of_turns([2, 5, 9] * 8)
    assert group.with_open == pytest.approx(of_turns([2, 5, 9] * 8 + [4]))
    assert any(note.startswith("1 open when the log ended") for note in group.notes)


def test_head_says_how_it_was_made(sample: MemoryfulnessResult) -> None:
    head = sample.head
    assert (head.unit, head.clock, head.rows, head.synthetic) == (None, None, "all", True)
    assert head.schema == "tracestat.memoryfulness/1"
    assert head.excluded["copied_rounds"] == 26
    assert "SYNTHETIC" in repr(sample)
    assert "<table" in sample._repr_html_()
    json.dumps(sample.to_dict(), allow_nan=False)
    frame = sample.to_frame()
    assert frame.height == len(sample.groups) == 4
    assert frame["synthetic"].all()
    assert all(len(line) <= 80 for line in repr(sample).splitlines())


def test_the_same_trace_gives_the_same_digits(sample: MemoryfulnessResult) -> None:
    with tracestat.open() as trace:
        assert json.dumps(tracestat.memoryfulness(trace).to_dict()) == json.dumps(sample.to_dict())
        other = tracestat.memoryfulness(trace, seed=1)
    assert other.groups[0].value.value == sample.groups[0].value.value
    assert other.groups[0].value.low != sample.groups[0].value.low


def test_too_little_is_an_answer(store_of: Make) -> None:
    trace = store_of(sessions([2, 3, 7]))
    for group in tracestat.memoryfulness(trace).groups:
        assert group.value.value is None
        assert group.n_programs == 3
        assert any("3 sessions with finished programs, 20 needed" in note for note in group.notes)
        assert group.turns.max == 7
    for group in tracestat.memoryfulness(trace, min_n=50).groups:
        assert group.notes[0] == "3 programs, 50 asked for"
        assert group.law == ()
    assert "20 needed" in repr(tracestat.memoryfulness(trace))


def test_programs_of_one_round_tell_nothing(store_of: Make) -> None:
    result = tracestat.memoryfulness(store_of(sessions([1] * 25)))
    for group in result.groups:
        assert group.value.value is None
        assert any("every program has one round" in note for note in group.notes)
    result.chart().to_dict()


def test_requests_need_to_know_who_asked(store_of: Make) -> None:
    rows = [round_(f"s{i}", k, text=1000 * i + k) for i in range(24) for k in range(1 + i % 5)]
    groups = by_key(tracestat.memoryfulness(store_of(rows), draws=50))
    assert groups["claude", "session"].value.value is not None
    assert groups["claude", "request"].value.value is None
    assert groups["claude", "request"].turns.mean is None
    assert "cannot be told apart" in groups["claude", "request"].notes[0]


def test_nothing_left_and_one_round(store_of: Make) -> None:
    with tracestat.open() as trace:
        empty = tracestat.memoryfulness(trace, where="project = 'none such'")
    assert empty.groups == ()
    assert "nothing is left" in repr(empty)
    empty.chart().to_dict()
    assert any("whole trace" in note for note in empty.head.notes)
    one = tracestat.memoryfulness(store_of([turn("a", 0, 0)]))
    assert [group.n for group in one.groups] == [1, 1]
    one.chart().to_dict()


def test_wrong_choices_are_usage_errors() -> None:
    with tracestat.open() as trace:
        for wrong in ({"by": "tool"}, {"where": "tool = 'Bash'"}, {"draws": -1}, {"since": "x"}):
            with pytest.raises(UsageError):
                tracestat.memoryfulness(trace, **wrong)
        bare = tracestat.memoryfulness(trace, draws=0, by="none")
    assert bare.groups[0].value.low is None
    assert "without an interval" in repr(bare)


def test_real_trace(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        result = tracestat.memoryfulness(trace)
    groups = by_key(result)
    found = {key: (group.n, group.n_programs) for key, group in groups.items()}
    # 488 sessions of Claude hold 6 of copies only; a session id of two authors is two sessions (9 of these)
    assert found == {
        ("claude", "session"): (482, 455),
        ("claude", "request"): (2_643, 2_616),
        ("codex", "session"): (67, 59),
        ("codex", "request"): (540, 532),
    }
    # known figures -0.12, -0.14, 0.10, -0.30: with open programs counted as they stand; Claude's sessions by id alone
    with_open = {key: group.with_open for key, group in groups.items()}
    assert with_open["claude", "request"] == pytest.approx(-0.137778, abs=1e-6)
    assert with_open["codex", "session"] == pytest.approx(0.102025, abs=1e-6)
    assert with_open["codex", "request"] == pytest.approx(-0.299340, abs=1e-6)
    assert with_open["claude", "session"] == pytest.approx(-0.119, abs=0.007)
    expected = {"claude": ((-0.19, 0.01), (-0.17, -0.09)), "codex": ((-0.01, 0.24), (-0.35, -0.10))}
    for provider, pair in expected.items():
        for unit, bounds in zip(("session", "request"), pair, strict=True):
            group = groups[provider, unit]
            assert group.value.value == pytest.approx(with_open[provider, unit], abs=0.02)
            # another resampling of slightly other programs
            assert group.percentile["session"] == pytest.approx(bounds, abs=0.04)
    assert "codex: session and request differ in sign" in repr(result)
    assert all(len(line) <= 80 for line in repr(result).splitlines())
