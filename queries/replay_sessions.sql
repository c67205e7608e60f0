-- grain: one row per chosen session
-- keys: session_pk
-- columns: began_at, the submission of its first step, or its first stamp where that is unknown; n_steps; n_unusable, those
--   whose tokens are unknown, negative, or more than $most_tokens in one count; peak_tokens, the largest context it reached
--   (prompt and output of one step), of the other steps
-- invariants: whole sessions: {where} speaks of what a session has once; ordered by began_at, then session_pk
-- needs: the table sequence of sequence.sql
SELECT session_pk, coalesce(arg_min(submitted_at, place) FILTER (WHERE place = 1), min(started_at)) AS began_at,
    count(*) AS n_steps,
    count(*) - count(usable_tokens) AS n_unusable, max(usable_tokens) AS peak_tokens
FROM (
    SELECT *,
        CASE WHEN least(prefix_tokens, append_tokens, output_tokens) >= 0
                AND greatest(prefix_tokens, append_tokens, output_tokens) <= $most_tokens
                AND prefix_tokens IS NOT NULL AND append_tokens IS NOT NULL AND output_tokens IS NOT NULL
             THEN prefix_tokens + append_tokens + output_tokens END AS usable_tokens
    FROM sequence
)
WHERE {where}
GROUP BY session_pk
ORDER BY began_at, session_pk
