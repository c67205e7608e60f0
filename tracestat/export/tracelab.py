"""A store as a trace in TraceLab's v0.0.2 form, which TraceLab's own tools read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracestat.export.attribution import Attribution, attribution_of, write_about
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
    about : Attribution
        Whose data it is, as the file beside it says.
    notes : tuple of str
        What is not in it, a line each.
    """

    path: Path
    rounds: int
    tool_calls: int
    timing_events: int
    about: Attribution
    notes: tuple[str, ...]


def write_tracelab(
    trace: Trace,
    path: Path,
    *,
    licence: str | None = None,
    attribution: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TracelabExport:
    """Write a store as TraceLab JSON lines, in its own order, a part of it in memory at a time.

    `about_path` of the file says beside it whose data it is.

    Parameters
    ----------
    trace : Trace
        What to write.
    path : Path
        ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst``; replaced once the new file is complete.
    licence, attribution : str, optional
        What the caller knows of the data.
    progress : callable, optional
        Called with (rounds done, rounds in all).

    Returns
    -------
    TracelabExport

    Raises
    ------
    UsageError
        Another ending; a licence or attribution that is not one line.
    TracestatError
        The store cannot be read, or the file not be written.
    """
    about = attribution_of(
        trace, "written as rows of TraceLab v0.0.2 by tracestat", licence=licence, attribution=attribution
    )
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
    notes = _notes(trace.counts["rejected"], rounds)
    write_about(path, about, notes=notes)
    return TracelabExport(path, rounds, calls, events, about, notes)


def _notes(rejected: int, rounds: int) -> tuple[str, ...]:
    left_out = f"{rejected:,} row{'' if rejected == 1 else 's'} that could not be read from the sources not in it"
    return (*([left_out] if rejected else ()), *(() if rounds else ("no rounds: the file is empty",)))
