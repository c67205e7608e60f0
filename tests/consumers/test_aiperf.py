"""AIPerf's own loaders read our files: waits, tokens and shared blocks are the store's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.consumers import aiperf_loading
from tests.export.replay_readers import by_hand, kv_cache_tester
from tests.export.replay_readers.model import Session, Step, waits
from tests.export.replay_readers.store import differences, sessions_of
from tracestat.durations.sequence import HumanGap
from tracestat.store import Trace

MS = 0.0005 + 1e-9  # seconds: delays are whole ms
SOME = "developer = 'user_478e35ed'"  # of the sample, 3 sessions: their text is made


@pytest.fixture(autouse=True)
def aiperf(consumer: Callable[[str], None]) -> None:
    for module in (
        "aiperf",
        "aiperf.config",
        "aiperf.dataset.loader.mooncake_trace",
        "aiperf.dataset.loader.weka_trace",
    ):
        consumer(module)


def _mooncake(conversation: Any) -> Session:
    turns = conversation.turns
    assert turns[0].delay is None
    assert all(turn.timestamp is None for turn in turns[1:])
    befores = [0.0, *(turn.delay / 1e3 for turn in turns[1:])]
    prompts = aiperf_loading.prompts_sent(conversation)
    steps = (
        Step(prompt, turn.max_tokens, before, after, new=len(turn.texts[0].contents[0]))
        for prompt, turn, (before, after) in zip(prompts, turns, waits(befores), strict=True)
    )
    return Session(conversation.session_id, tuple(steps), (turns[0].timestamp or 0) / 1e3)


def _weka(conversation: Any, prompts: list[int]) -> Session:
    turns = conversation.turns
    befores = [0.0, *(turn.delay / 1e3 for turn in turns[1:])]
    steps = (
        Step(prompt, turn.max_tokens, before, after, shared=turn.theoretical_prefix_cache_hit_blocks, block=64)
        for prompt, turn, (before, after) in zip(prompts, turns, waits(befores), strict=True)
    )
    return Session(conversation.session_id, tuple(steps))


def test_the_harness_reads_what_was_typed(typed: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = aiperf_loading.conversations(typed / "aiperf.jsonl", "mooncake_trace")
        assert [_mooncake(conversation) for conversation in built] == by_hand.SAID["aiperf-mooncake"]
        built = aiperf_loading.conversations(typed / "weka", "weka_trace")
    prompts = {session.name: [s.prompt for s in session.steps] for session in by_hand.SAID["kv-cache-tester"]}
    found = [_weka(conversation, prompts[conversation.session_id]) for conversation in built]
    assert found == by_hand.SAID["kv-cache-tester"]


def test_a_key_that_weka_does_not_know_is_refused(typed: Path) -> None:
    path = typed / "weka" / "s1.json"
    path.write_text(path.read_text().replace('"t": 0.0', '"t": 0.0, "kind": "tool"'))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="cannot load"):
            aiperf_loading.conversations(typed / "weka", "weka_trace")


@pytest.mark.parametrize("name", ["sample", pytest.param("real", marks=pytest.mark.full)])
def test_turns_of_whole_traces(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    trace: Trace = request.getfixturevalue(name)
    path = tmp_path / "replay.jsonl"
    tracestat.export_replay(trace, path, format="aiperf-mooncake", human_gap="keep")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = aiperf_loading.conversations(path, "mooncake_trace")
    found = [_mooncake(conversation) for conversation in built]
    assert differences(sessions_of(trace, HumanGap("keep"), context="grows"), found, MS) == []


def test_weka_contexts_are_the_recorded_ones(sample: Trace, tmp_path: Path) -> None:
    path = tmp_path / "replay"
    tracestat.export_replay(sample, path, format="kv-cache-tester", where=SOME)
    prompts = {s.name: [step.prompt for step in s.steps] for s in kv_cache_tester.read(path)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = aiperf_loading.conversations(path, "weka_trace")
    found = [_weka(conversation, prompts[conversation.session_id]) for conversation in built]
    assert differences(sessions_of(sample, HumanGap("cap", 60.0), 64, where=SOME), found, MS) == []
