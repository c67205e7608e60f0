-- grain: one row per tool call
-- keys: (row, tool_index)
-- columns: those of a call that a table can tell, with TraceLab's names (tracestat.ingest.batch.CALLS)
-- invariants: tool_wall_latency_ms is cut to whole milliseconds towards the past
SELECT "row", tool_index, tool AS tool_name, id AS tool_call_id, make_timestamp(start_us) AS emitted_at,
    make_timestamp(end_us) AS result_at,
    (end_us - start_us - ((end_us - start_us) % 1000 + 1000) % 1000) // 1000 AS tool_wall_latency_ms,
    is_error, status AS command_status, executables, parse_status AS executable_parse_status,
    parse_reason AS executable_parse_reason, skeleton AS command_skeleton, start_kind,
    asked_limit AS asked_limit_seconds, fingerprint AS command_fingerprint
FROM mapped_call
ORDER BY "row", tool_index
