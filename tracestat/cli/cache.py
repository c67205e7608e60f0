"""``tracestat cache``: stores made once of traces that are none, so that the next question is quick."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.cli.files import describe_file
from tracestat.cli.heads import files_document, plain_head
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_tables
from tracestat.cli.screen import say

if TYPE_CHECKING:
    from tracestat.cache import CacheEntry
    from tracestat.results import Json as Data

__all__ = ["clear_command", "list_command"]


def list_command(
    *,
    json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001  everywhere, so that scripts may always give it
) -> None:
    """List the stores in the cache, the most recently used first.

    They lie in the user's cache folder; TRACESTAT_CACHE names another. The least recently used ones go above 10 GB.
    """
    from tracestat.cache import cache_entries

    entries = cache_entries()
    if json:
        files = [{**describe_file(entry.path, rows=None), **_about(entry)} for entry in entries]
        say(document(files_document(plain_head("cache_list"), files)))
    else:
        _print("Cache", "holds", entries)


def clear_command(
    *,
    json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001  as above
) -> None:
    """Remove every store from the cache; traces are read anew when asked about.

    Nothing but the cache is touched: sources and stores of your own stay.
    """
    from tracestat.cache import clear_cache

    entries = clear_cache()
    if json:
        gone: list[dict[str, Data]] = [
            {"path": entry.path.name, "rows": None, "bytes": entry.bytes, "sha256": None, **_about(entry)}
            for entry in entries
        ]
        say(document(files_document(plain_head("cache_clear"), gone)))
    else:
        _print("Cache cleared", "held", entries)


def _about(entry: CacheEntry) -> dict[str, Data]:
    return {"source": entry.source, "used_at": _moment(entry).isoformat(timespec="seconds")}


def _moment(entry: CacheEntry) -> dt.datetime:
    return dt.datetime.fromtimestamp(entry.used_at, dt.UTC)


def _print(title: str, verb: str, entries: Sequence[CacheEntry]) -> None:
    from tracestat.charts.tables import Column, Table

    columns = (Column("made from", "left", "shorten"), Column("MB"), Column("used last", "left"))
    rows = tuple(
        (entry.source, f"{entry.bytes / 1e6:,.1f}", f"{_moment(entry).astimezone():%Y-%m-%d %H:%M}")
        for entry in entries
    )
    stores = "no store" if not entries else "1 store" if len(entries) == 1 else f"{len(entries):,} stores"
    total = f", {sum(entry.bytes for entry in entries) / 1e6:,.1f} MB" if entries else ""
    print_tables([Table(f"{title}: it {verb} {stores}{total}", columns if rows else (), rows)])
