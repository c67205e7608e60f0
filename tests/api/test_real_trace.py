"""The figures known of the real trace: TraceLab's own, and those of the design."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tracestat.results import HazardGroup


@pytest.fixture(scope="module")
def trace(real_trace: Path) -> Iterator[tracestat.Trace]:
    with tracestat.open(real_trace) as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(real_trace: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((real_trace.parent / "real_trace.expected.json").read_text())
    return content


@pytest.fixture(scope="module")
def tracelab(trace: tracestat.Trace) -> dict[str, Any]:
    document = tracestat.summary(trace, definition="tracelab").to_dict()
    figures: dict[str, Any] = document["tracelab"]  # type: ignore[assignment]
    return figures


def same(ours: object, theirs: object) -> bool:
    """Exactly equal, or numbers within 1e-9; theirs may be numbers written as text, empty for none."""
    if theirs == "" or theirs is None:
        return ours is None
    try:
        number = float(theirs)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ours == theirs
    return isinstance(ours, int | float) and abs(ours - number) <= 1e-9 * max(1.0, abs(number))


def test_counts(tracelab: dict[str, Any], expected: dict[str, Any]) -> None:
    assert tracelab["counts"] == expected["counts"]


def test_latency_summary(tracelab: dict[str, Any], expected: dict[str, Any]) -> None:
    ours = {row["tool_name"]: row for row in tracelab["latency_summary"]}
    assert len(expected["tracelab_latency_summary"]) > 5
    for row in expected["tracelab_latency_summary"]:
        for name, value in row.items():
            assert same(ours[row["tool_name"]][name], value), (row["tool_name"], name)


def test_latency_bins(tracelab: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(tracelab["latency_bins"]) == len(expected["tracelab_latency_bins"])
    for ours, theirs in zip(tracelab["latency_bins"], expected["tracelab_latency_bins"], strict=True):
        for name, value in theirs.items():
            assert same(ours[name], value), (theirs["label"], name)


def test_command_chains(tracelab: dict[str, Any], expected: dict[str, Any]) -> None:
    assert tracelab["command_chains"] == expected["tracelab_command_chains"]


def test_wall_clock(tracelab: dict[str, Any], expected: dict[str, Any]) -> None:
    assert tracelab["wall_clock_by_provider_ms"].keys() == expected["wall_clock_by_provider_ms"].keys()
    for provider, row in expected["wall_clock_by_provider_ms"].items():
        for name, value in row.items():
            assert same(tracelab["wall_clock_by_provider_ms"][provider][name], value), (provider, name)


def test_pauses(trace: tracestat.Trace) -> None:
    rows = trace.sql(
        "SELECT provider, count(*), count(DISTINCT developer) FROM pauses WHERE NOT is_copy GROUP BY 1 ORDER BY 1"
    ).rows()
    assert rows == [("claude", 21_993, 26), ("codex", 3_771, 15)]
    running = trace.sql("SELECT count(*) FROM pauses WHERE NOT is_copy AND end_kind = 'deadline'").item()
    assert running == 419


def test_at_risk_after_some_seconds(trace: tracestat.Trace) -> None:
    at_risk = trace.sql(
        "SELECT count(*) FILTER (WHERE seconds > 4), count(*) FILTER (WHERE seconds > 25), "
        "count(*) FILTER (WHERE seconds > 146) FROM pauses "
        "WHERE provider = 'claude' AND NOT is_copy AND tool_class <> 'human'"
    ).row(0)
    assert at_risk == (4_602, 1_206, 310)


@pytest.fixture(scope="module")
def groups(trace: tracestat.Trace) -> dict[str, HazardGroup]:
    return {group.label: group for group in tracestat.hazard(trace).groups}


def value(number: float | None) -> float:
    assert number is not None
    return number


def test_poisson_slopes(groups: dict[str, HazardGroup]) -> None:
    claude, codex = groups["claude"], groups["codex"]
    assert value(claude.deadlines_cut.slope.poisson.value) == pytest.approx(-0.756, abs=0.005)
    assert value(claude.slope.poisson.value) == pytest.approx(-0.744, abs=0.005)
    assert value(codex.deadlines_cut.slope.poisson.value) == pytest.approx(-0.845, abs=0.005)
    assert codex.upper_range is not None
    assert codex.upper_range.start == 0.8755
    assert value(codex.upper_range.deadlines_cut.slope.poisson.value) == pytest.approx(-1.316, abs=0.005)


def test_the_exact_power_law_agrees(groups: dict[str, HazardGroup]) -> None:
    for group in groups.values():
        for slope in (group.slope, group.deadlines_cut.slope):
            assert value(slope.weibull.value) == pytest.approx(value(slope.poisson.value), abs=0.02)


def test_within_key_slopes_are_flatter(groups: dict[str, HazardGroup]) -> None:
    for group in groups.values():
        found = {each.keys: value(each.slope.value) for each in group.within}
        assert set(found) == {
            ("tool_class",),
            ("command_skeleton",),
            ("command_skeleton", "developer"),
            ("session",),
        }
        pooled = value(group.slope.poisson.value)
        assert (
            pooled
            < found[("tool_class",)]
            < found[("command_skeleton",)]
            < found[("command_skeleton", "developer")]
            < 0
        )


def test_headline_interval_is_the_developers_from_twenty_on(groups: dict[str, HazardGroup]) -> None:
    claude, codex = groups["claude"].slope.poisson, groups["codex"].slope.poisson
    assert (claude.method, (claude.low, claude.high)) == ("developer CV3", claude.developer)
    assert (codex.method, (codex.low, codex.high)) == ("session CV3", codex.session)
    assert any("fewer than 20 developers (14 of 15 in range)" in note for note in groups["codex"].notes)


def test_the_hook_of_one_developer_is_a_rise_by_session_only(groups: dict[str, HazardGroup]) -> None:
    family = groups["claude"].rise.adjacent
    assert family.session is not None
    assert family.developer is not None
    assert (family.session.significant, family.developer.significant) == (True, False)
    assert value(family.session.largest_from) == pytest.approx(2.29, abs=0.01)
    cut = groups["claude"].deadlines_cut.rise.adjacent
    assert cut.session is not None
    assert cut.session.significant is False


def test_the_yield_of_codex_is_a_rise_whichever_way(groups: dict[str, HazardGroup]) -> None:
    family = groups["codex"].rise.adjacent
    assert family.session is not None
    assert family.developer is not None
    assert family.session.significant
    assert family.developer.significant
    assert value(family.session.largest_to) == pytest.approx(29.5, abs=0.1)


def test_shares(trace: tracestat.Trace) -> None:
    found = {(g.key["unit"], g.key["provider"]): g for g in tracestat.summary(trace).groups}
    claude = found["pause", "claude"]
    assert value(claude.share_within["1"].value) == pytest.approx(0.654, abs=0.002)
    assert value(claude.over["60"].of_time.value) == pytest.approx(0.85, abs=0.005)
    assert value(claude.human.of_time) == pytest.approx(0.11, abs=0.005)
    assert value(claude.edit_over_minute) == pytest.approx(0.85, abs=0.005)
    assert value(found["pause", "codex"].share_within["1"].value) == pytest.approx(0.661, abs=0.002)
