"""A log that grows is read on from where it ended, and the store is then what a fresh one would be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracestat.errors import TracestatError
from tracestat.ingest import IngestReport, ingest
from tracestat.ingest.logs import reading
from tracestat.store import open_store

ROWS = ("rounds", "tool_calls", "timing_events", "pauses", "calls", "commands", "rejects", "sources", "raw_log_facts")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", "a key of the tests")


def stamp(second: float) -> str:
    return f"2026-03-01T10:{int(second) // 60:02d}:{second % 60:06.3f}Z"


def call(n: int, second: float, *, session: str = "s1") -> bytes:
    block = {"type": "tool_use", "id": f"toolu_{session}_{n}", "name": "Bash", "input": {"command": f"make part{n}"}}
    message = {"id": f"msg_{session}_{n}", "role": "assistant", "model": "claude-opus-4-8", "content": [block]}
    message["usage"] = {"input_tokens": 2, "output_tokens": 10}
    return line({"type": "assistant", "sessionId": session, "timestamp": stamp(second), "message": message})


def result(n: int, second: float, *, session: str = "s1") -> bytes:
    content = [{"type": "tool_result", "tool_use_id": f"toolu_{session}_{n}", "content": "done"}]
    message = {"role": "user", "content": content}
    return line({"type": "user", "sessionId": session, "timestamp": stamp(second), "message": message})


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value | {"uuid": f"u-{value['timestamp']}"}).encode() + b"\n"


def session(n: int, *, name: str = "s1", start: float = 0) -> list[bytes]:
    lines = []
    for i in range(n):
        lines += [call(i, start + 10 * i, session=name), result(i, start + 10 * i + 2.5, session=name)]
    return lines


def content(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Give everything that two stores of the same logs must agree on."""
    with open_store(store) as trace:
        rows = {}
        for table in ROWS:
            frame = trace.sql(f"SELECT * FROM {table}")
            rows[table] = sorted(frame.rows(), key=repr) if table in ("pauses", "calls", "commands") else frame.rows()
        # facts are cut into pieces as they come
        rows["raw_log_facts"] = [(len(rows["raw_log_facts"]) > 0,)]
    return rows


def states(report: IngestReport) -> list[str]:
    return [source.state for source in report.sources]


def test_a_log_becomes_rounds_calls_and_pauses(tmp_path: Path) -> None:
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"".join(session(3)))
    report = ingest([log], tmp_path / "a.duckdb")
    assert report.tables == {"rounds": 3, "tool_calls": 3, "timing_events": 5}
    (source,) = report.sources
    assert (source.rows, source.kept, source.rejected, source.new) == (6, 6, 0, 3)
    with open_store(tmp_path / "a.duckdb") as trace:
        assert trace.sql("SELECT seconds FROM pauses ORDER BY started_at")["seconds"].to_list() == [2.5, 2.5, 2.5]
        assert trace.sql("SELECT DISTINCT developer FROM pauses")["developer"].to_list() == ["local"]


def test_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    lines = session(4)
    log.write_bytes(b"".join(lines[:4]))
    ingest([log], store)
    log.write_bytes(b"".join(lines))
    read: list[bytes] = []
    whole = reading.read_chunk
    monkeypatch.setattr(reading, "read_chunk", lambda *a, **k: (read.append(a[2]), whole(*a, **k))[1])
    report = ingest([log], store)
    assert b"".join(read) == b"".join(lines[4:])
    assert states(report) == ["refreshed"]
    assert (report.sources[0].new, report.sources[0].duplicates) == (2, 2)
    ingest([log], tmp_path / "fresh.duckdb")
    assert content(store) == content(tmp_path / "fresh.duckdb")


def test_an_unchanged_log_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    log.write_bytes(b"".join(session(2)))
    ingest([log], store)
    before = store.stat().st_ino
    monkeypatch.setattr(reading.LogReader, "read", lambda *_, **__: pytest.fail("the log was opened"))
    report = ingest([log], store)
    assert not report.changed
    assert states(report) == ["unchanged"]
    assert store.stat().st_ino == before


def test_a_log_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    log.write_bytes(b"".join(session(2)))
    ingest([log], store)
    log.write_bytes(b"".join(session(4, name="other", start=100)))
    ingest([log], store)
    ingest([log], tmp_path / "fresh.duckdb")
    assert content(store) == content(tmp_path / "fresh.duckdb")


def test_a_log_that_shrank_is_read_from_its_start(tmp_path: Path) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    log.write_bytes(b"".join(session(4)))
    ingest([log], store)
    log.write_bytes(b"".join(session(2)))
    report = ingest([log], store)
    assert report.tables["rounds"] == 2


def test_half_a_last_line_is_no_damage_and_is_read_when_it_is_whole(tmp_path: Path) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    lines = session(2)
    log.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    report = ingest([log], store)
    assert (report.sources[0].rows, report.sources[0].rejected, report.rejected) == (3, 0, 0)
    assert "the last line has no end yet" in (report.sources[0].note or "")
    log.write_bytes(b"".join(lines))
    ingest([log], store)
    ingest([log], tmp_path / "fresh.duckdb")
    assert content(store) == content(tmp_path / "fresh.duckdb")


def test_a_whole_last_line_without_its_newline_counts_once(tmp_path: Path) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    lines = session(2)
    log.write_bytes(b"".join(lines).rstrip(b"\n"))
    report = ingest([log], store)
    assert (report.sources[0].rows, report.tables["timing_events"]) == (4, 3)
    log.write_bytes(b"".join([*lines, call(9, 60)]))
    report = ingest([log], store)
    assert (report.sources[0].rows, report.tables["tool_calls"]) == (5, 3)


def test_damage_is_counted_once_though_the_log_is_read_in_two_goes(tmp_path: Path) -> None:
    log, store = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    lines = session(3)
    log.write_bytes(b"".join([*lines[:2], b"{nothing\n"]))
    ingest([log], store)
    log.write_bytes(b"".join([*lines[:2], b"{nothing\n", *lines[2:], b"[1]\n"]))
    report = ingest([log], store)
    assert (report.sources[0].rejected, report.rejected) == (2, 2)
    with open_store(store) as trace:
        rejects = trace.sql("SELECT line, part, reason FROM rejects ORDER BY line").rows()
    assert rejects == [(3, "line", "not JSON"), (8, "line", "not an object")]


def test_logs_that_come_later_stand_where_a_fresh_store_has_them(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "a.duckdb"
    logs.mkdir()
    (logs / "b.jsonl").write_bytes(b"".join(session(2, name="b", start=300)))
    ingest([logs], store)
    (logs / "a.jsonl").write_bytes(b"".join(session(2, name="a")))
    ingest([logs], store)
    ingest([logs], tmp_path / "fresh.duckdb")
    assert content(store) == content(tmp_path / "fresh.duckdb")


def test_a_log_that_is_gone_stays_in_the_store(tmp_path: Path) -> None:
    one, other, store = tmp_path / "one.jsonl", tmp_path / "other.jsonl", tmp_path / "a.duckdb"
    one.write_bytes(b"".join(session(2, name="one")))
    other.write_bytes(b"".join(session(3, name="other", start=100)))
    ingest([one], store)
    one.unlink()
    report = ingest([other], store)
    assert sorted(states(report)) == ["kept", "new"]
    assert report.tables["rounds"] == 5


def test_a_store_can_be_a_source_of_logs_for_another(tmp_path: Path) -> None:
    log = tmp_path / "one.jsonl"
    log.write_bytes(b"".join(session(2)))
    ingest([log], tmp_path / "a.duckdb")
    ingest([tmp_path / "a.duckdb"], tmp_path / "b.duckdb")
    assert content(tmp_path / "a.duckdb") == content(tmp_path / "b.duckdb")


def test_mostly_damaged_logs_stop_the_ingest(tmp_path: Path) -> None:
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"".join([*session(1), *[b"{half\n"] * 5]))
    with pytest.raises(TracestatError, match=r"5 of 7 lines of the logs cannot be read \(most often: not JSON\)"):
        ingest([log], tmp_path / "a.duckdb")
    assert ingest([log], tmp_path / "a.duckdb", force=True).rejected == 5


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 5000), max_size=4), order=st.randoms(use_true_random=False))
def test_however_the_logs_were_cut_the_store_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], order: Any
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    lines = session(4)
    damaged = [*lines[:3], b"{half\n", *lines[3:], lines[0]]
    whole = b"".join(damaged)
    copy = b"".join([*lines[:4], *session(2, name="s2", start=200)])  # resumed: it begins with rounds of the first
    store = folder / "a.duckdb"
    logs = folder / "logs"
    logs.mkdir()
    for cut in [*sorted(min(c, len(whole)) for c in cuts if c), len(whole)]:
        (logs / "s1.jsonl").write_bytes(whole[:cut])
        if order.random() < 0.5:
            (logs / "s2.jsonl").write_bytes(copy[: order.randrange(len(copy)) or 1])
        with suppress(TracestatError):  # too little to know what it is
            ingest([logs], store, force=True)
    (logs / "s2.jsonl").write_bytes(copy)
    ingest([logs], store, force=True)
    ingest([logs], folder / "fresh.duckdb", force=True)
    assert content(store) == content(folder / "fresh.duckdb")


@pytest.mark.full
def test_many_processes_read_what_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"".join(session(50)))
    ingest([log], tmp_path / "one.duckdb", threads=1)
    monkeypatch.setattr(reading, "_WORTH_A_PROCESS", 1)
    ingest([log], tmp_path / "two.duckdb", threads=2)
    assert content(tmp_path / "one.duckdb") == content(tmp_path / "two.duckdb")


@pytest.mark.parametrize("after", [0.4, 0.9, 1.3])
@pytest.mark.first_case
def test_a_killed_ingest_leaves_the_store_as_it_was(tmp_path: Path, after: float) -> None:
    logs, store = tmp_path / "logs", tmp_path / "a.duckdb"
    logs.mkdir()
    (logs / "s1.jsonl").write_bytes(b"".join(session(2)))
    ingest([logs], store)
    before = content(store)
    (logs / "s2.jsonl").write_bytes(b"".join(session(300, name="s2", start=60)))
    code = "import sys; from tracestat.ingest import ingest; ingest([sys.argv[1]], sys.argv[2])"
    running = subprocess.Popen(
        [sys.executable, "-c", code, str(logs), str(store)], env={**os.environ}, stderr=subprocess.DEVNULL
    )
    time.sleep(after)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with duckdb.connect(str(store), read_only=True) as connection:
        n = connection.execute("SELECT count(*) FROM rounds").fetchone()
    assert n in ((2,), (302,))  # the old store, or the new one, never half of it
    if n == (2,):
        assert content(store) == before
    ingest([logs], store)
    ingest([logs], tmp_path / "fresh.duckdb")
    assert content(store) == content(tmp_path / "fresh.duckdb")
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "a.duckdb", "fresh.duckdb"}


def test_a_store_whose_facts_are_damaged_is_one_line(tmp_path: Path) -> None:
    log, whole = tmp_path / "s1.jsonl", tmp_path / "a.duckdb"
    log.write_bytes(b"".join(session(2)))
    ingest([log], whole)
    log.write_bytes(b"".join(session(3)))
    for damage in (
        "UPDATE raw_log_facts SET facts = 'no zlib'::BLOB",
        "UPDATE raw_logs SET state = '{\"slug\": 5}'",
        'UPDATE raw_logs SET state = \'{"slug": "unheard-of"}\'',
        "UPDATE raw_logs SET rest = '\\x05'::BLOB",
    ):
        store = shutil.copyfile(whole, tmp_path / "b.duckdb")
        with duckdb.connect(str(store)) as connection:
            connection.execute(damage)
        with pytest.raises(TracestatError, match=r"damaged: make it again from the logs|not known: upgrade tracestat"):
            ingest([log], store)
