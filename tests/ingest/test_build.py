"""A build that does not end well leaves the old store as it was, and nothing beside it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.ingest.helpers import ingested, lines, sample, tables
from tests.traces import round_
from tracestat.errors import TracestatError
from tracestat.ingest import build, ingest
from tracestat.ingest.build import StoreWriter, remove_leftovers
from tracestat.store import open_store


@pytest.mark.full
def test_a_killed_build_leaves_the_old_store(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    before = out.read_bytes()
    code = """
import os, sys, signal
from tracestat.ingest import build, ingest
build.derive = lambda connection: os.kill(os.getpid(), signal.SIGKILL)
ingest([sys.argv[1]], sys.argv[2])
"""
    (tmp_path / "more.jsonl").write_bytes(lines([round_("more", 0)]))
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / "more.jsonl", out], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert out.read_bytes() == before
    assert list(tmp_path.glob(".tracestat-*"))  # nobody was left to remove it
    ingest([tmp_path / "more.jsonl"], out)  # the next build does
    assert not list(tmp_path.glob(".tracestat-*"))
    with open_store(out) as trace:
        assert trace.counts["rounds"] == 5


def test_the_draft_of_a_build_that_still_runs_stays(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path / "out.duckdb", memory_limit="256MB", threads=1)
    with writer:
        (draft,) = tmp_path.glob(".tracestat-*.tmp")
        remove_leftovers(tmp_path)
        assert draft.exists()
    assert not list(tmp_path.iterdir())


class BoomError(Exception):
    pass


@pytest.mark.parametrize("where", ["derive", "_replace", "gather"])
@pytest.mark.parametrize("error", [BoomError(), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
@pytest.mark.first_case
def test_whatever_stops_it(where: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    before = out.read_bytes()
    (tmp_path / "more.jsonl").write_bytes(lines([round_("more", 0)]))

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(build, where, fail)
    with pytest.raises(type(error)):
        ingest([tmp_path / "more.jsonl"], out)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more.jsonl", "out.duckdb", "source.jsonl"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        duckdb.IOException("IO Error: Could not write file: No space left on device"),
    ],
    ids=["ours", "DuckDB's"],
)
def test_disk_full(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(build, "derive", fail)
    with pytest.raises(
        TracestatError, match=r"^out\.duckdb: no space left on the disk: free some, or choose another -o$"
    ):
        ingested(tmp_path, lines(sample()))
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]


@pytest.mark.full
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(lines(round_(f"s{i}", 0, text=1.0) for i in range(3000)))
    code = """
import resource, signal, sys
from tracestat.errors import TracestatError
from tracestat.ingest import ingest
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    ingest([sys.argv[1]], sys.argv[2])
except TracestatError as error:
    print(error)
"""
    out = tmp_path / "out.duckdb"
    done = subprocess.run([sys.executable, "-c", code, source, out], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("out.duckdb could not be written")
    assert str(tmp_path) not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(sample()))
    with pytest.raises(TracestatError, match=r"^the folder for out\.duckdb does not exist: make it first$"):
        ingest([tmp_path / "a.jsonl"], tmp_path / "no" / "out.duckdb")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_to_write(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(sample()))
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    with pytest.raises(TracestatError, match=r"out\.duckdb cannot be written there \(Permission denied\)"):
        ingest([tmp_path / "a.jsonl"], folder / "out.duckdb")


def test_too_little_memory(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(round_(f"s{i}", 0, text=1.0) for i in range(3000)))
    with pytest.raises(TracestatError, match="memory limit is too small"):
        ingest([tmp_path / "a.jsonl"], tmp_path / "out.duckdb", memory_limit="1MB")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_store_that_is_open_elsewhere_is_replaced_all_the_same(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    with open_store(out) as old:
        ingested(tmp_path, lines([*sample(), round_("more", 0)]))
        with open_store(out) as new:
            assert (old.counts["rounds"], new.counts["rounds"]) == (4, 5)
            assert old.sql("SELECT count(*) FROM rounds").item() == 4
            assert new.sql("SELECT count(*) FROM rounds").item() == 5


def test_the_mode_of_the_old_file_stays(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    out.chmod(0o640)
    ingested(tmp_path, lines([round_("other", 0)]))
    assert out.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.duckdb"
    link.symlink_to(tmp_path / "real" / "store.duckdb")
    (tmp_path / "a.jsonl").write_bytes(lines(sample()))
    ingest([tmp_path / "a.jsonl"], link)
    assert link.is_symlink()
    assert len(tables(tmp_path / "real" / "store.duckdb")["rounds"]) == 4


def test_the_file_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    _, out = ingested(tmp_path, lines(sample()))
    assert str(tmp_path).encode() not in out.read_bytes()


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    content = lines(sample())
    ingested(tmp_path, content, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(content), len(content))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(threads: int, tmp_path: Path) -> None:
    content = lines(round_(f"s{i}", 0, text=float(i)) for i in range(500))
    _, out = ingested(tmp_path, content, threads=threads)
    assert [row[0] for row in tables(out)["rounds"]] == list(range(1, 501))
    assert [row[4] for row in tables(out)["rounds"]] == [f"claude:s{i}" for i in range(500)]


def test_interrupted_by_the_user(tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(lines(sample()) * 20_000)
    code = """
import sys
from tracestat.ingest import ingest
print("begun", flush=True)
ingest([sys.argv[1]], sys.argv[2])
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, source, tmp_path / "out.duckdb"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(500):
            if list(tmp_path.glob(".tracestat-*.tmp")):
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]
