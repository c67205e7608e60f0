"""The formats of raw logs that tracestat reads, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from tracestat.ingest.logs.format import Format

__all__ = ["FORMATS", "format_of"]

FORMATS: Final[tuple[Format, ...]] = ()


def format_of(slug: str) -> Format:
    """Give a format by its slug."""
    return next(form for form in FORMATS if form.slug == slug)
