"""A store for any trace: its own file if it is one, else one made once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tracestat import cache
from tracestat.errors import TracestatError
from tracestat.ingest.derive import DURATIONS
from tracestat.ingest.detect import Found, find_sources, walk
from tracestat.ingest.readers import content_hash
from tracestat.ingest.run import MEMORY_LIMIT, Progress, ingest
from tracestat.queries import data_path, query_text
from tracestat.store import SCHEMA_VERSION, is_store
from tracestat.user_key import keyed_hash

__all__ = ["cached_store"]


def cached_store(
    path: str | Path,
    *,
    force: bool = False,
    developer: str | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> Path:
    """Give the store of a trace.

    Parameters
    ----------
    path : str or Path
        A store, or any source of :func:`tracestat.ingest.ingest`. A DuckDB file of someone else is never written to.
    force, developer, progress, threads, memory_limit
        As for :func:`~tracestat.ingest.ingest`.

    Returns
    -------
    Path
        The path itself if it is a store; else a store in the cache, found by path, size and time of change, then by
        content, and made if neither is there.

    Raises
    ------
    TracestatError
        There is no trace, or neither it nor the cache can be used.
    """
    place = Path(path).absolute()
    if place.is_file() and is_store(place):
        return place
    options = (SCHEMA_VERSION, _recipe(), developer, force)
    key = _state(place, *options)
    known = cache.find_stat(key)
    if known is not None:
        return known
    found = find_sources([place])
    content = _content(found, *options)
    store = cache.find_content(content)
    if store is None:
        draft = cache.draft_path()
        try:
            ingest(
                [place],
                draft,
                force=force,
                developer=developer,
                progress=progress,
                threads=threads,
                memory_limit=memory_limit,
            )
            store = cache.keep(draft, content, place.name)
        finally:
            draft.unlink(missing_ok=True)
    cache.remember(key, content)
    return store


def _recipe() -> str:
    """Name how the duration tables are made: a store made by other queries or classes is another store."""
    parts = [*(query_text(name) for name in DURATIONS), data_path("tool_classes.toml").read_text(encoding="utf-8")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _state(place: Path, *options: object) -> str:
    """Name the state of a source without reading it: paths, sizes, times of change, and the options."""
    try:
        log = place.with_name(place.name + ".wal")  # of a DuckDB file
        files = walk(place) if place.is_dir() else [place, log] if log.is_file() else [place]
        states = [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files]
    except OSError as error:
        reason = "no such file or folder" if isinstance(error, FileNotFoundError) else error.strerror
        raise TracestatError(f"{place.name}: {reason}") from None
    return keyed_hash(json.dumps([str(place), states, list(map(str, options))]), purpose="cache")


def _content(found: list[Found], *options: object) -> str:
    parts = [*(content_hash(source) for source in found), *map(str, options)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
