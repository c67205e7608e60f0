-- grain: one row per round from $first to $last
-- keys: round_pk
-- columns: those of a row of TraceLab, but for its two lists
-- invariants: in the order of the store
SELECT round_pk, provider, project, session_id, round_index, round_id, turn_id, model, input_tokens_total,
    prefix_tokens, newly_append_tokens, claude_uncached_input_tokens, claude_cache_creation_input_tokens,
    claude_cache_read_input_tokens, output_tokens, reasoning_output_tokens, current_input_event_count,
    current_user_message_count, current_tool_result_count, current_user_message_chars, current_tool_result_chars,
    current_input_chars, first_input_event_type, trace_key, "user", store
FROM rounds
WHERE round_pk BETWEEN $first AND $last
ORDER BY round_pk
