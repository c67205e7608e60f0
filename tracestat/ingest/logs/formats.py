"""The formats of raw logs that tracestat reads, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from tracestat.errors import TracestatError
from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.codex import CODEX
from tracestat.ingest.logs.dynamo import DYNAMO
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.kvcache_tester import KVCACHE_TESTER
from tracestat.ingest.logs.llmservingsim import LLMSERVINGSIM
from tracestat.ingest.logs.opencode import OPENCODE
from tracestat.ingest.logs.otel import OTEL

__all__ = ["FORMATS", "format_of"]

FORMATS: Final[tuple[Format, ...]] = (CLAUDE, CODEX, DYNAMO, OTEL, OPENCODE, KVCACHE_TESTER, LLMSERVINGSIM)


def format_of(slug: str) -> Format:
    """Give a format by its slug.

    Raises
    ------
    TracestatError
        There is none of that name.
    """
    found = next((form for form in FORMATS if form.slug == slug), None)
    if found is None:
        raise TracestatError("the store holds raw logs of a format that is not known: upgrade tracestat")
    return found
