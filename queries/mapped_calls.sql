-- grain: one row per tool call of a table of tool calls
-- keys: (row, tool_index)
-- columns: what a call has; output_us (when the model had written it), result_row (the round that takes its result in)
-- invariants: tool_index from 0 in a round, by start; all calls of a round had been written before the first of them
--   ended, so a call that began later (it waited in line) was written when the last of the earlier ones was;
--   result_row is the next round of the session, or the round itself where none follows
CREATE TABLE mapped_call AS
WITH next_of AS (
    SELECT *, coalesce(lead("row") OVER (PARTITION BY session_no ORDER BY "row"), "row") AS result_row
    FROM mapped_round
),
called AS (
    SELECT r."row", r.round_id, r.result_row, r.start_us AS first_us, p.* EXCLUDE (session_no, block),
        min(p.end_us) OVER (PARTITION BY r."row") AS first_end_us,
        row_number() OVER (PARTITION BY r."row" ORDER BY p.start_us, p.line) - 1 AS tool_index
    FROM mapped_placed AS p
    JOIN next_of AS r
        ON r.session_no = p.session_no AND r.round_key = CASE
            WHEN $by_request THEN coalesce(p.request, concat('line ', p.line)) ELSE concat('block ', p.block) END
),
written AS (
    SELECT *,
        coalesce(max(CASE WHEN first_end_us IS NULL OR start_us < first_end_us THEN start_us END)
            OVER (PARTITION BY "row"), first_us) AS written_us
    FROM called
)
SELECT "row", tool_index, coalesce("call", left(sha256(concat_ws(':', 'call', session, round_id, tool_index)), 20)) AS id,
    tool, start_us, end_us, least(start_us, written_us) AS output_us, result_row, CAST(NULL AS VARCHAR) AS start_kind,
    status, is_error, asked_limit, executables, parse_status, parse_reason, skeleton, fingerprint
FROM written
