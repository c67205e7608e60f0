"""The tables and the chart of ``occupancy``."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, LONG, STEERING, UNICODE, head
from tracestat.charts.occupancy import draw_occupancy, pool_marks
from tracestat.charts.table_occupancy import beside, gigabytes, sentence
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import (
    BurstOfReturns,
    HeldByClass,
    HeldCache,
    HeldPoint,
    HostTier,
    Interval,
    NeighbourPauses,
    OccupancyGroup,
    OccupancyResult,
    OverTime,
    TypicalPause,
)


def near(value: float, part: float = 0.4) -> Interval:
    pair = (value * (1 - part), value * (1 + part))
    return Interval(value, *pair, 0.95, "developer bootstrap-t", pair, pair)


def over(mean: float) -> OverTime:
    return OverTime(near(mean), near(0.9 * mean), near(2 * mean))


def held(paused: float) -> HeldCache:
    return HeldCache(over(paused), over(1e5 * paused), over(1.31e10 * paused))


def group(key: dict[str, Any], paused: float = 3.7, **other: Any) -> OccupancyGroup:
    own = held(paused)
    fields: dict[str, Any] = {
        "n": 21_804,
        "n_events": 21_800,
        "n_censored": 4,
        "n_sessions": 482,
        "n_developers": 26,
        "total_seconds": 3e5,
        "agents": 32,
        "paused": own.paused,
        "tokens": own.tokens,
        "bytes": own.bytes,
        "by_class": (
            HeldByClass("shell", 8_000, near(0.6), 0.5, {"mean": 2.1, "p99": 6.0}, {"mean": 2e5, "p99": 7e5}),
            HeldByClass(None, 3, near(0.4), 0.5, {"mean": 0.002, "p99": 0.0}, {"mean": 20.0, "p99": 0.0}),
        ),
        "if_median": held(paused / 4),
        "if_mean": held(paused),
        "without_human": held(5 * paused) if key["rows"] == "tool" else None,
        "tier_for_p99": HostTier(own.bytes.p99, near(9.1), near(8.6e10)),
        "grid_error": 0.0004,
        "typical": {"tool": TypicalPause(21_804, 0.26, 17.5), "human": TypicalPause(2_154, 95.0, 1_252.0)},
        "curve": tuple(HeldPoint(n, 1e4 * n, 2e4 * n + 2e5, 1e4 * n + 1e5) for n in (1, 32, 128)),
        "bursts": tuple(BurstOfReturns(w, near(1 + w / 20, 0.1), w) for w in (1.0, 10.0, 60.0)),
        "neighbours": NeighbourPauses(900, *(near(v, 0.1) for v in (0.4, 0.33, 0.16, 0.17)))
        if key["rows"] == "tool"
        else None,
        "over_pool": 12,
        "largest_tokens": 600_000,
    }
    return OccupancyGroup(key=key, **fields | other)


def result(names: list[str], **other: Any) -> OccupancyResult:
    groups = [group({"provider": name, "rows": rows}) for name in names for rows in ("all", "human", "tool")]
    fields: dict[str, Any] = {
        "agents": 32,
        "hardware": "rtx4090-llama3.1-8b-fp8",
        "kv_bytes_per_token": 131_072,
        "pool_tokens": 81_408,
        "block_tokens": 16,
        "human_gap": "keep",
        "context_scale": 1.0,
        "groups": tuple(groups),
    }
    return OccupancyResult(head("occupancy", by=("provider",)), **fields | other)


def test_tables_fit_a_terminal_and_say_all() -> None:
    text = to_text(tables_of(result(["claude", LONG])), width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    words = " ".join(text.split())
    for said in (
        "Paused caches of 32 agents, by provider",
        "81,408 tokens (10.7 GB), which running requests need as well",
        "waits for a person as recorded; contexts as recorded, in blocks of 16",
        "3.7 [2.2, 5.2]",
        "370 k [222, 518]",
        "97 [58, 136]",
        "grid that moves them by 0.04 % of the 99 % point at most",
        "If mean leaves the number paused as it is",
        "By tool class, claude / tool",
        "successive ln tool pauses correlate by 0.40 [0.36, 0.44]",
        "9.10 [5.46, 12.7] times the pool. Had each pause lasted the median, 0.26 s (tool): 24.2 GB",
    ):
        assert said in words, said
    # the rows of a key stand beside each other
    lines = [line.split()[:2] for line in text.splitlines()]
    first = lines.index(["claude", "tool"])
    assert lines[first : first + 3] == [["claude", "tool"], ["claude", "human"], ["claude", "all"]]


def test_choices_are_said() -> None:
    text = " ".join(to_text(tables_of(result(["a"], human_gap="cap:60", context_scale=0.25)), width=200).split())
    assert "waits for a person at most 60 s; contexts times 0.25" in text
    assert "waits for a person left out" in to_text(tables_of(result(["a"], human_gap="drop")), width=200)


@pytest.mark.parametrize("name", [HOSTILE, STEERING, UNICODE, LONG])
def test_names_do_no_harm(name: str) -> None:
    made = result([name])
    text = to_text(tables_of(made), width=80)
    assert "\x1b" not in text
    assert "<script" not in to_html(tables_of(made))
    assert "<script" not in json.dumps(draw_occupancy(made).to_dict())


def test_without_estimates_it_says_why() -> None:
    empty = {"provider": "a", "rows": "tool"}
    nothing = OccupancyGroup(
        key=empty,
        n=3,
        n_events=3,
        n_censored=0,
        n_sessions=2,
        n_developers=1,
        total_seconds=5.0,
        notes=("2 sessions, 20 needed",),
        agents=32,
        typical={"tool": TypicalPause(), "human": TypicalPause()},
    )
    made = result([], groups=(nothing,))
    text = to_text(tables_of(made), width=80)
    assert "2 sessions, 20 needed" in text
    assert "What the tail does" not in text
    assert "2 sessions, 20 needed" in json.dumps(draw_occupancy(made).to_dict())
    assert "no sessions are left" in json.dumps(draw_occupancy(result([])).to_dict())


@pytest.mark.full
def test_the_chart_has_a_panel_for_tools_and_one_for_all() -> None:
    spec = draw_occupancy(result(["claude", "codex"])).to_dict()
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles == [
        ["claude: paused by tools"],
        ["claude: paused by tools or people"],
        ["codex: paused by tools"],
        ["codex: paused by tools or people"],
    ]
    many = draw_occupancy(result([f"p{i}" for i in range(9)])).to_dict()
    assert len(many["concat"]) == 6
    assert "the first 6 panels of 18" in json.dumps(many)


def test_marks_of_the_pool_keep_apart() -> None:
    for largest in (1e4, 1e5, 3e6, 4e9):
        marks = pool_marks(largest, 81_408)
        assert marks[0] == (1, 81_408.0)
        assert len(marks) <= 4
        at = [place for _, place in marks]
        assert all(b - a >= 0.12 * largest for a, b in pairwise(at))


def test_words() -> None:
    one = group({"rows": "all"})
    assert "0.26 s (tool) and 95 s (human)" in sentence(one)
    other = group({"rows": "tool"})
    # a key that is shown is shown whole
    assert beside([one], [one, other]) == [other, one]
    assert gigabytes(None) == "-"


def test_many_agents_fit_a_terminal() -> None:
    many = [
        group({"provider": name, "rows": rows}, 41_234.0) for name in ("claude", "codex") for rows in ("tool", "all")
    ]
    text = to_text(tables_of(result([], groups=tuple(many), agents=100_000)), width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "41.2 k [24.7, 57.7]" in text
    assert "claude  tool" in text


def test_a_cut_table_keeps_keys_whole() -> None:
    text = to_text(tables_of(result([f"p{i}" for i in range(9)]), top=4), width=80)
    assert "4 of 9 groups; --top 9 shows all" in text


def test_most_pauses_stand_first_in_table_and_chart() -> None:
    many = [
        group({"provider": name, "rows": rows}, n=n) for name, n in (("a", 3), ("b", 9)) for rows in ("tool", "all")
    ]
    text = to_text(tables_of(result([], groups=tuple(many)), top=1), width=80)
    assert "1 of 2 groups; --top 2 shows all" in text
    assert "\nb  tool" in text
    assert "\na  tool" not in text
    titles = [panel["title"]["text"][0] for panel in draw_occupancy(result([], groups=tuple(many))).to_dict()["concat"]]
    assert [title[0] for title in titles] == ["b", "b", "a", "a"]
