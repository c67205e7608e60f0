"""The answer of ``occupancy``: known answers, sums that add up, what is counted, the real trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import tracestat
from tests.test_schemas import wrong
from tests.traces import Row, call, event, round_
from tracestat.durations.sequence import session_sequence
from tracestat.errors import UsageError
from tracestat.hardware import load_hardware
from tracestat.results import HeldCache, OccupancyGroup, OccupancyResult, OverTime
from tracestat.store import Trace

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]
BYTES, POOL = 131_072, 81_408


@pytest.fixture(scope="module")
def sample() -> Iterator[OccupancyResult]:
    with tracestat.open() as trace:
        yield tracestat.occupancy(trace, agents=24, draws=40)


def by_rows(result: OccupancyResult, provider: str = "claude") -> dict[str, OccupancyGroup]:
    return {g.key["rows"]: g for g in result.groups if g.key.get("provider", provider) == provider}


def values(over: OverTime) -> tuple[float | None, ...]:
    return over.mean.value, over.p50.value, over.p99.value


def session(
    name: str, tool: float, human: float, *, context: int = 1_000, start: float = 0.0, user: int = 0
) -> list[Row]:
    """Three steps of 2 s: a tool between the first two, a person before the third."""
    tokens = {"prefix_tokens": context - 100, "newly_append_tokens": 76, "output_tokens": 24}
    who = {"user": f"user_{user:08d}", **tokens}
    back = start + 2 + tool
    asked = back + 2 + human
    return [
        round_(name, 0, [call(f"{name}a", start + 2, back)], events=[event("user_message", start)], **who),
        round_(name, 1, text=back + 2, events=[event("tool_result", back, tool_call_id=f"{name}a")], **who),
        round_(name, 2, text=asked + 2, events=[event("user_message", asked)], **who),
    ]


def sessions(n: int, tool: float, human: float, **more: Any) -> list[Row]:
    return [row for i in range(n) for row in session(f"s{i}", tool, human, start=1_000.0 * i, user=i % 22, **more)]


def test_equal_sessions_are_the_binomial(store_of: Make) -> None:
    result = tracestat.occupancy(store_of(sessions(24, 6.0, 12.0)), agents=10, draws=20)
    groups = by_rows(result)
    # of 24 s a tool takes 6, a person 12; 1,000 tokens are 63 blocks
    for rows, p in (("tool", 0.25), ("human", 0.5), ("all", 0.75)):
        group = groups[rows]
        want = (10 * p, *(float(binom.ppf(q, 10, p)) for q in (0.5, 0.99)))
        assert values(group.paused) == pytest.approx(want)
        assert values(group.tokens) == pytest.approx(tuple(1_008 * v for v in want))
        assert values(group.bytes) == pytest.approx(tuple(1_008 * BYTES * v for v in want))
        assert group.tier_for_p99.bytes.value == pytest.approx(1_008 * BYTES * want[2])
        assert group.tier_for_p99.times_pool.value == pytest.approx(1_008 * want[2] / POOL)
        assert group.tier_for_p99.excess.value == 0
        # all pauses are typical
        assert values(group.if_median.tokens) == pytest.approx(values(group.tokens))
        assert values(group.if_mean.paused) == pytest.approx(values(group.paused))
        assert (group.grid_error, group.over_pool, group.largest_tokens) == (0, 0, 1_008)
        assert [point.agents for point in group.curve] == [1, 2, 5, 8, 10, 15, 20, 25, 30, 35, 40]
    alone = groups["tool"].without_human
    assert alone is not None
    assert alone.paused.mean.value == pytest.approx(5.0)
    assert (groups["tool"].typical["tool"].median, groups["tool"].typical["human"].mean) == (6.0, 12.0)
    assert (groups["tool"].n, groups["human"].n, groups["all"].n) == (24, 24, 48)
    assert groups["tool"].neighbours is None


def test_human_gap(store_of: Make) -> None:
    trace = store_of(sessions(24, 6.0, 12.0))
    capped = by_rows(tracestat.occupancy(trace, agents=10, human_gap="cap:8", draws=0))
    assert capped["tool"].paused.mean.value == pytest.approx(10 * 6 / 20)
    assert capped["human"].paused.mean.value == pytest.approx(10 * 8 / 20)
    dropped = by_rows(tracestat.occupancy(trace, agents=10, human_gap="drop", draws=0))
    assert dropped["tool"].paused.mean.value == pytest.approx(5.0)
    assert dropped["human"].paused.mean.value is None
    assert any("no such pauses" in note for note in dropped["human"].notes)
    assert dropped["all"].paused.mean.value == pytest.approx(5.0)


def test_context_scale_and_pool(store_of: Make) -> None:
    trace = store_of(sessions(24, 6.0, 12.0, context=100_000))
    large = by_rows(tracestat.occupancy(trace, agents=4, draws=0))["all"]
    assert (large.over_pool, large.largest_tokens) == (48, 100_000)
    assert any("48 pauses of 48 hold a context larger than the whole pool" in note for note in large.notes)
    scaled = tracestat.occupancy(trace, agents=4, scale_context=16_000, draws=0)
    assert scaled.context_scale == pytest.approx(0.16)
    assert by_rows(scaled)["tool"].largest_tokens == 16_000
    machine = load_hardware("h100like-llama3.1-8b-fp8")
    other = tracestat.occupancy(trace, agents=4, hardware="h100like-llama3.1-8b-fp8", draws=0)
    assert other.pool_tokens == machine.pool_tokens
    assert tracestat.occupancy(trace, agents=4, hardware=machine, draws=0).to_dict() == other.to_dict()


def test_unknown_tokens_and_generation_are_counted(store_of: Make) -> None:
    rows = sessions(24, 6.0, 12.0)
    for row in rows[:3]:
        row["prefix_tokens"] = None
    group = by_rows(tracestat.occupancy(store_of(rows), agents=4, draws=0))["all"]
    assert any("2 pauses with unknown tokens" in note for note in group.notes)
    # a round whose begin is unknown
    rows = sessions(24, 6.0, 12.0)
    rows[0]["timing_events"] = [e for e in rows[0]["timing_events"] if e["event_type"] != "user_message"]
    group = by_rows(tracestat.occupancy(store_of(rows), agents=4, draws=0))["all"]
    assert any("1 step of unknown generation time, taken as 0 s" in note for note in group.notes)


def test_contexts_of_unknown_size_hold_no_known_amount(store_of: Make) -> None:
    rows = sessions(24, 6.0, 12.0)
    for row in rows:
        row.update(prefix_tokens=None, newly_append_tokens=None, output_tokens=None)
    result = tracestat.occupancy(store_of(rows), agents=4, draws=20)
    for group in result.groups:
        assert group.paused.mean.value is not None
        assert values(group.tokens) == values(group.bytes) == values(group.if_median.bytes) == (None, None, None)
        assert group.tier_for_p99.bytes.value is None
        assert {c.tokens["p99"] for c in group.by_class} == {None}
        assert any("no tokens are known" in note for note in group.notes)
    assert wrong("occupancy", json.loads(json.dumps(result.to_dict()))) == []
    assert "0 GB" not in repr(result).replace("10.7 GB", "")
    assert "no tokens are known" in json.dumps(result.chart().to_dict())


@pytest.mark.filterwarnings("error")
def test_without_generation_times_nobody_knows_who_is_not_paused(store_of: Make) -> None:
    rows = sessions(24, 6.0, 12.0)
    for row in rows:
        row["timing_events"] = [e for e in row["timing_events"] if e["event_type"] == "tool_call"]
    for group in tracestat.occupancy(store_of(rows), agents=4, draws=20).groups:
        assert group.paused.mean.value is None
        assert any("no generation time is known" in note or "no such pauses" in note for note in group.notes)


def test_a_session_that_takes_most_of_the_time_is_said(store_of: Make) -> None:
    rows = [*sessions(24, 6.0, 12.0), *session("giant", 90_000.0, 5.0, start=1e6)]
    groups = by_rows(tracestat.occupancy(store_of(rows), agents=4, draws=20))
    for group in groups.values():
        assert sum("one session of 25 takes" in note for note in group.notes) == 1
    plain = by_rows(tracestat.occupancy(store_of(sessions(24, 6.0, 12.0)), agents=4, draws=0))
    assert not any("one session" in note for note in plain["tool"].notes)


def test_too_little_is_an_answer(store_of: Make) -> None:
    trace = store_of(sessions(5, 6.0, 12.0))
    for group in tracestat.occupancy(trace, agents=4, draws=0).groups:
        assert group.paused.mean.value is None
        assert group.n_sessions == 5
        assert "5 sessions, 20 needed" in group.notes
    result = tracestat.occupancy(store_of(sessions(24, 6.0, 12.0)), agents=4, min_n=30, draws=0)
    assert [g.paused.mean.value is None for g in result.groups] == [True, True, False]
    assert "24 pauses, 30 asked for" in result.groups[0].notes
    assert "20 needed" in repr(tracestat.occupancy(trace, agents=4))
    tracestat.occupancy(trace, agents=4).chart().to_dict()
    empty = tracestat.occupancy(trace, agents=4, where="project = 'none such'")
    assert empty.groups == ()
    assert "no sessions are left" in repr(empty)
    empty.chart().to_dict()
    assert empty.to_frame().height == 0


def test_order_and_names_of_sessions_do_not_matter(store_of: Make) -> None:
    rng = np.random.default_rng(1)
    some = [(float(t), float(h), int(c)) for t, h, c in rng.integers(1, 60, (25, 3))]

    def made(order: Iterable[int], prefix: str) -> list[Row]:
        return [
            row
            for i in order
            for row in session(
                f"{prefix}{i}", some[i][0], some[i][1], context=1_000 * some[i][2], start=1e3 * i, user=i % 3
            )
        ]

    one = tracestat.occupancy(store_of(made(range(25), "a")), agents=9, draws=0)
    other = tracestat.occupancy(store_of(made(reversed(range(25)), "z")), agents=9, draws=0)
    for a, b in zip(one.groups, other.groups, strict=True):
        assert values(a.tokens) == pytest.approx(values(b.tokens), rel=1e-12)
        assert [c.paused["mean"] for c in a.by_class] == pytest.approx([c.paused["mean"] for c in b.by_class])
        assert [w.ratio.value for w in a.bursts] == pytest.approx([w.ratio.value for w in b.bursts])


def test_parts_add_up(sample: OccupancyResult) -> None:
    for provider in ("claude", "codex"):
        groups = by_rows(sample, provider)
        for amount in ("paused", "tokens"):
            tool, human, both = (getattr(groups[rows], amount).mean.value for rows in ("tool", "human", "all"))
            assert tool + human == pytest.approx(both, rel=1e-9)
            for group in groups.values():
                own = getattr(group, amount)
                assert sum(getattr(c, amount)["mean"] for c in group.by_class) == pytest.approx(own.mean.value)
                assert own.p50.value <= own.p99.value
        for group in groups.values():
            assert sum(c.share.value or 0 for c in group.by_class) == pytest.approx(1)
            assert sum(c.share_of_tokens or 0 for c in group.by_class) == pytest.approx(1)
            if group.key["rows"] != "all":  # there a pause may be of a tool and of a person
                assert sum(c.n for c in group.by_class) == group.n
            assert group.if_mean.paused == group.paused
            assert (group.if_median.paused.mean.value or 0) < (group.paused.mean.value or 0)
            assert (group.grid_error or 0) < 0.005
            at_n = next(point for point in group.curve if point.agents == 24)
            assert at_n.p99 == pytest.approx(group.tokens.p99.value, rel=0.005)
            for item in (group.tokens.p99, group.paused.mean, group.if_median.tokens.p99):
                assert item.low is not None
                assert item.high is not None
                assert item.value is not None
                assert item.low <= item.value <= item.high


def test_it_says_how_it_was_made(sample: OccupancyResult) -> None:
    assert (sample.head.schema, sample.head.unit, sample.head.synthetic) == ("tracestat.occupancy/1", "pause", True)
    assert sample.hardware == "rtx4090-llama3.1-8b-fp8"
    assert sample.human_gap == "keep"
    json.dumps(sample.to_dict(), allow_nan=False)
    assert "SYNTHETIC" in repr(sample)
    assert "<table" in sample._repr_html_()
    assert all(len(line) <= 80 for line in repr(sample).splitlines())
    frame = sample.to_frame()
    assert frame.height == 2 * 3 * 9
    assert frame["synthetic"].all()
    p99 = frame.filter(pl.col("amount") == "bytes", pl.col("statistic") == "p99", pl.col("rows") == "tool")
    assert p99["value"].to_list() == [by_rows(sample, p)["tool"].bytes.p99.value for p in ("claude", "codex")]


def test_the_same_trace_gives_the_same_digits(sample: OccupancyResult) -> None:
    with tracestat.open() as trace:
        again = tracestat.occupancy(trace, agents=24, draws=40, where="provider = 'codex'")
        other = tracestat.occupancy(trace, agents=24, draws=40, where="provider = 'codex'", seed=1)
    assert again.groups == tuple(g for g in sample.groups if g.key["provider"] == "codex")
    assert other.groups[0].tokens.p99.value == again.groups[0].tokens.p99.value
    assert other.groups[0].tokens.p99.low != again.groups[0].tokens.p99.low


def test_one_agent_and_ten_thousand(store_of: Make) -> None:
    with tracestat.open() as trace:
        one = tracestat.occupancy(trace, agents=1, by="none", draws=0).groups[0]
        many = tracestat.occupancy(trace, agents=10_000, by="none", draws=0).groups[0]
    assert 0 < (one.paused.mean.value or 0) < 1
    assert one.paused.p99.value == 1
    assert many.paused.mean.value == pytest.approx(10_000 * (one.paused.mean.value or 0))
    # of many agents the 99 % point is the mean and little more
    assert 1 < (many.tokens.p99.value or 0) / (many.tokens.mean.value or 1) < 1.2
    assert (many.grid_error or 0) < 0.005


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agents": 0}, "--agents 0"),
        ({"agents": 100_001}, "--agents 100001"),
        ({"agents": 4, "by": "tool"}, "--by tool"),
        ({"agents": 4, "hardware": "none-such"}, "none-such"),
        ({"agents": 4, "human_gap": "cap:0"}, "--human-gap cap:0"),
        ({"agents": 4, "scale_context": 0}, "--scale-context 0"),
        ({"agents": 4, "draws": -1}, "draws -1"),
    ],
)
def test_wrong_choices_are_usage_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tracestat.occupancy(tracestat.open(), **options)


def test_the_real_trace(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        frame = session_sequence(trace)[0]
        result = tracestat.occupancy(trace, agents=32, draws=20)
    for provider in ("claude", "codex"):
        own = frame.filter(pl.col("provider") == provider)
        sums = own.select(pl.col("generation_seconds", "tool_seconds", "human_seconds").sum()).row(0)
        groups = by_rows(result, provider)
        for rows, part in (("tool", sums[1]), ("human", sums[2])):
            p = part / sum(sums)
            assert groups[rows].paused.mean.value == pytest.approx(32 * p, rel=1e-9)
            assert groups[rows].paused.p99.value == binom.ppf(0.99, 32, p)
        context = pl.col("prefix_tokens") + pl.col("append_tokens") + pl.col("output_tokens")
        tokens = own.select((((context / 16).ceil() * 16) * pl.col("tool_seconds")).sum()).item()
        assert groups["tool"].tokens.mean.value == pytest.approx(32 * tokens / sum(sums), rel=1e-9)
        # what a person's wait takes is most of the time, and typical pauses are far shorter than average ones
        assert (groups["human"].paused.mean.value or 0) > 5 * (groups["tool"].paused.mean.value or 0)
        flat = groups["tool"].if_median
        assert isinstance(flat, HeldCache)
        assert (flat.tokens.p99.value or 0) < 0.8 * (groups["tool"].tokens.p99.value or 0)
        near = groups["tool"].neighbours
        assert near is not None
        assert (near.raw.value or 0) > (near.without_class.value or 0) > (near.same_session.value or 0) > 0
        minute = groups["tool"].bursts[-1]
        assert minute.window == 60
        assert (minute.ratio.low or 0) > 2


def test_it_says_that_a_machine_is_estimated(store_of: Make) -> None:
    machine = replace(load_hardware(), estimate=True)
    result = tracestat.occupancy(store_of(sessions(24, 6.0, 12.0)), agents=2, hardware=machine, draws=0)
    assert any("estimates from specifications" in note for note in result.head.notes)
