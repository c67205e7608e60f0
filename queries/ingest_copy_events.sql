-- the timing events of one source of a store, with its place in the source
SELECT
    round_pk - $first AS "row",
    event_index, event_type, "source", "timestamp", tool_call_id, tool_index, tool_name, is_error, result_chars,
    content_chars
FROM timing_events
WHERE round_pk BETWEEN $first AND $last
