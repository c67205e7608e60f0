"""The readers on files typed by hand: what they say, and what a consumer would refuse or misread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.export.replay_readers import (
    aiperf_mooncake,
    blis_v2,
    by_hand,
    dynamo_agentic_mooncake,
    kv_cache_tester,
    llmservingsim,
    tracelab_csv,
)
from tests.export.replay_readers.model import ReplayError, Session, shift_waits
from tests.export.replay_readers.store import differences


def test_every_format_says_the_same(tmp_path: Path) -> None:
    found = by_hand.write(tmp_path)
    for name, due in by_hand.SAID.items():
        assert found[name] == due, name
    # BLIS: a compacted prompt is all new to it, so the third step's new tokens are the prompt's
    assert [step.new for step in found["blis-v2"][0].steps] == [1000, 512, 600]
    for sessions in found.values():
        assert [[s.output for s in session.steps] for session in sessions] == [[24, 10, 5], [1]]
        assert [s.prompt for s in sessions[0].steps[:2]] == [1000, 1536]
        assert [s.after for s in sessions[0].steps] == [36000.0, 61.5, 0.0]
        assert [s.before for s in sessions[0].steps] == [0.0, 36000.0, 61.5]


def test_a_shifted_wait_is_a_difference(tmp_path: Path) -> None:
    for name, sessions in by_hand.write(tmp_path).items():
        assert differences(sessions, sessions, 0.0) == []
        shifted = [shift_waits(session) for session in sessions]
        assert differences(sessions, shifted, 0.001), name


def _jsonl(read: Callable[[Path], list[Session]], text: str) -> Callable[[Path, str, str], list[Session]]:
    def changed(folder: Path, old: str, new: str) -> list[Session]:
        assert old in text
        path = folder / "file"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return read(path)

    return changed


AIPERF = _jsonl(aiperf_mooncake.read, by_hand.AIPERF)
DYNAMO = _jsonl(dynamo_agentic_mooncake.read, by_hand.DYNAMO)
LLM = _jsonl(llmservingsim.read, by_hand.LLMSERVINGSIM)
TRACELAB = _jsonl(tracelab_csv.read, by_hand.TRACELAB)


@pytest.mark.parametrize(
    ("changed", "old", "new", "says"),
    [
        (AIPERF, '"session_id": "s2"', '"session_id": "s2", "delay": 0', "unknown"),
        (AIPERF, '"session_id": "s2"', '"session_id": "s2", "timestamp": 0', "some have none"),
        (AIPERF, '"delay": 36000000, ', "", "keys missing"),
        (AIPERF, '"delay": 61500', '"delay": 61500, "kind": "human"', "unknown"),
        (AIPERF, '"delay": 61500', '"delay": 61500.5', "no integer"),
        (AIPERF, '"delay": 61500', '"delay": -1', "no integer"),
        (AIPERF, '"delay": 61500', '"delay": NaN', "NaN"),
        (AIPERF, "[1, 2]", "[1]", "2 are due"),
        (AIPERF, "[3]", "[1]", "is not new"),
        (AIPERF, "[3]", "[2]", "one id is one block"),
        (AIPERF, "[7]", "[4]", "is not new"),
        (DYNAMO, "[7]", "[6]", "one id is one block"),
        (DYNAMO, "[1, 3, 4]", "[1, 2, 4]", "one id is one block"),
        (AIPERF, '"output_length": 5', '"output_length": 0', "at least 1"),
        (DYNAMO, '"version": 2', '"version": 1', "header"),
        (DYNAMO, '"request_id": "s1.1", "play_id"', '"request_id": "s1.2", "play_id"', "two requests"),
        (DYNAMO, '[{"request_id": "s1.2"', '[{"request_id": "s1.9"', "not in the file"),
        (DYNAMO, '[{"request_id": "s1.2"', '[{"request_id": "s1.1"', "does not follow"),
        (DYNAMO, '"trigger": "completion"', '"trigger": "dispatch"', "does not follow"),
        (DYNAMO, '"not_before_ms": 0, ', "", "keys missing"),
        (DYNAMO, '"play_id": "s1"', '"play_id": "s1", "licence": ""', "unknown"),
        (DYNAMO, '"play_id": "s1"', '"play_id": "s1", "tool_wait_ms": 0', "missing"),
        (DYNAMO, '"play_id": "s1"', '"play_id": "s1", "tool_wait_ms": 0, "human_wait_ms": 9', "in all"),
        (LLM, '"tool_duration_ns": 0}]}', '"tool_duration_ns": 5}]}', "no one waits"),
        (LLM, "61500000000", "61500000000.5", "no integer"),
        (LLM, '"session_id": "s2"', '"session_id": "s1"', "two sessions"),
        (LLM, '"output_toks": 24', '"output_toks": 24, "human": 0', "unknown"),
        (LLM, '"input_toks": 64', '"input_toks": 64, "input_tok_ids": [1]', "1 token ids"),
        (TRACELAB, "s1,2,100,500,5,0", "s1,2,100,500,5,7", "no one waits"),
        (TRACELAB, "s1,2,", "s1,3,", "rounds"),
        (TRACELAB, "s1,1,1024", "s1,1,1025", "of a context of 1024"),
        (TRACELAB, "tool_wait_after_ms", "tool_wait_ms", "header"),
        (TRACELAB, "36000000", "inf", "no duration"),
        (TRACELAB, "512,10", "512.0,10", "no count"),
    ],
)
def test_what_a_consumer_refuses(
    changed: Callable[[Path, str, str], list[Session]], old: str, new: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(ReplayError, match=says):
        changed(tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"t": 36002.5', '"t": 36000.0', "think_time"),
        ('"think_time": 61.5', '"think_time": 61.4', "think_time"),
        ('"hash_id_scope": "local"', '"hash_id_scope": "global"', "global"),
        ('"hash_id_scope": "local"', '"hash_id_scope": "local", "licence": "x"', "unknown"),
        ('"api_time": 0.5', '"api_time": 0.5, "kind": "tool"', "unknown"),
        ('"models": ["m"]', '"models": []', "models"),
        (", 15], ", "], ", "15 are due"),
    ],
)
def test_what_aiperf_or_the_tester_refuses(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = by_hand.KV_CACHE_TESTER["s1.json"]
    assert old in text
    (tmp_path / "s1.json").write_text(text.replace(old, new, 1))
    with pytest.raises(ReplayError, match=says):
        kv_cache_tester.read(tmp_path)


def test_the_folder_of_the_tester_holds_sessions_only(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="no session"):
        kv_cache_tester.read(tmp_path)
    (tmp_path / "s1.json").write_text(by_hand.KV_CACHE_TESTER["s1.json"])
    (tmp_path / "README").write_text("x")
    with pytest.raises(ReplayError, match="README"):
        kv_cache_tester.read(tmp_path)


def test_a_sub_agent_is_a_session_of_its_parent(tmp_path: Path) -> None:
    trace = json.loads(by_hand.KV_CACHE_TESTER["s1.json"])
    inner = json.loads(by_hand.KV_CACHE_TESTER["s2.json"])["requests"]
    inner[0] |= {"t": 3.0, "hash_ids": [99]}
    agent = {
        "t": 3.0,
        "type": "subagent",
        "agent_id": "a1",
        "subagent_type": "",
        "status": "completed",
        "models": ["m"],
    }
    trace["requests"].insert(1, agent | {"requests": inner})
    (tmp_path / "s1.json").write_text(json.dumps(trace))
    parent, child = kv_cache_tester.read(tmp_path)
    assert parent == by_hand.SAID["kv-cache-tester"][0]
    assert child.parent == ("s1", 1)
    assert [step.prompt for step in child.steps] == [64]
    trace["requests"].insert(0, trace["requests"].pop(1))
    (tmp_path / "s1.json").write_text(json.dumps(trace))
    with pytest.raises(ReplayError, match="before any request"):
        kv_cache_tester.read(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("mode: generated", "licence: none", "refuses this line"),
        ("mode: generated", "mode: generated\nmode: real", "refuses this line"),
        ("time_unit: us", "time_unit: ms", "microseconds"),
        ("session_context_growth: accumulate", "", "whole prompts"),
        (",36000000000,", ",0,", "not recorded"),
        (",36000000000,", ",-5,", "not a count"),
        (",36000000000,", ",3.6e10,", "not a count"),
        ("1,tracestat,,,s1,1", "1,tracestat,,,s1,2", "rounds"),
        ("1,tracestat,,,s1,1", "0,tracestat,,,s1,1", "twice"),
        ("think_time_us,", "think_us,", "columns"),
        (",ok,,,61500000,600", ",ok,,,61500000", "values for"),
    ],
)
def test_what_blis_refuses(old: str, new: str, says: str, tmp_path: Path) -> None:
    texts = {"header": by_hand.BLIS_HEADER, "data": by_hand.BLIS_DATA}
    assert any(old in text for text in texts.values())
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace(old, new, 1))
    with pytest.raises(ReplayError, match=says):
        blis_v2.read(tmp_path / "header", tmp_path / "data")
