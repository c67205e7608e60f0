-- grain: one row per tool call of a table of tool calls
-- keys: (row, tool_index)
-- columns: what a call has; output_us (when the model had written it), result_row (the round that takes its result in)
-- invariants: tool_index from 0 in a round, by start; all calls of a round had been written before the first of them
--   ended, so a call that began later (it waited in line) was written when the last of the earlier ones was;
--   result_row is the next round of the session, or the round itself where none follows
CREATE TABLE mapped_call AS
WITH last_of AS (
    SELECT session_no, max("row") AS last_row FROM mapped_member GROUP BY session_no
),
ended AS (
    SELECT *, min(end_us) OVER (PARTITION BY "row") AS first_end_us,
        row_number() OVER (PARTITION BY "row" ORDER BY start_us, line) - 1 AS tool_index
    FROM mapped_member
),
written AS (
    SELECT *,
        coalesce(max(CASE WHEN first_end_us IS NULL OR start_us < first_end_us THEN start_us END)
            OVER (PARTITION BY "row"), first_us) AS written_us
    FROM ended
)
SELECT w."row", w.tool_index,
    coalesce(t."call", left(sha256(concat_ws(':', 'call', r.session, r.round_id, w.tool_index)), 20)) AS id,
    t.tool, w.start_us, w.end_us, least(w.start_us, w.written_us) AS output_us,
    least(w."row" + 1, l.last_row) AS result_row, CAST(NULL AS VARCHAR) AS start_kind, t.status, t.is_error,
    t.asked_limit, t.executables, t.parse_status, t.parse_reason, t.skeleton, t.fingerprint
FROM written AS w
JOIN last_of AS l ON l.session_no = w.session_no
JOIN mapped_round AS r ON r."row" = w."row"
JOIN mapped_timed AS t ON t.line = w.line
