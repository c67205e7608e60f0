-- grain: one row per provider, and one for all (provider null)
-- keys: provider
-- columns: rounds, sessions (distinct session_id), users
-- invariants: the row for all has the rounds of the table
SELECT provider, count(*) AS rounds, count(DISTINCT session_id) AS sessions, count(DISTINCT "user") AS users
FROM rounds
GROUP BY GROUPING SETS ((provider), ())
ORDER BY provider NULLS FIRST
