"""What a hostile or unlucky user has: huge lines, odd folders, cut archives, reused ids, several writers at once."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.ingest.logs.test_growth import call, content, line, result, session, stamp, states
from tracestat.errors import TracestatError
from tracestat.ingest import IngestReport, ingest
from tracestat.ingest.blocks import LineFile
from tracestat.ingest.logs import reading
from tracestat.store import open_store

UNKNOWN = json.dumps({"type": "brand-new-kind", "n": 1}).encode() + b"\n"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", "a key of the tests")


def logs_in(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl").write_bytes(data)
    return folder


def read(tmp_path: Path, **files: bytes) -> IngestReport:
    return ingest([logs_in(tmp_path / "logs", **files)], tmp_path / "a.duckdb")


def seconds(tmp_path: Path) -> list[float | None]:
    with open_store(tmp_path / "a.duckdb") as trace:
        return trace.sql("SELECT seconds FROM calls ORDER BY started_at, seconds")["seconds"].to_list()


def test_a_log_may_begin_with_many_lines_of_unknown_types(tmp_path: Path) -> None:
    report = read(tmp_path, a=UNKNOWN * 3000 + b"".join(session(2)))
    assert report.tables["rounds"] == 2
    assert "lines of unknown types: 3,000" in (report.sources[0].note or "")


def test_a_log_of_unknown_types_only_is_told_of(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"^1 \.jsonl files in logs are no logs that are known: left out$"):
        report = read(tmp_path, a=b"".join(session(2)), b=UNKNOWN * 5)
    assert len(report.sources) == 1


def test_a_document_may_have_an_object_per_line(tmp_path: Path) -> None:
    requests = [{"t": 10 * n, "input_types": ["tool_result"], "api_time": 1, "hash_ids": [1]} for n in range(3)]
    text = ",\n".join(map(json.dumps, requests))
    (tmp_path / "t.json").write_text(f'{{"id": "t", "block_size": 64, "requests": [\n{text}\n]}}', encoding="utf-8")
    (source,) = ingest([tmp_path / "t.json"], tmp_path / "a.duckdb").sources
    assert (source.format, source.new) == ("kv-cache-tester trace", 3)


def test_empty_logs_are_none(tmp_path: Path) -> None:
    report = read(tmp_path, a=b"".join(session(2)), b=b"", c=b"\n \n\t\n")
    assert (len(report.sources), report.tables["rounds"]) == (1, 2)


def test_files_of_one_name_in_two_folders_are_two_logs(tmp_path: Path) -> None:
    for n, name in enumerate(("one", "two"), start=1):
        logs_in(tmp_path / "logs" / name, s=b"".join(session(n, name=name)))
    report = ingest([tmp_path / "logs"], tmp_path / "a.duckdb")
    assert len({source.path for source in report.sources}) == 2
    assert report.tables["rounds"] == 3


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symlink", "hard link"])
def test_a_log_under_two_names_counts_once(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    folder = logs_in(tmp_path / "logs", s=b"".join(session(3)))
    link(folder / "s.jsonl", folder / "t.jsonl")
    assert ingest([folder], tmp_path / "a.duckdb").tables["tool_calls"] == 3
    with (folder / "s.jsonl").open("ab") as file:
        file.write(b"".join(session(5)[6:]))
    assert ingest([folder], tmp_path / "a.duckdb").tables["tool_calls"] == 5


def test_only_the_logs_of_sub_agents(tmp_path: Path) -> None:
    own = [json.loads(one) | {"isSidechain": True, "agentId": "a1"} for one in session(3)]
    logs_in(tmp_path / "logs" / "s1" / "subagents", **{"agent-a1": b"".join(map(line, own))})
    ingest([tmp_path / "logs"], tmp_path / "a.duckdb")
    with open_store(tmp_path / "a.duckdb") as trace:
        assert trace.sql("SELECT is_subagent FROM tool_calls")["is_subagent"].to_list() == [True] * 3


def test_a_store_may_lie_among_its_logs(tmp_path: Path) -> None:
    folder = logs_in(tmp_path / "logs", s=b"".join(session(3)))
    for state in ("new", "unchanged"):
        assert states(ingest([folder], folder / "a.duckdb")) == [state]


def test_what_a_log_had_before_is_counted_in_rounds(tmp_path: Path) -> None:
    read(tmp_path, s=b"".join(session(3)))
    (again,) = read(tmp_path, s=b"".join(session(3))).sources
    assert (again.new, again.duplicates) == (0, 3)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_compressed_log_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path, codec: str) -> None:
    lines = [call(i, i, session=os.urandom(9).hex()) for i in range(400)]
    packed = gzip.compress(b"".join(lines)) if codec == "gzip" else pa.compress(b"".join(lines), codec, asbytes=True)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "s.jsonl.x").write_bytes(packed[: len(packed) // 2] if codec == "gzip" else packed[:-30])
    report = ingest([tmp_path / "logs"], tmp_path / "a.duckdb")
    assert 100 < report.tables["rounds"] < 400
    assert "what was before that is read" in (report.sources[0].note or "")


def test_an_archive_that_is_damaged_from_its_start_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    folder = logs_in(tmp_path / "logs", s=b"".join(session(3)))
    (folder / "t.jsonl.zst").write_bytes(pa.compress(b"".join(session(900)), "zstd", asbytes=True)[:40])
    with pytest.warns(UserWarning, match=r"^1 files in logs of which no line can be read: left out$"):
        assert ingest([folder], tmp_path / "a.duckdb").tables["rounds"] == 3
    (folder / "s.jsonl").unlink()
    with pytest.raises(TracestatError, match=r"^t\.jsonl\.zst: a file of which no line can be read"):
        ingest([folder], tmp_path / "b.duckdb")


def test_a_compressed_log_that_grows_is_read_again(tmp_path: Path) -> None:
    log, lines = tmp_path / "s.jsonl.gz", session(4)
    log.write_bytes(gzip.compress(b"".join(lines[:4])))
    ingest([log], tmp_path / "a.duckdb")
    with log.open("ab") as file:
        file.write(gzip.compress(b"".join(lines[4:])))
    report = ingest([log], tmp_path / "a.duckdb")
    assert (report.tables["rounds"], report.sources[0].new, report.sources[0].duplicates) == (4, 2, 2)
    ingest([log], tmp_path / "fresh.duckdb")
    assert content(tmp_path / "a.duckdb") == content(tmp_path / "fresh.duckdb")


def test_a_line_beyond_the_longest_is_never_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "s.jsonl"
    long = result(9, 50).replace(b"done", b"x" * 40_000)
    log.write_bytes(b"".join([*session(1), long, *session(2)[2:]]))
    blocks = list(LineFile(log, block_bytes=4096, max_line_bytes=16_384))
    assert [block.too_long for block in blocks].count(True) == 1
    assert max(len(block.data) for block in blocks) <= 4096 + 16_384
    monkeypatch.setattr(reading, "MAX_LOG_LINE_BYTES", 16_384)
    monkeypatch.setattr(reading, "LineFile", lambda *a, **k: LineFile(*a, **k, block_bytes=4096))
    report = ingest([log], tmp_path / "a.duckdb")
    assert (report.tables["rounds"], report.rejected) == (2, 1)


def test_several_large_lines_over_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LARGE_BYTES", 1000)
    monkeypatch.setattr(reading, "_WORTH_A_PROCESS", 1)
    large = [result(9 + n, 50).replace(b"done", b"x" * (5 << 20)) for n in range(6)]
    folder = logs_in(tmp_path / "logs", a=b"".join([*session(3), *large]), b=b"".join([*large, *session(2, name="b")]))
    assert ingest([folder], tmp_path / "a.duckdb", threads=2).tables["rounds"] == 5


def test_clock_steps_and_results_before_their_calls(tmp_path: Path) -> None:
    lines = session(3)
    read(tmp_path, a=b"".join([*lines[4:], *lines[:4]]), b=call(7, 90, session="b") + result(7, 80, session="b"))
    assert seconds(tmp_path) == [2.5, 2.5, 2.5, -10.0]  # kept as it is; results leave it out and count it


def test_ids_that_two_sessions_use_are_two_calls(tmp_path: Path) -> None:
    one = b"".join(session(2, name="one"))
    two = one.replace(b'"sessionId": "one"', b'"sessionId": "two"').replace(b"T10:", b"T11:")
    report = read(tmp_path, a=one, b=two.replace(b"msg_one", b"msg_two"))
    assert report.tables["tool_calls"] == 4


ODD: list[object] = [-1, 10**30, 2**63, 2**63 - 1, 1e308, 0.5, "7", None, True]


def with_tokens(odd: object, *, name: str) -> bytes:
    lines = [json.loads(one) for one in session(20, name=name)]
    for one in lines[::2]:
        one["message"]["usage"] = dict.fromkeys(
            ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), odd
        )
    return b"".join(map(line, lines))


def test_odd_token_counts(tmp_path: Path) -> None:
    report = read(tmp_path, **{f"s{n}": with_tokens(odd, name=f"s{n}") for n, odd in enumerate(ODD)})
    assert [(source.new, source.rejected) for source in report.sources] == [(20, 0)] * len(ODD)
    import tracestat

    with open_store(tmp_path / "a.duckdb") as trace:
        tracestat.summary(trace).to_dict()


YEARS = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+23:59", "-001-01-01T00:00:00Z", "x"]


def test_times_that_are_none_cost_their_line(tmp_path: Path) -> None:
    logs = {}
    for n, year in enumerate(YEARS):
        lines = [json.loads(one) for one in session(3, name=f"s{n}")]
        lines[2]["timestamp"] = year
        logs[f"s{n}"] = b"".join(map(line, lines))
    report = read(tmp_path, **logs)
    assert [(source.new, source.rejected) for source in report.sources] == [(2, 1)] * len(YEARS)


def test_times_with_offsets(tmp_path: Path) -> None:
    there = result(0, 2.5).replace(stamp(2.5).encode(), b"2026-03-02T00:00:04+14:00")
    read(tmp_path, a=call(0, 0) + there)
    assert seconds(tmp_path) == [4.0]


@pytest.mark.full
def test_a_store_that_has_read_on_refreshes_what_another_has(tmp_path: Path) -> None:
    own, team = tmp_path / "own.duckdb", tmp_path / "team.duckdb"
    log = logs_in(tmp_path / "logs", s=b"".join(session(2))) / "s.jsonl"
    ingest([log], own)
    ingest([own], team)
    log.write_bytes(b"".join(session(5)))
    ingest([log], own)
    (report,) = ingest([own], team).sources
    assert (report.state, report.new, report.duplicates) == ("refreshed", 3, 2)
    assert content(team) == content(own)
    assert states(ingest([own], team)) == ["kept"]


def test_somebody_who_came_back_after_weeks(tmp_path: Path) -> None:
    later = result(1, 0).replace(b"2026-03-01T10", b"2026-03-29T10")
    lost = [call(n, n, session="lost") for n in (1, 2)]
    read(tmp_path, a=call(1, 0) + later, b=b"".join([*lost, *session(2, name="b", start=500)]))
    import tracestat

    with open_store(tmp_path / "a.duckdb") as trace:
        made = tracestat.summary(trace, unit="call").to_dict()
        assert max(seconds(tmp_path)[:1], default=0) == 28 * 86_400
    assert made["groups"]


def test_what_another_ingest_wrote_meanwhile_is_not_lost(tmp_path: Path) -> None:
    one, two = (logs_in(tmp_path / name, s=b"".join(session(3, name=name))) for name in ("one", "two"))
    store = tmp_path / "a.duckdb"
    with pytest.raises(TracestatError, match=r"^a\.duckdb: another ingest wrote it meanwhile: run this one again$"):
        ingest([one], store, progress=lambda *_: ingest([two], store) and None)
    with open_store(store) as trace:
        assert trace.counts["rounds"] == 3
    assert ingest([one, two], store).tables["rounds"] == 6


def test_two_ingests_into_one_store_at_once_leave_a_whole_one(tmp_path: Path) -> None:
    places = [logs_in(tmp_path / name, s=b"".join(session(200, name=name))) for name in ("one", "two")]
    store = tmp_path / "a.duckdb"
    command = [sys.executable, "-m", "tracestat", "ingest", "-o", str(store), "--quiet"]
    running = [subprocess.Popen([*command, str(place)], stderr=subprocess.PIPE, text=True) for place in places]
    said = "".join(one.communicate()[1] for one in running)
    n_failed = sum(one.returncode != 0 for one in running)
    assert said.count("another ingest wrote it meanwhile") == n_failed < 2, said
    assert "internal error" not in said
    assert ingest(places, store).tables["rounds"] == 400
    assert not list(tmp_path.glob(".tracestat-*"))


@pytest.mark.full
def test_a_pipe_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    command = [
        sys.executable,
        "-m",
        "tracestat",
        "ingest",
        str(tmp_path / "pipe.jsonl"),
        "-o",
        str(tmp_path / "a.duckdb"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "pipe.jsonl: neither a file nor a folder" in done.stderr
