-- grain: one row per chosen session
-- keys: session_pk
-- columns: began_at, the submission of its first step, or its first stamp where that is unknown; n_steps; n_unknown, those of
--   unknown tokens; peak_tokens, the largest context it reached (prompt and output of one step)
-- invariants: whole sessions: {where} speaks of what a session has once; ordered by began_at, then session_pk
-- needs: the table sequence of sequence.sql
SELECT session_pk, coalesce(arg_min(submitted_at, place) FILTER (WHERE place = 1), min(started_at)) AS began_at,
    count(*) AS n_steps,
    count(*) FILTER (WHERE prefix_tokens IS NULL OR append_tokens IS NULL OR output_tokens IS NULL) AS n_unknown,
    max(prefix_tokens + append_tokens + output_tokens) AS peak_tokens
FROM sequence
WHERE {where}
GROUP BY session_pk
ORDER BY began_at, session_pk
