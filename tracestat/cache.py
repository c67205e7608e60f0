"""The cache of stores made from other sources: what lies in it, where, and what has to go.

Names in it are hashes, so that it tells nobody what was read; only its owner may look. Every step is one rename or
one removal, so that two processes may use it at once.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from tracestat.errors import TracestatError

__all__ = [
    "MAX_BYTES",
    "CacheEntry",
    "cache_entries",
    "cache_folder",
    "clear_cache",
    "draft_path",
    "evict",
    "find_content",
    "find_stat",
    "forget",
    "keep",
    "remember",
]

MAX_BYTES: Final = 10_000_000_000
_STORE: Final = ".duckdb"  # a store, named by its content; used last at its modification time
_ABOUT: Final = ".json"  # what it was made from
_STAT: Final = ".stat"  # which content a path had, by size and time
_DRAFT: Final = ".new"
_DRAFT_SECONDS: Final = 86_400.0  # a draft this old was left behind


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A store in the cache.

    Attributes
    ----------
    source : str
        What it was made from: a base name.
    bytes : int
        Its size.
    used_at : float
        When it was used last, in seconds since 1970.
    path : Path
        Where it is.
    """

    source: str
    bytes: int
    used_at: float
    path: Path


def cache_folder() -> Path:
    """Give the folder of the cache, making it for its owner only.

    Raises
    ------
    TracestatError
        It cannot be made.
    """
    given = os.environ.get("TRACESTAT_CACHE")
    folder = Path(given) if given else Path(platformdirs.user_cache_dir("tracestat"))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise TracestatError(f"the cache folder cannot be made ({error.strerror}): set TRACESTAT_CACHE") from error
    return folder


def find_stat(key: str) -> Path | None:
    """Give the store made of files in this state, if it is there, and mark it as used."""
    try:
        content = (cache_folder() / (key + _STAT)).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return find_content(content)


def find_content(content: str) -> Path | None:
    """Give the store made of this content, if it is there, and mark it as used."""
    if not content.isalnum():
        return None
    path = cache_folder() / (content + _STORE)
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def remember(key: str, content: str) -> None:
    """Note which content files in this state have."""
    _write(cache_folder() / (key + _STAT), content)


def forget(content: str) -> None:
    """Drop what was noted of files that had this content, since it is about to become another."""
    for note in cache_folder().glob(f"*{_STAT}"):
        try:
            if note.read_text(encoding="ascii") == content:
                note.unlink()
        except (OSError, UnicodeDecodeError):
            continue


def keep(draft: Path, content: str, source: str) -> Path:
    """Put a finished store into the cache, and remove the least recently used ones if it has grown too large."""
    path = cache_folder() / (content + _STORE)
    try:
        draft.chmod(0o600)
        draft.replace(path)
    except OSError as error:
        raise TracestatError(f"the cache cannot be written ({error.strerror}): set TRACESTAT_CACHE") from error
    _write(path.with_suffix(_ABOUT), json.dumps({"source": source}))
    evict(spare=path)
    return path


def cache_entries() -> list[CacheEntry]:
    """List the stores in the cache, the most recently used first."""
    entries = []
    for path in cache_folder().glob(f"*{_STORE}"):
        try:
            stat = path.stat()
        except OSError:  # another process removed it
            continue
        entries.append(CacheEntry(_source(path), stat.st_size, stat.st_mtime, path))
    return sorted(entries, key=lambda entry: entry.used_at, reverse=True)


def evict(*, spare: Path | None = None, max_bytes: int = MAX_BYTES) -> list[CacheEntry]:
    """Remove the least recently used stores until the rest is small enough; one may be spared."""
    gone = []
    entries = cache_entries()
    total = sum(entry.bytes for entry in entries)
    for entry in reversed(entries):
        if total <= max_bytes:
            break
        if entry.path != spare:
            _remove(entry.path)
            total -= entry.bytes
            gone.append(entry)
    _sweep()
    return gone


def clear_cache() -> list[CacheEntry]:
    """Remove every store, and all that belongs to them."""
    entries = cache_entries()
    for entry in entries:
        _remove(entry.path)
    _sweep()
    return entries


def draft_path() -> Path:
    """Give a name in the cache that nobody else uses, for a store that is being made."""
    return cache_folder() / f"{os.getpid()}-{secrets.token_hex(8)}{_DRAFT}"


def _sweep() -> None:
    """Remove what belongs to no store any more, and drafts that were left behind."""
    folder = cache_folder()
    stores = {path.stem for path in folder.glob(f"*{_STORE}")}
    for path in folder.iterdir():
        if path.suffix == _STAT:
            try:
                orphan = path.read_text(encoding="ascii") not in stores
            except (OSError, UnicodeDecodeError):
                orphan = True
        elif path.suffix == _ABOUT:
            orphan = path.stem not in stores
        elif path.suffix == _DRAFT:
            orphan = _age(path) > _DRAFT_SECONDS
        else:
            orphan = False
        if orphan:
            path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(_ABOUT).unlink(missing_ok=True)


def _source(path: Path) -> str:
    try:
        about = json.loads(path.with_suffix(_ABOUT).read_text(encoding="utf-8"))
        return str(about["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return "unknown"


def _write(path: Path, text: str) -> None:
    """Write a small file in one step; the cache works without it, only slower."""
    draft = draft_path()
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
