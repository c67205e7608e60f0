"""The head of documents that are no answer about a trace, and the list of files under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tracestat

if TYPE_CHECKING:
    from tracestat.results import Json, TraceInfo
    from tracestat.store import Trace

__all__ = ["files_document", "plain_head", "trace_info"]


def plain_head(
    command: str, *, trace: TraceInfo | None = None, seed: int = 0, synthetic: bool = False, notes: Sequence[str] = ()
) -> dict[str, Json]:
    """Give the common head where there is no unit, no clock and no choice of rows.

    Examples
    --------
    >>> plain_head("cache_list")["schema"]
    'tracestat.cache_list/1'
    """
    from tracestat.results import as_json

    return {
        "schema": f"tracestat.{command}/1",
        "tracestat": tracestat.__version__,
        "trace": as_json(trace),
        "unit": None,
        "clock": None,
        "by": [],
        "where": None,
        "seed": seed,
        "rows": "all",
        "synthetic": synthetic,
        "notes": list(notes),
        "excluded": {},
    }


def files_document(head: dict[str, Json], files: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """Give the document of a command that writes or lists files."""
    return {**head, "files": list(files)}


def trace_info(trace: Trace) -> TraceInfo:
    """Say which trace a document is about."""
    from tracestat.results import TraceInfo

    return TraceInfo(
        path=trace.shown,
        fingerprint=trace.fingerprint,
        rounds=trace.counts["rounds"],
        tool_calls=trace.counts["tool_calls"],
        rejected=trace.counts["rejected"],
    )
