-- grain: one row per event
-- keys: (row, event_index)
-- columns: those of an event that a table can tell, with TraceLab's names (tracestat.ingest.batch.EVENTS)
-- invariants: event_index from 1 in a round: what came in, what the model wrote, and results that no later round took
WITH event AS (
    SELECT "row", 0 AS phase, user_us AS time_us, 0 AS place, 'user_message' AS event_type,
        CAST(NULL AS VARCHAR) AS tool_call_id, CAST(NULL AS BIGINT) AS tool_index, CAST(NULL AS VARCHAR) AS tool_name,
        CAST(NULL AS BOOLEAN) AS is_error
    FROM mapped_arrival WHERE user_us IS NOT NULL
    UNION ALL
    SELECT result_row, CASE WHEN result_row > "row" THEN 0 ELSE 3 END, end_us, tool_index, 'tool_result', id, NULL,
        NULL, is_error
    FROM mapped_call WHERE end_us IS NOT NULL
    UNION ALL
    SELECT "row", 1, text_us, 0, 'text', NULL, NULL, NULL, NULL FROM mapped_arrival WHERE text_us IS NOT NULL
    UNION ALL
    SELECT "row", 2, output_us, tool_index, 'tool_call', id, tool_index, tool, NULL FROM mapped_call
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY "row" ORDER BY phase, time_us, place) AS event_index FROM event
)
SELECT "row", event_index, event_type, 'table' AS "source", make_timestamp(time_us) AS "timestamp", tool_call_id,
    tool_index, tool_name, is_error
FROM numbered
ORDER BY "row", event_index
