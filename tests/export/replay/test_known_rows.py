"""Every format's rows of a session that was worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.export.replay.made import NAMES, TEN_HOURS, export, four_steps, rows, waits
from tracestat.store import Trace

StoreOf = Callable[..., Trace]


def test_aiperf_holds_what_is_added_and_the_delay_before(trace: Trace, tmp_path: Path) -> None:
    written = export(trace, tmp_path / "a", "aiperf-mooncake")
    assert rows(written.path) == [
        {"session_id": "s1", "input_length": 1000, "output_length": 24, "hash_ids": [1, 2]},
        {"session_id": "s1", "delay": 10_000, "input_length": 176, "output_length": 30, "hash_ids": [3]},
        {"session_id": "s1", "delay": 60_000, "input_length": 1, "output_length": 10, "hash_ids": [4]},
        {"session_id": "s1", "delay": 36_000_000, "input_length": 1, "output_length": 5, "hash_ids": [5]},
    ]
    # 1230 + 1 for 300, then 1241 + 1 for 400
    assert (written.counts.longer, written.counts.extra_tokens) == (2, 931 + 842)
    assert written.counts.prompt_tokens == 2900


def test_aiperf_has_a_timestamp_only_where_sessions_begin_as_recorded(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([*four_steps("late", 50_000), *four_steps("early", 8_000)])
    for start, stamps in (("zero", [None, None]), ("recorded", [0, 42_000_000])):
        written = export(trace, tmp_path / start, "aiperf-mooncake", start=start)
        firsts = [row for row in rows(written.path) if "delay" not in row]
        assert [row.get("timestamp") for row in firsts] == stamps
        assert [row["session_id"] for row in firsts] == ["s1", "s2"]


def test_dynamo_keeps_tool_and_human_time_apart(trace: Trace, tmp_path: Path) -> None:
    head, *read = rows(export(trace, tmp_path / "d", "dynamo-agentic-mooncake").path)
    assert (head["schema"], head["version"], head["block_size"]) == ("dynamo.agentic_mooncake", 2, 64)
    assert head["hash_id_scope"] == "local"
    assert read[0]["dependencies"] == []
    assert [row["dependencies"][0] for row in read[1:]] == [
        {"request_id": f"s1-{step}", "trigger": "completion", "delay_ms": delay, "relation": "sequence"}
        for step, delay in ((1, 10_000), (2, 60_000), (3, 36_000_000))
    ]
    assert [row["tool_wait_ms"] for row in read] == [0, 10_000, 0, 36_000_000]
    assert [row["human_wait_ms"] for row in read] == [0, 0, 60_000, 0]
    assert [(row["input_length"], row["output_length"]) for row in read] == [
        (1000, 24),
        (1200, 30),
        (300, 10),
        (400, 5),
    ]
    # 15 whole blocks of the 1000 are kept, then 2 of the 128, then the 4 whole ones of 300 that 310 cover
    assert [row["hash_ids"] for row in read] == [
        [*range(1, 17)],
        [*range(1, 16), *range(17, 21)],
        [1, 2, 21, 22, 23],
        [1, 2, 21, 22, 24, 25, 26],
    ]
    assert {(row["play_id"], row["session_id"], row["not_before_ms"], row["model"]) for row in read} == {
        ("s1", "s1", 0, "model-1")
    }


def test_kv_cache_tester_has_a_file_per_session_with_whole_blocks(trace: Trace, tmp_path: Path) -> None:
    written = export(trace, tmp_path / "k", "kv-cache-tester")
    assert [path.name for path in written.path.iterdir()] == ["s1.json"]
    (body,) = rows(written.path)
    assert set(body) == {"id", "models", "block_size", "hash_id_scope", "requests", "totals"}
    assert (body["id"], body["models"], body["block_size"]) == ("s1", ["model-1"], 64)
    read = body["requests"]
    assert [row["think_time"] for row in read] == [0, 10, 60, TEN_HOURS]
    assert [row["api_time"] for row in read] == [2, 3, 3, 4]
    assert [row["t"] for row in read] == [0, 12, 75, 36_078]
    assert [(row["in"], row["out"]) for row in read] == [(1000, 24), (1200, 30), (300, 10), (400, 5)]
    assert [row["hash_ids"] for row in read] == [
        [*range(1, 16)],
        [*range(1, 19)],
        [1, 2, 19, 20],
        [1, 2, 19, 20, 21, 22],
    ]
    assert [row["input_types"] for row in read] == [["text"], ["tool_result"], ["text"], ["tool_result"]]
    assert [row["stop"] for row in read] == ["tool_use", "end_turn", "tool_use", "end_turn"]
    assert {row["type"] for row in read} == {"s"}


def test_llmservingsim_has_the_pause_after(trace: Trace, tmp_path: Path) -> None:
    (session,) = rows(export(trace, tmp_path / "l", "llmservingsim").path)
    assert session == {
        "session_id": "s1",
        "arrival_time_ns": 0,
        "sub_requests": [
            {"input_toks": 1000, "output_toks": 24, "tool_duration_ns": 10 * 10**9},
            {"input_toks": 1200, "output_toks": 30, "tool_duration_ns": 60 * 10**9},
            {"input_toks": 300, "output_toks": 10, "tool_duration_ns": TEN_HOURS * 10**9},
            {"input_toks": 400, "output_toks": 5, "tool_duration_ns": 0},
        ],
    }


def test_llmservingsim_ids_of_tokens_reach_into_the_output_before(trace: Trace, tmp_path: Path) -> None:
    (session,) = rows(export(trace, tmp_path / "l", "llmservingsim", token_ids=True).path)
    parts = session["sub_requests"]
    context: list[int] = []
    for part, cached in zip(parts, (0, 1000, 128, 310), strict=True):
        ids, said = part["input_tok_ids"], part["output_tok_ids"]
        assert (len(ids), len(said)) == (part["input_toks"], part["output_toks"])
        assert ids[:cached] == context[:cached]
        assert not set(ids[cached:]) & set(context)
        context = ids + said
    everything = [i for part in parts for i in part["output_tok_ids"]]
    assert len(set(everything)) == len(everything)


def test_blis_has_whole_microseconds_before_and_begins_anew_after_a_compaction(trace: Trace, tmp_path: Path) -> None:
    written = export(trace, tmp_path / "b", "blis-v2")
    read = rows(written.path)
    assert len(read[0]) == 29
    assert [row["think_time_us"] for row in read] == ["0", "10000000", "60000000", "36000000000"]
    assert [row["input_tokens"] for row in read] == ["1000", "176", "0", "90"]
    assert [row["input_tokens_reset"] for row in read] == ["", "", "300", ""]
    assert [row["output_tokens"] for row in read] == ["24", "30", "10", "5"]
    assert [row["arrival_time_us"] for row in read] == ["0", "12000000", "75000000", "36078000000"]
    assert [(row["request_id"], row["round_index"], row["session_id"], row["model"]) for row in read] == [
        (str(step), str(step), "s1", "") for step in range(4)
    ]
    head = (tmp_path / "b.yaml").read_text().splitlines()
    assert "session_context_growth: accumulate" in head
    assert "trace_version: 2" in head
    assert any(line.startswith("# licence: ") for line in head)
    assert written.counts.longer == 0


def test_tracelab_has_the_pause_after_and_what_the_cache_does_not_hold(trace: Trace, tmp_path: Path) -> None:
    written = export(trace, tmp_path / "t", "tracelab-csv")
    assert written.path.read_text().splitlines() == [
        "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms",
        "s1,0,0,1000,24,10000",
        "s1,1,1000,200,30,60000",
        "s1,2,128,172,10,36000000",
        "s1,3,310,90,5,0",
    ]
    timed = export(trace, tmp_path / "u", "tracelab-csv", start="recorded")
    assert timed.path.read_text().splitlines()[:2] == [
        "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len",
        "s1,1000,24,0,0,10000,0",
    ]


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize(("human_gap", "person"), [("cap:60", 60), ("cap:3.5", 3.5), ("keep", 100), ("drop", 0)])
def test_only_a_persons_time_is_cut(trace: Trace, tmp_path: Path, form: str, human_gap: str, person: float) -> None:
    written = export(trace, tmp_path / "x", form, human_gap=human_gap)
    # a microsecond: BLIS has no pause of 0
    assert sorted(waits(written))[1:] == pytest.approx(sorted((person, 10, TEN_HOURS)), abs=2e-6)
    assert written.counts.tool_us == (TEN_HOURS + 10) * 10**6
    assert written.counts.human_us == person * 10**6
    assert written.counts.human_cut_us == (100 - person) * 10**6


@pytest.mark.parametrize("form", NAMES)
def test_pauses_stand_on_the_row_that_the_format_says(trace: Trace, tmp_path: Path, form: str) -> None:
    after = form in ("llmservingsim", "tracelab-csv")
    expected: list[float] = [10, 60, TEN_HOURS, 0] if after else [0, 10, 60, TEN_HOURS]
    assert waits(export(trace, tmp_path / "x", form)) == expected


def test_blis_writes_a_pause_of_nothing_as_one_microsecond(trace: Trace, tmp_path: Path) -> None:
    assert [row["think_time_us"] for row in rows(export(trace, tmp_path / "b", "blis-v2", human_gap="drop").path)] == [
        "0",
        "10000000",
        "1",
        "36000000000",
    ]


@pytest.mark.parametrize("form", NAMES)
def test_the_file_about_it_speaks_of_the_file(trace: Trace, tmp_path: Path, form: str) -> None:
    written = export(trace, tmp_path / "x", form, licence="CC-BY-4.0", attribution="the Zürich group")
    about: dict[str, Any] = json.loads(written.beside[-1].read_text(encoding="utf-8"))
    assert written.beside[-1].name == f"{written.path.name}.about.json"
    assert (about["licence"], about["attribution"]) == ("CC-BY-4.0", "the Zürich group")
    assert about["sha256"] == written.sha256
    notes = " ".join(about["notes"])
    assert "10.00 h of tool pauses (2), never capped" in notes
    assert "by human gap cap:60, which left out 0.01 h" in notes
    if form == "kv-cache-tester":
        assert "--max-delay 36000" in notes
