-- the rounds of a DuckDB file in its own order: those of TraceLab's columns that it has
SELECT COLUMNS(lambda name: name IN (
    'round_pk', 'provider', 'project', 'session_id', 'round_index', 'round_id', 'model', 'input_tokens_total',
    'prefix_tokens', 'newly_append_tokens', 'claude_uncached_input_tokens',
    'claude_cache_creation_input_tokens', 'claude_cache_read_input_tokens', 'output_tokens',
    'current_input_event_count', 'current_user_message_count', 'current_tool_result_count',
    'current_user_message_chars', 'current_tool_result_chars', 'current_input_chars', 'first_input_event_type',
    'user', 'store', 'trace_key', 'turn_id', 'reasoning_output_tokens'
))
FROM rounds
