"""What holds for files of every format: nothing lost silently, no ids of the trace, equal bytes, clear refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.export.replay.made import NAMES, contents, export, four_steps, rows, tokens, waits
from tests.traces import call, event, round_
from tracestat.errors import TracestatError, UsageError
from tracestat.export.replay import writing
from tracestat.store import Trace

StoreOf = Callable[..., Trace]


def single(session: str, at: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    return [round_(session, 0, text=at + 1, events=[event("user_message", at)], **{**tokens(0, 50, 7), **more})]


@pytest.mark.full
def test_sessions_of_one_step(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([*single("a"), *single("b", 9)])
    for form in NAMES:
        written = export(trace, tmp_path / form, form)
        assert (written.counts.sessions, written.counts.steps) == (2, 2)
        assert waits(written) == [0, 0], form


@pytest.mark.parametrize("form", NAMES)
def test_a_trace_of_nothing(trace: Trace, tmp_path: Path, form: str) -> None:
    written = export(trace, tmp_path / "x", form, where="provider = 'none'")
    assert waits(written) == []
    assert "no sessions: nothing to replay" in written.notes
    assert written.path.exists()


def test_what_cannot_be_replayed_is_left_out_whole_and_counted(store_of: StoreOf, tmp_path: Path) -> None:
    unknown = four_steps("u", 1000)
    unknown[2] |= {"output_tokens": None}
    written = export(store_of([*unknown, *four_steps("k")]), tmp_path / "x", "llmservingsim")
    assert (written.left_out, written.counts.sessions, written.counts.steps) == (1, 1, 4)
    assert any(note.startswith("1 session (4 steps) left out: tokens unknown, ") for note in written.notes)


def test_tokens_that_cannot_be_are_left_out_and_stop_nothing(store_of: StoreOf, tmp_path: Path) -> None:
    damaged = []
    for name in ("prefix_tokens", "newly_append_tokens", "output_tokens"):
        for count in (-1, 100_000_001, 2**62, 2**63 - 1):
            session = four_steps(f"{name}{count}", 1000)
            session[2] |= {name: count}
            damaged += session
    written = export(store_of([*damaged, *four_steps("k")]), tmp_path / "x", "dynamo-agentic-mooncake", scale_context=9)
    assert (written.left_out, written.counts.sessions, written.counts.steps) == (12, 1, 4)
    assert any("left out: tokens unknown, negative or above 100,000,000" in note for note in written.notes)


@pytest.mark.full
def test_tokens_of_nothing_become_one_and_are_counted(store_of: StoreOf, tmp_path: Path) -> None:
    (session,) = rows(export(store_of(single("a", **tokens(0, 0, 0))), tmp_path / "x", "llmservingsim").path)
    assert session["sub_requests"] == [{"input_toks": 1, "output_toks": 1, "tool_duration_ns": 0}]
    written = export(store_of(single("a", **tokens(0, 0, 0))), tmp_path / "y", "blis-v2")
    assert (written.counts.prompts_raised, written.counts.outputs_raised) == (1, 1)
    assert "1 prompt and 1 output of 0 tokens written as 1" in written.notes


def test_more_cached_than_the_session_held_is_cut_and_counted(store_of: StoreOf, tmp_path: Path) -> None:
    steps = four_steps()
    steps[1] |= tokens(5000, 200, 30)
    written = export(store_of(steps), tmp_path / "x", "tracelab-csv")
    assert [(row["prefix_len"], row["input_len"]) for row in rows(written.path)][1] == ("1024", "4176")
    assert written.counts.prefixes_cut == 1


@pytest.mark.full
def test_no_name_of_the_trace_is_in_a_file(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of(four_steps("sitzung-ü☃", user="entwickler-é", project="geheim/プロジェクト"))
    for form in NAMES:
        (tmp_path / form).mkdir()
        written = export(trace, tmp_path / form / "x", form, attribution="Ähm: #☃ 'x'", licence="? - [a]: &b *c")
        made = contents(tmp_path / form)
        assert len(made) >= 2
        for name, content in made.items():
            text = content.decode("utf-8")
            assert not any(word in text for word in ("sitzung", "entwickler", "geheim", str(tmp_path))), name
        assert len(waits(written)) == 4


def test_a_header_of_blis_stays_yaml_whatever_the_file_is_called(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of(four_steps())
    trace.shown = "a\nb: [\x07.duckdb"
    export(trace, tmp_path / "x", "blis-v2")
    head = (tmp_path / "x.yaml").read_text().splitlines()
    assert sum(not line.startswith("#") for line in head) == 5
    assert head[0].startswith("# source: a?b: [?.duckdb")


@pytest.mark.full
def test_equal_input_gives_equal_bytes(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([row for n in range(6) for row in (*four_steps(f"s{n}", 10.0 * n), *single(f"t{n}", 7.0 * n))])
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        for form in NAMES:
            export(trace, tmp_path / place / form, form, sessions=5, seed=3, scale_context=500)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(list((tmp_path / "one").iterdir())) == 2 * len(NAMES) + 1


@pytest.mark.full
def test_the_seed_draws_other_sessions_and_the_rest_is_counted(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([row for n in range(12) for row in single(f"t{n}", 7.0 * n, **tokens(0, 100 + n, 5))])
    drawn = set()
    for seed in range(3):
        written = export(trace, tmp_path / f"{seed}", "tracelab-csv", sessions=4, seed=seed)
        lengths = [int(row["input_len"]) for row in rows(written.path)]
        assert len(set(lengths)) == 4
        assert lengths == sorted(lengths), "in the order in which they began"
        assert f"4 sessions drawn with seed {seed}; 8 not" in written.notes
        drawn.add(tuple(lengths))
    assert len(drawn) == 3
    everything = export(trace, tmp_path / "all", "tracelab-csv", sessions=99)
    assert everything.counts.sessions == 12


def test_scaled_contexts_reach_what_was_asked_for(trace: Trace, tmp_path: Path) -> None:
    # its peak is 1230
    written = export(trace, tmp_path / "x", "tracelab-csv", scale_context=615)
    read = [{name: int(row[name]) for name in ("prefix_len", "input_len", "output_len")} for row in rows(written.path)]
    assert [row["prefix_len"] + row["input_len"] for row in read] == [500, 600, 150, 200]
    assert [row["output_len"] for row in read] == [12, 15, 5, 2]
    assert [row["prefix_len"] for row in read] == [0, 500, 64, 155]
    assert any("multiplied by 0.5" in note for note in written.notes)
    small = export(trace, tmp_path / "y", "tracelab-csv", scale_context=12)
    assert min(int(row["input_len"]) for row in rows(small.path)) >= 16
    assert min(int(row["output_len"]) for row in rows(small.path)) >= 1


def test_contexts_of_nothing_have_nothing_to_scale_by(store_of: StoreOf, tmp_path: Path) -> None:
    written = export(store_of(single("a", **tokens(0, 0, 0))), tmp_path / "x", "tracelab-csv", scale_context=500)
    assert [(row["input_len"], row["output_len"]) for row in rows(written.path)] == [("1", "1")]


def test_filters_choose_whole_sessions(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([*four_steps("a"), *four_steps("b", 500_000, provider="codex", user="user_2")])
    written = export(trace, tmp_path / "x", "tracelab-csv", where="provider = 'codex'")
    assert (written.counts.sessions, written.counts.steps) == (1, 4)
    with pytest.raises(UsageError, match="tool_class: whole sessions are chosen"):
        export(trace, tmp_path / "y", "tracelab-csv", where="tool_class = 'shell'")


@pytest.mark.parametrize(
    ("form", "name", "options", "says"),
    [
        ("aiperf-mooncake", "x.csv", {}, "must end in .jsonl for aiperf-mooncake"),
        ("blis-v2", "x.jsonl", {}, "must end in .csv for blis-v2"),
        ("blis-v2", "x.csv", {"block_size": 64}, "--block-size: blis-v2 has no cache blocks"),
        ("aiperf-mooncake", "x.jsonl", {"block_size": 0}, "--block-size 0"),
        ("aiperf-mooncake", "x.jsonl", {"token_ids": True}, "--token-ids: aiperf-mooncake has none"),
        ("aiperf-mooncake", "x.jsonl", {"sessions": 0}, "--sessions 0"),
        ("aiperf-mooncake", "x.jsonl", {"scale_context": -1}, "--scale-context -1"),
        ("aiperf-mooncake", "x.jsonl", {"scale_context": 100_000_001}, "--scale-context 100000001: give at most"),
        ("aiperf-mooncake", "x.jsonl", {"human_gap": "cap:0"}, "--human-gap cap:0"),
        ("aiperf-mooncake", "x.jsonl", {"start": "soon"}, "--start soon"),
        ("kv-cache-tester", "x", {"start": "recorded"}, "cannot say when a session begins"),
        ("kv-cache-tester", "full", {}, "-o full: the folder has files in it"),
        ("kv-cache-tester", "file", {}, "-o file: kv-cache-tester takes a folder"),
        ("kv-cache-tester", "", {}, "give the folder a name of its own"),
        ("kv-cache-tester", "k", {}, "-o k: k.about.json is to stand beside it, and is a folder"),
        ("blis-v2", "y.csv", {}, "-o y.csv: y.yaml is to stand beside it, and is a folder"),
        ("mooncake", "x.jsonl", {}, "--format mooncake: not known; it is one of aiperf-mooncake"),
    ],
)
def test_what_does_not_go_together_is_refused(
    trace: Trace, tmp_path: Path, form: str, name: str, options: dict[str, Any], says: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    (tmp_path / "file").touch()
    (tmp_path / "y.yaml").mkdir()
    (tmp_path / "k.about.json").mkdir()
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=says):
        tracestat.export_replay(trace, tmp_path / name if name else Path(), format=form, **options)
    assert contents(tmp_path) == before


def test_an_empty_folder_may_stand_there(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    assert export(trace, tmp_path / "k", "kv-cache-tester").path.is_dir()


def test_a_folder_that_breaks_off_is_not_there(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        yield "s1.json", b"{}"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "weka_files", broken)
    before = contents(tmp_path)
    with pytest.raises(TracestatError, match=r"k: cannot be written \(No space left on device\)"):
        export(trace, tmp_path / "k", "kv-cache-tester")
    assert contents(tmp_path) == before


def caller(session: str = "p") -> list[dict[str, Any]]:
    return [
        round_(
            session,
            0,
            [call("agent", 2, 62, "Task")],
            events=[event("user_message", 0)],
            **tokens(0, 1000, 20),
        ),
        round_(session, 1, text=65, events=[event("tool_result", 62, tool_call_id="agent")], **tokens(1000, 100, 9)),
    ]


def agent(session: str = "c", begin: float = 12, end: float = 55) -> list[dict[str, Any]]:
    return [
        round_(
            session, 0, [call("x", begin + 3, begin + 8)], events=[event("user_message", begin)], **tokens(0, 500, 10)
        ),
        round_(session, 1, text=end, events=[event("tool_result", begin + 8, tool_call_id="x")], **tokens(500, 60, 10)),
    ]


def test_dynamo_ties_a_sub_agent_to_the_step_that_called_it(store_of: StoreOf, tmp_path: Path) -> None:
    written = export(store_of([*caller(), *agent()]), tmp_path / "x", "dynamo-agentic-mooncake")
    read = {row["request_id"]: row for row in rows(written.path)[1:]}
    assert {row["play_id"] for row in read.values()} == {"s1"}
    assert read["s2-1"]["dependencies"] == [
        {"request_id": "s1-1", "trigger": "completion", "delay_ms": 10_000, "relation": "spawn"}
    ]
    assert read["s2-2"]["dependencies"] == [
        {"request_id": "s2-1", "trigger": "completion", "delay_ms": 5000, "relation": "sequence"}
    ]
    assert read["s1-2"]["dependencies"] == [
        {"request_id": "s1-1", "trigger": "completion", "delay_ms": 60_000, "relation": "sequence"},
        {"request_id": "s2-2", "trigger": "completion", "delay_ms": 0, "relation": "join"},
    ]
    assert (written.subagents, written.linked) == (1, 1)
    assert "sub-agents: 1 session, 1 tied to the step that called them, 0 independent" in written.notes


def test_kv_cache_tester_puts_a_sub_agent_inside_its_caller(store_of: StoreOf, tmp_path: Path) -> None:
    written = export(store_of([*caller(), *agent()]), tmp_path / "x", "kv-cache-tester")
    (body,) = rows(written.path)
    assert [request["type"] for request in body["requests"]] == ["s", "subagent", "s"]
    inner = body["requests"][1]
    assert (inner["t"], inner["agent_id"], inner["status"], inner["tool_use_count"]) == (12, "s2", "completed", 1)
    assert [request["t"] for request in inner["requests"]] == [12, 20]
    assert [request["think_time"] for request in inner["requests"]] == [0, 5]
    assert inner["duration_ms"] == 43_000
    assert body["requests"][2]["t"] == 62
    ids = [i for request in (body["requests"][0], *inner["requests"]) for i in request["hash_ids"]]
    assert not set(body["requests"][0]["hash_ids"]) & set(inner["requests"][0]["hash_ids"])
    assert ids


def test_a_sub_agents_sub_agent_is_a_session_of_its_own_where_only_one_level_can_be_said(
    store_of: StoreOf, tmp_path: Path
) -> None:
    middle = agent()
    middle[0]["tools"][0]["tool_name"] = "Task"
    trace = store_of([*caller(), *middle, *single("g", 16)])
    kv = export(trace, tmp_path / "k", "kv-cache-tester")
    dynamo = export(trace, tmp_path / "d", "dynamo-agentic-mooncake")
    # the grandchild lies in both calls, so who called it is open: it is independent everywhere
    assert (kv.subagents, kv.linked) == (2, 1)
    assert [body["id"] for body in rows(kv.path)] == ["s1", "s3"]
    assert (dynamo.subagents, dynamo.linked) == (2, 1)


@pytest.mark.full
def test_elsewhere_sub_agents_are_independent_and_the_file_says_so(store_of: StoreOf, tmp_path: Path) -> None:
    trace = store_of([*caller(), *agent()])
    for form in ("aiperf-mooncake", "llmservingsim", "blis-v2", "tracelab-csv"):
        written = export(trace, tmp_path / form, form)
        assert (written.counts.sessions, written.subagents, written.linked) == (2, 1, 0), form
        assert "sub-agents: 1 session, all independent: this format cannot tie them to their callers" in written.notes


def test_a_sub_agent_whose_caller_is_left_out_stands_alone(store_of: StoreOf, tmp_path: Path) -> None:
    parent = caller()
    parent[1] |= {"output_tokens": None}
    written = export(store_of([*parent, *agent()]), tmp_path / "x", "dynamo-agentic-mooncake")
    assert (written.left_out, written.subagents, written.linked) == (1, 1, 0)
    assert rows(written.path)[1]["dependencies"] == []


def test_the_command_says_what_it_wrote(capsys: pytest.CaptureFixture[str], store_of: StoreOf, tmp_path: Path) -> None:
    from tracestat.cli import main

    trace = store_of(four_steps())
    out = tmp_path / "out"
    arguments = ["export", "replay", str(trace.path), "--format", "kv-cache-tester", "-o", str(out)]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["steps"] == 4
    assert [file["path"] for file in document["files"]] == ["out", "out.about.json"]
    assert document["files"][0]["bytes"] == sum(len(content) for content in contents(out).values())
    assert main(arguments) == 2
    assert "the folder has files in it" in capsys.readouterr().err
    assert main([*arguments[:-1], "."]) == 2
    assert "-o .: give the folder a name of its own" in capsys.readouterr().err
    assert main([*arguments[:-1], str(tmp_path / "no" / "out")]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert main([*arguments[:4], "blis-v2", "-o", str(tmp_path / "b.csv"), "--human-gap", "drop"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 session, 4 steps as blis-v2" in said
    assert "0.00 h of waits for people (0) by human gap drop, which left out 0.03 h" in said
    assert "--session-mode closed-loop" in said
