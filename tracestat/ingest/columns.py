"""The columns of a trace: TraceLab's names and types, pinned once for every reader.

A reader gives Arrow tables of exactly these columns; the store is created with the same ones (see
``queries/ingest_tables.sql``). Types never depend on what a file happens to hold.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

__all__ = [
    "BOOLEAN",
    "CALL_COLUMNS",
    "CALL_EXTRAS",
    "EVENT_COLUMNS",
    "INTEGER",
    "NAMES",
    "REQUIRED",
    "ROUND_COLUMNS",
    "SECONDS",
    "TEXT",
    "TEXTS",
    "TIME",
]

TEXT: Final = pa.string()
TEXTS: Final = pa.list_(pa.string())
INTEGER: Final = pa.int64()
BOOLEAN: Final = pa.bool_()
SECONDS: Final = pa.float64()
TIME: Final = pa.timestamp("us")  # naive UTC

ROUND_COLUMNS: Final[dict[str, pa.DataType]] = {
    "provider": TEXT,
    "project": TEXT,
    "session_id": TEXT,
    "round_index": INTEGER,
    "round_id": TEXT,
    "model": TEXT,
    "input_tokens_total": INTEGER,
    "prefix_tokens": INTEGER,
    "newly_append_tokens": INTEGER,
    "claude_uncached_input_tokens": INTEGER,
    "claude_cache_creation_input_tokens": INTEGER,
    "claude_cache_read_input_tokens": INTEGER,
    "output_tokens": INTEGER,
    "current_input_event_count": INTEGER,
    "current_user_message_count": INTEGER,
    "current_tool_result_count": INTEGER,
    "current_user_message_chars": INTEGER,
    "current_tool_result_chars": INTEGER,
    "current_input_chars": INTEGER,
    "first_input_event_type": TEXT,
    "user": TEXT,
    "store": TEXT,
    "trace_key": TEXT,
    "turn_id": TEXT,
    "reasoning_output_tokens": INTEGER,
}

CALL_COLUMNS: Final[dict[str, pa.DataType]] = {
    "tool_index": INTEGER,
    "tool_name": TEXT,
    "tool_call_id": TEXT,
    "emitted_at": TIME,
    "result_at": TIME,
    "tool_wall_latency_ms": INTEGER,
    "tool_internal_latency_ms": INTEGER,
    "is_error": BOOLEAN,
    "input_chars": INTEGER,
    "result_chars": INTEGER,
    "continuation_of_tool_call_id": TEXT,
    "command_status": TEXT,
    "command_exit_code": INTEGER,
    "executables": TEXTS,
    "executable_parse_status": TEXT,
    "executable_parse_reason": TEXT,
    "command_skeleton": TEXT,
}

# What raw logs know beyond TraceLab; a TraceLab row has a start kind, and a limit when its command was yielded. JSON
# lines made of a store say the rest (see tracestat.ingest.extras).
CALL_EXTRAS: Final[dict[str, pa.DataType]] = {
    "start_kind": TEXT,
    "asked_limit_seconds": SECONDS,
    "approval_seconds": SECONDS,
    "permission_mode": TEXT,
    "parallel_group": INTEGER,
    "is_subagent": BOOLEAN,
    "job_ended_at": TIME,
    "command_fingerprint": TEXT,
}

EVENT_COLUMNS: Final[dict[str, pa.DataType]] = {
    "event_index": INTEGER,
    "event_type": TEXT,
    "source": TEXT,
    "timestamp": TIME,
    "tool_call_id": TEXT,
    "tool_index": INTEGER,
    "tool_name": TEXT,
    "is_error": BOOLEAN,
    "result_chars": INTEGER,
    "content_chars": INTEGER,
}

# A row without one of these cannot be placed in a trace and is rejected.
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "round": ("provider", "session_id", "round_index", "round_id"),
    "call": ("tool_call_id", "emitted_at"),
    "event": ("timestamp",),
}

# How an error names the type that was expected.
NAMES: Final[dict[pa.DataType, str]] = {
    TEXT: "text",
    TEXTS: "a list of texts",
    INTEGER: "a whole number",
    BOOLEAN: "true or false",
    TIME: "a time",
    SECONDS: "a number",
}
