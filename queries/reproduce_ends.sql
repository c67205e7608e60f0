-- grain: one row per (provider, session, developer)
-- keys: provider, session_pk, developer_id
-- columns: n, n_deadline (the last result says that the command goes on)
-- invariants: n_deadline <= n; n sums to the rows that take part
-- parameters: rows
SELECT
    provider, session_pk, hash(developer) AS developer_id, count(*) AS n,
    count(*) FILTER (WHERE end_kind = 'deadline') AS n_deadline
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows)
GROUP BY ALL
ORDER BY session_pk
