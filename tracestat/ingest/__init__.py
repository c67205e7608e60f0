"""From any source to one store: detect what it is, read it, build the store, and report what became of every row."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracestat.ingest.report import IngestReport, SourceReport
    from tracestat.ingest.run import ingest

__all__ = ["IngestReport", "SourceReport", "ingest"]

# loaded when first used: a process that only reads lines needs none of them
_HOME = {"IngestReport": "report", "SourceReport": "report", "ingest": "run"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tracestat.ingest' has no attribute {name!r}")
    return getattr(import_module(f"tracestat.ingest.{_HOME[name]}"), name)
