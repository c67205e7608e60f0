"""Any trace opens through the cache: read once, found again by path and time, then by content."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.helpers import lines, sample, tables, tracelab_database, tracelab_parquet
from tests.traces import round_
from tracestat.cache import cache_entries, clear_cache
from tracestat.errors import TracestatError
from tracestat.ingest import cached
from tracestat.ingest.cached import cached_store
from tracestat.store import SCHEMA_VERSION, open_store


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(sample()))
    return path


def no_ingest(*_: Any, **__: Any) -> None:
    pytest.fail("the source was read again")


def test_read_once(source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = cached_store(source)
    assert store.parent == folder
    assert len(tables(store)["rounds"]) == 4
    monkeypatch.setattr(cached, "ingest", no_ingest)
    monkeypatch.setattr(cached, "content_hash", no_ingest)
    assert cached_store(source) == store


def test_found_by_content_when_the_path_or_the_time_is_another(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = cached_store(source)
    monkeypatch.setattr(cached, "ingest", no_ingest)
    os.utime(source, (1, 1))
    assert cached_store(source) == store
    assert cached_store(source.rename(tmp_path / "moved.jsonl")) == store


def test_a_changed_source_is_read_again(source: Path) -> None:
    store = cached_store(source)
    source.write_bytes(lines([*sample(), round_("more", 0)]))
    assert len(tables(cached_store(source))["rounds"]) == 5
    assert len(tables(store)["rounds"]) == 4


def test_a_store_is_itself(source: Path, folder: Path) -> None:
    store = cached_store(source)
    assert cached_store(store) == store
    assert len(cache_entries()) == 1


def test_a_newer_schema_is_another_entry(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = cached_store(source)
    monkeypatch.setattr(cached, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    assert cached_store(source) != store


def test_another_developer_is_another_entry(source: Path) -> None:
    store = cached_store(source, developer="ada")
    with open_store(cached_store(source, developer="ben")) as trace:
        assert trace.sql("SELECT DISTINCT \"user\" FROM rounds WHERE provider = 'codex'").item() == "ben"
    assert cached_store(source, developer="ada") == store


def test_a_database_of_someone_else_gets_a_store_beside_it(tmp_path: Path) -> None:
    database = tracelab_database(tmp_path / "released.duckdb", sample())
    before = database.read_bytes()
    with open_store(cached_store(database)) as trace:
        assert trace.sql("SELECT count(*) FROM pauses").item() == 3
    assert database.read_bytes() == before
    assert not (tmp_path / "released.duckdb.wal").exists()


def test_folders(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = tracelab_parquet(tmp_path / "parquet", sample())
    store = cached_store(parquet)
    assert len(tables(store)["rounds"]) == 4
    several = tmp_path / "several"
    several.mkdir()
    source.rename(several / "a.jsonl")
    (several / "b.jsonl").write_bytes(lines([round_("more", 0)]))
    assert len(tables(cached_store(several))["rounds"]) == 5
    (several / "c.jsonl").write_bytes(lines([round_("yet more", 0)]))
    assert len(tables(cached_store(several))["rounds"]) == 6
    monkeypatch.setattr(cached, "ingest", no_ingest)
    assert cached_store(parquet) == store


def test_only_the_owner_may_look(source: Path, folder: Path) -> None:
    cached_store(source)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_the_names_in_it_tell_nothing(source: Path, folder: Path) -> None:
    cached_store(source)
    for path in folder.iterdir():
        assert "a.jsonl" not in path.name
        assert str(source.parent).encode() not in path.read_bytes()


def test_what_cannot_be_read_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(lines(sample()[:1]) + b"bad\n" * 3)
    with pytest.raises(TracestatError, match="3 of 4 rows"):
        cached_store(bad)
    assert list(folder.iterdir()) == []
    with pytest.raises(TracestatError, match=r"^no\.jsonl: no such file or folder$"):
        cached_store(tmp_path / "no.jsonl")


def test_an_entry_that_went_away_is_made_again(source: Path) -> None:
    store = cached_store(source)
    store.unlink()
    assert len(tables(cached_store(source))["rounds"]) == 4


def test_cleared(source: Path, folder: Path) -> None:
    store = cached_store(source)
    (entry,) = clear_cache()
    assert (entry.source, entry.path) == ("a.jsonl", store)
    assert list(folder.iterdir()) == []
    cached_store(source)


@pytest.mark.full
def test_two_processes_at_once(source: Path, folder: Path) -> None:
    source.write_bytes(lines(round_(f"s{i}", 0, text=float(i)) for i in range(2000)))
    code = "import sys; from tracestat.ingest.cached import cached_store; print(cached_store(sys.argv[1]))"
    running = [
        subprocess.Popen([sys.executable, "-c", code, source], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = {process.communicate()[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    assert said == {f"{cached_store(source)}\n"}
    assert sorted({path.suffix for path in folder.iterdir()}) == [".duckdb", ".json", ".stat"]


def test_use_is_noted(source: Path) -> None:
    store = cached_store(source)
    os.utime(store, (1, 1))
    cached_store(source)
    assert time.time() - store.stat().st_mtime < 60


def test_another_recipe_is_another_store(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cached_store(source)
    assert cached_store(source) == first
    monkeypatch.setattr(cached, "_recipe", lambda: "other queries")
    second = cached_store(source)
    assert second != first
    assert second.exists()
