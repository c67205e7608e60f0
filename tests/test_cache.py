"""The cache keeps what was used last and forgets the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracestat.cache import (
    cache_entries,
    cache_folder,
    clear_cache,
    draft_path,
    evict,
    find_content,
    find_stat,
    keep,
    remember,
)
from tracestat.errors import TracestatError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(content: str, size: int, used_at: float) -> Path:
    draft = draft_path()
    draft.write_bytes(b"x" * size)
    path = keep(draft, content, f"{content}.jsonl")
    remember(f"key{content}", content)
    os.utime(path, (used_at, used_at))
    return path


def test_entries_the_last_used_first() -> None:
    put("a", 10, 100)
    put("b", 20, 300)
    put("c", 30, 200)
    assert [(entry.source, entry.bytes, entry.used_at) for entry in cache_entries()] == [
        ("b.jsonl", 20, 300),
        ("c.jsonl", 30, 200),
        ("a.jsonl", 10, 100),
    ]


def test_the_least_recently_used_go_first(folder: Path) -> None:
    paths = {name: put(name, 10, at) for name, at in (("a", 100), ("b", 300), ("c", 200))}
    assert evict(max_bytes=30) == []
    assert [entry.source for entry in evict(max_bytes=20)] == ["a.jsonl"]
    assert find_stat("keya") is None
    assert find_stat("keyb") == paths["b"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "b.duckdb",
        "b.json",
        "c.duckdb",
        "c.json",
        "keyb.stat",
        "keyc.stat",
    ]


def test_one_is_spared() -> None:
    path = put("a", 10, 100)
    put("b", 10, 300)
    assert [entry.source for entry in evict(spare=path, max_bytes=10)] == ["b.jsonl"]


def test_finding_marks_as_used() -> None:
    path = put("a", 10, 100)
    assert find_content("a") == path
    assert path.stat().st_mtime > 1000


@pytest.mark.parametrize("content", ["", "../a", "none", "a/b", "a\0"])
def test_what_is_not_there_is_not_found(content: str, folder: Path) -> None:
    put("a", 10, 100)
    assert find_content(content) is None
    (folder / "bad.stat").write_text(content)
    assert find_stat("bad") is None
    assert find_stat("nothing") is None


def test_drafts_left_behind_go_after_a_day(folder: Path) -> None:
    put("a", 1, 100)
    (folder / "old.new").write_bytes(b"")
    os.utime(folder / "old.new", (1, 1))
    (folder / "young.new").write_bytes(b"")
    evict()
    assert not (folder / "old.new").exists()
    assert (folder / "young.new").exists()


def test_clearing_takes_all_but_what_is_not_ours(folder: Path) -> None:
    put("a", 1, 100)
    (folder / "notes.txt").write_text("mine")
    assert len(clear_cache()) == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_an_entry_without_its_description(folder: Path) -> None:
    put("a", 1, 100)
    (folder / "a.json").write_text("[")
    assert cache_entries()[0].source == "unknown"


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(TracestatError, match=r"the cache folder cannot be made .*: set TRACESTAT_CACHE"):
        cache_folder()


def test_the_users_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACESTAT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().is_relative_to(tmp_path)
    assert cache_folder().name == "tracestat"
