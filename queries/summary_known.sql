-- grain: one row: how many calls know what only raw logs tell
-- keys: none
-- columns: n_limits (limits asked for), n_starts (starts of their own, and so the wait before them)
-- invariants: 0 where no source knows
SELECT count(asked_limit_seconds) AS n_limits, count(approval_seconds) AS n_starts
FROM calls
