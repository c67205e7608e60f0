-- grain: one row per timing event of the rounds from $first to $last
-- keys: round_pk, event_index
-- columns: those of an entry of `timing_events`; times as in export_tracelab_calls
-- invariants: in their order within each round
SELECT round_pk, event_type,
    CASE WHEN microsecond("timestamp") % 1000 = 0 THEN strftime("timestamp", '%Y-%m-%dT%H:%M:%S.%gZ')
         ELSE strftime("timestamp", '%Y-%m-%dT%H:%M:%S.%fZ') END AS "timestamp",
    "source", tool_call_id, tool_name, tool_index, result_chars, is_error, content_chars
FROM timing_events
WHERE round_pk BETWEEN $first AND $last
ORDER BY round_pk, event_index NULLS LAST, rowid
