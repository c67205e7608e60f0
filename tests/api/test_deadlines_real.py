"""The deadlines of the real trace: figures that were measured before, and the reason of each difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracestat
from tests.conftest import corpus_path
from tracestat.results import DeadlinesGroup, NamedLimit


@pytest.fixture(scope="module")
def groups(real_trace: Path) -> Iterator[dict[tuple[str, str], DeadlinesGroup]]:
    with tracestat.open(real_trace) as trace:
        yield {(group.key["provider"], group.mode): group for group in tracestat.deadlines(trace).groups}


def test_modes_that_the_trace_can_answer(groups: dict[tuple[str, str], DeadlinesGroup]) -> None:
    assert list(groups) == [("claude", "scan"), ("codex", "status"), ("codex", "scan")]


def test_codex_by_status(groups: dict[tuple[str, str], DeadlinesGroup]) -> None:
    group = groups["codex", "status"]
    assert group.n == 3_771
    assert group.share_on_deadline.value == pytest.approx(419 / 3_771)
    assert {atom.seconds: atom.events for atom in group.atoms} == {1: 99, 3: 2, 5: 13, 10: 8, 30: 295, 60: 2}
    assert (group.cost.polls, group.cost.polled_commands) == (455, 201)


def test_codex_by_scan(groups: dict[tuple[str, str], DeadlinesGroup]) -> None:
    group = groups["codex", "scan"]
    launch, poll, yields = group.atoms
    assert yields.window == (29.9795, 30.5815)
    assert (yields.events, yields.label, yields.known_limit) == (298, "harness", 30.0)
    assert yields.expected == pytest.approx(0.8, abs=0.05)
    # 0.86 in the first of its two windows, 0.91 in both
    assert yields.mass.value == pytest.approx(0.912, abs=0.001)
    assert launch.window == (1.1505, 1.2005)
    assert (launch.events, launch.label, launch.known_limit) == (82, "harness", 1.0)
    assert launch.expected == pytest.approx(29.3, abs=0.05)
    assert launch.nominal_seconds == pytest.approx(1.0, abs=0.005)
    assert poll.window == (5.0005, 5.0505)
    assert (poll.events, poll.label, poll.n_developers) == (15, "local", 2)
    assert poll.expected == pytest.approx(1.8, abs=0.05)
    assert group.share_on_deadline.value == pytest.approx(0.096, abs=0.0005)
    assert group.share_exact is not None
    assert group.share_exact.value == pytest.approx(0.111, abs=0.0005)


def test_claude_by_scan(groups: dict[tuple[str, str], DeadlinesGroup]) -> None:
    (hook,) = groups["claude", "scan"].atoms
    assert hook.window == (5.0005, 5.0505)
    # 631 with the key of the longest call and without pauses that miss a result
    assert hook.events == 633
    assert hook.expected == pytest.approx(24, abs=0.3)
    assert hook.mass.value == pytest.approx(0.153, abs=0.0005)
    assert hook.share.value == pytest.approx(0.028, abs=0.0005)
    assert hook.largest_developer == pytest.approx(0.96, abs=0.005)
    assert (hook.label, hook.known, hook.tool) == ("local", False, "Edit")


def test_named_limits(groups: dict[tuple[str, str], DeadlinesGroup]) -> None:
    def named(provider: str, seconds: float) -> NamedLimit:
        (found,) = (limit for limit in groups[provider, "scan"].named if limit.seconds == seconds)
        return found

    limit = named("claude", 120.0)
    assert (limit.events, limit.votes) == (20, 9)
    assert limit.expected == pytest.approx(3.3, abs=0.05)
    assert limit.p_value == pytest.approx(0.007, abs=0.0005)
    assert named("claude", 600.0).events == 1
    assert named("claude", 600.0).expected == pytest.approx(0.9, abs=0.05)
    shares = {seconds: named("codex", seconds) for seconds in (1.0, 5.0, 10.0, 30.0)}
    assert {seconds for seconds, item in shares.items() if (item.p_adjusted or 1) < 0.05} == {1.0, 5.0, 30.0}


def test_a_trace_of_whole_seconds() -> None:
    with tracestat.open(corpus_path("kvcache_tester")) as trace:
        (group,) = tracestat.deadlines(trace).groups
    assert (group.mode, group.atoms, group.share_on_deadline.value) == ("scan", (), None)
    assert any("clock of whole seconds" in note for note in group.notes)
    assert all(second.ratio.value is not None for second in group.whole_seconds if second.neighbours)
