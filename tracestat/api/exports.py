"""Traces for other tools."""

from __future__ import annotations

from pathlib import Path

from tracestat.api.common import Progress, TraceLike, as_trace
from tracestat.export.tracelab import TracelabExport, write_tracelab

__all__ = ["export_tracelab"]


def export_tracelab(
    trace: TraceLike,
    path: str | Path,
    *,
    licence: str | None = None,
    attribution: str | None = None,
    progress: Progress | None = None,
) -> TracelabExport:
    """Write any trace as rows of TraceLab v0.0.2.

    TraceLab's own tools read the file, and ``tracestat ingest`` makes an equal store of it: the same rounds, calls,
    events and durations. What only raw logs know stands in further keys of the entries of ``tools``. Rows that came
    from a TraceLab release are written as they were there. What was rejected when the trace was read is not in it, and
    what stood beside it closes up (``round_pk`` and ``event_index`` count what there is). ``FILE.about.json`` beside
    it says whose data it is, under which licence; reading the file back keeps that.

    Parameters
    ----------
    trace : Trace, str or Path
        What to write.
    path : str or Path
        ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst``; a file that is there is replaced once the new one is complete.
    licence, attribution : str, optional
        What you know of the data, in place of what is found: a known release is recognised by its SHA-256.
    progress : callable, optional
        Called with (rounds done, rounds in all).

    Returns
    -------
    TracelabExport
        How much was written, and what the file beside it says.

    Raises
    ------
    UsageError
        Another ending; a licence or attribution that is not one line.
    TracestatError
        The trace cannot be read, or the file not be written.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder, tracestat.open() as trace:
    ...     written = tracestat.export_tracelab(trace, f"{folder}/sample.jsonl.zst")
    ...     written.rounds == trace.counts["rounds"]
    True
    """
    return write_tracelab(as_trace(trace), Path(path), licence=licence, attribution=attribution, progress=progress)
