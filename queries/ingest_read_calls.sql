-- the calls of a DuckDB file in its own order: those of TraceLab's columns that it has, under today's or an old name
SELECT COLUMNS(lambda name: name IN (
    'round_pk', 'tool_index', 'tool_name', 'tool_call_id', 'emitted_at', 'result_at', 'tool_wall_latency_ms',
    'tool_internal_latency_ms', 'is_error', 'input_chars', 'result_chars', 'continuation_of_tool_call_id',
    'command_status', 'command_exit_code', 'executables', 'executable_parse_status', 'executable_parse_reason',
    'command_skeleton', 'root_tool_call_id', 'process_state', 'process_exit_code'
))
FROM tool_calls
