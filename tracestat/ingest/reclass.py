"""Give the duration tables the classes of a user's own class file, for one connection, without a new ingest.

The store is not touched: temporary copies of the same names stand in front of its tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.ingest.taxonomy import classify_executables, classify_tools, load_taxonomy
from tracestat.queries import query_text

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["reclass"]


def reclass(trace: Trace, path: Path) -> None:
    """Put the classes of a class file in place of those found at ingest.

    The key call of a pause with several calls stays the one chosen at ingest; only its classes change.

    Parameters
    ----------
    trace : Trace
        An open trace.
    path : Path
        A class file like the shipped ``tool_classes.toml``.

    Raises
    ------
    TracestatError
        The file cannot be read or is no class file.
    """
    taxonomy = load_taxonomy(path)
    tools = classify_tools(trace.run(query_text("distinct_tools"))["tool"].to_list(), taxonomy)
    lists = classify_executables(trace.run(query_text("distinct_executables"))["executables"].to_list(), taxonomy)
    trace.run(query_text("own_tool_classes"), {"tool": [t[0] for t in tools], "tool_class": [t[1] for t in tools]})
    trace.run(
        query_text("own_command_classes"),
        {"executables": [t[0] for t in lists], "command_class": [t[1] for t in lists]},
    )
    for table in ("pauses", "calls", "commands"):
        trace.run(query_text(f"own_{table}"))
