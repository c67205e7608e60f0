"""TraceLab rows made of a store, read back, give an equal store; rows of a release are written as they were."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracestat
from tests.export.trips import assert_equal, rows_of, store_of_tables, there_and_back
from tests.ingest.helpers import lines, sample, tracelab_database
from tests.traces import call, event, round_, write
from tracestat.errors import TracestatError, UsageError
from tracestat.export import tracelab
from tracestat.ingest import ingest
from tracestat.queries import data_path
from tracestat.store import open_store

AT = dt.datetime(2026, 3, 2, 12, 0, 0, 250_000)
LATER = AT + dt.timedelta(seconds=3)


@pytest.fixture(params=["sample", "release"])
def released(request: pytest.FixtureRequest) -> Path:
    """The bundled trace, and the real one where it is."""
    if request.param == "sample":
        return data_path("sample.jsonl.gz")
    path: Path = request.getfixturevalue("real_trace")
    return path


def test_rows_of_tracelab_are_written_as_they_were(released: Path, tmp_path: Path) -> None:
    """Nothing may differ, not even the order of keys: every byte is the same."""
    ingest([released], tmp_path / "a.duckdb")
    back = there_and_back(tmp_path / "a.duckdb", ending=".jsonl.gz")
    original = gzip.decompress(released.read_bytes()).splitlines()
    written = gzip.decompress((tmp_path / "a-written.jsonl.gz").read_bytes()).splitlines()
    assert len(written) == len(original)
    for line, before in zip(written, original, strict=True):
        assert line == before
    assert_equal(tmp_path / "a.duckdb", back)


@pytest.mark.full
def test_keys_that_a_release_leaves_out_stay_out(tmp_path: Path) -> None:
    rows = sample()
    del rows[1]["store"]
    rows[2]["turn_id"] = None
    store = tmp_path / "a.duckdb"
    ingest([write(tmp_path / "a.jsonl", rows)], store)
    assert_equal(store, there_and_back(store))
    claude, unknown, codex, poll = rows_of(tmp_path / "a-written.jsonl")
    assert (unknown["project"], "store" in unknown, codex["turn_id"]) == (None, False, None)
    assert ("project" in claude, "project" in codex) == (True, False)
    assert ("turn_id" in claude, "turn_id" in codex) == (False, True)
    assert ("user" in claude, "user" in codex) == (True, False)
    assert claude["claude_cache_read_input_tokens"] is None
    bash, read = claude["tools"]
    assert bash["executable_parse_reason"] is None
    assert not {"executables", "command_status", "start_kind", "is_subagent"} & read.keys()
    assert read["result_at"] is read["is_error"] is None
    (tool,) = poll["tools"]
    assert tool["command_exit_code"] == -1073741819
    assert not {"asked_limit_seconds", "command_skeleton"} & tool.keys()
    assert [sorted(e) for e in claude["timing_events"][:2]] == [
        ["content_chars", "event_type", "source", "timestamp"],
        ["content_chars", "event_type", "source", "timestamp"],
    ]


@pytest.mark.full
def test_a_release_in_another_form_gives_the_same_rows(tmp_path: Path) -> None:
    ingest([write(tmp_path / "a.jsonl", sample())], tmp_path / "a.duckdb")
    ingest([tracelab_database(tmp_path / "release.duckdb", sample())], tmp_path / "b.duckdb")
    for name in "ab":
        with open_store(tmp_path / f"{name}.duckdb") as trace:
            tracestat.export_tracelab(trace, tmp_path / f"{name}.out.jsonl")
    assert (tmp_path / "a.out.jsonl").read_bytes() == (tmp_path / "b.out.jsonl").read_bytes()


def round_row(place: int = 0, **more: Any) -> dict[str, Any]:
    row = {"row": place, "provider": "claude", "session_id": "s", "round_index": place, "round_id": f"r{place}"}
    return row | more


def call_row(place: int = 0, index: int = 0, **more: Any) -> dict[str, Any]:
    row = {"row": place, "tool_index": index, "tool_name": "Bash", "tool_call_id": f"call_{place}_{index}"}
    return row | {"emitted_at": AT, "result_at": LATER, "start_kind": "emission"} | more


RAW = {"start_kind": "emission", "is_subagent": False, "parallel_group": 0, "permission_mode": "plan"}


OF_ANY_KIND: list[dict[str, Any]] = [
    {"start_kind": None},
    {"start_kind": "false"},
    {"start_kind": "end-minus-reported", "approval_seconds": 0.1 + 0.2},
    {"asked_limit_seconds": 120.0},
    # a yield whose limit the log does not tell, though the time would fit one
    {"command_status": "running", "tool_internal_latency_ms": 10_002},
    {"command_status": "running", "tool_internal_latency_ms": 10_002, "asked_limit_seconds": 10.0},
    {"command_status": "running", "tool_internal_latency_ms": 10_002, "asked_limit_seconds": 9.5},
    {"start_kind": None, "command_status": "running", "tool_internal_latency_ms": 10_002},
    {"is_subagent": True},
    {"is_subagent": False},
    {"parallel_group": 0},
    {"permission_mode": "default"},
    {"job_ended_at": LATER + dt.timedelta(microseconds=1)},
    {"command_fingerprint": "0123456789abcdef"},
    RAW | {"command_status": "timeout", "command_exit_code": 124, "asked_limit_seconds": 3.0},
    RAW | {"command_status": "refused", "is_error": True},
    RAW | {"command_status": "background", "job_ended_at": LATER},
    # a wall time that does not follow from the two times
    {"tool_wall_latency_ms": 7},
    {"result_at": None},
    {"emitted_at": AT.replace(microsecond=1)},
    {"emitted_at": dt.datetime(1, 1, 1), "result_at": dt.datetime(1, 1, 1, 0, 0, 0, 999_999)},
    {"executables": [], "executable_parse_status": "success", "command_skeleton": ""},
    {"executable_parse_reason": "dynamic"},
    {"tool_name": None, "tool_index": None},
    {"tool_name": 'a "b"\\\n\u2028\x00\x1b🙂', "command_skeleton": "</script>"},
]


def test_a_call_of_any_kind_comes_back(tmp_path: Path) -> None:
    n = len(OF_ANY_KIND)
    rounds = [round_row(place, provider="claude" if place < n else "codex") for place in range(n + 1)]
    events = [
        one
        for place in range(n)
        for one in (
            {"row": place, "event_index": 1, "event_type": "text", "source": "x", "timestamp": AT},
            {"row": place, "event_index": 2, "event_type": "tool_call", "source": None, "timestamp": AT},
            {
                "row": place, "event_index": 3, "event_type": None, "timestamp": LATER, "is_error": False,
                "tool_index": 1,
            },
        )
    ]  # fmt: skip
    calls = [
        one for place, facts in enumerate(OF_ANY_KIND) for one in (call_row(place, 0, **facts), call_row(place, 1))
    ]
    store = store_of_tables(tmp_path / "a.duckdb", rounds, [*calls, call_row(n, 0)], events)
    assert_equal(store, there_and_back(store))
    *first, last = rows_of(tmp_path / "a-written.jsonl")
    for row in first:
        assert not {"start_kind", "asked_limit_seconds", "is_subagent", "job_ended_at"} & row["tools"][1].keys()
    assert len(last["tools"][0]) == 10


def test_times_have_milliseconds_and_microseconds_only_where_there_are_some(tmp_path: Path) -> None:
    calls = [
        call_row(0, 0, result_at=AT.replace(microsecond=0)),
        call_row(0, 1, result_at=AT.replace(microsecond=250_001)),
    ]
    store = store_of_tables(tmp_path / "a.duckdb", [round_row()], calls)
    there_and_back(store)
    (row,) = rows_of(tmp_path / "a-written.jsonl")
    assert [tool["emitted_at"] for tool in row["tools"]] == ["2026-03-02T12:00:00.250Z"] * 2
    assert [tool["result_at"] for tool in row["tools"]] == ["2026-03-02T12:00:00.000Z", "2026-03-02T12:00:00.250001Z"]


words = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
whole = st.none() | st.integers(-(2**40), 2**40)
flags = st.none() | st.booleans()
times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)) | st.just(AT)
numbers = st.none() | st.floats(-1e18, 1e18) | st.sampled_from([0.0, 10.0, 5e-324])
status = st.none() | st.sampled_from(["running", "finished", "aborted", "timeout", "refused", "background", "?"])
kinds = st.sampled_from([None, "emission", "real", "rebuilt", "false", "end-minus-reported"])
a_round = st.fixed_dictionaries(
    {"provider": st.sampled_from(["claude", "codex", "x"]), "session_id": st.sampled_from("ab")},
    optional={
        "project": words,
        "turn_id": words,
        "model": words,
        "user": words,
        "store": words,
        "trace_key": words,
        "first_input_event_type": words,
        "input_tokens_total": whole,
        "output_tokens": whole,
        "claude_cache_read_input_tokens": whole,
    },
)
a_call = st.fixed_dictionaries(
    {"emitted_at": times, "start_kind": kinds, "tool_call_id": st.sampled_from(["c1", "c2"])},
    optional={
        "tool_name": words | st.sampled_from(["Bash", "exec_command", "write_stdin"]),
        "tool_index": whole,
        "result_at": st.none() | times,
        "tool_wall_latency_ms": whole,
        "tool_internal_latency_ms": st.none() | st.sampled_from([0, 1_001, 10_002, 30_150]),
        "is_error": flags,
        "continuation_of_tool_call_id": st.sampled_from([None, "c1"]),
        "command_status": status,
        "command_exit_code": st.none() | st.integers(-(2**63), 2**63 - 1),
        "executables": st.none() | st.lists(st.sampled_from(["git", "cd", "custom_7", "é"]), max_size=2),
        "executable_parse_status": words,
        "command_skeleton": words,
        "asked_limit_seconds": numbers,
        "approval_seconds": numbers,
        "permission_mode": words,
        "parallel_group": whole,
        "is_subagent": flags,
        "job_ended_at": st.none() | times,
        "command_fingerprint": words,
    },
)
an_event = st.fixed_dictionaries(
    {"timestamp": times},
    optional={
        "event_type": words | st.sampled_from(["text", "tool_call", "tool_result", "user_message"]),
        "source": words,
        "tool_call_id": words,
        "tool_name": words,
        "tool_index": whole,
        "is_error": flags,
        "result_chars": whole,
        "content_chars": whole,
    },
)


@settings(max_examples=10, deadline=None)  # each makes two stores
@given(
    st.lists(st.tuples(a_round, st.lists(a_call, max_size=4), st.lists(an_event, max_size=3)), min_size=1, max_size=12)
)
def test_odd_values_come_back(
    tmp_path_factory: pytest.TempPathFactory, trace: list[tuple[dict[str, Any], list[Any], list[Any]]]
) -> None:
    rounds = [{"row": i, "round_index": i, "round_id": f"r{i}", **one} for i, (one, _, _) in enumerate(trace)]
    calls = [{"row": i, **one} for i, (_, some, _) in enumerate(trace) for one in some]
    events = [
        {"row": i, "event_index": j, **one} for i, (*_, some) in enumerate(trace) for j, one in enumerate(some, 1)
    ]
    store = store_of_tables(tmp_path_factory.mktemp("odd") / "a.duckdb", rounds, calls, events)
    assert_equal(store, there_and_back(store))


def test_rows_without_the_extra_keys_are_still_what_tracelab_implies(tmp_path: Path) -> None:
    """The round trip must not be bought with another reading of TraceLab's own rows."""
    ingest([write(tmp_path / "a.jsonl", sample())], tmp_path / "a.duckdb")
    with open_store(tmp_path / "a.duckdb") as trace:
        found = trace.sql("SELECT start_kind, asked_limit_seconds, is_subagent FROM tool_calls").rows()
    assert found == [("emission", None, None)] * 2 + [("emission", 10.0, None), ("emission", None, None)]


@pytest.mark.full
def test_several_sources_are_written_in_the_order_of_the_store(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", sample())
    write(tmp_path / "two.jsonl", [round_("later", i, [call(f"x{i}", 1, 2)], text=0.5) for i in range(3)])
    store = tmp_path / "a.duckdb"
    ingest([tmp_path / "two.jsonl", tmp_path / "one.jsonl"], store)
    assert_equal(store, there_and_back(store))
    rows = [row["round_id"] for row in rows_of(tmp_path / "a-written.jsonl")]
    assert rows[:3] == ["round_later_0", "round_later_1", "round_later_2"]


@pytest.mark.full
def test_parts_of_the_store_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracelab, "_ROUNDS", 7)
    rows = [round_("s", i, [call(f"c{i}", i, i + 1)], text=i, events=[event("text", i)]) for i in range(50)]
    store = tmp_path / "a.duckdb"
    ingest([write(tmp_path / "a.jsonl", rows)], store)
    seen: list[tuple[int, int]] = []
    with open_store(store) as trace:
        written = tracestat.export_tracelab(trace, tmp_path / "b.jsonl", progress=lambda *now: seen.append(now))
    assert (written.rounds, written.tool_calls, written.timing_events) == (50, 50, 150)
    assert seen == [(min(7 * k, 50), 50) for k in range(1, 9)]
    assert [row["round_index"] for row in rows_of(tmp_path / "b.jsonl")] == list(range(50))
    assert_equal(store, there_and_back(store))


@pytest.mark.full
def test_what_was_rejected_is_left_out_and_the_rest_closes_up(tmp_path: Path) -> None:
    rows = sample()
    rows[0]["timing_events"].insert(1, {"event_type": "text"})
    rows[0]["tools"].insert(0, {"tool_name": "Read"})
    ingested = tmp_path / "a.duckdb"
    (tmp_path / "a.jsonl").write_bytes(b'{"no": "round"}\n' + lines(rows))
    ingest([tmp_path / "a.jsonl"], ingested)
    with open_store(ingested) as trace:
        assert trace.counts["rejected"] == 3
    clean = tmp_path / "clean.duckdb"
    ingest([write(tmp_path / "clean.jsonl", sample())], clean)
    assert_equal(clean, there_and_back(ingested))


@pytest.mark.full
def test_synthetic_rows_stay_marked(tmp_path: Path) -> None:
    with tracestat.open() as trace:
        tracestat.export_tracelab(trace, tmp_path / "a.jsonl")
    with tracestat.open(tmp_path / "a.jsonl") as back:
        assert back.synthetic


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
@pytest.mark.first_case
def test_equal_stores_give_equal_files(tmp_path: Path, ending: str) -> None:
    store = tmp_path / "a.duckdb"
    ingest([write(tmp_path / "a.jsonl", sample())], store)
    assert_equal(store, there_and_back(store, ending=ending))
    there_and_back(store)
    with open_store(store) as trace:
        tracestat.export_tracelab(trace, tmp_path / f"again{ending}")
    assert (tmp_path / f"again{ending}").read_bytes() == (tmp_path / f"a-written{ending}").read_bytes()


@pytest.mark.full
def test_a_builder_that_infers_types_reads_it(tmp_path: Path) -> None:
    """TraceLab makes its DuckDB so: one inferring pass, then the lists taken apart."""
    calls = [call_row(0, 0, **RAW, asked_limit_seconds=2.5), call_row(1, 0, start_kind=None, job_ended_at=LATER)]
    events = [
        {
            "row": 0,
            "event_index": 1,
            "event_type": "tool_result",
            "timestamp": AT,
            "tool_call_id": "c",
            "is_error": True,
        },
        {"row": 1, "event_index": 1, "event_type": "tool_call", "timestamp": AT.replace(microsecond=7)},
    ]
    store = store_of_tables(tmp_path / "a.duckdb", [round_row(0), round_row(1)], calls, events)
    there_and_back(store)
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE raw AS SELECT row_number() OVER () AS round_pk, * FROM read_json(?, "
            "format = 'newline_delimited', sample_size = -1, maximum_object_size = 67108864)",
            [str(tmp_path / "a-written.jsonl")],
        )
        tools = con.execute(
            "SELECT round_pk, t.tool_name, t.emitted_at::VARCHAR, t.tool_wall_latency_ms, t.is_error FROM "
            "(SELECT round_pk, unnest(tools) AS t FROM raw)"
        ).fetchall()
        assert [(pk, name) for pk, name, *_ in tools] == [(1, "Bash"), (2, "Bash")]
        times = con.execute(
            "SELECT TRY_CAST(replace(replace(CAST(e.timestamp AS VARCHAR), 'T', ' '), 'Z', '') AS TIMESTAMP) FROM "
            "(SELECT unnest(timing_events) AS e FROM raw)"
        ).fetchall()
    assert times == [(AT,), (AT.replace(microsecond=7),)]


def test_a_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tracelab, "encode_rounds", full)
    with tracestat.open() as trace, pytest.raises(TracestatError, match=r"^out\.jsonl: .*No space left"):
        tracestat.export_tracelab(trace, target)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert target.read_text() == "old"


def test_another_ending_is_a_usage_error(tmp_path: Path) -> None:
    with tracestat.open() as trace, pytest.raises(UsageError, match="must end in"):
        tracestat.export_tracelab(trace, tmp_path / "out.parquet")
