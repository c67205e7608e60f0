"""The tables of a store that follow from its rows: classes, and the three duration tables."""

from __future__ import annotations

from typing import Final

import duckdb
import pyarrow as pa

from tracestat.ingest.taxonomy import classify_executables, classify_tools
from tracestat.queries import query_text

__all__ = ["DURATIONS", "derive"]

# In this order: calls read pauses, commands read both.
DURATIONS: Final = ("pauses", "calls", "commands")


def derive(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the class tables and make the duration tables of the current database.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        With the rows of all sources in the current database.
    """
    names = [row[0] for row in connection.execute(query_text("ingest_tool_names")).fetchall()]
    tools = classify_tools(names)
    _insert(
        connection,
        "ingest_add_tool_classes",
        {
            "tool": pa.array([tool for tool, _, _ in tools], pa.string()),
            "tool_class": pa.array([cls for _, cls, _ in tools], pa.string()),
            "class_rank": pa.array([rank for _, _, rank in tools], pa.int32()),
        },
    )
    lists = [row[0] for row in connection.execute(query_text("ingest_executables")).fetchall()]
    commands = classify_executables(lists)
    _insert(
        connection,
        "ingest_add_command_classes",
        {
            "executables": pa.array([text for text, _ in commands], pa.string()),
            "command_class": pa.array([cls for _, cls in commands], pa.string()),
        },
    )
    for name in DURATIONS:
        connection.execute(query_text(f"ingest_make_{name}"), {"select": query_text(name)})


def _insert(connection: duckdb.DuckDBPyConnection, query: str, columns: dict[str, pa.Array]) -> None:
    connection.register("batch_classes", pa.table(columns))
    try:
        connection.execute(query_text(query))
    finally:
        connection.unregister("batch_classes")
