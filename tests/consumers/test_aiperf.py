"""AIPerf's own loaders read our files: waits, tokens and shared blocks are the store's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.consumers import aiperf_loading
from tests.export.replay_readers import by_hand
from tests.export.replay_readers.model import Session, Step, waits


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
