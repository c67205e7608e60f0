-- what a source holds, whatever file it came in: equal for the JSONL, DuckDB and Parquet form of one trace
SELECT
    (SELECT (count(*), bit_xor(hash(round_pk - $first, provider, session_id, round_index, round_id, model, "user")),
             sum(hash(round_pk - $first, turn_id, input_tokens_total, prefix_tokens, output_tokens, trace_key)))
     FROM rounds WHERE round_pk >= $first AND round_pk <= $last) AS rounds_digest,
    (SELECT (count(*), bit_xor(hash(round_pk - $first, tool_index, tool_call_id, emitted_at, result_at, tool_name)),
             sum(hash(round_pk - $first, tool_call_id, command_status, command_skeleton, is_error)))
     FROM tool_calls WHERE round_pk >= $first AND round_pk <= $last) AS calls_digest,
    (SELECT (count(*), bit_xor(hash(round_pk - $first, event_index, event_type, "timestamp")))
     FROM timing_events WHERE round_pk >= $first AND round_pk <= $last) AS events_digest
