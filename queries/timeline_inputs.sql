-- grain: one row per moment at which something was given to the model of one session
-- keys: (given_at, is_user)
-- columns: given_at; is_user: a user message, else the result of a tool
-- invariants: ascending in time; a result counts where the log shows it and where its call says that it came
-- parameters: provider, developer, session
WITH chosen AS (
    SELECT round_pk FROM rounds
    WHERE provider = $provider AND "user" IS NOT DISTINCT FROM $developer AND session_id = $session
),
given AS (
    SELECT "timestamp" AS given_at, event_type = 'user_message' AS is_user
    FROM timing_events
    WHERE event_type IN ('user_message', 'tool_result') AND round_pk IN (SELECT round_pk FROM chosen)
    UNION ALL
    SELECT result_at, FALSE FROM tool_calls WHERE round_pk IN (SELECT round_pk FROM chosen)
)
SELECT DISTINCT given_at, is_user FROM given WHERE given_at IS NOT NULL ORDER BY given_at, is_user
