-- grain: one row per ({keys}, session, developer): how often commands were polled
-- keys: {keys}, session_pk, developer_id
-- columns: n_polled (commands that were polled at all), n_polls (polls of these)
-- invariants: of the commands, whatever the unit of the answer; n_polls >= n_polled; without a poll no row
-- parameters: rows
WITH polled AS (
    -- commands that start and end together share what they were polled
    SELECT round_pk, started_at, seconds, CAST(sum(n_polls) AS DOUBLE) / count(*) AS n_polls,
        CAST(count(*) FILTER (WHERE n_polls > 0) AS DOUBLE) / count(*) AS n_polled
    FROM commands
    GROUP BY round_pk, started_at, seconds
    HAVING sum(n_polls) > 0
),
command AS (
    SELECT {keys}, session_pk, hash(developer) AS developer_id, round_pk, started_at AS launched_at,
        seconds AS command_seconds
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT c.* EXCLUDE (round_pk, launched_at, command_seconds), round(sum(p.n_polled)) AS n_polled,
    round(sum(p.n_polls)) AS n_polls
FROM command AS c
JOIN polled AS p ON p.round_pk = c.round_pk AND p.started_at = c.launched_at AND p.seconds = c.command_seconds
GROUP BY ALL
ORDER BY session_pk
