"""A store as a trace in TraceLab's v0.0.2 form, which TraceLab's own tools read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracestat.export.tracelab_rows import encode_rounds
from tracestat.export.writing import replacing_lines
from tracestat.queries import query_text
from tracestat.store import Trace

__all__ = ["ENDINGS", "TracelabExport", "write_tracelab"]

ENDINGS: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")
# Rounds that are in memory at once: some ten megabytes.
_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class TracelabExport:
    """What was written.

    Attributes
    ----------
    path : Path
        The file.
    rounds, tool_calls, timing_events : int
        Rows, and entries of their two lists.
    """

    path: Path
    rounds: int
    tool_calls: int
    timing_events: int


def write_tracelab(trace: Trace, path: Path, *, progress: Callable[[int, int], None] | None = None) -> TracelabExport:
    """Write a store as TraceLab JSON lines, in its own order, a part of it in memory at a time.

    Parameters
    ----------
    trace : Trace
        What to write.
    path : Path
        ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst``; replaced once the new file is complete.
    progress : callable, optional
        Called with (rounds done, rounds in all).

    Returns
    -------
    TracelabExport

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The store cannot be read, or the file not be written.
    """
    rounds = calls = events = 0
    with replacing_lines(path, ENDINGS) as write:
        for part in trace.run(query_text("export_tracelab_parts"), {"rows": _ROUNDS}).iter_rows(named=True):
            span = {"first": part["first"], "last": part["last"]}
            frames = [trace.run(query_text(f"export_tracelab_{name}"), span) for name in ("rounds", "calls", "events")]
            write(encode_rounds(*frames))
            rounds, calls, events = (
                done + frame.height for done, frame in zip((rounds, calls, events), frames, strict=True)
            )
            if progress is not None:
                progress(rounds, trace.counts["rounds"])
    return TracelabExport(path, rounds, calls, events)
