-- grain: one row per round
-- keys: row
-- columns: those of a round that a table can tell, with TraceLab's names (tracestat.ingest.batch.ROUNDS)
-- invariants: input_tokens_total = prefix_tokens + newly_append_tokens where all are known
WITH result AS (
    SELECT result_row AS "row", count(*) AS n FROM mapped_call
    WHERE end_us IS NOT NULL AND result_row > "row"
    GROUP BY result_row
)
SELECT r."row", r.provider, r.project, r.session AS session_id, r.round_index, r.round_id, r.model,
    r.input_tokens AS input_tokens_total, r.cached_tokens AS prefix_tokens,
    -- the two may come from different rows of a round
    CASE WHEN r.cached_tokens <= r.input_tokens THEN r.input_tokens - r.cached_tokens END AS newly_append_tokens,
    r.output_tokens,
    coalesce(t.n, 0) AS current_tool_result_count,
    CASE WHEN t.n > 0 THEN 'tool_result' WHEN a.user_us IS NOT NULL THEN 'user_message' END AS first_input_event_type,
    r.developer AS "user", concat_ws(':', r.provider, r.session, r.round_id) AS trace_key, r.repaired
FROM mapped_round AS r
LEFT JOIN result AS t ON t."row" = r."row"
LEFT JOIN mapped_arrival AS a ON a."row" = r."row"
ORDER BY r."row"
