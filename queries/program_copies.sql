-- grain: one row for the trace
-- keys: none
-- columns: copied_rounds (rounds that repeat an earlier one: same provider and round_id), copied_sessions (sessions that
--   hold nothing else)
-- invariants: copied_sessions <= copied_rounds
WITH turn AS (
    SELECT provider, "user" AS developer, session_id,
        round_id IS NOT NULL AND row_number() OVER (PARTITION BY provider, round_id ORDER BY round_pk) > 1 AS is_copy
    FROM rounds
),
session AS (
    SELECT provider, developer, session_id, count(*) FILTER (WHERE is_copy) AS n_copies, count(*) AS n
    FROM turn
    GROUP BY provider, developer, session_id
)
SELECT coalesce(sum(n_copies), 0) AS copied_rounds, count(*) FILTER (WHERE n_copies = n) AS copied_sessions FROM session
