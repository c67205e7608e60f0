"""Any plain table of tool calls or of requests: a mapping says which column serves for what."""

from __future__ import annotations

from tracestat.ingest.mapped.mapping import Mapping, load_mapping
from tracestat.ingest.mapped.reader import MappedTable, describe, read_mapped

__all__ = ["MappedTable", "Mapping", "describe", "load_mapping", "read_mapped"]
