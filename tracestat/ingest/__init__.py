"""From any source to one store: detect what it is, read it, build the store, and report what became of every row."""

from __future__ import annotations

from tracestat.ingest.report import IngestReport, SourceReport
from tracestat.ingest.run import ingest

__all__ = ["IngestReport", "SourceReport", "ingest"]
