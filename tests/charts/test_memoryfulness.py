"""The tables and the chart of ``memoryfulness``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, LONG, STEERING, UNICODE, head, interval
from tracestat.charts.memoryfulness import draw_memoryfulness, geometric_reference
from tracestat.charts.table_memoryfulness import sentence, units_differ
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import (
    NOT_AVAILABLE,
    Interval,
    LawPoint,
    MemoryfulnessGroup,
    MemoryfulnessResult,
    RoundsLeft,
    Turns,
)


def group(key: dict[str, Any], eta: Interval, **other: Any) -> MemoryfulnessGroup:
    fields: dict[str, Any] = {
        "n": 482,
        "n_events": 455,
        "n_censored": 27,
        "n_sessions": 455,
        "n_developers": 26,
        "total_seconds": 1e6,
        "value": eta,
        "n_programs": 455,
        "turns": Turns(10.0, 5, 64, 200),
        "percentile": {"session": (-0.2, 0.1), "developer": (-0.3, 0.2)},
        "with_open": -0.11,
        "bootstrap_shift": 0.02,
        "longest_share": 0.26,
        "left": (RoundsLeft(1, interval(9.0, 1.0), 455), RoundsLeft(5, interval(11.2, 3.0), 200)),
        "law": tuple(
            LawPoint(n, Interval(1.0) if n == 1 else interval(share, share / 3), round(455 * share))
            for n, share in ((1, 1.0), (2, 0.7), (10, 0.3), (50, 0.04), (200, 0.002))
        ),
    }
    return MemoryfulnessGroup(key=key, **fields | other)


def eta(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high, 0.95, "developer bootstrap-t", (low, high), (low, high))


def result(names: list[str], **other: Any) -> MemoryfulnessResult:
    groups = []
    for name in names:
        groups += [
            group({"provider": name, "unit": "session"}, eta(0.12, 0.02, 0.27)),
            group({"provider": name, "unit": "request"}, eta(-0.298, -0.5, -0.19), n=2_643),
        ]
    nothing = group(
        {"provider": "tiny", "unit": "session"},
        NOT_AVAILABLE,
        n=3,
        turns=Turns(),
        percentile={},
        with_open=None,
        bootstrap_shift=None,
        longest_share=None,
        left=(),
        law=(),
        notes=("3 sessions with finished programs, 20 needed",),
    )
    chosen: dict[str, Any] = {"unit": None, "clock": None, "rows": "all", "excluded": {"copied_rounds": 1_304}}
    return MemoryfulnessResult(head("memoryfulness", **chosen | other), (*groups, nothing))


def spec(made: MemoryfulnessResult) -> dict[str, Any]:
    drawn: dict[str, Any] = draw_memoryfulness(made).to_dict()
    return drawn


def test_each_sign_has_its_sentence() -> None:
    negative = sentence(group({"unit": "request"}, eta(-0.25, -0.35, -0.08)))
    assert "the more are likely left" in negative
    assert "4.0 times the time to restore" in negative  # 1 / 0.25
    positive = sentence(group({"unit": "session"}, eta(0.12, 0.02, 0.27)))
    assert "the fewer are left" in positive
    assert "grows" in positive
    assert "not settled" in sentence(group({"unit": "session"}, eta(0.12, -0.02, 0.27)))
    assert "without an interval" in sentence(group({"unit": "session"}, Interval(0.3)))
    assert "20 needed" in sentence(group({"unit": "session"}, NOT_AVAILABLE, notes=("3 sessions, 20 needed",)))


def test_units_of_different_sign_are_pointed_out() -> None:
    made = result(["codex"])
    assert units_differ(made.groups) == ["codex: session and request differ in sign: what a program is decides it"]
    assert units_differ(made.groups[:1]) == []


@pytest.mark.parametrize("names", [["claude", "codex"], [HOSTILE, UNICODE, LONG, STEERING, ""], ["x"] * 40, []])
def test_tables_fit_and_are_safe(names: list[str]) -> None:
    made = result(names)
    text = to_text(tables_of(made), width=80)
    assert all(len(line) <= 80 for line in text.splitlines() if UNICODE[:3] not in line)
    assert "\x1b" not in text
    assert "1,304 copied rounds" in text.replace("\n", " ")
    assert "20 needed" in text or "--top" in text
    html = to_html(tables_of(made))
    assert "<script>" not in html


def test_tables_without_groups() -> None:
    empty = MemoryfulnessResult(head("memoryfulness", unit=None, clock=None, rows="all"), ())
    assert "nothing is left to count" in to_text(tables_of(empty), width=80)
    assert "nothing is left" in json.dumps(spec(empty))


@pytest.mark.parametrize("names", [["claude"], ["claude", "codex"], [HOSTILE, UNICODE, LONG, STEERING, ""]])
@pytest.mark.first_case
def test_chart_is_valid_and_says_what_it_is(names: list[str]) -> None:
    drawn = spec(result(names, synthetic=True))
    text = json.dumps(drawn, ensure_ascii=False)
    assert drawn["title"]["text"][0].startswith("SYNTHETIC: How many rounds programs have")
    assert "geometric law of the same mean" in " ".join(drawn["title"]["subtitle"]).replace("\u00a0", " ")
    assert "<script" not in text
    assert len(drawn["concat"]) == min(2 * len(names), 6)


def test_chart_draws_the_law_with_its_intervals_and_nothing_off_the_page() -> None:
    drawn = spec(result(["claude"]))
    scale = next(
        layer["encoding"]["y"]["scale"] for layer in drawn["concat"][0]["layer"] if "y" in layer.get("encoding", {})
    )
    low, high = scale["domain"]
    points = [
        row
        for layer in drawn["concat"][0]["layer"]
        for row in (layer["data"].get("values") or drawn["datasets"][layer["data"]["name"]])
    ]
    assert any(row.get("turns") == "200" for row in points)
    for row in points:
        assert low <= row["y"] <= high
        assert row.get("low") is None or low <= row["low"] <= row["y"] <= row["high"]


def test_reference_is_the_geometric_law_of_the_same_mean() -> None:
    one = group({"unit": "session"}, eta(0.1, 0.0, 0.2))
    points = geometric_reference(one, 5_000)
    assert points[0] == (1.0, 1.0)
    n, share = points[20]
    assert share == pytest.approx(0.9 ** (n - 1))
    # mean of the law: sum over n of P(N >= n)
    assert sum(0.9**k for k in range(2_000)) == pytest.approx(one.turns.mean)
    assert geometric_reference(group({"unit": "session"}, eta(0, 0, 0), turns=Turns(1.0, 1, 1, 1)), 10) == []
