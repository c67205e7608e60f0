-- grain: one row per (rule, {keys}): how many sessions were going on at once
-- keys: rule, {keys}
-- columns: n_sessions; most_active, the largest number of sessions whose first and last stamp enclose one moment
-- invariants: 1 <= most_active <= n_sessions; a session that ends when another begins does not meet it
WITH chosen AS (
    SELECT rule, {keys}, first_stamp, last_stamp FROM session_time WHERE {where} AND first_stamp IS NOT NULL
),
edge AS (
    SELECT * EXCLUDE (first_stamp, last_stamp), first_stamp AS edge_at, 1 AS change FROM chosen
    UNION ALL
    SELECT * EXCLUDE (first_stamp, last_stamp), last_stamp AS edge_at, -1 AS change FROM chosen
    WHERE last_stamp > first_stamp
    UNION ALL
    SELECT * EXCLUDE (first_stamp, last_stamp), last_stamp + INTERVAL 1 MICROSECOND AS edge_at, -1 AS change FROM chosen
    WHERE last_stamp = first_stamp
),
running AS (
    SELECT *, sum(change) OVER (PARTITION BY rule, {keys} ORDER BY edge_at, change
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS active
    FROM edge
)
SELECT rule, {keys}, count(*) FILTER (WHERE change = 1) AS n_sessions, max(active) AS most_active
FROM running
GROUP BY ALL
ORDER BY rule
