-- grain: one row per tool call of the rounds from $first to $last
-- keys: round_pk and the place in it
-- columns: those of an entry of `tools`, and those that only raw logs know; times as TraceLab writes them, in
--   milliseconds, in microseconds where milliseconds would lose some
-- invariants: in the order of the store within each round
SELECT round_pk, tool_index, tool_name, tool_call_id,
    CASE WHEN microsecond(emitted_at) % 1000 = 0 THEN strftime(emitted_at, '%Y-%m-%dT%H:%M:%S.%gZ')
         ELSE strftime(emitted_at, '%Y-%m-%dT%H:%M:%S.%fZ') END AS emitted_at,
    CASE WHEN microsecond(result_at) % 1000 = 0 THEN strftime(result_at, '%Y-%m-%dT%H:%M:%S.%gZ')
         ELSE strftime(result_at, '%Y-%m-%dT%H:%M:%S.%fZ') END AS result_at,
    input_chars, result_chars, tool_wall_latency_ms, tool_internal_latency_ms, is_error,
    continuation_of_tool_call_id, command_status, command_exit_code, executables, executable_parse_status,
    executable_parse_reason, command_skeleton, start_kind, asked_limit_seconds, approval_seconds, permission_mode,
    parallel_group, is_subagent,
    CASE WHEN microsecond(job_ended_at) % 1000 = 0 THEN strftime(job_ended_at, '%Y-%m-%dT%H:%M:%S.%gZ')
         ELSE strftime(job_ended_at, '%Y-%m-%dT%H:%M:%S.%fZ') END AS job_ended_at,
    command_fingerprint
FROM tool_calls
WHERE round_pk BETWEEN $first AND $last
ORDER BY round_pk, rowid
