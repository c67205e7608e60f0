"""Dynamo's offline replay of our files: waits by its simulated clock, tokens, and what its engine reuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tracestat
from tests.consumers.dynamo_replaying import ENGINE_BLOCK, replay
from tests.export.replay_readers import by_hand
from tests.export.replay_readers.store import differences, sessions_of
from tracestat.durations.sequence import HumanGap
from tracestat.store import Trace

SOME = "developer = 'user_e5c5af9e'"  # of the sample, 12 sessions
MS = 0.0005 + 1e-6  # seconds: delays are whole ms
CLOCK = 1e-6  # seconds: what a simulated clock in ms loses at 1e8 ms


@pytest.fixture(autouse=True)
def dynamo(consumer: Callable[[str], None]) -> None:
    consumer("dynamo._core")


def test_the_harness_replays_what_was_typed(typed: Path) -> None:
    replayed = replay(typed / "dynamo.jsonl", "agentic_mooncake", execution_model="m")
    assert differences(by_hand.SAID["dynamo-agentic-mooncake"], replayed.sessions, CLOCK) == []
    assert replayed.reused == {"s1": [0, 512, 0], "s2": [0]}
    assert replayed.totals["total_input_tokens"] == 3200
    assert replayed.totals["total_output_tokens"] == 40
    assert replayed.totals["completed_requests"] == 4


def test_what_aiperf_adds_up_dynamo_calls_deltas(typed: Path) -> None:
    replayed = replay(typed / "aiperf.jsonl", "mooncake-delta", trace_block_size=512, replay_concurrency=2)
    assert differences(by_hand.SAID["aiperf-mooncake"], replayed.sessions, CLOCK) == []
    # whole blocks of the engine's: of the 1,000 tokens 15, of the 1,536 all 24
    assert replayed.reused == {"s1": [0, 1000 // ENGINE_BLOCK * ENGINE_BLOCK, 1536], "s2": [0]}
    assert replayed.totals["total_input_tokens"] == 1000 + 1536 + 1547 + 64


def test_a_wait_on_the_row_before_is_seen(typed: Path) -> None:
    path = typed / "aiperf.jsonl"
    rows = path.read_text().replace('"delay": 36000000', '"delay": 61500', 1)
    path.write_text(rows)
    replayed = replay(path, "mooncake-delta", trace_block_size=512, replay_concurrency=2)
    assert differences(by_hand.SAID["aiperf-mooncake"], replayed.sessions, CLOCK)


def test_weka_is_held_to_its_recorded_times(typed: Path) -> None:
    # Dynamo's reader of this format waits for `t`, so the recorded generation is waited out as well
    (_, s1) = sorted(replay(typed / "weka", "weka", execution_model="m").sessions, key=lambda s: len(s.steps))
    assert [step.before for step in s1.steps] == [0.0, 36002.5, 62.5]


def comes_back(trace: Trace, folder: Path, human_gap: HumanGap, where: str | None) -> None:
    """Export, replay, compare."""
    path = folder / "replay.jsonl"
    tracestat.export_replay(trace, path, format="dynamo-agentic-mooncake", human_gap=str(human_gap), where=where)
    replayed = replay(path, "agentic_mooncake", execution_model="m")
    due = sessions_of(trace, human_gap, where=where)
    assert differences(due, replayed.sessions, CLOCK) == []
    steps = [step for session in due for step in session.steps]
    assert replayed.totals["completed_requests"] == len(steps)
    assert replayed.totals["total_input_tokens"] == sum(step.prompt for step in steps)
    assert replayed.totals["total_output_tokens"] == sum(step.output for step in steps)


def test_dependencies_are_the_waits(sample: Trace, tmp_path: Path) -> None:
    comes_back(sample, tmp_path, HumanGap("cap", 60.0), SOME)


@pytest.mark.full
@pytest.mark.parametrize("name", ["sample", "real"])
def test_dependencies_of_whole_traces(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    comes_back(request.getfixturevalue(name), tmp_path, HumanGap("keep"), None)


def test_what_aiperf_adds_up(sample: Trace, tmp_path: Path) -> None:
    path = tmp_path / "replay.jsonl"
    tracestat.export_replay(sample, path, format="aiperf-mooncake", human_gap="drop", where=SOME)
    replayed = replay(path, "mooncake-delta", trace_block_size=512, replay_concurrency=10_000)
    due = sessions_of(sample, HumanGap("drop"), context="grows", where=SOME)
    assert differences(due, replayed.sessions, MS) == []


def test_weka_files_hold_a_request_back_by_the_recorded_generation_alone(sample: Trace, tmp_path: Path) -> None:
    path = tmp_path / "replay"
    tracestat.export_replay(sample, path, format="kv-cache-tester", where=SOME)
    replayed = replay(path, "weka", execution_model="m")
    due = sessions_of(sample, HumanGap("cap", 60.0), where=SOME)
    assert sorted(s.tokens for s in replayed.sessions) == sorted(s.tokens for s in due)
    waited = sum(step.after for session in replayed.sessions for step in session.steps)
    assert waited >= sum(step.after for session in due for step in session.steps)
