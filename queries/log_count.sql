-- grain: one row
-- keys: none
-- columns: logs, how many raw logs are in the store
-- invariants: not negative
SELECT count(*) AS logs FROM raw_logs
