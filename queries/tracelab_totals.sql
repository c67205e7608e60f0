-- grain: one row: what a TraceLab trace holds
-- keys: none
-- columns: tool_calls, tool_calls_without_result, timing_events
-- invariants: copies and zeros are counted
SELECT
    (SELECT count(*) FROM tool_calls) AS tool_calls,
    (SELECT count(*) FROM tool_calls WHERE result_at IS NULL) AS tool_calls_without_result,
    (SELECT count(*) FROM timing_events) AS timing_events
