-- grain: one row per (owner, ended_at): the ends that a later pause can know of, of one command, one class, or one tool
-- keys: owner (hash of ('command', provider, developer, skeleton or tool), ('class', provider, developer, tool class) or
--   ('session', session, tool)), ended_at
-- columns: seconds, the length of the pause that ended then, of several the longest; recent, of commands only: the mean
--   (of logarithms) of the last five, each older one with half the weight
-- invariants: only pauses that take part and were seen to end; does not depend on the order of rows, nor on {where}
-- parameters: rows
CREATE OR REPLACE TEMP TABLE forecast_ends AS
WITH pause AS MATERIALIZED (
    SELECT hash('command', provider, developer, coalesce(command_skeleton, tool)) AS command,
        hash('class', provider, developer, tool_class) AS class_of,
        hash('session', session_pk, tool) AS session_tool,
        started_at + to_microseconds(CAST(round(seconds * 1e6) AS BIGINT)) AS ended_at,
        seconds, ln(greatest(seconds, 1e-3)) AS ln_seconds
    FROM durations
    WHERE excluded IS NULL AND observed AND ($rows = 'all' OR row_kind = $rows)
),
weighed AS (
    SELECT command, ended_at, seconds, ln_seconds,
        lead(ended_at) OVER so_far IS NOT DISTINCT FROM ended_at AS again,
        lag(ln_seconds, 1) OVER so_far AS second, lag(ln_seconds, 2) OVER so_far AS third,
        lag(ln_seconds, 3) OVER so_far AS fourth, lag(ln_seconds, 4) OVER so_far AS fifth
    FROM pause
    WINDOW so_far AS (PARTITION BY command ORDER BY ended_at, seconds)
)
SELECT command AS owner, ended_at, seconds,
    exp((ln_seconds + coalesce(second, 0) / 2 + coalesce(third, 0) / 4 + coalesce(fourth, 0) / 8
            + coalesce(fifth, 0) / 16)
        / (1 + (second IS NOT NULL)::DOUBLE / 2 + (third IS NOT NULL)::DOUBLE / 4
            + (fourth IS NOT NULL)::DOUBLE / 8 + (fifth IS NOT NULL)::DOUBLE / 16)) AS recent
FROM weighed
WHERE NOT again
UNION ALL
SELECT class_of, ended_at, max(seconds), NULL FROM pause GROUP BY ALL
UNION ALL
SELECT session_tool, ended_at, max(seconds), NULL FROM pause GROUP BY ALL
