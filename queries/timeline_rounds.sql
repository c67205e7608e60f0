-- grain: one row per round of one session, with its pause if it has one
-- keys: round_pk
-- columns: what the model wrote (first and last output; null where no output has a time), tokens, then the pause
-- invariants: pause columns are null exactly where the round has no call; order of time, then of the session
-- parameters: provider, developer, session
WITH chosen AS (
    SELECT round_pk, round_index, model, input_tokens_total AS input_tokens, output_tokens
    FROM rounds
    WHERE provider = $provider AND "user" IS NOT DISTINCT FROM $developer AND session_id = $session
),
stamps AS (
    SELECT round_pk, min("timestamp") AS first_output, max("timestamp") AS last_output
    FROM timing_events
    WHERE event_type IN ('text', 'reasoning', 'tool_call') AND round_pk IN (SELECT round_pk FROM chosen)
    GROUP BY round_pk
)
SELECT c.round_pk, c.round_index, c.model, c.input_tokens, c.output_tokens, s.first_output, s.last_output,
    p.started_at AS pause_at, p.seconds AS pause_seconds, p.end_kind, p.observed, p.tool, p.tool_class,
    p.command_skeleton, p.n_calls, p.asked_limit_seconds, p.approval_seconds, coalesce(p.is_copy, FALSE) AS is_copy
FROM chosen AS c
LEFT JOIN stamps AS s USING (round_pk)
LEFT JOIN pauses AS p USING (round_pk)
ORDER BY coalesce(s.first_output, p.started_at), c.round_index, c.round_pk
