"""A store for any trace: its own file if it is one, else one made once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from tracestat import cache
from tracestat.errors import TracestatError
from tracestat.ingest.about import ABOUT_ENDING, about_note
from tracestat.ingest.derive import DURATIONS
from tracestat.ingest.detect import Found, find_sources, walk
from tracestat.ingest.readers import content_hash
from tracestat.ingest.run import MEMORY_LIMIT, Progress, ingest
from tracestat.queries import data_path, query_text
from tracestat.store import SCHEMA_VERSION, is_store
from tracestat.user_key import keyed_hash

__all__ = ["cached_store"]


def cached_store(
    path: str | Path | Sequence[Path],
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
    path : str or Path, or sequence of Path
        A store, or any sources of :func:`tracestat.ingest.ingest`. A DuckDB file of someone else is never written to.
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
    places = [Path(path).absolute()] if isinstance(path, str | Path) else [place.absolute() for place in path]
    if len(places) == 1 and places[0].is_file() and is_store(places[0]):
        return places[0]
    options = (SCHEMA_VERSION, _recipe(), developer, force)
    key = _state(places, *options)
    known = cache.find_stat(key)
    if known is not None:
        return known
    found = find_sources(places)
    # raw logs grow: theirs is one store for the place, which is read on; all else is told by its content
    grows = all(source.log is not None for source in found)
    content = _place(places, *options) if grows else _content(found, *options)
    store = cache.find_content(content)
    if store is None or grows:
        draft = cache.draft_path()
        try:
            if store is not None:
                shutil.copyfile(store, draft)
            ingest(
                places,
                draft,
                force=force,
                developer=developer,
                only_named=True,
                progress=progress,
                threads=threads,
                memory_limit=memory_limit,
            )
            cache.forget(content)
            # the folder of a raw log can spell out what somebody works on
            store = cache.keep(draft, content, f"logs/{content[:12]}" if grows else places[0].name)
        finally:
            draft.unlink(missing_ok=True)
    cache.remember(key, content)
    return store


def _recipe() -> str:
    """Name how the duration tables are made: a store made by other queries or classes is another store."""
    parts = [*(query_text(name) for name in DURATIONS), data_path("tool_classes.toml").read_text(encoding="utf-8")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _state(places: Sequence[Path], *options: object) -> str:
    """Name the state of sources without reading them: paths, sizes, times of change, and the options."""
    states = []
    for place in places:
        try:
            log = place.with_name(place.name + ".wal")  # of a DuckDB file
            about = place.with_name(place.name + ABOUT_ENDING)  # says whose data it is
            files = walk(place, []) if place.is_dir() else [place, *(path for path in (log, about) if path.is_file())]
            states += [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files]
        except OSError as error:
            reason = "no such file or folder" if isinstance(error, FileNotFoundError) else error.strerror
            raise TracestatError(f"{place.name}: {reason}") from None
    return keyed_hash(json.dumps([list(map(str, places)), states, list(map(str, options))]), purpose="cache")


def _place(places: Sequence[Path], *options: object) -> str:
    """Name the store of raw logs by where they are."""
    return keyed_hash(json.dumps([list(map(str, places)), list(map(str, options))]), purpose="logs")


def _content(found: list[Found], *options: object) -> str:
    hashes = [content_hash(source) for source in found]
    notes = [about_note(source.place, sha256) for source, sha256 in zip(found, hashes, strict=True)]
    parts = [*hashes, *filter(None, notes), *map(str, options)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
