-- grain: one row per round of a table: a request, or the tool calls of one request
-- keys: row (place in the trace: by session, then time); (session_no, round_key)
-- columns: what a round has; start_us (first call, or arrival), line (its first)
-- invariants: calls are of one round when they name the same request in a session, or, in a table that names none,
--   when they are of one block: a model goes on only when all results are back; round_index from 0 in a session
CREATE TABLE mapped_round AS
WITH keyed AS (
    SELECT *,
        CASE WHEN $requests THEN concat('line ', line)
             WHEN $by_request THEN coalesce(request, concat('line ', line))
             ELSE concat('block ', block) END AS round_key
    FROM mapped_placed
),
grouped AS (
    SELECT session_no, round_key, min(start_us) AS start_us, min(line) AS line,
        min(provider) AS provider, min(developer) AS developer, min(session) AS session, min(request) AS request,
        arg_min(project, line) AS project, arg_min(model, line) AS model,
        arg_min(input_tokens, line) AS input_tokens, arg_min(cached_tokens, line) AS cached_tokens,
        arg_min(output_tokens, line) AS output_tokens, bool_or(repaired) AS repaired
    FROM keyed
    GROUP BY session_no, round_key
),
numbered AS (
    SELECT *,
        row_number() OVER (ORDER BY session_no, start_us, line) - 1 AS "row",
        row_number() OVER (PARTITION BY session_no ORDER BY start_us, line) - 1 AS round_index,
        row_number() OVER (PARTITION BY session_no, start_us ORDER BY line) AS twin
    FROM grouped
)
SELECT * EXCLUDE (twin, request),
    coalesce(CASE WHEN $requests OR $by_request THEN request END,
        left(sha256(concat_ws(':', 'round', session, start_us, twin)), 20)) AS round_id
FROM numbered
