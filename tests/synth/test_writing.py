"""The files: equal for equal arguments, complete or not there, small in memory, refused with one line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import duckdb
import pytest

from tests.synth.reading import rows_of
from tracestat.errors import TracestatError, UsageError
from tracestat.synth import SynthTruth, synth_trace, writing
from tracestat.synth.life import Plan, Round


def test_equal_arguments_give_equal_bytes(tmp_path: Path) -> None:
    first = synth_trace(tmp_path / "a.jsonl.gz", sessions=6, seed=3)
    again = synth_trace(tmp_path / "b.jsonl.gz", sessions=6, seed=3)
    synth_trace(tmp_path / "c.jsonl", sessions=6, seed=3)
    packed = (tmp_path / "a.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "c.jsonl").read_bytes()
    assert first.written == again.written
    # gzip header: no flags, hence no file name, and no time
    assert packed[3:8] == b"\0" * 5


def test_seeds_share_no_id(tmp_path: Path) -> None:
    found = []
    for seed in (0, 1):
        synth_trace(tmp_path / "t.jsonl", sessions=8, seed=seed)
        rows = list(rows_of(tmp_path / "t.jsonl"))
        found.append(
            {row["session_id"] for row in rows}
            | {row["round_id"] for row in rows}
            | {row["user"] for row in rows}
            | {call["tool_call_id"] for row in rows for call in row["tools"]}
        )
    assert not found[0] & found[1]


def test_the_truth_file_is_what_is_returned(tmp_path: Path) -> None:
    truth = synth_trace(tmp_path / "t.jsonl.gz", sessions=5, seed=2, developers=3)
    written = json.loads((tmp_path / "t.truth.json").read_text())
    assert written == json.loads(json.dumps(truth.to_dict()))
    assert written["synthetic"] is True
    assert written["generator"] == {
        "version": writing.VERSION, "seed": 2, "sessions": 5, "developers": 3, "codex_share": 0.34,
    }  # fmt: skip
    assert {"call", "pause", "command"} <= set(written["units"])
    assert truth.developers_written == 3


@pytest.mark.parametrize(("sessions", "expected"), [(1, 1), (3, 3), (60, 24)])
def test_default_number_of_developers(tmp_path: Path, sessions: int, expected: int) -> None:
    truth = synth_trace(tmp_path / "t.jsonl", sessions=sessions)
    assert truth.developers == truth.developers_written == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sessions": 0}, "at least one session"),
        ({"sessions": 1, "seed": -1}, "seed of 0 or more"),
        ({"sessions": 3, "developers": 4}, "at most one per session"),
        ({"sessions": 3, "developers": 0}, "at least 1"),
        ({"sessions": 3, "codex_share": 1.5}, "between 0 and 1"),
    ],
)
def test_bounds(tmp_path: Path, arguments: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        synth_trace(tmp_path / "t.jsonl", **arguments)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["t.json", "t.jsonl.zst", ".jsonl", "t"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\.jsonl or \.jsonl\.gz"):
        synth_trace(tmp_path / name, sessions=1)


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match="cannot be written") as caught:
        synth_trace(tmp_path / "nowhere" / "t.jsonl", sessions=1)
    assert str(tmp_path) not in str(caught.value)


def test_an_interrupted_run_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synth_trace(tmp_path / "t.jsonl", sessions=2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    rows = iter(range(5))

    def stops(plan: Plan, r: Round) -> str:
        if next(rows, None) is None:
            raise KeyboardInterrupt
        return "{}"

    monkeypatch.setattr(writing, "row", stops)
    with pytest.raises(KeyboardInterrupt):
        synth_trace(tmp_path / "t.jsonl", sessions=9, seed=1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_one_provider_alone(tmp_path: Path) -> None:
    truth = synth_trace(tmp_path / "t.jsonl", sessions=4, codex_share=0.0)
    assert truth.written["codex"].rounds == 0
    assert truth.written["codex"].shares()["within_1s"] is None
    assert truth.written["claude"].sessions == 4


@pytest.mark.full
def test_memory_is_that_of_a_few_sessions(tmp_path: Path) -> None:
    synth_trace(tmp_path / "warm.jsonl", sessions=1)
    tracemalloc.start()
    try:
        synth_trace(tmp_path / "t.jsonl", sessions=120)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "t.jsonl").stat().st_size / 2


def test_duckdb_reads_it_with_the_pinned_columns(tmp_path: Path) -> None:
    truth: SynthTruth = synth_trace(tmp_path / "t.jsonl.gz", sessions=12, seed=4)
    columns = {
        "provider": "VARCHAR", "session_id": "VARCHAR", "round_index": "BIGINT", "turn_id": "VARCHAR",
        "input_tokens_total": "BIGINT", "prefix_tokens": "BIGINT", "newly_append_tokens": "BIGINT", "store": "VARCHAR",
        "timing_events": 'STRUCT(event_type VARCHAR, "timestamp" VARCHAR, source VARCHAR, content_chars BIGINT)[]',
        "tools": "STRUCT(tool_call_id VARCHAR, emitted_at VARCHAR, result_at VARCHAR, tool_wall_latency_ms BIGINT, "
        "is_error BOOLEAN, command_exit_code BIGINT, executables VARCHAR[])[]",
    }  # fmt: skip
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT count(*), sum(len(tools)), sum(len(timing_events)), bool_and(store = '.synthetic'), "
            "bool_and(input_tokens_total = prefix_tokens + newly_append_tokens), "
            "count(*) FILTER ((provider = 'codex') <> (turn_id IS NOT NULL)), "
            "bool_and(TRY_CAST(timing_events[1].timestamp AS TIMESTAMP) IS NOT NULL) "
            "FROM read_json(?, format = 'newline_delimited', columns = ?, maximum_object_size = 67108864)",
            [str(tmp_path / "t.jsonl.gz"), columns],
        ).fetchone()
    written = truth.written.values()
    assert rows is not None
    assert rows[:3] == tuple(sum(getattr(w, name) for w in written) for name in ("rounds", "calls", "events"))
    assert rows[3:] == (True, True, 0, True)
