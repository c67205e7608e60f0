-- the calls of one source of a store, with its place in the source
SELECT
    round_pk - $first AS "row",
    tool_index, tool_name, tool_call_id, emitted_at, result_at, tool_wall_latency_ms, tool_internal_latency_ms,
    is_error, input_chars, result_chars, continuation_of_tool_call_id, command_status, command_exit_code,
    executables, executable_parse_status, executable_parse_reason, command_skeleton, start_kind,
    asked_limit_seconds, approval_seconds, permission_mode, parallel_group, is_subagent, job_ended_at,
    command_fingerprint
FROM tool_calls
WHERE round_pk BETWEEN $first AND $last
